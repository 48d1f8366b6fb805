import { UsageError } from '../errors.js';
import { COMMANDS, GENERAL_OPTIONS, optionsOf } from './options.js';

/** @import { Command, Option } from './options.js' */

/** stress completion: the script that lets a shell complete commands, options and their choices. */

const COMMAND_NAMES = /** @type {Command[]} */ (Object.keys(COMMANDS));
const WORDS = COMMAND_NAMES.filter((name) => name !== 'run');

/** @type {Record<string, () => string>} */
const SHELLS = { bash, zsh: () => `autoload -U +X bashcompinit && bashcompinit\n${bash()}`, fish };

/** @param {readonly string[]} words behind the command @returns {string} @throws {UsageError} */
export function completionText(words) {
  const [shell = ''] = words;
  if (words.length !== 1 || !Object.hasOwn(SHELLS, shell))
    throw new UsageError(`stress completion needs the name of a shell: ${Object.keys(SHELLS).join(', ')}`);
  return SHELLS[shell]();
}

/** @param {Command} command @returns {readonly Option[]} */
function allOf(command) {
  return [...optionsOf(command), ...GENERAL_OPTIONS];
}

/** @param {Command} command */
function flagsOf(command) {
  return allOf(command).flatMap(({ name, alias }) =>
    alias === undefined ? [`--${name}`] : [`--${name}`, `-${alias}`],
  );
}

function bash() {
  const chosen = new Map(
    COMMAND_NAMES.flatMap(optionsOf).flatMap(({ name, choices }) => (choices ? [[name, choices]] : [])),
  );
  return [
    '# eval "$(stress completion bash)"',
    '_stress() {',
    '  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=run words i',
    '  for ((i = 1; i < COMP_CWORD; i++)); do',
    `    case \${COMP_WORDS[i]} in ${WORDS.join('|')}) command=\${COMP_WORDS[i]} ;; esac`,
    '  done',
    '  case $before in',
    ...[...chosen].map(
      ([name, choices]) => `    --${name}) COMPREPLY=($(compgen -W '${choices.join(' ')}' -- "$word")); return ;;`,
    ),
    '  esac',
    '  case $command in',
    ...COMMAND_NAMES.map(
      (name) => `    ${name}) words='${[...(name === 'run' ? WORDS : []), ...flagsOf(name)].join(' ')}' ;;`,
    ),
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$word"))',
    '}',
    'complete -o default -F _stress stress',
  ].join('\n');
}

function fish() {
  const quoted = (/** @type {string} */ text) => `'${text.replace(/[\\']/g, '\\$&')}'`;
  const isFirst = `not __fish_seen_subcommand_from ${WORDS.join(' ')}`;
  return [
    '# stress completion fish | source',
    ...WORDS.map((name) => `complete -c stress -n ${quoted(isFirst)} -a ${name} -d ${quoted(COMMANDS[name])}`),
    ...COMMAND_NAMES.flatMap((command) => {
      const when = quoted(command === 'run' ? isFirst : `__fish_seen_subcommand_from ${command}`);
      return allOf(command).map(({ name, alias, isFlag, choices, help }) => {
        const value = isFlag ? '' : choices ? ` -r -a ${quoted(choices.join(' '))}` : ' -r';
        return `complete -c stress -n ${when} -l ${name}${alias ? ` -s ${alias}` : ''}${value} -d ${quoted(help)}`;
      });
    }),
  ].join('\n');
}
