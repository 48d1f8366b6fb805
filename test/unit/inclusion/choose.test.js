import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ProtocolError, RpcError, TransportError } from '../../../src/errors.js';
import { chooseInclusion, probeAbilities, warningOf } from '../../../src/inclusion/choose.js';
import { detectors, needs } from '../../../src/inclusion/index.js';
import { caught } from '../../helpers/caught.js';
import { createFakeClock } from '../../helpers/clock.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';

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

/**
 * @param {import('../../helpers/fake-rpc.js').Handlers} [answers]
 * @param {import('../../../src/chain/rpc.js').Rpc['subscribe']} [subscribe]
 */
async function probe(answers = {}, subscribe = null) {
  const rpc = fakeRpc({
    ...{ eth_getBlockByNumber: () => BLOCK, eth_getTransactionReceipt: () => null, [SYNC]: badTransaction },
    ...answers,
  });
  rpc.subscribe = subscribe;
  const clock = createFakeClock();
  const probing = probeAbilities(rpc, { clock, signal: new AbortController().signal }).then(
    (abilities) => ({ abilities, error: null }),
    (error) => ({ abilities: null, error }),
  );
  await clock.advance(10_000);
  return { rpc, ...(await probing) };
}

describe('probeAbilities()', () => {
  it('over HTTP everything but heads that are pushed; asked as part of the set-up, and nothing is sent', async () => {
    const { rpc, abilities } = await probe();
    assert.deepEqual(abilities, { ...ALL, pushesHeads: false });
    assert.ok(rpc.calls.every(({ purpose }) => purpose === 'setup'));
    assert.deepEqual(rpc.calls.find(({ method }) => method === SYNC)?.params, ['0x']);
  });

  it('a subscription that is answered is ended again', async () => {
    let ended = 0;
    const { abilities } = await probe({}, async () => () => (ended += 1));
    assert.deepEqual([abilities?.pushesHeads, ended], [true, 1]);
    const refused = await probe({}, async () => noMethod());
    assert.equal(refused.abilities?.pushesHeads, false);
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
      const { abilities } = await probe({ eth_getBlockByNumber: () => block });
      assert.equal(abilities?.listsTransactions, expected);
    });
  }

  for (const [code, words, expected] of /** @type {Array<[number, string, boolean]>} */ ([
    [-32601, 'Method not found', false],
    [-32601, 'the method eth_sendRawTransactionSync does not exist/is not available', false],
    [-32600, 'unsupported method: eth_sendRawTransactionSync', false],
    [-32000, 'Method eth_sendRawTransactionSync is not supported', false],
    [-32004, 'this method is disabled', false],
    [-32602, 'Empty transaction data', true],
    [-32000, 'typed transaction too short', true],
    [-32000, 'rlp: value size exceeds available input length', true],
  ])) {
    it(`"${words}" (${code}): ${expected ? 'it has' : 'it has not'} the method`, async () => {
      const answer = () => {
        throw new RpcError(SYNC, code, words);
      };
      const { abilities } = await probe({ [SYNC]: answer, eth_getTransactionReceipt: answer });
      assert.deepEqual([abilities?.submitsSync, abilities?.servesReceipts], [expected, expected]);
    });
  }

  it('an endpoint that does not answer just now is asked again; one that is gone is not taken to lack anything', async () => {
    let asked = 0;
    const once = await probe({
      [SYNC]: () => {
        if ((asked += 1) === 1) throw new TransportError('connection lost', 'reset');
        throw new RpcError(SYNC, -32602, 'Empty transaction data');
      },
    });
    assert.deepEqual([once.abilities?.submitsSync, asked], [true, 2]);
    const gone = await probe({
      [SYNC]: () => {
        throw new TransportError('connection refused', 'refused');
      },
    });
    assert.match(String(gone.error?.message), /refused/);
  });

  it('a page that is no JSON-RPC is no method', async () => {
    const { abilities } = await probe({
      [SYNC]: () => {
        throw new ProtocolError('answers with HTTP 404', undefined, 404);
      },
    });
    assert.equal(abilities?.submitsSync, false);
  });
});

describe('chooseInclusion()', () => {
  it('knows the needs of each detector', () => assert.deepEqual(Object.keys(needs), Object.keys(detectors)));

  for (const [lacking, name, why] of /** @type {Array<[string[], string, RegExp]>} */ ([
    [
      [],
      'heads',
      /^the cheapest of what the endpoint can do: it pushes its heads and its blocks list their transactions$/,
    ],
    [['pushesHeads'], 'blocks', /its blocks list their transactions; it pushes no heads here/],
    [['pushesHeads', 'submitsSync', 'servesReceipts'], 'blocks', /its blocks list/],
    [['listsTransactions'], 'sync', /\(eth_sendRawTransactionSync\); it does not list the transactions of a block/],
    [
      ['listsTransactions', 'submitsSync'],
      'receipts',
      /it serves receipts .*; it does not list .*, and does not have eth_send/,
    ],
  ])) {
    it(`auto, without ${lacking.join(', ') || 'any lack'}: ${name}`, () => {
      const can = { ...ALL, ...Object.fromEntries(lacking.map((ability) => [ability, false])) };
      const chosen = chooseInclusion('auto', can, NODE);
      assert.equal(chosen.name, name);
      assert.match(chosen.why, why);
      assert.deepEqual(chosen, { ...can, name, why: chosen.why });
    });
  }

  it('what is asked for is taken', () => {
    for (const name of Object.keys(detectors)) {
      assert.deepEqual(chooseInclusion(name, ALL, NODE), { ...ALL, name, why: 'asked for with --inclusion' });
    }
  });

  for (const [asked, lacking, words] of /** @type {Array<[string, string[], string]>} */ ([
    ['sync', ['submitsSync'], `does not have ${SYNC} (EIP-7966): use --inclusion heads`],
    ['sync', ['submitsSync', 'pushesHeads'], `does not have ${SYNC} (EIP-7966): use --inclusion blocks`],
    ['heads', ['pushesHeads'], 'pushes no heads here (eth_subscribe needs a ws:// URL): use --inclusion blocks'],
    [
      'blocks',
      ['listsTransactions', 'submitsSync'],
      'does not list the transactions of a block (eth_getBlockByNumber): use --inclusion receipts',
    ],
    ['receipts', ['servesReceipts'], 'does not have eth_getTransactionReceipt: use --inclusion heads'],
  ])) {
    it(`${asked}, without ${lacking.join(', ')}: refused, with what to use instead`, async () => {
      const can = { ...ALL, ...Object.fromEntries(lacking.map((ability) => [ability, false])) };
      const error = await caught(() => chooseInclusion(asked, can, NODE));
      assert.deepEqual([error.message, error.exitCode], [`${NODE} ${words}`, 69]);
    });
  }

  it('an endpoint that can do nothing of it is refused', async () => {
    const nothing = { pushesHeads: false, listsTransactions: false, submitsSync: false, servesReceipts: false };
    const error = await caught(() => chooseInclusion('auto', nothing, NODE));
    assert.equal(error.exitCode, 69);
    assert.match(error.message, /^http:\/\/node: Node\/v1: no way to see .*does not have eth_getTransactionReceipt$/);
  });
});

describe('warningOf()', () => {
  const load = { connections: 64, operations: 200, threads: 1 };
  const overHttp = fakeRpc({});
  const overWs = { ...overHttp, subscribe: async () => () => {} };

  it('names as many connections as are enough', () => {
    const words = String(warningOf('sync', overHttp, load));
    assert.match(words, /only 56 of 200 operations .*give --connections 208,/);
    assert.equal(warningOf('sync', overHttp, { ...load, connections: 208 }), null);
    assert.match(String(warningOf('sync', overHttp, { ...load, connections: 207 })), /only 199 of 200/);
  });

  it('each thread keeps some free', () => {
    const threads = 4;
    assert.match(String(warningOf('sync', overHttp, { ...load, threads })), /only 32 of 200 .*--connections 232,/);
    assert.equal(warningOf('sync', overHttp, { ...load, threads, connections: 232 }), null);
  });

  it('is for nobody else', () => {
    for (const name of ['heads', 'blocks', 'receipts']) assert.equal(warningOf(name, overHttp, load), null);
    assert.equal(warningOf('sync', overWs, load), null);
  });
});
