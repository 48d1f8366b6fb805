/** The payments of `stress fund` to more wallets than are in memory at a time. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createFees } from '../../../src/chain/fees.js';
import { Wallet } from '../../../src/chain/keys.js';
import { toHex } from '../../../src/chain/rpc.js';
import { emptyAccount, fundAll } from '../../../src/core/funds.js';
import { createFakeClock } from '../../helpers/clock.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { addressOf } from '../../helpers/samples.js';

const ETHER = 10n ** 18n;

/** Every wallet gets one ether. @param {number} threads @param {bigint} balanceWei of the funder */
function paymentsTo(threads, balanceWei) {
  const walletOf = (/** @type {number} */ index) => {
    const wallet = Wallet.withoutKey(index);
    wallet.address = addressOf(1 + index);
    return wallet;
  };
  const funder = walletOf(99_999);
  funder.signOnce = ({ nonce }) => ({ raw: `0x${nonce}`, hash: `0x${nonce}` });
  const rpc = fakeRpc({
    eth_getBalance: (address) => (address === funder.address ? toHex(balanceWei) : '0x0'),
    eth_getTransactionCount: () => toHex(funder.nonce),
    eth_getBlockByNumber: () => ({ number: '0x1' }),
    eth_estimateGas: () => '0x1',
    eth_sendRawTransaction: (raw) => raw,
    eth_getTransactionReceipt: (transactionHash) => ({ transactionHash, status: '0x1', blockNumber: '0x1' }),
  });
  const fees = createFees({ baseFeeWei: null, tipWei: 1n, legacy: true, maxFeeWei: null });
  const { signal } = new AbortController();
  /** @type {number[]} */
  const progress = [];
  const tools = /** @type {Parameters<typeof fundAll>[0]} */ (
    /** @type {unknown} */ ({
      all: { offset: 0, threads },
      source: { wallet: walletOf },
      sender: { rpc, clock: createFakeClock(), signal, fees, timeoutMs: 1000, chainId: 1, signer: null },
      onProgress: (/** @type {string} */ label, /** @type {number} */ done) =>
        void (label === 'funding wallets' && progress.push(done)),
      funder,
      needWei: ETHER,
    })
  );
  const account = emptyAccount();
  return { account, progress, rpc, pay: () => fundAll(tools, account, () => {}) };
}

it('all parts are paid, and progress goes on from part to part', async () => {
  const { account, progress, pay } = paymentsTo(5001, 5002n * ETHER);
  await pay();
  assert.deepEqual(account, { wallets: 5001, transactions: 26, wei: 5001n * ETHER });
  assert.deepEqual(progress, [5000, 5001]);
});

it('a funder that can pay the first part only pays nothing', async () => {
  const { rpc, pay } = paymentsTo(5001, 5001n * ETHER - 1n);
  await assert.rejects(pay(), /^UnavailableError: the funder .* the payments need 5001\./);
  assert.equal(rpc.count('eth_sendRawTransaction'), 0);
});
