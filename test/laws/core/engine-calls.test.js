/** An engine with plain calls that take 10 ms each: iterations, think time, and pauses after failures. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Wallet } from '../../../src/chain/keys.js';
import { ThreadEngine } from '../../../src/core/engine.js';
import { Account } from '../../../src/core/nonces.js';
import { ProtocolError, RpcError, TransportError, WorkloadError } from '../../../src/errors.js';
import { createFakeClock } from '../../helpers/clock.js';
import { IDLE_MACHINE } from '../../simulation/platform.js';

/**
 * @import { LoadConfig } from '../../../src/contracts/load.d.ts'
 * @import { EngineConfig } from '../../../src/core/engine.js'
 */

/**
 * @typedef {object} Options
 * @property {number} [perSecond] default: closed loop
 * @property {Partial<LoadConfig>} [config]
 * @property {number} [callsPerIteration]
 * @property {(position: number) => Error | null} [fault] of the next call
 * @property {(position: number) => boolean} [isTired] whether the workload throws
 */

/** Two wallets. @param {Options} [options] */
function harness({ perSecond, config, callsPerIteration, fault = () => null, isTired = () => false } = {}) {
  const clock = createFakeClock({ startUs: 0 });
  /** When each wallet began its calls. @type {[number[], number[]]} */
  const begun = [[], []];
  /** @type {Array<[string, string | undefined]>} */
  const stops = [];
  const stages = [{ fromPerSecond: perSecond ?? 0, toPerSecond: perSecond ?? 0, durationUs: Infinity }];
  const engine = new ThreadEngine({
    config: /** @type {EngineConfig} */ ({
      network: { txTimeoutMs: 1000 },
      load: { inFlight: 1, iterations: null, thinkTimeMs: 0, ...config },
    }),
    schedule: perSecond === undefined ? null : { stages, arrival: 'uniform', seed: 1 },
    clock,
    probes: IDLE_MACHINE,
    rpc: /** @type {any} */ ({
      call: async (/** @type {string} */ _method, /** @type {[number]} */ [position]) => {
        await clock.sleep(10);
        const error = fault(position);
        if (error !== null) throw error;
      },
    }),
    accounts: [0, 1].map((i) => new Account(i, Wallet.withoutKey(i))),
    workload: {
      kind: 'call',
      callsPerIteration,
      next: (position) => {
        begun[position].push(clock.nowUs() / 1000);
        if (isTired(position)) throw new WorkloadError('my.js:3:1: tired');
        return { method: 'x', params: [position] };
      },
      check: () => null,
      handOver: () => /** @type {any} */ (null),
    },
    chain: null,
    onSample: () => {},
    onBlock: () => {},
    onStop: (reason, error) => stops.push([reason, error?.message]),
    traffic: () => /** @type {any} */ ({}),
  });
  engine.start({ loadStartUs: 0, startUs: 0, endUs: Infinity });
  const advance = async (/** @type {number} */ ms) => {
    for (let i = 0; i < ms; i += 5) await clock.advance(5);
  };
  const snapshot = () => engine.snapshot(clock.nowUs(), false);
  /** Between the beginnings of the calls of wallet 0, without the 10 ms of the call itself. */
  const pauses = () => begun[0].slice(1).map((ms, i) => ms - begun[0][i] - 10);
  return { clock, engine, begun, stops, advance, snapshot, pauses };
}

describe('iterations', () => {
  it('each wallet does its own, and the run ends with the last one', async () => {
    const { begun, stops, advance, snapshot } = harness({ config: { iterations: 3 } });
    await advance(25);
    assert.deepEqual(stops, []);
    await advance(200);
    assert.deepEqual([begun[0].length, begun[1].length, stops], [3, 3, [['iterations', undefined]]]);
    assert.equal((await snapshot()).counts.verified, 6);
  });

  it('open loop: nothing is dropped afterwards', async () => {
    const { stops, advance, snapshot } = harness({ config: { iterations: 2 }, perSecond: 50 });
    await advance(1000);
    const { started, dropped } = (await snapshot()).counts;
    assert.deepEqual([started, dropped, stops], [4, 0, [['iterations', undefined]]]);
  });

  it('failures count, and a wallet that is retired after five errors of its workload is not waited for', async () => {
    const { begun, stops, advance } = harness({ config: { iterations: 100 }, isTired: (position) => position === 0 });
    await advance(12_000);
    assert.deepEqual([begun[0].length, begun[1].length, stops], [5, 100, [['iterations', undefined]]]);
  });

  it('the run ends with the message of the workload if no wallet is left', async () => {
    const { begun, stops, advance } = harness({ isTired: () => true });
    await advance(12_000);
    assert.deepEqual([begun[0].length, stops], [5, [['workload_failed', 'my.js:3:1: tired']]]);
  });
});

describe('think time', () => {
  for (const [words, fault] of /** @type {const} */ ([
    ['pauses between iterations, not within one', null],
    ['is the same after failed calls', new RpcError('x', -32000, 'no')],
  ])) {
    it(words, async () => {
      const { advance, pauses } = harness({ config: { thinkTimeMs: 100 }, callsPerIteration: 2, fault: () => fault });
      await advance(260);
      assert.deepEqual(pauses().slice(0, 4), [0, 100, 0, 100]);
    });
  }

  it('ends with the load', async () => {
    const { engine, begun, advance } = harness({ config: { thinkTimeMs: 100 } });
    await advance(20);
    engine.stop(20_000);
    await advance(300);
    assert.deepEqual([begun[0].length, begun[1].length], [1, 1]);
  });
});

describe('pauses of a wallet whose calls fail', () => {
  const refused = new TransportError('refused', 'refused');
  const garbled = new ProtocolError('an HTML page', null, 200);
  const answered = new RpcError('x', -32000, 'no');

  /** Call after call; the last fault stays. @param {Array<Error | null>} faults */
  async function pausesOf(faults) {
    let next = 0;
    const fault = (/** @type {number} */ position) => (position === 0 ? (faults[next++] ?? null) : null);
    const { advance, pauses, snapshot } = harness({ fault });
    await advance(20_000);
    const { pausedMs } = (await snapshot()).generator;
    return { pauses: pauses().slice(0, faults.length), pausedMs };
  }

  it('none after an error response', async () => {
    assert.deepEqual(await pausesOf([answered, answered, answered]), { pauses: [0, 0, 0], pausedMs: 0 });
  });

  it('without a response they double up to 5 s, until there is one', async () => {
    const silent = Array.from({ length: 9 }, (_, i) => (i % 2 === 0 ? refused : garbled));
    assert.deepEqual((await pausesOf(silent)).pauses, [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    const mixed = await pausesOf([refused, refused, answered, refused, null, refused]);
    assert.deepEqual(mixed, { pauses: [50, 100, 0, 50, 0, 50], pausedMs: 250 });
  });

  it('a busy response counts as no response, and as a rate limit', async () => {
    const busy = new RpcError('x', -32005, 'limit exceeded');
    assert.deepEqual((await pausesOf([busy])).pauses, [50]);
    const { advance, snapshot } = harness({ fault: (position) => (position === 0 ? busy : null) });
    await advance(155); // calls of 10 ms, and pauses of 50 and 100 ms
    const { pauses } = (await snapshot()).generator;
    assert.deepEqual(pauses, { limitAnswers: 2, limitedMs: 50, unansweredMs: 0, refusedMs: 0, unpaidMs: 0 });
  });
});
