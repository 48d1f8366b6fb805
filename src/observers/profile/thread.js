import { displayUrl } from '../../chain/rpc.js';
import { oneLine } from '../../errors.js';
import { endpointReader } from './endpoint.js';
import { perfReader } from './perf.js';
import { MOST_BYTES, NoProfile } from './pprof.js';
import { LockWaits, Stacks } from './stacks.js';

/**
 * The thread of --node-profile: reads the profiles of each source in pieces that follow one another, and adds them up.
 *
 * @import { Clock } from '../../contracts/common.d.ts'
 * @import { NodeProfile } from '../../contracts/run-file.d.ts'
 * @import { SideWork } from '../../core/side-thread.js'
 * @import { Stack } from './pprof.js'
 *
 * @typedef {{name: string, url: string | null, pid: number | null}} ProfileSource url: null: by perf, of the process with this pid
 *
 * @typedef {{startMs?: number, windowMs?: number, isOver?: boolean}} ProfileMessage the window begins in startMs and lasts
 *   windowMs; Infinity: its end is not known
 *
 * @typedef {(seconds: number, signal: AbortSignal) => Promise<{stacks: Stack[], durationMs: number, isWhole?: boolean, locks?: Stack[] | null}>} Reader
 *   of the next seconds; isWhole: the source does not go by the seconds that it is asked for, so that it is asked once; locks:
 *   where the node waited for a lock
 */

const LONGEST_PIECE_S = 30;
/** Where the end of the window is not known: at most so much is lost at its end. */
const OPEN_PIECE_S = 5;
const PAUSE_MS = 5000;
/** perf starts and reads its file in so much time, on a busy machine. */
const PERF_START_S = 2;
/** A page answers so much later: a load of plain calls ends with its window, without a drain. */
const ANSWER_S = 0.5;

class Source {
  #read;
  #stacks = new Stacks();
  #locks = new LockWaits();
  #pieces = 0;
  #profiledMs = 0;
  /** Why pieces are missing. @type {Record<string, number>} */
  #missing = {};

  /** @param {ProfileSource} source @param {Reader} read */
  constructor(source, read) {
    this.source = source;
    this.#read = read;
  }

  /**
   * @param {number} endUs of the window
   * @param {{clock: Clock, signal: AbortSignal, onPiece: () => void}} tools
   */
  async run(endUs, { clock, signal, onPiece }) {
    for (;;) {
      const left = Math.floor((endUs - clock.nowUs()) / 1e6 - (this.source.url === null ? PERF_START_S : ANSWER_S));
      if (signal.aborted || left < 1) return;
      const seconds = left === Infinity ? OPEN_PIECE_S : Math.min(LONGEST_PIECE_S, left);
      try {
        const { stacks, durationMs, isWhole = false, locks } = await this.#read(seconds, signal);
        if (signal.aborted) return;
        for (const { names, us } of stacks) this.#stacks.add(names, us);
        for (const { names, us } of locks ?? []) this.#locks.add(names, us);
        this.#pieces += 1;
        this.#profiledMs += durationMs;
        onPiece();
        if (isWhole) return;
      } catch (error) {
        if (signal.aborted) return;
        const why = oneLine(/** @type {Error} */ (error).message, 200);
        this.#missing[why] = (this.#missing[why] ?? 0) + 1;
        onPiece();
        if (error instanceof NoProfile) return;
        await clock.sleep(PAUSE_MS, signal);
      }
    }
  }

  /** @returns {NodeProfile} */
  report() {
    const { name, url } = this.source;
    return {
      name,
      source: url === null ? 'perf' : displayUrl(new URL(url)),
      pieces: this.#pieces,
      profiledMs: Math.round(this.#profiledMs),
      missing: { ...this.#missing },
      stacks: this.#pieces === 0 ? null : this.#stacks.report(),
      locks: this.#locks.report(),
    };
  }
}

/** @type {SideWork<{sources: ProfileSource[], insecure: boolean}, ProfileMessage, NodeProfile[]>} */
export default async function profileNodes({ sources, insecure }, _rpcs, { onMessage, post, clock, openPages }) {
  const over = new AbortController();
  const { signal } = over;
  const pages = openPages({ insecure, maxBytes: MOST_BYTES });
  const all = sources.map((source) => {
    const { url, pid } = source;
    return new Source(source, url === null ? perfReader(pid, clock) : endpointReader(new URL(url), { pages, clock }));
  });
  const reports = () => all.map((source) => source.report());
  const onPiece = () => post({ profiles: reports() });
  const ended = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  /** @type {Promise<unknown>} */
  let reading = Promise.resolve();
  const readFrom = async (/** @type {number} */ startMs, /** @type {number} */ windowMs) => {
    const endUs = clock.nowUs() + (startMs + windowMs) * 1000;
    await clock.sleep(startMs, signal);
    await Promise.all(all.map((source) => source.run(endUs, { clock, signal, onPiece })));
  };
  onMessage(({ startMs = 0, windowMs, isOver }) => {
    if (windowMs !== undefined) reading = readFrom(startMs, windowMs);
    if (isOver) over.abort();
  });
  post({});
  await ended;
  // Requests and programs under way were ended.
  await reading;
  await pages.close();
  return reports();
}
