import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/**
 * @import { StressResult } from './cli.js'
 * @import { CommandLine } from './stress-loop.js'
 * @import { Transcript } from './transcript.js'
 */

const LOOP = fileURLToPath(new URL('stress-loop.js', import.meta.url));
/** Ends what one command line has printed: the ASCII record separator, which the program itself never prints. */
const SEPARATOR = '\u001e';
/** Nothing that a run has left may keep the process alive longer. */
const END_MS = 10_000;

/** A process that runs the program for one command line after the other. */
export class StressRunner {
  #closed;
  /** @type {(stream: 'stdout' | 'stderr', text: string) => void} */
  #read = () => {};
  hasEnded = false;

  /** @param {NodeJS.ProcessEnv} env */
  constructor(env) {
    this.child = spawn(process.execPath, [LOOP, SEPARATOR], { env });
    this.child.stdin.on('error', () => {});
    for (const stream of /** @type {const} */ (['stdout', 'stderr']))
      this.child[stream].setEncoding('utf8').on('data', (text) => this.#read(stream, text));
    this.#closed = once(this.child, 'close').finally(() => (this.hasEnded = true));
  }

  /**
   * @param {CommandLine} commandLine
   * @param {Transcript} transcript of what it prints
   * @returns {Promise<Omit<StressResult, 'stdout' | 'stderr'>>}
   */
  async run(commandLine, transcript) {
    this.#keepAlive(true);
    /** @type {Record<string, string>} the exit code, on both streams */
    const ends = {};
    const done = new Promise((resolve) => {
      this.#read = (stream, chunk) => {
        const [text, end] = ends[stream] === undefined ? chunk.split(SEPARATOR) : ['', ends[stream] + chunk];
        if (text !== '') transcript.add(stream, text);
        if (end !== undefined) ends[stream] = end;
        if (ends.stdout?.endsWith('\n') && ends.stderr?.endsWith('\n'))
          resolve({ code: Number(ends.stdout), signal: null });
      };
    });
    this.child.stdin.write(`${JSON.stringify(commandLine)}\n`);
    return Promise.race([done, this.#closed.then(([code, signal]) => ({ code, signal }))]).finally(() =>
      this.#keepAlive(false),
    );
  }

  /** Between runs this process may end: only then do files that await their tests call after(). @param {boolean} isNeeded */
  #keepAlive(isNeeded) {
    const { child } = this;
    for (const handle of /** @type {any[]} */ ([child, child.stdin, child.stdout, child.stderr]))
      handle[isNeeded ? 'ref' : 'unref']?.();
  }

  /** @returns {Promise<void>} rejects if something that a run has left keeps the process alive */
  async end() {
    this.#keepAlive(true);
    this.child.stdin.end();
    const timer = setTimeout(() => this.child.kill('SIGKILL'), END_MS);
    const [, signal] = await this.#closed;
    clearTimeout(timer);
    if (signal !== null) throw new Error('runs of this file have left something that keeps their process alive');
  }
}
