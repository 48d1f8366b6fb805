/** What --push sends, when and how often: to a receiver that is an object, by a clock that the test turns. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPushOutput, label, receiver } from '../../../src/outputs/push.js';
import { STAGES } from '../../../src/stats/figures.js';
import { createFakeClock } from '../../helpers/clock.js';
import { distributionOf, rowOf, runFileOf } from '../../helpers/samples.js';

/**
 * @import { Output, OutputOptions, Totals } from '../../../src/contracts/output.d.ts'
 *
 * @typedef {{status: number, retryAfter?: string, text?: string} | 'silence' | 'refused'} Answer
 */

const URL_TEXT = 'http://user:secret@127.0.0.1:4318';
const START_MS = Date.UTC(2026, 0, 1);
const COUNTS = Object.freeze({
  scheduled: 10,
  dropped: 1,
  started: 9,
  verified: 5,
  failed: 2,
  timedOut: 1,
  abandoned: 1,
});

/** @param {number[]} valuesUs @returns {Totals} */
function totalsOf(valuesUs = []) {
  const stages = Object.fromEntries(STAGES.map(({ name }) => [name, distributionOf(...valuesUs)]));
  return /** @type {Totals} */ ({ attempts: 0, verified: 0, runTps: 1, stages });
}

/** @param {Array<[string, string]>} label @param {OutputOptions['instance']} [instance] */
function optionsOf(label = [], instance = null) {
  const info = { version: '1.2.3', workload: 'counter' };
  return /** @type {OutputOptions} */ (
    /** @type {unknown} */ ({ push: receiver(URL_TEXT), label, info, instance, quiet: false })
  );
}

/**
 * @param {(bodies: any[]) => Answer} [answer] to the last of the bodies
 * @param {OutputOptions} [options]
 */
function pushTo(answer = () => ({ status: 200 }), options = optionsOf()) {
  const clock = createFakeClock({ wallMs: START_MS });
  /** @type {any[]} */
  const bodies = [];
  /** @type {string[]} */
  const warnings = [];
  /** @param {string} body @param {AbortSignal} signal */
  const post = async (body, signal) => {
    bodies.push(JSON.parse(body));
    const given = answer(bodies);
    if (given === 'refused') throw Object.assign(new Error('why'), { code: 'ECONNREFUSED' });
    if (given !== 'silence') return { text: '', ...given };
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
  };
  /** @type {string[]} */
  const errors = [];
  const complain = (/** @type {string} */ text) => void (errors.push(text), warnings.push(text));
  const warn = (/** @type {string} */ text) => void warnings.push(text);
  const output = createPushOutput(options, {}, { clock, post, warn, complain });
  return { clock, bodies, warnings, errors, output };
}

/** @param {any} body @returns {any[]} */
const metricsOf = (body) => body.resourceMetrics[0].scopeMetrics[0].metrics;

/** @param {any} body @param {string} name */
const metric = (body, name) => metricsOf(body).find((one) => one.name === name);

/** @param {any} point @returns {Record<string, string>} */
const labelsOf = ({ attributes }) =>
  Object.fromEntries(attributes.map((/** @type {any} */ { key, value }) => [key, value.stringValue]));

/** A run of a few intervals until its last push has been tried. @param {ReturnType<typeof pushTo>} given @param {number} [intervals] */
async function drive({ output, clock }, intervals = 1) {
  output.begin?.({ startUs: 0, startedAtMs: START_MS });
  for (let i = 0; i < intervals; i += 1) {
    await clock.advance(5000);
    output.interval?.(rowOf({ counts: COUNTS }), totalsOf());
  }
  await clock.settle();
  await end(output, clock);
}

/** @param {Output} output @param {ReturnType<typeof createFakeClock>} clock @param {AbortSignal} [now] @returns {Promise<number>} how long the end took, in ms */
async function end(output, clock, now) {
  await output.finish?.(runFileOf());
  const startedUs = clock.nowUs();
  let endedUs = NaN;
  void output.close?.(now).then(() => (endedUs = clock.nowUs()));
  for (let i = 0; i < 150 && Number.isNaN(endedUs); i += 1) await clock.advance(100);
  return (endedUs - startedUs) / 1000;
}

describe('the encoding of --push', () => {
  it('OTLP: where it is from, its instants, and a point of each kind', async () => {
    const given = pushTo(undefined, optionsOf([['branch', 'main']], { runId: 'night', index: 2, instances: 3 }));
    const { output, clock, bodies } = given;
    output.begin?.({ startUs: 0, startedAtMs: START_MS });
    await clock.advance(5000);
    const latency = distributionOf(50, 1000, 1001, 200_000_000);
    for (let i = 0; i < 2; i += 1) output.interval?.(rowOf({ counts: COUNTS, latency, inFlight: 7 }), totalsOf([5]));
    await clock.settle();
    const [, , body] = bodies;
    const text = (/** @type {string} */ key, /** @type {string} */ stringValue) => ({ key, value: { stringValue } });
    assert.deepEqual(body.resourceMetrics[0].resource, {
      attributes: [text('service.name', 'stress'), text('service.instance.id', 'night/2')],
    });
    assert.deepEqual(body.resourceMetrics[0].scopeMetrics[0].scope, { name: 'stress', version: '1.2.3' });
    const common = { branch: 'main', run_id: 'night', index: '2' };
    const { sum } = metric(body, 'stress_operations_total');
    assert.deepEqual([sum.aggregationTemporality, sum.isMonotonic], [2, true]);
    const verified = sum.dataPoints.find((/** @type {any} */ one) => labelsOf(one).outcome === 'verified');
    const { attributes, ...point } = verified;
    assert.deepEqual(labelsOf({ attributes }), { ...common, outcome: 'verified' });
    assert.deepEqual(point, {
      startTimeUnixNano: `${START_MS}000000`,
      // The second of two of the same instant.
      timeUnixNano: `${START_MS + 5001}000000`,
      asDouble: 2 * COUNTS.verified,
    });
    assert.equal(metric(body, 'stress_in_flight').gauge.dataPoints[0].asDouble, 7);
    const { dataPoints, aggregationTemporality } = metric(body, 'stress_latency_seconds').histogram;
    const [all] = dataPoints;
    assert.deepEqual([dataPoints.length, aggregationTemporality, all.count], [1, 2, '8']);
    assert.equal(all.sum, (2 * latency.sumUs) / 1e6);
    assert.equal(all.bucketCounts.length, all.explicitBounds.length + 1);
    const below = Object.fromEntries(
      all.bucketCounts.map((/** @type {string} */ n, /** @type {number} */ i) => [all.explicitBounds[i], n]),
    );
    assert.deepEqual(
      [below[0.0001], below[0.001], below[0.0015], below[120], below.undefined],
      ['2', '2', '2', '0', '2'],
    );
    const stages = metric(body, 'stress_stage_seconds').histogram.dataPoints;
    assert.deepEqual(
      stages.map((/** @type {any} */ one) => labelsOf(one).stage),
      STAGES.map(({ name }) => name),
    );
  });

  it('begins with zeros, and has nothing for what is not known', async () => {
    const given = pushTo();
    given.output.begin?.({ startUs: 0, startedAtMs: START_MS });
    await given.clock.settle();
    const [body] = given.bodies;
    assert.equal(metric(body, 'stress_operations_started_total').sum.dataPoints[0].asDouble, 0);
    assert.equal(metric(body, 'stress_in_flight'), undefined);
    assert.equal(body.resourceMetrics[0].resource.attributes.length, 1);
  });
});

describe('the pushes of --push', () => {
  it('one at the begin, in each interval and at the end; no warning', async () => {
    const given = pushTo();
    await drive(given, 3);
    assert.deepEqual([given.bodies.length, given.warnings], [5, []]);
  });

  it('a run that ended in its set-up is pushed once, and one that never had a file not at all', async () => {
    const given = pushTo();
    await end(given.output, given.clock);
    assert.equal(metric(given.bodies[0], 'stress_load_begun').gauge.dataPoints[0].asDouble, 0);
    const other = pushTo();
    await other.output.close?.();
    await other.output.close?.();
    assert.deepEqual([given.bodies.length, other.bodies.length, other.warnings], [1, 0, []]);
  });

  it('a silent receiver: the end waits 10 s for it, and not at all when the run has to end at once', async () => {
    for (const [now, isShort] of /** @type {const} */ ([
      [undefined, false],
      [AbortSignal.abort(), true],
    ])) {
      const { output, clock, warnings } = pushTo(() => 'silence');
      const tookMs = await end(output, clock, now);
      assert.ok(isShort ? tookMs < 1000 : tookMs >= 9000 && tookMs <= 10_100, `${tookMs} ms`);
      const says = 'waiting for http://***@127.0.0.1:4318/v1/metrics to take the final figures, at most 10 s in all';
      assert.deepEqual(warnings.slice(0, -1), isShort ? [] : [says]);
    }
  });

  for (const [status, tries] of [
    [400, 1],
    [401, 1],
    [404, 1],
    [302, 1],
    [408, 5],
    [429, 5],
    [500, 5],
    [503, 5],
  ])
    it(`HTTP ${status}: ${tries === 1 ? 'is not repeated' : `${tries} tries`}`, async () => {
      const { output, clock, bodies } = pushTo(() => ({ status }));
      output.begin?.({ startUs: 0, startedAtMs: START_MS });
      await clock.advance(60_000);
      assert.equal(bodies.length, tries);
    });

  it('waits as long as a receiver asks for, and at most 30 s', async () => {
    for (const [retryAfter, waitMs] of /** @type {const} */ ([
      ['7', 7000],
      ['900', 30_000],
      [new Date(START_MS + 9000).toUTCString(), 9000],
      [new Date(START_MS - 9000).toUTCString(), 1000],
      ['soon', 1000],
    ])) {
      const { output, clock, bodies } = pushTo((all) =>
        all.length === 1 ? { status: 429, retryAfter } : { status: 200 },
      );
      output.begin?.({ startUs: 0, startedAtMs: START_MS });
      await clock.advance(waitMs - 1);
      assert.equal(bodies.length, 1, retryAfter);
      await clock.advance(1);
      assert.equal(bodies.length, 2, retryAfter);
      assert.deepEqual(bodies[0], bodies[1]);
    }
  });

  it('HTTP 413: halves, until they fit, and each series once', async () => {
    const given = pushTo((all) => ({ status: metricsOf(all.at(-1)).length > 10 ? 413 : 200 }));
    given.output.begin?.({ startUs: 0, startedAtMs: START_MS });
    await given.clock.settle();
    await given.clock.advance(1);
    const [whole, ...parts] = given.bodies.map(metricsOf);
    const taken = parts.filter(({ length }) => length <= 10).flat();
    assert.deepEqual(taken, whole);
    await end(given.output, given.clock);
    assert.deepEqual(given.warnings, []);
  });

  it('HTTP 413 of one series, and a part that is rejected, are failures', async () => {
    const tooLarge = pushTo(() => ({ status: 413 }));
    await drive(tooLarge, 0);
    assert.match(String(tooLarge.warnings.at(-1)), /^2 of 2 pushes to .* final figures too: HTTP 413$/);
    const text = '{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"too old"}}';
    const partial = pushTo(() => ({ status: 200, text }));
    await drive(partial, 0);
    assert.match(partial.warnings.join(), /final figures too: HTTP 200 \(.*too old.*\)$/);
    const whole = pushTo(() => ({ status: 200, text: '{"partialSuccess":{"rejectedDataPoints":"0"}}' }));
    await drive(whole, 0);
    assert.deepEqual(whole.warnings, []);
  });

  it('one request at a time; few wait, and the last one has the totals of all', async () => {
    const given = pushTo((all) => (all.length === 1 ? 'silence' : { status: 200 }));
    const { output, clock, bodies, warnings } = given;
    output.begin?.({ startUs: 0, startedAtMs: START_MS });
    for (let i = 0; i < 1000; i += 1) output.interval?.(rowOf({ counts: COUNTS }), totalsOf());
    await clock.settle();
    assert.equal(bodies.length, 1);
    await clock.advance(4000);
    await clock.advance(1000);
    assert.equal(bodies.length, 2 + 16);
    await end(output, clock);
    const { asDouble } = metric(bodies.at(-1), 'stress_operations_started_total').sum.dataPoints[0];
    assert.equal(asDouble, 1000 * COUNTS.started);
    assert.match(warnings.join(), /^984 of 1002 pushes .* failed, and the final figures arrived: /);
  });

  it('the end waits for at most 10 s, whatever the receiver does', async () => {
    for (const answer of /** @type {Answer[]} */ (['silence', 'refused', { status: 503, retryAfter: '60' }])) {
      const { output, clock, warnings, errors } = pushTo(() => answer);
      output.begin?.({ startUs: 0, startedAtMs: START_MS });
      const tookMs = await end(output, clock);
      assert.ok(tookMs <= 10_000, `${JSON.stringify(answer)}: ${tookMs} ms`);
      assert.match(String(warnings.at(-1)), /^\d of 2 pushes to \S+ failed, that of the final figures too: .*$/);
      assert.deepEqual(errors, warnings.slice(-1), '--quiet shows it');
    }
  });

  it('says why there was no answer', async () => {
    const given = pushTo(() => 'refused');
    await drive(given, 0);
    assert.match(given.warnings.join(), /final figures too: connection refused$/);
  });

  it('the last push does not wait for repeated ones', async () => {
    let isUp = false;
    const given = pushTo(() => (isUp ? { status: 200 } : { status: 503, retryAfter: '30' }));
    given.output.begin?.({ startUs: 0, startedAtMs: START_MS });
    await given.clock.settle();
    isUp = true;
    assert.ok((await end(given.output, given.clock)) <= 100);
    assert.match(given.warnings.join(), /^1 of 2 pushes .* the final figures arrived: HTTP 503$/);
    assert.deepEqual(given.errors, []);
  });

  it('the last push does not wait for the parts of another', async () => {
    const given = pushTo((all) => {
      const isWhole = metricsOf(all.at(-1)).length >= metricsOf(all[0]).length;
      return isWhole ? { status: all.length === 1 ? 413 : 200 } : 'silence';
    });
    given.output.begin?.({ startUs: 0, startedAtMs: START_MS });
    await given.clock.settle();
    assert.ok((await end(given.output, given.clock)) <= 4100);
    assert.match(given.warnings.join(), /^1 of 2 pushes .* the final figures arrived: /);
  });

  it('the last push arrives at a receiver that is there again after 9 s', async () => {
    const given = pushTo(() => (given.clock.nowUs() - startUs < 9e6 ? 'refused' : { status: 200 }));
    const startUs = given.clock.nowUs();
    assert.ok((await end(given.output, given.clock)) <= 9100);
    assert.deepEqual(given.warnings.length, 1);
  });

  it('the first failure is told at once; each warning is one line without secrets', async () => {
    const given = pushTo(() => ({ status: 401, text: 'no\nsecret, dXNlcjpzZWNyZXQ=' }));
    await drive(given);
    assert.deepEqual(given.warnings, [
      'a push to http://***@127.0.0.1:4318/v1/metrics failed, and the next ones are tried: HTTP 401 (no ***, ***); credentials are given in STRESS_PUSH_URL, STRESS_PUSH_HEADER or --push-header-file',
      '3 of 3 pushes to http://***@127.0.0.1:4318/v1/metrics failed, that of the final figures too: HTTP 401 (no ***, ***); credentials are given in STRESS_PUSH_URL, STRESS_PUSH_HEADER or --push-header-file',
    ]);
  });
});

describe('the options of --push', () => {
  it('the address has /v1/metrics once', () => {
    const base = 'https://example.org:9/api/v1/otlp';
    for (const text of [base, `${base}/`, `${base}/v1/metrics`, `${base}/v1/metrics/`])
      assert.equal(receiver(text).href, `${base}/v1/metrics`);
    assert.equal(receiver('http://localhost?a=b').href, 'http://localhost/v1/metrics?a=b');
    for (const text of ['localhost:4318', 'ftp://localhost', 'http://', 'x', 'http://%ff@localhost'])
      assert.throws(() => receiver(text), /^Error: must be a URL such as http:\/\/127\.0\.0\.1:4318, with/, text);
  });

  it('labels are names that Prometheus takes, with a value', () => {
    assert.deepEqual(label('branch=a=b, c'), ['branch', 'a=b, c']);
    for (const text of ['x', '=x', 'x=', '1a=b', 'a-b=c', 'a.b=c', '__a=b', 'é=b', 'a=b\nc'])
      assert.throws(() => label(text), /^Error: must be NAME=VALUE, such as branch=main/, text);
  });

  it('a label has no name that a series has already', () => {
    for (const name of ['le', 'job', 'instance', 'run_id', 'index', 'outcome', 'code', 'endpoint', 'stage', 'workload'])
      assert.throws(() => createPushOutput(optionsOf([[name, 'x']])), {
        exitCode: 64,
        message: `--label must have another name than ${name}, which Prometheus or stress sets`,
      });
  });

  it('at most 16 labels, each with one value', () => {
    const labels = /** @type {Array<[string, string]>} */ (Array.from({ length: 17 }, (_, i) => [`a${i}`, 'x']));
    assert.throws(() => createPushOutput(optionsOf(labels)), {
      exitCode: 64,
      message: '--label is given 17 times: at most 16 labels are possible',
    });
    assert.throws(
      () =>
        createPushOutput(
          optionsOf([
            ['a', 'x'],
            ['a', 'y'],
          ]),
        ),
      { exitCode: 64, message: '--label a has two values: give it once' },
    );
  });
});
