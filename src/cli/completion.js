import { readFileSync } from 'node:fs';
import { UsageError } from '../errors.js';
import { MEMBERS } from '../workloads/table.js';
import { ALL_OPTIONS, COMMANDS, COMMAND_NAMES, GENERAL_OPTIONS, optionsOf } from './options.js';

/** @import { Command, Option } from './options.js' */

/**
 * stress completion SHELL: a script that asks `stress completion -- WORDS` for each word. Where no word fits, the shell
 * completes names of files.
 */

const BASH = `_stress() {
  local words=$("$1" completion -- "\${COMP_WORDS[@]:1:$COMP_CWORD}" 2> /dev/null)
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]#=}"))
}
complete -o default -F _stress stress evm-stress`;

/** @type {Readonly<Record<string, string>>} */
const SCRIPTS = Object.freeze({
  bash: BASH,
  zsh: `(( $+functions[compdef] )) || { autoload -U compinit && compinit; }
autoload -U +X bashcompinit && bashcompinit\n${BASH}`,
  fish: `function _stress
  set -l words (commandline -opc)
  set -l found ($words[1] completion -- $words[2..] (commandline -ct) 2> /dev/null)
  test -n "$found" && printf '%s\\n' $found || __fish_complete_path (commandline -ct)
end
complete -c stress -f -a '(_stress)'
complete -c evm-stress -f -a '(_stress)'`,
});

/** @param {readonly string[]} words behind the command @returns {string} @throws {UsageError} */
export function completionText(words) {
  const [shell = '', ...more] = words;
  if (shell === '--') return candidates(more).join('\n');
  if (more.length > 0 || !Object.hasOwn(SCRIPTS, shell))
    throw new UsageError(`stress completion needs the name of a shell: ${Object.keys(SCRIPTS).join(', ')}`);
  return SCRIPTS[shell];
}

/** @param {readonly string[]} given words behind the name of the program; the last one is completed @returns {readonly string[]} */
function candidates(given) {
  // bash takes = for a word of its own.
  const words = given.at(-1) === '=' ? [...given, ''] : given;
  const before = words.slice(0, -1).filter((word) => word !== '=');
  const valued = valuedOption(before.at(-1));
  if (valued?.name === 'mix') return [...MEMBERS, ...callsOfConfig(before)];
  if (valued !== undefined) return valued.choices ?? [];
  // zsh and fish do not divide --option=value.
  const [, joined] = /^(-[^=]+)=/.exec(words.at(-1) ?? '') ?? [];
  if (joined !== undefined) return (valuedOption(joined)?.choices ?? []).map((choice) => `${joined}=${choice}`);
  const command = /** @type {Command | undefined} */ (
    before.find((word, i) => Object.hasOwn(COMMANDS, word) && valuedOption(before[i - 1]) === undefined)
  );
  const options = [...optionsOf(command ?? 'run'), ...GENERAL_OPTIONS].flatMap(namesOf);
  if (words.at(-1)?.startsWith('-')) return options;
  if (command === undefined || command === 'help') return COMMAND_NAMES;
  const { takes = options } = COMMANDS[command];
  return Array.isArray(takes) ? takes : [];
}

/** Names in `workloads` of the config file. @param {readonly string[]} words @returns {readonly string[]} */
function callsOfConfig(words) {
  const file = words[words.indexOf('--config') + 1];
  try {
    const { workloads } = JSON.parse(readFileSync(words.includes('--config') ? file : 'stress.config.json', 'utf8'));
    return Object.keys(workloads);
  } catch {
    return [];
  }
}

/** The option whose value comes next. @param {string} [word] */
function valuedOption(word = '') {
  return ALL_OPTIONS.find((option) => option.isFlag !== true && namesOf(option).includes(word));
}

/** @param {Option} option */
function namesOf({ name, alias, localName }) {
  const others = [
    ...(alias === undefined ? [] : [`-${alias}`]),
    ...(localName === undefined ? [] : [`--${localName}`]),
  ];
  return [`--${name}`, ...others];
}
