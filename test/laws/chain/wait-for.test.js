import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { waitForEndpoints } from '../../../src/chain/wait-for.js';
import { ProtocolError, RefusedError, RpcError, TransportError } from '../../../src/errors.js';
import { createFakeClock } from '../../helpers/clock.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';

/** @typedef {() => unknown} Answer */

const refused = () => new TransportError('http://a: connection refused', 'refused');
const CHAIN = '0x7a69';

/** Answers that throw their errors, the last one for ever. @param {...unknown} answers @returns {Answer} */
function inTurn(...answers) {
  let turn = 0;
  return () => {
    const answer = answers[Math.min(turn, answers.length - 1)];
    turn += 1;
    if (answer instanceof Error) throw answer;
    return answer;
  };
}

/**
 * A wait that has begun, for endpoints http://a, http://b and so on.
 * @param {Record<string, Answer>[]} endpoints by method
 * @param {{waitForMs?: number, chainId?: number, isLastSending?: boolean}} [options]
 */
function waiting(endpoints, { waitForMs = 30_000, chainId = 31337, isLastSending = false } = {}) {
  const clock = createFakeClock();
  const stop = new AbortController();
  /** @type {string[]} */
  const said = [];
  const names = ['a', 'b', 'c'].map((name) => `http://${name}`);
  const all = endpoints.map((handlers, i) => ({ ...fakeRpc(handlers), display: names[i] }));
  const rpcs = isLastSending ? all.slice(0, -1) : all;
  const urls = rpcs.map(({ display }) => new URL(display));
  const sending = isLastSending ? (all.at(-1) ?? null) : null;
  const sendRpc = sending === null ? null : new URL(sending.display);
  /** @type {{ms: number, error: any} | null} */
  let end = null;
  const beganUs = clock.nowUs();
  const over = (/** @type {any} */ error) => void (end = { ms: (clock.nowUs() - beganUs) / 1000, error });
  const config = { waitForMs, chainId, allowChain: null, sendRpc };
  const notice = (/** @type {string} */ line) => void said.push(line);
  waitForEndpoints(config, { urls, endpoints: { rpcs, sending }, clock, signal: stop.signal, notice }).then(
    () => over(null),
    over,
  );
  return { clock, stop, said, rpcs: all, ended: () => end };
}

describe('waitForEndpoints()', () => {
  const block = () => '0x1';

  it('asks nothing without a limit', async () => {
    const { clock, rpcs, ended } = waiting([{ eth_chainId: inTurn(refused()) }], { waitForMs: 0 });
    await clock.settle();
    assert.deepEqual(ended(), { ms: 0, error: null });
    assert.equal(rpcs[0].count(), 0);
  });

  it('goes on when the endpoint answers, and says once what it waits for', async () => {
    let isThere = false;
    const answer = () => (isThere ? CHAIN : inTurn(refused())());
    const { clock, said, ended } = waiting([{ eth_chainId: answer, eth_blockNumber: block }]);
    await clock.advance(12_200);
    assert.equal(ended(), null);
    isThere = true;
    await clock.advance(500);
    assert.deepEqual(ended(), { ms: 12_500, error: null });
    assert.deepEqual(said, ['waiting up to 30 s (--wait-for) for http://a (connection refused)']);
    assert.equal(clock.pending(), 0);
  });

  it('says nothing of a wait below 5 s', async () => {
    const { clock, said, ended } = waiting([{ eth_chainId: inTurn(refused(), CHAIN), eth_blockNumber: block }]);
    await clock.advance(10_000);
    assert.equal(ended()?.ms, 500);
    assert.deepEqual(said, []);
  });

  it('all endpoints share one limit, and those that are missing are named', async () => {
    const there = { eth_chainId: inTurn(refused(), CHAIN), eth_blockNumber: block };
    const late = { eth_chainId: inTurn(refused(), new ProtocolError('http://b answered HTTP 503', undefined, 503)) };
    const silent = { eth_chainId: () => new Promise(() => {}) };
    const { clock, said, ended } = waiting([there, late, silent], { isLastSending: true });
    await clock.advance(30_000);
    assert.equal(ended()?.ms, 30_000);
    assert.equal(
      ended()?.error.message,
      'http://b was not ready within 30 s (--wait-for): it answered HTTP 503; http://c did not answer within 30 s (--wait-for): no answer to eth_chainId',
    );
    assert.deepEqual([ended()?.error.exitCode, ended()?.error.code], [69, 'transport_timeout']);
    assert.deepEqual(said, [
      'waiting up to 30 s (--wait-for) for http://b (it answered HTTP 503), http://c (no answer to eth_chainId)',
    ]);
    await clock.advance(1000);
    assert.equal(clock.pending(), 0);
  });

  const ofTransport = (/** @type {string} */ reason) => new TransportError(`http://a: ${reason}`, reason);
  const handshake = (/** @type {number} */ status) =>
    new TransportError(`http://a: it answers the WebSocket handshake with HTTP ${status}: check the URL`, 'handshake');
  const http = (/** @type {number} */ status) =>
    new ProtocolError(`http://a answered HTTP ${status} without JSON-RPC`, undefined, status);
  const rpcError = (/** @type {string} */ words) => new RpcError('eth_chainId', -32000, words);

  const OF_A_START = [
    ...['refused', 'reset', 'timeout', 'dns', 'ehostunreach'].map(ofTransport),
    ...[404, 429, 502, 503, 504].flatMap((status) => [http(status), handshake(status)]),
    ...[
      'Node is starting up',
      'still initializing',
      'rate limit exceeded',
      'chain is not done bootstrapping',
      'not ready',
    ].map(rpcError),
  ];
  for (const error of OF_A_START)
    it(`waits after: ${error.message}`, async () => {
      const { clock, ended } = waiting([{ eth_chainId: inTurn(error, error, CHAIN), eth_blockNumber: block }]);
      await clock.advance(5000);
      assert.deepEqual(ended(), { ms: 1000, error: null });
    });

  const FINAL = [
    ...['tls', 'certificate', 'bad_response', 'closed', 'no_ports'].map(ofTransport),
    ...[401, 403].flatMap((status) => [http(status), handshake(status)]),
    ...[http(200), http(500), rpcError('the method eth_chainId does not exist/is not available'), new Error('a bug')],
  ];
  for (const error of FINAL)
    it(`ends at once, while another endpoint is missing, after: ${error.message}`, async () => {
      const { clock, ended } = waiting([
        { eth_chainId: inTurn(refused()) },
        { eth_chainId: inTurn(ofTransport('refused'), error) },
      ]);
      await clock.advance(600);
      assert.deepEqual(ended(), { ms: 500, error });
      await clock.advance(1000);
      assert.equal(clock.pending(), 0);
    });

  it('ends at once at a wrong chain id, also of --send-rpc, and at an answer that is none', async () => {
    const missing = { eth_chainId: inTurn(refused()) };
    for (const isLastSending of [true, false]) {
      const { clock, ended } = waiting([missing, { eth_chainId: () => '0x5' }], { isLastSending });
      await clock.settle();
      assert.ok(ended()?.error instanceof RefusedError);
      assert.equal(ended()?.error.message, 'http://b is chain 5, not 31337 as --chain-id says');
    }
    const { clock, ended } = waiting([{ eth_chainId: () => 'x' }]);
    await clock.settle();
    assert.match(ended()?.error.message, /quantity/);
  });

  it('ends when the run is stopped', async () => {
    const { clock, stop, said, rpcs, ended } = waiting([{ eth_chainId: inTurn(refused()) }]);
    await clock.advance(1200);
    stop.abort();
    await clock.settle();
    assert.deepEqual(ended(), { ms: 1200, error: null });
    assert.deepEqual([said, rpcs[0].count('eth_chainId'), clock.pending()], [[], 3, 0]);
  });

  /** @type {Array<[name: string, heads: Answer, ms: number, says: RegExp | null, waitForMs?: number]>} */
  const BLOCKS = [
    ['there is one', () => '0x1', 0, null],
    ['it comes', inTurn('0x0', '0x0', '0x1'), 2000, null],
    ['none comes within 5 s', () => '0x0', 5000, /^http:\/\/a has block 0 only: the run starts now/],
    ['the limit is over before', () => '0x0', 2000, /^http:\/\/a has block 0 only/, 2500],
    ['the method is missing', inTurn(new RpcError('eth_blockNumber', -32601, 'no such method')), 0, null],
  ];
  for (const [name, eth_blockNumber, ms, says, waitForMs] of BLOCKS)
    it(`a block after block 0: ${name}`, async () => {
      const { clock, said, ended } = waiting([{ eth_chainId: () => CHAIN, eth_blockNumber }], { waitForMs });
      await clock.advance(20_000);
      assert.deepEqual(ended(), { ms, error: null });
      assert.equal(said.length, says === null ? 0 : 1);
      if (says !== null) assert.match(said[0], says);
    });
});
