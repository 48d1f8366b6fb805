/** A whole run, from its command line to its run file, over a chain in memory and by a clock that is turned by hand. */
import { setImmediate as turn } from 'node:timers/promises';
import { createSigner } from '../../src/chain/keys.js';
import { readInvocation } from '../../src/cli/config.js';
import { run } from '../../src/core/run.js';
import { Stop } from '../../src/core/stop.js';
import { transports } from '../../src/transport/index.js';
import { createFakeClock } from './clock.js';
import { dialectTransport } from './dialect-node.js';
import { createMemoryChain } from './memory-chain.js';

/**
 * @import { Clock } from '../../src/contracts/load.d.ts'
 * @import { Output } from '../../src/contracts/output.d.ts'
 * @import { RunFile } from '../../src/contracts/run-file.d.ts'
 * @import { ByHand } from './clock.js'
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
const STEP_MS = 20;

/** The first run of a process loads files, and meanwhile the clock runs away. @type {Promise<unknown> | null} */
let firstRun = null;

/**
 * @param {string} words command line; without -t and -d in it, 4 wallets and 8 s
 * @param {Dialect} [dialect]
 * @param {{chain?: Omit<MemoryChainOptions, 'clock'>, runs?: number, env?: NodeJS.ProcessEnv}} [options] runs: one after the other,
 *   with the same wallets
 * @returns {Promise<Simulated>} of the last run
 */
export async function simulatedRun(words, dialect = {}, options = {}) {
  firstRun ??= simulate('-d 1s', {}, {});
  await firstRun;
  return simulate(words, dialect, options);
}

/** @param {string} words @param {Dialect} dialect @param {NonNullable<Parameters<typeof simulatedRun>[2]>} options @returns {Promise<Simulated>} */
async function simulate(words, dialect, { chain: options, runs = 1, ...others }) {
  const clock = createFakeClock();
  const chain = createMemoryChain({ clock, ...options });
  const { undici } = transports;
  transports.undici = dialectTransport(dialect, chain.ask, clock);
  try {
    let last;
    for (let i = 0; i < runs; i += 1)
      last = await runOnce(words.split(' ').filter(Boolean), { clock, executed: chain.executed, ...others });
    return /** @type {Simulated} */ (last);
  } finally {
    transports.undici = undici;
    chain.stop();
  }
}

/** @param {string[]} words @param {{clock: Clock & ByHand, executed: () => number, env?: NodeJS.ProcessEnv}} parts @returns {Promise<Simulated>} */
async function runOnce(words, { clock, executed, env = {} }) {
  const own = [...(words.includes('-t') ? [] : ['-t', '4']), ...(words.includes('-d') ? [] : ['-d', '8s'])];
  const argv = ['--rpc', 'http://127.0.0.1:1', ...own, ...words];
  const invocation = await readInvocation(argv, env, '0', { hasUsualConfig: false });
  if (invocation.kind !== 'command') throw new Error(invocation.text);
  // A real wait for it would let the clock run away.
  await createSigner();
  /** @type {string[]} */
  const lines = [];
  const note = (/** @type {string} */ line) => void lines.push(line);
  /** @type {{run: RunFile | null, before: number}} */
  const seen = { run: null, before: 0 };
  /** @type {Output} */
  const output = {
    notice: note,
    begin: () => void (seen.before = executed()),
    finish: (file) => void (seen.run = file.end === 'set_up_failed' ? null : file),
    close: async () => {},
  };
  const context = {
    ...{ clock, stop: new Stop(), outputs: [output], version: '0', onProgress: () => {} },
    log: { info: note, warn: note, error: note, fatal: note },
  };
  let isOver = false;
  const code = run(invocation.config, context)
    .catch((error) => {
      note(error.message);
      if (error.exitCode === undefined) note(error.stack);
      context.stop.abort();
      return error.exitCode ?? 70;
    })
    .finally(() => (isOver = true));
  for (let ms = 0; !isOver; ms += STEP_MS) {
    if (ms > MOST_MS) throw new Error(`it does not end:\n${lines.join('\n')}`);
    await clock.advance(STEP_MS);
    await turn();
  }
  const result = { code: await code, run: seen.run, executed: executed() - seen.before };
  const { verdict, audit } = /** @type {any} */ (seen.run ?? {});
  const more = [verdict?.name, verdict?.evidence, JSON.stringify(audit?.checks)];
  return { ...result, words: [...lines, ...more].filter(Boolean).join('\n') };
}
