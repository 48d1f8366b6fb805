import { CONTRACT } from './work.js';

/**
 * The fitted mix as options, for --config.
 *
 * @import { Member } from './fit.js'
 * @import { Facts } from './facts.js'
 */

/** Payments between wallets need two. */
const LEAST_WALLETS = 2;
const MOST_WALLETS = 10_000;

/** Blocks in which an operation is in flight: the one it waits for, and the one that includes it. */
const BLOCKS_IN_FLIGHT = 2;
const MOST_IN_FLIGHT = 1000;

/** How many wallets send as the senders of a block do, and how many operations each has in flight. @param {Pick<Facts['chain'], 'sendersPerBlock' | 'transactionsPerBlock'>} chain */
export function walletsFor({ sendersPerBlock, transactionsPerBlock }) {
  const senders = sendersPerBlock ?? transactionsPerBlock;
  const threads = Math.min(MOST_WALLETS, Math.max(LEAST_WALLETS, Math.ceil(senders)));
  const inFlight = Math.ceil((BLOCKS_IN_FLIGHT * transactionsPerBlock) / threads);
  return { threads, inFlight: Math.min(MOST_IN_FLIGHT, Math.max(1, inFlight)) };
}

/** @param {readonly Member[]} members @param {Facts} facts @returns {Record<string, unknown>} */
export function configOf(members, { chain, isLegacy }) {
  const { threads, inFlight } = walletsFor(chain);
  const set = members.flatMap(({ operation }) => operation.set ?? []);
  const payload = members.map(({ operation }) => operation.payload).find((bytes) => bytes !== undefined);
  const calls = members.filter(({ operation }) => operation.calldata !== undefined);
  const workloads = calls.map(({ name, operation: { calldata } }, i) => {
    const contract = i === 0 ? { deploy: CONTRACT } : { 'contract-address': calls[0].name };
    return [name, { ...contract, calldata }];
  });
  return {
    threads,
    'in-flight': inFlight,
    ...(chain.transactionsPerSecond !== null && { 'chain-rate': rounded(chain.transactionsPerSecond) }),
    ...(isLegacy && { legacy: true }),
    mix: members.map(({ name, share }) => `${name}:${rounded(100 * share)}`),
    ...(set.length > 0 && { set }),
    ...(payload !== undefined && { payload }),
    ...(calls.length > 0 && { workloads: Object.fromEntries(workloads) }),
  };
}

/** Four digits, without an exponent. @param {number} value above 0 */
function rounded(value) {
  return Number(Number(value.toPrecision(4)).toFixed(6));
}
