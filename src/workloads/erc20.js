import { callOf, readArtifact, selectorOf, word } from './contract-state.js';
import { createPayments } from './payments.js';

/**
 * The workload `erc20`: payments of a few units of a token made for the run, from each wallet to a random other wallet of
 * the slice, or to one of many addresses made for the run. An operation is verified by the status of its receipt. The
 * audit adds up the balances of the token, and reads its total supply again.
 *
 * @import { TransactionWorkload } from '../contracts/workload.d.ts'
 * @import { BuiltInOptions } from './index.js'
 * @import { Asset } from './payments.js'
 */

/** What each wallet mints before the load: more than it can pay. */
const SUPPLY = 10n ** 18n;

/** Functions of contracts/Token.sol. */
const MINT = selectorOf('mint(uint256)');
const TRANSFER = selectorOf('transfer(address,uint256)');
const BALANCE_OF = selectorOf('balanceOf(address)');
const TOTAL_SUPPLY = selectorOf('totalSupply()');

/** @param {BuiltInOptions} options @returns {TransactionWorkload} */
export default function create(options) {
  const { kit, state } = options;
  const payments = createPayments(options, state?.payments);
  /** @type {string} */
  let to = state?.to ?? '';
  const value = word(payments.value);
  /** @type {Asset} */
  const asset = {
    unit: 'units',
    paysFees: false,
    balanceOf: (address) => callOf(to, BALANCE_OF + word(address)),
    receiverHas: 0n,
  };
  return {
    kind: 'transaction',
    subject: 'wallets made token payments:',
    valueWei: 0n,
    // The first wallet also deploys the token.
    gas: { perWallet: 800_000n, perOperation: 70_000n, likely: { perWallet: 80_000n, perOperation: 52_000n } },
    prepare: async ({ wallets }) => {
      payments.begin('erc20');
      to = await kit.deployOnce(readArtifact('Token'));
      const data = MINT + word(SUPPLY);
      const mints = wallets.map((_, position) => ({ position, to, data }));
      await kit.sendAll(mints, 'minting tokens');
      await payments.readBalances(asset);
    },
    next: (position, nonce) => ({ to, data: TRANSFER + word(payments.receiverOf(position, nonce)) + value }),
    verify: kit.verifyByReceipt((position, { nonce }) => payments.receiverOf(position, nonce)),
    reconcile: (snapshot) => {
      const supply = SUPPLY * BigInt(kit.addresses().length);
      return payments.reconcile(snapshot, asset, {
        name: 'supply',
        words: 'total supply that is what was minted',
        count: 1,
        entryOf: () => ({ of: 'it is', read: callOf(to, TOTAL_SUPPLY), mustBe: supply }),
      });
    },
    facts: () => ({ ...payments.facts, token: to, value: String(payments.value) }),
    handOver: () => ({ payments: payments.toState(), to }),
  };
}
