/**
 * Runs in which exactly one thing limits (verdict/cases.js), and what the verdict says of each: prints a markdown table.
 *
 *     node scripts/verdict-cases.js [--busy | --both] [--only WORDS] [--old FOLDER] [--evidence] [--save FOLDER]
 *
 * --busy: beside busy loops, twice as many as the machine has cores; --both: first without them, then with them;
 * --only: cases whose name contains the words; --old: a checkout, of which the verdict of the same run is shown as well;
 * --evidence: the sentence of each verdict on standard error; --save: a folder for the run files.
 * Needs about ten minutes, with --both 25, and Go for geth where it is not built.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { CASES } from './verdict/cases.js';

/**
 * @import { Case } from './verdict/cases.js'
 * @typedef {{name: string, evidence: string} | null} Verdict
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** No run takes longer, set-up and drain included. */
const TIMEOUT_MS = 90_000;

/** What is printed at the end of the first interval. */
const FIRST_ROW = /^ +\d+\.\d s /m;

/** It ends with us however we end. */
const BUSY_LOOP = 'const parent = process.ppid; while (process.ppid === parent) for (let i = 0; i < 1e8; i += 1);';

const ATTEMPTS = 3;
/** Share of the cases. 0 wrong ones count more. */
const UNKNOWN_AT_MOST = 0.08;

/** @param {Case} one @param {string} [root] of another checkout @returns {Promise<{code: number | null, stdout: string, stderr: string, run: any}>} run: null without a run file */
export async function runCase({ prepare }, root = ROOT) {
  const folder = mkdtempSync(join(tmpdir(), 'stress-verdict-'));
  /** @type {Array<() => unknown>} */
  const stops = [];
  try {
    const { args, env, during } = await prepare({
      use: async (started) => {
        const it = await started;
        stops.unshift(() => it.stop());
        return it;
      },
    });
    const out = join(folder, 'run.json');
    const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(CI|NODE_|STRESS_)/.test(name)));
    const all = [join(root, 'bin/stress.js'), '--out', out, ...args];
    const child = spawn(process.execPath, all, { env: { ...clean, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
    let [stdout, stderr] = ['', ''];
    const ready = new Promise((resolve) => {
      child.stdout.setEncoding('utf8').on('data', (chunk) => {
        stdout += chunk;
        if (FIRST_ROW.test(stdout)) resolve(undefined);
      });
      child.once('exit', resolve);
    });
    child.stderr.setEncoding('utf8').on('data', (chunk) => (stderr += chunk));
    const closed = once(child, 'close');
    await ready;
    await during?.(child);
    const [code] = await closed;
    clearTimeout(timer);
    return { code, stdout, stderr, run: existsSync(out) ? JSON.parse(readFileSync(out, 'utf8')) : null };
  } finally {
    for (const stop of stops) await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** On a busy machine a node may not start in time. @param {Case} one @returns {Promise<{run: any, stderr: string}>} */
async function attempt(one) {
  for (let left = ATTEMPTS - 1; ; left -= 1)
    try {
      return await runCase(one);
    } catch (error) {
      const stderr = `${one.name}: ${/** @type {Error} */ (error).message}`;
      if (left === 0) return { run: null, stderr };
    }
}

/** @param {number} count of loops @returns {() => void} ends them */
function startBusyLoops(count) {
  const loops = Array.from({ length: count }, () => spawn(process.execPath, ['-e', BUSY_LOOP], { stdio: 'ignore' }));
  return () => loops.forEach((loop) => loop.kill('SIGKILL'));
}

/**
 * @param {Case[]} cases
 * @param {{machine: 'quiet' | 'busy', judgeOld: (run: any) => Verdict, save: string | undefined, evidence: boolean}} options
 */
async function runAll(cases, { machine, judgeOld, save, evidence }) {
  const stop = startBusyLoops(machine === 'busy' ? 2 * availableParallelism() : 0);
  try {
    const rows = [];
    for (const one of cases) {
      const { run, stderr } = await attempt(one);
      const why = stderr.trim().split('\n').at(-1) ?? '';
      const verdict = /** @type {NonNullable<Verdict>} */ (run?.verdict ?? { name: 'none', evidence: why });
      const load = loadavg()[0].toFixed(1);
      process.stderr.write(
        `${machine}, load ${load}: ${one.name}: ${verdict.name}${evidence ? `: ${verdict.evidence}` : ''}\n`,
      );
      if (save !== undefined && run !== null)
        writeFileSync(join(save, `${machine}-${one.name.replace(/\W+/g, '-')}.json`), JSON.stringify(run));
      rows.push({ name: verdict.name, old: run === null ? 'none' : (judgeOld(run)?.name ?? 'none'), load });
    }
    return rows;
  } finally {
    stop();
  }
}

/** @param {string | undefined} folder of a checkout @returns {Promise<(run: any) => Verdict>} */
async function judgeOf(folder) {
  if (folder === undefined) return () => null;
  const { judge } = await import(pathToFileURL(resolve(folder, 'src/stats/verdict.js')).href);
  return judge;
}

async function main() {
  const flag = /** @type {const} */ ({ type: 'boolean', default: false });
  const { values } = parseArgs({
    options: {
      ...{ only: { type: 'string', default: '' }, old: { type: 'string' }, save: { type: 'string' } },
      ...{ busy: flag, both: flag, evidence: flag },
    },
  });
  const { only, old, save, busy, both, evidence } = values;
  if (save !== undefined) mkdirSync(save, { recursive: true });
  const cases = CASES.filter(({ name }) => name.includes(only));
  const judgeOld = await judgeOf(old);
  const machines = /** @type {const} */ (['quiet', 'busy']).filter((one) => both || (one === 'busy') === busy);
  const runs = [];
  for (const machine of machines) runs.push(await runAll(cases, { machine, judgeOld, save, evidence }));
  const isOld = old !== undefined;
  const heads = machines.flatMap((machine) => [machine, ...(isOld ? [`${machine}, before`] : []), 'load']);
  const line = (/** @type {string[]} */ cells) => console.log(`| ${cells.join(' | ')} |`);
  line(['case', 'right', ...heads]);
  line(['case', 'right', ...heads].map(() => '---'));
  for (const [i, { name, right }] of cases.entries()) {
    const mark = (/** @type {string} */ verdict) => (verdict === right ? verdict : `**${verdict}**`);
    line([
      name,
      right,
      ...runs.flatMap((rows) => [mark(rows[i].name), ...(isOld ? [mark(rows[i].old)] : []), rows[i].load]),
    ]);
  }
  let isWrong = false;
  for (const key of /** @type {const} */ (['name', 'old'])) {
    if (key === 'old' && !isOld) break;
    const all = runs.flatMap((rows) => rows.map((row, i) => ({ found: row[key], right: cases[i].right })));
    const unknown = all.filter(({ found }) => found === 'unknown').length;
    const wrong = all.filter(({ found, right }) => found !== right).length - unknown;
    console.log(`\n${key === 'old' ? 'before: ' : ''}${wrong} wrong culprits of ${all.length}, ${unknown} unknown`);
    if (key === 'name') isWrong = wrong > 0 || unknown > UNKNOWN_AT_MOST * all.length;
  }
  if (isWrong) process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
