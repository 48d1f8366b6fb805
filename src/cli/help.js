import { filled } from '../text.js';
import { completionText } from './completion.js';
import { COMMANDS, COMMAND_NAMES, GENERAL_OPTIONS, optionsOf } from './options.js';

/** @import { Command, Option } from './options.js' */

/** What is printed in place of a command, and the facts about an option that all descriptions of it state. */

/** Columns of text that is not printed on a terminal; wider lines than the greatest are hard to read. */
const WIDTH = 80;
const WIDTHS = Object.freeze([60, 110]);
/** Columns of the names. */
const INDENT = 27;

/**
 * Help, and what a shell completes with: no parser and no package is loaded for them.
 * @param {readonly string[]} argv
 * @param {number} [columns]
 * @returns {string | null} null: a command, or one that does not exist
 */
export function textOf(argv, columns) {
  const [first, second] = argv;
  const asked = second === '--' ? undefined : argv.find((word) => ['--help', '-h', '--help-all'].includes(word));
  if (first === 'help' || asked !== undefined) {
    const [name = 'run'] = asked === undefined ? argv.slice(1) : argv.filter((word) => word !== asked);
    const command = name.startsWith('-') ? 'run' : COMMAND_NAMES.find((one) => one === name);
    return command === undefined ? null : helpText(command, { all: asked === '--help-all', columns });
  }
  return first === 'completion' ? completionText(argv.slice(1)) : null;
}

/**
 * @param {Command} command
 * @param {{all?: boolean, isBrief?: boolean, columns?: number}} [how] all: each option, not only the usual ones; isBrief:
 *   no options
 */
export function helpText(command, { all = false, isBrief = false, columns = WIDTH } = {}) {
  const [least, most] = WIDTHS;
  const width = Math.min(Math.max(columns, least), most);
  const { help, usage = '-t N [-o N]', examples = [] } = COMMANDS[command];
  const own = [...optionsOf(command), ...GENERAL_OPTIONS];
  const options = all ? own : own.filter((option) => isUsual(option, command));
  const headings = [...new Set(options.map(({ heading }) => heading))];
  const name = command === 'run' ? '' : ` ${command}`;
  const hidden = own.length - options.length;
  const commands = COMMAND_NAMES.map((name) => entry(`  stress ${name}`, COMMANDS[name].help, width));
  const sections = all
    ? headings.map((heading) => ({ title: heading, options: options.filter((one) => one.heading === heading) }))
    : [{ title: hidden === 0 ? 'Options' : 'Usual options', options }];
  return [
    `Usage: stress${name} ${usage}`,
    filled(`${help[0].toUpperCase()}${help.slice(1)}${help.endsWith('.') ? '' : '.'}`, width).join('\n'),
    ...(examples.length === 0 ? [] : [['Examples:', ...examples.map((words) => `  stress ${words}`)].join('\n')]),
    ...(command === 'run' ? [['Commands:', ...commands].join('\n')] : []),
    ...(isBrief ? [] : sections).map(({ title, options: shown }) =>
      [`${title}:`, ...shown.map((one) => optionLines(one, command, width))].join('\n'),
    ),
    isBrief ? 'The options of a run: stress --help' : filled(epilogue(name, hidden), width).join('\n'),
  ].join('\n\n');
}

/** @param {string} name of the command @param {number} hidden number of options that are not shown */
function epilogue(name, hidden) {
  const more = `${hidden} more options: stress${name} --help-all. `;
  return `${hidden === 0 ? '' : more}${name === '' ? 'Help for a command: stress help COMMAND. ' : ''}Each option can also be set in the environment (--tx-timeout is STRESS_TX_TIMEOUT), in a file (--config FILE) or in ./stress.config.json. Messages are controlled by --log-level and --log-file. Times: 250ms, 30s, 1m30s, 1h. Numbers: 500, 10k, 2M.${name === '' ? ' What stress needs of a node: docs/clients.md.' : ''}`;
}

/** Options that a command has for itself are usual ones of it. @param {Option} option @param {Command} command */
function isUsual({ usual = false, commands }, command) {
  return usual || (command !== 'run' && !commands.includes('run') && commands.length > 0);
}

/** The permitted values of an option, its default and other names, in the words of --help. @param {Option} option @param {Command | null} [command] null: all that have it @returns {string[]} */
export function factsOf(option, command = null) {
  const { isFlag, isOpen, choices, file, integer, fallback, defaultText, env, variable, localName } = option;
  const synonyms = [...(option.synonyms ?? []), localName ?? []].flat();
  const isNeeded = command !== null && (option.neededBy ?? []).includes(command);
  const hasNone = isFlag || isNeeded || (command !== null && (option.noDefaultIn ?? []).includes(command));
  const usual = hasNone ? undefined : (defaultText ?? fallback);
  const [least, most] = (integer ?? []).map((value) => value.toLocaleString('en-US'));
  return [
    ...(choices === undefined || (isOpen && file === undefined)
      ? []
      : [`values: ${choices.join(', ')}${isOpen ? ', or a file' : ''}`]),
    ...(integer === undefined ? [] : [integer[1] < LARGEST ? `${least} to ${most}` : `from ${least}`]),
    ...(usual === undefined ? [] : [`default: ${usual}`]),
    ...(synonyms.length === 0 ? [] : [`also ${synonyms.map(dashed).join(', ')}`]),
    ...(env === undefined ? [] : [`environment: ${variable}`]),
  ];
}

/** @param {string} name of an option */
export function dashed(name) {
  return name.length === 1 ? `-${name}` : `--${name}`;
}

/** Limits from here on are no news to a reader. */
const LARGEST = 2 ** 31 - 1;

/** @param {Option} option @param {Command} command @param {number} width */
function optionLines(option, command, width) {
  const { name, alias, argument, help } = option;
  const short = alias === undefined ? '    ' : `-${alias}, `;
  const value = argument === '' ? '' : ` ${argument}`;
  // A short fact is not divided between two lines.
  const shown = factsOf(option, command).map((fact) => (fact.length > 30 ? fact : fact.replaceAll(' ', '\u00a0')));
  const text = `${help}${shown.length === 0 ? '' : ` [${shown.join('; ')}]`}`;
  return entry(`  ${short}--${name}${value}`, text, width).replaceAll('\u00a0', ' ');
}

/** @param {string} label @param {string} text is printed beside a short label, below a long one @param {number} width */
function entry(label, text, width) {
  const lines = filled(text, width - INDENT);
  const head = label.length < INDENT - 1 ? `${label.padEnd(INDENT)}${lines.shift()}` : label;
  return [head, ...lines.map((line) => ' '.repeat(INDENT) + line)].join('\n');
}
