import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { createTextOutput } from '../../../src/outputs/console.js';
import { OutputStream } from '../../../src/outputs/streams.js';
import { Distribution } from '../../../src/stats/histogram.js';
import { addressOf, rowOf, runFileOf, sampleOf } from '../../helpers/samples.js';

/** @import { OutputOptions } from '../../../src/outputs/output.js' */

const EMPTY = new Distribution().toJSON();
/** Of all intervals. */
const STAGES = Object.freeze({ queued: EMPTY, submit: EMPTY, inclusion: EMPTY, visibility: EMPTY, readBack: EMPTY });

/** @param {Partial<OutputOptions>} [given] */
function textOutput(given = {}) {
  let text = '';
  const stream = new OutputStream(new Writable({ write: (chunk, _, done) => ((text += chunk), done()) }));
  const output = createTextOutput({ stream, verbose: false, explain: false, ...given });
  return { output, text: () => text, lines: () => text.split('\n').slice(0, -1) };
}

/** @param {number[]} latenciesUs */
function latencyOf(latenciesUs) {
  const distribution = new Distribution();
  for (const value of latenciesUs) distribution.record(value);
  return distribution.toJSON();
}

const COUNTS = Object.freeze({
  scheduled: 0,
  dropped: 0,
  started: 0,
  verified: 0,
  failed: 0,
  timedOut: 0,
  abandoned: 0,
});

describe('the text output: intervals', () => {
  it('a header, and a line for each', () => {
    const { output, text } = textOutput();
    output.interval(
      rowOf({
        endMs: 5000,
        counts: { ...COUNTS, started: 1250, verified: 1234, failed: 2, timedOut: 1 },
        failures: { reverted: 1, rpc_error: 1 },
        inFlight: 200,
        tps: 246.8,
        latency: latencyOf([10_000, 20_000, 30_000, 1_500_000]),
      }),
      { attempts: 1250, verified: 1234, runTps: 246.8, stages: STAGES, censored: latencyOf([4_000_000]) },
    );
    output.interval(rowOf({ endMs: 10_004, counts: COUNTS, tps: 0, inFlight: 200 }), {
      attempts: 1250,
      verified: 1234,
      runTps: 123.4,
      stages: STAGES,
    });
    assert.equal(
      text(),
      [
        '  elapsed   attempts   verified      TPS  run TPS   Mgas/s   avg ms   min ms   max ms   p50 ms   p99 ms in flight   failed',
        '    5.0 s      1,250      1,234      247      247      0.0 >= 1,112     10.0 >= 4,000     30.0 >= 4,000       200        3  reverted 1, rpc_error 1, timed_out 1',
        '   10.0 s      1,250      1,234      0.0      123      0.0        -        -        -        -        -       200        0',
        '',
      ].join('\n'),
    );
  });

  it('plain calls are answered, and are no transactions', () => {
    const { output, text } = textOutput();
    output.start?.({ startUs: 0, startedAtMs: 0, isPlain: true });
    output.interval(rowOf({ endMs: 5000, counts: COUNTS, tps: 1 }), {
      attempts: 1250,
      verified: 1234,
      runTps: 123.4,
      stages: STAGES,
    });
    const [head, row] = text().split('\n');
    assert.match(head, /^ +elapsed +attempts +answered +calls\/s +run calls\/s +avg ms/);
    assert.equal(head.indexOf('run calls/s') + 'run calls/s'.length, row.indexOf(' 123 ') + 4);
  });

  it('an endpoint that does not answer is named in the line', () => {
    const { output, lines } = textOutput();
    const silence = { ms: 4000, words: 'http://127.0.0.1:1: connection refused' };
    output.interval(rowOf({ endMs: 5000, silence }), { attempts: 9, verified: 9, runTps: 9, stages: STAGES });
    assert.match(lines()[1], / 0 {2}no answer for 4\.0 s: http:\/\/127\.0\.0\.1:1: connection refused$/);
  });

  it('the header comes back every 20 lines', () => {
    const { output, lines } = textOutput();
    for (let i = 0; i < 45; i += 1) output.interval(rowOf(), { attempts: 0, verified: 0, runTps: 0, stages: STAGES });
    const headers = lines().flatMap((line, i) => (line.includes('elapsed') ? [i] : []));
    assert.deepEqual(headers, [0, 21, 42]);
    assert.equal(lines().length, 48);
  });

  it('the drain has none: it is in the summary', () => {
    const { output, text } = textOutput();
    output.interval(rowOf({ phase: 'drain', tps: null }), { attempts: 1, verified: 1, runTps: null, stages: STAGES });
    assert.equal(text(), '');
  });
});

describe('the text output: samples', () => {
  it('has no definitions without --explain', () => {
    const { output, text } = textOutput();
    output.sample(sampleOf());
    assert.equal(text(), '');
  });

  it('-v: wallet index, contract address and count of the verified ones', () => {
    const { output, text } = textOutput({ verbose: true });
    output.sample(sampleOf({ walletIndex: 250, effect: '7' }));
    for (const outcome of /** @type {const} */ (['failed', 'timed_out', 'abandoned']))
      output.sample(sampleOf({ outcome }));
    assert.equal(text(), `250 ${addressOf(0xc0)} 7\n`);
  });
});

describe('the text output: the rest', () => {
  it('notices are lines', () => {
    const { output, text } = textOutput();
    output.notice('a chain');
    assert.equal(text(), 'a chain\n');
  });

  it('ends with the summary, with definitions if they are wanted', async () => {
    const { output, text } = textOutput();
    await output.finish(runFileOf());
    assert.match(text(), /^\nSummary: ran for its duration, window 2\.0 s\n/);
    assert.ok(text().endsWith('\n'));
    assert.doesNotMatch(text(), /^tps: /m);
    const explained = textOutput({ explain: true });
    await explained.output.finish(runFileOf());
    assert.match(explained.text(), /^tps: Verified operations per second of the window/m);
  });
});
