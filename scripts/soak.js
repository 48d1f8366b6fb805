/**
 * Whether memory is constant: runs stress at full speed for a long time, and compares what lives on its heap after the
 * warm-up, in the middle and at the end.
 *
 *     npm run soak -- [--duration 30m] [--warmup 5m] [-- options of stress]
 *
 * Without other options it is the main job on the embedded chain, with a run file, so that checkpoints are part of it. V8
 * collects all garbage before it writes a heap snapshot; what is compared has no chance of being garbage. The exit code is
 * 1 when the live heap has grown by more than 10 % and by more than 5 MB.
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
import { borderless, textOf } from '../src/outputs/format.js';

/** @import { ChildProcess } from 'node:child_process' */

const STRESS = fileURLToPath(new URL('../bin/stress.js', import.meta.url));
const DEFAULTS = ['-t', '200', '-o', '0'];

/** What the heap may grow by. */
const GROWTH = 0.1;
const GROWTH_BYTES = 5e6;

const SHOWN = 15;
const SAMPLES = 30;

/** How long a snapshot, and an end, may take. */
const PATIENCE_MS = 120_000;

/**
 * @typedef {Map<string, {count: number, bytes: number}>} Heap by the kind of what is on it
 * @typedef {{atMs: number, rssBytes: number, descriptors: number, threads: number}} Seen
 * @typedef {{atMs: number, bytes: number, heap: Heap}} Snapshot
 */

/** @param {number} pid @param {number} atMs @returns {Seen} */
function look(pid, atMs) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const figure = (/** @type {string} */ name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  const descriptors = readdirSync(`/proc/${pid}/fd`).length;
  return { atMs, rssBytes: figure('VmRSS') * 1024, descriptors, threads: figure('Threads') };
}

/**
 * Asks the process for a snapshot, which stands still while it writes, reads it, and deletes it.
 * @param {ChildProcess} child
 * @param {string} folder
 * @param {number} startMs
 * @returns {Promise<Snapshot>}
 */
async function snapshot(child, folder, startMs) {
  const atMs = Date.now() - startMs;
  child.kill('SIGUSR2');
  const file = await written(folder);
  try {
    return { atMs, ...readHeap(file) };
  } finally {
    rmSync(file);
  }
}

/** @param {string} folder @returns {Promise<string>} the snapshot in it, once it does not grow any more */
async function written(folder) {
  let sizeBytes = -1;
  for (const untilMs = Date.now() + PATIENCE_MS; Date.now() < untilMs; await sleep(1000)) {
    const name = readdirSync(folder).find((one) => one.endsWith('.heapsnapshot'));
    if (name === undefined) continue;
    const { size } = statSync(join(folder, name));
    if (size > 0 && size === sizeBytes) return join(folder, name);
    sizeBytes = size;
  }
  throw new Error('stress wrote no heap snapshot in time');
}

/** @param {string} file @returns {{bytes: number, heap: Heap}} */
function readHeap(file) {
  const { snapshot: described, nodes, strings } = JSON.parse(readFileSync(file, 'utf8'));
  const { node_fields: fields, node_types: types } = described.meta;
  const [type, name, size] = ['type', 'name', 'self_size'].map((field) => fields.indexOf(field));
  /** @type {Heap} */
  const heap = new Map();
  let bytes = 0;
  for (let at = 0; at < nodes.length; at += fields.length) {
    const kind = kindOf(types[type][nodes[at + type]], strings[nodes[at + name]]);
    const sum = heap.get(kind) ?? { count: 0, bytes: 0 };
    sum.count += 1;
    sum.bytes += nodes[at + size];
    bytes += nodes[at + size];
    heap.set(kind, sum);
  }
  return { bytes, heap };
}

/** Objects by what made them; of strings and code the names are many. @param {string} type @param {string} name */
function kindOf(type, name) {
  return type === 'object' || type === 'native' ? `${type} ${name.slice(0, 40)}` : `(${type})`;
}

/** @param {number} bytes */
function mb(bytes) {
  return (bytes / 1e6).toFixed(2);
}

/** @param {Snapshot[]} snapshots @param {Seen[]} seen */
function report(snapshots, seen) {
  const first = snapshots[0];
  const last = snapshots[snapshots.length - 1];
  const none = { count: 0, bytes: 0 };
  const kinds = [...new Set(snapshots.flatMap(({ heap }) => [...heap.keys()]))];
  const grown = (/** @type {string} */ kind) =>
    (last.heap.get(kind) ?? none).bytes - (first.heap.get(kind) ?? none).bytes;
  const most = kinds.sort((a, b) => Math.abs(grown(b)) - Math.abs(grown(a))).slice(0, SHOWN);

  const over = borderless({ head: ['minute', 'RSS MB', 'descriptors', 'threads'], colAligns: Array(4).fill('right') });
  const step = Math.max(1, Math.ceil(seen.length / SAMPLES));
  for (const { atMs, rssBytes, descriptors, threads } of seen.filter((_, i) => i % step === 0))
    over.push([(atMs / 60_000).toFixed(1), mb(rssBytes), descriptors, threads]);
  const heap = borderless({
    head: ['live MB (count)', ...snapshots.map(({ atMs }) => `minute ${(atMs / 60_000).toFixed(1)}`), 'grown MB'],
    colAligns: ['left', ...Array(snapshots.length + 1).fill('right')],
  });
  for (const kind of most) {
    const cells = snapshots
      .map((one) => one.heap.get(kind) ?? none)
      .map(({ count, bytes }) => `${mb(bytes)} (${count})`);
    heap.push([kind, ...cells, mb(grown(kind))]);
  }
  heap.push(['all', ...snapshots.map(({ bytes }) => mb(bytes)), mb(last.bytes - first.bytes)]);
  process.stdout.write(`${textOf(over)}\n\n${textOf(heap)}\n\n`);
}

/**
 * @param {ChildProcess} child
 * @param {{folder: string, durationMs: number, warmupMs: number}} plan
 */
async function watch(child, { folder, durationMs, warmupMs }) {
  const startMs = Date.now();
  /** @type {Seen[]} */
  const seen = [];
  /** @type {Snapshot[]} */
  const snapshots = [];
  const everyMs = Math.min(10_000, durationMs / SAMPLES);
  for (const untilMs of [warmupMs, (warmupMs + durationMs) / 2, durationMs]) {
    while (Date.now() - startMs < untilMs) {
      if (child.exitCode !== null) throw new Error(`stress ended with ${child.exitCode}`);
      seen.push(look(child.pid ?? -1, Date.now() - startMs));
      await sleep(Math.min(everyMs, Math.max(0, untilMs - (Date.now() - startMs))));
    }
    snapshots.push(await snapshot(child, folder, startMs));
  }
  return { seen, snapshots };
}

/** @param {ChildProcess} child @returns {Promise<number | null>} */
async function end(child) {
  const over = once(child, 'exit');
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGINT');
    await Promise.race([over, sleep(PATIENCE_MS, undefined, { ref: false })]);
    child.kill('SIGKILL');
  }
  return child.exitCode;
}

/** @param {string[]} argv */
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
  // Ctrl-C is for both of us: stress drains, and we look after it.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill('SIGINT'));
  try {
    const { seen, snapshots } = await watch(child, { folder, durationMs, warmupMs });
    const code = await end(child);
    const run = JSON.parse(readFileSync(out, 'utf8'));
    report(snapshots, seen);
    const grown = snapshots[snapshots.length - 1].bytes - snapshots[0].bytes;
    const isBounded = grown <= Math.max(GROWTH * snapshots[0].bytes, GROWTH_BYTES);
    const isExact = code === 130 && run.audit?.exact === true;
    process.stdout.write(
      `${run.counts.verified} verified, audit ${isExact ? 'exact' : `not exact, exit code ${code}`}: ` +
        `the live heap ${isBounded ? 'is bounded' : 'GROWS'}: ${mb(grown)} MB of ${mb(snapshots[0].bytes)} MB\n`,
    );
    return isBounded && isExact ? 0 : 1;
  } finally {
    await end(child);
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main(process.argv.slice(2));
