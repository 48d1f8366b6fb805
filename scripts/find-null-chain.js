/**
 * Searches of `stress find` against null chains that take a known number of transactions per second: whether the interval
 * contains it, and how wide the interval is.
 *
 *     node scripts/find-null-chain.js [--limit 300] [--searches 20] [--at-once 4] [--block-ms 100] [-- OPTION OF STRESS FIND...]
 *
 * A search takes up to three minutes. The exit code is 1 if an interval is missing or too wide, or if fewer than 17 of 20
 * contain the limit.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startNullChain } from './bench/null-chain.js';

/** @import { Find } from '../src/types.d.ts' */

const PROGRAM = fileURLToPath(new URL('../bin/stress.js', import.meta.url));
/** Share of the intervals that contain the limit, and the ratio of their ends. */
const CONTAIN = 17 / 20;
const WIDEST = 1.5;

/** @param {{limit: number, blockMs: number, args: readonly string[]}} options @returns {Promise<Find>} */
async function searchOnce({ limit, blockMs, args }) {
  const chain = await startNullChain({ blockMs, perBlock: (limit * blockMs) / 1000 });
  const dir = mkdtempSync(join(tmpdir(), 'find-null-chain-'));
  try {
    // Without a pause between runs nothing is said about other programs: what these chains take does not depend on them.
    const child = spawn(
      process.execPath,
      [PROGRAM, 'find', `--rpc=${chain.url}`, `--dir=${dir}`, '--rest=0s', ...args],
      {
        stdio: 'ignore',
      },
    );
    await new Promise((resolve) => child.once('exit', resolve));
    return JSON.parse(readFileSync(join(dir, 'sweep.json'), 'utf8')).find;
  } finally {
    await chain.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** @param {Find} find @param {number} limit */
function judged({ low, high }, limit) {
  if (low === null || high === null) return { isContained: false, ratio: Infinity };
  return { isContained: low <= limit && limit <= high, ratio: high / low };
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      limit: { type: 'string', default: '300' },
      searches: { type: 'string', default: '20' },
      'at-once': { type: 'string', default: '4' },
      'block-ms': { type: 'string', default: '100' },
    },
  });
  const [limit, searches, atOnce, blockMs] = ['limit', 'searches', 'at-once', 'block-ms'].map((name) =>
    Number(Reflect.get(values, name)),
  );
  if (!Number.isInteger((limit * blockMs) / 1000))
    throw new Error('limit x block-ms must be whole transactions per block');
  /** @type {Array<ReturnType<typeof judged>>} */
  const all = [];
  let begun = 0;
  const lane = async () => {
    while (begun < searches) {
      begun += 1;
      const number = begun;
      const find = await searchOnce({ limit, blockMs, args: positionals });
      const { isContained, ratio } = judged(find, limit);
      all.push({ isContained, ratio });
      console.log(
        [`search ${number}`, isContained ? 'contains it' : 'DOES NOT CONTAIN IT', `ends x ${ratio.toFixed(2)}`].join(
          '  ',
        ),
        ` ${find.trials.length} runs  ${find.words}`,
      );
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  const contained = all.filter(({ isContained }) => isContained).length;
  const narrow = all.filter(({ ratio }) => ratio <= WIDEST).length;
  console.log(`${limit}/s: ${contained} of ${all.length} intervals contain it, ${narrow} have ends within x ${WIDEST}`);
  if (contained < CONTAIN * all.length || narrow < all.length) process.exitCode = 1;
}

await main();
