import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { launch } from '../../chain/devchain.js';
import { oneLine } from '../../errors.js';
import { NoProfile } from './pprof.js';

/**
 * @import { Clock } from '../../contracts/common.d.ts'
 * @import { Stack } from './pprof.js'
 * @import { Reader } from './thread.js'
 */

/** Samples per second: not in step with timers of 10 ms. */
const PER_SECOND = '99';
const SCRIPT_TIMEOUT_MS = 30_000;
const MOST_TEXT_BYTES = 256 * 1024 * 1024;
const WORDS_CHARS = 150;

/**
 * Reads CPU profiles of a process of this machine by perf of Linux: for nodes that serve none.
 * @param {number | null} pid
 * @param {Clock} clock
 * @returns {Reader}
 */
export function perfReader(pid, clock) {
  return async (seconds, signal) => {
    if (pid === null) throw new NoProfile('--node-profile perf needs --node-pid');
    assertOwn(pid);
    const folder = mkdtempSync(join(tmpdir(), 'stress-perf-'));
    try {
      const file = join(folder, 'perf.data');
      const startUs = clock.nowUs();
      await record(pid, file, { seconds, signal });
      const durationMs = (clock.nowUs() - startUs) / 1000;
      const text = signal.aborted ? '' : await scriptOf(file, signal);
      return { stacks: stacksIn(text), durationMs };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
}

/** @param {number} pid @throws {NoProfile} */
function assertOwn(pid) {
  const owner = statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid;
  if (owner === undefined) throw new NoProfile(`there is no process ${pid}, or no /proc`);
  if (owner !== process.geteuid?.()) throw new NoProfile(`process ${pid} belongs to another user`);
}

/** @param {number} pid @param {string} file @param {{seconds: number, signal: AbortSignal}} options */
async function record(pid, file, { seconds, signal }) {
  const args = ['record', '-g', '-e', 'cpu-clock', '-F', PER_SECOND, '-p', String(pid), '-o', file, '--'];
  const { PATH } = process.env;
  const { keeper, ended, stop } = launch(
    ['perf', ...args, 'sleep', String(seconds)],
    { graceMs: 1000 },
    { env: { PATH }, output: 'pipe' },
  );
  let words = '';
  keeper.stdout?.resume();
  keeper.stderr?.setEncoding('utf8').on('data', (chunk) => (words = (words + chunk).slice(-2000)));
  const end = () => void stop();
  signal.addEventListener('abort', end, { once: true });
  const exit = await ended;
  signal.removeEventListener('abort', end);
  if (signal.aborted || exit === 'exit code 0') return;
  if (/ENOENT|not found|exit code 127/.test(`${words} ${exit}`)) throw new NoProfile('perf is not installed');
  if (/permission|access to performance monitoring|paranoid/i.test(words))
    throw new NoProfile('perf is not permitted: see /proc/sys/kernel/perf_event_paranoid');
  throw new Error(`perf record: ${oneLine(words, WORDS_CHARS) || exit}`);
}

/** @param {string} file @param {AbortSignal} signal @returns {Promise<string>} */
async function scriptOf(file, signal) {
  const options = { signal, timeout: SCRIPT_TIMEOUT_MS, maxBuffer: MOST_TEXT_BYTES };
  const { stdout } = await promisify(execFile)('perf', ['script', '-i', file, '-F', 'period,ip,sym'], options);
  return stdout;
}

/**
 * The text of `perf script -F period,ip,sym`: for each sample its period in nanoseconds, then its functions, the one that ran
 * first, each with its address.
 * @param {string} text
 * @returns {Stack[]}
 */
export function stacksIn(text) {
  return text.split('\n\n').flatMap((block) => {
    const [head = '', ...lines] = block.split('\n').filter((line) => line.trim() !== '');
    const periodNs = Number(head.trim());
    if (lines.length === 0 || !Number.isFinite(periodNs)) return [];
    return [{ names: lines.map(functionIn).reverse(), us: Math.round(periodNs / 1000) }];
  });
}

/** @param {string} line */
function functionIn(line) {
  const name = line.trim().replace(/^[0-9a-f]+\s+/, '');
  // Rust adds a hash to each name.
  return name.replace(/::h[0-9a-f]{16}$/, '');
}
