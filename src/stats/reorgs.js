/** @import { ReorgEvent, Reorgs } from '../types.d.ts' */

/** Reorgs: blocks that were read and then left the chain. A run lists this many, each with this many operations. */
const KEPT = 100;
export const TOUCHED = 20;

/** @returns {Reorgs} */
export function noReorgs() {
  return { count: 0, deepest: 0, operations: 0, events: [] };
}

/** @param {Reorgs} reorgs @param {ReorgEvent} event */
export function addReorg(reorgs, event) {
  reorgs.count += 1;
  reorgs.deepest = Math.max(reorgs.deepest, event.depth);
  reorgs.operations += event.operations;
  if (reorgs.events.length < KEPT) reorgs.events.push(event);
}

/**
 * Several threads see the same reorg: it becomes one event with the operations of all of them.
 * @param {Reorgs[]} all
 * @returns {Reorgs}
 */
export function mergeReorgs(all) {
  /** @type {Map<string, ReorgEvent>} */
  const events = new Map();
  for (const event of all.flatMap((reorgs) => reorgs.events)) {
    const key = `${event.blockNumber}:${event.blockHash}`;
    const known = events.get(key);
    events.set(key, known === undefined ? { ...event } : mergeEvents(known, event));
  }
  return {
    count: Math.max(events.size, ...all.map(({ count }) => count)),
    deepest: Math.max(0, ...all.map(({ deepest }) => deepest)),
    operations: all.reduce((sum, { operations }) => sum + operations, 0),
    events: [...events.values()].sort((a, b) => a.atMs - b.atMs).slice(0, KEPT),
  };
}

/** @param {ReorgEvent} a @param {ReorgEvent} b @returns {ReorgEvent} */
function mergeEvents(a, b) {
  return {
    ...a,
    atMs: Math.min(a.atMs, b.atMs),
    depth: Math.max(a.depth, b.depth),
    operations: a.operations + b.operations,
    touched: [...a.touched, ...b.touched].slice(0, TOUCHED),
    isComplete: a.isComplete && b.isComplete,
  };
}

/** @param {ReorgEvent} event */
export function reorgInWords({ blockNumber, depth, operations, isComplete }) {
  const blocks = `${depth} block${depth === 1 ? '' : 's'} from ${blockNumber} on left the chain`;
  const more = isComplete ? '' : ', and older ones that are not remembered';
  return `reorg: ${blocks}, with ${operations} of our operations${more}`;
}
