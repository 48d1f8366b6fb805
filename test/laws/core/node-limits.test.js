/** What is learned of how much a node keeps: of a wallet, and of all wallets. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Wallet } from '../../../src/chain/keys.js';
import { NodeLimits } from '../../../src/core/node-limits.js';
import { Account } from '../../../src/core/nonces.js';
import { Operation } from '../../../src/core/operation.js';
import { createFakeClock } from '../../helpers/clock.js';

const ROOM = { gasUsed: 0, gasLimit: 100, ours: 0 };

function setUp() {
  const clock = createFakeClock();
  const limits = new NodeLimits(clock);
  const account = new Account(0, Wallet.withoutKey(0));
  /** @param {boolean} isTaken by the node */
  const start = (isTaken) => {
    const nowUs = clock.nowUs();
    const operation = new Operation(account, { intendedAtUs: nowUs, startedAtUs: nowUs }, () => {});
    if (isTaken) operation.sample.acceptedAtUs = nowUs;
    return operation;
  };
  /** @param {Operation} operation */
  const verify = (operation) => {
    account.settle(operation.nonce, 'executed');
    return limits.ended(account, true);
  };
  return { clock, limits, account, start, verify };
}

describe('a limit per sender', () => {
  it('is the number that the node has when it refuses another one; further starts wait for an end', () => {
    const { limits, account, start, verify } = setUp();
    assert.equal(limits.holds(account), false);
    const [first] = [start(true), start(true)];
    const refused = start(false);
    limits.refused(refused, 'sender_limit');
    assert.deepEqual(limits.facts(), { perWallet: 2 });
    assert.equal(limits.holds(account), true);
    assert.equal(verify(first), 1);
  });

  it('refusals of operations that were in flight before do not lower it, and one of a later start does by one', async () => {
    const { clock, limits, account, start } = setUp();
    for (let i = 0; i < 4; i += 1) start(true);
    const early = [start(false), start(false), start(false)];
    for (const operation of [...early, ...early]) limits.refused(operation, 'sender_limit');
    await clock.advance(10);
    const late = start(false);
    account.slots.splice(2, 5); // the rest of them is in blocks
    assert.deepEqual([account.slots.length, limits.holds(account)], [3, false]);
    limits.refused(late, 'sender_limit');
    assert.equal(limits.holds(account), true);
  });

  it('grows after many verified operations', () => {
    const { limits, account, start, verify } = setUp();
    limits.refused(start(false), 'sender_limit');
    assert.equal(limits.holds(account), true);
    for (let i = 0; i < 8; i += 1) verify(account.slots[0]?.operation ?? start(true));
    start(true);
    assert.equal(limits.holds(account), false);
  });

  it('those that wait are sent again in the order of their nonces, one for each that ends', async () => {
    const { clock, limits, account, start } = setUp();
    /** @type {number[]} */
    const order = [];
    const waiting = [start(false), start(false), start(false)];
    for (const operation of [...waiting].reverse()) {
      limits.refused(operation, 'sender_limit');
      void limits.turn(operation, 1000).then(() => order.push(operation.nonce));
    }
    await clock.advance(1);
    assert.deepEqual(order, []);
    limits.ended(account, true);
    limits.ended(account, true);
    await clock.advance(1);
    assert.deepEqual(order, [0, 1]);
    await clock.advance(1000);
    assert.deepEqual(order, [0, 1, 2]);
  });
});

describe('the size of a pool', () => {
  it('is what it has when it refuses others, and grows again when nothing is refused', async () => {
    const { clock, limits, start } = setUp();
    let inPool = 60;
    limits.attach(() => inPool);
    const refused = start(false);
    limits.refused(refused, 'pool_full');
    inPool = 64; // further answers arrive
    limits.refused(refused, 'pool_full');
    assert.deepEqual([limits.most, limits.facts()], [64, { pool: 64 }]);
    await clock.advance(3000);
    limits.refused(refused, 'pool_full');
    await clock.advance(3000);
    limits.look(64, 800);
    assert.equal(limits.most, 64);
    await clock.advance(3000);
    limits.look(64, 800);
    assert.equal(limits.most, 71);
    for (let i = 0; i < 40; i += 1) {
      await clock.advance(5000);
      limits.look(64, 800);
    }
    assert.equal(limits.most, Infinity);
    assert.deepEqual(limits.facts(), { pool: 64 });
  });

  /** @param {NodeLimits} limits @param {number} times @param {number} takenAtUs @param {number} [block] */
  const lose = (limits, times, takenAtUs, block = 5) => {
    for (let i = 0; i < times; i += 1) limits.lost(takenAtUs, block);
  };

  it('a loss of many at once, such as in a restart, is no limit: fewer are in flight for a while', async () => {
    const { clock, limits } = setUp();
    const takenAtUs = clock.nowUs();
    await clock.advance(1000);
    lose(limits, 40, takenAtUs);
    limits.look(100, 800);
    assert.deepEqual([limits.most, limits.facts()], [60, null]);
    await clock.advance(5000);
    limits.look(60, 800);
    assert.equal(limits.most, Infinity);
  });

  it('is proven by losses on two occasions near one depth, and is at least what a block had', async () => {
    const { clock, limits } = setUp();
    limits.observe({ ...ROOM, number: 4, ours: 30 }, 1);
    lose(limits, 50, clock.nowUs() - 1);
    limits.look(100, 800);
    assert.deepEqual([limits.most, limits.facts()], [50, null]);
    await clock.advance(1000);
    lose(limits, 60, clock.nowUs());
    limits.look(100, 800);
    assert.deepEqual([limits.most, limits.isEvicting, limits.facts()], [40, true, { pool: 40 }]);
    lose(limits, 50, clock.nowUs());
    limits.look(60, 800);
    assert.deepEqual(limits.facts(), { pool: 30 });
  });

  for (const [why, ours, first, second] of /** @type {Array<[string, number, number, number]>} */ ([
    ['one now and then, and later many at once', 0, 1, 50],
    ['many at once, at depths that differ', 0, 30, 97],
    ['many at once, of a pool that kept more for a block', 100, 50, 50],
  ]))
    it(`is not proven by losses of ${why}`, async () => {
      const { clock, limits } = setUp();
      limits.observe({ ...ROOM, number: 4, ours }, 1);
      lose(limits, first, clock.nowUs() - 1);
      limits.look(100, 800);
      await clock.advance(6000);
      limits.look(100, 800);
      lose(limits, second, clock.nowUs());
      limits.look(100, 800);
      assert.equal(limits.facts(), null);
    });

  it('what a full block may have left out was not lost', () => {
    const { clock, limits } = setUp();
    limits.observe({ number: 6, ours: 1, gasUsed: 90, gasLimit: 100 }, 20);
    lose(limits, 100, clock.nowUs(), 5);
    limits.look(100, 800);
    assert.equal(limits.most, Infinity);
    lose(limits, 100, clock.nowUs(), 7);
    limits.look(100, 800);
    assert.equal(limits.most, 1);
  });
});
