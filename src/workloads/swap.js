import { toBigInt } from '../chain/rpc.js';
import { callOf, readArtifact, selectorOf, stateCheck, word } from './contract-state.js';
import { drawBits } from './payments.js';
import { isSuccess } from './receipts.js';

/**
 * The workload `swap`: each operation swaps an amount of one token for the other one, in a constant-product pool made for
 * the run (contracts/Pool.sol). The audit carries out all successful swaps again, in the order of the chain, and compares
 * the reserves of the pool and what the wallets have.
 *
 * @import { TransactionWorkload } from './contract.d.ts'
 * @import { Reading } from './contract-state.js'
 * @import { BuiltInOptions } from './index.js'
 *
 * @typedef {{first: number, to: string, gasLimit: bigint}} SwapState for a worker thread; first: position of its first
 *   wallet in the slice
 */

/** Functions of contracts/Pool.sol. */
const MINT = selectorOf('mint(uint256)');
const SWAP = selectorOf('swap(uint256,uint256,uint256)');
const RESERVES = selectorOf('reserves(uint256)');
const BALANCES = selectorOf('balances(address,uint256)');
const PRODUCT = selectorOf('product()');

/** Of each token, the first reserve, and what each wallet mints: more than it can pay. */
const RESERVE = 10n ** 24n;
const SUPPLY = 10n ** 32n;

/** @param {bigint} amount paid in @param {bigint} reserveIn @param {bigint} reserveOut @returns {bigint} what is taken out */
export function quote(amount, reserveIn, reserveOut) {
  const paid = amount * 997n;
  return (paid * reserveOut) / (reserveIn * 1000n + paid);
}

/**
 * The token that is paid in, 0 or 1. Of two nonces of a wallet (2n and 2n + 1) one pays in each, so that the price stays
 * near the first one however long the run is.
 * @param {string} tag of the run
 * @param {number} position in the slice
 * @param {number} nonce
 */
export function tokenOf(tag, position, nonce) {
  return (drawBits(Number.parseInt(tag, 16), position, Math.floor(nonce / 2)) ^ nonce) & 1;
}

/** @param {BuiltInOptions} options @returns {TransactionWorkload} */
export function createSwap({ kit, rpc, set, state: given }) {
  const state = /** @type {SwapState} */ (given ?? { first: 0, to: '', gasLimit: 0n });
  const amount = (RESERVE / 1_000_000n) * BigInt(set.amount);
  // Both reserves are equal at first, so that the price is the same in both directions.
  const least = (quote(amount, RESERVE, RESERVE) * BigInt(10_000 - set.slippage)) / 10_000n;
  /** @type {string[]} */
  let addresses = [];
  // One object for each direction.
  const callsOf = () =>
    [0, 1].map((token) => {
      const data = SWAP + word(token) + word(amount) + word(least) + kit.tag;
      return { to: state.to, data, value: 0n, gasLimit: state.gasLimit };
    });
  let calls = callsOf();
  return {
    kind: 'transaction',
    subject: 'wallets swapped tokens:',
    valueWei: 0n,
    // The first wallet also deploys the pool.
    gas: { perWallet: 900_000n, perOperation: 80_000n, likely: { perWallet: 100_000n, perOperation: 50_000n } },
    prepare: async ({ wallets }) => {
      addresses = wallets.map(({ address }) => address);
      const to = await kit.deployOnce(readArtifact('Pool'), RESERVE);
      const data = MINT + word(SUPPLY);
      await kit.sendAll(
        wallets.map((_, position) => ({ position, to, data })),
        'minting tokens',
      );
      state.to = to;
      state.gasLimit = await kit.estimateGas({ from: addresses[0], ...callsOf()[0] });
      calls = callsOf();
    },
    next: (position, nonce) => calls[tokenOf(kit.tag, state.first + position, nonce)],
    // The pool reverts with gas left in one case only, slippage: any other failure uses up the limit.
    verify: kit.verifyByReceipt(
      () => null,
      ({ gasUsed }) => (toBigInt(gasUsed) < state.gasLimit ? 'slippage' : 'reverted'),
    ),
    reconcile: async (snapshot) => {
      const reserves = [RESERVE, RESERVE];
      const balances = addresses.map(() => [SUPPLY, SUPPLY]);
      const { check, ...receipts } = await kit.checkReceipts(snapshot, (position, nonce, receipt) => {
        if (!isSuccess(receipt)) return;
        const token = tokenOf(kit.tag, position, nonce);
        const taken = quote(amount, reserves[token], reserves[1 - token]);
        reserves[token] += amount;
        reserves[1 - token] -= taken;
        balances[position][token] -= amount;
        balances[position][1 - token] += taken;
      });
      const left = { to: state.to, addresses, reserves, balances };
      return [check, ...(await poolChecks({ ...receipts, rpc, snapshot }, left))];
    },
    facts: () => ({ pool: state.to, amount: String(amount), least: String(least) }),
    handOver: (first) => ({ ...state, first }),
  };
}

/**
 * @param {Reading} reading
 * @param {{to: string, addresses: readonly string[], reserves: readonly bigint[], balances: readonly bigint[][]}} left by
 *   the swaps
 */
async function poolChecks(reading, { to, addresses, reserves, balances }) {
  return [
    await stateCheck(reading, {
      name: 'reserves',
      words: 'reserves of the pool that are what the swaps have left',
      count: 2,
      entryOf: (i) => ({ key: word(i), mustBe: reserves[i] }),
      requestOf: ([{ key }], block) => callOf(to, RESERVES + key, block),
      faultOf: ({ key, mustBe }, found) => `the reserve of token ${Number(key)} is ${found}, not ${mustBe}`,
    }),
    await stateCheck(reading, {
      name: 'invariant',
      words: 'pools whose product of reserves has not become smaller',
      count: 1,
      entryOf: () => ({ key: to, mustBe: RESERVE * RESERVE }),
      requestOf: (_, block) => callOf(to, PRODUCT, block),
      agrees: (found, mustBe) => found >= mustBe,
      faultOf: ({ mustBe }, found) => `it is ${found}, less than ${mustBe}`,
    }),
    await stateCheck(reading, {
      name: 'wallets',
      words: 'balances of wallets, of both tokens, that are what their swaps have left',
      count: 2 * addresses.length,
      entryOf: (i) => {
        const [position, token] = [i >> 1, i & 1];
        const of = `${addresses[position]} has of token ${token}`;
        return { key: word(addresses[position]) + word(token), mustBe: balances[position][token], of };
      },
      requestOf: ([{ key }], block) => callOf(to, BALANCES + key, block),
      faultOf: ({ of, mustBe }, found) => `${of} ${found}, not ${mustBe}`,
    }),
  ];
}
