import { join } from 'node:path';
import { StressError, EXIT } from '../errors.js';
import { runChild } from './child.js';
import { figureOf } from '../metrics/figures.js';
import { readRunFiles } from './run-file.js';
import { argsOf, planCells } from './plan.js';
import { isWhole } from './sweep-cells.js';

/**
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Config } from '../run/config.js'
 * @import { Parts } from './sweep.js'
 */

/**
 * A short run before a sweep that has to know how long an operation takes.
 */

const LONGEST_MS = 5000;
/** Wallets enough, should an operation take twice as long. */
const FORESEEN_LATENCY_US = 2.5e6;

/**
 * @param {object} given
 * @param {Parameters<typeof planCells>[0]} given.layout of the sweep
 * @param {string} given.folder of the sweep
 * @param {Config} given.config
 * @param {Parts} given.parts
 * @param {string} given.since when the sweep began: an older pilot is of another one
 * @returns {Promise<number | null>} p99 of the lowest rate, in microseconds; null when it was interrupted
 */
export async function pilotLatencyUs({ layout, folder, config, parts, since }) {
  const { say, stop, onProgress } = parts;
  const out = join(folder, 'pilot.json');
  const before = await readPilot(out);
  if (before !== null && before.startedAt >= since) return p99(before);
  const [lowest] = planCells(layout, FORESEEN_LATENCY_US).sort((a, b) => (a.asked ?? 0) - (b.asked ?? 0));
  onProgress('a pilot run says how many wallets are needed', 0, 1);
  const durationMs = Math.min(LONGEST_MS, config.durationMs ?? LONGEST_MS);
  const args = [...argsOf(lowest), `--duration=${durationMs}ms`];
  const { run, exitCode, complaint } = await runChild({ args, env: config.study.env, out, stop });
  onProgress('', 1, 1);
  if (stop.drain.aborted) return null;
  const latencyUs = run !== null && isWhole(run) ? p99(run) : null;
  if (latencyUs === null)
    throw new StressError(
      `the pilot run: ${complaint ?? 'it verified nothing'}`,
      'pilot_failed',
      exitCode === EXIT.ok ? EXIT.nothingVerified : exitCode,
    );
  say(`pilot: p99 ${Math.round(latencyUs / 1000)} ms at ${lowest.asked} per second`);
  return latencyUs;
}

/** @param {RunFile} run */
function p99(run) {
  return figureOf('p99')?.read(run) ?? null;
}

/** @param {string} file @returns {Promise<RunFile | null>} */
async function readPilot(file) {
  try {
    const [run] = await readRunFiles([file]);
    return isWhole(run) ? run : null;
  } catch {
    return null;
  }
}
