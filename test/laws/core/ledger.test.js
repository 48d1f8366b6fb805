import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Wallet } from '../../../src/chain/keys.js';
import { Ledger } from '../../../src/core/ledger.js';
import { Account } from '../../../src/core/nonces.js';
import { sampleOf } from '../../helpers/samples.js';

/**
 * @import { TransactionStatus } from '../../../src/contracts/load.d.ts'
 * @import { UnresolvedOperation } from '../../../src/core/ledger.js'
 * @import { Operation } from '../../../src/core/operation.js'
 * @import { Decision } from '../../../src/core/transaction-status.js'
 */

const FIRST_INDEX = 100;
const START_NONCE = 7;
/** Statuses that use the nonce. */
const FINAL = /** @type {const} */ (['included', 'reverted', 'replaced']);

/** @param {number} count @param {number} [first] index of the first wallet */
function accountsOf(count, first = FIRST_INDEX) {
  return Array.from({ length: count }, (_, position) => {
    const wallet = Wallet.withoutKey(first + position);
    wallet.nonce = START_NONCE;
    return new Account(position, wallet);
  });
}

/** @param {number} [count] @param {number} [first] */
function ledgerOf(count = 1, first) {
  let accusations = 0;
  const ledger = new Ledger(accountsOf(count, first), () => (accusations += 1));
  return { ledger, accusations: () => accusations };
}

let lastHash = 0;

/**
 * A failed operation, as the driver and recovery enter it.
 * @param {Ledger} ledger
 * @param {number} [position]
 * @returns {UnresolvedOperation}
 */
function lose(ledger, position = 0) {
  const account = ledger.accounts[position];
  const hash = `0x${(++lastHash).toString(16).padStart(64, '0')}`;
  const operation = /** @type {Operation} */ ({ account, hashes: [hash] });
  const { nonce, undecided } = account.take(operation);
  operation.nonce = nonce;
  operation.hashes.unshift(...(undecided?.operation.hashes ?? []));
  const slot = account.slotOf(nonce) ?? assert.fail('it has no slot');
  slot.state = 'unresolved';
  const { index } = account.wallet;
  const sample = sampleOf({ position, walletIndex: index, nonce, hash, outcome: 'timed_out' });
  const open = { operation, sample };
  ledger.addUnresolved(open);
  return open;
}

/** The earlier operation of the wallet's next nonce. @param {Account} account */
function undecidedOf(account) {
  return account.slots.find(({ undecided }) => undecided !== null)?.undecided ?? null;
}

/** @param {TransactionStatus} fate @returns {Decision} */
function decision(fate) {
  return { status: fate, foreign: fate === 'replaced' ? { hash: `0x${'f0'.repeat(32)}`, blockNumber: 9 } : null };
}

/** @param {Ledger} ledger @param {UnresolvedOperation} open @param {TransactionStatus} fate */
function settle(ledger, { operation, sample }, fate) {
  ledger.settle(operation, sample, decision(fate));
}

describe('Ledger: bounded resolutions', () => {
  it('lists 1,000, counts all, and still updates those listed', () => {
    const { ledger } = ledgerOf();
    const first = lose(ledger);
    settle(ledger, first, 'included');
    for (let i = 1; i < 1500; i += 1) settle(ledger, lose(ledger), 'included');
    assert.equal(ledger.resolutions.length, 1000);
    assert.equal(ledger.statusCounts.included, 1500);
    assert.equal(ledger.accounts[0].executed, 1500);
    const { operation, sample } = first;
    ledger.settle(operation, sample, decision('reverted'));
    assert.deepEqual([ledger.resolutions.length, ledger.resolutions[0].fate], [1000, 'reverted']);
  });

  it('also after ledgers were merged', () => {
    const { ledger: whole } = ledgerOf(3);
    for (const first of [0, 1, 2]) {
      const { ledger } = ledgerOf(1, FIRST_INDEX + first);
      for (let i = 0; i < 600; i += 1) settle(ledger, lose(ledger), 'reverted');
      whole.fromState(structuredClone(ledger.toState()), first);
    }
    assert.deepEqual([whole.resolutions.length, whole.statusCounts.reverted], [1000, 1800]);
    assert.equal(whole.resolutions.filter(({ walletIndex }) => walletIndex === FIRST_INDEX + 1).length, 400);
  });
});

describe('Ledger.toState() and fromState()', () => {
  /** Two parts, with two wallets and one, and entries of each kind. */
  function parts() {
    const left = ledgerOf(2).ledger;
    settle(left, lose(left, 0), 'included');
    settle(left, lose(left, 0), 'never_sent');
    const open = lose(left, 1);
    left.verifiedBy = Float64Array.of(3, 4);
    const right = ledgerOf(1, FIRST_INDEX + 2).ledger;
    settle(right, lose(right), 'reverted');
    settle(right, lose(right), 'replaced');
    right.accounts[0].executed += 5;
    right.accounts[0].wallet.nonce += 5;
    right.verifiedBy = Float64Array.of(5);
    return { left, right, open };
  }

  function adopted() {
    const { left, right, open } = parts();
    const { ledger: whole, accusations } = ledgerOf(3);
    whole.fromState(structuredClone(left.toState()), 0);
    whole.fromState(structuredClone(right.toState()), 2);
    return { whole, left, right, open, accusations };
  }

  it('transfers everything, to the right wallets', () => {
    const { whole, left, right, open, accusations } = adopted();
    assert.deepEqual(
      whole.accounts.map(({ executed, wallet }, i) => {
        const { includedLate, reverted } = whole.counts[i];
        return [wallet.index, wallet.nonce - START_NONCE, executed, includedLate, reverted, whole.verifiedBy[i]];
      }),
      [
        [FIRST_INDEX, 1, 1, 1, 0, 3],
        [FIRST_INDEX + 1, 0, 0, 0, 0, 4],
        [FIRST_INDEX + 2, 7, 5, 0, 1, 5],
      ],
    );
    assert.deepEqual(whole.statusCounts, { included: 1, never_sent: 1, reverted: 1, replaced: 1 });
    assert.deepEqual(whole.resolutions, [...left.resolutions, ...right.resolutions]);
    assert.deepEqual(whole.foreign, right.foreign);
    assert.equal(accusations(), 0, 'a part reported it');
    const found = whole.unresolvedOf(whole.accounts[1], START_NONCE);
    assert.deepEqual([found?.operation.hashes, found?.sample], [open.operation.hashes, open.sample]);
    const hashes = undecidedOf(whole.accounts[0])?.operation.hashes;
    assert.deepEqual(hashes, undecidedOf(left.accounts[0])?.operation.hashes);
  });
});

/**
 * A verified operation, as the driver enters it.
 * @param {Ledger} ledger
 * @param {number} blockNumber
 * @param {number} [position]
 */
function verify(ledger, blockNumber, position = 0) {
  const account = ledger.accounts[position];
  const hash = `0x${(++lastHash).toString(16).padStart(64, '0')}`;
  const { nonce } = account.take(/** @type {any} */ ({ account, hashes: [hash] }));
  account.settle(nonce, 'executed');
  const own = { account, nonce, hashes: [hash], raw: `raw ${hash}`, startedAtUs: 0 };
  ledger.recentInclusions.add({ ...own, blockNumber, outcome: 'verified', isExecuted: true });
}

/** @param {Ledger} ledger @param {UnresolvedOperation} open @param {TransactionStatus} fate @param {number} blockNumber that holds it */
function settleIn(ledger, { operation, sample }, fate, blockNumber) {
  ledger.settle(operation, sample, { ...decision(fate), blockNumber });
}

it('Ledger.reopen(): reports overwritten entries', () => {
  const { ledger } = ledgerOf();
  for (let i = 0; i < 16_384 + 1; i += 1) verify(ledger, 10 + i);
  assert.equal(ledger.reopen(11).isComplete, true);
  assert.equal(ledger.reopen(10).isComplete, false);
});

describe('Ledger.settle() after a reorg', () => {
  /** A verified operation that is unresolved again. */
  function orphaned() {
    const { ledger } = ledgerOf();
    verify(ledger, 10);
    const [open] = ledger.reopen(10).orphans;
    return { ledger, open, account: ledger.accounts[0] };
  }

  it('the same in another thread', () => {
    const { ledger: part, open } = orphaned();
    settle(part, open, 'never_sent');
    verify(part, 30); // takes the nonce that is free
    verify(part, 31);
    part.reopen(31);
    const { ledger: whole } = ledgerOf();
    whole.fromState(structuredClone(part.toState()), 0);
    const [account] = whole.accounts;
    assert.deepEqual([whole.counts[0].reorgedOut, account.executed], [1, 1]);
    const orphan = whole.unresolvedOf(account, START_NONCE + 1) ?? assert.fail('it is open');
    settleIn(whole, orphan, 'included', 32);
    const { reorgedOut, includedLate } = whole.counts[0];
    assert.deepEqual([reorgedOut, account.executed, includedLate], [1, 2, 0]);
  });

  it('any sequence: what the chain has is what was counted, plus late, minus lost', () => {
    const fate = fc.constantFrom(...FINAL, /** @type {TransactionStatus} */ ('never_sent'));
    const step = fc.oneof(
      fc.record({ what: fc.constant('verify'), fate }),
      fc.record({ what: fc.constant('lose'), fate }),
      fc.record({ what: fc.constant('look again'), fate }),
      fc.record({ what: fc.constant('reorganise'), fate, depth: fc.integer({ min: 1, max: 4 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { ledger } = ledgerOf();
        const [account] = ledger.accounts;
        let block = 10;
        let verified = 0;
        const enter = (/** @type {UnresolvedOperation} */ open, /** @type {TransactionStatus} */ become) =>
          become === 'included' || become === 'reverted'
            ? settleIn(ledger, open, become, block)
            : settle(ledger, open, become);
        for (const given of steps) {
          block += 1;
          if (given.what === 'verify') {
            verify(ledger, block);
            verified += 1;
          } else if (given.what === 'lose') enter(lose(ledger), given.fate);
          else if (given.what === 'look again') {
            const undecided = undecidedOf(account);
            if (undecided !== null) enter(undecided, given.fate);
          } else if ('depth' in given) {
            const orphans = ledger.reopen(block - given.depth).orphans;
            for (const open of orphans) enter(open, given.fate);
          }
          const waiting = account.slots.filter(({ state }) => state === 'executed').length;
          const { executed } = account;
          const { includedLate, reorgedOut, reverted } = ledger.counts[0];
          assert.equal(executed + waiting, verified + includedLate - reorgedOut);
          assert.equal(reverted, ledger.statusCounts.reverted ?? 0);
          assert.ok(reorgedOut >= 0 && reverted >= 0 && executed >= 0);
          assert.equal(ledger.unresolved.size, 0);
        }
      }),
      { seed: 3, numRuns: 500 },
    );
  });
});
