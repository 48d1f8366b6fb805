/**
 * Whether memory is constant over hours: runs stress for a long time, and fits a line to what lives on its heap.
 *
 *     npm run soak -- [--duration 6h] [--warmup 40m] [--geth | --anvil] [--no-snapshots] [-- options of stress]
 *     npm run soak -- --resume-soak DIR [--duration 6h] ...
 *
 * It is 50 operations a second on the embedded chain; or, with --geth or --anvil, 100 a second on such a node with a block
 * a second, by wallets that are funded for half an hour and refilled. That node is stopped and started again after each
 * sixth of the time, and from 36 % to 46 % of it other wallets fill its pool and raise its base fee to 2 gwei.
 *
 * With --resume-soak the folder keeps the chain of a geth, the contracts, and a folder for each part: the same command again
 * makes the next part, on another day or after a crash, so that a week is 28 parts. Each part also replaces a twentieth of its
 * transactions, takes CPU profiles of geth, pushes its figures to a server of this script, and writes evidence; geth's lowest tip
 * rises and falls with its restarts. At the end of a part all parts together have one account (soak-account.js).
 *
 * A run file is written, so that checkpoints are part of it. V8 collects all garbage before it writes a heap snapshot. The
 * exit code is 0 if the audit is exact, the data on the live heap grow by less than 1 MB per hour (the upper 95 % bound of
 * their slope), and the RSS at the end is at most 1.1 times that after the warm-up (medians of a tenth of the time between
 * them). Otherwise the first and the last snapshot are kept, for the memory tab of Chrome's developer tools. A snapshot
 * takes memory itself, which the process keeps: --no-snapshots measures the RSS without them.
 *
 * Two things that have a limit move the heap by as much as a leak would in an hour, and are told apart: what V8 compiles,
 * by the kinds of a snapshot's nodes, and the interval rows, which go from 1,000 to 2,000 and are then merged, by a
 * regression of both the heap and the time on their number (R. Frisch and F. Waugh, Econometrica 1, 1933).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { mkdtempSync, openSync, readFileSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { freePort } from '../src/chain/devchain.js';
import { duration } from '../src/cli/parse.js';
import { EXIT, UnavailableError, UsageError, oneLine } from '../src/errors.js';
import { tableOf, tableText } from '../src/outputs/table.js';
import { fitLine, median } from '../src/studies/statistics.js';
import { startAnvil } from './nodes/anvil.js';
import { startGeth } from './nodes/geth.js';
import { accountOf, filesOf, nextPart } from './soak-account.js';

/**
 * @import { ChildProcess } from 'node:child_process'
 * @typedef {{atMs: number, act: () => Promise<unknown>}} Event
 * @typedef {{dataDir: string, port?: number, flags?: readonly string[]}} NodePlan
 */

const STRESS = fileURLToPath(new URL('../bin/stress.js', import.meta.url));
/** With an interval of a second the 2,000 rows that a run keeps are there after 33 minutes. */
const ALWAYS = ['-t', '200', '-o', '0', '--interval', '1s'];
const WARMUP_MS = 40 * 60_000;
const ON_EMBEDDED = '--rate 50 --tx-timeout 5m'.split(' ');
const ON_NODE = '--rate 100 --fund-amount 0.025 --refill-below 0.01 --tx-timeout 5m'.split(' ');
const FLOOD = '-t 60 -o 1000 --in-flight 64 --max-base-fee 2'.split(' ');

/** The wallets of this one have no funds on any node. */
const MNEMONIC = 'legal winner thank year wave sausage worth useful legal winner thank yellow';
const GAS_LIMIT = 15_000_000;
/** With that priority fee, which both suggest, an operation costs the same in each hour. */
const GETH_FLAGS = '--txpool.globalslots 2000 --miner.gasprice 1000000000'.split(' ');
/** With its defaults, anvil keeps all blocks and states. */
const ANVIL_FLAGS = `--block-time 1 --gas-limit ${GAS_LIMIT} --transaction-block-keeper 600 --max-persisted-states 1`;
const NODES = {
  geth: (/** @type {NodePlan} */ { dataDir, port = 0, flags = [] }) =>
    startGeth({ period: 1, gasLimit: GAS_LIMIT, flags: [...GETH_FLAGS, ...flags], dataDir, port }),
  anvil: (/** @type {NodePlan} */ { dataDir, port = 0 }) =>
    startAnvil({ flags: ANVIL_FLAGS.split(' '), dataDir, port }),
};
const RESTARTS = 5;

/** Of a soak in parts: each second start of geth asks for three times the tip that it suggests. */
const TIP_FLOORS = ['1000000000', '3000000000'];
const IN_PARTS = '--replace-share 5%'.split(' ');

const MAX_SLOPE_BYTES_PER_HOUR = 1e6;
const MAX_RSS_RATIO = 1.1;

/** Heap snapshots after the warm-up, and lines of the table between two of them. */
const SNAPSHOTS = 40;
const LOOKS = 2;

/** Kinds of nodes that are V8's own: machine code with its feedback, and the shapes of objects. */
const COMPILED = ['code', 'object shape', 'hidden'];

/** Time limit of a snapshot, and of the end. */
const PATIENCE_MS = 120_000;

/** @param {ChildProcess} child */
function look(child) {
  const end = child.exitCode ?? child.signalCode;
  if (end !== null) throw new UnavailableError(`stress ended with ${end}`);
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  const figure = (/** @type {string} */ name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  const descriptors = readdirSync(`/proc/${child.pid}/fd`).length;
  return { rssBytes: figure('VmRSS') * 1024, descriptors, threads: figure('Threads') };
}

/**
 * The live heap, from a snapshot that the process writes.
 * @param {ChildProcess} child
 * @param {string} folder
 * @param {string} keptAs name of the file afterwards
 */
async function liveBytes(child, folder, keptAs) {
  child.kill('SIGUSR2');
  let sizeBytes = -1;
  for (const untilMs = Date.now() + PATIENCE_MS; Date.now() < untilMs; await sleep(1000)) {
    const name = readdirSync(folder).find((one) => one.startsWith('Heap.'));
    if (name === undefined) continue;
    const file = join(folder, name);
    const { size } = statSync(file);
    // It does not grow any more.
    if (size > 0 && size === sizeBytes) {
      renameSync(file, join(folder, keptAs));
      return heapOf(join(folder, keptAs));
    }
    sizeBytes = size;
  }
  throw new UnavailableError('stress wrote no heap snapshot in time');
}

/** @param {string} file */
function heapOf(file) {
  const { snapshot, nodes } = JSON.parse(readFileSync(file, 'utf8'));
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const [kind, size] = [fields.indexOf('type'), fields.indexOf('self_size')];
  const kinds = types[kind];
  let [dataBytes, compiledBytes] = [0, 0];
  for (let at = 0; at < nodes.length; at += fields.length)
    if (COMPILED.includes(kinds[nodes[at + kind]])) compiledBytes += nodes[at + size];
    else dataBytes += nodes[at + size];
  return { dataBytes, compiledBytes };
}

/**
 * The slope of ys over xs where both also depend on others: a regression of what the others leave of each.
 * @param {number[]} xs
 * @param {number[]} ys
 * @param {number[]} others
 */
function slopeBeside(xs, ys, others) {
  const rest = (/** @type {number[]} */ values) => fitLine(others, values, 0.05).residuals;
  return fitLine(rest(xs), rest(ys), 0.05);
}

/** @param {number} bytes */
function mb(bytes) {
  return (bytes / 1e6).toFixed(2);
}

/**
 * @typedef {{hours: number, rows: number, dataBytes: number, compiledBytes: number}} Heap
 *
 * @param {ChildProcess} child
 * @param {{folder: string, out: string, durationMs: number, warmupMs: number, hasSnapshots: boolean, events: Event[]}} plan
 * @returns {Promise<boolean>} whether memory is bounded
 */
async function watch(child, { folder, out, durationMs, warmupMs, hasSnapshots, events }) {
  const startMs = Date.now();
  /** @type {string[][]} */
  const lines = [];
  /** @type {Heap[]} */
  const heaps = [];
  /** @type {number[]} */
  const rsses = [];
  const due = [...events];
  const stepMs = (durationMs - warmupMs) / (SNAPSHOTS - 1) / LOOKS;
  for (let step = 0; step <= (SNAPSHOTS - 1) * LOOKS; step += 1) {
    while (Date.now() - startMs < warmupMs + step * stepMs) {
      if (due.length > 0 && Date.now() - startMs >= due[0].atMs) await due.shift()?.act();
      const { rssBytes } = look(child);
      // A snapshot takes memory itself, which the process keeps.
      if (step > 0) rsses.push(rssBytes);
      await sleep(Math.min(1000, stepMs / 10));
    }
    const { rssBytes, descriptors, threads } = look(child);
    const hours = (Date.now() - startMs) / 3_600_000;
    /** @type {string[]} */
    let ofHeap = ['', '', ''];
    if (hasSnapshots && step % LOOKS === 0) {
      const rows = JSON.parse(readFileSync(out, 'utf8')).intervals.length;
      const heap = await liveBytes(child, folder, heaps.length === 0 ? 'first.heapsnapshot' : 'last.heapsnapshot');
      heaps.push({ hours, rows, ...heap });
      ofHeap = [mb(heap.dataBytes), mb(heap.compiledBytes), `${rows}`];
    }
    lines.push([(hours * 60).toFixed(1), mb(rssBytes), ...ofHeap, `${descriptors}`, `${threads}`]);
  }
  const columns = ['minute', 'RSS MB', 'data MB', 'compiled MB', 'rows', 'descriptors', 'threads'];
  process.stdout.write(`${tableText(tableOf('', '', columns, lines))}\n\n`);
  const tenth = Math.ceil(rsses.length / 10);
  const [before, after] = [median(rsses.slice(0, tenth)), median(rsses.slice(-tenth))];
  process.stdout.write(
    `RSS: ${mb(before)} MB after the warm-up, ${mb(after)} MB at the end, ${(after / before).toFixed(2)} of it (at most ${MAX_RSS_RATIO})\n`,
  );
  const isHeapBounded = !hasSnapshots || isBounded(heaps);
  return isHeapBounded && after <= MAX_RSS_RATIO * before;
}

/** @param {Heap[]} heaps */
function isBounded(heaps) {
  const hours = heaps.map((heap) => heap.hours);
  const data = heaps.map(({ dataBytes }) => dataBytes);
  const of = (/** @type {{slope: number, slopeLow: number, slopeHigh: number}} */ fit) =>
    `${mb(fit.slope)} MB per hour (95 %: ${mb(fit.slopeLow)} to ${mb(fit.slopeHigh)})`;
  const all = fitLine(
    hours,
    heaps.map(({ dataBytes, compiledBytes }) => dataBytes + compiledBytes),
    0.05,
  );
  const beside = slopeBeside(
    hours,
    data,
    heaps.map(({ rows }) => rows),
  );
  process.stdout.write(
    `slope of the whole live heap: ${of(all)}\nof its data: ${of(fitLine(hours, data, 0.05))}\n` +
      `of its data at a constant number of rows: ${of(beside)}; at most ${mb(MAX_SLOPE_BYTES_PER_HOUR)}\n`,
  );
  return beside.slopeHigh <= MAX_SLOPE_BYTES_PER_HOUR;
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

/** @param {string[]} args @param {{output?: number | 'ignore', env?: Record<string, string | undefined>}} [options] */
function start(args, { output = 'ignore', env = {} } = {}) {
  return spawn(process.execPath, args, { stdio: ['ignore', output, 'inherit'], env: { ...process.env, ...env } });
}

/**
 * @param {{name: keyof NODES, dataDir: string, durationMs: number, pprofPort: number | null}} plan pprofPort: of a soak in parts
 */
async function nodeAndEvents({ name, dataDir, durationMs, pprofPort }) {
  const pprof = pprofPort === null ? [] : ['--pprof', '--pprof.addr', '127.0.0.1', '--pprof.port', `${pprofPort}`];
  let starts = 0;
  const startNode = (port = 0) => {
    const floor = pprofPort === null ? [] : ['--miner.gasprice', TIP_FLOORS[starts % TIP_FLOORS.length]];
    starts += 1;
    return NODES[name]({ dataDir, port, flags: [...pprof, ...floor] });
  };
  let node = await startNode();
  const { url, funderKey } = node;
  const restart = async () => {
    await node.stop();
    node = await startNode(Number(new URL(url).port));
  };
  const env = { STRESS_FUNDER_KEY: funderKey, STRESS_MNEMONIC: MNEMONIC };
  const funds = start([STRESS, 'fund', ...FLOOD.slice(0, 4), '--fund-amount', '20', '--rpc', url], { env });
  const [code] = await once(funds, 'exit');
  if (code !== 0) {
    await node.stop();
    throw new UnavailableError(`the wallets that fill the pool got no funds: stress fund ended with ${code}`);
  }
  /** @type {ChildProcess | null} */
  let flood = null;
  const fill = async () => {
    flood = start([STRESS, ...FLOOD, '-d', `${durationMs / 10}ms`, '--rpc', url], { env });
  };
  const stop = async () => {
    flood?.kill('SIGKILL');
    await node.stop();
  };
  /** @type {Event[]} */
  const events = Array.from({ length: RESTARTS }, (_, index) => ({
    atMs: (durationMs * (index + 1)) / (RESTARTS + 1),
    act: restart,
  }));
  events.splice(2, 0, { atMs: durationMs * 0.36, act: fill });
  return { url, env, events, stop };
}

/** What --push sends to. */
async function startCollector() {
  let pushes = 0;
  const server = createServer((request, response) => {
    pushes += 1;
    request.resume().on('end', () => response.end('{}'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, count: () => pushes, stop };
}

/**
 * What a soak in parts has beside the load.
 * @param {string} folder of all parts
 * @param {string} own of this part
 */
async function startPart(folder, own) {
  const collector = await startCollector();
  const pprofPort = await freePort();
  const files = ['--contracts', filesOf(folder).contracts, '--evidence', join(own, 'run.evidence')];
  const profile = ['--node-profile', `http://127.0.0.1:${pprofPort}/debug/pprof/profile`];
  return { collector, pprofPort, args: [...files, ...profile, '--push', collector.url, ...IN_PARTS] };
}

/** @param {string} name of an option @param {string} text */
function msOf(name, text) {
  try {
    return Number(duration(1000)(text));
  } catch (error) {
    throw new UsageError(`--${name} ${/** @type {Error} */ (error).message}`);
  }
}

/** @param {string[]} argv @returns {Promise<number>} the exit code */
async function main(argv) {
  const { values, positionals } = parseArgs({
    args: argv,
    options: {
      duration: { type: 'string', default: '6h' },
      warmup: { type: 'string' },
      geth: { type: 'boolean', default: false },
      anvil: { type: 'boolean', default: false },
      'no-snapshots': { type: 'boolean', default: false },
      'resume-soak': { type: 'string' },
    },
    allowPositionals: true,
  });
  const durationMs = msOf('duration', values.duration);
  const warmupMs = values.warmup === undefined ? Math.min(WARMUP_MS, durationMs / 4) : msOf('warmup', values.warmup);
  if (warmupMs >= durationMs) throw new UsageError('--warmup must be shorter than --duration');
  if (values.geth && values.anvil) throw new UsageError('give --geth or --anvil');
  const all = values['resume-soak'] === undefined ? null : resolve(values['resume-soak']);
  if (all !== null && values.anvil) throw new UsageError('--resume-soak is on geth: leave --anvil out');
  const made = all === null ? null : nextPart(all);
  const folder = made?.folder ?? mkdtempSync(join(tmpdir(), 'stress-soak-'));
  const out = join(folder, 'run.json');
  const name = values.geth || all !== null ? 'geth' : values.anvil ? 'anvil' : null;
  const part = all === null ? null : await startPart(all, folder);
  const dataDir = all === null ? join(folder, String(name)) : filesOf(all).node;
  const node = name && (await nodeAndEvents({ name, dataDir, durationMs, pprofPort: part?.pprofPort ?? null }));
  const where = node === null ? ON_EMBEDDED : [...ON_NODE, '--rpc', node.url, ...(part?.args ?? [])];
  const inspected = ['--heapsnapshot-signal=SIGUSR2', `--diagnostic-dir=${folder}`];
  const summary = join(folder, 'summary.txt');
  const child = start([...inspected, STRESS, '--out', out, ...ALWAYS, ...where, ...positionals], {
    output: openSync(summary, 'w'),
    env: node?.env,
  });
  // stress drains at the first signal, and this script cleans up afterwards.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill('SIGINT'));
  let isGood = false;
  try {
    const hasSnapshots = !values['no-snapshots'];
    const isMemoryBounded = await watch(child, {
      ...{ folder, out, durationMs, warmupMs, hasSnapshots },
      events: node?.events ?? [],
    });
    const code = await end(child);
    const run = JSON.parse(readFileSync(out, 'utf8'));
    const isExact = code === 130 && run.audit?.exact === true;
    const { verified, started } = run.counts;
    process.stdout.write(
      `${readFileSync(summary, 'utf8').replace(/^[^]*\n(?=Summary)/, '')}\n${verified} of ${started} verified, audit ${isExact ? 'exact' : `not exact, exit code ${code}`}, ` +
        `run file of ${statSync(out).size} bytes${run.refills ? `, ${run.refills.payments} refills` : ''}\n`,
    );
    const account = all === null || node === null ? null : await accountOf(all, node.url);
    if (account !== null) process.stdout.write(`${part?.collector.count()} pushes\n\n${account.text}`);
    isGood = isMemoryBounded && isExact && account?.isExact !== false;
    return isGood ? 0 : 1;
  } finally {
    await end(child);
    await node?.stop();
    part?.collector.stop();
    const snapshots = ['first', 'last'].map((name) => join(folder, `${name}.heapsnapshot`));
    if (isGood && all === null) rmSync(folder, { recursive: true, force: true });
    else if (isGood) for (const file of snapshots) rmSync(file, { force: true });
    else process.stdout.write(`the files of the run are in ${folder}\n`);
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const { message, code } = /** @type {NodeJS.ErrnoException} */ (error);
  const isUsage = error instanceof UsageError || String(code).startsWith('ERR_PARSE_ARGS');
  if (!isUsage && !(error instanceof UnavailableError)) throw error;
  process.stderr.write(`soak: ${oneLine(message)}\n`);
  process.exitCode = isUsage ? EXIT.usage : EXIT.unavailable;
}
