/** Runs of end-to-end tests: each has a folder of its own with its run file, and wallets that no other run has. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { freePort } from './anvil.js';
import { readJson, startStress } from './cli.js';
import { assertNothingLeft, endProcessesOf } from './leftovers.js';
import { assertRunFile } from './run-file.js';
import { temporaryFolder } from './temporary.js';

/**
 * @import { TestContext } from 'node:test'
 * @import { StressOptions, StressProcess } from './cli.js'
 */

export { sumOf } from './run-file.js';

/** A line of the report, with something verified in it. */
export const INTERVAL_LINE = /^ +\d+\.\d s +[\d,]+ +[1-9]/m;
export const EXACT = /audit +exact: (\d+) counters grew by ([\d,]+) = \2 verified \+ 0 included late/;
export const STACK_TRACE = /\n +at .*:\d+:\d+/;

/** A second signal means "at once" only when it comes after the first one was seen to do something. */
export const SECOND_WISH_MS = 400;

/**
 * @typedef {object} Own
 * @property {{url: string} | null} [chain] that has the wallets; null: the embedded chain
 * @property {string | null} [rpc] another endpoint of that chain; null: args have it
 * @property {number} [threads] wallets; without it args say which
 * @property {number} [offset] without it they are wallets that no other run of the chain has
 * @property {(args: string[], options: any) => any} [start] startStress() unless it has to be another one
 * @property {boolean} [isAlone] it has a TMPDIR of its own, in which nothing may be left
 *
 * @typedef {Own & StressOptions} RunOptions
 *
 * @typedef {object} Ended
 * @property {number | null} code
 * @property {string} stdout
 * @property {string} stderr
 * @property {string} output of a terminal
 * @property {any} run its run file; null: there is none
 *
 * @typedef {{folder: string, out: string, offset: number, TMPDIR: string, args: string[]}} Place
 *
 * @typedef {Place & StressProcess & {end: (exit?: number | null) => Promise<Ended & Place>}} Running
 */

/** By chain. @type {Map<object | null, number>} */
const nextWallets = new Map();

/** Wallets that no other run of this chain has. @param {object | null} chain @param {number} count @returns {number} the first */
export function takeWallets(chain, count) {
  const first = nextWallets.get(chain) ?? 0;
  nextWallets.set(chain, first + count);
  return first;
}

/**
 * @param {TestContext} t
 * @param {string | string[]} words arguments; in them DIR is the folder of the run
 * @param {RunOptions} [options]
 * @returns {Running}
 */
export function startOf(t, words, options = {}) {
  const { chain = null, rpc = chain?.url ?? null, threads, start = startStress, isAlone = false, ...others } = options;
  const folder = temporaryFolder(t);
  const out = join(folder, 'run.json');
  const more = (typeof words === 'string' ? words.split(' ').filter(Boolean) : words).map((word) =>
    word.replace(/^DIR\b/, folder),
  );
  const offset = options.offset ?? takeWallets(chain, threads ?? 0);
  const args = [
    ...(rpc === null ? [] : ['--rpc', rpc]),
    ...(threads === undefined ? [] : ['-t', `${threads}`, '-o', `${offset}`]),
    ...(more.includes('--interval') ? [] : ['--interval', '500ms']),
    ...(more.some((word) => word.startsWith('--out')) ? [] : ['--out', out]),
    ...more,
  ];
  const TMPDIR = isAlone ? temporaryFolder(t) : '';
  if (isAlone) t.after(() => endProcessesOf(TMPDIR));
  const stress = start(args, { ...others, env: { ...others.env, ...(isAlone ? { TMPDIR } : {}) } });
  const place = { folder, out, offset, TMPDIR, args };
  const end = async (exit = /** @type {number | null} */ (0)) => {
    const result = await stress.done;
    if (exit !== null) assert.equal(result.code, exit, result.output ?? `${result.stdout}\n${result.stderr}`);
    if (isAlone) await assertNothingLeft(TMPDIR);
    const run = existsSync(out) ? readJson(out) : null;
    // A worker thread that died, or a mistake in the program, leaves figures that need not add up.
    if (run !== null && !run.partial && result.code !== 70 && !others.env?.PLANTED) assertRunFile(run);
    return { ...result, ...place, run };
  };
  return { ...stress, ...place, end };
}

/**
 * A run from its start to its end, with a run file that holds together.
 * @param {TestContext} t
 * @param {string | string[]} words arguments; in them DIR is the folder of the run
 * @param {RunOptions & {exit?: number | null, during?: (stress: Running) => unknown}} [options] exit: the expected exit
 *   code, null for any; during: what is done meanwhile
 * @returns {Promise<Ended & Place>}
 */
export async function runOf(t, words, { exit = 0, during, ...options } = {}) {
  const stress = startOf(t, words, options);
  await during?.(stress);
  return stress.end(exit);
}

/**
 * `stress node` for all tests of a file, which have wallets of their own on it.
 * @param {number} wallets
 * @returns {{url: string}} as soon as the tests begin
 */
export function nodeFor(wallets) {
  const chain = { url: '' };
  /** @type {StressProcess} */
  let node;
  before(async () => {
    // It has to outlive all tests of the file, however slow the machine is.
    node = startStress(['node', '-t', `${wallets}`, '--port', String(await freePort())], { timeoutMs: 900_000 });
    const line = `^(http:\\S+) \\(chain 31337\\): wallets 0\\.\\.${wallets - 1} of .* are funded; `;
    [, chain.url] = await node.waitFor(new RegExp(line, 'm'));
  });
  after(async () => {
    node.child.kill('SIGTERM');
    await node.done;
  });
  return chain;
}

/** For `during`: sends a signal when the program has said something. @param {NodeJS.Signals} signal @param {RegExp} [pattern] */
export function killedBy(signal, pattern = INTERVAL_LINE) {
  return async (/** @type {Running} */ stress) => {
    await stress.waitFor(pattern);
    stress.child.kill(signal);
  };
}
