import { createSelfProbe } from './self.js';

/**
 * A probe watches something beside the load.
 *
 * @template T
 * @typedef {object} Probe
 * @property {() => T} sample what happened since the last call (since it was made, the first time)
 */

/** @type {{self: () => Probe<import('./self.js').SelfReading>}} */
export const probes = {
  self: createSelfProbe,
};
