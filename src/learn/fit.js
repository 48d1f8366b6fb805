import { countsOf } from '../workloads/storage.js';
import { MEMBERS, WORKLOADS, setsOf } from '../workloads/table.js';
import { intrinsicGas } from './transactions.js';
import { workFor } from './work.js';

/**
 * A mix of workloads for the groups of a chain. A group is fitted by the built-in workload of its kind if that uses about as
 * much gas; other calls are made to a contract that does as much work (contracts/Work.sol).
 *
 * @import { Group, Rest } from './groups.js'
 *
 * @typedef {object} Operation what an operation of a workload takes
 * @property {number} gas
 * @property {number} bytes of calldata
 * @property {readonly string[]} [set] settings
 * @property {number} [payload]
 * @property {string} [calldata] of a call to Work
 *
 * @typedef {object} Row a kind, and the workload that stands for it
 * @property {string} workload
 * @property {(group: Pick<Group, 'gas' | 'bytes' | 'selector'>) => Operation} operation
 * @property {boolean} [isNoCall] only this workload can stand for it
 *
 * @typedef {object} Member of the fitted mix
 * @property {string} name in the mix
 * @property {string} words
 * @property {Group[]} groups that it stands for
 * @property {number} share of all transactions
 * @property {Operation} operation
 * @property {number} type of its transactions, unless they are legacy ones
 */

/** Gas of an operation whose gas does not depend on settings, and its calldata in bytes: see test/e2e/learn.test.js. */
const ERC20 = Object.freeze({ gas: 34_230, bytes: 68 });
const ERC721 = Object.freeze({ gas: 56_090, bytes: 36 });
const SWAP = Object.freeze({ gas: 42_630, bytes: 104 });
const COUNTER = Object.freeze({ gas: 26_430, bytes: 8 });

/** Bytes before and behind the code that `deploy` creates. */
const AROUND_CODE = 16;

/** Gas of a creation, and of a byte of code, beside that of its calldata. */
const CREATION = Object.freeze({ gas: 32_000, perByte: 200.26 });

/** Gas of the workload `storage`: without slots, and of a slot that is changed, added and cleared, as far as it is refunded. */
const STORAGE = Object.freeze({
  ...{ gas: 27_480, changed: 5_350, added: 22_550 },
  ...{ cleared: 5_350, refund: 4_800, refunded: 0.2 },
});
const STORAGE_BYTES = 132;

const COMPUTE_BYTES = 40;

/** A byte of --payload is none of zero. */
const PAYLOAD_BYTE = 'ff';

/** @param {number} value @param {number} least @param {number} most */
function within(value, least, most) {
  return Math.min(most, Math.max(least, Math.round(value)));
}

/** @param {string} workload @param {string} name @param {number} value */
function setting(workload, name, value) {
  const { least = 0, most = Infinity } = WORKLOADS[workload].sets?.[name] ?? {};
  const fitting = within(value, least, most);
  return { value: fitting, set: [`${workload}.${name}=${fitting}`] };
}

/** @param {number} bytes of code */
function creationGas(bytes) {
  const { usual, least } = intrinsicGas(`0x${PAYLOAD_BYTE.repeat(bytes + AROUND_CODE)}`);
  return Math.max(Math.round(usual + CREATION.gas + CREATION.perByte * bytes), least);
}

/** @param {number} slots per operation */
function storageGas(slots) {
  const { changed, added, cleared } = countsOf({ ...setsOf('storage'), slots });
  const used = STORAGE.gas + changed * STORAGE.changed + added * STORAGE.added + cleared * STORAGE.cleared;
  return Math.round(used - Math.min(cleared * STORAGE.refund, used * STORAGE.refunded));
}

/** The number of slots whose gas is nearest. @param {number} gas */
function slotsFor(gas) {
  const { least, most } = /** @type {any} */ (WORKLOADS.storage.sets).slots;
  let slots = least;
  while (slots < most && storageGas(slots + 1) <= gas) slots += 1;
  return slots < most && storageGas(slots + 1) - gas < gas - storageGas(slots) ? slots + 1 : slots;
}

/** @type {Readonly<Record<string, Row>>} */
const ROWS = Object.freeze({
  payment: { workload: 'transfer', operation: () => ({ gas: 21_000, bytes: 0 }), isNoCall: true },
  data: {
    workload: 'transfer',
    operation: ({ bytes }) => {
      const payload = within(bytes, 16, 100_000);
      const { usual, least } = intrinsicGas(`0x${PAYLOAD_BYTE.repeat(payload)}`);
      return { gas: Math.max(usual, least), bytes: payload, payload };
    },
  },
  creation: {
    workload: 'deploy',
    operation: ({ bytes }) => {
      const { value, set } = setting('deploy', 'bytes', bytes - AROUND_CODE);
      return { gas: creationGas(value), bytes: value + AROUND_CODE, set };
    },
    isNoCall: true,
  },
  token: { workload: 'erc20', operation: () => ERC20 },
  mint: { workload: 'erc721', operation: () => ERC721 },
  swap: { workload: 'swap', operation: () => SWAP },
  counter: { workload: 'counter', operation: () => COUNTER },
  storage: {
    workload: 'storage',
    operation: ({ gas }) => {
      const { value, set } = setting('storage', 'slots', slotsFor(gas));
      return { gas: storageGas(value), bytes: STORAGE_BYTES, set };
    },
  },
  compute: {
    workload: 'compute',
    operation: ({ gas }) => {
      const { value, set } = setting('compute', 'gas', gas);
      return { gas: value, bytes: COMPUTE_BYTES, set };
    },
  },
  blobs: {
    workload: 'blobs',
    operation: ({ selector }) => ({ gas: 21_000, bytes: 0, set: setting('blobs', 'blobs', Number(selector)).set }),
    isNoCall: true,
  },
  setcode: { workload: 'set-code', operation: ({ gas, bytes }) => ({ gas, bytes }), isNoCall: true },
});

/** Types of transactions, by workload. @type {Readonly<Record<string, number>>} */
const TYPES = Object.freeze({ blobs: 3, 'set-code': 4 });
const USUAL_TYPE = 2;

/** The gas of a built-in workload may differ by this factor. */
const NEAR = 1.25;

/**
 * @param {readonly Group[]} groups the largest first
 * @returns {{members: Member[], rest: Rest[]}} rest: groups for which there is no workload
 */
export function fit(groups) {
  /** @type {Map<string, {row: Row | null, groups: Group[]}>} */
  const assigned = new Map();
  /** @type {Rest[]} */
  const rest = [];
  const kinds = new Set(groups.map(({ kind }) => kind));
  for (const group of groups) {
    const { kind, share, transactions, words } = group;
    // --payload is for all payments, and for the counter.
    const isTaken = kind === 'data' && (kinds.has('payment') || kinds.has('counter'));
    const row = isTaken ? undefined : ROWS[kind];
    const known = row && assigned.get(row.workload);
    if (row?.isNoCall && !MEMBERS.includes(row.workload))
      rest.push({ words: `${words}: no member of a mix`, count: transactions.length, share });
    // A payment to an account without code takes one amount of gas only.
    else if (kind === 'payment' && !isNear(ROWS.payment.operation(group).gas, group.gas))
      rest.push({ words: `${words}: of ${group.gas} gas, to contracts`, count: transactions.length, share });
    else if (row?.isNoCall && known) known.groups.push(group);
    else if (row && !known && (row.isNoCall || isNear(row.operation(group).gas, group.gas)))
      assigned.set(row.workload, { row, groups: [group] });
    else assigned.set(nameOf(group), { row: null, groups: [group] });
  }
  return { members: [...assigned].map(([name, { row, groups: own }]) => memberOf(name, row, own)), rest };
}

/** @param {number} fitted @param {number} gas */
function isNear(fitted, gas) {
  return fitted < NEAR * gas && gas < NEAR * fitted;
}

/** A name for the config file, which no built-in workload has. @param {Group} group */
function nameOf({ kind, selector, level }) {
  const word = { events: 'call', quiet: 'compute' }[kind] ?? kind;
  return [word, selector.slice(2) || 'plain', ...(level > 0 ? [level + 1] : [])].join('_');
}

/** @param {string} name @param {Row | null} row null: calls of Work @param {Group[]} groups @returns {Member} */
function memberOf(name, row, groups) {
  const share = groups.reduce((sum, group) => sum + group.share, 0);
  const [first] = groups;
  const meanOf = (/** @type {'gas' | 'bytes'} */ member) =>
    groups.reduce((sum, group) => sum + (group.share / share) * group[member], 0);
  const all = groups.length === 1 ? first : { ...first, gas: meanOf('gas'), bytes: meanOf('bytes') };
  return {
    ...{ name, share, groups },
    words: groups.map(({ words }) => words).join(', '),
    operation: row?.operation(all) ?? workFor(first),
    type: TYPES[name] ?? USUAL_TYPE,
  };
}
