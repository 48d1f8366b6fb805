/**
 * How much the throughput of equal runs differs on a chain with a block a second, beside programs that keep the machine
 * busy: prints a markdown table.
 *
 *     node scripts/steady-rate.js [--wallets 20,40,60] [--runs 10] [--seconds 20] [--busy 2] [--embedded]
 *
 * --busy: programs beside each run that only count; --embedded: on the embedded chain, compared with the runs' mean.
 * A row counts as off if its rate differs by more than 5 % and no block was missing in it or before it.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startGeth } from './nodes/geth.js';

/** @import { RunFile } from '../src/types.d.ts' */

const STRESS = fileURLToPath(new URL('../bin/stress.js', import.meta.url));
const OFF = 0.05;
/** Blocks further apart than this are one missing. */
const MISSING_MS = 1500;

const { values } = parseArgs({
  options: {
    wallets: { type: 'string', default: '20,40,60' },
    runs: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '20' },
    busy: { type: 'string', default: '2' },
    embedded: { type: 'boolean', default: false },
  },
});

/** @param {string[]} args @param {NodeJS.ProcessEnv} env @returns {Promise<RunFile>} */
async function run(args, env) {
  const folder = mkdtempSync(join(tmpdir(), 'stress-rate-'));
  const out = join(folder, 'run.json');
  const busy = Array.from({ length: Number(values.busy) }, () => spawn(process.execPath, ['-e', 'for (;;);']));
  try {
    const child = spawn(process.execPath, [STRESS, ...args, '--out', out, '--quiet'], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    if (code !== 0) throw new Error(`stress ${args.join(' ')} ended with ${code}`);
    return JSON.parse(readFileSync(out, 'utf8'));
  } finally {
    for (const child of busy) child.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  }
}

/** @param {RunFile} run @param {number} expected per second */
function rowsOff({ intervals }, expected) {
  return intervals.filter(({ phase, tps, blocks }, i) => {
    const isMissing = [blocks, intervals[i - 1]?.blocks, intervals[i + 1]?.blocks].some(
      (one) => (one?.gapMaxMs ?? 0) > MISSING_MS,
    );
    return phase === 'load' && !isMissing && Math.abs((tps ?? 0) / expected - 1) > OFF;
  }).length;
}

const node = values.embedded ? null : await startGeth({ period: 1 });
try {
  console.log('| wallets | TPS of each run | counted in the window | largest difference | rows off | audits |');
  console.log('| --- | --- | --- | --- | --- | --- |');
  for (const wallets of values.wallets.split(',')) {
    /** @type {RunFile[]} */
    const runs = [];
    for (let i = 0; i < Number(values.runs); i += 1) {
      const args = [
        '-t',
        wallets,
        '-o',
        '0',
        '-d',
        `${values.seconds}s`,
        ...(node === null ? [] : ['--rpc', node.url]),
      ];
      runs.push(await run(args, node === null ? {} : { STRESS_FUNDER_KEY: node.funderKey }));
    }
    const tps = runs.map(({ rates }) => rates.verifiedPerSecond ?? NaN);
    const mean = tps.reduce((sum, one) => sum + one, 0) / tps.length;
    const expected = node === null ? mean : Number(wallets);
    const largest = Math.max(...tps.map((one) => Math.abs(one / expected - 1)));
    const counted = runs.map(({ window }) => (1000 * window.counts.verified) / window.durationMs);
    const off = runs.reduce((sum, one) => sum + rowsOff(one, expected), 0);
    const exact = runs.filter(({ audit }) => /** @type {any} */ (audit)?.exact).length;
    const shown = (/** @type {number[]} */ list) => list.map((one) => one.toPrecision(4)).join(', ');
    console.log(
      `| ${wallets} | ${shown(tps)} | ${shown(counted)} | ${(100 * largest).toFixed(2)} % | ${off} | ${exact} of ${runs.length} exact |`,
    );
  }
  console.log(`load average at the end: ${loadavg()[0].toFixed(1)}`);
} finally {
  await node?.stop();
}
