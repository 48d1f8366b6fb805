import { UsageError } from '../errors.js';
import { ALL_OPTIONS, OPTIONS, SYNONYMS } from './options.js';
import { looksLikeKey } from './parse.js';

/** @import { Option } from './options.js' */

/**
 * Command line to text by option. yargs is not strict enough with numbers, empty values and repeated options, so every
 * value leaves this file as text.
 */

/**
 * @param {string[]} argv
 * @returns {Promise<Record<string, unknown> & {_: string[]}>}
 */
export async function splitCommandLine(argv) {
  // yargs fails with names that every object has, such as --constructor.
  const inherited = argv.find((word) => word.startsWith('--') && word.slice(2).split('=')[0] in {});
  if (inherited !== undefined) throw new UsageError(`unknown option ${inherited.split('=')[0]}; see stress --help-all`);
  return parsedWords(unambiguous(argv));
}

/** Several values of a flag, for a sweep. */
const SEVERAL_FLAGS = /^(true|false)(,(true|false))+$/;

/** Joins each option with its value, so that a value may begin with a minus (-5s, or - for standard output) and a flag may have one (--legacy=false). yargs would guess. @param {string[]} argv */
function unambiguous(argv) {
  const flags = new Set(ALL_OPTIONS.filter(({ isFlag }) => isFlag).flatMap(namesOf));
  const others = new Set(ALL_OPTIONS.filter(({ isFlag }) => !isFlag).flatMap(namesOf));
  const rests = new Set(OPTIONS.filter(({ isRest }) => isRest).map(({ name }) => name));
  const words = argv.map(canonical).flatMap((word) => spellOut(word, flags, others));
  /** @type {string[]} */
  const joined = [];
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i];
    const name = word.startsWith('-') ? word.replace(/^--?/, '') : '';
    const next = words[i + 1];
    if (flags.has(name) && SEVERAL_FLAGS.test(next ?? '')) {
      joined.push(`${word}=${next}`);
      i += 1;
    } else if (flags.has(name)) joined.push(`${word}=true`);
    else if (rests.has(name)) {
      const values = namesBehind(words, i + 1);
      joined.push(...(values.length === 0 ? [word] : values.map((value) => `${word}=${value}`)));
      i += values.length;
    } else if (others.has(name) && next !== undefined && next !== '' && !isOption(next)) {
      joined.push(`${word}=${next}`);
      i += 1;
    } else joined.push(word);
  }
  return joined;
}

/**
 * An option by another name, or with one dash (-duration), gets its own name. @param {string} word @param {number} i @param {readonly string[]} words
 * @throws {UsageError} a key on the command line, where `ps` shows it
 */
function canonical(word, i, words) {
  const [, dashes = '', given = '', value] = /^(--?)([a-zA-Z][\w-]*)(=.*)?$/s.exec(word) ?? [];
  const isLong = dashes === '--' || given.length > 1;
  const known = SYNONYMS.get(given);
  const isFlagLike = dashes === '--' || (value !== undefined && given.length > 2);
  if (!isLong || (known === undefined && !LONG_NAMES.has(given) && !isFlagLike)) return word;
  if (given === 'private-key' && looksLikeKey(value?.slice(1) ?? words[i + 1] ?? ''))
    throw new UsageError(
      '--private-key takes a file with the key: other users of this machine can read the command line; the key itself belongs into STRESS_FUNDER_KEY',
    );
  if (known?.includes('=') && value !== undefined && value !== '=true')
    throw new UsageError(`--${given} takes no value`);
  // --json has its value already: --out=-.
  return `--${known ?? given}${known?.includes('=') ? '' : (value ?? '')}`;
}

/** Names of more than one letter: -rate is --rate. */
const LONG_NAMES = new Set(ALL_OPTIONS.map(({ name }) => name));

/** All words up to the next option. @param {string[]} words @param {number} from */
function namesBehind(words, from) {
  const end = words.findIndex((word, i) => i >= from && isOption(word));
  return words.slice(from, end < 0 ? undefined : end);
}

/** -vq is -v -q, -vt is -v -t, and -t5 is -t 5. @param {string} word @param {Set<string>} flags @param {Set<string>} others */
function spellOut(word, flags, others) {
  if (!/^-[a-z][^=-]/.test(word)) return [word];
  const [, letters, rest] = /^-([a-z]+)(.*)$/.exec(word) ?? [];
  if (others.has(letters[0])) return [`-${letters[0]}`, word.slice(2)];
  const isGroup =
    rest === '' &&
    [...letters].every((letter, i) => flags.has(letter) || (i === letters.length - 1 && others.has(letter)));
  return isGroup ? [...letters].map((letter) => `-${letter}`) : [word];
}

/** Numbers (-5, -5s) and a minus alone are values. @param {string} word */
function isOption(word) {
  return /^-[^\d.]/.test(word);
}

/** @param {Option} option */
function namesOf({ name, alias }) {
  return alias === undefined ? [name] : [name, alias];
}

/** Text by option of the words of a command line. Flags are text too; the option table parses them. @param {string[]} words @returns {Promise<Record<string, unknown> & {_: string[]}>} */
async function parsedWords(words) {
  const { default: yargs } = await import('yargs');
  const y = yargs(words).exitProcess(false).fail(false).help(false).version(false).parserConfiguration({
    'parse-numbers': false,
    'parse-positional-numbers': false,
    'dot-notation': false,
    'camel-case-expansion': false,
    'boolean-negation': false,
  });
  for (const { name, alias } of ALL_OPTIONS) y.option(name, { alias, type: 'string' });
  return /** @type {any} */ (await y.parse());
}
