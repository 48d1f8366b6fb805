import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Wallet } from '../../../src/chain/keys.js';
import { toHex } from '../../../src/chain/rpc.js';
import { Account } from '../../../src/core/nonces.js';
import { Operation } from '../../../src/core/operation.js';
import { isDue, rebroadcastOverdue, overdueAfterMs, rebroadcast } from '../../../src/core/recovery.js';
import { RetryPolicy } from '../../../src/core/submit.js';
import { ProtocolError, RpcError, TransportError } from '../../../src/errors.js';
import { createFakeClock } from '../../helpers/clock.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { addressOf } from '../../helpers/samples.js';

/** @import { Tools } from '../../../src/core/operation.js' */

/** @typedef {ReturnType<typeof setUp>} Setting */

/** Block time: operations are overdue after two seconds. */
const BLOCK_MS = 400;
const START_BLOCK = 1;
const HEAD = 9;
const FEE = Object.freeze({ maxFeePerGasWei: 10n });

/** A node whose state is set by the test. @param {{blockMs?: number}} [options] */
function setUp({ blockMs = BLOCK_MS } = {}) {
  const clock = createFakeClock();
  const startUs = clock.nowUs();
  /** Next nonce by address; blocks of receipts and the pool by hash. */
  const node = {
    nonces: /** @type {Map<string, number>} */ (new Map()),
    minedIn: /** @type {Map<string, number>} */ (new Map()),
    pool: /** @type {Set<string>} */ (new Set()),
    foreign: /** @type {{hash: string, from: string, nonce: string}[]} */ ([]),
    isAway: false,
    /** The last block. */
    lastBlock: Infinity,
    /** The error of a submission. @type {(raw: string) => Error | null} */
    refuse: () => null,
    /** Called during a lookup. */
    onLookup: () => {},
  };
  /** @type {string[]} */
  const sent = [];
  const rpc = fakeRpc({
    eth_getTransactionCount: (address) => {
      if (node.isAway) throw new TransportError('connection refused', 'refused');
      return toHex(node.nonces.get(address) ?? 0);
    },
    eth_getTransactionByHash: (hash) => {
      node.onLookup();
      return node.pool.has(hash) || node.minedIn.has(hash) ? {} : null;
    },
    eth_getTransactionReceipt: (hash) => {
      const number = node.minedIn.get(hash);
      return number === undefined
        ? null
        : { transactionHash: hash, blockNumber: toHex(number), blockHash: `0x${number}`, status: '0x1' };
    },
    eth_blockNumber: () => toHex(HEAD),
    eth_getBlockByNumber: () => ({ transactions: node.foreign }),
    eth_sendRawTransaction: (raw) => {
      sent.push(raw);
      const error = node.refuse(raw);
      if (error !== null) throw error;
      return '0x';
    },
  });
  const resubmissions = { repeated: 0, rebroadcast: 0, lost: 0, replaced: 0 };
  const presigner = {
    mostRaises: Infinity,
    isTooLow: () => false,
    /** @param {Operation} operation */
    raise(operation) {
      if (this.mostRaises === 0) return false;
      this.mostRaises -= 1;
      const raw = `${operation.raw}+`;
      operation.setTransaction({ raw, hash: `hash of ${raw}`, fee: FEE });
      return true;
    },
  };
  const tools = /** @type {Tools} */ (
    /** @type {unknown} */ ({
      rpc,
      clock,
      resubmissions,
      presigner,
      retryPolicy: new RetryPolicy(() => 0),
      startBlock: START_BLOCK,
      inclusion: {
        stats: () => ({
          blockMs,
          newestBlock: Math.min(HEAD + Math.floor((clock.nowUs() - startUs) / 1000 / blockMs), node.lastBlock),
        }),
        hasPassed: (/** @type {number} */ number) => number <= HEAD,
      },
    })
  );
  /** @type {Map<number, Account>} */
  const accounts = new Map();
  /** @type {Set<Operation>} */
  const live = new Set();
  /** An accepted operation that the node knows. @param {number} [position] of its wallet */
  const begin = (position = 0) => {
    const wallet = Wallet.withoutKey(position);
    wallet.address = addressOf(position + 1);
    const account = accounts.get(position) ?? new Account(position, wallet);
    accounts.set(position, account);
    const nowUs = clock.nowUs();
    const operation = new Operation(account, { intendedAtUs: nowUs, startedAtUs: nowUs }, () => live.delete(operation));
    const raw = `${position}-${operation.nonce}`;
    operation.setTransaction({ raw, hash: `hash of ${raw}`, fee: FEE });
    operation.acceptedAtUs = nowUs;
    node.pool.add(`hash of ${raw}`);
    live.add(operation);
    return operation;
  };
  /** @type {Array<[Account, number]>} */
  const lost = [];
  const over = new AbortController();
  const watch = () => rebroadcastOverdue(tools, live, over.signal, (account, nonce) => lost.push([account, nonce]));
  return { clock, node, sent, rpc, resubmissions, presigner, tools, accounts, live, begin, lost, over, watch };
}

/** @param {Operation} operation */
const addressFor = ({ account }) => account.wallet.address;

describe('overdueAfterMs()', () => {
  it('five blocks, between one and fifteen seconds', () => {
    const after = [10, 200, 1000, 3000, 60_000].map((blockMs) => overdueAfterMs(setUp({ blockMs }).tools));
    assert.deepEqual(after, [1000, 1000, 5000, 15_000, 15_000]);
  });
});

describe('isDue()', () => {
  /** From when on, in seconds. @param {Parameters<typeof isDue>[0]} operation */
  function dueAtS(operation) {
    for (let s = 0; s < 1000; s += 1) if (isDue(operation, s * 1_000_000, 2000)) return s;
    return null;
  }
  /** @param {{accepted?: number | null, started?: number, pushedAt?: number, times?: number}} given in seconds */
  const operationOf = ({ accepted = 10, started = 5, pushedAt = 0, times = 0 }) =>
    /** @type {Operation} */ ({
      acceptedAtUs: accepted === null ? null : accepted * 1e6,
      startedAtUs: started * 1e6,
      lastRebroadcast: { atUs: pushedAt * 1e6, times },
    });

  it('counts from acceptance, or from the start if not accepted', () => {
    assert.equal(dueAtS(operationOf({})), 12);
    assert.equal(dueAtS(operationOf({ accepted: null })), 7);
  });

  it('counts from the last rebroadcast, doubles each time up to a minute', () => {
    const at = [1, 2, 3, 4, 5, 6, 500].map((times) => dueAtS(operationOf({ pushedAt: 100, times })));
    assert.deepEqual(at, [104, 108, 116, 132, 160, 160, 160]);
  });
});

describe('rebroadcastOverdue(): not included', () => {
  it('makes no call for operations not overdue, not accepted or included', async () => {
    const { clock, begin, rpc, watch } = setUp();
    begin(0);
    begin(1).acceptedAtUs = null;
    begin(2).inclusion = { number: 2, hash: '0x2', seenAtUs: 0 };
    void watch();
    await clock.advance(1999);
    assert.equal(rpc.count(), 0);
    await clock.advance(1);
    assert.deepEqual(
      rpc.calls.map(({ method, params }) => [method, params[0]]),
      [
        ['eth_getTransactionCount', addressOf(1)],
        ['eth_getTransactionByHash', 'hash of 0-0'],
        ['eth_sendRawTransaction', '0-0'],
      ],
    );
    assert.deepEqual(
      rpc.calls.map(({ purpose }) => purpose),
      ['resolve', 'resolve', 'resubmit'],
    );
  });

  it('lost by the node: rebroadcast, and soon again while unknown', async () => {
    const { clock, begin, node, sent, resubmissions, rpc, watch } = setUp();
    const operation = begin();
    node.pool.clear();
    void watch();
    await clock.advance(2000);
    assert.deepEqual(sent, ['0-0']);
    assert.deepEqual(operation.lastRebroadcast, { atUs: clock.nowUs(), times: 0, block: null });
    await clock.advance(8000);
    assert.equal(sent.length, 5, 'every two seconds');
    assert.deepEqual(resubmissions, { repeated: 0, rebroadcast: 5, lost: 5, replaced: 0 });
    assert.ok(rpc.calls.every(({ method, purpose }) => method !== 'eth_sendRawTransaction' || purpose === 'resubmit'));
  });

  it('rebroadcasts lost ones in nonce order, even behind others', async () => {
    const { clock, begin, node, sent, live, watch } = setUp();
    const [first, second, third] = [begin(), begin(), begin()];
    node.pool.clear();
    live.clear();
    for (const operation of [first, third, second]) live.add(operation);
    void watch();
    await clock.advance(2000);
    assert.deepEqual(sent, ['0-0', '0-1', '0-2']);
  });

  it('known and next: rebroadcast, less often each time', async () => {
    const { clock, begin, sent, watch } = setUp();
    begin();
    void watch();
    const times = [];
    for (let s = 1; s <= 140; s += 1) {
      const before = sent.length;
      await clock.advance(1000);
      if (sent.length > before) times.push(s);
    }
    assert.deepEqual(times, [2, 6, 14, 30, 62, 122]);
  });

  it('known while no blocks are made: not rebroadcast', async () => {
    for (const blockMs of [400, 12_000]) {
      const { clock, begin, node, rpc, sent, resubmissions, watch } = setUp({ blockMs });
      node.lastBlock = HEAD + 2;
      begin();
      void watch();
      await clock.advance(120_000);
      assert.ok(rpc.count('eth_getTransactionByHash') >= 5, 'it is asked for');
      assert.deepEqual(sent, []);
      assert.deepEqual(resubmissions, { repeated: 0, rebroadcast: 0, lost: 0, replaced: 0 });
    }
  });

  it('unknown to one node and known to the next: not counted as lost', async () => {
    const { clock, begin, node, sent, resubmissions, watch } = setUp();
    begin();
    node.pool.clear();
    node.refuse = () => new RpcError('eth_sendRawTransaction', -32000, 'already known');
    void watch();
    await clock.advance(2000);
    node.refuse = () => new TransportError('no answer', 'timeout');
    await clock.advance(2000);
    assert.equal(sent.length, 2);
    assert.deepEqual(resubmissions, { repeated: 0, rebroadcast: 2, lost: 0, replaced: 0 });
  });

  it('known and waiting for an earlier nonce: not rebroadcast', async () => {
    const { clock, begin, node, sent, live, watch } = setUp();
    const first = begin();
    begin();
    live.delete(first);
    node.nonces.set(addressFor(first), 0);
    void watch();
    await clock.advance(20_000);
    assert.deepEqual(sent, []);
  });

  it('included or ended meanwhile: not rebroadcast', async () => {
    const { clock, begin, node, sent, watch } = setUp();
    const [first, second] = [begin(0), begin(1)];
    node.pool.clear();
    node.onLookup = () => {
      first.inclusion ??= { number: 2, hash: '0x2', seenAtUs: 0 };
      second.end('timed_out', null, clock.nowUs());
    };
    void watch();
    await clock.advance(10_000);
    assert.deepEqual(sent, []);
  });
});

describe('rebroadcast() with several endpoints', () => {
  it('notes the endpoint', async () => {
    const { tools, begin } = setUp();
    const operation = begin();
    operation.endpoint = 0;
    const call = async (/** @type {any[]} */ ...[, , , onSent]) => onSent(1);
    await rebroadcast({ ...tools, rpc: { ...tools.rpc, call } }, operation);
    assert.equal(operation.endpoint, 1);
  });
});

describe('rebroadcastOverdue(): a fee that is too low', () => {
  it('replaces a transaction below the fee of the newest block', async () => {
    const { clock, begin, presigner, sent, resubmissions, watch } = setUp();
    presigner.isTooLow = () => true;
    const operation = begin();
    void watch();
    await clock.advance(2000);
    assert.deepEqual(sent, ['0-0+']);
    assert.deepEqual(operation.hashes, ['hash of 0-0', 'hash of 0-0+']);
    assert.deepEqual(resubmissions, { repeated: 0, rebroadcast: 0, lost: 0, replaced: 1 });
  });

  it('sends nothing if the fee cannot be raised', async () => {
    const { clock, begin, presigner, sent, resubmissions, watch } = setUp();
    presigner.isTooLow = () => true;
    presigner.mostRaises = 0;
    begin();
    void watch();
    await clock.advance(5000);
    assert.deepEqual([sent, resubmissions.rebroadcast, resubmissions.replaced], [[], 0, 0]);
  });

  it('sends an unknown transaction unchanged, with any fee', async () => {
    const { clock, begin, node, presigner, sent, watch } = setUp();
    presigner.isTooLow = () => true;
    begin();
    node.pool.clear();
    void watch();
    await clock.advance(2000);
    assert.deepEqual(sent, ['0-0']);
  });
});

describe('rebroadcastOverdue(): a used nonce', () => {
  it('ours, in a block already read: the operation is included', async () => {
    const { clock, begin, node, sent, watch } = setUp();
    const operation = begin();
    node.nonces.set(addressFor(operation), 1);
    node.minedIn.set('hash of 0-0', 5);
    void watch();
    await clock.advance(2000);
    assert.deepEqual(operation.inclusion, { number: 5, hash: '0x5', seenAtUs: clock.nowUs() });
    assert.deepEqual(sent, []);
  });

  it('ours, in a later block: left to the detector', async () => {
    const { clock, begin, node, watch } = setUp();
    const operation = begin();
    node.nonces.set(addressFor(operation), 1);
    node.minedIn.set('hash of 0-0', HEAD + 1);
    void watch();
    await clock.advance(2000);
    assert.equal(operation.inclusion, null);
    assert.equal(operation.isCancelled, false);
  });

  it('foreign, with proof: ends as replaced', async () => {
    const { clock, begin, node, live, watch } = setUp();
    const operation = begin();
    node.pool.clear();
    node.nonces.set(addressFor(operation), 1);
    node.foreign.push({ hash: `0x${'f'.repeat(64)}`, from: addressFor(operation), nonce: '0x0' });
    let code = null;
    operation.release = () => (code = 'released');
    void watch();
    await clock.advance(2000);
    assert.deepEqual([operation.isCancelled, live.size, code], [true, 0, 'released']);
  });

  it('does nothing without proof', async () => {
    const { clock, begin, node, sent, watch } = setUp();
    const operation = begin();
    node.nonces.set(addressFor(operation), 1);
    void watch();
    await clock.advance(5000);
    assert.deepEqual([operation.isCancelled, operation.inclusion, sent], [false, null, []]);
  });
});

describe("rebroadcastOverdue(): the node's nonce is below ours", () => {
  /** @param {Setting} setting */
  function fallBehind({ begin, node }) {
    const operation = begin();
    operation.account.wallet.nonce = 3;
    operation.nonce = 3;
    node.nonces.set(addressFor(operation), 1);
    return operation;
  }

  it('for two seconds: reports the nonce from which on transactions are lost', async () => {
    const setting = setUp();
    const { account } = fallBehind(setting);
    void setting.watch();
    await setting.clock.advance(2999);
    assert.equal(setting.lost.length, 0);
    await setting.clock.advance(20_000);
    assert.ok(setting.lost.length >= 1);
    assert.equal(setting.lost[0][0], account);
    assert.equal(setting.lost[0][1], 1);
  });

  it('once: the node may lag', async () => {
    const setting = setUp();
    const operation = fallBehind(setting);
    void setting.watch();
    await setting.clock.advance(2000);
    setting.node.nonces.set(addressFor(operation), 3);
    await setting.clock.advance(20_000);
    assert.deepEqual(setting.lost, []);
  });
});

describe('rebroadcastOverdue(): rounds', () => {
  it('a hundred at a time, rotating', async () => {
    const { clock, begin, rpc, watch } = setUp();
    // They wait for earlier nonces, so all stay overdue.
    for (let i = 0; i < 250; i += 1) begin(i).nonce = 5;
    const asked = () => rpc.calls.filter(({ method }) => method === 'eth_getTransactionByHash');
    void watch();
    await clock.advance(2000);
    assert.equal(asked().length, 100);
    await clock.advance(2000);
    assert.equal(asked().length, 300);
    assert.equal(new Set(asked().map(({ params }) => params[0])).size, 250);
  });

  it('an endpoint that is down is retried in the next round', async () => {
    const { clock, begin, node, sent, watch } = setUp();
    begin();
    node.isAway = true;
    void watch();
    await clock.advance(5000);
    assert.deepEqual(sent, []);
    node.isAway = false;
    await clock.advance(1000);
    assert.deepEqual(sent, ['0-0']);
  });

  it('respects Retry-After', async () => {
    const { clock, begin, tools, rpc, watch } = setUp();
    begin();
    tools.retryPolicy.noteRetryAfter(new ProtocolError('busy', undefined, 429, 7000), clock.nowUs());
    void watch();
    await clock.advance(6999);
    assert.equal(rpc.count(), 0);
    await clock.advance(1);
    assert.ok(rpc.count() > 0);
  });

  it('ends at once with the signal', async () => {
    const { clock, over, watch } = setUp();
    let isOver = false;
    void watch().then(() => (isOver = true));
    await clock.advance(500);
    over.abort();
    await clock.settle();
    assert.deepEqual([isOver, clock.pending()], [true, 0]);
  });
});

describe('rebroadcast()', () => {
  const underpriced = () => new RpcError('eth_sendRawTransaction', -32000, 'transaction underpriced');

  it('replaces a transaction once if the node reports a low fee', async () => {
    const { begin, node, tools, sent, resubmissions } = setUp();
    const operation = begin();
    node.refuse = underpriced;
    await rebroadcast(tools, operation);
    assert.deepEqual(sent, ['0-0', '0-0+']);
    assert.deepEqual(resubmissions, { repeated: 0, rebroadcast: 1, lost: 0, replaced: 1 });
    assert.equal(operation.lastRebroadcast.times, 1);
  });

  it('makes at most twenty transactions per nonce', async () => {
    const { begin, node, tools, sent } = setUp();
    const operation = begin();
    node.refuse = underpriced;
    for (let i = 0; i < 30; i += 1) await rebroadcast(tools, operation);
    assert.equal(operation.hashes.length, 20);
    sent.length = 0;
    await rebroadcast(tools, operation, { isTooLow: true });
    assert.deepEqual(sent, []);
  });

  it('sends a past operation unchanged', async () => {
    const { begin, node, tools, sent, resubmissions } = setUp();
    const { account, nonce, hashes, raw } = begin();
    node.refuse = underpriced;
    await rebroadcast(tools, { account, nonce, hashes, raw });
    assert.deepEqual([sent, resubmissions.rebroadcast, resubmissions.replaced], [['0-0'], 1, 0]);
  });

  it('ignores errors of the node', async () => {
    const { begin, node, tools, sent } = setUp();
    const answers = ['already known', 'nonce too low', 'not today'].map(
      (words) => new RpcError('eth_sendRawTransaction', -32000, words),
    );
    for (const error of [...answers, new TransportError('no answer', 'timeout'), new ProtocolError('no JSON')]) {
      node.refuse = () => error;
      await rebroadcast(tools, begin());
    }
    assert.equal(sent.length, 5);
  });
});
