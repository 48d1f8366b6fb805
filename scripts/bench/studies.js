/**
 * Whether studies tell the truth where it is known. Prints tables for docs/studies.md:
 *
 *     node scripts/bench/studies.js [--searches 5] [--trials 3] [--pairs 8] [--seconds 4]
 *
 * `sweep --find rate` on a chain that takes 300 transactions a second, and `compare` of a geth with itself and with
 * itself behind a network that makes an operation about 15 % slower: both sides are proxies, which hold each request back
 * for 20 ms and for 23.6 ms.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startGeth } from '../nodes/geth.js';
import { delayed, startProxy } from '../verdict-cases.js';
import { inTemporaryFolder, readOptions, stress } from './lib.js';
import { startNullChain } from './null-chain.js';

const PER_BLOCK = 30;
const NEAR_MS = 20;
const FAR_MS = 23.6;
/** Longer than any of these studies takes. */
const TIMEOUT_MS = 900_000;

/** @param {string[]} args @param {string} result a file in its folder @param {NodeJS.ProcessEnv} [env] @returns {Promise<any>} */
function study(args, result, env = {}) {
  return inTemporaryFolder(async (folder) => {
    const all = [...args, '--dir', join(folder, 'study'), '--quiet'];
    await stress(all, { env, timeoutMs: TIMEOUT_MS });
    return JSON.parse(readFileSync(join(folder, 'study', result), 'utf8'));
  });
}

/** @param {(string | number)[]} cells */
function row(cells) {
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}

/** @param {string[]} head */
function head(head) {
  process.stdout.write('\n');
  row(head);
  row(head.map(() => '---'));
}

/** @param {number} fraction */
function percent(fraction) {
  return `${(100 * fraction).toFixed(1)} %`;
}

/** @param {number} searches */
async function find(searches) {
  head(['search', 'found, per second', 'of 300', 'interval', 'runs', 'sharp']);
  const chain = await startNullChain({ blockMs: 100, perBlock: PER_BLOCK });
  try {
    for (let i = 1; i <= searches; i += 1) {
      const args = ['sweep', '--find=rate', '--until=p99<1s', '-t400', '-d3s', '--rest=0s', `--rpc=${chain.url}`];
      const { find: found } = await study(args, 'sweep.json');
      const { estimate, low, high, trials, sharp } = found;
      const shown = [estimate, low, high].map((value) => value.toFixed(0));
      row([
        i,
        shown[0],
        percent(estimate / 300 - 1),
        `${shown[1]} to ${shown[2]}`,
        trials.length,
        sharp ? 'yes' : 'no',
      ]);
    }
  } finally {
    await chain.stop();
  }
}

/** @param {{trials: number, pairs: number, seconds: number}} options */
async function compare({ trials, pairs, seconds }) {
  head(['B is', 'trial', 'change of TPS', 'interval', 'p', 'word']);
  const node = await startGeth();
  const [near, alsoNear, far] = await Promise.all(
    [NEAR_MS, NEAR_MS, FAR_MS].map((delayMs) => startProxy(node.url, delayed(delayMs))),
  );
  try {
    for (const [name, b] of /** @type {const} */ ([
      ['the same', alsoNear],
      ['slowed', far],
    ]))
      for (let trial = 1; trial <= trials; trial += 1) {
        const load = ['-t10', `-d${seconds}s`, '--rest=300ms', `--repeat=${pairs}`];
        const args = ['compare', `--rpc-a=${near.url}`, `--rpc-b=${b.url}`, ...load];
        const { metrics } = await study(args, 'compare.json', { STRESS_FUNDER_KEY: node.funderKey });
        const [{ change, p, word }] = metrics;
        row([
          name,
          trial,
          percent(change.estimate),
          `${percent(change.low)} to ${percent(change.high)}`,
          p.toFixed(3),
          word,
        ]);
      }
  } finally {
    for (const proxy of [near, alsoNear, far]) proxy.stop();
    await node.stop();
  }
}

const { searches, trials, pairs, seconds } = readOptions({ searches: 5, trials: 3, pairs: 8, seconds: 4 }).numbers;
if (searches > 0) await find(searches);
if (trials > 0) await compare({ trials, pairs, seconds });
