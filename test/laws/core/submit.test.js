import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Wallet } from '../../../src/chain/keys.js';
import { toHex } from '../../../src/chain/answers.js';
import { NodeLimits } from '../../../src/core/node-limits.js';
import { Account } from '../../../src/core/nonces.js';
import { Operation } from '../../../src/core/operation.js';
import { createTaken, submit } from '../../../src/chain/submit.js';
import { Lookups, OperationSubmission, RetryPolicy, Submissions, lookUp } from '../../../src/core/submit.js';
import { ProtocolError, RpcError, TransportError } from '../../../src/errors.js';
import { createFakeClock } from '../../helpers/clock.js';
import { equalBy } from '../../helpers/equal-by.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { hash32 } from '../../helpers/samples.js';

/** @import { Tools } from '../../../src/core/operation.js' */

/** The newest block read. */
const READ_BLOCK = 50;
const NO_REPLY = Object.freeze({ status: 200, retryAfterMs: null });

/** @param {string} words @param {{code?: number, status?: number, retryAfterMs?: number | null}} [reply] */
const refusal = (words, { code = -32000, ...reply } = {}) =>
  new RpcError('eth_sendRawTransaction', code, words, undefined, { ...NO_REPLY, ...reply });
const noAnswer = () => new TransportError('no answer in time', 'timeout');
const refused = () => new TransportError('connection refused', 'refused');
const NONCE_TOO_LOW = refusal('nonce too low');
const UNDERPRICED = refusal('transaction underpriced');

/**
 * @param {object} [options]
 * @param {Array<Error | string>} [options.answers] to each submission in turn: an error, or another hash than the
 *   right one; after the last of them the right one
 * @param {string[]} [options.earlier] hashes of transactions that earlier operations have sent with this nonce
 * @param {number} [options.mostRaises] how often more may be offered
 * @param {number} [options.random]
 * @param {(operation: Operation) => void} [options.onSent]
 */
function setUp({ answers = [], earlier = [], mostRaises = Infinity, random = 0, onSent } = {}) {
  const clock = createFakeClock();
  const startUs = clock.nowUs();
  /** Times and bytes of submissions. @type {Array<[number, string]>} */
  const sent = [];
  /** @type {Map<string, number>} */
  const minedIn = new Map();
  /** @type {Set<string>} */
  const pool = new Set();
  const rpc = fakeRpc({
    eth_sendRawTransaction: (raw) => {
      sent.push([(clock.nowUs() - startUs) / 1000, raw]);
      onSent?.(operation);
      const answer = answers.shift() ?? hash32(raw);
      if (answer instanceof Error) throw answer;
      return answer;
    },
    eth_getTransactionReceipt: (hash) => {
      const number = minedIn.get(hash);
      return number === undefined
        ? null
        : { transactionHash: hash, blockNumber: toHex(number), blockHash: hash32(number), status: '0x1' };
    },
    eth_getTransactionCount: () => toHex(minedIn.size),
    eth_getTransactionByHash: (hash) =>
      pool.has(hash) || minedIn.has(hash) ? { blockNumber: minedIn.get(hash) } : null,
  });
  const account = new Account(0, Wallet.withoutKey(0));
  if (earlier.length > 0) {
    const lost = /** @type {any} */ ({ operation: { hashes: earlier } });
    account.slots.push({ state: 'free', operation: null, undecided: lost });
  }
  const operation = new Operation(account, { intendedAtUs: startUs, startedAtUs: startUs }, () => {});
  let raises = 0;
  const offer = () => operation.setTransaction({ raw: `raw ${raises}`, hash: hash32(`raw ${raises}`), fee: {} });
  offer();
  const resubmissions = { repeated: 0, refused: 0, rebroadcast: 0, lost: 0, replaced: 0 };
  /** @type {Tools} */
  const tools = /** @type {any} */ ({
    rpc,
    clock,
    lookups: new Lookups((looked) => lookUp(tools, looked)),
    resubmissions,
    refusals: {},
    limits: new NodeLimits(clock),
    taken: createTaken(clock),
    retryPolicy: new RetryPolicy(() => 0),
    random: () => random,
    inclusion: { hasPassed: (/** @type {number} */ number) => number <= READ_BLOCK },
    presigner: {
      raiseOffer: () => {
        if (raises === mostRaises) return 'more is not allowed';
        raises += 1;
        offer();
        return null;
      },
    },
  });
  /** @type {unknown} */
  let end = null;
  submit(new OperationSubmission(tools, operation), tools).then(
    () => (end = 'done'),
    (error) => (end = error),
  );
  return {
    clock,
    rpc,
    operation,
    tools,
    sent,
    minedIn,
    pool,
    resubmissions,
    times: () => sent.map(([ms]) => ms),
    end: () => end,
  };
}

/** @typedef {{end?: unknown, sent: number, found?: string, lookups?: number, receipts?: number, repeated?: number, refused?: number, replaced?: number}} Found */

describe('submit()', () => {
  const LOW = NONCE_TOO_LOW;
  const [ours, earlier] = [hash32('raw 0'), hash32('earlier')];
  const taken = refusal('replacement transaction underpriced');
  const many = (/** @type {Error} */ error) => Array(20).fill(error);
  const ASKED = { sent: 2, lookups: 1, repeated: 1 };
  const READ = { ...ASKED, receipts: 1 };
  const GIVEN_UP = { end: UNDERPRICED };
  const lowAfter = () => ({ answers: [noAnswer(), LOW] });
  const OF_EARLIER = {
    answers: [LOW],
    earlier: [earlier],
    mined: /** @type {[string, number]} */ ([earlier, READ_BLOCK]),
  };
  /** @type {Array<[string, Parameters<typeof setUp>[0] & {inPool?: boolean, mined?: [string, number]}, Found]>} found: the hash that is included */
  const table = [
    ['accepted with one request', {}, { sent: 1 }],
    ['known to the node already', { answers: [refusal('already known')] }, { sent: 1 }],
    ['a wrong hash is a failure', { answers: [hash32('other')] }, { end: 'hash_mismatch', sent: 1 }],
    ['a used nonce is ours if the node knows it', { answers: [noAnswer(), LOW, noAnswer()], inPool: true }, ASKED],
    ['so is a nonce that another transaction has', { answers: [noAnswer(), taken, noAnswer()], inPool: true }, ASKED],
    ['a used nonce, in a block already read', { ...lowAfter(), mined: [ours, READ_BLOCK] }, { ...READ, found: ours }],
    ['included in a later block: left to the detector', { ...lowAfter(), mined: [ours, READ_BLOCK + 1] }, READ],
    ['of an earlier operation', OF_EARLIER, { sent: 1, lookups: 2, receipts: 1, found: earlier }],
    ['a refusal in any words, in the pool', { answers: [refusal('not today')], inPool: true }, { sent: 1, lookups: 1 }],
    ['a refused connection sent nothing', { answers: [refused(), LOW, LOW] }, { ...ASKED, end: LOW }],
    [
      'an unknown transaction',
      { answers: [noAnswer(), ...many(LOW)] },
      { end: LOW, sent: 7, lookups: 6, repeated: 6, refused: 5 },
    ],
    ['a fee is raised', { answers: [UNDERPRICED, LOW], inPool: true }, { sent: 2, lookups: 2, replaced: 1 }],
    ['raised eight times at most', { answers: many(UNDERPRICED) }, { ...GIVEN_UP, sent: 9, lookups: 9, replaced: 8 }],
    ['to the limit', { answers: many(UNDERPRICED), mostRaises: 1 }, { ...GIVEN_UP, sent: 2, lookups: 2, replaced: 1 }],
  ];
  for (const [name, { inPool, mined, ...given }, expected] of table)
    it(name, async () => {
      const { end, clock, sent, pool, minedIn, operation, rpc, resubmissions } = setUp(given);
      if (inPool) pool.add(ours);
      if (mined) minedIn.set(...mined);
      await clock.advance(60_000);
      const {
        end: wanted = 'done',
        found = null,
        lookups = 0,
        receipts = 0,
        repeated = 0,
        refused = 0,
        replaced = 0,
      } = expected;
      assert.equal(wanted === 'hash_mismatch' ? /** @type {any} */ (end()).code : end(), wanted);
      const raws = Array.from({ length: expected.sent }, (_, i) => `raw ${Math.min(i, replaced)}`);
      equalBy(sent, ([, raw]) => raw, raws);
      const hashes = [...new Set(raws)].map(hash32);
      assert.deepEqual(operation.hashes.slice(-hashes.length), hashes);
      const { hash, inclusion } = operation;
      const included = inclusion && [hash, inclusion.number, inclusion.hash];
      assert.deepEqual(included, found && [found, READ_BLOCK, hash32(READ_BLOCK)]);
      assert.equal(rpc.count('eth_getTransactionByHash'), lookups);
      assert.equal(rpc.count('eth_getTransactionReceipt'), receipts);
      assert.deepEqual(resubmissions, { repeated, refused, rebroadcast: 0, lost: 0, replaced });
      assert.equal(clock.pending(), 0);
    });
});

it('a transaction that was written twice may have arrived by the first writing, so that its used nonce is looked up again', async () => {
  const { clock, rpc, operation, tools, sent } = setUp();
  await clock.settle();
  const written = sent.length;
  rpc.call = ((call) => (method, params, purpose, onSent) => {
    onSent?.();
    return method === 'eth_sendRawTransaction'
      ? call(method, params, purpose, onSent).then(() => Promise.reject(NONCE_TOO_LOW))
      : call(method, params, purpose, onSent);
  })(rpc.call);
  const end = submit(new OperationSubmission(tools, operation), tools).catch((error) => error);
  await clock.advance(20_000);
  assert.equal(await end, NONCE_TOO_LOW);
  assert.equal(sent.length - written, 6);
});

describe('submit(): repeated or not', () => {
  const again = {
    'no answer': noAnswer(),
    'connection reset': new TransportError('connection lost', 'reset'),
    'connection refused': refused(),
    nonsense: new ProtocolError('no JSON'),
    'too many requests': new ProtocolError('429', undefined, 429),
    'a busy node': refusal('limit exceeded', { code: -32005 }),
    'a full pool': refusal('txpool is full'),
    'a nonce before it that is on its way': refusal('nonce too high'),
  };
  const final = {
    ...Object.fromEntries(
      ['not_sent', 'closed', 'no_ports', 'certificate', 'body_too_large'].map((reason) => [
        reason,
        new TransportError('it cannot be', reason),
      ]),
    ),
    'no funds': refusal('insufficient funds for gas * price + value'),
    'a bug': new TypeError('of ours'),
  };
  const lookedUp = { 'a nonce that is used': NONCE_TOO_LOW, 'what is final': refusal('intrinsic gas too low') };

  it('the same bytes again after a pause, the chain asked after it, or nothing at all', async () => {
    for (const [name, error] of Object.entries({ ...again, ...final, ...lookedUp })) {
      const { rpc, end, clock, times, operation } = setUp({ answers: [error, ...(name in again ? [] : [error])] });
      await clock.advance(24);
      assert.deepEqual([rpc.count(), operation.error], [1, name === 'a bug' ? null : error], name);
      await clock.advance(1);
      const asked = name in lookedUp ? ['getTransactionCount resolve', 'getTransactionByHash resolve'] : [];
      const made = name in again ? ['sendRawTransaction resubmit'] : asked;
      equalBy(rpc.calls.slice(1), ({ method, purpose }) => `${method.slice(4)} ${purpose}`, made, name);
      await clock.advance(10_000);
      assert.deepEqual([end(), times()], name in again ? ['done', [0, 25]] : [error, [0]], name);
    }
  });

  it('a refusal in unknown words twice more, 250 ms apart', async () => {
    const words = refusal('not today');
    for (const [answers, end] of /** @type {Array<[Error[], unknown]>} */ ([
      [[words], 'done'],
      [[words, words], 'done'],
      [[words, words, words], words],
    ])) {
      const setting = setUp({ answers: [...answers] });
      await setting.clock.advance(10_000);
      const sent = Math.min(3, answers.length + 1);
      assert.deepEqual([setting.end(), setting.times().length], [end, sent]);
      assert.ok(setting.times().every((ms, i) => i === 0 || ms - setting.times()[i - 1] >= 250));
    }
  });

  it('pauses double up to two seconds, half of them random', async () => {
    for (const [random, times] of /** @type {const} */ ([
      [0, [0, 25, 75, 175, 375, 775, 1575, 2575, 3575]],
      [1, [0, 50, 150, 350, 750, 1550, 3150, 5150, 7150]],
    ])) {
      const setting = setUp({ answers: Array.from({ length: 8 }, noAnswer), random });
      await setting.clock.advance(20_000);
      assert.deepEqual([setting.times(), setting.end(), setting.resubmissions.repeated], [times, 'done', 8]);
    }
  });

  it('a final refusal after an outage is asked again while the node may be starting, at most five seconds', async () => {
    const error = refusal('exceeds block gas limit');
    const soon = setUp({ answers: [refused(), error, error] });
    await soon.clock.advance(1000);
    assert.deepEqual([soon.end(), soon.sent.length], ['done', 4]);
    const never = setUp({ answers: [refused(), ...Array(99).fill(error)] });
    for (let seconds = 0; seconds < 10; seconds += 1) {
      // What others lose meanwhile makes no difference.
      never.tools.retryPolicy.noteRetryAfter(noAnswer(), never.clock.nowUs());
      await never.clock.advance(1000);
    }
    assert.equal(never.end(), error);
    assert.ok(Number(never.times().at(-1)) <= 6100, `${never.times()}`);
  });

  it('an operation that ends or is included meanwhile is not sent again', async () => {
    const included = (/** @type {Operation} */ operation) =>
      operation.setInclusion(hash32('raw 0'), { number: 1, hash: '0xb', seenAtUs: 0 });
    const over = (/** @type {Operation} */ operation) => operation.end('timed_out', null, 0);
    for (const change of [included, over]) {
      const { end, clock, sent, operation } = setUp({ answers: [noAnswer()] });
      await clock.advance(10);
      change(operation);
      await clock.settle();
      assert.deepEqual([end(), sent.length, clock.pending()], ['done', 1, 0]);
    }
    for (const error of [NONCE_TOO_LOW, noAnswer(), refusal('not today')]) {
      const { end, clock, sent } = setUp({ answers: [error], onSent: included });
      await clock.advance(10_000);
      assert.deepEqual([end(), sent.length], ['done', 1], 'an inclusion outweighs a refusal');
    }
  });
});

describe('Retry-After', () => {
  for (const error of [
    new ProtocolError('429', undefined, 429, 3000),
    refusal('limit exceeded', { code: -32005, status: 429, retryAfterMs: 3000 }),
  ]) {
    it(`${error.name}: all operations wait for it, and pauses count by their reason`, async () => {
      const { clock, tools, times, end } = setUp({ answers: [error, noAnswer()] });
      await clock.advance(1000);
      const other = setUp();
      const waiting = submit(new OperationSubmission({ ...tools, rpc: other.rpc }, other.operation), tools);
      await clock.advance(1999);
      assert.deepEqual([times(), other.rpc.count()], [[0], 1], 'only what it sent by itself');
      await clock.advance(1);
      await waiting;
      assert.equal(other.rpc.count(), 2);
      await clock.advance(10_000);
      assert.deepEqual([times(), end()], [[0, 3000, 3050], 'done']);
      assert.deepEqual(tools.retryPolicy.pauses, {
        limitAnswers: 1,
        limitedMs: 3000 + 2000,
        unansweredMs: 50,
        refusedMs: 0,
        unpaidMs: 0,
      });
    });
  }

  it('the longest one counts, plus up to a random tenth; without one, or with 0, there is no wait', () => {
    const retryPolicy = new RetryPolicy(() => 0.5);
    const others = [noAnswer(), new ProtocolError('no JSON'), refusal('not today'), new Error('x'), null];
    for (const error of [...others, new ProtocolError('busy', undefined, 503, 0)]) retryPolicy.noteRetryAfter(error, 1);
    assert.equal(retryPolicy.waitMs(1), 0);
    retryPolicy.noteRetryAfter(new ProtocolError('busy', undefined, 503, 4000), 0);
    retryPolicy.noteRetryAfter(new ProtocolError('busy', undefined, 503, 1000), 1_000_000);
    equalBy([0, 2_000_000, 4_000_000], (us) => retryPolicy.waitMs(us), [4200, 2100, 0]);
  });
});

describe('Submissions', () => {
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  /** @param {string} hash @returns {any} */
  const operation = (hash) => ({ hash, isCancelled: false });

  it('starts at most so many at a time, in order, without the cancelled ones', async () => {
    /** @type {string[]} */
    const started = [];
    const submissions = new Submissions(({ hash }) => started.push(String(hash)), 2);
    const all = ['a', 'b', 'c', 'd', 'e'].map(operation);
    all.forEach((each) => submissions.add(each));
    assert.deepEqual(started, ['a', 'b']);
    all[2].isCancelled = true;
    submissions.release();
    await turn();
    assert.deepEqual(started, ['a', 'b', 'd']);
    submissions.release();
    submissions.release();
    submissions.add(operation('f'));
    await turn();
    assert.deepEqual(started, ['a', 'b', 'd', 'e', 'f']);
  });

  it('that fail at once do not exhaust the stack', async () => {
    let started = 0;
    /** @type {Submissions} */
    const submissions = new Submissions(() => {
      started += 1;
      submissions.release();
    }, 1);
    for (let i = 0; i < 20_000; i += 1) submissions.add(operation(''));
    await turn();
    assert.equal(started, 20_000);
  });
});
