/**
 * Whether the throughput of equal runs is wallets x block intervals on a chain with a block a second, beside programs
 * that keep the machine busy: prints a markdown table. The intervals are worked out from the instants in --blocks; a
 * starved node makes fewer blocks than one a second.
 *
 *     node scripts/steady-rate.js [--wallets 20,40,60] [--runs 10] [--seconds 20] [--busy 2] [--embedded]
 *
 * --busy: programs beside each run that only count; --embedded: on the embedded chain, compared with the runs' mean.
 * A row is off if its rate differs by more than 5 %.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startGeth } from './nodes/geth.js';

/** @import { RunFile } from '../src/contracts/run-file.d.ts' */

const STRESS = fileURLToPath(new URL('../bin/stress.js', import.meta.url));
const OFF = 0.05;

const { values } = parseArgs({
  options: {
    wallets: { type: 'string', default: '20,40,60' },
    runs: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '20' },
    busy: { type: 'string', default: '2' },
    embedded: { type: 'boolean', default: false },
  },
});

/** @typedef {{run: RunFile, seenMs: number[]}} Made seenMs: when blocks were seen, time of day */

/** @param {string[]} args @param {NodeJS.ProcessEnv} env @returns {Promise<Made>} */
async function make(args, env) {
  const folder = mkdtempSync(join(tmpdir(), 'stress-rate-'));
  const [out, blocks] = ['run.json', 'blocks.ndjson'].map((name) => join(folder, name));
  const busy = Array.from({ length: Number(values.busy) }, () => spawn(process.execPath, ['-e', 'for (;;);']));
  try {
    const child = spawn(process.execPath, [STRESS, ...args, '--out', out, '--blocks', blocks, '--quiet'], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    if (code !== 0) throw new Error(`stress ${args.join(' ')} ended with ${code}`);
    const lines = readFileSync(blocks, 'utf8').trim().split('\n');
    return { run: JSON.parse(readFileSync(out, 'utf8')), seenMs: lines.map((line) => JSON.parse(line).seen_at_ms) };
  } finally {
    for (const child of busy) child.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  }
}

/** Blocks per second of a time; before the first block and after the last one they came as on average. @param {number[]} seenMs @param {number} fromMs @param {number} toMs */
function blockRate(seenMs, fromMs, toMs) {
  const meanMs = (seenMs[seenMs.length - 1] - seenMs[0]) / (seenMs.length - 1);
  const all = [seenMs[0] - meanMs, ...seenMs, seenMs[seenMs.length - 1] + meanMs];
  const intervals = all.slice(1).reduce((sum, ms, i) => {
    return sum + Math.max(0, Math.min(ms, toMs) - Math.max(all[i], fromMs)) / (ms - all[i]);
  }, 0);
  return (1000 * intervals) / (toMs - fromMs);
}

/** @param {Made} made @param {number} wallets */
function rowsOff({ run, seenMs }, wallets) {
  const load = run.intervals.filter(({ phase }) => phase === 'load');
  const loadMs = Date.parse(run.window.startedAt) - load[0].startMs;
  return load.filter(({ startMs, endMs, tps }) => {
    const expected = wallets * blockRate(seenMs, loadMs + startMs, loadMs + endMs);
    return Math.abs((tps ?? 0) / expected - 1) > OFF;
  }).length;
}

const node = values.embedded ? null : await startGeth({ period: 1 });
try {
  console.log('| wallets | TPS | expected | counted in the window | largest difference | rows off | audits |');
  console.log('| --- | --- | --- | --- | --- | --- | --- |');
  for (const wallets of values.wallets.split(',').map(Number)) {
    /** @type {Made[]} */
    const all = [];
    for (let i = 0; i < Number(values.runs); i += 1) {
      const args = ['-t', `${wallets}`, '-o', '0', '-d', `${values.seconds}s`];
      if (node === null) all.push(await make(args, {}));
      else all.push(await make([...args, '--rpc', node.url], { STRESS_FUNDER_KEY: node.funderKey }));
    }
    const tps = all.map(({ run }) => run.rates.verifiedPerSecond ?? NaN);
    const mean = tps.reduce((sum, one) => sum + one, 0) / tps.length;
    const expected = all.map(({ run, seenMs }) => {
      const startMs = Date.parse(run.window.startedAt);
      return node === null ? mean : wallets * blockRate(seenMs, startMs, startMs + run.window.durationMs);
    });
    const largest = Math.max(...tps.map((one, i) => Math.abs(one / expected[i] - 1)));
    const counted = all.map(({ run }) => (1000 * run.window.counts.verified) / run.window.durationMs);
    const off = all.reduce((sum, one) => sum + (node === null ? 0 : rowsOff(one, wallets)), 0);
    const exact = all.filter(({ run }) => /** @type {any} */ (run.audit)?.exact).length;
    const shown = (/** @type {number[]} */ list) => list.map((one) => one.toPrecision(4)).join(', ');
    console.log(
      `| ${wallets} | ${shown(tps)} | ${shown(expected)} | ${shown(counted)} | ${(100 * largest).toFixed(2)} % | ${off} | ${exact} of ${all.length} exact |`,
    );
  }
  console.log(`load average at the end: ${loadavg()[0].toFixed(1)}`);
} finally {
  await node?.stop();
}
