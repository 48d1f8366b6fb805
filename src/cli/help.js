import yargs from 'yargs';
import { UsageError } from '../errors.js';
import { COMMANDS, INSTANCE_OPTIONS, OPTIONS, optionsOf } from './options.js';

/** @import { Command, Option } from './options.js' */

/**
 * Command line to text by option, and the help: the two things yargs does here. What it does with numbers, empty
 * values and values given twice is not strict enough, so every value leaves this file as text.
 */

/** What is behind the name of a command. @type {Partial<Record<Command, string>>} */
const USAGE = Object.freeze({
  prepare: 'logs --rpc URL --count N --out FILE [--bytes N] [--page-size N] [-t N]',
  'new-workload': 'FILE.js',
  fund: '-t N [-o N] [--instances N] --rpc URL',
  reclaim: '-t N [-o N] [--instances N] --rpc URL [--to ADDRESS]',
  report: 'FILE...',
  sweep: '-t LIST [--rate LIST] -d TIME [options of a run]',
  compare: 'BASE... --with CANDIDATE...\n       stress compare --rpc-a URL --rpc-b URL -t N -d TIME [options of a run]',
  trend: 'SWEEP|FILE... [--over OPTION]',
  merge: 'FOLDER|FILE...|- [--expect N] [--partial]',
});

/**
 * @param {string[]} argv
 * @returns {Promise<Record<string, unknown> & {_: string[]}>}
 */
export async function splitCommandLine(argv) {
  // yargs stumbles over names that every object has, such as --constructor.
  const inherited = argv.find((word) => word.startsWith('--') && word.slice(2).split('=')[0] in {});
  if (inherited !== undefined) throw new UsageError(`unknown option ${inherited.split('=')[0]}; see stress --help`);
  return /** @type {any} */ (await parser(OPTIONS, unambiguous(argv), 'split').parse());
}

/** The headings above options: the first is what yargs calls those that it is told no other for. */
const USUAL = 'Options:';
const SEVERAL = 'Several instances of one run, on one machine or many:';

/** Behind a flag: both of its values, which a sweep takes. */
const SEVERAL_FLAGS = /^(true|false)(,(true|false))+$/;

/**
 * Joins each option with its value, so that a value may begin with a minus (-5s, or - for standard output) and a flag
 * may have one (--legacy=false). yargs would guess.
 * @param {string[]} argv
 */
function unambiguous(argv) {
  const flags = new Set(['h', 'help', 'version', ...OPTIONS.filter(({ isFlag }) => isFlag).flatMap(namesOf)]);
  const others = new Set(['config', ...OPTIONS.filter(({ isFlag }) => !isFlag).flatMap(namesOf)]);
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

/**
 * -vq is -v -q, -vt is -v -t, and -t5 is -t 5.
 * @param {string} word
 * @param {Set<string>} flags
 * @param {Set<string>} others
 */
function spellOut(word, flags, others) {
  if (!/^-[a-z][^=-]/.test(word)) return [word];
  const [, letters, rest] = /^-([a-z]+)(.*)$/.exec(word) ?? [];
  if (others.has(letters[0])) return [`-${letters[0]}`, word.slice(2)];
  const isGroup =
    rest === '' &&
    [...letters].every((letter, i) => flags.has(letter) || (i === letters.length - 1 && others.has(letter)));
  return isGroup ? [...letters].map((letter) => `-${letter}`) : [word];
}

/** A word that begins with a minus is an option, but for a number (-5, -5s) and the minus alone. @param {string} word */
function isOption(word) {
  return /^-[^\d.]/.test(word);
}

/** @param {Option} option */
function namesOf({ name, alias }) {
  return alias === undefined ? [name] : [name, alias];
}

/** @param {Command} command */
export function helpText(command) {
  return parser(optionsOf(command), [], command).getHelp();
}

/**
 * @param {readonly Option[]} options
 * @param {string[]} argv
 * @param {Command | 'split'} purpose help for a command, or splitting the command line, where even flags are text
 */
function parser(options, argv, purpose) {
  const command = purpose === 'split' ? 'run' : purpose;
  const flagType = purpose === 'split' ? 'string' : 'boolean';
  const y = yargs(argv)
    .scriptName('stress')
    .exitProcess(false)
    .fail(false)
    .help(false)
    .version(false)
    .wrap(100)
    .parserConfiguration({
      'parse-numbers': false,
      'parse-positional-numbers': false,
      'dot-notation': false,
      'camel-case-expansion': false,
      'boolean-negation': false,
    });
  if (command === 'run') {
    y.usage(
      '$0 -t N [-o N] [-d TIME] [--rpc URL]\n\nLoad generator for EVM JSON-RPC chains whose numbers can be audited on the chain.',
    );
    for (const [name, text] of Object.entries(COMMANDS)) if (name !== 'run') y.command(name, text);
  } else {
    y.usage(`$0 ${command} ${USAGE[command] ?? '-t N [-o N]'}\n\n${COMMANDS[command]}`);
  }
  for (const { name, alias, isFlag, describe, fallback, defaultText } of options) {
    y.option(name, {
      alias,
      type: isFlag ? flagType : 'string',
      describe,
      group: command === 'run' && INSTANCE_OPTIONS.some((option) => option.name === name) ? SEVERAL : USUAL,
      defaultDescription: isFlag ? undefined : (defaultText ?? fallback),
      requiresArg: false,
    });
  }
  return y
    .option('config', { type: 'string', describe: 'take options from a JSON file; flags and environment win' })
    .option('help', { alias: 'h', type: flagType, describe: 'show this' })
    .option('version', { type: flagType, describe: 'show the version' })
    .epilogue(
      'Every option can also be given in the environment, as STRESS_NAME (--tx-timeout is STRESS_TX_TIMEOUT).\nA duration has a unit: 250ms, 30s, 5m, 1h. docs/measurement.md defines every figure.',
    );
}
