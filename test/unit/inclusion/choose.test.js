import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ProtocolError, RpcError, TransportError } from '../../../src/errors.js';
import { candidateOf, chooseInclusion, detectors, needs, warningOf } from '../../../src/inclusion/index.js';
import { caught } from '../../helpers/caught.js';
import { createFakeClock } from '../../helpers/clock.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';

/**
 * @import { Rpc } from '../../../src/types.d.ts'
 * @import { Ability } from '../../../src/inclusion/index.js'
 * @import { Handlers } from '../../helpers/fake-rpc.js'
 */

const ALL = Object.freeze({ pushesHeads: true, listsTransactions: true, submitsSync: true, servesReceipts: true });
const NODE = 'http://node: Node/v1';

const BLOCK = Object.freeze({ transactions: ['0xa'], gasUsed: '0x5208' });
const SYNC = 'eth_sendRawTransactionSync';
const noMethod = () => {
  throw new RpcError(SYNC, -32601, 'Method not found');
};
const badTransaction = () => {
  throw new RpcError(SYNC, -32602, 'Empty transaction data');
};

const ABILITIES = /** @type {Ability[]} */ (Object.keys(ALL));

/**
 * @param {Handlers} [answers]
 * @param {Rpc['subscribe']} [subscribe]
 */
function endpoint(answers = {}, subscribe = null) {
  const rpc = fakeRpc({
    eth_getBlockByNumber: () => BLOCK,
    eth_getTransactionReceipt: () => null,
    [SYNC]: badTransaction,
    ...answers,
  });
  rpc.subscribe = subscribe;
  const clock = createFakeClock();
  const candidate = candidateOf(rpc, NODE, { clock, signal: new AbortController().signal });
  /** Null: it can; else why not. @param {Ability} ability @returns {Promise<string | null | Error>} */
  const find = async (ability) => {
    const finding = candidate.find(ability).catch((error) => error);
    await clock.advance(30_000);
    return finding;
  };
  return { rpc, clock, candidate, find };
}

/** @param {string} asked @param {ReturnType<typeof endpoint>[]} endpoints */
async function choose(asked, ...endpoints) {
  const all = endpoints.map(({ candidate }) => candidate);
  const choosing = chooseInclusion(asked, all).catch((error) => error);
  // Each has a clock of its own, and each waits for all of them.
  for (let i = 0; i < 4; i += 1) for (const { clock } of endpoints) await clock.advance(5000);
  return choosing;
}

const hangs = () => new Promise(() => {});
const isLost = () => {
  throw new TransportError('connection lost', 'reset');
};
const pushing = async () => () => {};

describe('what an endpoint can do', () => {
  it('over HTTP everything but heads that are pushed; asked as part of the set-up, and nothing is sent', async () => {
    const { rpc, find } = endpoint();
    const found = [];
    for (const ability of ABILITIES) found.push(await find(ability));
    assert.deepEqual(found, ['eth_subscribe needs a ws:// URL', null, null, null]);
    assert.ok(rpc.calls.every(({ purpose }) => purpose === 'setup'));
    assert.deepEqual(rpc.calls.find(({ method }) => method === SYNC)?.params, ['0x']);
  });

  it('a subscription that is answered is ended again, one that comes too late as well', async () => {
    for (const [delayMs, expected] of /** @type {Array<[number, string | null]>} */ ([
      [0, null],
      [5000, 'no answer within 3 s'],
    ])) {
      let ended = 0;
      const late = endpoint({}, async () => {
        await late.clock.sleep(delayMs);
        return () => (ended += 1);
      });
      assert.deepEqual([await late.find('pushesHeads'), ended], [expected, 1]);
    }
  });

  it('one that is refused is none, whatever the words', async () => {
    assert.equal(await endpoint({}, async () => noMethod()).find('pushesHeads'), '');
    const refuses = async () => {
      throw new RpcError('eth_subscribe', -32000, 'too many subscriptions');
    };
    assert.equal(await endpoint({}, refuses).find('pushesHeads'), 'too many subscriptions');
    assert.equal(await endpoint({}, async () => isLost()).find('pushesHeads'), 'connection lost');
  });

  for (const [words, block, expected] of /** @type {Array<[string, any, boolean]>} */ ([
    ['hashes', BLOCK, true],
    ['nothing, and used no gas', { transactions: [], gasUsed: '0x0' }, true],
    ['nothing, though it used gas', { transactions: [], gasUsed: '0x5208' }, false],
    ['whole transactions', { transactions: [{ hash: '0xa' }], gasUsed: '0x5208' }, false],
    ['no list', { gasUsed: '0x0' }, false],
    ['no block', null, false],
  ])) {
    it(`a latest block with ${words}: ${expected}`, async () => {
      const found = await endpoint({ eth_getBlockByNumber: () => block }).find('listsTransactions');
      assert.equal(found === null, expected);
    });
  }

  for (const [code, words, hasSync, hasReceipts] of /** @type {Array<[number, string, boolean, boolean]>} */ ([
    [-32601, 'Method not found', false, false],
    [-32601, 'the method eth_sendRawTransactionSync does not exist/is not available', false, false],
    [-32600, 'unsupported method: eth_sendRawTransactionSync', false, false],
    [-32000, 'Method eth_sendRawTransactionSync is not supported', false, false],
    [-32004, 'this method is disabled', false, false],
    [-32600, 'rpc method is not whitelisted', false, false],
    [-32000, 'eth_sendRawTransactionSync is not available on your plan', false, false],
    [-32000, 'Upgrade your tier to send invalid transactions', false, false],
    [-32000, 'this endpoint is read only', false, true],
    [-32600, 'invalid request', false, true],
    [-32602, 'Empty transaction data', true, true],
    [-32000, 'typed transaction too short', true, true],
    [-32000, 'transaction type not supported', true, true],
    [-32602, 'failed to decode signed transaction', true, true],
    [-32000, 'Invalid RLP.', true, true],
    [-32000, 'rlp: value size exceeds available input length', true, true],
  ])) {
    it(`"${words}" (${code}): it has ${hasSync ? '' : 'no '}sync, and ${hasReceipts ? '' : 'no '}receipts`, async () => {
      const answer = () => {
        throw new RpcError(SYNC, code, words);
      };
      const { find } = endpoint({ [SYNC]: answer, eth_getTransactionReceipt: answer });
      const reason = code === -32601 ? '' : words;
      assert.equal(await find('submitsSync'), hasSync ? null : reason);
      assert.equal(await find('servesReceipts'), hasReceipts ? null : reason);
    });
  }

  it('an endpoint that accepts an empty submission does not support it', async () => {
    assert.equal(await endpoint({ [SYNC]: () => null }).find('submitsSync'), 'it answers null to an empty transaction');
  });

  it('what does not answer just now is asked again; what is an extra, and is lost, refused or hangs, is not there', async () => {
    let asked = 0;
    const once = endpoint({ [SYNC]: () => ((asked += 1) === 1 ? isLost() : badTransaction()) });
    assert.deepEqual([await once.find('submitsSync'), asked], [null, 2]);
    assert.equal(await endpoint({ [SYNC]: isLost }).find('submitsSync'), 'connection lost');
    assert.equal(await endpoint({ [SYNC]: hangs }).find('submitsSync'), 'no answer within 3 s');
    const page = () => {
      throw new ProtocolError('answers with HTTP 403', undefined, 403);
    };
    assert.equal(await endpoint({ [SYNC]: page }).find('submitsSync'), 'answers with HTTP 403');
  });

  it('an endpoint that has no block for us is gone', async () => {
    const error = await endpoint({ eth_getBlockByNumber: isLost }).find('listsTransactions');
    assert.match(String(error), /connection lost/);
  });

  it('an extra that hangs costs three seconds', async () => {
    const { clock, candidate } = endpoint({ [SYNC]: hangs });
    let isOver = false;
    void candidate.find('submitsSync').then(() => (isOver = true));
    await clock.advance(2999);
    assert.equal(isOver, false);
    await clock.advance(1);
    assert.equal(isOver, true);
  });
});

/** One of which it is known what it can do. @param {readonly string[]} [lacking] @param {string} [node] */
function known(lacking = [], node = NODE) {
  return { node, find: async (/** @type {string} */ ability) => (lacking.includes(ability) ? '' : null) };
}

describe('chooseInclusion()', () => {
  it('knows the needs of each detector', () => assert.deepEqual(Object.keys(needs), Object.keys(detectors)));

  for (const [lacking, name, why, facts] of /** @type {Array<[string[], string, RegExp, object]>} */ ([
    [
      [],
      'heads',
      /^the cheapest of what the endpoint can do: it pushes its heads and its blocks list their transactions$/,
      { pushesHeads: true, listsTransactions: true },
    ],
    [
      ['pushesHeads'],
      'blocks',
      /its blocks list their transactions; it pushes no heads here/,
      { pushesHeads: false, listsTransactions: true },
    ],
    [
      ['listsTransactions'],
      'sync',
      /\(eth_sendRawTransactionSync\); it does not list the transactions of a block/,
      { pushesHeads: true, listsTransactions: false, submitsSync: true },
    ],
    [
      ['listsTransactions', 'submitsSync'],
      'receipts',
      /it serves receipts .*; it does not list .*, and does not have eth_send/,
      { pushesHeads: true, listsTransactions: false, submitsSync: false, servesReceipts: true },
    ],
  ])) {
    it(`auto, without ${lacking.join(', ') || 'any lack'}: ${name}`, async () => {
      const chosen = await chooseInclusion('auto', [known(lacking)]);
      assert.match(chosen.why, why);
      assert.deepEqual(chosen, { name, why: chosen.why, ...facts });
    });
  }

  it('what is asked for is taken, and only what it needs is asked', async () => {
    for (const name of Object.keys(detectors)) {
      const lacking = ABILITIES.filter((ability) => !needs[name].includes(ability));
      const facts = Object.fromEntries(needs[name].map((ability) => [ability, true]));
      const expected = { name, why: 'asked for with --inclusion', ...facts };
      assert.deepEqual(await chooseInclusion(name, [known(lacking)]), expected);
    }
    const { rpc, candidate } = endpoint();
    await chooseInclusion('auto', [candidate]);
    assert.deepEqual(
      rpc.calls.map(({ method }) => method),
      ['eth_getBlockByNumber'],
    );
  });

  it('auto does without an extra that fails, and says so; without one that it does not need, it does not ask', async () => {
    const blocks = await choose('auto', endpoint({ [SYNC]: hangs, eth_getTransactionReceipt: isLost }, isLost));
    assert.equal(blocks.name, 'blocks');
    assert.match(blocks.why, /; it pushes no heads here \(connection lost\)$/);
    const unlisted = { eth_getBlockByNumber: () => ({ transactions: [], gasUsed: '0x5208' }) };
    const receipts = await choose('auto', endpoint({ ...unlisted, [SYNC]: hangs }));
    assert.equal(receipts.name, 'receipts');
    assert.match(receipts.why, /does not serve eth_sendRawTransactionSync \(EIP-7966\): no answer within 3 s$/);
  });

  for (const [asked, lacking, words] of /** @type {Array<[string, string[], string]>} */ ([
    ['sync', ['submitsSync'], `does not have ${SYNC} (EIP-7966): use --inclusion heads`],
    ['sync', ['submitsSync', 'pushesHeads'], `does not have ${SYNC} (EIP-7966): use --inclusion blocks`],
    ['heads', ['pushesHeads'], 'pushes no heads here (eth_subscribe): use --inclusion blocks'],
    [
      'blocks',
      ['listsTransactions', 'submitsSync'],
      'does not list the transactions of a block (eth_getBlockByNumber): use --inclusion receipts',
    ],
    ['receipts', ['servesReceipts'], 'does not have eth_getTransactionReceipt: use --inclusion heads'],
  ])) {
    it(`${asked}, without ${lacking.join(', ')}: refused, with what to use instead`, async () => {
      const error = await caught(() => chooseInclusion(asked, [known(lacking)]));
      assert.deepEqual([error.message, error.exitCode], [`${NODE} ${words}`, 69]);
    });
  }

  it('what is refused in words is refused with them', async () => {
    const plan = () => {
      throw new RpcError(SYNC, -32000, `${SYNC} is not available on your plan`);
    };
    const error = await choose('sync', endpoint({ [SYNC]: plan }));
    const words = `does not serve ${SYNC} (EIP-7966): ${SYNC} is not available on your plan: use --inclusion blocks`;
    assert.equal(error.message, `${NODE} ${words}`);
  });

  it('an endpoint that can do nothing of it is refused', async () => {
    const error = await caught(() => chooseInclusion('auto', [known(ABILITIES)]));
    assert.equal(error.exitCode, 69);
    assert.match(
      error.message,
      /^http:\/\/node: Node\/v1: no inclusion detector can be used: .*does not have eth_getTransactionReceipt$/,
    );
  });
});

describe('chooseInclusion() for several endpoints', () => {
  it('heads only where all of them push; in whatever order, none is asked for what it cannot', async () => {
    const both = [endpoint(), endpoint({}, pushing)];
    for (const endpoints of [both, both.toReversed()]) {
      const { name, why, ...facts } = await choose('auto', ...endpoints);
      assert.deepEqual([name, facts], ['blocks', { pushesHeads: false, listsTransactions: true }]);
      assert.match(why, /each endpoint can do: .*; one of them pushes no heads here \(eth_subscribe needs a ws:/);
    }
    assert.equal((await choose('auto', endpoint({}, pushing), endpoint({}, pushing))).name, 'heads');
  });

  it('the one that cannot do what was asked for is named', async () => {
    const error = await caught(() =>
      chooseInclusion('heads', [known([], 'ws://a'), known(['pushesHeads'], 'http://b')]),
    );
    assert.equal(error.message, 'http://b pushes no heads here (eth_subscribe): use --inclusion blocks');
  });

  it('where each can do something and all nothing, it is said what each lacks', async () => {
    const [a, b] = [known(['submitsSync', 'servesReceipts'], 'ws://a'), known(['listsTransactions'], 'ws://b')];
    const error = await caught(() => chooseInclusion('auto', [a, b]));
    assert.match(
      error.message,
      /^no inclusion detector can be used with all endpoints: .*ws:\/\/b does not list .*; ws:\/\/a does/,
    );
  });
});

describe('warningOf()', () => {
  const load = { connections: 64, operations: 200, threads: 1 };
  const overHttp = fakeRpc({});
  const overWs = { ...overHttp, subscribe: async () => () => {} };

  it('names as many connections as are enough', () => {
    const words = String(warningOf('sync', [overHttp], load));
    assert.match(words, /only 56 of 200 operations .*give --connections 208,/);
    assert.equal(warningOf('sync', [overHttp], { ...load, connections: 208 }), null);
    assert.match(String(warningOf('sync', [overHttp], { ...load, connections: 207 })), /only 199 of 200/);
  });

  it('each thread keeps some free', () => {
    const threads = 4;
    assert.match(String(warningOf('sync', [overHttp], { ...load, threads })), /only 32 of 200 .*--connections 232,/);
    assert.equal(warningOf('sync', [overHttp], { ...load, threads, connections: 232 }), null);
  });

  it('is used for no other endpoint', () => {
    for (const name of ['heads', 'blocks', 'receipts']) assert.equal(warningOf(name, [overHttp], load), null);
    assert.equal(warningOf('sync', [overWs], load), null);
  });

  it('of several endpoints those over HTTP count', () => {
    for (const rpcs of [
      [overWs, overHttp],
      [overHttp, overWs],
    ]) {
      const words = String(warningOf('sync', rpcs, { ...load, threads: 2 }));
      assert.match(words, /only 124 of 200 .*--connections 216,/);
      assert.equal(warningOf('sync', rpcs, { ...load, threads: 2, connections: 216 }), null);
    }
  });
});
