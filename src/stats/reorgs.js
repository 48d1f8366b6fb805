/** @import { ReorgEvent, Reorgs } from '../contracts/run-file.d.ts' */

/** Reorgs: blocks that were read and then left the chain. A run lists the first of them, each with some operations. */
export const TOUCHED = 20;

/** @returns {Reorgs} */
export function noReorgs() {
  return { count: 0, deepest: 0, operations: 0, events: [] };
}

/** @param {ReorgEvent} event @returns {Reorgs} */
export function reorgsOf(event) {
  return { count: 1, deepest: event.depth, operations: event.operations, events: [event] };
}

/** @param {ReorgEvent} event */
export function reorgInWords({ blockNumber, depth, operations, isComplete }) {
  const blocks = `${depth} block${depth === 1 ? '' : 's'} from ${blockNumber} on left the chain`;
  const more = isComplete ? '' : ', and older ones that are not remembered';
  return `reorg: ${blocks}, with ${operations} of our operations${more}`;
}
