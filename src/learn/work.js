import { intrinsicGas } from './transactions.js';

/**
 * Calldata for contracts/Work.sol that takes the gas, the bytes and the events of a group of calls, with their selector.
 *
 * @import { Operation } from './fit.js'
 * @import { Group } from './groups.js'
 */

/** The contract of this program that does the work. */
export const CONTRACT = 'Work';

/** Gas of a call without work, and of a slot that is added, one that is changed, an event, and a round: see test/e2e/learn.test.js. */
const GAS = Object.freeze({ call: 290, added: 22_160, changed: 5_060, event: 1_062, round: 105 });

/** Share of new slots in those that a call writes, as the workload `storage` has it by default. */
const ADDED_SHARE = 0.25;

/** Selector and work. */
const LEAST_BYTES = 36;

/** More would make the config file unreadable. */
const MOST_BYTES = 20_000;

const MOST_EVENTS = 50;

/** One in three of the bytes behind the work is not zero. */
const PADDING = '000001';

/** @param {Pick<Group, 'gas' | 'bytes' | 'selector' | 'events'>} group @returns {Operation} */
export function workFor({ gas, bytes, selector, events: all }) {
  const size = Math.min(MOST_BYTES, Math.max(LEAST_BYTES, Math.round(bytes)));
  const events = Math.min(MOST_EVENTS, all);
  const left = (/** @type {readonly number[]} */ work) => gas - usualGas(dataOf(selector, size, work));
  const [added, changed] = slotsFor(left([0, 0, 0, events]), events > 0);
  const rounds = Math.max(0, Math.round(left([added, changed, 0, events]) / GAS.round));
  const calldata = dataOf(selector, size, [added, changed, rounds, events]);
  return { gas: Math.max(usualGas(calldata), intrinsicGas(calldata).least), bytes: size, calldata };
}

/** Calls with events write slots, others compute. @param {number} gas @param {boolean} writes @returns {[added: number, changed: number]} */
function slotsFor(gas, writes) {
  if (!writes) return [0, 0];
  const mean = ADDED_SHARE * GAS.added + (1 - ADDED_SHARE) * GAS.changed;
  const added = Math.max(0, Math.floor((ADDED_SHARE * gas) / mean));
  // The first one counts the calls, so that others are new.
  return [added, Math.max(1, Math.floor((gas - added * GAS.added) / GAS.changed))];
}

/** @param {string} selector @param {number} size in bytes @param {readonly number[]} work */
function dataOf(selector, size, work) {
  const start = `0x${selector.slice(2).padEnd(8, '0')}${work.map((number) => number.toString(16).padStart(16, '0')).join('')}`;
  return start + PADDING.repeat(Math.ceil((size - LEAST_BYTES) / 3)).slice(0, 2 * (size - LEAST_BYTES));
}

/** @param {string} data of Work */
function usualGas(data) {
  const [added, changed, rounds, events] = [0, 1, 2, 3].map((i) => Number(`0x${data.slice(10 + 16 * i, 26 + 16 * i)}`));
  const work = added * GAS.added + changed * GAS.changed + events * GAS.event + rounds * GAS.round;
  return intrinsicGas(data).usual + GAS.call + work;
}
