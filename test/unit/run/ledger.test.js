import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Wallet } from '../../../src/chain/wallets.js';
import { Account } from '../../../src/run/account.js';
import { Ledger } from '../../../src/run/ledger.js';
import { sampleOf } from '../../helpers/samples.js';

/**
 * @typedef {import('../../../src/run/fate.js').Fate} Fate
 * @typedef {import('../../../src/run/fate.js').Decision} Decision
 * @typedef {import('../../../src/run/ledger.js').Open} Open
 */

const FIRST_INDEX = 100;
const START_NONCE = 7;
/** Fates after which the nonce of an operation is used up. */
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

/** An operation that did not verify, as the driver and repair() enter it. @param {Ledger} ledger @param {number} [position] @returns {Open} */
function lose(ledger, position = 0) {
  const account = ledger.accounts[position];
  const hash = `0x${(++lastHash).toString(16).padStart(64, '0')}`;
  const operation = /** @type {import('../../../src/run/operation.js').Operation} */ ({ account, hashes: [hash] });
  const { nonce, undecided } = account.take(operation);
  operation.nonce = nonce;
  operation.hashes.unshift(...(undecided?.operation.hashes ?? []));
  const slot = account.slotOf(nonce) ?? assert.fail('it has no slot');
  slot.standing = 'open';
  const { index } = account.wallet;
  const sample = sampleOf({ position, walletIndex: index, nonce, hash, outcome: 'timed_out' });
  const open = { operation, sample };
  ledger.expect(open);
  return open;
}

/** The operation that a wallet's next nonce had, when the node knew nothing of it. @param {import('../../../src/run/account.js').Account} account */
function undecidedOf(account) {
  return account.slots.find(({ undecided }) => undecided !== null)?.undecided ?? null;
}

/** @param {Fate} fate @returns {Decision} */
function decision(fate) {
  return { fate, foreign: fate === 'replaced' ? { hash: `0x${'f0'.repeat(32)}`, blockNumber: 9 } : null };
}

/** @param {Ledger} ledger @param {Open} open @param {Fate} fate */
function settle(ledger, { operation, sample }, fate) {
  ledger.settle(operation, sample, decision(fate));
}

/** What has been counted for the only wallet. @param {Ledger} ledger */
function figures({ accounts: [account], unresolved, foreign }) {
  const { executed, includedLate, reverted, wallet } = account;
  const isUndecided = undecidedOf(account) !== null;
  return {
    ...{ executed, includedLate, reverted, nonces: wallet.nonce - START_NONCE },
    ...{ isUndecided, unresolved: unresolved.size, foreign: foreign.length },
  };
}

const NOTHING = { executed: 0, includedLate: 0, reverted: 0, nonces: 0, isUndecided: false, unresolved: 0, foreign: 0 };

/** @type {Record<Fate, Partial<typeof NOTHING>>} what one operation changes */
const CHANGES = {
  included: { executed: 1, includedLate: 1, nonces: 1 },
  reverted: { reverted: 1, nonces: 1 },
  replaced: { nonces: 1, foreign: 1 },
  never_sent: { isUndecided: true },
  pending: { unresolved: 1 },
};

describe('Ledger.settle()', () => {
  for (const [name, change] of Object.entries(CHANGES)) {
    const fate = /** @type {Fate} */ (name);
    it(`${fate}: each figure, the fate and the resolution`, () => {
      const { ledger, accusations } = ledgerOf();
      const open = lose(ledger);
      settle(ledger, open, fate);
      assert.deepEqual(figures(ledger), { ...NOTHING, ...change });
      assert.deepEqual(ledger.fates, { [fate]: 1 });
      const { hash } = open.sample;
      assert.deepEqual(ledger.resolutions, [
        { walletIndex: FIRST_INDEX, nonce: START_NONCE, hash, outcome: 'timed_out', code: null, fate },
      ]);
      assert.equal(accusations(), fate === 'replaced' ? 1 : 0);
    });
  }

  it('replaced: the proof names wallet, nonce and the transaction that is not ours', () => {
    const { ledger } = ledgerOf();
    settle(ledger, lose(ledger), 'replaced');
    assert.deepEqual(ledger.foreign, [
      { walletIndex: FIRST_INDEX, nonce: START_NONCE, hash: `0x${'f0'.repeat(32)}`, blockNumber: 9 },
    ]);
  });

  for (const fate of FINAL) {
    it(`never sent as far as the node knew, then ${fate}: it counts once, as what it became`, () => {
      const { ledger, accusations } = ledgerOf();
      const open = lose(ledger);
      settle(ledger, open, 'never_sent');
      settle(ledger, open, fate);
      assert.deepEqual(figures(ledger), { ...NOTHING, ...CHANGES[fate] });
      assert.deepEqual(ledger.fates, { never_sent: 0, [fate]: 1 });
      assert.deepEqual(
        ledger.resolutions.map((resolution) => resolution.fate),
        [fate],
      );
      assert.equal(accusations(), fate === 'replaced' ? 1 : 0);
    });
  }

  it('never sent, looked at again and still never sent: it counts once', () => {
    const { ledger } = ledgerOf();
    const open = lose(ledger);
    for (let i = 0; i < 3; i += 1) settle(ledger, open, 'never_sent');
    assert.deepEqual(ledger.fates, { never_sent: 1 });
    assert.equal(ledger.resolutions.length, 1);
    assert.equal(undecidedOf(ledger.accounts[0])?.operation, open.operation);
  });

  it('a later operation with the same nonce is another one, and knows the hashes of the earlier', () => {
    const { ledger } = ledgerOf();
    const first = lose(ledger);
    settle(ledger, first, 'never_sent');
    const second = lose(ledger);
    assert.equal(second.operation.nonce, first.operation.nonce);
    settle(ledger, second, 'never_sent');
    assert.deepEqual(ledger.fates, { never_sent: 2 });
    assert.deepEqual(undecidedOf(ledger.accounts[0])?.operation.hashes, [first.sample.hash, second.sample.hash]);
    settle(ledger, second, 'included');
    assert.deepEqual(ledger.fates, { never_sent: 1, included: 1 });
    assert.deepEqual(figures(ledger), { ...NOTHING, ...CHANGES.included });
  });

  it('a hash is listed once, with what was found out last; one that was never signed has none', () => {
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

  it('in every order of fates: each operation counts once, and the nonce follows', () => {
    const fates = fc.constantFrom(/** @type {Fate} */ ('never_sent'), ...FINAL);
    // Each step either looks at the wallet's undecided operation again, or loses another one.
    const steps = fc.array(fc.record({ position: fc.nat(1), fate: fates, isAgain: fc.boolean() }), { maxLength: 40 });
    fc.assert(
      fc.property(steps, (list) => {
        const { ledger, accusations } = ledgerOf(2);
        /** The last fate of each operation. @type {Map<Open['operation'], {position: number, fate: Fate}>} */
        const model = new Map();
        for (const { position, fate, isAgain } of list) {
          const undecided = undecidedOf(ledger.accounts[position]);
          const open = isAgain && undecided !== null ? undecided : lose(ledger, position);
          settle(ledger, open, fate);
          model.set(open.operation, { position, fate });
        }
        const all = [...model.values()];
        for (const fate of /** @type {const} */ (['never_sent', ...FINAL])) {
          assert.equal(ledger.fates[fate] ?? 0, all.filter((entry) => entry.fate === fate).length, fate);
        }
        for (const [position, account] of ledger.accounts.entries()) {
          const mine = all.filter((entry) => entry.position === position);
          const times = (/** @type {Fate} */ fate) => mine.filter((entry) => entry.fate === fate).length;
          assert.equal(account.executed, times('included'));
          assert.equal(account.includedLate, times('included'));
          assert.equal(account.reverted, times('reverted'));
          assert.equal(account.wallet.nonce - START_NONCE, times('included') + times('reverted') + times('replaced'));
          assert.equal(undecidedOf(account) !== null, mine.at(-1)?.fate === 'never_sent');
        }
        assert.equal(ledger.unresolved.size, 0);
        assert.equal(ledger.resolutions.length, model.size);
        assert.equal(ledger.foreign.length, ledger.fates.replaced ?? 0);
        assert.equal(accusations(), ledger.foreign.length);
      }),
      { seed: 11 },
    );
  });
});

describe('Ledger: what is listed is bounded', () => {
  it('1,000 are listed, all are counted, and one that is listed is still brought up to date', () => {
    const { ledger } = ledgerOf();
    const first = lose(ledger);
    settle(ledger, first, 'included');
    for (let i = 1; i < 1500; i += 1) settle(ledger, lose(ledger), 'included');
    assert.equal(ledger.resolutions.length, 1000);
    assert.equal(ledger.fates.included, 1500);
    assert.equal(ledger.accounts[0].executed, 1500);
    const { operation, sample } = first;
    ledger.settle(operation, sample, decision('reverted'));
    assert.deepEqual([ledger.resolutions.length, ledger.resolutions[0].fate], [1000, 'reverted']);
  });

  it('also when ledgers are put together', () => {
    const { ledger: whole } = ledgerOf(3);
    for (const first of [0, 1, 2]) {
      const { ledger } = ledgerOf(1, FIRST_INDEX + first);
      for (let i = 0; i < 600; i += 1) settle(ledger, lose(ledger), 'reverted');
      whole.adopt(structuredClone(ledger.state()), first);
    }
    assert.equal(whole.resolutions.length, 1000);
    assert.equal(whole.resolutions.filter(({ walletIndex }) => walletIndex === FIRST_INDEX + 1).length, 400);
    assert.equal(whole.fates.reverted, 1800);
    assert.deepEqual(
      whole.accounts.map(({ reverted }) => reverted),
      [600, 600, 600],
    );
  });
});

describe('Ledger.state() and adopt()', () => {
  /** Two parts, of two wallets and of one, with something of each kind in them. */
  function parts() {
    const left = ledgerOf(2).ledger;
    settle(left, lose(left, 0), 'included');
    settle(left, lose(left, 0), 'never_sent');
    const open = lose(left, 1);
    left.accounts[1].readBackRetries = 4;
    const right = ledgerOf(1, FIRST_INDEX + 2).ledger;
    settle(right, lose(right), 'reverted');
    settle(right, lose(right), 'replaced');
    right.accounts[0].executed += 5;
    right.accounts[0].wallet.nonce += 5;
    right.accounts[0].retired = 'it has no funds left';
    return { left, right, open };
  }

  function adopted() {
    const { left, right, open } = parts();
    const { ledger: whole, accusations } = ledgerOf(3);
    whole.adopt(structuredClone(left.state()), 0);
    whole.adopt(structuredClone(right.state()), 2);
    return { whole, left, right, open, accusations };
  }

  it('nothing is lost on the way to another thread, and every wallet finds its place', () => {
    const { whole, left, right } = adopted();
    assert.deepEqual(
      whole.accounts.map(({ executed, includedLate, reverted, retired, readBackRetries, wallet }) => [
        ...[wallet.index, wallet.nonce - START_NONCE, executed, includedLate, reverted, retired, readBackRetries],
      ]),
      [
        [FIRST_INDEX, 1, 1, 1, 0, null, 0],
        [FIRST_INDEX + 1, 0, 0, 0, 0, null, 4],
        [FIRST_INDEX + 2, 7, 5, 0, 1, 'it has no funds left', 0],
      ],
    );
    assert.deepEqual(whole.fates, { included: 1, never_sent: 1, reverted: 1, replaced: 1 });
    assert.deepEqual(whole.resolutions, [...left.resolutions, ...right.resolutions]);
    assert.deepEqual(whole.foreign, right.foreign);
  });

  it('what is open belongs to the wallets of the ledger that took it over', () => {
    const { whole, left, open } = adopted();
    assert.equal(whole.unresolved.size, 1);
    const found = whole.expected(whole.accounts[1], START_NONCE);
    assert.equal(found?.operation.account, whole.accounts[1]);
    assert.deepEqual(found?.operation.hashes, open.operation.hashes);
    assert.deepEqual(found?.sample, open.sample);
    const undecided = undecidedOf(whole.accounts[0]);
    assert.equal(undecided?.operation.account, whole.accounts[0]);
    assert.deepEqual(undecided?.operation.hashes, undecidedOf(left.accounts[0])?.operation.hashes);
    assert.equal(undecidedOf(whole.accounts[2]), null);
  });

  it('whoever was accused in a part was told of there: it is not told again', () => {
    const { whole, accusations } = adopted();
    assert.equal(accusations(), 0);
    assert.equal(whole.foreign.length, 1);
  });

  it('what arrived since is settled in the ledger that took it over, and counts once', () => {
    const { whole } = adopted();
    const undecided = undecidedOf(whole.accounts[0]) ?? assert.fail('it was never sent');
    settle(whole, undecided, 'never_sent');
    assert.equal(whole.fates.never_sent, 1);
    settle(whole, undecided, 'included');
    settle(whole, whole.expected(whole.accounts[1], START_NONCE) ?? assert.fail('it is open'), 'included');
    assert.deepEqual(whole.fates, { included: 3, never_sent: 0, reverted: 1, replaced: 1 });
    assert.deepEqual(
      whole.accounts.map(({ includedLate }) => includedLate),
      [2, 1, 0],
    );
    assert.equal(whole.unresolved.size, 0);
    assert.equal(whole.resolutions.length, 5);
    assert.equal(new Set(whole.resolutions.map(({ hash }) => hash)).size, 5);
  });

  it('what the ledger that took over does leaves the part as it was', () => {
    const { left } = parts();
    const { ledger: whole } = ledgerOf(2);
    const before = structuredClone(left.state());
    whole.adopt(structuredClone(left.state()), 0);
    settle(whole, undecidedOf(whole.accounts[0]) ?? assert.fail('it was never sent'), 'included');
    assert.deepEqual(left.state(), before);
  });
});

describe('Ledger: several operations of one wallet', () => {
  it('each is entered by its own nonce, in whatever order their fates are found', () => {
    const { ledger } = ledgerOf();
    const [account] = ledger.accounts;
    const opens = [lose(ledger), lose(ledger), lose(ledger)];
    assert.deepEqual(
      opens.map(({ operation }) => operation.nonce - START_NONCE),
      [0, 1, 2],
    );
    opens.forEach((open, i) => assert.equal(ledger.expected(account, START_NONCE + i), open));
    assert.equal(ledger.expected(account, START_NONCE + 3), null);

    settle(ledger, opens[2], 'included');
    assert.deepEqual([account.executed, account.includedLate, account.wallet.nonce], [0, 1, START_NONCE]);
    settle(ledger, opens[0], 'reverted');
    assert.deepEqual([account.executed, account.reverted, account.wallet.nonce], [0, 1, START_NONCE + 1]);
    assert.equal(ledger.unresolved.size, 1);
    settle(ledger, opens[1], 'included');
    assert.deepEqual([account.executed, account.includedLate, account.wallet.nonce], [2, 2, START_NONCE + 3]);
    assert.deepEqual([account.slots, ledger.unresolved.size], [[], 0]);
  });

  it('one that was never sent leaves its nonce to the next, with its hashes; the later ones keep theirs', () => {
    const { ledger } = ledgerOf();
    const [account] = ledger.accounts;
    const opens = [lose(ledger), lose(ledger)];
    settle(ledger, opens[0], 'never_sent');
    settle(ledger, opens[1], 'never_sent');
    const again = lose(ledger);
    assert.equal(again.operation.nonce, START_NONCE);
    assert.deepEqual(again.operation.hashes, [opens[0].sample.hash, again.sample.hash]);
    assert.equal(account.slotOf(START_NONCE + 1)?.undecided?.operation, opens[1].operation);
    // The first one arrives after all, and what it was is settled by its successor.
    settle(ledger, again, 'included');
    assert.equal(account.nextNonce, START_NONCE + 1);
    assert.deepEqual(ledger.fates, { never_sent: 2, included: 1 });
  });

  it('two wallets have the same nonces, and nothing else in common', () => {
    const { ledger } = ledgerOf(2);
    const opens = [lose(ledger, 0), lose(ledger, 1)];
    assert.equal(ledger.unresolved.size, 2);
    settle(ledger, opens[1], 'included');
    assert.equal(ledger.expected(ledger.accounts[0], START_NONCE), opens[0]);
    assert.equal(ledger.expected(ledger.accounts[1], START_NONCE), null);
  });

  it('what is known of each nonce comes along to another thread, and is settled there', () => {
    const { ledger: part } = ledgerOf();
    const opens = [lose(part), lose(part), lose(part), lose(part)];
    settle(part, opens[1], 'included');
    settle(part, opens[2], 'never_sent');
    settle(part, opens[3], 'reverted');
    const { ledger: whole } = ledgerOf(2, FIRST_INDEX - 1);
    whole.adopt(structuredClone(part.state()), 1);
    const [, account] = whole.accounts;
    assert.deepEqual(
      account.slots.map(({ standing }) => standing),
      ['open', 'executed', 'vacant', 'spent'],
    );
    assert.equal(account.nextNonce, START_NONCE + 2);
    settle(whole, whole.expected(account, START_NONCE) ?? assert.fail('it is open'), 'included');
    assert.deepEqual([account.executed, account.wallet.nonce], [2, START_NONCE + 2]);
    settle(whole, undecidedOf(account) ?? assert.fail('it was never sent'), 'included');
    assert.deepEqual([account.executed, account.includedLate, account.reverted], [3, 3, 1]);
    assert.deepEqual([account.wallet.nonce, account.slots], [START_NONCE + 4, []]);
  });
});
