/**
 * A machine in memory: virtual time, seeded randomness, threads in this thread behind their message ports. Everything in it
 * happens in one order, so that the same seed gives the same run.
 */
import { EventEmitter } from 'node:events';
import { readdirSync } from 'node:fs';
import { createSigner } from '../../src/chain/keys.js';
import { sleepBy } from '../../src/clock.js';
import { randomNumbers } from '../../src/random.js';

/**
 * @import { Clock } from '../../src/contracts/common.d.ts'
 * @import { OpenPages, Platform, StartThread, Stopped, ThreadHost } from '../../src/contracts/load.d.ts'
 *
 * @typedef {{dueUs: number, id: number, callback: () => void}} Timer
 */

/** Turns of the event loop between two timers: what a callback starts there is followed to its end. */
const TURNS = 4;

/** Real turns without a timer after which nothing more can happen. Files and modules take some. */
const IDLE_TURNS = 20_000;

/** Time of day at the start of a simulation. */
const START_MS = Date.UTC(2026, 0, 1);

/** Virtual time. A binary heap holds the timers. */
export class VirtualTime {
  nowUs = 1_000_000;
  #lastId = 0;
  /** @type {Timer[]} */
  #heap = [];

  /** @returns {Clock & {stop: () => void}} stop: cancels its timers, and it sets none from then on */
  clock() {
    /** @type {Set<Timer>} */
    const own = new Set();
    let isStopped = false;
    /** @type {Clock['after']} */
    const after = (callback, ms) => {
      if (isStopped) return () => {};
      /** @type {Timer} */
      const timer = {
        dueUs: this.nowUs + Math.max(0, Math.round(ms * 1000)),
        id: (this.#lastId += 1),
        callback: () => {
          own.delete(timer);
          callback();
        },
      };
      own.add(timer);
      this.#push(timer);
      return () => {
        own.delete(timer);
        timer.callback = nothing;
      };
    };
    return {
      nowUs: () => this.nowUs,
      wallMs: () => START_MS + Math.floor(this.nowUs / 1000),
      after,
      sleep: sleepBy(after),
      stop: () => {
        isStopped = true;
        for (const timer of own) timer.callback = nothing;
        own.clear();
      },
    };
  }

  /**
   * Lets time pass until the work is over.
   * @param {Promise<unknown>} work
   * @param {number} mostMs virtual time
   */
  async until(work, mostMs) {
    let isOver = false;
    const over = () => void (isOver = true);
    work.then(over, over);
    const endUs = this.nowUs + mostMs * 1000;
    for (let idle = 0; ;) {
      for (let turn = 0; (turn < TURNS || isReading()) && !isOver; turn += 1) await immediately();
      if (isOver) return;
      const timer = this.#pop();
      if (timer === null) {
        idle += 1;
        if (idle > IDLE_TURNS) throw new Error('it waits for something that does not come');
        continue;
      }
      if (timer.callback === nothing) continue;
      idle = 0;
      if (timer.dueUs > endUs) throw new Error(`it does not end within ${mostMs / 1000} s`);
      this.nowUs = Math.max(this.nowUs, timer.dueUs);
      timer.callback();
    }
  }

  /** @param {Timer} timer */
  #push(timer) {
    const heap = this.#heap;
    let at = heap.push(timer) - 1;
    for (let up = (at - 1) >> 1; at > 0 && isBefore(timer, heap[up]); up = (at - 1) >> 1) {
      heap[at] = heap[up];
      at = up;
    }
    heap[at] = timer;
  }

  /** @returns {Timer | null} */
  #pop() {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (first === undefined || last === undefined) return null;
    if (heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      if (down >= heap.length) break;
      if (down + 1 < heap.length && isBefore(heap[down + 1], heap[down])) down += 1;
      if (!isBefore(heap[down], last)) break;
      heap[at] = heap[down];
      at = down;
    }
    heap[at] = last;
    return first;
  }
}

const SOURCES = new URL('../../src/', import.meta.url);

/** Loads what a run loads when it needs it: virtual time would pass meanwhile. */
export async function loadModules() {
  const folders = ['chain', 'core', 'observers', 'workloads'];
  const files = folders.flatMap((folder) =>
    readdirSync(new URL(folder, SOURCES), { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
  );
  const programs = ['chain/keeper.js', 'workloads/kzg-thread.js', 'workloads/solc-thread.js'];
  const modules = files.filter((file) => file.endsWith('.js') && !programs.includes(file));
  await Promise.all([...modules.map((file) => import(new URL(file, SOURCES).href)), import('ajv/dist/2020.js')]);
  await createSigner();
}

/** @param {Timer} a @param {Timer} b */
function isBefore(a, b) {
  return a.dueUs < b.dueUs || (a.dueUs === b.dueUs && a.id < b.id);
}

function nothing() {}

const NO_PAGES = Object.freeze({
  read: () => Promise.reject(new Error('connection refused')),
  close: async () => {},
});

/** A machine that has a lot of time. @type {Platform['probes']} */
export const IDLE_MACHINE = Object.freeze({
  self: () => ({ sample: () => ({ cpuUs: 1000, rssBytes: 100_000_000 }) }),
  loop: () => ({ sample: () => ({ utilization: 0.1, delayMeanUs: 10, delayP99Us: 20, delayMaxUs: 30, gcUs: 100 }) }),
  sockets: () => ({
    sample: () => {
      throw new Error('a simulated machine has no sockets');
    },
  }),
});

/** Files are read, written and closed in real time, in which no virtual time passes. */
function isReading() {
  return process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq') || name === 'CloseReq');
}

/** @returns {Promise<void>} */
function immediately() {
  return new Promise((resolve) => void setImmediate(resolve));
}

/**
 * @param {VirtualTime} time
 * @param {number} seed
 * @param {Platform['transports']} transports
 * @param {OpenPages} [openPages] by default nothing listens
 * @returns {Platform & {threads: string[], reseed: () => void, suspend: (ms: number) => void}} threads: names of the programs
 *   that were started; reseed: its random numbers begin again; suspend: nothing happens on the machine for this time
 */
export function createSimulatedPlatform(time, seed, transports, openPages = () => NO_PAGES) {
  /** @type {string[]} */
  const threads = [];
  let numbers = randomNumbers(seed);
  const random = () => numbers();
  const reseed = () => void (numbers = randomNumbers(seed));
  /** @type {Stopped[]} */
  const stops = [];
  const suspend = (/** @type {number} */ ms) => {
    const fromUs = time.nowUs;
    time.nowUs += 1000 * ms;
    stops.push({ fromUs, toUs: time.nowUs });
  };
  const stopProbe = () => ({ sample: () => stops.splice(0) });
  const platform = {
    clock: time.clock(),
    random,
    transports,
    openPages,
    probes: { ...IDLE_MACHINE, stops: stopProbe },
  };
  /** @type {StartThread} */
  const startThread = (program, data) => {
    threads.push(String(program.pathname.split('/').at(-1)));
    return startInProcess(time, { ...platform, startThread }, program, data);
  };
  return { ...platform, startThread, threads, reseed, suspend };
}

/**
 * A thread whose program runs in this thread. What crosses its ports is cloned, as between real threads.
 * @param {VirtualTime} time
 * @param {Platform} platform
 * @param {URL} program
 * @param {unknown} data
 */
function startInProcess(time, platform, program, data) {
  const own = time.clock();
  const [host, port] = [new EventEmitter(), new EventEmitter()];
  let isOver = false;
  /** @param {EventEmitter} to @param {unknown} message */
  const deliver = (to, message) => {
    const copy = structuredClone(message);
    platform.clock.after(() => void (isOver || to.emit('message', copy)), 0);
  };
  /** @param {number} exitCode */
  const end = (exitCode) => {
    if (isOver) return;
    isOver = true;
    own.stop();
    platform.clock.after(() => void host.emit('exit', exitCode), 0);
  };
  const task = structuredClone(data);
  const begin = async () => {
    const { default: main } = await import(program.href);
    const outside = { postMessage: (/** @type {unknown} */ message) => deliver(host, message), close: () => end(0) };
    await main(task, Object.assign(port, outside), { ...platform, clock: own });
  };
  platform.clock.after(() => {
    begin().catch((error) => {
      host.emit('error', error);
      end(1);
    });
  }, 0);
  const thread = Object.assign(host, {
    postMessage: (/** @type {unknown} */ message) => deliver(port, message),
    terminate: async () => end(1),
  });
  return /** @type {ThreadHost} */ (/** @type {unknown} */ (thread));
}
