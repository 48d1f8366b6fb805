import { callOf, readArtifact, selectorOf, word } from './contract-state.js';

/**
 * The workload `swap`: each operation swaps an amount of one token for the other one, in a constant-product pool made for
 * the run (contracts/Pool.sol). The audit carries out all successful swaps again, in the order of the chain, and compares
 * the reserves of the pool and what the wallets have.
 *
 * @import { TransactionWorkload } from '../contracts/workload.d.ts'
 * @import { BuiltInOptions } from './index.js'
 */

/** Functions of contracts/Pool.sol. */
const MINT = selectorOf('mint(uint256)');
const SWAP = selectorOf('swap(uint256,uint256,uint256)');
const RESERVES = selectorOf('reserves(uint256)');
const BALANCES = selectorOf('balances(address,uint256)');

/** The first reserve of each token, and what each wallet mints of it: more than it can pay. */
const RESERVE = 10n ** 24n;
const SUPPLY = 10n ** 32n;

/** @param {bigint} amount paid in @param {bigint} reserveIn @param {bigint} reserveOut @returns {bigint} what is taken out */
export function quote(amount, reserveIn, reserveOut) {
  const paid = amount * 997n;
  return (paid * reserveOut) / (reserveIn * 1000n + paid);
}

/** @param {BuiltInOptions} options @returns {TransactionWorkload} */
export default function create({ kit, set, state }) {
  let { to, gasLimit } = state ?? { to: '', gasLimit: 0n };
  const amount = (RESERVE / 1_000_000n) * BigInt(set.amount);
  // Both reserves are equal at first, so that the price is the same in both directions.
  const least = (quote(amount, RESERVE, RESERVE) * BigInt(10_000 - set.slippage)) / 10_000n;
  // One object for each direction.
  const callsOf = () =>
    [0, 1].map((token) => ({ to, data: SWAP + word(token) + word(amount) + word(least) + kit.tag, gasLimit }));
  let calls = callsOf();
  /**
   * The token that is paid in, 0 or 1. Of two nonces of a wallet (2n and 2n + 1) one pays in each, so that the price stays
   * near the first one however long the run is.
   * @param {number} position
   * @param {number} nonce
   */
  const tokenOf = (position, nonce) => (kit.draw(position, Math.floor(nonce / 2)) ^ nonce) & 1;
  return {
    kind: 'transaction',
    subject: 'wallets swapped tokens:',
    valueWei: 0n,
    // The first wallet also deploys the pool.
    gas: { perWallet: 900_000n, perOperation: 80_000n, likely: { perWallet: 100_000n, perOperation: 50_000n } },
    prepare: async ({ wallets }) => {
      to = await kit.deployOnce(readArtifact('Pool'), RESERVE);
      const data = MINT + word(SUPPLY);
      const mints = wallets.map((_, position) => ({ position, to, data }));
      await kit.sendAll(mints, 'minting tokens');
      gasLimit = await kit.estimateGas({ from: wallets[0].address, to, data: callsOf()[0].data });
      calls = callsOf();
    },
    next: (position, nonce) => calls[tokenOf(position, nonce)],
    // The pool reverts with gas left in one case only, slippage: any other failure uses up the limit.
    verify: kit.verifyByReceipt(
      () => null,
      ({ gasUsed }) => (gasUsed && BigInt(gasUsed) < gasLimit ? 'slippage' : 'reverted'),
    ),
    reconcile: async (snapshot) => {
      const wallets = kit.addresses();
      const reserves = [RESERVE, RESERVE];
      const balances = wallets.map(() => [SUPPLY, SUPPLY]);
      const { check, compare } = await kit.checkReceipts(snapshot, (position, nonce, receipt) => {
        if (!receipt.succeeded) return;
        const token = tokenOf(position, nonce);
        const taken = quote(amount, reserves[token], reserves[1 - token]);
        reserves[token] += amount;
        reserves[1 - token] -= taken;
        balances[position][token] -= amount;
        balances[position][1 - token] += taken;
      });
      return [
        check,
        await compare({
          name: 'reserves',
          words: 'reserves of the pool that are what the swaps have left',
          count: 2,
          entryOf: (i) => {
            const read = callOf(to, RESERVES + word(i));
            return { of: `the reserve of token ${i} is`, read, mustBe: reserves[i] };
          },
        }),
        await compare({
          name: 'wallets',
          words: 'balances of wallets, of both tokens, that are what their swaps have left',
          count: 2 * wallets.length,
          entryOf: (i) => {
            const [position, token] = [i >> 1, i & 1];
            const read = callOf(to, BALANCES + word(wallets[position]) + word(token));
            return { of: `${wallets[position]} has of token ${token}`, read, mustBe: balances[position][token] };
          },
        }),
      ];
    },
    facts: () => ({ pool: to, amount: String(amount), least: String(least) }),
    handOver: () => ({ to, gasLimit }),
  };
}
