/** What the benchmarks share: their options, runs of ours, rounds, figures. The results page is page.js. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { DEV_MNEMONIC } from '../../src/chain/keys.js';
import { EXIT } from '../../src/errors.js';

export { freePort } from '../../src/chain/devchain.js';
export { publish } from './page.js';

/**
 * @import { RunFile } from '../../src/contracts/run-file.d.ts'
 */

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Longer than any set-up and drain take: a run that hangs must not hang the benchmark. */
const OVERHEAD_MS = 300_000;

/**
 * @typedef {object} Figures
 * @property {number} tps verified per second of the window, which the chain confirms
 * @property {number} cpuUs CPU of the client per verified operation
 * @property {number} meanMs
 * @property {number} failed
 *
 * @typedef {Figures & {run: RunFile, startMs: number}} OurFigures startMs: from the start of the process to the first
 *   operation
 * @typedef {{url: string, funderKey: string}} Node
 */

/**
 * @typedef {(file: string, args: string[], options: {env: NodeJS.ProcessEnv, timeout: number}) => Promise<unknown>} Execute
 *
 * @typedef {object} How a stress runs
 * @property {Record<string, string>} [env] added to ours
 * @property {string} [root] folder of the stress that runs
 * @property {Execute} [execute] execFile in place of that of Node.js
 */

/** The command line of this stress does not know an option that a benchmark needs. */
export class NotYetError extends Error {}

/**
 * The options of a benchmark: whole numbers, and words. --write is for publish().
 * @template {string} Name
 * @template {string} [Word=never]
 * @param {Record<Name, number>} defaults
 * @param {Record<Word, string>} [others]
 * @returns {{numbers: Record<Name, number>, words: Record<Word, string>}}
 */
export function readOptions(defaults, others = /** @type {any} */ ({})) {
  const all = Object.entries({ ...defaults, ...others });
  const options = Object.fromEntries(
    all.map(([name, value]) => [name, { type: /** @type {const} */ ('string'), default: String(value) }]),
  );
  const { values } = parseArgs({ options: { ...options, write: { type: 'boolean' } } });
  const numbers = Object.keys(defaults).map((name) => {
    const text = String(Reflect.get(values, name));
    if (!/^\d{1,6}$/.test(text)) throw new Error(`--${name} ${text}: give a whole number`);
    return [name, Number(text)];
  });
  return { numbers: Object.fromEntries(numbers), words: /** @type {any} */ (values) };
}

/**
 * One run of ours.
 * @param {string[]} args without --out and --duration
 * @param {number} seconds
 * @param {How} [how]
 * @returns {Promise<{run: RunFile, startMs: number}>}
 */
export function runStress(args, seconds, how = {}) {
  return inTemporaryFolder(async (folder) => {
    const out = join(folder, 'run.json');
    const spawnedAtMs = Date.now();
    await stress([...args, '-d', `${seconds}s`, '--out', out], { ...how, timeoutMs: seconds * 1000 + OVERHEAD_MS });
    const run = JSON.parse(readFileSync(out, 'utf8'));
    return { run, startMs: Date.parse(run.window.startedAt) - spawnedAtMs };
  });
}

/**
 * Runs stress to its end. Options of stress in our environment would change the benchmark.
 * @param {string[]} args
 * @param {How & {timeoutMs?: number}} [how] timeoutMs: longer than any set-up
 */
export async function stress(args, { env = {}, root = ROOT, execute, timeoutMs = OVERHEAD_MS } = {}) {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('STRESS_'));
  const options = { env: { ...Object.fromEntries(inherited), ...env }, timeout: timeoutMs, maxBuffer: 2 ** 26 };
  try {
    await (execute ?? promisify(execFile))(process.execPath, [join(root, 'bin', 'stress.js'), ...args], options);
  } catch (error) {
    const { code, stderr } = /** @type {{code?: number, stderr?: string}} */ (error);
    throw code === EXIT.usage ? new NotYetError(String(stderr).trim()) : error;
  }
}

/** @template T @param {(folder: string) => Promise<T>} work @returns {Promise<T>} */
export async function inTemporaryFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), 'stress-bench-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    return await work(folder);
  } finally {
    process.off('exit', remove);
    remove();
  }
}

/**
 * @template {{stop: () => unknown} | null} N
 * @template R
 * @param {Promise<N>} starting what is stopped afterwards
 * @param {(node: N) => Promise<R>} work
 */
export async function withNode(starting, work) {
  const started = await starting;
  try {
    return await work(started);
  } finally {
    await started?.stop();
  }
}

/**
 * One run of ours, whose audit has to be exact: a figure that the chain does not confirm is no figure.
 * @param {Node | null} node null for an embedded chain
 * @param {string[]} args
 * @param {number} seconds
 * @param {How} [how]
 * @returns {Promise<OurFigures>}
 */
export async function runOurs(node, args, seconds, how = {}) {
  const endpoint = node === null ? [] : ['--rpc', node.url];
  /** @type {Record<string, string>} */
  // The public test mnemonic is not used on AvalancheGo's chain unasked.
  const env = node === null ? {} : { STRESS_FUNDER_KEY: node.funderKey, STRESS_MNEMONIC: DEV_MNEMONIC };
  const all = { ...how, env: { ...env, ...how.env } };
  const offset = args.includes('-o') ? [] : ['-o', '0'];
  const { run, startMs } = await runStress([...endpoint, ...offset, ...args], seconds, all);
  const { rates, generator, latency, counts, audit } = /** @type {any} */ (run);
  if (!audit?.exact) throw new Error('the audit is not exact');
  return {
    run,
    startMs,
    tps: rates.verifiedPerSecond,
    cpuUs: generator.cpuUsPerVerified,
    meanMs: latency.total.meanUs / 1000,
    failed: counts.failed + counts.timedOut + counts.abandoned,
  };
}

/**
 * A commit in a folder of its own, with the packages of its own lock file where they differ from ours.
 * @param {string | null} name of the commit; null: a copy of the files of this checkout, which may be edited meanwhile
 * @param {string} root the folder, which is made
 * @returns {Promise<string>} the commit
 */
export async function checkOut(name, root) {
  const read = (/** @type {string} */ command, /** @type {string[]} */ ...args) =>
    execFileSync(command, args, { cwd: ROOT, maxBuffer: 2 ** 28, stdio: ['ignore', 'pipe', 'inherit'] });
  const commit = String(read('git', 'rev-parse', '--short', '--verify', `${name ?? 'HEAD'}^{commit}`)).trim();
  const parts = ['bin', 'src', 'contracts', 'package.json', 'package-lock.json', '.npmrc'];
  const archive = name === null ? read('tar', '-c', ...parts) : read('git', 'archive', commit, ...parts);
  mkdirSync(root);
  execFileSync('tar', ['-x', '-C', root], { input: archive });
  const lock = (/** @type {string} */ of) => readFileSync(join(of, 'package-lock.json'), 'utf8');
  if (lock(root) === lock(ROOT)) symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'), 'junction');
  else await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--omit=dev'], { cwd: root });
  return name === null
    ? String(read('git', 'describe', '--always', '--exclude', '*', '--dirty=-modified')).trim()
    : commit;
}

/**
 * Measures every cell once a round, each round beginning with another, so that what drifts hits all alike.
 * @template Cell, Result
 * @param {object} benchmark
 * @param {{name: string, cell: Cell}[]} benchmark.cells
 * @param {number} benchmark.rounds
 * @param {(cell: Cell) => Promise<Result>} benchmark.measure
 * @param {Array<[heading: string, of: (result: Result) => number, digits?: number]>} benchmark.columns median and range
 * @param {Array<[heading: string, of: (results: Result[], first: Result[]) => string]>} [benchmark.others] columns behind
 *   them; first: the results of the first cell
 * @returns {Promise<{rows: {name: string, results: Result[]}[], markdown: string}>} without results where stress does
 *   not know an option
 */
export async function interleave({ cells, rounds, measure, columns, others = [] }) {
  const rows = cells.map(({ name, cell }) => ({ name, cell, results: /** @type {Result[]} */ ([]) }));
  const skipped = new Set();
  for (let round = 0; round < rounds; round += 1) {
    for (let i = 0; i < rows.length; i += 1) {
      const row = rows[(i + round) % rows.length];
      if (skipped.has(row)) continue;
      try {
        const result = await measure(row.cell);
        row.results.push(result);
        const figures = columns.map(([heading, of, digits = 0]) => `${heading} ${of(result).toFixed(digits)}`);
        console.error(`round ${round + 1}/${rounds}, ${row.name}: ${figures.join(', ')}`);
      } catch (error) {
        if (!(error instanceof NotYetError)) throw error;
        skipped.add(row);
        console.error(`${row.name}: not yet (${error.message})`);
      }
    }
  }
  const markdown = table(
    ['', ...columns.map(([heading]) => heading), ...others.map(([heading]) => heading)],
    rows.map(({ name, results }) => [
      name,
      ...columns.map(([, of, digits]) => spread(results.map(of), digits)),
      ...others.map(([, of]) => of(results, rows[0].results)),
    ]),
  );
  return { rows, markdown };
}

/** @param {number[]} numbers */
export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2;
}

/** Median and range. @param {number[]} numbers @param {number} [digits] */
export function spread(numbers, digits = 0) {
  if (numbers.length === 0) return 'not yet';
  const [middle, low, high] = [median(numbers), Math.min(...numbers), Math.max(...numbers)].map((x) =>
    x.toFixed(digits),
  );
  return numbers.length === 1 ? middle : `${middle} (${low} to ${high})`;
}

/** The ratios of two series of the same rounds, as median and range. @param {number[]} numerators @param {number[]} denominators */
export function ratios(numerators, denominators) {
  if (numerators.length !== denominators.length) return 'not yet';
  const quotients = numerators.map((value, i) => value / denominators[i]);
  return spread(quotients, 2);
}

/** @param {string[]} columns the first is text, the others are figures @param {string[][]} rows */
export function table(columns, rows) {
  const line = (/** @type {string[]} */ cells) => `| ${cells.join(' | ')} |`;
  return [line(columns), line(columns.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}
