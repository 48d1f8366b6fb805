/** What an engine does with a wallet after a failure or a reorg, and when it stops using the wallet. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RpcError } from '../../../src/errors.js';
import { equalBy } from '../../helpers/equal-by.js';
import { begun as begin } from './simulation.js';

/** @import { SimulationOptions } from './simulation.js' */

/** An operation reserves 50,000 wei and costs 30,000. */
const CAPPED = { inFlight: 1, capWei: 80_000n, fees: { current: () => ({ gasPriceWei: 1n }) } };
const POOR = new RpcError('eth_sendRawTransaction', -32000, 'insufficient funds for gas * price + value');

/** Nothing is overdue in the first fifteen seconds. @param {SimulationOptions} options */
async function begun(options) {
  const run = await begin({ txTimeoutMs: 600_000, blockMs: 3000, ...options });
  /** Submissions so far. @param {string} [only] purpose */
  const sent = (only) =>
    run.rpc.calls
      .filter(({ method, purpose }) => method === 'eth_sendRawTransaction' && (only ?? purpose) === purpose)
      .map(({ params: [raw] }) => /** @type {{position: number, nonce: number}} */ (JSON.parse(raw)));
  const resubmitted = () => sent('resubmit');
  const generator = async () => (await run.engine.snapshot(run.clock.nowUs(), false)).generator;
  return { ...run, sent, resubmitted, generator };
}

it('the fee limit after a failure: released fees start another wallet, also if the wallet of the failure is retired', async () => {
  const run = await begun({ wallets: 2, ...CAPPED });
  const number = run.mine();
  run.meddle(0);
  run.see(number);
  await run.advance(1000);
  assert.equal(run.sampleOf(0, 0)?.code, 'wrong_count');
  equalBy(run.sent(), ({ position }) => position, [0, 1]);
  assert.equal((await run.generator()).retiredWallets, 1);
  assert.deepEqual(run.stops, []);
});

it('the fee limit: ends the run when nothing is in flight and the rest does not cover another operation', async () => {
  const run = await begun(CAPPED);
  const words = /^the spend cap is reached: .* --max-spend; /;
  for (const stops of [[], ['max_spend']]) {
    await run.block();
    equalBy(run.stops, ([reason]) => reason, stops);
  }
  assert.match(run.stops[0][1] ?? '', words);
  assert.equal(run.sent().length, 2);
});

describe('a wallet is retired', () => {
  for (const [why, fault, inFlight, submissions] of /** @type {const} */ ([
    ['without funds: at once, and counted once', POOR, 2, 2],
    ['after twenty transactions for one nonce that did not reach the node', 'refuse', 1, 20],
  ])) {
    it(why, async () => {
      const run = await begun({ wallets: 2, inFlight, fault: (position) => (position === 1 ? 'pass' : fault) });
      await run.advance(200_000);
      assert.equal(run.sent('submit').filter(({ position }) => position === 0).length, submissions);
      assert.equal((await run.generator()).retiredWallets, 1);
      assert.deepEqual(run.stops, []);
    });
  }

  it('when its transaction is still pending after a second time limit', async () => {
    const run = await begun({ inFlight: 1, txTimeoutMs: 5000 });
    await run.advance(10_000);
    assert.equal(run.sampleOf(0, 0)?.outcome, 'timed_out');
    assert.deepEqual(run.stops, []);
    await run.advance(3000);
    assert.deepEqual(run.stops, [['no_wallets', undefined]]);
  });

  it('when its transaction that a reorg removed is not included again within the time limit', async () => {
    const run = await begun({ inFlight: 1, txTimeoutMs: 5000 });
    await run.block();
    run.reorg(1, true);
    await run.advance(5000);
    assert.deepEqual(run.stops, []);
    // The next transaction timed out just now, and its own recovery has as much time again.
    await run.advance(3000);
    assert.deepEqual(run.stops, [['no_wallets', undefined]]);
  });
});

it('a wallet without funds waits for a refill, and its next operation starts after it', async () => {
  let isPoor = true;
  const run = await begun({ inFlight: 1, refillBelowWei: 10n, fault: () => (isPoor ? POOR : 'pass') });
  let balance = '0x9';
  run.handlers.eth_getBalance = () => balance;
  await run.advance(100_000);
  assert.equal(run.sent('submit').length, 1);
  isPoor = false;
  balance = '0xa';
  const refilledUs = run.clock.nowUs();
  await run.advance(60_000);
  await run.block();
  const sample = run.sampleOf(0, 0);
  assert.equal(sample?.outcome, 'verified');
  assert.ok((sample?.intendedAtUs ?? 0) >= refilledUs, 'the wait is not in its latency');
  const { retiredWallets, pauses } = await run.generator();
  const { unpaidMs = 0 } = pauses;
  assert.deepEqual([retiredWallets, run.stops], [0, []]);
  // From the refusal to the look that found the payment: 2, 4, 8, ... s after it.
  assert.ok(unpaidMs >= 122_000 && unpaidMs < 127_000, `${unpaidMs}`);
});

it('a wallet whose operations all lack funds waits once', async () => {
  const run = await begun({ wallets: 1, inFlight: 4, refillBelowWei: 10n, fault: () => POOR });
  run.handlers.eth_getBalance = () => '0x9';
  await run.advance(90_000);
  run.engine.stop(run.clock.nowUs());
  await run.clock.settle();
  const { unpaidMs = 0 } = (await run.generator()).pauses;
  assert.ok(unpaidMs > 80_000 && unpaidMs <= 90_000, `${unpaidMs}`);
});

it('a wallet with more than the threshold waits while an operation costs more than it has', async () => {
  let [isPoor, priceWei] = [true, 10n ** 18n];
  const fees = { worstPriceWei: () => priceWei };
  const run = await begun({ inFlight: 1, refillBelowWei: 10n, fees, fault: () => (isPoor ? POOR : 'pass') });
  run.handlers.eth_getBalance = () => '0x64';
  await run.advance(100_000);
  assert.equal(run.sent('submit').length, 1);
  [isPoor, priceWei] = [false, 0n];
  await run.advance(60_000);
  assert.equal(run.sent('submit').length, 2);
});

describe('a load whose wallets all wait for a payment ends', () => {
  for (const [reason, capWei, words] of /** @type {const} */ ([
    ['no_wallets', null, /^no wallet has had funds for 10m00s, and the funder has paid none/],
    [
      'max_spend',
      1_000_000n,
      /^no wallet has had funds for 10m00s: the gas of payments to them might exceed --max-spend/,
    ],
  ])) {
    it(`after the time limit of a transaction: ${reason}`, async () => {
      const run = await begun({
        ...{ wallets: 3, inFlight: 1, iterations: 3, capWei, refillBelowWei: 10n },
        ...(capWei !== null && { fees: { current: () => ({ gasPriceWei: 1n }), blobPriceWei: () => 0n } }),
        fault: (position) => (position === 1 ? 'pass' : POOR),
      });
      run.handlers.eth_getBalance = () => '0x9';
      if (capWei !== null) assert.equal(await run.engine.post({ verb: 'charge', args: [capWei] }), false);
      await run.block(400_000);
      await run.block(300_000);
      assert.deepEqual(run.stops, [], 'the last wallet with funds still works');
      await run.block(100_000);
      assert.equal(run.sent('submit').length, 5);
      assert.equal(run.stops[0]?.[0], reason);
      assert.match(run.stops[0]?.[1] ?? '', words);
    });
  }

  it('not if they have had all their operations: another thread may have more', async () => {
    const run = await begun({ wallets: 1, inFlight: 1, iterations: 1, refillBelowWei: 10n, fault: () => POOR });
    run.handlers.eth_getBalance = () => '0x9';
    await run.advance(1_500_000);
    assert.deepEqual(run.stops, [['iterations', undefined]]);
  });
});

describe('the transactions of a wallet after a reorg', () => {
  it('those in flight are sent again when the ones before them are included again', async () => {
    const run = await begun({ inFlight: 3 });
    const numbers = [run.mine(1), run.mine(1)];
    for (const number of numbers.reverse()) run.see(number);
    await run.settle();
    const [next] = [...run.pool.values()];
    const gone = run.remove(2, false);
    // The node drops what it cannot execute. The next one had been in a block too, without its confirmations.
    run.pool.clear();
    run.notice(gone, [next.hash]);
    await run.settle();
    const nonces = () => run.resubmitted().map(({ nonce }) => nonce);
    assert.deepEqual(nonces(), [0, 1], 'the node would drop the others again');
    await run.block(1000);
    assert.deepEqual(nonces(), [0, 1, 2, 3, 4]);
    await run.block();
    for (const nonce of [2, 3, 4]) assert.equal(run.sampleOf(0, nonce)?.outcome, 'verified');
  });

  it('one that the node drops each time is sent twenty times', async () => {
    let isDropped = false;
    const run = await begun({ inFlight: 1, fault: () => (isDropped ? 'drop' : 'pass') });
    await run.block();
    isDropped = true;
    run.reorg(1, false);
    await run.advance(200_000);
    assert.equal(run.resubmitted().filter(({ nonce }) => nonce === 0).length, 20);
    assert.equal((await run.end()).counts[0].reorgedOut, 1);
  });

  it('thirty-two wallets resubmit at a time, the others after them', async () => {
    const run = await begun({ wallets: 70, inFlight: 1 });
    await run.block();
    run.reorg(1, false);
    for (const wallets of [32, 64, 70]) {
      await run.advance(1000);
      const first = run.resubmitted().filter(({ nonce }) => nonce === 0);
      assert.equal(new Set(first.map(({ position }) => position)).size, wallets);
      run.see(run.mine());
    }
    await run.advance(1000);
    const before = run.resubmitted().length;
    run.reorg(1, false);
    await run.settle();
    assert.ok(run.resubmitted().length > before, 'none of them counts any more');
  });
});

it('a failure that is resolved after the end of the load starts nothing', async () => {
  const run = await begun({ inFlight: 1, fault: () => 'refuse' });
  run.engine.stop(run.clock.nowUs());
  await run.settle();
  assert.equal(run.sent().length, 1);
});
