import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noBlocks } from '../../../src/metrics/blocks.js';
import { Distribution } from '../../../src/metrics/distribution.js';
import { Recorder } from '../../../src/metrics/recorder.js';
import { rateNotHeld } from '../../../src/metrics/pace.js';
import { judge } from '../../../src/metrics/verdict.js';
import { readingsOf, rowOf, runFileOf } from '../../helpers/samples.js';

/** @typedef {import('../../../src/metrics/summary.js').RunFile} RunFile */
/** @typedef {import('../../../src/metrics/readings.js').Readings} Readings */

const LOOP = { utilization: 0.41, delayMeanUs: 500, delayP99Us: 20_000, delayMaxUs: 90_000, gcUs: 0 };
const RANGE = { from: 32_768, to: 60_999, ports: 28_232 };

/** @param {number} portsLeft @returns {NonNullable<Readings['sockets']>} */
function socketsOf(portsLeft) {
  const endpoint = { endpoint: '127.0.0.1:8545', timeWait: 3, portsInUse: RANGE.ports - portsLeft, portsLeft };
  return { timeWait: 3, range: RANGE, endpoints: [endpoint] };
}

/** @param {number[]} valuesUs */
function distributionOf(...valuesUs) {
  const distribution = new Distribution();
  for (const us of valuesUs) distribution.record(us);
  return distribution.toJSON();
}

/** Closed loop, 200 wallets, nothing wrong. @param {Partial<Readings>} [probes] @returns {RunFile} */
function closedRun(probes = {}) {
  const run = runFileOf();
  const stages = {
    ...{ queued: distributionOf(1000), submit: distributionOf(3000) },
    ...{ inclusion: distributionOf(92_000), readBack: distributionOf(4000) },
  };
  return {
    ...run,
    latency: { ...run.latency, stages },
    intervals: [rowOf({ inFlight: 190 }), rowOf({ inFlight: 210 }), rowOf({ phase: 'drain', inFlight: 9000 })],
    probes: readingsOf({ loop: LOOP, sockets: socketsOf(20_000), ...probes }),
  };
}

/**
 * An open loop over 10 s.
 * @param {{asked?: number, achieved?: number, dropped?: number, verified?: number, lagUs?: number[], probes?: Partial<Readings>, latencies?: number[], blocks?: number}} given
 * @returns {RunFile}
 */
function openRun({
  asked = 500,
  achieved = 499,
  dropped = 0,
  verified = 4990,
  lagUs = [300],
  probes,
  latencies,
  blocks = 0,
}) {
  const run = closedRun(probes);
  const scheduled = asked * 10;
  const counts = { ...run.window.counts, scheduled, dropped, started: scheduled - dropped, verified };
  return {
    ...run,
    window: { ...run.window, durationMs: 10_000, counts },
    rates: { ...run.rates, askedPerSecond: asked, achievedPerSecond: achieved, verifiedPerSecond: verified / 10 },
    lag: distributionOf(...lagUs),
    intervals: (latencies ?? [500_000, 500_000]).map((us, i) =>
      rowOf({ startMs: 1000 * i, endMs: 1000 * (i + 1), inFlight: 80, latency: distributionOf(us) }),
    ),
    blocks: { ...noBlocks(), count: blocks },
  };
}

describe('judge()', () => {
  /** @type {Array<[string, RunFile, string, RegExp]>} */
  const table = [
    [
      'a closed loop',
      closedRun(),
      'node-bound',
      /^92 % of the latency is waiting for a block, 200 in flight, the generator's event loop busy 41 % of the time$/,
    ],
    ['a generator at 60 %', closedRun({ loop: { ...LOOP, utilization: 0.6 } }), 'node-bound', /busy 60 %/],
    [
      'a busy generator',
      closedRun({ loop: { ...LOOP, utilization: 0.94 } }),
      'generator-bound',
      /^the generator's event loop was busy 94 % of the time$/,
    ],
    ['just as busy', closedRun({ loop: { ...LOOP, utilization: 0.9 } }), 'generator-bound', /90 %/],
    ['almost as busy', closedRun({ loop: { ...LOOP, utilization: 0.89 } }), 'node-bound', /89 %/],
    [
      'a starved generator',
      closedRun({ loop: { ...LOOP, delayMeanUs: 62_000 } }),
      'generator-bound',
      /^timers of the generator's event loop fired 62 ms late on average: others had the CPU$/,
    ],
    ['blocks worked off in bursts', closedRun({ loop: { ...LOOP, delayP99Us: 400_000 } }), 'node-bound', /./],
    [
      'no port was left',
      { ...closedRun(), failures: { transport_no_ports: 1200 } },
      'port-bound',
      /^1,200 operations failed because no local port was left/,
    ],
    [
      'almost no port was left',
      closedRun({ sockets: socketsOf(500) }),
      'port-bound',
      /^500 of 28,232 local ports were left towards 127\.0\.0\.1:8545 when they were fewest$/,
    ],
    ['few ports were left', closedRun({ sockets: socketsOf(600) }), 'node-bound', /./],
    [
      'ports before the generator',
      closedRun({ sockets: socketsOf(0), loop: { ...LOOP, utilization: 1 } }),
      'port-bound',
      /^0 of 28,232/,
    ],
    [
      'nothing to check with',
      closedRun({ loop: null, sockets: null }),
      'node-bound',
      /^92 % .* block, 200 in flight \(not checked: ports, the event loop\)$/,
    ],
    ['no probes at all', { ...closedRun(), probes: null }, 'node-bound', /\(not checked: ports, the event loop\)$/],
    [
      'an open loop that is kept up with',
      openRun({}),
      'rate-bound',
      /^499\.0 of 500\.0 per second were achieved, 0 dropped: a higher rate would tell what the node can do$/,
    ],
    ['99 %, 0.1 % dropped', openRun({ achieved: 495, dropped: 5 }), 'rate-bound', /^495\.0 of 500\.0 .*, 5 dropped/],
    ['without ports', openRun({ probes: { sockets: null } }), 'rate-bound', /\(not checked: ports\)$/],
    [
      'less than 99 %',
      openRun({ achieved: 494 }),
      'node-bound',
      /block, 494\.0 of 500\.0 per second were achieved, 80 in flight/,
    ],
    [
      'all wallets busy',
      openRun({ achieved: 440, dropped: 600 }),
      'node-bound',
      /440\.0 of 500\.0 per second were achieved, 600 of 5,000 were dropped because all wallets were busy \(more wallets, -t or --in-flight, would tell/,
    ],
    ['some dropped', openRun({ achieved: 499, dropped: 6 }), 'node-bound', /6 of 5,000 were dropped/],
    [
      'late beginnings',
      openRun({ lagUs: [150_000] }),
      'generator-bound',
      /^1 % of the operations were begun, or dropped, 150 ms or more after they were due/,
    ],
    ['beginnings not that late', openRun({ lagUs: [90_000] }), 'rate-bound', /./],
    [
      'the drain hides a backlog',
      openRun({ verified: 2500, latencies: [1e6, 3e6, 5e6, 7e6] }),
      'node-bound',
      /latency grew from 2,000 ms in the first half of the window to 6,000 ms in the second/,
    ],
    ['slow, but no slower later on', openRun({ verified: 2500, latencies: [5e6, 6e6] }), 'rate-bound', /./],
    ['slower, but nothing is left over', openRun({ latencies: [1e6, 7e6] }), 'rate-bound', /./],
    ['one interval tells nothing', openRun({ verified: 2500, latencies: [7e6] }), 'rate-bound', /./],
    ['nor do three blocks', openRun({ verified: 2500, latencies: [1e6, 7e6], blocks: 3 }), 'rate-bound', /./],
    ['but four', openRun({ verified: 2500, latencies: [1e6, 7e6], blocks: 4 }), 'node-bound', /./],
    ['lag means nothing in a closed loop', { ...closedRun(), lag: distributionOf(9e6) }, 'node-bound', /./],
  ];
  for (const [name, run, verdict, evidence] of table) {
    it(`${name}: ${verdict}`, () => {
      const judged = judge(run);
      assert.equal(judged?.name, verdict, judged?.evidence);
      assert.match(judged?.evidence ?? '', evidence);
      assert.doesNotMatch(judged?.evidence ?? '', /\n|NaN|undefined|\. /);
    });
  }

  it('waiting in the generator for most of the time: generator-bound, and --connections is named', () => {
    const run = closedRun();
    const stages = { ...run.latency.stages, queued: distributionOf(10_000_000) };
    const judged = judge({ ...run, latency: { ...run.latency, stages } });
    assert.equal(judged?.name, 'generator-bound');
    assert.match(judged?.evidence ?? '', /^99 % of the latency is waiting in the generator, .*--connections/);
    const short = { ...run.latency.stages, queued: distributionOf(4900), inclusion: distributionOf(10) };
    assert.equal(
      judge({ ...run, latency: { ...run.latency, stages: short } })?.name,
      'node-bound',
      'too little to count',
    );
  });

  it('the halves of the window tell of a backlog, however few rows there are', () => {
    const run = openRun({ verified: 2500, latencies: [7e6] });
    const halves = /** @type {RunFile['latency']['halves']} */ ([
      { count: 100, sumUs: 100 * 1e6 },
      { count: 100, sumUs: 100 * 4e6 },
    ]);
    const slow = { ...run, latency: { ...run.latency, halves } };
    assert.equal(judge(slow)?.name, 'node-bound');
    assert.match(
      rateNotHeld(slow) ?? '',
      /^THE RATE WAS NOT HELD: .* short, and the rest only after the window; latency grew from 1,000 ms .* to 4,000 ms/,
    );
    assert.equal(rateNotHeld(run), null);
    assert.match(
      rateNotHeld(openRun({ achieved: 400, dropped: 1000 })) ?? '',
      /20\.0 % short; 1000 of 5000 were dropped/,
    );
    assert.equal(rateNotHeld(closedRun()), null);
  });

  for (const [end, words] of Object.entries({
    chain_ended: 'chain ended',
    endpoint_lost: 'stopped answering',
    no_wallets: 'no wallet',
  })) {
    it(`a run that ended with ${end} says so first`, () => {
      const judged = judge({ ...openRun({}), end });
      assert.equal(judged?.name, 'node-bound');
      assert.match(judged?.evidence ?? '', new RegExp(`^[^:]*${words}[^:]*: `));
    });
  }

  it('of several workers it is the busiest', () => {
    const run = closedRun({ loop: { ...LOOP, utilization: 0.95 } });
    const evidence = judge({ ...run, generator: { ...run.generator, workers: 4 } })?.evidence;
    assert.equal(evidence, 'the event loop of the busiest worker was busy 95 % of the time');
  });

  it('plain calls wait for the answer', () => {
    const run = closedRun();
    const stages = { ...run.latency.stages, inclusion: distributionOf(0), readBack: distributionOf(0) };
    const judged = judge({ ...run, latency: { ...run.latency, stages } });
    assert.match(judged?.evidence ?? '', /^75 % of the latency is waiting for the answer, /);
  });

  it('pauses after calls that were not answered are no work of the node', () => {
    const run = closedRun();
    const paused = (/** @type {number} */ pausedMs) =>
      judge({
        ...run,
        intervals: [rowOf({ startMs: 0, endMs: 1000 }), rowOf({ phase: 'drain', startMs: 1000, endMs: 9000 })],
        ...{ config: { ...run.config, threads: 10, inFlight: 1 }, failures: { transport_reset: 70 } },
        generator: { ...run.generator, pausedMs },
      });
    assert.deepEqual(paused(4000), {
      name: 'rate-bound',
      evidence:
        'users were given a pause for 40 % of the time, because calls were not answered (transport_reset 70): what the node can do is not to be seen',
    });
    assert.equal(paused(2000)?.name, 'node-bound');
    assert.match(paused(2000)?.evidence ?? '', /, users were given a pause for 20 % of the time, because/);
    assert.doesNotMatch(paused(0)?.evidence ?? '', /pause/);
  });

  it('every stage can be the longest', () => {
    const run = closedRun();
    const words = { submit: 'submission', readBack: 'read-back' };
    for (const [stage, expected] of Object.entries(words)) {
      const stages = { ...run.latency.stages, [stage]: distributionOf(10_000_000) };
      const judged = judge({ ...run, latency: { ...run.latency, stages } });
      assert.match(judged?.evidence ?? '', new RegExp(`^9\\d % of the latency is ${expected}, `));
    }
  });

  it('nothing verified: what failed', () => {
    const run = closedRun();
    const counts = { ...run.counts, verified: 0, failed: 30, timedOut: 5 };
    const given = { ...run, counts, failures: { underpriced: 10, pool_full: 20 } };
    const { name, evidence } = judge(given) ?? {};
    assert.equal(name, 'node-bound');
    assert.match(evidence ?? '', /^nothing was verified, pool_full 20, underpriced 10, timed_out 5, 200 in flight/);
  });

  it('more failed than verified: what, too', () => {
    const run = closedRun();
    const given = { ...run, counts: { ...run.counts, verified: 10, failed: 11 }, failures: { rejected: 11 } };
    assert.match(judge(given)?.evidence ?? '', /waiting for a block, rejected 11, timed_out 1, 200/);
  });

  it('none where nothing was due, or the window has no length', () => {
    const recorder = new Recorder([0], 0);
    recorder.closeWindow(1_000_000);
    assert.equal(runFileOf({ recorder, intervals: [] }).verdict, null);
    const run = closedRun();
    assert.equal(judge({ ...run, window: { ...run.window, durationMs: 0 } }), null);
    assert.equal(judge({ ...run, window: { ...run.window, counts: { ...run.window.counts, scheduled: 0 } } }), null);
  });

  it('stands in the run file', () => {
    const { verdict, unmeasured } = runFileOf();
    assert.equal(verdict?.name, 'node-bound');
    assert.ok(!('/verdict' in unmeasured));
  });
});
