/** Command lines that are read, and go no further. */
import assert from 'node:assert/strict';
import { readInvocation } from '../../../src/cli/config.js';
import { textOf } from '../../../src/cli/help.js';

/** @param {string | string[]} argv words with nothing to quote in them */
const wordsOf = (argv) => (typeof argv === 'string' ? argv.split(' ').filter((word) => word !== '') : argv);

/**
 * What the program makes of a line: a text, which it prints, or a command.
 * @param {string | string[]} argv
 * @param {NodeJS.ProcessEnv} [env]
 * @param {Parameters<typeof readInvocation>[3]} [more]
 */
export async function readLine(argv, env = {}, more) {
  const text = helpOf(argv);
  if (text !== null) return /** @type {const} */ ({ kind: 'text', text, exitCode: 0 });
  return readInvocation(wordsOf(argv), env, '1.2.3', more);
}

/** @param {string | string[]} argv @returns {string | null} in 80 columns; null: the line asks for none */
export const helpOf = (argv) => textOf(wordsOf(argv), 80);

/** @param {string | string[]} argv @param {NodeJS.ProcessEnv} [env] @param {Parameters<typeof readInvocation>[3]} [more] */
export async function readCommand(argv, env = {}, more) {
  const invocation = await readInvocation(wordsOf(argv), env, '1.2.3', more);
  return invocation.kind === 'command' ? invocation : assert.fail(`it is a text: ${invocation.text}`);
}

/** All members. @param {object} config @returns {Record<string, unknown>} */
export const flat = (config) => Object.assign({}, ...Object.values(config));
