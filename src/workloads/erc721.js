import {
  MAX_READ,
  PER_CALL,
  callOf,
  callOfKeys,
  readArtifact,
  selectorOf,
  stateCheck,
  word,
} from './contract-state.js';
import { isSuccess } from './receipts.js';

/**
 * The workload `erc721`: each operation mints a token of a contract made for the run. The audit reads the balance of each
 * wallet, the total supply, and the owner of each token.
 *
 * @import { TransactionWorkload } from './contract.d.ts'
 * @import { Entry } from './contract-state.js'
 * @import { BuiltInOptions } from './index.js'
 *
 * @typedef {{first: number, to: string, gasLimit: bigint}} Erc721State for a worker thread; first: position of its first
 *   wallet in the slice
 */

/** Functions of contracts/Nft.sol. */
const MINT = selectorOf('mint(uint256)');
const OWNERS_OF = selectorOf('ownersOf(uint256[])');
const BALANCE_OF = selectorOf('balanceOf(address)');
const TOTAL_SUPPLY = selectorOf('totalSupply()');

/** @param {number} position in the slice @param {number} nonce */
export function tokenId(position, nonce) {
  return (BigInt(position) << 64n) + BigInt(nonce);
}

/** @param {BuiltInOptions} options @returns {TransactionWorkload} */
export function createErc721({ kit, rpc, state: given }) {
  const state = /** @type {Erc721State} */ (given ?? { first: 0, to: '', gasLimit: 0n });
  /** @type {string[]} */
  let addresses = [];
  /** @param {number} position @param {number} nonce */
  const next = (position, nonce) => {
    const data = MINT + word(tokenId(state.first + position, nonce));
    return { to: state.to, data, value: 0n, gasLimit: state.gasLimit };
  };
  return {
    kind: 'transaction',
    subject: 'wallets minted tokens:',
    valueWei: 0n,
    // The first wallet deploys the contract. The first token of a wallet costs most.
    gas: { perWallet: 600_000n, perOperation: 130_000n, likely: { perWallet: 600_000n, perOperation: 60_000n } },
    unprepared: async () => 1,
    prepare: async ({ wallets }) => {
      addresses = wallets.map(({ address }) => address);
      state.to = await kit.deployOnce(readArtifact('Nft'));
      const [{ address, nonce }] = wallets;
      state.gasLimit = await kit.estimateGas({ from: address, ...next(0, nonce) });
    },
    next,
    reconcile: async (snapshot) => {
      const { to } = state;
      const minted = addresses.map(() => 0);
      /** @type {{position: number, nonce: number}[]} */
      const tokens = [];
      const { check, ...receipts } = await kit.checkReceipts(snapshot, (position, nonce, receipt) => {
        if (!isSuccess(receipt)) return;
        minted[position] += 1;
        if (tokens.length < MAX_READ) tokens.push({ position, nonce });
      });
      const reading = { ...receipts, rpc, snapshot };
      const total = minted.reduce((sum, count) => sum + count, 0);
      return [
        check,
        await stateCheck(reading, {
          name: 'supply',
          words: 'tokens in total, against those that were minted',
          count: 1,
          entryOf: () => ({ key: to, mustBe: BigInt(total) }),
          requestOf: (_, block) => callOf(to, TOTAL_SUPPLY, block),
        }),
        await stateCheck(reading, {
          name: 'wallets',
          words: 'wallets that have as many tokens as they minted',
          count: minted.length,
          entryOf: (i) => ({ key: addresses[i], mustBe: BigInt(minted[i]) }),
          requestOf: ([{ key }], block) => callOf(to, BALANCE_OF + word(key), block),
          faultOf: ({ key, mustBe }, found) => `${key} has ${found} tokens, not ${mustBe}`,
        }),
        await stateCheck(reading, {
          name: 'owners',
          words: `of ${tokens.length} tokens, those that belong to the wallet that minted them`,
          count: tokens.length,
          perCall: PER_CALL,
          entryOf: (i) => ownerEntry(tokens[i], addresses),
          requestOf: (part, block) => callOfKeys(to, OWNERS_OF, part, block),
          faultOf: ({ key, mustBe }, found) =>
            `token 0x${BigInt(`0x${key}`).toString(16)} belongs to ${addressOf(found)}, not ${addressOf(mustBe)}`,
        }),
      ];
    },
    facts: () => ({ token: state.to }),
    handOver: (first) => ({ ...state, first }),
  };
}

/** @param {{position: number, nonce: number}} token @param {readonly string[]} addresses @returns {Entry} */
function ownerEntry({ position, nonce }, addresses) {
  return { key: word(tokenId(position, nonce)), mustBe: BigInt(addresses[position]) };
}

/** @param {bigint} value */
function addressOf(value) {
  return `0x${value.toString(16).padStart(40, '0')}`;
}
