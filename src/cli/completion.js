import { UsageError } from '../errors.js';
import { COMMANDS, COMMAND_NAMES, GENERAL_OPTIONS, optionsOf } from './options.js';

/** @import { Command, Option } from './options.js' */

/** stress completion: the script that lets a shell complete commands, options, choices and names of files. */

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

/** @param {Option} option */
function namesOf({ name, alias }) {
  return alias === undefined ? [`--${name}`] : [`--${name}`, `-${alias}`];
}

/** @param {Command} command */
function argumentsOf(command) {
  const { takes } = COMMANDS[command];
  if (command === 'help') return COMMAND_NAMES;
  return Array.isArray(takes) ? takes : [];
}

/** Without a reply the shell completes names of files. */
function bash() {
  const valued = [...new Map(COMMAND_NAMES.flatMap(allOf).map((option) => [option.name, option])).values()].filter(
    ({ isFlag }) => !isFlag,
  );
  const chosen = valued.filter(({ choices }) => choices !== undefined);
  const others = valued.filter(({ choices }) => choices === undefined);
  /** @param {readonly string[]} words */
  const reply = (words) => `COMPREPLY=($(compgen -W '${words.join(' ')}' -- "$word"))`;
  return [
    '# eval "$(stress completion bash)"',
    '_stress() {',
    '  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= i',
    '  COMPREPLY=()',
    '  for ((i = 1; i < COMP_CWORD; i++)); do',
    '    case ${COMP_WORDS[i]} in',
    `      ${valued.flatMap(namesOf).join('|')}) ((i++)) ;;`,
    `      ${COMMAND_NAMES.join('|')}) command=\${COMP_WORDS[i]}; break ;;`,
    '    esac',
    '  done',
    '  # bash takes = for a word of its own.',
    '  if [[ $word == = ]]; then word=; elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi',
    '  case $before in',
    ...chosen.map((option) => `    ${namesOf(option).join('|')}) ${reply(option.choices ?? [])}; return ;;`),
    `    ${others.flatMap(namesOf).join('|')}) return ;;`,
    '  esac',
    '  if [[ $word == -* ]]; then',
    '    case ${command:-run} in',
    ...COMMAND_NAMES.map((name) => `      ${name}) ${reply(allOf(name).flatMap(namesOf))} ;;`),
    '    esac',
    '  elif [[ -z $command ]]; then',
    `    ${reply(COMMAND_NAMES)}`,
    '  else',
    '    case $command in',
    ...COMMAND_NAMES.filter((name) => argumentsOf(name).length > 0).map(
      (name) => `      ${name}) ${reply(argumentsOf(name))} ;;`,
    ),
    '    esac',
    '  fi',
    '}',
    'complete -o default -F _stress stress evm-stress',
  ].join('\n');
}

function fish() {
  const quoted = (/** @type {string} */ text) => `'${text.replace(/[\\']/g, '\\$&')}'`;
  const isFirst = `not __fish_seen_subcommand_from ${COMMAND_NAMES.join(' ')}`;
  return [
    '# stress completion fish | source',
    'complete -c evm-stress -w stress',
    ...COMMAND_NAMES.map(
      (name) => `complete -c stress -n ${quoted(isFirst)} -a ${name} -d ${quoted(COMMANDS[name].help)}`,
    ),
    ...COMMAND_NAMES.flatMap((command) => {
      const when = quoted(
        command === 'run' ? `${isFirst}; or __fish_seen_subcommand_from run` : `__fish_seen_subcommand_from ${command}`,
      );
      return [
        ...argumentsOf(command).map((word) => `complete -c stress -n ${when} -a ${word}`),
        ...allOf(command).map(({ name, alias, isFlag, choices, help }) => {
          const value = isFlag ? '' : choices ? ` -r -a ${quoted(choices.join(' '))}` : ' -r';
          return `complete -c stress -n ${when} -l ${name}${alias ? ` -s ${alias}` : ''}${value} -d ${quoted(help)}`;
        }),
      ];
    }),
  ].join('\n');
}
