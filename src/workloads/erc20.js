import { callOf, readArtifact, stateCheck, word } from './contract-state.js';
import { Payments } from './payments.js';

/**
 * The workload `erc20`: payments of a few units of a token made for the run, from each wallet to a random other wallet of
 * the slice, or to one of many addresses made for the run. An operation is verified by the status of its receipt. The
 * audit adds up the balances of the token, and reads its total supply again.
 *
 * @import { TransactionWorkload } from './contract.d.ts'
 * @import { BuiltInOptions } from './index.js'
 * @import { Asset, PaymentsState } from './payments.js'
 *
 * @typedef {{payments: PaymentsState, token: string, gasLimit: bigint}} Erc20State for a worker thread
 */

/** What each wallet mints before the load: more than it can pay. */
const SUPPLY = 10n ** 18n;

/** Function selectors of contracts/Token.sol. */
const MINT = '0xa0712d68';
const TRANSFER = '0xa9059cbb';
const BALANCE_OF = '0x70a08231';
const TOTAL_SUPPLY = '0x18160ddd';

/** @param {BuiltInOptions} options @returns {TransactionWorkload} */
export function createErc20(options) {
  const { kit, rpc } = options;
  const state = /** @type {Erc20State | undefined} */ (options.state);
  const payments = new Payments(options, state?.payments);
  let token = state?.token ?? '';
  let gasLimit = state?.gasLimit ?? 0n;
  const value = word(payments.value);
  /** @type {Asset} */
  const asset = {
    unit: 'units',
    paysFees: false,
    balanceOf: (address, block) => callOf(token, BALANCE_OF + word(address), block),
    receiverHas: 0n,
  };
  /** @param {number} position @param {number} nonce */
  const next = (position, nonce) => {
    const data = TRANSFER + word(payments.receiverOf(position, nonce)) + value;
    return { to: token, data, value: 0n, gasLimit };
  };
  return {
    kind: 'transaction',
    subject: 'wallets made token payments:',
    valueWei: 0n,
    // The first wallet also deploys the token.
    gas: {
      perWallet: 800_000n,
      perOperation: 70_000n,
      likely: { perWallet: 80_000n, perOperation: 52_000n },
    },
    async prepare({ wallets }) {
      payments.begin(wallets, 'erc20');
      const to = await kit.deployOnce(readArtifact('Token'));
      token = to;
      await kit.sendAll(
        wallets.map((_, position) => ({ position, to, data: MINT + word(SUPPLY) })),
        'minting tokens',
      );
      await payments.readBalances(asset);
      gasLimit = await kit.estimateGas({ from: wallets[0].address, ...next(0, wallets[0].nonce) });
    },
    next,
    verify: kit.verifyByReceipt((position, { nonce }) => payments.receiverOf(position, nonce)),
    reconcile: async (snapshot) => {
      const supply = await stateCheck(
        { rpc, snapshot, signal: snapshot.signal, why: null },
        {
          name: 'supply',
          words: 'units of the token in total, against what was minted',
          count: 1,
          entryOf: () => ({ key: token, mustBe: BigInt(snapshot.nonces.length) * SUPPLY }),
          requestOf: (_, block) => callOf(token, TOTAL_SUPPLY, block),
        },
      );
      return [...(await payments.reconcile(snapshot, asset)), supply];
    },
    facts: () => ({ ...payments.facts, token, value: String(payments.value) }),
    handOver: (first) => ({ payments: payments.toState(first), token, gasLimit }),
  };
}
