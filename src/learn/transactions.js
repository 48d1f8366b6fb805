import { id } from 'ethers/hash';
import { selectorOf } from '../workloads/contract-state.js';

/**
 * What a transaction of a chain is: its kind, by its type, what it calls, and the events of its receipt.
 *
 * @import { ChainReceipt } from '../contracts/chain.d.ts'
 * @import { ChainCall } from '../chain/answers.js'
 *
 * @typedef {readonly [group: string, type: number | null, gas: number | null, bytes: number | null, events: number]} Seen a
 *   transaction; group: its kind, and after a blank its selector if it has one
 */

/** Kinds, and how they are called. @type {Readonly<Record<string, string>>} */
export const KINDS = Object.freeze({
  payment: 'payment',
  data: 'payment with data',
  creation: 'contract creation',
  token: 'token transfer',
  approval: 'approval',
  swap: 'swap',
  mint: 'NFT mint',
  counter: 'counter',
  storage: 'storage writes',
  compute: 'computation',
  events: 'call with events',
  quiet: 'call without events',
  blobs: 'blobs',
  setcode: 'set-code',
});

/** Functions that say what a call is. Routers take many others, whose swaps are known by their events. */
const FUNCTIONS = Object.freeze({
  token: ['transfer(address,uint256)', 'transferFrom(address,address,uint256)'],
  approval: ['approve(address,uint256)', 'increaseAllowance(address,uint256)', 'setApprovalForAll(address,bool)'],
  swap: [
    'swap(uint256,uint256,uint256)',
    'swap(uint256,uint256,address,bytes)',
    'swapExactTokensForTokens(uint256,uint256,address[],address,uint256)',
    'swapTokensForExactTokens(uint256,uint256,address[],address,uint256)',
    'swapExactETHForTokens(uint256,address[],address,uint256)',
    'swapETHForExactTokens(uint256,address[],address,uint256)',
    'swapExactTokensForETH(uint256,uint256,address[],address,uint256)',
    'exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))',
  ],
  counter: ['increment()'],
  storage: ['write(uint256,uint256,uint256,uint256)'],
  compute: ['run(uint256)'],
});

/** Signatures by selector. @type {ReadonlyMap<string, {kind: string, signature: string}>} */
const BY_SELECTOR = new Map(
  Object.entries(FUNCTIONS).flatMap(([kind, all]) =>
    all.map((signature) => [selectorOf(signature), { kind, signature }]),
  ),
);

/** An event with three topics is of an ERC-20 token, with four of ERC-721. */
const TRANSFER = id('Transfer(address,address,uint256)');

/** Events of pairs of Uniswap v2 and v3, of the pool manager of v4, and of their forks. */
const SWAPS = new Set(
  [
    'Swap(address,uint256,uint256,uint256,uint256,address)',
    'Swap(address,address,int256,int256,uint160,uint128,int24)',
    'Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)',
  ].map(id),
);

/** Types of transactions of Ethereum. */
const [BLOBS, SET_CODE] = [3, 4];

/** What is not fitted has this before its reason. */
export const NOT_FITTED = '- ';

/** @param {ChainCall} call @param {ChainReceipt} receipt @returns {Seen} */
export function seenOf(call, receipt) {
  const bytes = call.data === null ? null : (call.data.length - 2) / 2;
  return [groupOf(call, receipt), call.type, receipt.gasUsed, bytes, receipt.logs?.length ?? 0];
}

/** @param {ChainCall} call @param {ChainReceipt} receipt @returns {string} */
function groupOf({ type, to, data, blobs }, { isSuccess, gasUsed, logs }) {
  if (type !== null && type > SET_CODE) return `${NOT_FITTED}type 0x${type.toString(16)}`;
  if (gasUsed === null) return `${NOT_FITTED}receipts do not state the gas`;
  if (data === null) return `${NOT_FITTED}the node does not show the calldata`;
  if (!isSuccess) return `${NOT_FITTED}reverted`;
  if (type === BLOBS) return `blobs ${blobs?.length ?? 1}`;
  if (type === SET_CODE) return 'setcode';
  if (to === null) return 'creation';
  const topics = (logs ?? []).map((log) => log?.topics ?? []);
  if (topics.length === 0 && data === '0x') return 'payment';
  if (topics.length === 0 && isPaymentGas(data, gasUsed)) return 'data';
  const selector = data.slice(0, 10);
  return `${kindOf(selector, topics)} ${selector}`;
}

/** @param {string} selector @param {ReadonlyArray<readonly string[]>} topics of the events */
function kindOf(selector, topics) {
  const known = BY_SELECTOR.get(selector)?.kind;
  const ofTokens = topics.filter(([topic]) => topic === TRANSFER);
  const isNft = ofTokens.length > 0 && ofTokens.every(({ length }) => length === 4);
  if (isNft && ofTokens.every(([, from]) => /^0x0*$/.test(from))) return 'mint';
  // The same functions of a collection of ERC-721 are no payments.
  if (known !== undefined && !(known === 'token' && isNft)) return known;
  if (topics.some(([topic]) => SWAPS.has(topic))) return 'swap';
  return topics.length > 0 ? 'events' : 'quiet';
}

/** Whether nothing was executed. @param {string} data @param {number} gas */
function isPaymentGas(data, gas) {
  return Object.values(intrinsicGas(data)).includes(gas);
}

/** The gas of a transaction that executes nothing, and the least one with its calldata (EIP-7623). @param {string} data */
export function intrinsicGas(data) {
  const bytes = Buffer.from(data.slice(2), 'hex');
  let tokens = bytes.length;
  for (const byte of bytes) if (byte !== 0) tokens += 3;
  return { usual: 21_000 + 4 * tokens, least: 21_000 + 10 * tokens };
}

/** @param {string} group @returns {{kind: string, selector: string, words: string}} */
export function describe(group) {
  const [kind, selector = ''] = group.split(' ');
  const { signature = selector } = BY_SELECTOR.get(selector) ?? {};
  const what = kind === 'blobs' ? '' : signature === '0x' ? 'without data' : signature.replace(/\(.*/, '()');
  return { kind, selector, words: what === '' ? KINDS[kind] : `${KINDS[kind]} ${what}` };
}
