/**
 * Where the CPU of a run goes: runs stress under V8's sampling profiler and says which functions took the most.
 *
 *     npm run profile -- [--dir FOLDER] [options of stress]
 *
 * Without other options it is the main job: -t 200 -o 0 -d 10s on the embedded chain. The .cpuprofile files open in
 * Chrome's DevTools (Performance, Load profile); they go to a temporary folder unless --dir names one.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const STRESS = fileURLToPath(new URL('../bin/stress.js', import.meta.url));
const SHOWN = 15;

/** What a run is asked for where the command line does not say otherwise. */
const DEFAULTS = [
  { names: ['-t', '--threads'], value: '200' },
  { names: ['-o', '--offset'], value: '0' },
  { names: ['-d', '--duration'], value: '10s' },
];

/**
 * @typedef {object} Profile what V8 writes, as far as it is read here
 * @property {{id: number, callFrame: {functionName: string, url: string, lineNumber: number}}[]} nodes
 * @property {number[]} samples the node of each sample
 * @property {number[]} timeDeltas microseconds since the sample before
 */

/** @param {string[]} argv @returns {{folder: string, args: string[]}} the options of stress, and where the profile goes */
function readArguments(argv) {
  const at = argv.findIndex((arg) => arg === '--dir' || arg.startsWith('--dir='));
  const rest = [...argv];
  /** @type {string | undefined} */
  let folder;
  if (at !== -1) {
    const isSplit = argv[at] === '--dir';
    folder = isSplit ? argv[at + 1] : argv[at].slice('--dir='.length);
    if (!folder) throw new Error('--dir needs a folder');
    rest.splice(at, isSplit ? 2 : 1);
  }
  const isGiven = (/** @type {string} */ name) =>
    rest.some((arg) => arg.startsWith(name) && (!name.startsWith('--') || ['', '='].includes(arg[name.length] ?? '')));
  const defaults = DEFAULTS.flatMap(({ names, value }) => (names.some(isGiven) ? [] : [names[0], value]));
  return { folder: resolve(folder ?? mkdtempSync(join(tmpdir(), 'stress-profile-'))), args: [...defaults, ...rest] };
}

/** @param {string} folder @param {string[]} args @returns {Promise<number>} the exit code of stress */
function run(folder, args) {
  const profiler = ['--cpu-prof', `--cpu-prof-dir=${folder}`];
  const child = spawn(process.execPath, [...profiler, STRESS, ...args], { stdio: 'inherit' });
  // The first signal is for the run, which then drains; the profile is written when it ends.
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => signal !== 'SIGINT' && child.kill(signal));
  }
  return new Promise((done, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => done(code ?? 128 + constants.signals[signal ?? 'SIGTERM']));
  });
}

/**
 * The time spent in each function itself, not in what it calls.
 * @param {Profile} profile
 * @returns {{name: string, ms: number}[]} the longest first
 */
function selfTimes({ nodes, samples, timeDeltas }) {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, describe(callFrame)]));
  /** @type {Map<string, number>} */
  const times = new Map();
  samples.forEach((id, i) => {
    const name = names.get(id) ?? 'unknown';
    times.set(name, (times.get(name) ?? 0) + timeDeltas[i] / 1000);
  });
  return [...times].map(([name, ms]) => ({ name, ms })).sort((a, b) => b.ms - a.ms);
}

/** @param {Profile['nodes'][number]['callFrame']} callFrame */
function describe({ functionName, url, lineNumber }) {
  const name = functionName === '' ? '(anonymous)' : functionName;
  if (url === '') return name; // of V8 itself, or native
  const file = url.startsWith('file:') ? relative(ROOT, fileURLToPath(url)) : url;
  return `${name} ${file}:${lineNumber + 1}`;
}

/** @param {string} file */
function report(file) {
  const times = selfTimes(JSON.parse(readFileSync(file, 'utf8')));
  const isIdle = (/** @type {{name: string}} */ { name }) => name === '(idle)';
  const idleMs = times.find(isIdle)?.ms ?? 0;
  const busy = times.filter((entry) => !isIdle(entry));
  const busyMs = busy.reduce((sum, { ms }) => sum + ms, 0);
  console.log(`\n${file}: busy for ${busyMs.toFixed(0)} ms, idle for ${idleMs.toFixed(0)} ms`);
  console.log('  self ms   share  function');
  for (const { name, ms } of busy.slice(0, SHOWN)) {
    console.log(`${ms.toFixed(0).padStart(9)}  ${((ms / busyMs) * 100).toFixed(1).padStart(5)}%  ${name}`);
  }
}

try {
  const { folder, args } = readArguments(process.argv.slice(2));
  mkdirSync(folder, { recursive: true });
  const before = new Set(readdirSync(folder));
  process.exitCode = await run(folder, args);
  const files = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile') && !before.has(name));
  if (files.length === 0) throw new Error('no profile was written');
  for (const name of files) report(join(folder, name)); // one for each process and thread
} catch (error) {
  console.error(`scripts/profile.js: ${/** @type {Error} */ (error).message}`);
  process.exitCode = 64;
}
