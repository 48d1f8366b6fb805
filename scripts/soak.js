/**
 * Whether memory is constant: runs stress at full speed for a long time, and compares what lives on its heap after the
 * warm-up, in the middle and at the end.
 *
 *     npm run soak -- [--duration 30m] [--warmup 5m] [-- options of stress]
 *
 * Without other options it is the main job on the embedded chain, with a run file, so that checkpoints are part of it. V8
 * collects all garbage before it writes a heap snapshot. The exit code is 1 when the live heap has grown by more than 10 %
 * and by more than 5 MB; the snapshots are then kept, for the memory tab of Chrome's developer tools.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { duration } from '../src/cli/parse.js';
import { tableOf, tableText } from '../src/outputs/table.js';

/** @import { ChildProcess } from 'node:child_process' */

const STRESS = fileURLToPath(new URL('../bin/stress.js', import.meta.url));
const DEFAULTS = ['-t', '200', '-o', '0'];

/** What the heap may grow by. */
const GROWTH = 0.1;
const GROWTH_BYTES = 5e6;

/** Lines of the table. */
const SAMPLES = 30;

/** Time limit of a snapshot, and of the end. */
const PATIENCE_MS = 120_000;

/** @param {number} pid @param {number} atMs @returns {string[]} a line of the table */
function look(pid, atMs) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const figure = (/** @type {string} */ name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  const descriptors = readdirSync(`/proc/${pid}/fd`).length;
  return [(atMs / 60_000).toFixed(1), mb(figure('VmRSS') * 1024), String(descriptors), String(figure('Threads'))];
}

/** The live heap, from a snapshot that the process writes. @param {ChildProcess} child @param {string} folder */
async function liveBytes(child, folder) {
  const before = readdirSync(folder);
  child.kill('SIGUSR2');
  let sizeBytes = -1;
  for (const untilMs = Date.now() + PATIENCE_MS; Date.now() < untilMs; await sleep(1000)) {
    const name = readdirSync(folder).find((one) => one.endsWith('.heapsnapshot') && !before.includes(one));
    if (name === undefined) continue;
    const { size } = statSync(join(folder, name));
    // It does not grow any more.
    if (size > 0 && size === sizeBytes) return heapOf(join(folder, name));
    sizeBytes = size;
  }
  throw new Error('stress wrote no heap snapshot in time');
}

/** @param {string} file */
function heapOf(file) {
  const { snapshot, nodes } = JSON.parse(readFileSync(file, 'utf8'));
  const fields = snapshot.meta.node_fields;
  let bytes = 0;
  for (let at = fields.indexOf('self_size'); at < nodes.length; at += fields.length) bytes += nodes[at];
  return bytes;
}

/** @param {number} bytes */
function mb(bytes) {
  return (bytes / 1e6).toFixed(2);
}

/** @param {ChildProcess} child @param {{folder: string, durationMs: number, warmupMs: number}} plan @returns {Promise<number[]>} live bytes */
async function watch(child, { folder, durationMs, warmupMs }) {
  const startMs = Date.now();
  /** @type {string[][]} */
  const rows = [];
  const heaps = [];
  for (const untilMs of [warmupMs, (warmupMs + durationMs) / 2, durationMs]) {
    while (Date.now() - startMs < untilMs) {
      if (child.exitCode !== null) throw new Error(`stress ended with ${child.exitCode}`);
      rows.push(look(child.pid ?? -1, Date.now() - startMs));
      await sleep(Math.min(durationMs / SAMPLES, Math.max(0, untilMs - (Date.now() - startMs))));
    }
    heaps.push(await liveBytes(child, folder));
  }
  const table = tableOf('', '', ['minute', 'RSS MB', 'descriptors', 'threads'], rows);
  process.stdout.write(`${tableText(table)}\n\nlive heap: ${heaps.map((bytes) => `${mb(bytes)} MB`).join(', ')}\n`);
  return heaps;
}

/** @param {ChildProcess} child @returns {Promise<number | null>} its exit code */
async function end(child) {
  const over = once(child, 'exit');
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGINT');
    await Promise.race([over, sleep(PATIENCE_MS, undefined, { ref: false })]);
    child.kill('SIGKILL');
  }
  return child.exitCode;
}

/** @param {string[]} argv @returns {Promise<number>} the exit code */
async function main(argv) {
  const { values, positionals } = parseArgs({
    args: argv,
    options: { duration: { type: 'string', default: '30m' }, warmup: { type: 'string' } },
    allowPositionals: true,
  });
  const durationMs = Number(duration(1000)(values.duration));
  const warmupMs = values.warmup === undefined ? Math.min(300_000, durationMs / 4) : Number(duration(0)(values.warmup));
  const folder = mkdtempSync(join(tmpdir(), 'stress-soak-'));
  const out = join(folder, 'run.json');
  const inspected = ['--heapsnapshot-signal=SIGUSR2', `--diagnostic-dir=${folder}`];
  const args = [...inspected, STRESS, '--out', out, ...(positionals.length > 0 ? positionals : DEFAULTS)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  // stress drains at the first signal, and this script cleans up afterwards.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill('SIGINT'));
  let isBounded = true;
  try {
    const [first, , last] = await watch(child, { folder, durationMs, warmupMs });
    const code = await end(child);
    const run = JSON.parse(readFileSync(out, 'utf8'));
    isBounded = last - first <= Math.max(GROWTH * first, GROWTH_BYTES);
    const isExact = code === 130 && run.audit?.exact === true;
    const heap = isBounded ? 'is bounded' : `GROWS (the snapshots are in ${folder})`;
    process.stdout.write(
      `${run.counts.verified} verified, audit ${isExact ? 'exact' : `not exact, exit code ${code}`}: ` +
        `the live heap ${heap}: ${mb(last - first)} MB of ${mb(first)} MB\n`,
    );
    return isBounded && isExact ? 0 : 1;
  } finally {
    await end(child);
    if (isBounded) rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main(process.argv.slice(2));
