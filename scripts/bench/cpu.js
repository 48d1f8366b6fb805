/**
 * CPU time of whole processes, and one core for two of them.
 *
 * `process.resourceUsage()` does not see children, and what a process says of itself lacks its end. The builtin `times` of
 * bash prints what getrusage says of its finished children: all threads from start to end, to a millisecond.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { UnavailableError, UsageError, oneLine } from '../../src/errors.js';

/** Output goes to standard error, so that standard output has the times only. */
const SHELL = '"$@" >&2; code=$?; times; exit $code';

/**
 * @typedef {object} Execution
 * @property {number | null} core the only one that it may use; null: all
 * @property {NodeJS.ProcessEnv} env
 * @property {number} timeout in milliseconds
 */

/**
 * Runs a program to its end.
 * @param {string} file
 * @param {string[]} args
 * @param {Execution} execution
 * @returns {Promise<number>} CPU time in microseconds
 * @throws what execFile throws: code and stderr of a program that fails
 */
export async function executeTimed(file, args, { core, env, timeout }) {
  const pinned = core === null ? [] : ['taskset', '-c', `${core}`];
  const child = spawn('bash', ['-c', SHELL, 'bash', ...pinned, file, ...args], {
    env,
    detached: true, // in a process group of its own, so that the program ends with the shell
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const kill = () => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, 'SIGKILL');
  };
  process.once('exit', kill);
  const timer = setTimeout(kill, timeout);
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => (stderr = (stderr + chunk).slice(-(2 ** 16))));
  try {
    const code = await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    if (code !== 0) throw Object.assign(new Error(`${file}: exit code ${code}: ${oneLine(stderr)}`), { code, stderr });
    return childrenUs(stdout);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error;
    throw new UnavailableError('the CPU time of a process: bash is not on the PATH; install it', error);
  } finally {
    process.off('exit', kill);
    clearTimeout(timer);
  }
}

/** @param {string} times user and system time of the shell, and in the second line those of its children: 0m1.234s 0m0.056s */
function childrenUs(times) {
  const parts = [...(times.split('\n')[1] ?? '').matchAll(/(\d+)m(\d+)[.,](\d{3})s/g)];
  if (parts.length !== 2) throw new UnavailableError(`the builtin times of bash printed ${oneLine(times)}`);
  return parts.reduce((sum, [, minutes, seconds, ms]) => sum + Number(minutes) * 6e7 + Number(seconds + ms) * 1000, 0);
}

/** The last core that this process may use; null on a system other than Linux, which has no taskset. */
export function lastCore() {
  if (process.platform === 'win32')
    throw new UsageError('the CPU time of a process: Windows has no getrusage; use WSL');
  if (process.platform !== 'linux') return null;
  const cores = /^Cpus_allowed_list:.*?(\d+)$/m.exec(readFileSync('/proc/self/status', 'latin1'));
  return cores === null ? null : Number(cores[1]);
}
