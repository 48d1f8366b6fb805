import { Worker } from 'node:worker_threads';
import { createClock } from '../clock.js';
import { openPages } from '../node-page.js';
import { probes } from '../probes/index.js';
import { transports } from '../transport/index.js';

/**
 * What a run takes from the machine. A simulation gives it a clock, a seed, a chain and threads of its own.
 *
 * @import { Platform, ThreadHost } from '../contracts/load.d.ts'
 */

/** @returns {Platform} */
export function createPlatform() {
  return {
    clock: createClock(),
    random: Math.random,
    transports,
    startThread: (program, data) =>
      /** @type {ThreadHost} */ (/** @type {unknown} */ (new Worker(program, { workerData: data }))),
    openPages,
    probes,
  };
}

/** For a sequence that must be drawn again: in another thread, or by the audit. @param {() => number} random */
export function newSeed(random) {
  return 1 + Math.floor(random() * (2 ** 32 - 2));
}
