/** A whole run, from its command line to its run file, over a chain in memory and by a clock that is turned by hand. */
import { readInvocation } from '../../src/cli/config.js';
import { run } from '../../src/core/run.js';
import { Stop } from '../../src/core/stop.js';
import { VirtualTime, createSimulatedPlatform, loadModules } from '../simulation/platform.js';
import { dialectTransport } from './dialect-node.js';
import { createMemoryChain } from './memory-chain.js';

/**
 * @import { Config } from '../../src/contracts/config.d.ts'
 * @import { BeforeLoad, Platform } from '../../src/contracts/load.d.ts'
 * @import { Output } from '../../src/contracts/output.d.ts'
 * @import { RunFile } from '../../src/contracts/run-file.d.ts'
 * @import { Dialect } from './dialect-node.js'
 * @import { MemoryChainOptions } from './memory-chain.js'
 *
 * @typedef {object} Simulated
 * @property {number} code
 * @property {string} words that a user sees, but for the tables of the summary
 * @property {any} run its run file; null: it ended in the set-up
 * @property {number} executed operations that the chain has executed for this run
 */

/** No simulated run lasts longer. */
const MOST_MS = 600_000;

/** @type {Promise<void> | null} */
let modules = null;

/**
 * @param {string} words command line; without -t and -d in it, 4 wallets and 8 s
 * @param {Dialect} [dialect]
 * @param {{chain?: Omit<MemoryChainOptions, 'clock'>, runs?: number, env?: NodeJS.ProcessEnv}} [options] runs: one after the other,
 *   with the same wallets
 * @returns {Promise<Simulated>} of the last run
 */
export async function simulatedRun(words, dialect = {}, options = {}) {
  return simulate(words, dialect, options);
}

/** @param {string} words @param {Dialect} dialect @param {NonNullable<Parameters<typeof simulatedRun>[2]>} options @returns {Promise<Simulated>} */
async function simulate(words, dialect, { chain: options, runs = 1, env = {} }) {
  const time = new VirtualTime();
  const clock = time.clock();
  const chain = createMemoryChain({ clock, ...options });
  const transports = { undici: dialectTransport(dialect, chain.ask, clock) };
  const platform = createSimulatedPlatform(time, 1, transports);
  try {
    let last;
    for (let i = 0; i < runs; i += 1)
      last = await runOnce(words.split(' ').filter(Boolean), { time, platform, executed: chain.executed, env });
    return /** @type {Simulated} */ (last);
  } finally {
    chain.stop();
  }
}

/** @param {string[]} words @param {{time: VirtualTime, platform: Platform, executed: () => number, env: NodeJS.ProcessEnv}} parts @returns {Promise<Simulated>} */
async function runOnce(words, { time, platform, executed, env }) {
  const own = [...(words.includes('-t') ? [] : ['-t', '4']), ...(words.includes('-d') ? [] : ['-d', '8s'])];
  const config = await configOf(['--rpc', 'http://127.0.0.1:1', ...own, ...words], env);
  /** @type {{run: RunFile | null, before: number}} */
  const seen = { run: null, before: 0 };
  /** @type {Output} */
  const output = {
    begin: () => void (seen.before = executed()),
    finish: (file) => void (seen.run = file.end === 'set_up_failed' ? null : file),
    close: async () => {},
  };
  const { code, lines } = await runConfig(config, { time, platform, outputs: [output], stop: new Stop() });
  const { verdict, audit } = /** @type {any} */ (seen.run ?? {});
  const more = [verdict?.name, verdict?.evidence, JSON.stringify(audit?.checks)];
  const said = [...lines, ...more].filter(Boolean).join('\n');
  return { code, run: seen.run, executed: executed() - seen.before, words: said };
}

/** @param {string[]} argv @param {NodeJS.ProcessEnv} env @returns {Promise<Config>} */
export async function configOf(argv, env) {
  const invocation = await readInvocation(argv, env, '0', { hasUsualConfig: false, nowMs: 0 });
  if (invocation.kind !== 'command') throw new Error(invocation.text);
  return invocation.config;
}

/**
 * One run in virtual time.
 * @param {Config} config
 * @param {{time: VirtualTime, platform: Platform, outputs: Output[], stop: Stop, beforeLoad?: BeforeLoad}} parts
 * @returns {Promise<{code: number, lines: string[], error: any}>} lines: all messages; error: what ended it without a run file
 */
export async function runConfig(config, { time, platform, outputs, stop, beforeLoad }) {
  await (modules ??= loadModules());
  /** @type {string[]} */
  const lines = [];
  const note = (/** @type {string} */ line) => void lines.push(line);
  /** @type {any} */
  let thrown = null;
  const context = {
    ...platform,
    ...{ stop, outputs: [{ notice: note }, ...outputs], version: '0', onProgress: () => {}, beforeLoad },
    log: { info: note, warn: note, error: note, fatal: note },
  };
  const code = run(config, context).catch((error) => {
    thrown = error;
    note(error.exitCode === undefined ? error.stack : error.message);
    stop.request('failed');
    stop.abort();
    return /** @type {number} */ (error.exitCode ?? 70);
  });
  try {
    await time.until(code, MOST_MS);
  } catch (error) {
    throw new Error(`${/** @type {Error} */ (error).message}:\n${lines.join('\n')}`, { cause: error });
  }
  return { code: await code, lines, error: thrown };
}
