import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stageEndsUs } from '../../../src/core/pacer.js';
import { Recorder } from '../../../src/stats/recorder.js';
import { DEFINITIONS, RUN_SCHEMA, buildPartialRunFile } from '../../../src/stats/run-file.js';
import { partsOf, runFileOf, runRecorder, sampleOf } from '../../helpers/samples.js';

describe('buildRunFile()', () => {
  it('counts the whole run and the window apart', () => {
    const run = runFileOf();
    assert.equal(run.schema, RUN_SCHEMA);
    assert.deepEqual(run.counts, {
      scheduled: 20,
      dropped: 0,
      started: 20,
      verified: 17,
      failed: 1,
      timedOut: 1,
      abandoned: 1,
    });
    // All but the abandoned one, which was accepted all the same.
    assert.deepEqual(run.window.counts, {
      scheduled: 20,
      dropped: 0,
      started: 20,
      accepted: 20,
      included: 18,
      verified: 17,
      failed: 1,
      timedOut: 1,
    });
    assert.deepEqual(run.failures, { reverted: 1 });
  });

  it('rates are those of the window, each by its name', () => {
    const { rates, window } = runFileOf();
    assert.equal(window.durationMs, 2000);
    assert.deepEqual(rates, {
      askedPerSecond: null,
      achievedPerSecond: 8.5,
      attemptedPerSecond: 10,
      acceptedPerSecond: 10,
      includedPerSecond: 9,
      verifiedPerSecond: 8.5,
    });
  });

  it('latency covers operations due in the window; stages of verified ones add up', () => {
    const { total, timedOut, censored, stages } = runFileOf().latency;
    // 10, 20 ... 170 ms, 500 ms for the one that timed out, 1,550 ms for the one that was abandoned.
    const sums = [19, 1_530_000 + 500_000 + 1_550_000, 10_000, 1_550_000];
    assert.deepEqual([total.count, total.sumUs, total.minUs, total.maxUs], sums);
    assert.deepEqual([timedOut.count, timedOut.sumUs], [1, 500_000]);
    assert.deepEqual([censored.count, censored.sumUs], [2, 2_050_000]);
    assert.deepEqual(
      Object.values(stages).map(({ count }) => count),
      [17, 17, 17, 17],
    );
    assert.equal(
      Object.values(stages).reduce((sum, { sumUs }) => sum + sumUs, 0),
      total.sumUs - censored.sumUs,
    );
    assert.deepEqual([stages.queued.sumUs, stages.submit.sumUs, stages.readBack.sumUs], [17_000, 34_000, 68_000]);
  });

  it('states the CPU time of a verified operation', () => {
    const { generator, unmeasured } = runFileOf();
    assert.equal(generator.cpuUsPerVerified, 350);
    assert.ok(!('/generator/cpuUsPerVerified' in unmeasured));
  });

  it('gives instants as ISO 8601 and carries what it was given', () => {
    const run = runFileOf({ end: 'interrupted', exitCodes: [130], unmeasured: { '/audit': 'no' }, audit: null });
    assert.equal(run.startedAt, '2026-01-01T00:00:00.000Z');
    assert.equal(run.endedAt, '2026-01-01T00:00:05.000Z');
    assert.equal(run.window.startedAt, '2026-01-01T00:00:01.000Z');
    assert.deepEqual([run.end, run.exitCode, run.audit], ['interrupted', 130, null]);
    assert.equal(run.unmeasured['/audit'], 'no');
    assert.deepEqual(run.config, { command: 'run', threads: 2 });
    assert.equal(run.definitions, DEFINITIONS);
  });

  it('survives JSON', () => {
    const run = runFileOf();
    assert.deepEqual(JSON.parse(JSON.stringify(run)), run);
  });

  it('does not change afterwards', () => {
    const recorder = runRecorder();
    const run = runFileOf({ stats: recorder.rest() });
    const before = JSON.stringify(run);
    recorder.start(0, 0);
    assert.equal(JSON.stringify(run), before);
  });

  /** A run in which nothing happened. @param {number} endUs of the window */
  const emptyRun = (endUs) => {
    const recorder = new Recorder([0], 0);
    recorder.closeWindow(endUs);
    return runFileOf({ stats: recorder.rest(), durationUs: endUs, intervals: [] });
  };

  it('operations count in the load stage in which they are due; the warm-up is none', () => {
    const schedule = {
      stages: [5, 10, 20].map((perSecond) => ({ fromPerSecond: 1, toPerSecond: perSecond, durationUs: 1_000_000 })),
      arrival: /** @type {const} */ ('uniform'),
      seed: 1,
      firstStage: 1,
    };
    const recorder = new Recorder([0], 0, stageEndsUs(schedule));
    recorder.open(0, 1_000_000, 2_500_000);
    for (const startUs of [0, 1_000_000, 1_999_999, 2_000_000]) {
      recorder.start(0, startUs);
      recorder.add(sampleOf({ startUs, endedAtUs: startUs + 1000 }));
    }
    recorder.drop(2_100_000);
    const { byStage = [] } = runFileOf({ stats: recorder.rest(), durationUs: 1_500_000, schedule });
    assert.deepEqual(
      byStage.map(({ stage, startMs, endMs, counts, tps, latency }) => {
        return [stage, startMs, endMs, counts.scheduled, counts.dropped, counts.verified, tps, latency.count];
      }),
      [
        [1, 0, 1000, 2, 0, 2, 2, 2],
        [2, 1000, 1500, 2, 1, 1, 2, 1],
      ],
    );
    assert.equal('byStage' in runFileOf(), false, 'only with --stages');
  });

  it('what could not be measured is null with a reason, never 0', () => {
    const { generator, unmeasured, latency, verdict, rates } = emptyRun(1_000_000);
    assert.equal(generator.cpuUsPerVerified, null);
    assert.equal(unmeasured['/generator/cpuUsPerVerified'], 'nothing was verified in the window');
    assert.equal(latency.total.p50Us, null);
    assert.equal(verdict, null);
    assert.ok(unmeasured['/verdict']);
    assert.equal(rates.verifiedPerSecond, 0); // this one was measured
  });

  it('without a window there is no rate', () => {
    assert.deepEqual(new Set(Object.values(emptyRun(0).rates)), new Set([null]));
  });

  it('a rate that is null has its reason', () => {
    const { rates, unmeasured } = emptyRun(0);
    for (const [name, rate] of Object.entries(rates)) {
      if (rate === null) assert.ok(unmeasured['/rates'] ?? unmeasured[`/rates/${name}`], name);
    }
  });
});

describe('buildPartialRunFile()', () => {
  /** @param {number} durationUs */
  const soFar = (durationUs) => {
    const recorder = runRecorder();
    recorder.start(0, 0);
    recorder.start(1, 0);
    return buildPartialRunFile(partsOf({ stats: recorder.rest(), durationUs, end: 'running', audit: null }));
  };

  it('has the operations in flight, so that started operations add up', () => {
    const { counts, inFlight, partial } = soFar(1_000_000);
    assert.equal(inFlight, 2);
    assert.equal(counts.started, counts.verified + counts.failed + counts.timedOut + counts.abandoned + inFlight);
    assert.equal(partial, true);
  });

  it('rates are those of the window so far', () => {
    const { rates, window } = soFar(4_000_000);
    assert.equal(window.durationMs, 4000);
    assert.equal(rates.verifiedPerSecond, window.counts.verified / 4);
    assert.equal(soFar(0).rates.verifiedPerSecond, null);
  });

  it('CPU time is divided by operations verified until it was read', () => {
    const { generator, intervals } = soFar(1_000_000);
    const verified = intervals
      .filter(({ phase }) => phase === 'load')
      .reduce((sum, row) => sum + row.counts.verified, 0);
    assert.equal(generator.cpuUsPerVerified, generator.cpuUs / verified);
  });

  it('values known only at the end are null, with the reason', () => {
    const run = soFar(1_000_000);
    assert.deepEqual([run.exitCode, run.verdict], [null, null]);
    for (const pointer of ['/exitCode', '/verdict', '/audit', '/generator/samplesDropped'])
      assert.match(run.unmeasured[pointer], /still running/);
  });
});
