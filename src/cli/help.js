import { UsageError } from '../errors.js';
import { COMMANDS, COMMAND_NAMES, GENERAL_OPTIONS, OPTIONS, optionsOf } from './options.js';

/** @import { Command, Option } from './options.js' */

/**
 * Command line to text by option, and --help. yargs is not strict enough with numbers, empty values and repeated
 * options, so every value leaves this file as text.
 */

/**
 * @param {string[]} argv
 * @returns {Promise<Record<string, unknown> & {_: string[]}>}
 */
export async function splitCommandLine(argv) {
  // yargs fails with names that every object has, such as --constructor.
  const inherited = argv.find((word) => word.startsWith('--') && word.slice(2).split('=')[0] in {});
  if (inherited !== undefined) throw new UsageError(`unknown option ${inherited.split('=')[0]}; see stress --help`);
  return parsedWords(unambiguous(argv));
}

/** Several values of a flag, for a sweep. */
const SEVERAL_FLAGS = /^(true|false)(,(true|false))+$/;

/** Joins each option with its value, so that a value may begin with a minus (-5s, or - for standard output) and a flag may have one (--legacy=false). yargs would guess. @param {string[]} argv */
function unambiguous(argv) {
  const all = [...GENERAL_OPTIONS, ...OPTIONS];
  const flags = new Set(all.filter(({ isFlag }) => isFlag).flatMap(namesOf));
  const others = new Set(all.filter(({ isFlag }) => !isFlag).flatMap(namesOf));
  const rests = new Set(OPTIONS.filter(({ isRest }) => isRest).map(({ name }) => name));
  const words = argv.flatMap((word) => spellOut(word, flags, others));
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
  for (const { name, alias } of [...OPTIONS, ...GENERAL_OPTIONS]) y.option(name, { alias, type: 'string' });
  return /** @type {any} */ (await y.parse());
}

/** The columns of --help: 100 are narrower than most terminals, and 34 are enough for all names but a few. */
const WIDTH = 100;
const INDENT = 34;

const EPILOGUE = `Every option can also be given in the environment, as STRESS_NAME (--tx-timeout is STRESS_TX_TIMEOUT).
A duration has a unit: 250ms, 30s, 5m, 1h. docs/measurement.md defines every figure.`;

/** @param {Command} command */
export function helpText(command) {
  const { help, usage = '-t N [-o N]' } = COMMANDS[command];
  const options = [...optionsOf(command), ...GENERAL_OPTIONS];
  const groups = [...new Set(options.map(({ group }) => group))];
  return [
    `stress ${command === 'run' ? '' : `${command} `}${usage}`,
    wrapped(help, WIDTH).join('\n'),
    ...(command === 'run' ? [['Commands:', ...commandLines()].join('\n')] : []),
    ...groups.map((group) =>
      [`${group}:`, ...options.filter((one) => one.group === group).map(optionLines)].join('\n'),
    ),
    EPILOGUE,
  ].join('\n\n');
}

/** @returns {string[]} */
function commandLines() {
  return COMMAND_NAMES.map((name) => entry(`  stress ${name}`, COMMANDS[name].help));
}

/** @param {Option} option */
function optionLines({ name, alias, argument, isFlag, help, choices, file, fallback, defaultText, env, variable }) {
  const short = alias === undefined ? '    ' : `-${alias}, `;
  const value = argument === '' ? '' : ` ${argument}`;
  const usual = isFlag ? undefined : (defaultText ?? fallback);
  const notes = [
    ...(choices === undefined ? [] : [`one of ${choices.join(', ')}${file === undefined ? '' : ', or a file'}`]),
    ...(usual === undefined ? [] : [`default: ${usual}`]),
    ...(env === undefined ? [] : [`environment: ${variable}`]),
  ];
  // A short note is not divided between two lines.
  const shown = notes.map((note) => (note.length > 30 ? note : note.replaceAll(' ', '\u00a0'))).join('; ');
  return entry(`  ${short}--${name}${value}`, `${help}${shown && ` [${shown}]`}`).replaceAll('\u00a0', ' ');
}

/** @param {string} label @param {string} text is printed beside a short label, below a long one */
function entry(label, text) {
  const lines = wrapped(text, WIDTH - INDENT);
  const head = label.length < INDENT - 1 ? `${label.padEnd(INDENT)}${lines.shift()}` : label;
  return [head, ...lines.map((line) => ' '.repeat(INDENT) + line)].join('\n');
}

/** @param {string} text @param {number} width @returns {string[]} lines of whole words */
function wrapped(text, width) {
  /** @type {string[]} */
  const lines = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line += line === '' ? word : ` ${word}`;
  }
  return [...lines, line];
}
