/** Readings of the probes of several instances, added up. */
import { mergeReadings, worstLoop } from '../stats/readings.js';

/** @import { Readings } from '../types.d.ts' */

export class ProbeSums {
  /** @type {Readings | null} */
  #sum = null;

  /** @param {Readings} readings */
  add(readings) {
    this.#sum = this.#sum === null ? readings : mergeProbes(this.#sum, readings);
  }

  /** @param {ProbeSums} other */
  merge(other) {
    if (other.#sum !== null) this.add(other.#sum);
  }

  /** @returns {Readings} */
  result() {
    return this.#sum ?? NOTHING_READ;
  }
}

/** An interval in which no instance reported, although one was at work. @type {Readings} */
const NOTHING_READ = Object.freeze({
  self: { cpuUs: 0, rssBytes: 0 },
  connections: { opened: 0, reused: 0 },
  loop: null,
  sockets: null,
  pool: null,
  node: null,
  metrics: null,
  why: Object.fromEntries(
    ['loop', 'sockets', 'pool', 'node', 'metrics'].map((name) => [name, 'no instance has reported in it']),
  ),
});

/** @param {Readings} a @param {Readings} b @returns {Readings} */
function mergeProbes(a, b) {
  return {
    ...mergeReadings(a, b, 1, 1),
    loop: a.loop === null || b.loop === null ? (a.loop ?? b.loop) : worstLoop(a.loop, b.loop),
    node: a.node ?? b.node,
    metrics: a.metrics ?? b.metrics,
  };
}
