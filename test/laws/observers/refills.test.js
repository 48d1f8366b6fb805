import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { AbiCoder } from 'ethers';
import { toHex } from '../../../src/chain/answers.js';
import { createFees, maxPriceWei } from '../../../src/chain/fees.js';
import { planPayments } from '../../../src/chain/funding.js';
import { Wallet } from '../../../src/chain/keys.js';
import { RpcError, TransportError } from '../../../src/errors.js';
import { Refills, refills as row } from '../../../src/observers/refills/index.js';
import { Refiller } from '../../../src/observers/refills/refiller.js';
import { recordedControl } from '../../helpers/control.js';
import { createFakeClock } from '../../helpers/clock.js';
import { equalBy } from '../../helpers/equal-by.js';
import { fails, fakeRpc } from '../../helpers/fake-rpc.js';
import { hash32 } from '../../helpers/samples.js';

/** @import { Fee } from '../../../src/contracts/chain.d.ts' */

const ETHER = 10n ** 18n;
const GWEI = 10n ** 9n;
const FUNDER = `0x${'f'.repeat(40)}`;
const { bytecode } = JSON.parse(
  readFileSync(new URL('../../../contracts/artifacts/Disperse.json', import.meta.url), 'utf8'),
);
const GAS_PER_PAYMENT = 40_000;
const noAnswer = new AbortController().signal;

/** @param {number} i */
const addressOf = (i) => `0x${(i + 1).toString(16).padStart(40, '0')}`;

/**
 * A chain with a block a second, which executes what the funder sends if its offer reaches the base fee.
 * @param {{balances: bigint[], funderWei?: bigint, capWei?: bigint, blockGasLimit?: number, ahead?: any[], maxBaseFeeWei?: bigint | null}} options capWei: what the load grants;
 *   ahead: endpoints before that of the chain
 */
function world({
  balances: given,
  funderWei = 1000n * ETHER,
  capWei = ETHER,
  blockGasLimit = 30_000_000,
  ahead = [],
  maxBaseFeeWei = null,
}) {
  const clock = createFakeClock();
  const balances = new Map(given.map((wei, i) => [addressOf(i), wei]));
  balances.set(FUNDER, funderWei);
  const state = {
    baseFeeWei: 1n * GWEI,
    head: 1,
    nonce: 0,
    chargedWei: 0n,
    isMining: true,
    hasReceipts: true,
    refusal: '',
  };
  /** By nonce. @type {Map<number, any>} */
  const pool = new Map();
  /** @type {Map<string, any>} */
  const receipts = new Map();
  /** @type {any[]} */
  const sent = [];
  const move = (/** @type {string} */ address, /** @type {bigint} */ wei) =>
    balances.set(address, (balances.get(address) ?? 0n) + wei);
  /** @param {any} call @returns {[string[], bigint[]]} */
  const paymentsIn = ({ data }) => {
    if (!data.startsWith(bytecode)) return [[], []];
    const [to, wei] = AbiCoder.defaultAbiCoder().decode(['address[]', 'uint256[]'], `0x${data.slice(bytecode.length)}`);
    return [to.map((/** @type {string} */ one) => one.toLowerCase()), [...wei]];
  };
  const gasOf = (/** @type {any} */ call) => 21_000 + GAS_PER_PAYMENT * paymentsIn(call)[0].length;
  const mine = () => {
    state.head += 1;
    for (let next = pool.get(state.nonce); next !== undefined; next = pool.get(state.nonce)) {
      if (next.priceWei < state.baseFeeWei) return;
      pool.delete(state.nonce);
      state.nonce += 1;
      const [to, wei] = paymentsIn(next.call);
      to.forEach((address, i) => move(address, wei[i]));
      const gasUsed = gasOf(next.call);
      move(FUNDER, 0n - (next.call.value + BigInt(gasUsed) * state.baseFeeWei));
      receipts.set(next.hash, {
        ...{ transactionHash: next.hash, blockNumber: toHex(state.head), status: '0x1' },
        ...{ gasUsed: toHex(gasUsed), effectiveGasPrice: toHex(state.baseFeeWei) },
      });
    }
  };
  const tick = () => {
    if (state.isMining) mine();
    clock.after(tick, 1000);
  };
  clock.after(tick, 1000);
  const pendingNonce = () => {
    let next = state.nonce;
    while (pool.has(next)) next += 1;
    return next;
  };
  const rpc = fakeRpc({
    eth_blockNumber: () => toHex(state.head),
    eth_getBlockByNumber: (at) => {
      const number = at === 'latest' ? state.head : Number(at);
      return {
        ...{
          number: toHex(number),
          hash: hash32(number),
          transactions: [],
          gasUsed: '0x0',
          gasLimit: toHex(30_000_000),
        },
        ...{ baseFeePerGas: toHex(state.baseFeeWei), timestamp: '0x1' },
      };
    },
    eth_getBalance: (address) => toHex(balances.get(address.toLowerCase()) ?? 0n),
    eth_getTransactionCount: (_, tag) => toHex(tag === 'pending' ? pendingNonce() : state.nonce),
    eth_estimateGas: (call) => {
      const gas = gasOf(call);
      if (gas > blockGasLimit) throw new RpcError('eth_estimateGas', -32000, 'gas required exceeds allowance');
      return toHex(gas);
    },
    eth_sendRawTransaction: (raw) => {
      if (state.refusal !== '') throw new RpcError('eth_sendRawTransaction', -32000, state.refusal);
      const one = sent[Number(raw)];
      const other = pool.get(one.nonce);
      if (other !== undefined && one.priceWei * 10n < other.priceWei * 11n)
        throw new RpcError('eth_sendRawTransaction', -32000, 'replacement transaction underpriced');
      pool.set(one.nonce, one);
      return one.hash;
    },
    eth_getTransactionByHash: (hash) => {
      const one = [...pool.values()].find((pooled) => pooled.hash === hash);
      return one === undefined ? null : { hash, nonce: toHex(one.nonce), from: FUNDER, blockNumber: null };
    },
    eth_getTransactionReceipt: (hash) => (state.hasReceipts && receipts.get(hash)) || null,
    txpool_status: () => ({ pending: '0x0', queued: '0x0' }),
  });
  const funder = new Wallet(-1, `0x${'1'.repeat(64)}`, FUNDER);
  funder.signOnce = ({ nonce, fee, call }) => {
    const hash = hash32(1000 + sent.length);
    sent.push({ hash, nonce, call, priceWei: maxPriceWei(/** @type {Fee} */ (fee)) });
    return { raw: String(sent.length - 1), hash };
  };
  /** @type {string[]} */
  const warnings = [];
  const [over, ending] = [new AbortController(), new AbortController()];
  const fees = createFees({ baseFeeWei: GWEI, tipWei: 1n, legacy: false, maxFeeWei: null });
  const sender = /** @type {any} */ ({
    ...{ rpc, clock, fees, chainId: 1, signer: {}, blockGasLimit, timeoutMs: 20_000, signal: over.signal },
  });
  const refiller = new Refiller({
    ...{ sender, rpcs: [...ahead, rpc], funder, addresses: given.map((_, i) => addressOf(i)) },
    ...{ belowWei: ETHER, amountWei: 3n * ETHER, perOperation: { gas: 1_000_000n, valueWei: 0n }, inFlight: 1 },
    ...{ maxBaseFeeWei, ending: ending.signal, warn: (kind, words) => warnings.push(`${kind}: ${words}`) },
    charge: async (wei) => {
      if (wei > 0n && state.chargedWei + wei > capWei) return false;
      state.chargedWei += wei;
      return true;
    },
  });
  /** @template T @param {Promise<T>} action @param {number} [ms] */
  const during = async (action, ms = 60_000) => {
    let isOver = false;
    const done = action.finally(() => (isOver = true));
    for (let past = 0; past < ms && !isOver; past += 100) await clock.advance(100);
    return done;
  };
  return {
    refiller,
    during,
    round: () => during(refiller.round()),
    clock,
    rpc,
    state,
    sent,
    pool,
    funder,
    sender,
    warnings,
    over,
    ending,
    balances,
  };
}

describe('a refill', () => {
  it('tops up the wallets below the threshold, and no others', async () => {
    const { refiller, round, balances, state, warnings } = world({ balances: [ETHER - 1n, ETHER, 0n, 5n * ETHER] });
    assert.equal(await round(), 5000);
    for (const [i, ether] of [3n, 1n, 3n, 5n].entries()) assert.equal(balances.get(addressOf(i)), ether * ETHER);
    const gasWei = BigInt(21_000 + 2 * GAS_PER_PAYMENT) * GWEI;
    assert.deepEqual(refiller.facts, {
      transactions: 1,
      payments: 2,
      valueWei: 5n * ETHER + 1n,
      gasWei,
      isStated: true,
    });
    assert.deepEqual(refiller.paidWei, [2n * ETHER + 1n, 0n, 3n * ETHER, 0n]);
    assert.equal(state.chargedWei, gasWei, 'what was reserved and not used is given back');
    assert.deepEqual(warnings, []);
    await round();
    assert.equal(refiller.facts.transactions, 1, 'nothing more is paid');
  });

  it('is made as well where an operation costs more than the threshold by now, and more than the amount is told', async () => {
    const { round, balances, state, warnings } = world({ balances: [ETHER, 2n * ETHER], funderWei: 10n ** 9n * ETHER });
    await round();
    assert.deepEqual([balances.get(addressOf(0)), balances.get(addressOf(1))], [ETHER, 2n * ETHER]);
    // A million of gas at the highest price that is offered, five times the base fee.
    state.baseFeeWei = 250n * GWEI;
    await round();
    assert.deepEqual([balances.get(addressOf(0)), balances.get(addressOf(1))], [3n * ETHER, 2n * ETHER]);
    assert.deepEqual(warnings, []);
    state.baseFeeWei = 2000n * GWEI;
    await round();
    assert.equal(balances.get(addressOf(1)), 2n * ETHER, 'a payment would not be worth its gas');
    assert.match(
      warnings[0],
      /^price: what a wallet has in flight may cost 10\.0+1 ether at the present price, and wallets are topped up to 3 ether/,
    );
  });

  it('is made where one operation costs more than half of the amount: without it the wallet would start none', async () => {
    const { round, balances, state } = world({ balances: [(3n * ETHER) / 2n], funderWei: 10n ** 9n * ETHER });
    // A million of gas at five times the base fee costs 2 ether, of the 3 that wallets are topped up to.
    state.baseFeeWei = 400n * GWEI;
    await round();
    assert.equal(balances.get(addressOf(0)), 3n * ETHER);
  });

  it('is not made for a price at which the load pauses (--max-base-fee)', async () => {
    const { round, state, sent } = world({ balances: [ETHER], maxBaseFeeWei: 249n * GWEI });
    state.baseFeeWei = 250n * GWEI;
    await round();
    assert.deepEqual(sent, []);
    state.baseFeeWei = 249n * GWEI;
    await round();
    assert.equal(sent.length, 1);
  });

  it('is made by the next endpoint after one that fails, with a warning for each failure', async () => {
    const down = fakeRpc({
      eth_getBalance: fails(new TransportError('connection refused', 'refused')),
    });
    const { round, balances, warnings } = world({ balances: [0n], ahead: [down, down] });
    for (let i = 0; i < 3; i += 1) await round();
    assert.equal(balances.get(addressOf(0)), 3n * ETHER);
    assert.equal(warnings.length, 2);
    for (const words of warnings) assert.match(words, /^refill: wallets were not refilled: .*connection refused/);
  });

  it('is not made if the budget refuses its gas, and nothing is signed', async () => {
    const { refiller, round, sent, state, warnings } = world({ balances: [0n], capWei: 1n });
    await round();
    assert.deepEqual([sent, refiller.facts.payments, state.chargedWei], [[], 0, 0n]);
    assert.deepEqual(warnings, ['refill: wallets were not refilled: the gas of the payments might exceed --max-spend']);
  });

  it('pays the poorest wallets if the funder has too little for all', async () => {
    const balances = [ETHER - 1n, 0n, ETHER - 2n, 1n];
    const { refiller, round } = world({ balances, funderWei: 7n * ETHER });
    await round();
    assert.deepEqual(refiller.paidWei, [0n, 3n * ETHER, 0n, 3n * ETHER - 1n]);
  });

  it('says that the funder has too little for any', async () => {
    const { round, sent, warnings } = world({ balances: [0n, 0n], funderWei: ETHER });
    await round();
    assert.deepEqual(sent, []);
    assert.match(
      warnings[0],
      /^refill: wallets were not refilled: the funder 0xf{40} has 1 ether, the payments need 3 ether; pay it 2 ether more, or ask for less by -t or --fund-amount$/,
    );
  });

  it('keeps its transactions below the gas limits', async () => {
    for (const blockGasLimit of [1_000_000, 30_000_000]) {
      const { refiller, round, sent } = world({
        balances: Array.from({ length: 450 }, () => 0n),
        funderWei: 10_000n * ETHER,
        blockGasLimit,
      });
      await round();
      assert.equal(refiller.facts.payments, 450);
      for (const { call } of sent)
        assert.ok(call.gasLimit <= BigInt(Math.min(blockGasLimit, 2 ** 24)), `${call.gasLimit}`);
    }
  });

  it('that is in no block in time counts once it is, and its gas stays reserved until then', async () => {
    const { refiller, round, state, warnings, balances } = world({ balances: [0n] });
    state.isMining = false;
    await round();
    assert.match(warnings[0], /^refill: wallets were not refilled: 1 of 1 transaction in no block after 20 s/);
    assert.deepEqual([refiller.open, refiller.facts.payments], [1, 0]);
    assert.ok(state.chargedWei > 0n);
    state.isMining = true;
    await round();
    assert.deepEqual([refiller.open, refiller.facts.payments, balances.get(addressOf(0))], [0, 1, 3n * ETHER]);
    assert.equal(state.chargedWei, refiller.facts.gasWei);
  });

  for (const refusal of ['txpool is full', 'insufficient funds for gas * price + value'])
    it(`that the node refuses is not waited for, and its gas is given back: ${refusal}`, async () => {
      const { refiller, round, during, state, warnings, balances } = world({ balances: [0n] });
      Object.assign(state, { refusal });
      await round();
      await round();
      assert.equal(warnings.length, 2);
      await during(refiller.finish(), 6000);
      assert.deepEqual([refiller.open, state.chargedWei], [0, 0n]);
      state.refusal = '';
      await round();
      assert.deepEqual([balances.get(addressOf(0)), state.chargedWei], [3n * ETHER, refiller.facts.gasWei]);
    });

  it('that was refused, and is in a block all the same, counts', async () => {
    const { refiller, round, during, state, sent, pool, clock } = world({ balances: [0n] });
    state.refusal = 'txpool is full';
    await round();
    clock.after(() => pool.set(0, sent[0]), 2000);
    await during(refiller.finish(), 10_000);
    assert.deepEqual([refiller.open, refiller.paidWei, state.chargedWei], [0, [3n * ETHER], refiller.facts.gasWei]);
  });

  it('is not signed when the load has ended meanwhile, without a word', async () => {
    const { refiller, round, sent, ending, warnings, state, rpc } = world({ balances: [0n] });
    const { call } = rpc;
    rpc.call = (method, ...given) => {
      if (method === 'eth_estimateGas') ending.abort();
      return call(method, ...given);
    };
    await round();
    assert.deepEqual([sent, refiller.open, state.chargedWei, warnings], [[], 0, 0n, []]);
  });

  it('below a base fee that has risen is replaced, and made again', async () => {
    const { refiller, round, state, sent, balances, clock } = world({ balances: [0n] });
    state.isMining = false;
    await round();
    [state.baseFeeWei, state.isMining] = [20n * GWEI, true];
    await round();
    equalBy(sent, ({ nonce }) => nonce, [0, 0, 1]);
    assert.equal(balances.get(addressOf(0)), 3n * ETHER);
    await clock.advance(5000);
    await round();
    assert.deepEqual([refiller.open, refiller.facts.payments, refiller.facts.valueWei], [0, 1, 3n * ETHER]);
    assert.equal(state.chargedWei, refiller.facts.gasWei, 'what the replaced one had reserved is given back');
  });

  it('is waited for at the end of the load, also if its receipt is served later than its nonce', async () => {
    const { refiller, round, during, state, clock } = world({ balances: [0n] });
    state.isMining = false;
    await round();
    Object.assign(state, { isMining: true, hasReceipts: false });
    clock.after(() => (state.hasReceipts = true), 4000);
    await during(refiller.finish(), 20_000);
    assert.deepEqual([refiller.open, refiller.facts.payments], [0, 1]);
  });

  it('a funder without funds has none left, for no time', async () => {
    const { round, warnings, clock, balances } = world({ balances: [100n * ETHER], funderWei: 0n });
    for (let i = 0; i < 30; i += 1) {
      balances.set(addressOf(0), (balances.get(addressOf(0)) ?? 0n) - ETHER / 20n);
      await round();
      await clock.advance(5000);
    }
    assert.match(
      warnings.join('\n'),
      /^funder: the funder 0xf{40} has no funds left: pay it more, or wallets run dry$/m,
    );
  });

  it('is said to end ten minutes before the funder runs dry, once', async () => {
    const { round, warnings, clock, balances } = world({ balances: [100n * ETHER], funderWei: 8n * ETHER });
    for (let i = 0; i < 30; i += 1) {
      balances.set(addressOf(0), (balances.get(addressOf(0)) ?? 0n) - ETHER / 20n);
      await round();
      await clock.advance(5000);
    }
    assert.equal(warnings.length, 0, 'a hundredth of an ether per second: 800 s');
    balances.set(FUNDER, 5n * ETHER);
    for (let i = 0; i < 30; i += 1) {
      balances.set(addressOf(0), (balances.get(addressOf(0)) ?? 0n) - ETHER / 20n);
      await round();
      await clock.advance(5000);
    }
    assert.equal(warnings.length, 1);
    assert.match(warnings[0], /^funder: the funder 0xf{40} has 5 ether, which lasts for about 8m\d\ds: /);
  });
});

it('planPayments() replaces what a killed run has left below the base fee, and says so', async () => {
  const { sender, funder, during, pool, sent, state } = world({ balances: [] });
  const call = { to: addressOf(0), data: '0x', value: 0n, gasLimit: 21_000n };
  for (const nonce of [0, 1]) pool.set(nonce, { nonce, call, hash: hash32(nonce), priceWei: 5n * GWEI });
  state.baseFeeWei = 6n * GWEI;
  /** @type {string[]} */
  const notices = [];
  const missing = [{ wallet: { address: addressOf(1) }, missingWei: 1n }];
  await during(planPayments(sender, funder, missing, (line) => notices.push(line)));
  assert.deepEqual([funder.nonce, pool.size], [2, 0]);
  assert.ok(sent.every(({ call: { to, value } }) => to === FUNDER && value === 0n));
  assert.match(notices.join('\n'), /^3 blocks have skipped 2 transactions of .* in the node's pool: /);
});

/** What was left, in gwei, and whether 10 gwei replace it. @type {Array<[bigint, boolean]>} */
const fixedOffers = [
  [5n, true],
  [10n, false],
];
for (const [leftGwei, isEnough] of fixedOffers)
  it(`planPayments() replaces what was left at ${leftGwei} gwei with a fixed offer once, as it is`, async () => {
    const { sender, funder, during, pool, sent, state } = world({ balances: [] });
    const call = { to: addressOf(0), data: '0x', value: 0n, gasLimit: 21_000n };
    pool.set(0, { nonce: 0, call, hash: hash32(0), priceWei: leftGwei * GWEI });
    state.baseFeeWei = (leftGwei + 1n) * GWEI;
    const offer = { maxFeePerGasWei: 10n * GWEI, maxPriorityFeePerGasWei: 1n };
    const fees = { ...sender.fees, isFixed: true, current: () => offer, limitWords: () => '--tip is fixed' };
    const missing = [{ wallet: { address: addressOf(1) }, missingWei: 1n }];
    const planned = planPayments({ ...sender, fees }, funder, missing).then(
      () => '',
      ({ message }) => message,
    );
    await during(planned);
    const words = await planned;
    if (isEnough) return assert.deepEqual([words, funder.nonce, pool.size, sent.length], ['', 1, 0, 1]);
    assert.match(words, /does not replace them; --tip is fixed, or use another funder$/);
  });

describe('the side of the load', () => {
  /** @param {{result?: Promise<any>, granted?: boolean}} [options] */
  function open({ result = new Promise(() => {}), granted = true } = {}) {
    /** @type {any[]} */
    const posted = [];
    /** @type {string[]} */
    const warnings = [];
    const drain = new AbortController();
    const silence = new AbortController();
    /** @type {(message: any) => void} */
    let post = () => {};
    const stop = /** @type {any} */ ({ drain: drain.signal, now: new AbortController().signal });
    const refills = new Refills(stop, (onMessage) => {
      post = onMessage;
      return { post: (message) => void posted.push(message), result, finish: () => result };
    });
    const warnOf = (/** @type {string} */ kind, /** @type {string} */ words) => void warnings.push(`${kind}: ${words}`);
    refills.begin({
      startUs: 0,
      warnOf,
      warnOnce: warnOf,
      control: recordedControl({ grants: granted }).control,
      noAnswer: silence.signal,
    });
    return { refills, posted, warnings, drain, silence, post: (/** @type {any} */ message) => post(message) };
  }

  it('asks the budget, and tells the thread when the load ends', async () => {
    for (const granted of [true, false]) {
      const { posted, post, drain } = open({ granted });
      post({ wei: 5n });
      await new Promise((resolve) => setImmediate(resolve));
      drain.abort();
      assert.deepEqual(posted, [{ hasBegun: true }, { isGranted: granted }, { isEnding: true }]);
    }
  });

  it('tells the thread that nothing answers any more', () => {
    const { posted, silence } = open();
    silence.abort();
    assert.deepEqual(posted, [{ hasBegun: true }, { isAborted: true }]);
  });

  it('has in each row what was paid in its interval, and what the funder has left', () => {
    const { refills, post } = open({ result: new Promise(() => {}) });
    const none = { payments: 0, valueWei: '0', gasWei: '0' };
    assert.deepEqual(refills.row(), { refills: none });
    post({ facts: { transactions: 1, payments: 2, valueWei: 3n, gasWei: 4n, isStated: true }, funderWei: 90n });
    assert.deepEqual(refills.row(), { refills: { payments: 2, valueWei: '3', gasWei: '4', funderWei: '90' } });
    assert.deepEqual(refills.row(), { refills: { ...none, funderWei: '90' } });
    post({ facts: { transactions: 2, payments: 3, valueWei: 5n, gasWei: 5n, isStated: true }, funderWei: 80n });
    assert.deepEqual(refills.row(), { refills: { payments: 1, valueWei: '2', gasWei: '1', funderWei: '80' } });
  });

  it('has the facts for the run file, and the payments for the audit', async () => {
    const facts = { transactions: 1, payments: 2, valueWei: 3n, gasWei: 4n, isStated: true };
    const { refills, post } = open({ result: Promise.resolve({ facts, paidWei: [1n, 2n], open: 0 }) });
    post({ facts });
    const members = { refills: { transactions: 1, payments: 2, valueWei: '3', gasWei: '4' } };
    const described = { members, unmeasured: {} };
    assert.deepEqual(refills.describe(), described);
    await refills.drained();
    assert.deepEqual([refills.describe(), refills.payments], [described, { wei: [1n, 2n] }]);
  });

  it('does not know the payments if the thread failed, or one is in no block', async () => {
    const facts = { transactions: 0, payments: 0, valueWei: 0n, gasWei: 0n, isStated: true };
    for (const [result, why] of /** @type {Array<[any, RegExp]>} */ ([
      [{ why: 'its thread ended' }, /^what the funder has paid is not known: its thread ended$/],
      [{ facts, paidWei: [0n], open: 1 }, /^payments of the funder were in no block/],
    ])) {
      const { refills, warnings } = open({ result: Promise.resolve(result) });
      await refills.drained();
      assert.match(String(/** @type {any} */ (refills.payments).why), why);
      assert.equal(warnings.length, 'why' in result ? 1 : 0);
      const { members, unmeasured = {} } = refills.describe();
      const isLost = 'why' in result;
      assert.equal(members.refills?.transactions, isLost ? null : 0, 'what was told last is no total');
      assert.equal(
        unmeasured['/refills/gasWei']?.startsWith('what the funder has paid is not known'),
        isLost || undefined,
      );
    }
  });
});

it('without refills nothing is watched where gas is free, and wallets have no funds', async () => {
  const given = /** @type {any} */ ({ refill: null, inclusion: 'blocks', before: { wei: 0n }, wallets: [{}] });
  assert.equal(await row.open(/** @type {any} */ ({}), given), null);
});

it('without refills it is said when a tenth of the funds is left', async () => {
  const clock = createFakeClock();
  const drain = new AbortController();
  let balance = 100n;
  const rpc = fakeRpc({ eth_getBalance: () => toHex(balance) });
  const wallets = /** @type {any[]} */ (Array.from({ length: 1000 }, (_, i) => ({ address: addressOf(i) })));
  const stop = /** @type {any} */ ({ drain: drain.signal });
  /** @type {string[]} */
  const warnings = [];
  // Those that are not asked have much more.
  const given = /** @type {any} */ ({ refill: null, inclusion: 'blocks', before: { wei: 10n ** 9n } });
  const watch = await row.open(/** @type {any} */ ({}), { ...given, rpc, wallets, clock, stop });
  watch?.begin?.({
    startUs: 0,
    warnOf: () => {},
    warnOnce: (kind, words) => void warnings.push(`${kind}: ${words}`),
    control: recordedControl().control,
    noAnswer,
  });
  for (const [wei, count] of /** @type {Array<[bigint, number]>} */ ([
    [90n, 0],
    [11n, 0],
    [10n, 1],
    [5n, 1],
  ])) {
    balance = wei;
    await clock.advance(15_000);
    assert.equal(warnings.length, count, `${wei}`);
  }
  assert.match(warnings[0], /^funds: a tenth of the funds of the wallets is left, which lasts for about 5s: /);
  assert.equal(rpc.count(), 4 * 20, 'few calls for many wallets');
  drain.abort();
  await clock.settle();
  assert.ok(clock.pending() <= 1);
});
