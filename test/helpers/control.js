import { controlOf } from '../../src/core/control.js';

/** @import { ControlMessage } from '../../src/core/control.js' */

/** The Control of a load that takes everything, and what it was told: verb and arguments. */
export function recordedControl({ grants = true } = {}) {
  /** @type {unknown[][]} */
  const told = [];
  const post = async (/** @type {ControlMessage} */ { verb, args }) => {
    told.push([verb, ...args]);
    return grants;
  };
  return { told, control: controlOf({ post }) };
}
