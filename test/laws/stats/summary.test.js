import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stageEndsUs } from '../../../src/core/pacer.js';
import { Recorder } from '../../../src/stats/recorder.js';
import { equalBy } from '../../helpers/equal-by.js';
import { runFileOf, runRecorder, sampleOf } from '../../helpers/samples.js';

describe('buildRunFile()', () => {
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
        // The second one due in the first stage ended in the second.
        [1, 0, 1000, 2, 0, 2, 1, 2],
        [2, 1000, 1500, 2, 1, 1, 4, 1],
      ],
    );
    assert.equal('byStage' in runFileOf(), false, 'only with --stages');
    // The drain was cut short: nothing is known after the last block.
    const ratesUs = 500_000;
    const cut = runFileOf({ stats: recorder.rest(), durationUs: 1_500_000, ratesUs, schedule });
    equalBy(cut.byStage ?? [], ({ tps }) => tps, [2, null]);
    assert.deepEqual(
      Object.keys(cut.unmeasured).filter((pointer) => pointer.startsWith('/byStage')),
      ['/byStage/1/tps'],
    );
  });

  it('what could not be measured is null with a reason, never 0', () => {
    const recorder = new Recorder([0], 0);
    recorder.closeWindow(1_000_000);
    const empty = runFileOf({ stats: recorder.rest(), durationUs: 1_000_000, intervals: [] });
    const { generator, unmeasured, latency, verdict, rates } = empty;
    assert.equal(generator.cpuUsPerVerified, null);
    assert.equal(unmeasured['/generator/cpuUsPerVerified'], 'nothing was verified in the window');
    assert.equal(latency.total.p50Us, null);
    assert.equal(verdict, null);
    assert.ok(unmeasured['/verdict']);
    assert.equal(rates.verifiedPerSecond, 0); // this one was measured
  });
});

describe('buildRunFile() of a run that goes on', () => {
  /** @param {number} durationUs */
  const soFar = (durationUs) => {
    const recorder = runRecorder();
    recorder.start(0, 0);
    recorder.start(1, 0);
    const generator = { ...runFileOf().generator, samplesDropped: null };
    return runFileOf({ stats: recorder.rest(), durationUs, end: 'running', audit: null, generator });
  };

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
