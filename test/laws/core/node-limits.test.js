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
    for (let i = 0; i < 3; i += 1) limits.refused(refused, 'pool_full');
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

  it('is not shown by one refusal, and is not what is left right after a block', () => {
    const { limits, start } = setUp();
    let inPool = 0;
    limits.attach(() => inPool);
    limits.observe({ ...ROOM, number: 1, ours: 50 }, 1);
    limits.observe({ ...ROOM, number: 2, ours: 3 }, 1);
    inPool = 1;
    limits.refused(start(false), 'pool_full');
    assert.deepEqual([limits.most, limits.facts()], [50, null]);
    limits.observe({ ...ROOM, number: 3, ours: 3 }, 1);
    for (let i = 0; i < 2; i += 1) limits.refused(start(false), 'pool_full');
    assert.equal(limits.facts(), null, 'a few of each block');
  });

  /** Blocks of which each has so many of this run. @param {NodeLimits} limits @param {number} ours */
  const addBlocks = (limits, ours) => {
    for (let number = 1; number <= 4; number += 1) limits.observe({ ...ROOM, number, ours }, 1);
  };

  /** Losses of what the node has just taken, and the next look. @param {ReturnType<typeof setUp>} made @param {number} count @param {number} inFlight */
  async function lose({ clock, limits }, count, inFlight) {
    await clock.advance(1000);
    limits.lost(count, clock.nowUs() - 1, 5);
    limits.look(inFlight, 800);
  }

  /** Nothing is lost for so long that more may be in flight. @param {ReturnType<typeof setUp>} made @param {number} ours in each block */
  async function calm({ clock, limits }, ours) {
    addBlocks(limits, ours);
    await clock.advance(5000);
    limits.look(Math.min(limits.most, 800), 800);
  }

  it('a loss of many at once, such as in a restart, is no limit: fewer are in flight for a while', async () => {
    const made = setUp();
    const { limits } = made;
    await lose(made, 400, 800);
    assert.deepEqual([limits.most, limits.isEvicting, limits.facts()], [400, true, null]);
    await calm(made, 40);
    assert.deepEqual([limits.most, limits.isEvicting], [Infinity, false]);
    await lose(made, 450, 800);
    assert.equal(limits.facts(), null);
  });

  it('is proven by losses near one depth when more are in flight again, and is at least what a block had', async () => {
    const made = setUp();
    const { clock, limits } = made;
    addBlocks(limits, 30);
    await lose(made, 75, 100);
    assert.deepEqual([limits.most, limits.facts()], [30, null]);
    // More of the same occasion: taken before the bound was lowered.
    limits.lost(10, clock.nowUs(), 5);
    limits.look(100, 800);
    assert.deepEqual([limits.most, limits.facts()], [20, null]);
    await calm(made, 20);
    assert.equal(limits.most, 40);
    await lose(made, 16, 40);
    assert.deepEqual([limits.most, limits.isEvicting, limits.facts()], [24, true, { pool: 24 }]);
    // Each growth of a known size loses some: the second one comes after twice the time.
    await calm(made, 24);
    assert.equal(limits.most, 27);
    await lose(made, 3, 27);
    await calm(made, 24);
    assert.equal(limits.most, 24);
    await calm(made, 24);
    assert.equal(limits.most, 27);
    assert.deepEqual(limits.facts(), { pool: 24 });
  });

  it('is not proven by losses that go on with no more in flight than it kept: fewer would not help', async () => {
    const made = setUp();
    const { limits } = made;
    await lose(made, 50, 100);
    await lose(made, 10, 50);
    await lose(made, 10, limits.most);
    assert.deepEqual([limits.most, limits.isEvicting], [30, true]);
    await lose(made, 10, limits.most);
    assert.deepEqual([limits.most, limits.isEvicting], [Infinity, false]);
    await lose(made, 50, 100);
    assert.deepEqual([limits.most, limits.facts()], [Infinity, null]);
  });

  for (const [why, ours, first, second] of /** @type {Array<[string, number, number, number]>} */ ([
    ['one now and then', 0, 1, 1],
    ['many at once, at depths that differ', 0, 80, 5],
    ['many at once, of a pool that kept more for a block', 100, 50, 50],
  ]))
    it(`is not proven by losses of ${why}`, async () => {
      const made = setUp();
      const { limits } = made;
      addBlocks(limits, ours);
      await lose(made, first, 100);
      await calm(made, ours);
      await calm(made, ours);
      await lose(made, second, 80);
      assert.equal(limits.facts(), null);
    });

  it('what a full block may have left out was not lost', () => {
    const { clock, limits } = setUp();
    limits.observe({ number: 6, ours: 1, gasUsed: 90, gasLimit: 100 }, 20);
    limits.lost(100, clock.nowUs(), 5);
    limits.look(100, 800);
    assert.equal(limits.most, Infinity);
    limits.lost(100, clock.nowUs(), 7);
    limits.look(100, 800);
    assert.equal(limits.most, 1);
  });
});
