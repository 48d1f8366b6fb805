/**
 * Whether a comparison with CPU profiles names what makes a node slow, and how often it names something of equal nodes.
 * Pairs of geth, and of geth and a copy of it that hashes each node of its state tries several times; prints a markdown table.
 *
 *     node scripts/profile-cases.js [--slow N] [--equal N] [--pairs N] [--seconds N] [--times N] [--relabelled N] [--dir FOLDER]
 *     node scripts/profile-cases.js --overhead N
 *
 * --slow, --equal: comparisons of each kind; --times: how often the copy hashes a node; --relabelled: comparisons made of the
 * pairs of equal nodes: the same number of them by chance, with their sides changed by chance; --dir: a folder that keeps the
 * run files: made comparisons are not made again; --overhead: nothing but pairs of runs with and without profiles, and the CPU
 * time of geth for an operation. Needs about four minutes a comparison of eight pairs, and Go.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXIT } from '../src/errors.js';
import { randomNumbers } from '../src/random.js';
import { NODE_CPU } from '../src/stats/node-profile.js';
import { compareMetrics } from '../src/studies/compare.js';
import { ROOT, freePort, readOptions, runStress, table } from './bench/lib.js';
import { medianInterval } from './bench/pairs.js';
import { ensureBuilt, isBuilt } from './nodes/build.js';
import { FUNDER_KEY, GETH, startGeth } from './nodes/geth.js';

/**
 * @import { Comparison, ComparedMetric } from '../src/contracts/study.d.ts'
 * @import { RunFile } from '../src/contracts/run-file.d.ts'
 */

const WALLETS = 100;
/** Blocks are made whenever a transaction waits: each has a state root, and few transactions. */
const LOAD = ['--workload', 'counter', '--warmup', '2s'];
const GROUP = 'state trie';
const FUNCTION = /keccak/i;
const MODULE = 'github.com/ethereum/go-ethereum';
const HASHES = /\th\.sha\.Write\(data\)\n\th\.sha\.Read\((\w+)\)\n/g;

/** Changes how a copy of the sources of geth hashes the nodes of a trie. @param {string} folder @param {number} times */
function plant(folder, times) {
  const file = join(folder, 'trie/hasher.go');
  const source = readFileSync(file, 'utf8');
  const text = source.replaceAll(HASHES, (one, target) => {
    const again = `h.sha.Write(data); h.sha.Read(${target}); h.sha.Reset()`;
    return `\tfor i := 1; i < ${times}; i++ { ${again} }\n${one}`;
  });
  if (text === source) throw new Error(`${GETH.module} ${GETH.version} does not hash as it did`);
  // Files of the module cache, and copies of them, are read-only.
  rmSync(file, { force: true });
  writeFileSync(file, text);
}

/** @param {number} times @returns {Promise<string>} path of a geth that hashes each node of its tries so often */
async function buildSlow(times) {
  const node = { ...GETH, name: `geth-hashes-${times}-times` };
  const folder = mkdtempSync(join(tmpdir(), 'stress-slow-geth-'));
  try {
    const go = ['mod', 'download', '-json', `${MODULE}@${GETH.version}`];
    const { Dir: sources } = JSON.parse(execFileSync('go', go, { encoding: 'utf8' }));
    const copy = join(folder, 'go-ethereum');
    if (!isBuilt(node)) {
      cpSync(sources, copy, { recursive: true });
      execFileSync('chmod', ['-R', 'u+w', copy]);
      plant(copy, times);
    }
    const goMod = `require ${MODULE} ${GETH.version}\nreplace ${MODULE} => ${copy}`;
    return await ensureBuilt({ ...node, goMod });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} [binary] @returns {Promise<{url: string, profile: string, stop: () => Promise<void>}>} */
async function startProfiled(binary) {
  const port = await freePort();
  const { url, stop } = await startGeth({ binary, flags: ['--pprof', '--pprof.port', `${port}`] });
  return { url, stop, profile: `http://127.0.0.1:${port}/debug/pprof/profile` };
}

/**
 * @param {string} folder of the comparison
 * @param {{binary?: string, pairs: number, seconds: number}} plan binary: of side B
 * @returns {Promise<Comparison>}
 */
async function compared(folder, { binary, pairs, seconds }) {
  const out = join(folder, 'comparison.json');
  if (!existsSync(out)) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const nodes = [await startProfiled(), await startProfiled(binary)];
    try {
      const [a, b] = nodes;
      const sides = ['--rpc-a', a.url, '--rpc-b', b.url, '--node-profile-a', a.profile, '--node-profile-b', b.profile];
      const size = ['-t', `${WALLETS}`, '-d', `${seconds}s`, '--repeat', `${pairs}`, '--rest', '200ms'];
      const args = ['compare', ...sides, ...size, ...LOAD, '--dir', join(folder, 'runs'), '--out', out];
      const env = { ...process.env, STRESS_FUNDER_KEY: FUNDER_KEY };
      execFileSync(process.execPath, [join(ROOT, 'bin/stress.js'), ...args], { env, stdio: 'ignore' });
    } finally {
      for (const { stop } of nodes) await stop();
    }
  }
  return JSON.parse(readFileSync(out, 'utf8'));
}

/** Figures of CPU time whose difference is shown. @param {Pick<Comparison, 'metrics' | 'nodeFunctions'>} comparison @returns {ComparedMetric[]} */
function shownOf({ metrics, nodeFunctions = [] }) {
  const all = [...metrics.filter(({ name }) => name.startsWith(NODE_CPU)), ...nodeFunctions];
  return all.filter(({ word }) => word === 'faster' || word === 'slower');
}

/** @param {ComparedMetric} metric */
const wordsOf = ({ label, base, candidate, pAdjusted }) =>
  `${label.split('/').at(-1)} ${(candidate.mean - base.mean).toFixed(1)} us (p ${pAdjusted?.toFixed(3)})`;

/** @param {string} folder of a comparison @returns {RunFile[][]} pairs: baseline, candidate */
function pairsOf(folder) {
  const runs = join(folder, 'runs');
  const read = (/** @type {string} */ name) => JSON.parse(readFileSync(join(runs, name), 'utf8'));
  const names = readdirSync(runs).filter((name) => /^a-\d+\.json$/.test(name));
  return names.map((name) => [name, name.replace(/^a/, 'b')].map(read));
}

/** @param {RunFile[][]} all pairs of equal nodes @param {number} trials @param {number} size pairs of a comparison @returns {number} comparisons that name something */
function countRelabelled(all, trials, size) {
  const random = randomNumbers(1);
  let named = 0;
  for (let trial = 0; trial < trials; trial += 1) {
    const pool = [...all];
    const pairs = Array.from({ length: size }, () => {
      const [[a, b]] = pool.splice(Math.floor(random() * pool.length), 1);
      return random() < 0.5 ? [a, b] : [b, a];
    });
    const [base, candidate] = [0, 1].map((side) => pairs.map((pair) => ({ run: pair[side], file: '' })));
    const options = { primary: 'tps', more: [], failIf: [], isPaired: true };
    const { metrics, functions } = compareMetrics(base, candidate, options);
    if (shownOf({ metrics, nodeFunctions: functions }).length > 0) named += 1;
  }
  return named;
}

/** @param {Comparison} comparison @returns {string[]} a row of the table */
function rowOf(comparison) {
  const shown = shownOf(comparison);
  const cpu = comparison.metrics.find(({ name }) => name === NODE_CPU);
  const change = cpu === undefined ? '-' : `${cpu.base.mean.toFixed(0)} -> ${cpu.candidate.mean.toFixed(0)} us`;
  return [change, shown.length === 0 ? 'nothing' : shown.map(wordsOf).join(', ')];
}

/** Whether the group and a function that hashes are named, and slower. @param {Comparison} comparison */
function isFound(comparison) {
  const slower = shownOf(comparison).filter(({ word }) => word === 'slower');
  return [GROUP, FUNCTION].every((pattern) => slower.some(({ label }) => label.match(pattern) !== null));
}

/** CPU time that a process has used, in milliseconds (proc_pid_stat(5): utime and stime are in hundredths of a second). @param {number} pid */
function cpuMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

/** @param {number} pairs @returns {Promise<number[]>} CPU time of geth for an operation with profiles, over that without */
async function overheads(pairs) {
  const port = await freePort();
  const node = await startGeth({ period: 1, flags: ['--pprof', '--pprof.port', `${port}`] });
  const profile = ['--node-profile', `http://127.0.0.1:${port}/debug/pprof/profile`];
  const load = ['--rpc', node.url, '-t', '800', '--rate', '400', '--warmup', '2s'];
  const eachMs = async (/** @type {string[]} */ more) => {
    const beforeMs = cpuMs(node.pid);
    const { run } = await runStress([...load, ...more], 10, { env: { STRESS_FUNDER_KEY: node.funderKey } });
    return (cpuMs(node.pid) - beforeMs) / run.counts.verified;
  };
  try {
    await eachMs([]);
    const ratios = [];
    for (let i = 0; i < pairs; i += 1) {
      const isFirst = i % 2 === 0;
      const first = await eachMs(isFirst ? profile : []);
      const second = await eachMs(isFirst ? [] : profile);
      ratios.push(isFirst ? first / second : second / first);
      process.stderr.write(`pair ${i + 1}: ${ratios[i].toFixed(3)}\n`);
    }
    return ratios;
  } finally {
    await node.stop();
  }
}

async function main() {
  const numbers = { overhead: 0, slow: 10, equal: 20, pairs: 8, seconds: 5, times: 2, relabelled: 2000 };
  const { numbers: options, words } = readOptions(numbers, { dir: '' });
  if (options.overhead > 0) {
    const { middle, low, high } = medianInterval(await overheads(options.overhead), randomNumbers(1));
    console.log(
      `CPU of geth with profiles: ${middle.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)}) of that without`,
    );
    return;
  }
  const folder = words.dir || mkdtempSync(join(tmpdir(), 'stress-profile-cases-'));
  const binary = await buildSlow(options.times);
  const rows = [];
  let found = 0;
  let named = 0;
  for (let i = 1; i <= options.slow; i += 1) {
    const comparison = await compared(join(folder, `slow-${options.times}-${i}`), { ...options, binary });
    if (isFound(comparison)) found += 1;
    rows.push([`slow ${i}`, ...rowOf(comparison)]);
    process.stderr.write(`${rows.at(-1)?.join(': ')}\n`);
  }
  const all = [];
  for (let i = 1; i <= options.equal; i += 1) {
    const one = join(folder, `equal-${i}`);
    const comparison = await compared(one, options);
    if (shownOf(comparison).length > 0) named += 1;
    all.push(...pairsOf(one));
    rows.push([`equal ${i}`, ...rowOf(comparison)]);
    process.stderr.write(`${rows.at(-1)?.join(': ')}\n`);
  }
  console.log(table(['comparison', 'CPU of the node for an operation', 'shown'], rows));
  console.log(`\nslow nodes: group and function named in ${found} of ${options.slow}`);
  console.log(`equal nodes: something named in ${named} of ${options.equal}`);
  if (all.length === 0) return;
  const count = countRelabelled(all, options.relabelled, options.pairs);
  console.log(`relabelled pairs of equal nodes: something named in ${count} of ${options.relabelled}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // 'exit' ends the nodes, which a signal alone would not.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(EXIT.interrupted));
  await main();
}
