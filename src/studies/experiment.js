import { fork, spawn } from 'node:child_process';
import { accessSync, constants, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants as osConstants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  EXIT,
  InterruptedError,
  OutputError,
  UnavailableError,
  UsageError,
  displayName,
  oneLine,
  withoutKeys,
} from '../errors.js';
import { cannotWrite, makeFolder } from '../files.js';
import { readRunFiles } from './run-files.js';

/**
 * @import { Clock, RunFile } from '../types.d.ts'
 * @import { Stop } from '../core/stop.js'
 * @import { ChildProcess } from 'node:child_process'
 */

/**
 * Processes that studies start: runs of stress, and the user's --before-cell command. A run is a separate process, so
 * that no run profits from the warm-up of an earlier one, and a crash does not end the study. It also locks the folder
 * of a study.
 *
 * @typedef {object} Finished
 * @property {number} exitCode
 * @property {RunFile | null} run null: no complete run file
 * @property {string | null} complaint its last line on standard error
 */

const PROGRAM = fileURLToPath(new URL('../../bin/stress.js', import.meta.url));

const MAX_STDERR = 10_000;

/**
 * @param {object} options
 * @param {readonly string[]} options.args of stress, without --out
 * @param {NodeJS.ProcessEnv} options.env all of its environment
 * @param {string} options.out its run file; an existing one is removed first
 * @param {Stop} options.stop passed on: the first request starts its drain, the second ends it
 * @returns {Promise<Finished>}
 */
export async function runChild({ args, env, out, stop }) {
  rmSync(out, { force: true });
  const child = fork(PROGRAM, [...args, `--out=${out}`, '--quiet', '--log-level=error'], {
    env,
    execArgv: [],
    serialization: 'json',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    // Ctrl-C goes to the whole process group of a terminal; this process must receive it once, from here.
    detached: true,
  });
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk) => {
    stderr = (stderr + chunk).slice(-MAX_STDERR);
  });
  const drain = () => void child.kill(stop.reason === 'interrupted' ? 'SIGINT' : 'SIGTERM');
  const hurry = () => void child.kill('SIGINT');
  stop.drain.addEventListener('abort', drain);
  stop.now.addEventListener('abort', hurry);
  if (stop.drain.aborted) drain();
  try {
    const exitCode = await exitOf(child);
    const lines = stderr.trim().split('\n');
    const complaint = oneLine(lines.at(-1)?.replace(/^stress: /, '') ?? '', 1500);
    return { exitCode, run: await readRun(out), complaint: complaint === '' ? null : complaint };
  } finally {
    stop.drain.removeEventListener('abort', drain);
    stop.now.removeEventListener('abort', hurry);
  }
}

/** Whether a run ended by a signal. @param {number} exitCode */
export function isInterruption(exitCode) {
  return exitCode === EXIT.interrupted || exitCode === EXIT.terminated || exitCode === EXIT.hangup;
}

/** @param {ChildProcess} child @returns {Promise<number>} */
function exitOf(child) {
  return new Promise((resolve) => {
    // 'close' comes after the end of its output.
    child.once('close', (code, signal) => resolve(code ?? 128 + osConstants.signals[signal ?? 'SIGKILL']));
    child.once('error', () => resolve(EXIT.unavailable));
  });
}

/** @param {string} file @returns {Promise<RunFile | null>} */
async function readRun(file) {
  try {
    const [run] = await readRunFiles([file]);
    return run;
  } catch {
    return null;
  }
}

/** Time limit of --before-cell. */
const LONGEST_MS = 300_000;
/** Time between SIGTERM and SIGKILL. */
const GRACE_MS = 3000;

/**
 * Splits words like a POSIX shell: quotes and backslashes only.
 * @param {string} text
 * @returns {string[]} at least one
 * @throws {UsageError}
 */
export function splitWords(text) {
  const words = [...text.matchAll(/(?:[^\s'"\\]+|\\[^]|'[^']*'|"(?:[^"\\]|\\[^])*")+|\S/g)].map(([word]) => word);
  const open = words.find((word) => /^['"\\]$/.test(word));
  if (open !== undefined)
    throw new UsageError(
      open === '\\' ? '--before-cell ends with a backslash' : `--before-cell has a ${open} that is not closed`,
    );
  if (words.length === 0 || unquoted(words[0]) === '') throw new UsageError('--before-cell names no program');
  return words.map(unquoted);
}

/** @param {string} word */
function unquoted(word) {
  return word.replace(/'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\([^])/g, (_, single, double, escaped) => {
    if (escaped !== undefined) return escaped === '\n' ? '' : escaped;
    // Between double quotes a backslash is literal, except before characters that it can quote.
    return (
      single ??
      double.replace(/\\([$`"\\\n])/g, (/** @type {string} */ _two, /** @type {string} */ one) =>
        one === '\n' ? '' : one,
      )
    );
  });
}

/**
 * @param {object} options
 * @param {readonly string[]} options.words
 * @param {NodeJS.ProcessEnv} options.env all of its environment
 * @param {boolean} options.quiet discards its output, which otherwise goes to standard error
 * @param {string} options.before the run that follows, for messages
 * @param {Stop} options.stop
 * @param {Clock} options.clock
 * @throws {UnavailableError | InterruptedError}
 */
export async function runCommand({ words, env, quiet, before, stop, clock }) {
  const [program, ...args] = words;
  const output = quiet ? 'ignore' : 2;
  // In its own process group, so that its children can be ended with it.
  const child = spawn(program, args, { env, stdio: ['ignore', output, output], detached: true });
  let isLate = false;
  let forget = () => {};
  const end = () => {
    endGroup(child, 'SIGTERM');
    forget = clock.after(() => endGroup(child, 'SIGKILL'), GRACE_MS);
  };
  const hurry = () => endGroup(child, 'SIGKILL');
  const cancel = clock.after(() => {
    isLate = true;
    end();
  }, LONGEST_MS);
  stop.drain.addEventListener('abort', end);
  stop.now.addEventListener('abort', hurry);
  if (stop.drain.aborted) end();
  try {
    const failure = await endOf(child);
    if (stop.drain.aborted) throw new InterruptedError('interrupted', stop.exitCodes[0]);
    const name = oneLine(withoutKeys(words.join(' ')), 100);
    if (isLate) throw new UnavailableError(`--before-cell ${name} had not ended after 5 minutes, before ${before}`);
    if (failure !== null) throw new UnavailableError(`--before-cell ${name} ${failure}, before ${before}`);
  } finally {
    cancel();
    forget();
    stop.drain.removeEventListener('abort', end);
    stop.now.removeEventListener('abort', hurry);
  }
}

/** @param {ChildProcess} child @returns {Promise<string | null>} null: exit code 0 */
function endOf(child) {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) =>
      resolve(code === 0 ? null : `ended with exit code ${code ?? 128 + osConstants.signals[signal ?? 'SIGKILL']}`),
    );
    child.once('error', ({ message }) => resolve(`could not be started: ${oneLine(message)}`));
  });
}

/** @param {ChildProcess} child @param {NodeJS.Signals} signal */
function endGroup({ pid }, signal) {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // The group has ended already.
  }
}

/** Lock file of a study's folder, with the process id of its owner. */
export const LOCK = '.lock';
/** The owner writes its id right after creating the file; an older empty file is stale. */
const EMPTY_MS = 10_000;

/**
 * @template T
 * @param {string} folder
 * @param {string} inner a folder in it that is created as well
 * @param {() => Promise<T>} work done while the folder is locked
 * @returns {Promise<T>}
 * @throws {OutputError}
 */
export async function inFolder(folder, inner, work) {
  makeWritable(folder, folder);
  const file = join(folder, LOCK);
  lock(file, folder);
  try {
    makeWritable(join(folder, inner), folder);
    return await work();
  } finally {
    if (ownerOf(file) === process.pid) rmSync(file, { force: true });
  }
}

/** @param {string} folder @param {string} dir as given by the user */
function makeWritable(folder, dir) {
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK);
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'EEXIST' || code === 'ENOTDIR')
      throw new OutputError(`--dir ${displayName(dir)} is a file, or in one: give it a folder`, error);
    throw cannotWrite(folder, error);
  }
}

/** @param {string} file @param {string} folder it is in, for messages */
function lock(file, folder) {
  for (;;) {
    try {
      return writeFileSync(file, `${process.pid}\n`, { flag: 'wx' });
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw cannotWrite(file, error);
    }
    const owner = ownerOf(file);
    if (isAtWork(owner, file))
      throw new OutputError(
        `another stress (pid ${owner ?? 'not known yet'}) is at work in ${displayName(folder)}: give --dir another folder`,
      );
    removeStale(file, owner);
  }
}

/**
 * Two processes may find the same stale file, and one may have created its own since: the removed file is checked
 * again.
 * @param {string} file @param {number | null} owner of the stale file
 */
function removeStale(file, owner) {
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
    if (ownerOf(aside) === owner) rmSync(aside, { force: true });
    else renameSync(aside, file);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw cannotWrite(file, error);
  }
}

/** @param {string} file @returns {number | null} */
function ownerOf(file) {
  try {
    return Number.parseInt(readFileSync(file, 'utf8'), 10) || null;
  } catch {
    return null;
  }
}

/**
 * Containers reuse process ids: a file with the id of this process that it did not create is stale.
 * @param {number | null} pid @param {string} file
 */
function isAtWork(pid, file) {
  if (pid === process.pid) return false;
  if (pid === null) return Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) < EMPTY_MS;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process exists, with another user.
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}
