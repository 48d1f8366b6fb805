import { UsageError } from '../errors.js';
import { ALL_OPTIONS, optionNamed } from './options.js';

/** @import { Option } from './options.js' */

/**
 * Command line to text by option. yargs is not strict enough with numbers, empty values and repeated options, so every
 * value leaves this file as text.
 */

/**
 * @param {string[]} argv
 * @returns {Promise<Record<string, unknown> & {_: string[]}>} by the first name of each option; flags are text, too
 */
export async function splitCommandLine(argv) {
  // yargs fails with names that every object has, such as --constructor.
  const inherited = argv.find((word) => word.startsWith('--') && word.slice(2).split('=')[0] in {});
  if (inherited !== undefined) throw new UsageError(`unknown option ${inherited.split('=')[0]}; see stress --help-all`);
  const { default: yargs } = await import('yargs');
  const y = yargs(unambiguous(argv)).exitProcess(false).fail(false).help(false).version(false).parserConfiguration({
    'parse-numbers': false,
    'parse-positional-numbers': false,
    'dot-notation': false,
    'camel-case-expansion': false,
    'boolean-negation': false,
  });
  for (const { name } of ALL_OPTIONS) y.option(name, { type: 'string' });
  return /** @type {any} */ (await y.parse());
}

/** --duration, -duration or -d, which may have =VALUE behind it. */
const NAMED = /^--?([a-z][\w-]*)(=.*)?$/is;

/**
 * Gives each option its first name and joins it with its value, so that a value may begin with a minus (-5s, or - for
 * standard output) and a flag may have one (--legacy=false). yargs would guess.
 * @param {string[]} argv
 */
function unambiguous(argv) {
  const words = argv.flatMap(spellOut);
  /** @type {string[]} */
  const joined = [];
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i];
    const [, given = '', value] = NAMED.exec(word) ?? [];
    const option = optionNamed(given);
    if (given === 'private-key' && KEY.test(value ?? words[i + 1] ?? ''))
      throw new UsageError('--private-key takes the name of a file with the key; or give the key in STRESS_FUNDER_KEY');
    if (option === undefined) joined.push(word);
    else if (value !== undefined) joined.push(`--${option.name}=${kept(value.slice(1))}`);
    else {
      const values = valuesOf(option, words.slice(i + 1));
      i += values.length;
      if (values.length > 0) joined.push(...values.map((text) => `--${option.name}=${kept(text)}`));
      else joined.push(`--${option.name}${option.isFlag ? '=true' : ''}`);
    }
  }
  return joined;
}

/** yargs takes one pair of quotes away. @param {string} text */
function kept(text) {
  return /^(['"])(.*\1)?$/s.test(text) ? `"${text}"` : text;
}

/** A key, which other programs of this machine can read in a command line. */
const KEY = /^=?(0x)?[0-9a-f]{64}$/i;

/** Several values of a flag, for a sweep. */
const SEVERAL_FLAGS = /^(true|false)(,(true|false))+$/;

/** The next words, as far as they are values of the option. @param {Option} option @param {string[]} next */
function valuesOf({ isFlag, isRest }, next) {
  const end = next.findIndex((word) => (isFlag ? !SEVERAL_FLAGS.test(word) : word === '' || isOption(word)));
  const values = next.slice(0, end < 0 ? undefined : end);
  return isRest ? values : values.slice(0, 1);
}

/** --json is --out -, -vq is -v -q, -vt is -v -t, and -t5 is -t 5. @param {string} word */
function spellOut(word) {
  if (/^--?json$/.test(word)) return ['--out', '-'];
  const [, letters, rest] = /^-([a-z]+)(.*)$/s.exec(word) ?? [];
  if (letters === undefined || optionNamed(NAMED.exec(word)?.[1] ?? '') !== undefined) return [word];
  // A long name with one dash: -timeout=5s.
  if (letters.length > 2 && rest.startsWith('=')) return [`-${word}`];
  const [first, ...others] = [...letters].map(optionNamed);
  if (first !== undefined && !first.isFlag) return [`-${letters[0]}`, word.slice(2)];
  const areFlags = [first, ...others.slice(0, -1)].every((option) => option?.isFlag);
  return areFlags && others.at(-1) !== undefined && rest === '' ? [...letters].map((letter) => `-${letter}`) : [word];
}

/** Numbers (-5, -5s) and a minus alone are values. @param {string} word */
export function isOption(word) {
  return /^-[^\d.]/.test(word);
}
