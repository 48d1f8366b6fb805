import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { toBigInt, toHex, toNumber } from '../../../src/chain/answers.js';
import { isBusy } from '../../../src/chain/refusals.js';
import { BATCH, createRpc, displayUrl, secretsOf } from '../../../src/chain/rpc.js';
import { ProtocolError, RpcError, TransportError, oneLine } from '../../../src/errors.js';
import { caught } from '../../helpers/caught.js';
import { equalBy } from '../../helpers/equal-by.js';

/** @import { Purpose } from '../../../src/contracts/chain.d.ts' */

const HTML = '<html><body>Welcome to nginx!</body></html>';

/** @typedef {{id: number, method: string, params: any[], jsonrpc: string}} Asked */

/**
 * An Rpc over a transport that answers with what `respond` makes of each body.
 * @param {(body: any) => {status?: number, text: string} | unknown} respond what is no reply yet becomes its JSON text
 * @param {Parameters<typeof createRpc>[2]} [options]
 */
function rpcOver(respond, options) {
  /** @type {any[]} */
  const bodies = [];
  const rpc = createRpc(
    {
      post: async (body, onSent) => {
        const json = JSON.parse(body);
        if (onSent?.() === false) throw new TransportError('given up before it was sent', 'not_sent');
        bodies.push(json);
        const answer = /** @type {any} */ (await respond(json));
        const isReply = answer !== null && typeof answer === 'object' && typeof answer.text === 'string';
        const usual = { status: 200, retryAfterMs: null };
        return isReply ? { ...usual, ...answer } : { ...usual, text: JSON.stringify(answer) };
      },
    },
    'http://node',
    options,
  );
  return { rpc, bodies };
}

/** @param {Asked} asked @param {unknown} [result] */
const right = ({ id, params }, result = params[0]) => ({ jsonrpc: '2.0', id, result });

const HASH = `0x${'1a'.repeat(32)}`;
const NO = { code: -32000, message: 'no' };

/** @param {number} count */
const requests = (count) => Array.from({ length: count }, (_, i) => ({ method: 'echo', params: [i] }));

/** @param {number} count */
const numbers = (count) => Array.from({ length: count }, (_, i) => i);

/** @param {any} asked one request or several @returns {any} */
const honest = (asked) => (Array.isArray(asked) ? asked.map((one) => right(one)) : right(asked));

/** @param {string} reason @returns {never} */
function lose(reason, words = 'connection lost') {
  throw new TransportError(words, reason);
}

/** An Rpc that was answered a batch, and is now answered otherwise. @param {(body: any) => unknown} respond */
async function turned(respond) {
  let isWell = true;
  const over = rpcOver((asked) => (isWell ? honest(asked) : respond(asked)));
  await over.rpc.batch(requests(50), 'setup');
  isWell = false;
  over.bodies.length = 0;
  return over;
}

describe('call()', () => {
  it('sends the parameters as they are, in JSON-RPC 2.0 with a new id each time, and gives the result as it is', async () => {
    const { rpc, bodies } = rpcOver((asked) => right(asked));
    const all = [false, 0, null, '', [], 'a"b', { x: 1 }].map((param) => [param, '0xab', { to: '0x' }]);
    for (const params of all) assert.deepEqual(await rpc.call('eth_sendRawTransaction', params, 'load'), params[0]);
    const made = all.map((params) => ({ jsonrpc: '2.0', method: 'eth_sendRawTransaction', params }));
    equalBy(bodies, ({ id: _, ...others }) => others, made);
    assert.equal(new Set(bodies.map(({ id }) => id)).size, all.length);
  });

  it('passes onSent on, and counts calls by their purpose', async () => {
    const { rpc } = rpcOver((asked) => right(asked));
    let sent = 0;
    await rpc.call('m', [1], 'submit', () => (sent += 1));
    await rpc.call('m', [1], 'submit');
    await rpc.call('m', [1], 'audit');
    assert.equal(sent, 1);
    assert.deepEqual(rpc.callCounts(), { submit: 2, audit: 1 });
    rpc.callCounts().audit = 99;
    assert.equal(rpc.callCounts().audit, 1);
  });

  /** The error, what else the answer has, code, message, data and HTTP status. @type {Array<[unknown, object, number, string, unknown?, number?]>} */
  const errors = [
    [{ code: -32000, message: 'no' }, {}, -32000, 'no'],
    [{ code: 3, message: 'reverted', data: '0x' }, {}, 3, 'reverted', '0x'],
    [{ code: -32700, message: 'bad' }, { id: null }, -32700, 'bad'],
    [{ code: -1, message: 'no' }, {}, -1, 'no', undefined, 400],
    ['no token', { id: undefined }, 0, 'no token'],
    [{ code: 5 }, {}, 5, '{"code":5}'],
    [{ code: 1, message: 'a\u001b[31m\nb' }, {}, 1, 'a [31m b'],
    [{ code: 1, message: 'no' }, { result: 1 }, 1, 'no'],
    [{ code: 'E_NO', message: 'no' }, {}, 0, 'no'],
    [{ code: 1, message: { toString: 1, valueOf: 2 } }, {}, 1, '{"toString":1,"valueOf":2}'],
    // Bidirectional and zero-width control characters.
    [{ code: 1, message: 'a\u202eb\u2066c\u200bd\ufeffe\u009bf\u001b]0;g\u0007h' }, {}, 1, 'a b c d e f ]0;g h'],
  ];
  for (const [given, more, code, message, data, status = 200] of errors) {
    it(`${JSON.stringify({ error: given, ...more })} is an RpcError`, async () => {
      const { rpc } = rpcOver(({ id }) => reply(status, { id, error: given, ...more }));
      const error = await caught(() => rpc.call('eth_call', [], 'setup'));
      assert.ok(error instanceof RpcError, String(error));
      assert.deepEqual([error.rpcCode, error.rpcMessage, error.data], [code, message, data]);
      assert.deepEqual([error.method, error.message], ['eth_call', `eth_call: ${message} (${code})`]);
    });
  }

  it('a result is a result, whatever the HTTP status is, and also beside a null error', async () => {
    for (const status of [200, 201, 500]) {
      const { rpc } = rpcOver((asked) => reply(status, { ...right(asked, 7), error: null }));
      assert.equal(await rpc.call('m', [], 'setup'), 7);
    }
  });

  const BAD_URL =
    'answered HTTP STATUS without JSON-RPC: check the URL and its credentials (ws:// for the port of a WebSocket)';
  const NO_JSON = 'does not speak JSON-RPC: it answered';
  /** @type {Array<[string, (asked: Asked) => unknown, string]>} */
  const nonsense = [
    ['the id of another', ({ id }) => ({ id: id + 1, result: 1 }), 'answered m with a foreign id'],
    ['the id as a text', ({ id }) => ({ id: String(id), result: 1 }), 'answered m with a foreign id'],
    ['no id', () => ({ result: 1 }), 'answered m with a foreign id'],
    ['an array', ({ id }) => [{ id, result: 1 }], 'answered m with a foreign id'],
    ['neither result nor error', ({ id }) => ({ id }), 'answered m without a result'],
    [
      'keys that every object has',
      ({ id }) => ({ text: `{"__proto__":{"result":1},"constructor":2,"jsonrpc":"2.0","id":${id}}` }),
      'answered m without a result',
    ],
    ['null', () => null, 'answered m without JSON-RPC'],
    ['a text', () => 'hello', 'answered m without JSON-RPC'],
    ['a number', () => 5, 'answered m without JSON-RPC'],
    ['HTML', () => ({ text: HTML }), `${NO_JSON} "<html><body>Welcome to nginx!</body></ht..."`],
    ['an empty body', () => ({ text: '' }), `${NO_JSON} an empty body`],
    ['half a body', () => ({ text: '{"id":1,' }), `${NO_JSON} "{"id":1,"`],
    ['HTTP 401', () => ({ status: 401, text: HTML }), BAD_URL.replace('STATUS', '401')],
    ['HTTP 403', () => ({ status: 403, text: '' }), BAD_URL.replace('STATUS', '403')],
    ['HTTP 404', () => ({ status: 404, text: 'no' }), BAD_URL.replace('STATUS', '404')],
    ['HTTP 204', () => ({ status: 204, text: '' }), BAD_URL.replace('STATUS', '204')],
    ['HTTP 429', () => ({ status: 429, text: 'slow' }), 'answered HTTP 429 without JSON-RPC'],
    ['HTTP 500', () => ({ status: 500, text: HTML }), 'answered HTTP 500 without JSON-RPC'],
  ];
  for (const [name, respond, message] of nonsense) {
    it(`${name} is a ProtocolError`, async () => {
      const error = await caught(() => rpcOver(respond).rpc.call('m', [], 'setup'));
      assert.ok(error instanceof ProtocolError, String(error));
      assert.deepEqual([error.message, error.exitCode], [`http://node ${message}`, 69]);
    });
  }

  it('names the method and the size of the batch that got no answer in time', async () => {
    const end = 'within 10 s (--request-timeout)';
    const { rpc } = await turned(() => lose('timeout', `no answer ${end}`));
    const ask = async (/** @type {number} */ count) =>
      (await caught(() => rpc.batch(requests(count), 'setup'))).message;
    // A batch that times out is split twice.
    assert.equal(await ask(50), `http://node: no answer to echo (a batch of 2) ${end}`);
    assert.equal(await ask(1), `http://node: no answer to echo ${end}`);
  });
});

describe('a connection that is lost', () => {
  /** An Rpc whose first answers are errors of the transport. @param {string[]} reasons */
  const failing = (...reasons) =>
    rpcOver((asked) => (reasons.length > 0 ? lose(/** @type {string} */ (reasons.shift())) : honest(asked)));

  it('a read is asked again, with the same id, twice at most; a batch, too', async () => {
    const { rpc, bodies } = failing('reset', 'reset');
    assert.equal(await rpc.call('eth_call', ['ok'], 'readback'), 'ok');
    assert.deepEqual([bodies.length, new Set(bodies.map(({ id }) => id)).size], [3, 1]);
    const gone = failing('reset', 'reset', 'reset');
    const error = await caught(() => gone.rpc.call('eth_call', [], 'readback'));
    assert.deepEqual([error.code, error.message], ['transport_reset', 'http://node: connection lost']);
    assert.equal(gone.bodies.length, 3);
    const batch = failing('reset');
    assert.deepEqual(await batch.rpc.batch(requests(5), 'audit'), numbers(5));
    assert.equal(batch.bodies.length, 2);
  });

  for (const [method, purpose, ...reasons] of /** @type {Array<[string, Purpose, ...string[]]>} */ ([
    ['eth_sendRawTransaction', 'submit', 'reset'],
    ['eth_blockNumber', 'load', 'reset'],
    ['eth_call', 'readback', 'timeout', 'refused', 'not_sent', 'body_too_large'],
  ]))
    it(`${method} for ${purpose} is not asked again after ${reasons}`, async () => {
      for (const reason of reasons) {
        const { rpc, bodies } = failing(reason);
        assert.equal((await caught(() => rpc.call(method, ['0x'], purpose))).code, `transport_${reason}`);
        assert.equal(bodies.length, 1);
      }
    });
});

/** @param {string} message */
const refusal = (message) => ({ jsonrpc: '2.0', id: null, error: { code: -32600, message } });

/** @param {number} status @param {unknown} body */
function reply(status, body) {
  return { status, text: JSON.stringify(body) };
}

describe('batch()', () => {
  it('answers nothing without a request, and asks for a single one without a batch', async () => {
    const { rpc, bodies } = rpcOver((asked) => right(asked));
    assert.deepEqual(await rpc.batch([], 'setup'), []);
    assert.equal(bodies.length, 0);
    assert.deepEqual(await rpc.batch(requests(1), 'setup'), [0]);
    assert.ok(!Array.isArray(bodies[0]));
  });

  it('gives results in the order of the requests, in whatever order they come back', async () => {
    const { rpc, bodies } = rpcOver((asked) =>
      honest(asked).sort((/** @type {any} */ a, /** @type {any} */ b) => (a.result % 7) - (b.result % 7)),
    );
    assert.deepEqual(await rpc.batch(requests(250), 'audit'), numbers(250));
    equalBy(bodies, ({ length }) => length, [84, 84, 82]);
    assert.equal(new Set(bodies.flat().map(({ id }) => id)).size, 250);
    assert.deepEqual(rpc.callCounts(), { audit: 250 });
  });

  it('after a time-out they are smaller, and grow while they are answered', async () => {
    let isLate = true;
    const { rpc, bodies } = rpcOver((asked) => (isLate && asked.length > 20 ? lose('timeout') : honest(asked)));
    await rpc.batch(requests(2), 'setup');
    assert.deepEqual(await rpc.batch(requests(91), 'setup'), numbers(91));
    assert.equal(rpc.batchFacts().limit, 19, 'not the 15 of the last part');
    isLate = false;
    for (const limit of [19, 19, 19, 19, 38, 38]) {
      await rpc.batch(requests(19), 'setup');
      assert.equal(rpc.batchFacts().limit, limit);
    }
    for (let i = 0; i < 10; i += 1) await rpc.batch(requests(100), 'setup');
    assert.equal(rpc.batchFacts().limit, 100);
    assert.equal(Math.max(...bodies.map(({ length }) => length)), 100);
  });

  /** @type {Array<[string, (asked: Asked[]) => unknown]>} */
  const refusals = [
    ['a single error object', () => refusal('batch not supported')],
    ['an array of one error', () => [refusal('batch too large')]],
    ['HTTP 413', () => ({ status: 413, text: 'Payload Too Large' })],
    ['HTTP 500 and HTML', () => ({ status: 500, text: HTML })],
    ['an empty array', () => []],
    ['an answer that is missing', (asked) => asked.slice(1).map((one) => right(one))],
    ['answers without ids', (asked) => asked.map(({ params }) => ({ result: params[0] }))],
    ['the answer to the first one alone', (asked) => right(asked[0])],
  ];
  for (const [name, refuse] of refusals) {
    it(`refused with ${name}: asks in smaller ones, at last one by one, from then on`, async () => {
      const { rpc, bodies } = rpcOver((asked) => (Array.isArray(asked) ? refuse(asked) : right(asked)));
      assert.deepEqual(await rpc.batch(requests(150), 'setup'), numbers(150));
      const { limit, refused, why, largest } = rpc.batchFacts();
      assert.deepEqual([limit, largest], [1, 1]);
      assert.ok(refused > 0 && typeof why === 'string' && why.length > 5, `${refused}: ${why}`);
      bodies.length = 0;
      assert.deepEqual(await rpc.batch(requests(3), 'setup'), numbers(3));
      assert.ok(bodies.length === 3 && bodies.every((body) => !Array.isArray(body)));
    });
  }

  it('names the real fault when single calls do not work either', async () => {
    const { rpc } = rpcOver(() => ({ status: 401, text: '' }));
    assert.match((await caught(() => rpc.batch(requests(2), 'setup'))).message, /HTTP 401/);
  });

  it('learns how many a node takes, and stays with that', async () => {
    for (const most of [10, 30, 50, 99]) {
      const { rpc, bodies } = rpcOver((asked) => (asked.length > most ? [refusal('batch too large')] : honest(asked)));
      assert.deepEqual(await rpc.batch(requests(300), 'setup'), numbers(300));
      const { limit, largest, why } = rpc.batchFacts();
      assert.ok(limit <= most && limit > most / 4, `${limit} of ${most}`);
      assert.ok(largest <= limit && largest > 1, `${largest}`);
      assert.equal(why, 'batch too large');
      bodies.length = 0;
      await rpc.batch(requests(300), 'setup');
      assert.ok(
        bodies.every((body) => body.length <= most),
        'it asked for too many again',
      );
    }
  });

  it('asks again for what is not answered because the answer has become too large, as geth says it', async () => {
    const tooLarge = { code: -32003, message: 'response too large' };
    const { rpc } = rpcOver((asked) =>
      Array.isArray(asked)
        ? asked.map((one, i) => (i < 4 ? right(one) : { jsonrpc: '2.0', id: one.id, error: tooLarge }))
        : right(asked),
    );
    assert.deepEqual(await rpc.batch(requests(40), 'setup'), numbers(40));
    assert.ok(rpc.batchFacts().limit <= 4);
  });

  for (const reason of ['timeout', 'reset']) {
    it(`${reason}: a node that has never answered a batch is asked one by one, one that has is just not well`, async () => {
      const { rpc, bodies } = rpcOver((asked) => (Array.isArray(asked) ? lose(reason) : right(asked)));
      assert.deepEqual(await rpc.batch(requests(50), 'setup'), numbers(50));
      assert.equal(rpc.batchFacts().limit, 1);
      assert.equal(bodies.filter((body) => !Array.isArray(body)).length, 50);

      const other = await turned(() => lose(reason));
      await assert.rejects(other.rpc.batch(requests(50), 'setup'), TransportError);
      assert.equal(other.rpc.batchFacts().limit, 100);
    });
  }
});

describe('gather()', () => {
  it('sends what is asked in one turn together, each its own answer or error', async () => {
    const answerTo = (/** @type {Asked} */ one) => (one.params[0] === 1 ? errorEach([one], NO)[0] : right(one));
    const { rpc, bodies } = rpcOver((asked) => (Array.isArray(asked) ? asked.map(answerTo) : right(asked)));
    const ends = await Promise.allSettled(numbers(3).map((i) => rpc.gather('echo', [i], 'readback')));
    assert.equal(bodies.length, 1);
    equalBy(ends, (end) => (end.status === 'fulfilled' ? end.value : end.reason.message), [0, 'echo: no (-32000)', 2]);
    assert.equal(await rpc.gather('echo', [7], 'readback'), 7);
    assert.ok(!Array.isArray(bodies[1]));
    assert.deepEqual(rpc.callCounts(), { readback: 4 });
  });

  it('does not mix purposes', async () => {
    const { rpc, bodies } = rpcOver((asked) => right(asked));
    await Promise.all([rpc.gather('a', [1], 'readback'), rpc.gather('b', [2], 'audit')]);
    assert.equal(bodies.length, 2);
    assert.deepEqual(rpc.callCounts(), { readback: 1, audit: 1 });
  });
});

describe('an endpoint that is busy', () => {
  const LIMIT_EXCEEDED = { code: -32005, message: 'slow down' };
  /** @type {Array<[string, (id: number) => object, boolean]>} its answer, and whether it is busy */
  const table = [
    ['HTTP 429', () => ({ status: 429, text: 'slow' }), true],
    ['HTTP 502', () => ({ status: 502, text: HTML }), true],
    ['HTTP 503', () => ({ status: 503, text: '' }), true],
    ['HTTP 418', () => ({ status: 418, text: '' }), false],
    ['HTTP 429 with an error', (id) => reply(429, { id, error: NO }), true],
    ['HTTP 503 with an error', (id) => reply(503, { id, error: NO }), true],
    ['HTTP 500 with an error', (id) => reply(500, { id, error: NO }), false],
    ['HTTP 200 with an error', (id) => reply(200, { id, error: NO }), false],
    ['HTTP 200 with "limit exceeded"', (id) => reply(200, { id, error: LIMIT_EXCEEDED }), true],
  ];
  for (const [name, answer, expected] of table) {
    it(`${name}: ${expected ? 'says so, and for how long' : 'is not'}`, async () => {
      const { rpc } = rpcOver(({ id }) => ({ ...answer(id), retryAfterMs: 1234 }));
      const error = await caught(() => rpc.call('m', [], 'resubmit'));
      assert.deepEqual([isBusy(error), error.retryAfterMs], [expected, 1234]);
      const silent = rpcOver(({ id }) => answer(id));
      assert.equal((await caught(() => silent.rpc.call('m', [], 'submit'))).retryAfterMs, null);
    });
  }

  /** @type {Array<[string, (asked: Asked[]) => any]>} */
  const batches = [
    ['HTTP 429', () => ({ status: 429, text: 'slow' })],
    ['HTTP 503 with one error', () => reply(503, { jsonrpc: '2.0', id: null, error: NO })],
    ['HTTP 429 with an error each', (asked) => reply(429, errorEach(asked, NO))],
    ['one "limit exceeded"', () => reply(200, { jsonrpc: '2.0', id: null, error: LIMIT_EXCEEDED })],
    ['an array of one "limit exceeded"', () => reply(200, [{ jsonrpc: '2.0', id: null, error: LIMIT_EXCEEDED }])],
    ['"limit exceeded" each', (asked) => reply(200, errorEach(asked, LIMIT_EXCEEDED))],
  ];
  for (const [name, answer] of batches) {
    it(`${name} to a batch, where one was answered before: each waiter is told, none is asked again`, async () => {
      const { rpc, bodies } = await turned((asked) => ({ ...answer(asked), retryAfterMs: 1234 }));
      const ends = await Promise.allSettled(numbers(3).map((i) => rpc.gather('echo', [i], 'readback')));
      for (const { reason } of /** @type {PromiseRejectedResult[]} */ (ends))
        assert.deepEqual([isBusy(reason), reason.retryAfterMs], [true, 1234]);
      assert.equal(bodies.length, 1);
      assert.deepEqual([rpc.batchFacts().limit, rpc.batchFacts().refused], [100, 0]);
    });
  }
});

/** @param {Asked[]} asked @param {{code: number, message: string}} error */
function errorEach(asked, error) {
  return asked.map(({ id }) => ({ jsonrpc: '2.0', id, error }));
}

describe('an answer that is made to do harm', () => {
  const deep = (/** @type {number} */ levels) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

  it('nested a hundred thousand times, as an error: it has a short text', async () => {
    for (const error of [deep(1e5), `{"code":1,"message":${deep(1e5)}}`, `{"code":${deep(1e5)},"message":"no"}`]) {
      const { rpc } = rpcOver(({ id }) => ({ text: `{"jsonrpc":"2.0","id":${id},"error":${error}}` }));
      const fault = await caught(() => rpc.call('m', [], 'setup'));
      assert.ok(fault instanceof RpcError, String(fault));
      assert.match(fault.message, /^m: .{2,320} \(\d\)$/);
    }
  });

  it('of two answers with one id neither is believed, and it is asked again', async () => {
    const { rpc, bodies } = rpcOver((asked) => {
      if (!Array.isArray(asked)) return right(asked);
      const [first, ...others] = asked;
      return [right(first), ...others.slice(1).map((one) => right(one)), right(first, 'forged')];
    });
    assert.deepEqual(await rpc.batch(requests(4), 'setup'), numbers(4));
    assert.ok(bodies.length > 1);
  });

  it('more answers than requests are none', async () => {
    const { rpc } = rpcOver((asked) =>
      Array.isArray(asked) ? [...asked.map((one) => right(one, 'forged')), { id: 'x', result: 1 }] : right(asked),
    );
    assert.deepEqual(await rpc.batch(requests(4), 'setup'), numbers(4));
  });
});

describe('displayUrl()', () => {
  /** @type {Array<[string, string]>} */
  const table = [
    ['http://127.0.0.1:8545', 'http://127.0.0.1:8545'],
    ['http://127.0.0.1:8545/', 'http://127.0.0.1:8545'],
    ['http://[::1]:8545/', 'http://[::1]:8545'],
    ['https://example.org/rpc', 'https://example.org/rpc'],
    ['http://127.0.0.1:9650/ext/bc/C/rpc', 'http://127.0.0.1:9650/ext/bc/C/rpc'],
    ['https://user:secret@example.org/rpc', 'https://***@example.org/rpc'],
    ['https://user@example.org', 'https://***@example.org'],
    ['https://:secret@example.org', 'https://***@example.org'],
    ['https://example.org/rpc?apikey=secret', 'https://example.org/rpc?***'],
    ['https://example.org/?secret', 'https://example.org?***'],
    ['https://example.org/rpc#secret', 'https://example.org/rpc'],
    ['https://mainnet.infura.io/v3/0123456789abcdef0123456789abcdef', 'https://mainnet.infura.io/v3/***'],
    ['https://eth-mainnet.g.alchemy.com/v2/abc-DEF_0123456789xyz/x', 'https://eth-mainnet.g.alchemy.com/v2/***/x'],
  ];
  for (const [url, expected] of table) it(url, () => assert.equal(displayUrl(new URL(url)), expected));
});

describe('secretsOf()', () => {
  const TOKEN = 'SuperSecretTokenOfALongPath';
  /** URL, and its secrets, the longest first. @type {Array<[string, string[]]>} */
  const table = [
    ['http://127.0.0.1:9650/ext/bc/C/rpc', []],
    [`https://example.org/${TOKEN}%2F1`, [`${TOKEN}%2F1`, `${TOKEN}/1`]],
    ['https://name@example.org', ['bmFtZTo=', 'name:', 'name']],
    ['https://user:hunter2pass@example.org/', ['dXNlcjpodW50ZXIycGFzcw==', 'user:hunter2pass', 'hunter2pass', 'user']],
    ['https://me:p%40ss@example.org', ['bWU6cEBzcw==', 'me:p@ss', 'p%40ss', 'p@ss']],
    ['https://example.org/?apikey=s3cr3t&v=1', ['apikey=s3cr3t&v=1', 's3cr3t']],
    ['https://example.org/?s3cr3t', ['s3cr3t']],
    ['https://example.org/?a=b%zz=c', ['a=b%zz=c', 'b%zz=c']],
  ];
  for (const [url, expected] of table) it(url, () => assert.deepEqual([...secretsOf(new URL(url))], expected));
});

describe('quantities', () => {
  const max = Number.MAX_SAFE_INTEGER;
  /** What it is as a number and as an integer; null: refused. @type {Array<[unknown, number | null, bigint | null]>} */
  const valid = [
    ['0x00ff', 255, 255n],
    ['0xFF', 255, 255n],
    [toHex(max), max, BigInt(max)],
    ['0x20000000000000', null, 2n ** 53n],
    ['0x', null, 0n],
    [436, 436, 436n],
  ];
  const refused = [
    ...['', '436', '1b4', '0xg', '0x-1', '-0x1', ' 0x1', '0x1\n', '0x1.5', '\u001b[31m', `0x${'f'.repeat(65)}`],
    ...[-1, 1.5, 436n, NaN, null, undefined, true, {}, ['0x1'], `0x${'f'.repeat(10_000_000)}`],
    ...['1e999', '{"toString":1,"valueOf":1}', `${'['.repeat(1e5)}${']'.repeat(1e5)}`].map((text) => JSON.parse(text)),
    ...['hunter2pass', '0xhunter2pass', { a: 'hunter2pass' }, ['hunter2pass']],
  ];
  const table = [...valid, ...refused.map((quantity) => [quantity, null, null])];
  const says = /^the endpoint: a request: the answer is [^\u0000-\u001f]*; a quantity such as "0x1b4" is expected$/;
  for (const [quantity, number, integer] of table)
    it(`${typeof quantity} ${oneLine(quantity, 40)}`, async () => {
      for (const [read, expected] of [
        [toNumber, number],
        [toBigInt, integer],
      ]) {
        if (expected !== null) {
          assert.equal(read(quantity), expected);
          continue;
        }
        const error = await caught(() => read(quantity));
        assert.ok(error instanceof ProtocolError, String(error));
        assert.match(error.message, says);
        assert.doesNotMatch(error.message, /hunter/);
      }
    });

  it('go there and back', () => {
    const integers = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
    fc.assert(
      fc.property(integers, fc.maxSafeNat(), (integer, number) =>
        assert.deepEqual([toBigInt(toHex(integer)), toNumber(toHex(number))], [integer, number]),
      ),
      { seed: 5 },
    );
  });
});

describe('what an endpoint says that knows the secrets of its URL', () => {
  const secrets = ['user:hunter2pass', 'hunter2pass'];
  const failed = (/** @type {number} */ id, /** @type {unknown} */ error) => ({
    text: JSON.stringify({ jsonrpc: '2.0', id, error }),
  });
  /** @type {Array<[string, (id: number) => {text: string}]>} */
  const answers = [
    ['an error', (id) => failed(id, { code: -32000, message: 'no user:hunter2pass' })],
    ['an error that is no object', (id) => failed(id, 'bad password: hunter2pass')],
    ['no JSON, cut in the middle of it', () => ({ text: `${'-'.repeat(32)} hunter2pass` })],
  ];
  for (const [what, answer] of answers) {
    it(`${what}: neither alone nor in a batch is a secret in the words`, async () => {
      const { rpc } = rpcOver(({ id }) => answer(id), { secrets });
      for (const asked of [rpc.call('a', [], 'setup'), rpc.gather('a', [], 'setup')]) {
        const { message } = await caught(() => asked);
        assert.match(message, /\*\*\*/);
        assert.doesNotMatch(message, /hunter/);
      }
    });
  }

  it("no connection: the words of a certificate are the endpoint's, too", async () => {
    const fail = () => Promise.reject(new TransportError('altnames: DNS:hunter2pass', 'certificate'));
    const { message } = await caught(() => rpcOver(fail, { secrets }).rpc.call('a', [], 'setup'));
    assert.equal(message, 'http://node: altnames: DNS:***');
  });
});

describe('submissions in batches', () => {
  /** @param {number} batch @param {(asked: Asked[]) => unknown} respond to a batch */
  const submitter = (batch, respond) => {
    const { rpc, bodies } = rpcOver((asked) => (Array.isArray(asked) ? respond(asked) : right(asked, HASH)), { batch });
    /** @param {number} i @param {() => unknown} [onSent] */
    const submit = (i, onSent) => rpc.call('eth_sendRawTransaction', [`0x0${i}`], 'submit', onSent);
    return { rpc, bodies, submit };
  };
  const each = (/** @type {Asked[]} */ asked) => asked.map((one) => right(one, HASH));

  it('of one turn travel together, at most so many', async () => {
    const { rpc, bodies, submit } = submitter(4, each);
    assert.deepEqual(await Promise.all(numbers(6).map((i) => submit(i))), Array(6).fill(HASH));
    equalBy(bodies, ({ length }) => length, [3, 3]);
    assert.equal(rpc.batchFacts('submissions').largest, 3);
    assert.equal(rpc.batchFacts().largest, 1);
    assert.deepEqual(rpc.callCounts(), { submit: 6 });
  });

  it('one that is no longer wanted is not written; the others are, later', async () => {
    const { bodies, submit } = submitter(4, each);
    const all = await Promise.allSettled([submit(0), submit(1, () => false), submit(2)]);
    equalBy(all, ({ status }) => status, ['fulfilled', 'rejected', 'fulfilled']);
    equalBy(bodies, (asked) => asked.map((/** @type {Asked} */ { params }) => params[0]), [['0x00', '0x02']]);
  });

  it('refused: each is written again, alone', async () => {
    const { rpc, bodies, submit } = submitter(2, () => refusal('no'));
    let writes = 0;
    assert.deepEqual(await Promise.all([submit(0, () => (writes += 1)), submit(1)]), [HASH, HASH]);
    assert.equal(writes, 2);
    assert.equal(bodies.length, 3);
    assert.equal(rpc.batchFacts('submissions').limit, 1);
  });
});

describe('a batch that is sent as it is', () => {
  /** @param {Parameters<typeof rpcOver>[0]} respond */
  const sent = (respond) => {
    const { rpc, bodies } = rpcOver(respond);
    return { bodies, answer: rpc.call(BATCH, requests(3), 'load'), rpc };
  };

  it('gives the results in the order of the requests, in whichever order they come', async () => {
    const { answer, bodies, rpc } = sent((asked) => honest(asked).reverse());
    assert.deepEqual(await answer, [0, 1, 2]);
    assert.deepEqual([bodies.length, bodies[0].length, rpc.callCounts().load], [1, 3, 3]);
  });

  /** @type {Array<[string, (asked: any) => unknown, Function, RegExp]>} */
  const faults = [
    ['an answer is missing', (asked) => honest(asked).slice(1), ProtocolError, /answered echo without JSON-RPC/],
    ['an answer is an error', ([first, ...rest]) => [...honest(rest), ...errorEach([first], NO)], RpcError, /no/],
    ['the batch is refused', () => refusal('batch too large'), RpcError, /batch too large/],
    ['the answer is no list', ([first]) => right(first), ProtocolError, /foreign id/],
  ];
  for (const [name, respond, type, words] of faults)
    it(`${name}: it fails as a whole`, async () => {
      const error = await caught(() => sent(respond).answer);
      assert.ok(error instanceof /** @type {any} */ (type));
      assert.match(/** @type {Error} */ (error).message, words);
    });
});
