/**
 * Where the CPU of a run goes: runs stress under V8's sampling profiler and says which functions took the most.
 *
 *     npm run profile -- [options of stress]
 *
 * Without options it is the main job on the embedded chain. The .cpuprofile files, in a temporary folder, open in Chrome's
 * DevTools (Performance, Load profile).
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const STRESS = fileURLToPath(new URL('../bin/stress.js', import.meta.url));
const SHOWN = 15;
const DEFAULTS = ['-t', '200', '-o', '0', '-d', '10s'];

/**
 * @typedef {object} Profile what V8 writes, as far as it is read here
 * @property {{id: number, callFrame: {functionName: string, url: string, lineNumber: number}}[]} nodes
 * @property {number[]} samples the node of each sample
 * @property {number[]} timeDeltas microseconds since the sample before
 */

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

const given = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'stress-profile-'));
process.exitCode = await run(folder, given.length > 0 ? given : DEFAULTS);
// A file for each process and thread.
for (const name of readdirSync(folder)) report(join(folder, name));
