/** What the benchmarks share. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const STRESS = fileURLToPath(new URL('../../bin/stress.js', import.meta.url));

/** @typedef {{tps: number, cpuUs: number, meanMs: number, failed: number}} Figures */

/**
 * One run of ours, whose audit has to be exact: a figure that the chain does not confirm is no figure.
 * @param {{url: string, funderKey: string}} node
 * @param {string[]} args
 * @returns {Promise<Figures>}
 */
export async function runOurs({ url, funderKey }, args) {
  const folder = mkdtempSync(join(tmpdir(), 'stress-bench-'));
  try {
    const out = join(folder, 'run.json');
    const env = { ...process.env, STRESS_FUNDER_KEY: funderKey };
    await run(process.execPath, [STRESS, '--rpc', url, '-o', '0', '--out', out, ...args], { env });
    const { rates, generator, latency, counts, audit } = JSON.parse(readFileSync(out, 'utf8'));
    if (!audit.exact) throw new Error('the audit is not exact');
    return {
      tps: rates.verifiedPerSecond,
      cpuUs: generator.cpuUsPerVerified,
      meanMs: latency.total.meanUs / 1000,
      failed: counts.failed + counts.timedOut + counts.abandoned,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {number[]} numbers */
export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2;
}

/** Median and range. @param {number[]} numbers @param {number} digits */
export function spread(numbers, digits) {
  const [middle, low, high] = [median(numbers), Math.min(...numbers), Math.max(...numbers)].map((x) =>
    x.toFixed(digits),
  );
  return `${middle} (${low} to ${high})`;
}

/** The machine, for the head of a results page. */
export function machine() {
  return `${cpus().length} cores (${cpus()[0].model.trim()}), Node ${process.version}`;
}
