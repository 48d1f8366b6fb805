import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Wallet } from '../../../src/chain/keys.js';
import { Account } from '../../../src/core/nonces.js';
import { Operation } from '../../../src/core/operation.js';
import { Recovery } from '../../../src/core/recovery.js';
import { createFakeClock } from '../../helpers/clock.js';
import { sampleOf } from '../../helpers/samples.js';

/** @import { RecentInclusion } from '../../../src/core/ledger.js' */

/** @param {{wallets?: number, budget?: any}} [options] */
function setUp({ wallets = 2, budget = null } = {}) {
  const accounts = Array.from({ length: wallets }, (_, i) => new Account(i, Wallet.withoutKey(100 + i)));
  /** @type {Set<Operation>} */
  const live = new Set();
  const over = new AbortController();
  /** @type {string[]} */
  const log = [];
  /**
   * Pending recoveries: the test ends each with why the wallet cannot be used any more, or null.
   * @type {Array<{end: (why?: string | null) => Promise<void>, fail: (error: Error) => Promise<void>}>}
   */
  const waits = [];
  /** @returns {Promise<string | null>} */
  const wait = () =>
    new Promise((resolve, reject) => {
      waits.push({
        end: (why = null) => (resolve(why), turn()),
        fail: (error) => (reject(error), turn()),
      });
    });
  const past = {
    orphans: /** @type {RecentInclusion[]} */ ([]),
    isComplete: true,
    waiting: /** @type {RecentInclusion[]} */ ([]),
  };
  /** @param {{account: Account, nonce: number}} operation */
  const nameOf = ({ account, nonce }) => `${account.position}:${nonce}`;
  const kind = {
    run: () => {},
    recover: (/** @type {Operation} */ operation) => (log.push(`recover ${nameOf(operation)}`), wait()),
    recordInclusion: () => {},
    reopen: (/** @type {number} */ blockNumber) => (log.push(`reopen ${blockNumber}`), past),
    reopenOf: (/** @type {Account} */ { position }, /** @type {number} */ nonce) => (
      log.push(`reopen ${position}:${nonce}`),
      past.orphans
    ),
    rebroadcast: async (/** @type {Operation[]} */ operations) => {
      log.push(...operations.map((operation) => `rebroadcast ${nameOf(operation)}`));
    },
    resubmit: (/** @type {RecentInclusion[]} */ orphans) => (
      log.push(...orphans.map(({ operation }) => `resubmit ${nameOf(operation)}`)),
      wait()
    ),
    watchOverdue: async () => {},
  };
  /** @type {Array<[string, string | undefined]>} */
  const stops = [];
  const recovery = new Recovery({
    clock: createFakeClock(),
    kind,
    accounts,
    budget,
    live,
    signal: over.signal,
    drained: new AbortController().signal,
    onStop: (reason, error) => stops.push([reason, error?.message]),
    rearm: ({ position }, times) => log.push(`rearm ${position} ${times}`),
    retire: ({ position }) => log.push(`retire ${position}`),
  });
  /** A live operation. @param {number} [position] @param {number | null} [block] of its inclusion */
  const begin = (position = 0, block = null) => {
    const operation = new Operation(accounts[position], { intendedAtUs: 0, startedAtUs: 0 }, () => {});
    const hash = `0x${nameOf(operation)}`;
    operation.setTransaction({ raw: `raw ${hash}`, hash, fee: {} });
    if (block !== null) operation.setInclusion(hash, { number: block, hash: `0xb${block}`, seenAtUs: 0 });
    live.add(operation);
    return operation;
  };
  /**
   * An ended operation of a removed block.
   * @param {number} position
   * @param {number} nonce
   * @returns {RecentInclusion}
   */
  const orphanOf = (position, nonce) => ({
    operation: { account: accounts[position], nonce, hashes: ['0xa', `0x${position}:${nonce}`], raw: 'raw' },
    sample: sampleOf({}),
    isExecuted: true,
  });
  /** The log since the last call. */
  const done = () => log.splice(0);
  return { accounts, live, over, waits, past, stops, recovery, begin, orphanOf, done };
}

describe('Recovery.reorganise()', () => {
  it('live operations of the blocks wait for inclusion and are watched again', () => {
    const { recovery, begin, done } = setUp();
    const [before, inside, after, nowhere] = [begin(0, 6), begin(0, 7), begin(1, 9), begin(1)];
    /** @type {string[]} */
    const watched = [];
    for (const operation of [before, inside, after, nowhere])
      operation.onTransaction = (hash) => void watched.push(hash);
    const { operations, touched, isComplete } = recovery.reorganise(7);
    assert.deepEqual(
      [before, inside, after, nowhere].map(({ inclusion }) => inclusion?.number ?? null),
      [6, null, null, null],
    );
    assert.deepEqual(watched, ['0x0:1', '0x1:0']);
    assert.deepEqual([operations, isComplete], [2, true]);
    assert.deepEqual(touched, [
      { walletIndex: 100, nonce: 1, hash: '0x0:1' },
      { walletIndex: 101, nonce: 0, hash: '0x1:0' },
    ]);
    assert.equal(done()[0], 'reopen 7');
  });

  it('wakes an operation in its read-back', async () => {
    const { recovery, begin } = setUp();
    const operation = begin(0, 7);
    let isWoken = false;
    const clock = /** @type {any} */ ({
      sleep: (/** @type {number} */ _ms, /** @type {AbortSignal} */ signal) =>
        new Promise((resolve) => signal.addEventListener('abort', resolve)),
    });
    void operation.pause(clock, 1000).then(() => (isWoken = true));
    await turn();
    assert.equal(isWoken, false);
    recovery.reorganise(7);
    await turn();
    assert.equal(isWoken, true);
  });

  it('counts operations that were not confirmed yet, without changing them', () => {
    const { recovery, begin } = setUp();
    const [unconfirmed, other] = [begin(0), begin(1)];
    unconfirmed.setTransaction({ raw: 'raw', hash: '0xlast', fee: {} });
    const { operations, touched } = recovery.reorganise(7, ['0x0:0', '0xforeign']);
    assert.deepEqual([operations, touched], [1, [{ walletIndex: 100, nonce: 0, hash: '0xlast' }]]);
    assert.equal(other.inclusion, null);
  });

  it('rebroadcasts all live operations of a wallet that lost one, and no others', () => {
    const { recovery, begin, done } = setUp({ wallets: 3 });
    begin(0, 7);
    begin(0);
    begin(1);
    const ended = begin(0);
    const slot = ended.account.slotOf(ended.nonce) ?? assert.fail();
    slot.state = 'unresolved';
    recovery.reorganise(7);
    assert.deepEqual(done(), ['reopen 7', 'rebroadcast 0:0', 'rebroadcast 0:1']);
  });

  it('resubmits ended operations, then rebroadcasts those behind them', async () => {
    const { recovery, past, waits, begin, orphanOf, accounts, done } = setUp();
    begin(0);
    past.orphans = [orphanOf(0, 5), orphanOf(1, 3)];
    past.isComplete = false;
    const { operations, touched, isComplete } = recovery.reorganise(7);
    assert.deepEqual([operations, isComplete], [2, false]);
    assert.deepEqual(touched[0], { walletIndex: 100, nonce: 5, hash: '0x0:5' });
    assert.deepEqual(done(), ['reopen 7', 'resubmit 0:5', 'resubmit 1:3']);
    assert.deepEqual(
      accounts.map(({ recovering }) => recovering),
      [1, 1],
    );
    await waits[0].end();
    assert.deepEqual(done(), ['rebroadcast 0:0', 'rearm 0 0']);
    await waits[1].end();
    assert.deepEqual(done(), ['rearm 1 0']);
    assert.deepEqual(
      accounts.map(({ recovering }) => recovering),
      [0, 0],
    );
  });

  it('names the first twenty and counts all', () => {
    const { recovery, past, begin, orphanOf } = setUp();
    past.orphans = Array.from({ length: 15 }, (_, nonce) => orphanOf(0, nonce));
    for (let i = 0; i < 10; i += 1) begin(1, 8);
    const { operations, touched } = recovery.reorganise(7);
    assert.deepEqual([operations, touched.length], [25, 20]);
  });

  it('counts operations resubmitted before the reorg was seen, and does not resubmit them again', () => {
    const { recovery, past, orphanOf, done } = setUp();
    past.waiting = [orphanOf(0, 3)];
    const { operations, touched } = recovery.reorganise(7);
    assert.deepEqual([operations, touched.map(({ nonce }) => nonce)], [1, [3]]);
    assert.deepEqual(done(), ['reopen 7']);
  });
});

describe('Recovery.resubmitFrom()', () => {
  it("resubmits a wallet's transactions from a nonce on", async () => {
    const { recovery, past, waits, accounts, orphanOf, done } = setUp();
    past.orphans = [orphanOf(1, 4), orphanOf(1, 5)];
    recovery.resubmitFrom(accounts[1], 4);
    assert.deepEqual(done(), ['reopen 1:4', 'resubmit 1:4', 'resubmit 1:5']);
    assert.equal(accounts[1].recovering, 1, 'one after the other');
    await waits[0].end();
    assert.deepEqual(done(), ['rearm 1 0']);
  });
});

describe('Recovery.recover()', () => {
  it('the wallet continues when all are settled, with all postponed starts', async () => {
    const { recovery, waits, accounts, begin, done } = setUp();
    const [first, second] = [begin(0), begin(0)];
    recovery.recover(first, sampleOf({}));
    recovery.recover(second, sampleOf({}));
    assert.deepEqual([accounts[0].recovering, accounts[1].recovering], [2, 0]);
    done();
    await waits[1].end();
    assert.deepEqual([done(), accounts[0].recovering, accounts[0].heldStarts], [[], 1, 1]);
    await waits[0].end();
    assert.deepEqual([done(), accounts[0].recovering, accounts[0].heldStarts], [['rearm 0 2'], 0, 0]);
  });

  it('a nonce gap is filled at once', async () => {
    const { recovery, waits, accounts, begin, done } = setUp();
    const [first, second] = [begin(0), begin(0)];
    begin(0);
    recovery.recover(first, sampleOf({}));
    recovery.recover(second, sampleOf({}));
    done();
    accounts[0].settle(first.nonce, 'free');
    await waits[0].end();
    assert.deepEqual([done(), accounts[0].heldStarts], [['rearm 0 1'], 0]);
  });

  it('starts nothing after the end of the load', async () => {
    const { recovery, over, waits, begin, done } = setUp();
    recovery.recover(begin(0), sampleOf({}));
    done();
    over.abort();
    await waits[0].end();
    assert.deepEqual(done(), []);
  });

  it('retires a wallet once; the run ends without any', async () => {
    const { recovery, waits, accounts, stops, begin, done } = setUp();
    for (const position of [0, 0, 1]) recovery.recover(begin(position), sampleOf({}));
    done();
    await waits[0].end('it has no funds left');
    await waits[1].end('its last transaction is stuck');
    assert.deepEqual([accounts[0].retired, accounts[1].retired], ['it has no funds left', null]);
    assert.deepEqual([stops, done()], [[], ['retire 0']]);
    await waits[2].end('it has no funds left');
    assert.deepEqual(stops, [['no_wallets', undefined]]);
  });

  it('retires a wallet after 5 workload errors in a row; the run ends with the message if none is left', async () => {
    const { recovery, waits, accounts, stops, begin } = setUp({ wallets: 1 });
    for (let failures = 1; failures <= 5; failures += 1) {
      assert.equal(accounts[0].retired, null);
      accounts[0].failuresInRow = failures;
      const operation = begin(0);
      operation.errorMessage = 'mine.js:3:1: next() threw: tired';
      recovery.recover(
        operation,
        sampleOf({ outcome: 'failed', code: failures === 3 ? 'reverted' : 'workload_error' }),
      );
      await waits[failures - 1].end();
      await turn();
    }
    assert.equal(accounts[0].retired, 'its workload keeps failing');
    assert.deepEqual(stops, [['workload_failed', 'mine.js:3:1: next() threw: tired']]);
  });

  it('a bug in stress ends the run', async () => {
    const { recovery, waits, stops, begin } = setUp();
    const operation = begin(0);
    operation.bug = new Error('in the operation');
    recovery.recover(operation, sampleOf({}));
    assert.deepEqual(stops, [['internal', 'in the operation']]);
    await waits[0].fail(new Error('while it was recovered'));
    assert.deepEqual(stops[1], ['internal', 'while it was recovered']);
  });

  it('releases reserved fees and wakes wallets that wait for them', async () => {
    /** @type {Operation[]} */
    const settled = [];
    const { recovery, waits, begin, done } = setUp({
      budget: { settle: (/** @type {Operation} */ operation) => settled.push(operation) },
    });
    const operation = begin(0);
    recovery.recover(operation, sampleOf({}));
    done();
    assert.deepEqual(settled, []);
    await waits[0].end();
    assert.deepEqual([settled[0] === operation, done()], [true, ['rearm 0 0', 'rearm 0 1']]);
  });
});
