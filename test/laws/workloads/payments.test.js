/** The audit by balances, against a ledger of the test's own: what is right holds, and each fault is found. */
import assert from 'node:assert/strict';
import { before as beforeAll, beforeEach, describe, it } from 'node:test';
import { RpcError } from '../../../src/errors.js';
import { createWorkload } from '../../../src/workloads/index.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { addressOf, hash32 } from '../../helpers/samples.js';

/**
 * @import { Check, TransactionWorkload } from '../../../src/contracts/load.d.ts'
 * @import { AuditSnapshot } from '../../../src/contracts/workload.d.ts'
 * @import { Handlers } from '../../helpers/fake-rpc.js'
 */

/** The value follows from it. */
const TAG = (12_345_036).toString(16).padStart(8, '0');
const VALUE_WEI = 37n;
const GAS_PRICE_WEI = 1_000_000_007n;
const HASH = `0x${'ab'.repeat(32)}`;
const PAYERS = ['0x' + 'Aa'.repeat(20), '0x' + 'Bb'.repeat(20), '0x' + 'Cc'.repeat(20)];
const START_NONCES = [5, 0, 9];
const PAYMENTS = [40, 0, 25];

/** The ledger. @type {Map<string, bigint>} */
let balances;
/** Of each block. @type {any[][]} */
let receipts;
/** @type {bigint[]} */
let before;

/** @param {number | bigint} value */
const toHex = (value) => `0x${value.toString(16)}`;

/** @param {number} made number of receivers @param {Handlers} [handlers] */
async function paymentsOf(made, handlers = {}) {
  const rpc = fakeRpc(handlers);
  const state = { own: [], kit: { tag: TAG, first: 0, starts: [], gasLimit: 21_000n } };
  const options = /** @type {any} */ ({ rpc, settings: { receivers: made }, state, addresses: PAYERS });
  const workload = /** @type {TransactionWorkload} */ (await createWorkload('transfer', options));
  assert.equal(workload.next(0, 0).value, VALUE_WEI);
  const receiverOf = (/** @type {number} */ position, /** @type {number} */ nonce) =>
    String(workload.next(position, nonce).to);
  /** The receiver of the nth payment of the first payer. @param {number} n */
  const paidBy = (n) => receiverOf(0, START_NONCES[0] + n);
  return { ...workload, receiverOf, paidBy, made };
}

/** @typedef {Awaited<ReturnType<typeof paymentsOf>>} Payments */

/** @param {string} address @param {bigint} wei */
const add = (address, wei) => balances.set(address, (balances.get(address) ?? 0n) + wei);

/**
 * Carries out all payments on the ledger, a block for each payer.
 * @param {Payments} receivers
 */
function pay(receivers) {
  balances = new Map(PAYERS.map((address, i) => [address, 10n ** 18n + BigInt(i)]));
  before = PAYERS.map((address) => balances.get(address) ?? 0n);
  receipts = PAYERS.map((from, position) =>
    Array.from({ length: PAYMENTS[position] }, (_, i) => {
      add(receivers.receiverOf(position, START_NONCES[position] + i), VALUE_WEI);
      add(from, -VALUE_WEI - 21_000n * GAS_PRICE_WEI);
      const place = { transactionHash: hash32(`${position}:${i}`), blockNumber: toHex(101 + position) };
      const paid = { status: '0x1', gasUsed: '0x5208', effectiveGasPrice: toHex(GAS_PRICE_WEI) };
      return { ...place, from: from.toLowerCase(), ...paid };
    }),
  );
}

/** With a transaction of another sender. @param {string} number */
function blockAt(number) {
  const others = [{ from: addressOf(0), hash: hash32('of a stranger') }];
  const own = (receipts[Number(number) - 101] ?? []).map(({ from, transactionHash: hash }) => {
    return { from, hash, gasPrice: toHex(GAS_PRICE_WEI) };
  });
  return { hash: HASH, transactions: [...others, ...own] };
}

/** @param {Payments} receivers @param {{handlers?: Handlers, snapshot?: Partial<AuditSnapshot>}} [given] */
async function checksOf(receivers, { handlers = {}, snapshot = {} } = {}) {
  let isAfter = false;
  const payments = await paymentsOf(receivers.made, {
    eth_estimateGas: () => toHex(21_000),
    eth_getBlockReceipts: (number) => receipts[Number(number) - 101] ?? [],
    eth_getBlockByNumber: blockAt,
    ...handlers,
    eth_getBalance: (address, block) => {
      if (!isAfter) return toHex(before[PAYERS.indexOf(address)]);
      return handlers.eth_getBalance?.(address, block) ?? toHex(balances.get(address) ?? 0n);
    },
  });
  const { signal } = new AbortController();
  const wallets = PAYERS.map((address, i) => ({ index: i, address, nonce: START_NONCES[i] }));
  await payments.prepare(/** @type {any} */ ({ wallets, sender: { rpc: fakeRpc({}), signal }, onProgress: () => {} }));
  isAfter = true;
  const whole = /** @type {any} */ ({
    blockHash: HASH,
    blockNumber: 103,
    startBlock: 100,
    startNonces: START_NONCES,
    nonces: START_NONCES.map((nonce, i) => nonce + PAYMENTS[i]),
    executed: PAYMENTS,
    reverted: PAYERS.map(() => 0),
    undecided: PAYERS.map(() => 0),
    areOurs: true,
    signal,
    ...snapshot,
  });
  const all = (await payments.reconcile?.(whole)) ?? [];
  return Object.fromEntries(all.map((check) => [check.name, check]));
}

/** By balances. @param {Record<string, Check>} checks */
const held = ({ receipts: _, ...checks }) =>
  Object.fromEntries(Object.entries(checks).map(([name, { holds }]) => [name, holds]));

/** One operation, of the first payer, of which it is not known what became of it. */
const ONE_UNDECIDED = Object.freeze({ areOurs: false, executed: [39, 0, 25], undecided: [1, 0, 0] });

/** The nth payment of a payer is reverted. @param {Payments} receivers @param {number} position @param {number} n */
function revert(receivers, position, n) {
  receipts[position][n].status = '0x0';
  add(receivers.receiverOf(position, START_NONCES[position] + n), -VALUE_WEI);
  add(PAYERS[position], VALUE_WEI);
}

describe('payments to receivers that were made', () => {
  /** @type {Payments} */
  let receivers;
  beforeAll(async () => void (receivers = await paymentsOf(30)));
  beforeEach(() => pay(receivers));

  it('all is right: each wallet and each receiver', async () => {
    const checks = await checksOf(receivers);
    assert.deepEqual(held(checks), { wallets: true, receivers: true });
    assert.deepEqual([checks.wallets.found, checks.receivers.found], ['3', '30']);
  });

  it('a receiver that another sender paid is found, and named', async () => {
    const address = receivers.paidBy(17);
    const mustBe = balances.get(address) ?? 0n;
    add(address, 1n);
    const checks = await checksOf(receivers);
    assert.deepEqual(held(checks), { wallets: true, receivers: false });
    assert.equal(checks.receivers.found, `29 (${address} has ${mustBe + 1n} wei, not ${mustBe} wei)`);
    assert.equal(checks.receivers.expected, '30');
  });

  it('what a payer lost beside payments and fees is found; the data fee of a rollup is a fee', async () => {
    add(PAYERS[0], -100n);
    const checks = await checksOf(receivers);
    assert.deepEqual(held(checks), { wallets: false, receivers: true });
    assert.match(String(checks.wallets.found), new RegExp(`^2 \\(${PAYERS[0]} has `));
    receipts[0][0].l1Fee = '0x64';
    assert.deepEqual(held(await checksOf(receivers)), { wallets: true, receivers: true });
  });

  it('what a funder paid the wallets is theirs; while that is not known, nothing is said of their balances', async () => {
    add(PAYERS[1], 500n);
    assert.deepEqual(held(await checksOf(receivers)), { wallets: false, receivers: true });
    const paid = { wei: [0n, 500n, 0n] };
    assert.deepEqual(held(await checksOf(receivers, { snapshot: { paid } })), { wallets: true, receivers: true });
    const { wallets } = await checksOf(receivers, { snapshot: { paid: { why: 'unknown' } } });
    assert.deepEqual([wallets.holds, wallets.why], [null, 'unknown']);
  });

  it('a node whose receipts state another price: what was paid follows from the blocks', async () => {
    for (const receipt of receipts.flat()) receipt.effectiveGasPrice = '0x1';
    const checks = await checksOf(receivers);
    assert.deepEqual(held(checks), { wallets: true, receivers: true });
    assert.match(checks.wallets.words, /, at the base fee of the block plus the tip/);
  });

  it('a node that charges the base fee of the block before, and states the next one', async () => {
    const baseFees = new Map([100, 101, 102, 103].map((number) => [number, BigInt(1_000_000_000 - number)]));
    const tipWei = 7n;
    for (const [position, ofBlock] of receipts.entries())
      for (const receipt of ofBlock) {
        receipt.effectiveGasPrice = toHex((baseFees.get(101 + position) ?? 0n) + tipWei);
        add(PAYERS[position], 21_000n * (GAS_PRICE_WEI - (baseFees.get(100 + position) ?? 0n) - tipWei));
      }
    const eth_getBlockByNumber = (/** @type {string} */ number) => {
      const { hash, transactions } = blockAt(number);
      const offer = { maxFeePerGas: toHex(2n * GAS_PRICE_WEI), maxPriorityFeePerGas: toHex(tipWei) };
      const fees = {
        number,
        gasUsed: '0x0',
        gasLimit: '0x0',
        baseFeePerGas: toHex(baseFees.get(Number(number)) ?? 0n),
      };
      return { hash, ...fees, transactions: transactions.map((one) => ({ ...one, ...offer })) };
    };
    const checks = await checksOf(receivers, { handlers: { eth_getBlockByNumber } });
    assert.deepEqual(held(checks), { wallets: true, receivers: true });
    assert.match(checks.wallets.words, /, at the base fee of the block before plus the tip/);
  });

  it('while it is not known what became of some, nothing is said of balances', async () => {
    const checks = await checksOf(receivers, { snapshot: ONE_UNDECIDED });
    assert.deepEqual(held(checks), { wallets: null, receivers: null });
    assert.deepEqual([checks.receipts.holds, checks.receipts.why], [null, checks.receivers.why]);
    assert.match(String(checks.receivers.why), /not known/);
  });

  it('a node without receipts of whole blocks is asked for those of its transactions; without any, nothing is known', async () => {
    const missing = (/** @type {string} */ method) => () => {
      throw new RpcError(method, -32601, 'the method does not exist');
    };
    const one = (/** @type {string} */ hash) => receipts.flat().find(({ transactionHash }) => transactionHash === hash);
    const handlers = {
      eth_getBlockReceipts: missing('eth_getBlockReceipts'),
      eth_getTransactionReceipt: one,
    };
    const checks = await checksOf(receivers, { handlers });
    assert.deepEqual(held(checks), { wallets: true, receivers: true });
    assert.equal(checks.receipts.found, '65');
    const none = await checksOf(receivers, {
      handlers: { ...handlers, eth_getTransactionReceipt: missing('eth_getTransactionReceipt') },
    });
    assert.deepEqual(held(none), { wallets: null, receivers: null });
    for (const { why } of Object.values(none))
      assert.match(String(why), /could not be read: eth_getTransactionReceipt: the method does not exist/);
    receipts[2] = [];
    const few = await checksOf(receivers);
    assert.deepEqual([few.wallets.holds, few.receipts.holds], [null, null]);
    assert.equal(few.wallets.why, 'the node has the receipts of 40 of 65 transactions');
  });

  it('reverted payments that the run knows of have paid no receiver, and every check holds', async () => {
    revert(receivers, 0, 3);
    revert(receivers, 2, 0);
    const snapshot = { areOurs: false, executed: [39, 0, 24], reverted: [1, 0, 1] };
    const checks = await checksOf(receivers, { snapshot });
    assert.deepEqual(held(checks), { wallets: true, receivers: true });
    assert.deepEqual([checks.receipts.found, checks.receipts.holds], ['63', true]);
  });

  it('reverted payments that the run counts as verified are found, and the wallet is named', async () => {
    revert(receivers, 2, 7);
    const checks = await checksOf(receivers);
    const { expected, found, holds } = checks.receipts;
    assert.deepEqual([expected, found, holds], ['65', `64 (${PAYERS[2]} has 24, not 25)`, false]);
  });

  it('a node that has forgotten the block, or does not know EIP-1898, is asked in another way', async () => {
    /** @type {unknown[]} */
    const asked = [];
    /** @param {string} address @param {unknown} block */
    const eth_getBalance = (address, block) => {
      asked.push(block);
      if (block !== 'latest') throw new RpcError('eth_getBalance', -32000, 'missing trie node');
      return toHex(balances.get(address) ?? 0n);
    };
    const checks = await checksOf(receivers, { handlers: { eth_getBalance } });
    assert.deepEqual(held(checks), { wallets: true, receivers: true });
    assert.deepEqual(asked[0], { blockHash: HASH });
    assert.ok(asked.includes('0x67'));
  });

  it('a block that left the chain meanwhile says nothing against the run', async () => {
    add(receivers.paidBy(3), 1n);
    const checks = await checksOf(receivers, {
      handlers: { eth_getBlockByNumber: () => ({ hash: hash32('other'), transactions: [] }) },
    });
    assert.deepEqual(held(checks), { wallets: null, receivers: null });
    assert.match(String(checks.wallets.why), /block 103 left the chain/);
  });

  it('the balances of more than 100,000 receivers are not read', async () => {
    const many = await paymentsOf(100_001);
    pay(many);
    assert.deepEqual(held(await checksOf(many)), { wallets: true });
    add(PAYERS[1], -1n);
    assert.deepEqual(held(await checksOf(many)), { wallets: false });
  });
});
