/** Runs the program itself, as a user would. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { StressRunner } from './stress-runner.js';
import { Transcript } from './transcript.js';

/** @import { ChildProcess, ChildProcessWithoutNullStreams } from 'node:child_process' */

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const STRESS = fileURLToPath(new URL('../../bin/stress.js', import.meta.url));

/** No run of a test takes longer; one that does is killed and fails its test. */
const TIMEOUT_MS = 120_000;

/**
 * @typedef {object} StressOptions
 * @property {NodeJS.ProcessEnv} [env] added to the environment; undefined removes a name
 * @property {string} [cwd]
 * @property {number} [timeoutMs]
 * @property {string} [script] bin/stress.js of another copy of the program
 * @property {string} [input] on standard input
 * @property {string[]} [via] words before its command, of a program that becomes it
 *
 * @typedef {object} StressResult
 * @property {number | null} code
 * @property {NodeJS.Signals | null} signal
 * @property {string} stdout
 * @property {string} stderr
 *
 * @typedef {object} StressProcess
 * @property {ChildProcessWithoutNullStreams} child
 * @property {number} pid
 * @property {() => {stdout: string, stderr: string}} output so far
 * @property {(pattern: RegExp, since?: 'start' | 'now') => Promise<RegExpExecArray>} waitFor a match in what standard output, or standard
 *   error, has said since the start or says from now on; rejects when the program ends without it
 * @property {Promise<StressResult>} done rejects after a time-out
 */

/** @type {Set<ChildProcess>} */
const running = new Set();
/** Processes for startStress(): most of the time of a short run is the start of its process. @type {StressRunner[]} */
const idle = [];

after(async () => {
  // A test that failed in the middle must not leave its programs to the next one.
  running.forEach((child) => child.kill('SIGKILL'));
  await Promise.all(idle.map((runner) => runner.end()));
});

/**
 * The environment of this process without what would change the program's behaviour.
 * @param {NodeJS.ProcessEnv} [env] added to it
 * @returns {NodeJS.ProcessEnv}
 */
export function cleanEnvironment(env = {}) {
  const inherited = Object.entries(process.env).filter(
    ([name]) => name !== 'CI' && name !== 'NODE_TEST_CONTEXT' && !name.startsWith('STRESS_'),
  );
  return { ...Object.fromEntries(inherited), ...env };
}

/**
 * Runs to the end, in a process that has been used before unless there is an input.
 * @param {string[]} args
 * @param {StressOptions} [options]
 * @returns {Promise<StressResult>}
 */
export function runStress(args, options = {}) {
  return (options.input === undefined ? startStress : spawnStress)(args, options).done;
}

/**
 * The same, with the exit code that it must have.
 * @param {number} exit
 * @param {string[]} args
 * @param {StressOptions} [options]
 */
export async function exited(exit, args, options) {
  const result = await runStress(args, options);
  assert.equal(result.code, exit, `${result.stdout}\n${result.stderr}`);
  return result;
}

/**
 * In a process that has been used before. Signals to it are handled as long as it runs.
 * @param {string[]} args
 * @param {StressOptions} [options]
 * @returns {StressProcess}
 */
export function startStress(args, { env = {}, cwd = process.cwd(), timeoutMs, script = STRESS } = {}) {
  const runner = idle.pop() ?? new StressRunner(cleanEnvironment());
  const settings = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value ?? null]));
  const transcript = new Transcript();
  const ended = runner.run({ args, env: settings, cwd, script }, transcript).finally(() => {
    if (!runner.hasEnded) idle.push(runner);
  });
  return watched(runner.child, { args, transcript, ended, timeoutMs });
}

/**
 * In a process of its own, where its start, its end or its environment matters.
 * @param {string[]} args
 * @param {StressOptions} [options]
 * @returns {StressProcess}
 */
export function spawnStress(args, { env, cwd, timeoutMs, script = STRESS, input, via = [] } = {}) {
  const [program, ...words] = [...via, process.execPath, script, ...args];
  const child = spawn(program, words, { cwd, env: cleanEnvironment(env) });
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const transcript = new Transcript();
  for (const stream of /** @type {const} */ (['stdout', 'stderr']))
    child[stream].setEncoding('utf8').on('data', (chunk) => transcript.add(stream, chunk));
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal }));
  return watched(child, { args, transcript, ended, timeoutMs });
}

/** A warning that depends on the sockets of all programs. */
export const PORTS_WARNING = 'the sockets of this machine may use ';
/** How far a step has come, which only a slow machine prints, and that warning. */
const OF_MACHINE = new RegExp(`^(?:[a-z][^\\n:]*: [\\d,]+ of [\\d,]+|WARN: ${PORTS_WARNING}.*)\\n`, 'gm');

/**
 * @param {ChildProcessWithoutNullStreams} child
 * @param {{args: string[], transcript: Transcript, ended: Promise<Pick<StressResult, 'code' | 'signal'>>, timeoutMs?: number}} run
 * @returns {StressProcess}
 */
function watched(child, { args, transcript, ended, timeoutMs = TIMEOUT_MS }) {
  running.add(child);
  const output = () => ({ stdout: '', stderr: '', ...transcript.said });
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    child.kill('SIGKILL');
  }, timeoutMs);
  const done = ended.then(({ code, signal }) => {
    clearTimeout(timer);
    running.delete(child);
    if (timedOut) throw new Error(`stress ${args.join(' ')} did not end within ${timeoutMs} ms\n${transcript}`);
    const { stdout, stderr } = output();
    return { code, signal, stdout, stderr: stderr.replaceAll(OF_MACHINE, '') };
  });
  done.catch(() => {}); // a test may wait for a line only, without the end
  const { pid = -1 } = child;
  return { child, pid, output, waitFor: (pattern, since) => transcript.waitFor(pattern, done, since), done };
}

/** @param {string} file @returns {any} */
export function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}
