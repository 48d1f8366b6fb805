/**
 * Searches of `stress find`, one table:
 *
 *     node scripts/find-searches.js [--node null] [--limit 300] [--searches 20] [--at-once 4] [--block-ms 100] [-- OPTION...]
 *     node scripts/find-searches.js --node geth|anvil [--searches 5] [--busy 2] [-- OPTION OF STRESS FIND...]
 *
 * A null chain takes --limit transactions per second: whether the interval contains it, and whether the search is done. The
 * exit code is 1 if fewer than 19 of 20 intervals contain the limit. Each search is listed with the rates that were run. geth and anvil, with a block per
 * second and anew for each search: how far the answers are from their median. --busy: programs beside it that only count.
 * A search takes about three minutes.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startAnvil } from './bench/anvil.js';
import { median } from './bench/lib.js';
import { startNullChain } from './bench/null-chain.js';
import { call } from './nodes/build.js';
import { startGeth } from './nodes/geth.js';

/** @import { Find } from '../src/contracts/study.d.ts' */

const PROGRAM = fileURLToPath(new URL('../bin/stress.js', import.meta.url));
/** Share of the intervals that contain the limit. */
const CONTAIN = 19 / 20;
/** Of an answer from the median. */
const FARTHEST = 0.2;

/** @typedef {{url: string, funderKey: string, stop: () => Promise<void>}} Chain */

/** @param {string} node @param {{limit: number, blockMs: number}} options @returns {Promise<Chain>} */
async function startChain(node, { limit, blockMs }) {
  if (node === 'null') return startNullChain({ blockMs, perBlock: (limit * blockMs) / 1000 });
  if (node === 'geth') return startGeth({ period: 1 });
  const anvil = await startAnvil();
  await call(anvil.url, 'evm_setIntervalMining', [1]);
  return anvil;
}

/** @param {Chain} chain @param {readonly string[]} args @returns {Promise<Find>} */
async function searchOnce({ url, funderKey, stop }, args) {
  const dir = mkdtempSync(join(tmpdir(), 'find-searches-'));
  try {
    const env = { ...process.env, STRESS_FUNDER_KEY: funderKey };
    const child = spawn(process.execPath, [PROGRAM, 'find', `--rpc=${url}`, `--dir=${dir}`, ...args], {
      ...{ env, stdio: 'ignore' },
    });
    await new Promise((resolve) => child.once('exit', resolve));
    return JSON.parse(readFileSync(join(dir, 'sweep.json'), 'utf8')).find;
  } finally {
    await stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** @param {Find[]} finds @param {number} limit */
function judgeNull(finds, limit) {
  const answers = finds.flatMap(({ low, high, done }) => (low === null || high === null ? [] : [{ low, high, done }]));
  const contained = answers.filter(({ low, high }) => low <= limit && limit <= high).length;
  const done = answers.filter((answer) => answer.done).length;
  console.log(
    `${limit}/s: ${contained} of ${answers.length} intervals contain it, ${done} of ${finds.length} searches are done, ${finds.length - answers.length} without an interval`,
  );
  return contained >= CONTAIN * answers.length;
}

/** The rates that were run: - failed, ~ does not count. @param {Find} find */
function ratesOf({ trials }) {
  return trials
    .map(({ value, holds, again = null, limit = null }) => {
      const isCounted = again === null && limit?.isOurs !== true;
      return `${isCounted ? '' : '~'}${holds ? '' : '-'}${value}`;
    })
    .join(' ');
}

/** @param {Find[]} finds */
function judgeNode(finds) {
  const answers = finds.flatMap(({ estimate, limit = null }) =>
    estimate === null || limit !== null ? [] : [estimate],
  );
  const found = `${answers.length} of ${finds.length} found a rate`;
  if (answers.length === 0) {
    console.log(found);
    return true;
  }
  const middle = median(answers);
  const far = Math.max(...answers.map((value) => Math.abs(value / middle - 1)));
  console.log(`${found}; median ${middle.toFixed(0)}/s, the farthest is ${(100 * far).toFixed(1)} % from it`);
  return far <= FARTHEST;
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      node: { type: 'string', default: 'null' },
      limit: { type: 'string', default: '300' },
      searches: { type: 'string' },
      'at-once': { type: 'string' },
      'block-ms': { type: 'string', default: '100' },
      busy: { type: 'string', default: '0' },
    },
  });
  const { node } = values;
  const isNull = node === 'null';
  const [limit, blockMs] = [Number(values.limit), Number(values['block-ms'])];
  const searches = Number(values.searches ?? (isNull ? 20 : 5));
  const atOnce = Number(values['at-once'] ?? (isNull ? 4 : 1));
  if (!Number.isInteger((limit * blockMs) / 1000))
    throw new Error('limit x block-ms must be whole transactions per block');
  // What a null chain takes does not depend on other programs: without a pause between runs nothing is said about them.
  const args = isNull ? ['--rest=0s', ...positionals] : positionals;
  const busy = Array.from({ length: Number(values.busy) }, () => spawn(process.execPath, ['-e', 'for (;;);']));
  /** @type {Find[]} */
  const finds = [];
  let begun = 0;
  const lane = async () => {
    while (begun < searches) {
      begun += 1;
      const number = begun;
      const find = await searchOnce(await startChain(node, { limit, blockMs }), args);
      finds.push(find);
      console.log(`search ${number}  load ${loadavg()[0].toFixed(1)}  ${find.words}\n  runs: ${ratesOf(find)}`);
    }
  };
  try {
    await Promise.all(Array.from({ length: atOnce }, lane));
  } finally {
    for (const child of busy) child.kill('SIGKILL');
  }
  if (!(isNull ? judgeNull(finds, limit) : judgeNode(finds))) process.exitCode = 1;
}

await main();
