import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/**
 * @import { StressResult } from './cli.js'
 * @import { CommandLine } from './stress-loop.js'
 */

const LOOP = fileURLToPath(new URL('stress-loop.js', import.meta.url));
/** Ends what one command line has printed: the ASCII record separator, which the program itself never prints. */
const SEPARATOR = '\u001e';
/** Nothing that a run has left may keep the process alive longer. */
const END_MS = 10_000;

/** A process that runs the program for one command line after the other. */
export class StressRunner {
  #said = { stdout: '', stderr: '' };
  #closed;
  #look = () => {};
  hasEnded = false;

  /** @param {NodeJS.ProcessEnv} env */
  constructor(env) {
    this.child = spawn(process.execPath, [LOOP, SEPARATOR], { env });
    this.child.stdin.on('error', () => {});
    for (const stream of /** @type {const} */ (['stdout', 'stderr']))
      this.child[stream].setEncoding('utf8').on('data', (text) => {
        this.#said[stream] += text;
        this.#look();
      });
    this.#closed = once(this.child, 'close').finally(() => (this.hasEnded = true));
  }

  /**
   * @param {CommandLine} commandLine
   * @param {number} timeoutMs
   * @returns {Promise<StressResult>} rejects after a time-out
   */
  async run(commandLine, timeoutMs) {
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      this.child.kill('SIGKILL');
    }, timeoutMs);
    this.#said = { stdout: '', stderr: '' };
    const done = new Promise((resolve) => {
      this.#look = () => {
        const [stdout, exitCode] = this.#said.stdout.split(SEPARATOR);
        const [stderr, end] = this.#said.stderr.split(SEPARATOR);
        if (exitCode?.endsWith('\n') && end?.endsWith('\n'))
          resolve({ code: Number(exitCode), signal: null, stdout, stderr });
      };
    });
    this.child.stdin.write(`${JSON.stringify(commandLine)}\n`);
    const closed = this.#closed.then(([code, signal]) => ({ code, signal, ...this.#said }));
    const result = await Promise.race([done, closed]);
    clearTimeout(timer);
    if (!timedOut) return result;
    const { stdout, stderr } = result;
    throw new Error(`stress ${commandLine.args.join(' ')} did not end within ${timeoutMs} ms\n${stdout}\n${stderr}`);
  }

  /** @returns {Promise<void>} rejects if something that a run has left keeps the process alive */
  async end() {
    this.child.stdin.end();
    const timer = setTimeout(() => this.child.kill('SIGKILL'), END_MS);
    const [, signal] = await this.#closed;
    clearTimeout(timer);
    if (signal !== null) throw new Error('runs of this file have left something that keeps their process alive');
  }
}
