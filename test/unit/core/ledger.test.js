import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Wallet } from '../../../src/chain/keys.js';
import { Ledger } from '../../../src/core/ledger.js';
import { Account } from '../../../src/core/nonces.js';
import { sampleOf } from '../../helpers/samples.js';

/**
 * @import { UnresolvedOperation } from '../../../src/core/ledger.js'
 * @import { Operation } from '../../../src/core/operation.js'
 * @import { Decision, TransactionStatus } from '../../../src/core/transaction-status.js'
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

/** The counts of the only wallet. @param {Ledger} ledger */
function figures({ accounts: [account], unresolved, foreign }) {
  const { executed, includedLate, reverted, wallet } = account;
  const isUndecided = undecidedOf(account) !== null;
  return {
    executed,
    includedLate,
    reverted,
    nonces: wallet.nonce - START_NONCE,
    isUndecided,
    unresolved: unresolved.size,
    foreign: foreign.length,
  };
}

const NOTHING = { executed: 0, includedLate: 0, reverted: 0, nonces: 0, isUndecided: false, unresolved: 0, foreign: 0 };

/** @type {Record<TransactionStatus, Partial<typeof NOTHING>>} what one operation changes */
const CHANGES = {
  included: { executed: 1, includedLate: 1, nonces: 1 },
  reverted: { reverted: 1, nonces: 1 },
  replaced: { nonces: 1, foreign: 1 },
  never_sent: { isUndecided: true },
  pending: { unresolved: 1 },
};

describe('Ledger.settle()', () => {
  for (const [name, change] of Object.entries(CHANGES)) {
    const fate = /** @type {TransactionStatus} */ (name);
    it(`${fate}: counts, nonce and resolution`, () => {
      const { ledger, accusations } = ledgerOf();
      const open = lose(ledger);
      settle(ledger, open, fate);
      assert.deepEqual(figures(ledger), { ...NOTHING, ...change });
      assert.deepEqual(ledger.statusCounts, { [fate]: 1 });
      const { hash } = open.sample;
      assert.deepEqual(ledger.resolutions, [
        { walletIndex: FIRST_INDEX, nonce: START_NONCE, hash, outcome: 'timed_out', code: null, fate },
      ]);
      assert.equal(accusations(), fate === 'replaced' ? 1 : 0);
    });
  }

  it('replaced: the proof names wallet, nonce and foreign transaction', () => {
    const { ledger } = ledgerOf();
    settle(ledger, lose(ledger), 'replaced');
    assert.deepEqual(ledger.foreign, [
      { walletIndex: FIRST_INDEX, nonce: START_NONCE, hash: `0x${'f0'.repeat(32)}`, blockNumber: 9 },
    ]);
  });

  for (const fate of FINAL) {
    it(`never sent, then ${fate}: counts once with the final status`, () => {
      const { ledger, accusations } = ledgerOf();
      const open = lose(ledger);
      settle(ledger, open, 'never_sent');
      settle(ledger, open, fate);
      assert.deepEqual(figures(ledger), { ...NOTHING, ...CHANGES[fate] });
      assert.deepEqual(ledger.statusCounts, { never_sent: 0, [fate]: 1 });
      assert.deepEqual(
        ledger.resolutions.map((resolution) => resolution.fate),
        [fate],
      );
      assert.equal(accusations(), fate === 'replaced' ? 1 : 0);
    });
  }

  it('never sent twice: counts once', () => {
    const { ledger } = ledgerOf();
    const open = lose(ledger);
    for (let i = 0; i < 3; i += 1) settle(ledger, open, 'never_sent');
    assert.deepEqual(ledger.statusCounts, { never_sent: 1 });
    assert.equal(ledger.resolutions.length, 1);
    assert.equal(undecidedOf(ledger.accounts[0])?.operation, open.operation);
  });

  it('a later operation with the same nonce is separate and has the earlier hashes', () => {
    const { ledger } = ledgerOf();
    const first = lose(ledger);
    settle(ledger, first, 'never_sent');
    const second = lose(ledger);
    assert.equal(second.operation.nonce, first.operation.nonce);
    settle(ledger, second, 'never_sent');
    assert.deepEqual(ledger.statusCounts, { never_sent: 2 });
    assert.deepEqual(undecidedOf(ledger.accounts[0])?.operation.hashes, [first.sample.hash, second.sample.hash]);
    settle(ledger, second, 'included');
    assert.deepEqual(ledger.statusCounts, { never_sent: 1, included: 1 });
    assert.deepEqual(figures(ledger), { ...NOTHING, ...CHANGES.included });
  });

  it('a hash is listed once with its last status; without a signature there is none', () => {
    const { ledger } = ledgerOf();
    const open = lose(ledger);
    settle(ledger, open, 'never_sent');
    settle(ledger, open, 'included');
    for (let i = 0; i < 2; i += 1) {
      const { operation } = lose(ledger);
      const sample = sampleOf({ walletIndex: FIRST_INDEX, hash: null, outcome: 'failed', code: 'internal' });
      ledger.settle(operation, sample, decision('never_sent'));
    }
    assert.deepEqual(
      ledger.resolutions.map(({ hash, code, fate }) => [hash, code, fate]),
      [
        [open.sample.hash, null, 'included'],
        [null, 'internal', 'never_sent'],
        [null, 'internal', 'never_sent'],
      ],
    );
  });

  it('any order of statuses: each operation counts once, and the nonce follows', () => {
    const fates = fc.constantFrom(/** @type {TransactionStatus} */ ('never_sent'), ...FINAL);
    // Each step settles the wallet's earlier operation again, or another one.
    const steps = fc.array(fc.record({ position: fc.nat(1), fate: fates, isAgain: fc.boolean() }), { maxLength: 40 });
    fc.assert(
      fc.property(steps, (list) => {
        const { ledger, accusations } = ledgerOf(2);
        /**
         * The last status of each operation.
         * @type {Map<UnresolvedOperation['operation'], {position: number, fate: TransactionStatus}>}
         */
        const model = new Map();
        for (const { position, fate, isAgain } of list) {
          const undecided = undecidedOf(ledger.accounts[position]);
          const open = isAgain && undecided !== null ? undecided : lose(ledger, position);
          settle(ledger, open, fate);
          model.set(open.operation, { position, fate });
        }
        const all = [...model.values()];
        for (const fate of /** @type {const} */ (['never_sent', ...FINAL])) {
          assert.equal(ledger.statusCounts[fate] ?? 0, all.filter((entry) => entry.fate === fate).length, fate);
        }
        for (const [position, account] of ledger.accounts.entries()) {
          const mine = all.filter((entry) => entry.position === position);
          const times = (/** @type {TransactionStatus} */ fate) => mine.filter((entry) => entry.fate === fate).length;
          assert.equal(account.executed, times('included'));
          assert.equal(account.includedLate, times('included'));
          assert.equal(account.reverted, times('reverted'));
          assert.equal(account.wallet.nonce - START_NONCE, times('included') + times('reverted') + times('replaced'));
          assert.equal(undecidedOf(account) !== null, mine.at(-1)?.fate === 'never_sent');
        }
        assert.equal(ledger.unresolved.size, 0);
        assert.equal(ledger.resolutions.length, model.size);
        assert.equal(ledger.foreign.length, ledger.statusCounts.replaced ?? 0);
        assert.equal(accusations(), ledger.foreign.length);
      }),
      { seed: 11 },
    );
  });
});

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
    assert.equal(whole.resolutions.length, 1000);
    assert.equal(whole.resolutions.filter(({ walletIndex }) => walletIndex === FIRST_INDEX + 1).length, 400);
    assert.equal(whole.statusCounts.reverted, 1800);
    assert.deepEqual(
      whole.accounts.map(({ reverted }) => reverted),
      [600, 600, 600],
    );
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
    const { whole, left, right } = adopted();
    assert.deepEqual(
      whole.accounts.map(({ executed, includedLate, reverted, wallet }, i) => [
        ...[wallet.index, wallet.nonce - START_NONCE, executed, includedLate, reverted, whole.verifiedBy[i]],
      ]),
      [
        [FIRST_INDEX, 1, 1, 1, 0, 3],
        [FIRST_INDEX + 1, 0, 0, 0, 0, 4],
        [FIRST_INDEX + 2, 7, 5, 0, 1, 5],
      ],
    );
    assert.deepEqual(whole.statusCounts, { included: 1, never_sent: 1, reverted: 1, replaced: 1 });
    assert.deepEqual(whole.resolutions, [...left.resolutions, ...right.resolutions]);
    assert.deepEqual(whole.foreign, right.foreign);
  });

  it("unresolved operations belong to the receiving ledger's wallets", () => {
    const { whole, left, open } = adopted();
    assert.equal(whole.unresolved.size, 1);
    const found = whole.unresolvedOf(whole.accounts[1], START_NONCE);
    assert.equal(found?.operation.account, whole.accounts[1]);
    assert.deepEqual(found?.operation.hashes, open.operation.hashes);
    assert.deepEqual(found?.sample, open.sample);
    const undecided = undecidedOf(whole.accounts[0]);
    assert.equal(undecided?.operation.account, whole.accounts[0]);
    assert.deepEqual(undecided?.operation.hashes, undecidedOf(left.accounts[0])?.operation.hashes);
    assert.equal(undecidedOf(whole.accounts[2]), null);
  });

  it('a foreign sender reported by a part is not reported again', () => {
    const { whole, accusations } = adopted();
    assert.equal(accusations(), 0);
    assert.equal(whole.foreign.length, 1);
  });

  it('what arrives later is settled in the receiving ledger and counts once', () => {
    const { whole } = adopted();
    const undecided = undecidedOf(whole.accounts[0]) ?? assert.fail('it was never sent');
    settle(whole, undecided, 'never_sent');
    assert.equal(whole.statusCounts.never_sent, 1);
    settle(whole, undecided, 'included');
    settle(whole, whole.unresolvedOf(whole.accounts[1], START_NONCE) ?? assert.fail('it is open'), 'included');
    assert.deepEqual(whole.statusCounts, { included: 3, never_sent: 0, reverted: 1, replaced: 1 });
    assert.deepEqual(
      whole.accounts.map(({ includedLate }) => includedLate),
      [2, 1, 0],
    );
    assert.equal(whole.unresolved.size, 0);
    assert.equal(whole.resolutions.length, 5);
    assert.equal(new Set(whole.resolutions.map(({ hash }) => hash)).size, 5);
  });

  it('the receiving ledger does not change the state of the part', () => {
    const { left } = parts();
    const { ledger: whole } = ledgerOf(2);
    const before = structuredClone(left.toState());
    whole.fromState(structuredClone(left.toState()), 0);
    settle(whole, undecidedOf(whole.accounts[0]) ?? assert.fail('it was never sent'), 'included');
    assert.deepEqual(left.toState(), before);
  });
});

describe('Ledger: several operations of one wallet', () => {
  it('each is entered by its own nonce, in any order of statuses', () => {
    const { ledger } = ledgerOf();
    const [account] = ledger.accounts;
    const opens = [lose(ledger), lose(ledger), lose(ledger)];
    assert.deepEqual(
      opens.map(({ operation }) => operation.nonce - START_NONCE),
      [0, 1, 2],
    );
    opens.forEach((open, i) => assert.equal(ledger.unresolvedOf(account, START_NONCE + i), open));
    assert.equal(ledger.unresolvedOf(account, START_NONCE + 3), null);

    settle(ledger, opens[2], 'included');
    assert.deepEqual([account.executed, account.includedLate, account.wallet.nonce], [0, 1, START_NONCE]);
    settle(ledger, opens[0], 'reverted');
    assert.deepEqual([account.executed, account.reverted, account.wallet.nonce], [0, 1, START_NONCE + 1]);
    assert.equal(ledger.unresolved.size, 1);
    settle(ledger, opens[1], 'included');
    assert.deepEqual([account.executed, account.includedLate, account.wallet.nonce], [2, 2, START_NONCE + 3]);
    assert.deepEqual([account.slots, ledger.unresolved.size], [[], 0]);
  });

  it('one never sent leaves its nonce and hashes to the next operation', () => {
    const { ledger } = ledgerOf();
    const [account] = ledger.accounts;
    const opens = [lose(ledger), lose(ledger)];
    settle(ledger, opens[0], 'never_sent');
    settle(ledger, opens[1], 'never_sent');
    const again = lose(ledger);
    assert.equal(again.operation.nonce, START_NONCE);
    assert.deepEqual(again.operation.hashes, [opens[0].sample.hash, again.sample.hash]);
    assert.equal(account.slotOf(START_NONCE + 1)?.undecided?.operation, opens[1].operation);
    // The first one is included after all, settled through its successor.
    settle(ledger, again, 'included');
    assert.equal(account.nextNonce, START_NONCE + 1);
    assert.deepEqual(ledger.statusCounts, { never_sent: 2, included: 1 });
  });

  it('two wallets with the same nonces are independent', () => {
    const { ledger } = ledgerOf(2);
    const opens = [lose(ledger, 0), lose(ledger, 1)];
    assert.equal(ledger.unresolved.size, 2);
    settle(ledger, opens[1], 'included');
    assert.equal(ledger.unresolvedOf(ledger.accounts[0], START_NONCE), opens[0]);
    assert.equal(ledger.unresolvedOf(ledger.accounts[1], START_NONCE), null);
  });

  it('the state of each nonce is transferred and settled there', () => {
    const { ledger: part } = ledgerOf();
    const opens = [lose(part), lose(part), lose(part), lose(part)];
    settle(part, opens[1], 'included');
    settle(part, opens[2], 'never_sent');
    settle(part, opens[3], 'reverted');
    const { ledger: whole } = ledgerOf(2, FIRST_INDEX - 1);
    whole.fromState(structuredClone(part.toState()), 1);
    const [, account] = whole.accounts;
    assert.deepEqual(
      account.slots.map(({ state }) => state),
      ['unresolved', 'executed', 'free', 'used'],
    );
    assert.equal(account.nextNonce, START_NONCE + 2);
    settle(whole, whole.unresolvedOf(account, START_NONCE) ?? assert.fail('it is open'), 'included');
    assert.deepEqual([account.executed, account.wallet.nonce], [2, START_NONCE + 2]);
    settle(whole, undecidedOf(account) ?? assert.fail('it was never sent'), 'included');
    assert.deepEqual([account.executed, account.includedLate, account.reverted], [3, 3, 1]);
    assert.deepEqual([account.wallet.nonce, account.slots], [START_NONCE + 4, []]);
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
  const raw = `raw ${hash}`;
  ledger.recentInclusions.add({
    account,
    nonce,
    hashes: [hash],
    raw,
    promise: null,
    blockNumber,
    outcome: 'verified',
    isExecuted: true,
  });
  return { nonce, hash };
}

/** @param {Ledger} ledger @param {UnresolvedOperation} open @param {TransactionStatus} fate @param {number} blockNumber that holds it */
function settleIn(ledger, { operation, sample }, fate, blockNumber) {
  ledger.settle(operation, sample, { ...decision(fate), blockNumber });
}

describe('Ledger.reopen()', () => {
  it('operations of the blocks are unresolved again, earlier ones are not', () => {
    const { ledger } = ledgerOf();
    const [account] = ledger.accounts;
    verify(ledger, 10);
    const [second, third] = [verify(ledger, 11), verify(ledger, 12)];
    const { orphans, isComplete } = ledger.reopen(11);
    assert.equal(isComplete, true);
    assert.deepEqual(
      orphans,
      [second, third].map(({ nonce, hash }, i) => ({
        operation: { account, nonce, hashes: [hash], raw: `raw ${hash}`, promise: null },
        sample: { walletIndex: FIRST_INDEX, hash, outcome: 'verified', code: null },
        isOrphan: true,
        lostBlock: 11 + i,
      })),
    );
    assert.deepEqual([account.executed, account.wallet.nonce], [1, START_NONCE + 1]);
    assert.deepEqual(
      account.slots.map(({ state }) => state),
      ['unresolved', 'unresolved'],
    );
    assert.deepEqual(ledger.reopen(11).orphans, [], 'once');
  });

  it('a reverted operation is no longer reverted', () => {
    const { ledger } = ledgerOf();
    const [account] = ledger.accounts;
    settleIn(ledger, lose(ledger), 'reverted', 11);
    assert.deepEqual([account.reverted, ledger.statusCounts.reverted], [1, 1]);
    const [open] = ledger.reopen(11).orphans;
    assert.deepEqual([account.reverted, ledger.statusCounts.reverted, open.isOrphan], [0, 0, false]);
    // It had not verified, so it counts as late.
    settleIn(ledger, open, 'included', 12);
    assert.deepEqual(figures(ledger), { ...NOTHING, ...CHANGES.included });
    assert.equal(account.reorgedOut, 0);
    assert.deepEqual(ledger.statusCounts, { reverted: 0, included: 1 });
  });

  it('each wallet goes back separately', () => {
    const { ledger } = ledgerOf(2);
    verify(ledger, 11, 0);
    verify(ledger, 10, 1);
    verify(ledger, 11, 1);
    ledger.reopen(11);
    assert.deepEqual(
      ledger.accounts.map(({ executed, wallet }) => [executed, wallet.nonce - START_NONCE]),
      [
        [0, 0],
        [1, 1],
      ],
    );
  });

  it('reports overwritten entries', () => {
    const { ledger } = ledgerOf();
    for (let i = 0; i < 16_384 + 1; i += 1) verify(ledger, 10 + i);
    assert.equal(ledger.reopen(11).isComplete, true);
    assert.equal(ledger.reopen(10).isComplete, false);
  });
});

describe('Ledger.reopenOf()', () => {
  it('reopens one wallet from a nonce on', () => {
    const { ledger } = ledgerOf(2);
    for (let i = 0; i < 3; i += 1) for (const position of [0, 1]) verify(ledger, 10, position);
    const orphans = ledger.reopenOf(ledger.accounts[1], START_NONCE + 1);
    assert.deepEqual(
      orphans.map(({ operation }) => [operation.account.position, operation.nonce - START_NONCE]),
      [
        [1, 1],
        [1, 2],
      ],
    );
    assert.deepEqual(
      ledger.accounts.map(({ executed }) => executed),
      [3, 1],
    );
    const reopened = () => ledger.reopen(10);
    const { orphans: others, waiting } = reopened();
    assert.deepEqual([others.length, waiting.length], [4, 2], 'those of before are not reopened twice');
    assert.deepEqual([reopened().orphans.length, ledger.reopen(11).waiting.length], [0, 0]);
  });
});

/** @param {Ledger} ledger */
function fatesOf({ statusCounts }) {
  return Object.fromEntries(Object.entries(statusCounts).filter(([, count]) => count !== 0));
}

describe('Ledger.settle() after a reorg', () => {
  /** A verified operation that is unresolved again. */
  function orphaned() {
    const { ledger, accusations } = ledgerOf();
    verify(ledger, 10);
    const [open] = ledger.reopen(10).orphans;
    return { ledger, open, account: ledger.accounts[0], accusations };
  }

  it('included again: counts as before, neither late nor lost', () => {
    const { ledger, open, account } = orphaned();
    settleIn(ledger, open, 'included', 11);
    assert.deepEqual(figures(ledger), { ...NOTHING, executed: 1, nonces: 1 });
    assert.deepEqual([account.reorgedOut, fatesOf(ledger), ledger.resolutions], [0, {}, []]);
  });

  for (const fate of /** @type {const} */ (['reverted', 'replaced', 'never_sent'])) {
    it(`${fate}: subtracted from what was counted as verified`, () => {
      const { ledger, open, account, accusations } = orphaned();
      settle(ledger, open, fate);
      assert.deepEqual(figures(ledger), { ...NOTHING, ...CHANGES[fate] });
      assert.deepEqual([account.reorgedOut, fatesOf(ledger)], [1, { [fate]: 1 }]);
      assert.deepEqual(
        ledger.resolutions.map((resolution) => [resolution.outcome, resolution.fate]),
        [['verified', fate]],
      );
      assert.equal(accusations(), fate === 'replaced' ? 1 : 0);
    });
  }

  it('pending: neither, and still an orphan when settled', () => {
    const { ledger, open, account } = orphaned();
    settle(ledger, open, 'pending');
    assert.deepEqual([account.reorgedOut, account.executed, ledger.unresolved.size], [0, 0, 1]);
    settleIn(ledger, open, 'included', 12);
    assert.deepEqual([account.reorgedOut, account.executed, account.includedLate], [0, 1, 0]);
  });

  it('never sent, then included again: nothing is lost', () => {
    const { ledger, open, account } = orphaned();
    settle(ledger, open, 'never_sent');
    settle(ledger, open, 'never_sent');
    assert.equal(account.reorgedOut, 1);
    settleIn(ledger, open, 'included', 20);
    assert.deepEqual([account.reorgedOut, account.executed, account.includedLate], [0, 1, 0]);
    assert.deepEqual(fatesOf(ledger), {});
  });

  for (const fate of /** @type {const} */ (['reverted', 'replaced'])) {
    it(`never sent, then ${fate}: lost once`, () => {
      const { ledger, open, account } = orphaned();
      settle(ledger, open, 'never_sent');
      settle(ledger, open, fate);
      assert.deepEqual([account.reorgedOut, account.executed], [1, 0]);
      assert.deepEqual(fatesOf(ledger), { [fate]: 1 });
    });
  }

  it('can be lost once per inclusion', () => {
    const { ledger, open, account } = orphaned();
    settleIn(ledger, open, 'included', 11);
    const [again] = ledger.reopen(11).orphans;
    assert.deepEqual([again.operation.nonce, again.operation.hashes], [open.operation.nonce, open.operation.hashes]);
    assert.deepEqual([account.executed, again.isOrphan], [0, true]);
    settle(ledger, again, 'replaced');
    assert.deepEqual([account.reorgedOut, account.executed], [1, 0]);
  });

  it('included late and then lost counts as both', () => {
    const { ledger } = ledgerOf();
    settleIn(ledger, lose(ledger), 'included', 10);
    const [open] = ledger.reopen(10).orphans;
    settle(ledger, open, 'never_sent');
    const [{ executed, includedLate, reorgedOut }] = ledger.accounts;
    assert.deepEqual([executed, includedLate, reorgedOut], [0, 1, 1]);
  });

  it('the same in another thread', () => {
    const { ledger: part, open } = orphaned();
    settle(part, open, 'never_sent');
    verify(part, 30); // takes the nonce that is free
    verify(part, 31);
    part.reopen(31).orphans;
    const { ledger: whole } = ledgerOf();
    whole.fromState(structuredClone(part.toState()), 0);
    const [account] = whole.accounts;
    assert.deepEqual([account.reorgedOut, account.executed], [1, 1]);
    const orphan = whole.unresolvedOf(account, START_NONCE + 1) ?? assert.fail('it is open');
    settleIn(whole, orphan, 'included', 32);
    assert.deepEqual([account.reorgedOut, account.executed, account.includedLate], [1, 2, 0]);
  });

  it('never sent in one thread, included again in another', () => {
    const { ledger: part, open } = orphaned();
    settle(part, open, 'never_sent');
    const { ledger: whole } = ledgerOf();
    whole.fromState(structuredClone(part.toState()), 0);
    const [account] = whole.accounts;
    settleIn(whole, undecidedOf(account) ?? assert.fail('it was given up'), 'included', 20);
    assert.deepEqual([account.reorgedOut, account.executed, account.includedLate], [0, 1, 0]);
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
          const { executed, includedLate, reorgedOut, reverted } = account;
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
