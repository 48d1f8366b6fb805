/** What code runs have executed, by V8's block coverage: a run that executes what none before it did is worth recording. */
import { Session } from 'node:inspector/promises';

const SOURCES = new URL('../../src/', import.meta.url).href;

export class Coverage {
  #session = new Session();
  /** By URL: 1 for each character that was executed. @type {Map<string, Uint8Array>} */
  #executed = new Map();

  async begin() {
    this.#session.connect();
    await this.#session.post('Profiler.enable');
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** @returns {Promise<number>} characters of src/ that were executed since the last call, and never before */
  async added() {
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    let added = 0;
    for (const { url, functions } of result.filter((one) => one.url.startsWith(SOURCES))) {
      const ranges = functions.flatMap((one) => one.ranges);
      const length = Math.max(...ranges.map(({ endOffset }) => endOffset));
      const now = new Uint8Array(length);
      // The ranges of a function begin with its outermost one.
      for (const { startOffset, endOffset, count } of ranges) now.fill(count > 0 ? 1 : 0, startOffset, endOffset);
      added += this.#take(url, now);
    }
    return added;
  }

  /** @param {string} url @param {Uint8Array} now */
  #take(url, now) {
    const before = this.#executed.get(url) ?? new Uint8Array();
    const all = now.map((one, i) => one | (before[i] ?? 0));
    this.#executed.set(url, all.length >= before.length ? all : Uint8Array.from([...all, ...before.slice(all.length)]));
    return now.reduce((sum, one, i) => sum + (one > (before[i] ?? 0) ? 1 : 0), 0);
  }

  end() {
    this.#session.disconnect();
  }
}
