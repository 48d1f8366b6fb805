/** Runs the program on a terminal, where Ctrl-C goes to every process of the foreground group. */
import { after } from 'node:test';
import { spawn } from '@lydell/node-pty';
import { STRESS, cleanEnvironment } from './cli.js';
import { Transcript } from './transcript.js';

/** @import { IPty } from '@lydell/node-pty' */

export const CTRL_C = '\x03';
const TIMEOUT_MS = 120_000;

/**
 * @typedef {object} Terminal
 * @property {number} pid
 * @property {(keys: string) => void} type
 * @property {() => void} close closes the terminal of the program, which gets two SIGHUPs
 * @property {() => string} output so far, as the terminal got it
 * @property {(pattern: RegExp, since?: 'start' | 'now') => Promise<RegExpExecArray>} waitFor
 * @property {Promise<{code: number, signal: number, output: string}>} done
 */

/** @type {Set<IPty>} */
const running = new Set();
after(() => running.forEach((terminal) => terminal.kill('SIGKILL')));

/**
 * @param {string[]} args
 * @param {{env?: NodeJS.ProcessEnv, cwd?: string, timeoutMs?: number, columns?: number}} [options] without colours unless env has NO_COLOR
 * @returns {Terminal}
 */
export function spawnOnTerminal(args, { env, cwd, timeoutMs = TIMEOUT_MS, columns = 200 } = {}) {
  const named = Object.entries(cleanEnvironment({ NO_COLOR: '1', ...env })).filter(([, value]) => value !== undefined);
  const settings = { cwd, env: Object.fromEntries(named), cols: columns, rows: 50 };
  /** @type {IPty & {destroy: () => void}} */
  const terminal = /** @type {any} */ (spawn(process.execPath, [STRESS, ...args], settings));
  running.add(terminal);
  const transcript = new Transcript();
  transcript.add('terminal', '');
  terminal.onData((chunk) => transcript.add('terminal', chunk));
  const output = () => transcript.said.terminal;

  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    terminal.kill('SIGKILL');
  }, timeoutMs);
  /** @type {Terminal['done']} */
  const done = new Promise((resolve, reject) => {
    terminal.onExit(({ exitCode, signal = 0 }) => {
      clearTimeout(timer);
      running.delete(terminal);
      if (timedOut) reject(new Error(`stress ${args.join(' ')} did not end within ${timeoutMs} ms\n${transcript}`));
      else resolve({ code: exitCode, signal, output: output() });
    });
  });
  done.catch(() => {}); // a test may ignore the end

  return {
    pid: terminal.pid,
    type: (keys) => terminal.write(keys),
    close: () => terminal.destroy(),
    output,
    waitFor: (pattern, since) => transcript.waitFor(pattern, done, since),
    done,
  };
}
