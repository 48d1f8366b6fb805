/** Command lines that are read, and go no further. */
import assert from 'node:assert/strict';
import { readInvocation } from '../../../src/cli/config.js';

/** @param {string | string[]} argv words with nothing to quote in them @param {NodeJS.ProcessEnv} [env] @param {Parameters<typeof readInvocation>[3]} [more] */
export async function readCommand(argv, env = {}, more) {
  const words = typeof argv === 'string' ? argv.split(' ').filter((word) => word !== '') : argv;
  const invocation = await readInvocation(words, env, '1.2.3', more);
  return invocation.kind === 'command' ? invocation : assert.fail(`it is a text: ${invocation.text}`);
}

/** All members. @param {object} config @returns {Record<string, unknown>} */
export const flat = (config) => Object.assign({}, ...Object.values(config));
