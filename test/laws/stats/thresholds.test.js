import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Distribution } from '../../../src/stats/histogram.js';
import { FAILURE_CODES, figureNames, figureOf, shownFigure } from '../../../src/stats/figures.js';
import { Recorder } from '../../../src/stats/recorder.js';
import { Stats } from '../../../src/stats/stats.js';
import { checkThresholds, parseThreshold, thresholdExit } from '../../../src/stats/thresholds.js';
import { exactAudit, readingsOf, rowOf, runFileOf, sampleOf } from '../../helpers/samples.js';

/** @import { RunFile } from '../../../src/contracts/run-file.d.ts' */

/** @param {string} text */
function refusal(text) {
  try {
    parseThreshold(text);
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
  return assert.fail(`${text} was taken`);
}

/** @param {string} text @param {RunFile} [run] */
const check = (text, run = runFileOf()) => checkThresholds([parseThreshold(text)], run)[0];

describe('parseThreshold()', () => {
  /** @type {Array<[string, string, string, number, string]>} text, figure, operator, limit, unit */
  const table = [
    ['tps>=100', 'tps', '>=', 100, 'perSecond'],
    ['p99<2s', 'p99', '<', 2_000_000, 'us'],
    ['submit.p95<200ms', 'submit.p95', '<', 200_000, 'us'],
    ['failed<0.1%', 'failed', '<', 0.1, 'percent'],
    ['dropped=0', 'dropped', '=', 0, 'count'],
    ['dropped != 0', 'dropped', '!=', 0, 'count'],
    ['verified >= 99.9 %', 'verified', '>=', 99.9, 'percent'],
    ['Timed-Out<=1', 'timed_out', '<=', 1, 'count'],
    ['timedOut<=1', 'timed_out', '<=', 1, 'count'],
    ['attempts>1', 'started', '>', 1, 'count'],
    ['readBack.stddev<3us', 'readback.stddev', '<', 3, 'us'],
    ['total.p99.9<1s', 'total.p99.9', '<', 1_000_000, 'us'],
    ['latency.avg<1s', 'total.avg', '<', 1_000_000, 'us'],
    ['from_start.p50<1s', 'start.p50', '<', 1_000_000, 'us'],
    ['p99.99<1s', 'p99.99', '<', 1_000_000, 'us'],
    ['p0.5<1S', 'p0.5', '<', 1_000_000, 'us'],
    ['failed.reverted=0', 'failed.reverted', '=', 0, 'count'],
    ['failed.wrong-count<1%', 'failed.wrong_count', '<', 1, 'percent'],
    ['failed.transport_ehostunreach=0', 'failed.transport_ehostunreach', '=', 0, 'count'],
    ['rss<1.5GB', 'rss', '<', 1_500_000_000, 'bytes'],
    ['cpu<500us', 'cpu', '<', 500, 'us'],
    ['node.cpu<=150%', 'node.cpu', '<=', 150, 'percent'],
    ['gas.op<=50', 'gas.op', '<=', 50, 'gas'],
    // In floating point 1.001 * 1000 is less than 1001.
    ['p99<=1.001ms', 'p99', '<=', 1001, 'us'],
  ];
  for (const [text, figure, operator, limit, unit] of table) {
    it(text, () => {
      const threshold = parseThreshold(text);
      assert.deepEqual(threshold, { expression: text.trim(), figure, operator, limit, unit });
      assert.ok(Object.isFrozen(threshold));
    });
  }

  /** @type {Array<[string, RegExp]>} */
  const refused = [
    ...['', 'tps', 'tps>=', '>=100', 'tps=>100', 'tps=<100', 'tps>-1', 'tps>1e3', 'tps>1,000', 'tps>.5'].map(
      (text) =>
        /** @type {[string, RegExp]} */ ([text, /^must be a figure, one of .* and a limit, such as 'p99<2s', not /]),
    ),
    [`tps>${'9'.repeat(400)}`, /^must be a figure/],
    ['p99<2', /^does not fit in "p99<2": the unit is missing: p99 takes a limit such as 200ms$/],
    ['tps<2s', /: tps takes a limit such as 100$/],
    ['rss<5', /: the unit is missing: rss takes a limit such as 500MB$/],
    ['scheduled<5%', /: scheduled takes a limit such as 0$/],
    ['failed<5ms', /: failed takes a limit such as 0, or a share of started such as 0\.1%$/],
    ['node.cpu<5', /: the unit is missing: node\.cpu takes a limit such as 50%$/],
    ['tsp>1', /^names "tsp", which is no figure: did you mean tps/],
    ['failed.revertd=0', /: did you mean failed\.reverted/],
    ['p100<1s', /^names "p100", which is no figure: did you mean /],
    ['time=0', /: did you mean timewait or timed_out\?$/],
    ['throughput>1', /, which is no figure; see Thresholds in docs\/measurement\.md$/],
    ...[
      'constructor>1',
      'constructor.p99<1s',
      'toString.p99<1s',
      'submit.constructor<1s',
      '__proto__<1',
      'failed.constructor=0',
    ].map((text) => /** @type {[string, RegExp]} */ ([text, /, which is no figure/])),
  ];
  for (const [text, message] of refused) it(`refuses ${text.slice(0, 30)}`, () => assert.match(refusal(text), message));

  it('shows a part of what it was given at most: it may be a key', () => {
    const key = '1a'.repeat(32);
    for (const text of [key, `${key}<1`, `tps<1${'a'.repeat(64)}`])
      assert.ok(!refusal(text).includes(text.slice(0, 40)));
    assert.doesNotMatch(refusal('\u001b[31mred<1'), /\u001b/);
  });
});

describe('a threshold of the audit', () => {
  it('names one of its results', () => {
    for (const [text, operator, limit] of [
      ['audit=exact', '=', 'exact'],
      ['audit == exact', '=', 'exact'],
      ['Audit!=NOT_EXACT', '!=', 'not_exact'],
      ['audit=incomplete', '=', 'incomplete'],
    ])
      assert.deepEqual(parseThreshold(text), { expression: text, figure: 'audit', operator, limit, unit: 'result' });
  });

  it('is refused with anything else, in one line', () => {
    for (const text of [
      'audit<exact',
      'audit>=exact',
      'audit=0',
      'audit=good',
      'audit=',
      'audit=exactly',
      'audit!exact',
    ])
      assert.match(
        refusal(text),
        /^does not fit in "audit[^"]*": audit is exact, incomplete, not_exact, such as [^\n]*$/,
      );
    assert.match(refusal('audti=1'), /no figure: did you mean audit\?/);
  });

  /** @param {any} audit @param {Record<string, unknown>} [environment] */
  const resultOf = (audit, environment = {}) => {
    const run = runFileOf({ audit, environment, unmeasured: audit === null ? { '/audit': 'the reason' } : {} });
    return check('audit=exact', run);
  };

  it('passes with an exact audit only', () => {
    const audit = exactAudit();
    assert.deepEqual([resultOf(audit).value, resultOf(audit).passed], ['exact', true]);
    const incomplete = resultOf({ ...audit, exact: false, result: 'incomplete', incomplete: ['fees'] });
    assert.deepEqual([incomplete.value, incomplete.passed, 'why' in incomplete], ['incomplete', false, false]);
    assert.equal(resultOf({ ...audit, exact: false, result: 'not_exact' }).value, 'not_exact');
    assert.equal(resultOf(null).value, 'incomplete', 'one that could not be made');
    const plain = resultOf(null, { inclusion: null });
    assert.deepEqual([plain.value, plain.passed, plain.why], [null, false, 'the reason']);
    assert.equal(thresholdExit([incomplete]), 99);
    assert.equal(check('audit!=not_exact', runFileOf({ audit })).passed, true);
  });

  it('reads files of versions that did not say the result', () => {
    const audit = exactAudit();
    assert.equal('result' in audit, false);
    assert.equal(resultOf(audit).value, 'exact');
    assert.equal(resultOf({ ...audit, exact: false }).value, 'not_exact');
    assert.equal(resultOf({ ...audit, checks: [{ holds: null }] }).value, 'incomplete');
  });
});

describe('figureNames()', () => {
  it('each is found by its unique name and has a description', () => {
    const names = figureNames();
    assert.equal(new Set(names).size, names.length);
    for (const name of names) {
      assert.equal(figureOf(name)?.name, name);
      assert.match(figureOf(name)?.words ?? '', /^\S.*[^.\s]$/);
    }
  });

  it('the codes of failures are those of docs/measurement.md', () => {
    const page = readFileSync(new URL('../../../docs/measurement.md', import.meta.url), 'utf8');
    const rows = page.slice(page.indexOf('## Failures'), page.indexOf('## The audit')).match(/^- `.*?: /gm) ?? [];
    const documented = rows.flatMap((row) => [...row.matchAll(/`(\w+)`/g)].map(([, code]) => code));
    assert.ok(documented.length >= 15);
    for (const code of documented) assert.ok(figureOf(`failed.${code.replace(/_$/, '_timeout')}`), code);
    for (const code of FAILURE_CODES) assert.match(code, /^[a-z_]+$/);
  });
});

describe('checkThresholds()', () => {
  /** @type {Array<[string, number]>} of 20 operations in 2 s, two of them censored, see test/helpers/samples.js */
  const values = [
    ['tps>0', 8.5],
    ['accepted>0', 10],
    ['included>0', 9],
    ['scheduled>0', 20],
    ['verified>0', 17],
    ['failed<9', 1],
    ['failed.reverted<9', 1],
    ['timed_out<9', 1],
    ['max>1s', 1_550_000],
    ['p50<1s', 100_000],
    ['avg>0s', 3_580_000 / 19],
    ['queued.avg>0s', 1000],
    ['submit.max>0s', 2000],
    ['inclusion.min<1s', 3000],
    ['readback.p99.9>0s', 4000],
    ['start.max>1s', 1_550_000],
    ['lag.max<1s', 0],
    ['cpu<1s', 350],
    ['rss<1GB', 123_456_789],
  ];
  for (const [text, expected] of values) {
    it(`${text}: ${expected}`, () => {
      const { value, passed, why } = check(text);
      assert.ok(Math.abs(Number(value ?? NaN) - expected) <= expected * 1e-3, String(value));
      assert.equal(passed, true);
      assert.equal(why, undefined);
    });
  }

  describe('censored operations may take any time', () => {
    /** @type {Array<[string, boolean, number | null]>} with what the figure is at most, where that is another value */
    const censored = [
      // 17 were verified within 170 ms; one was waited for 500 ms, and one 1,550 ms.
      ['p50<101ms', true, null],
      ['p89<171ms', true, null],
      ['p90<1h', false, Infinity],
      ['p90>=500ms', true, Infinity],
      ['p99.9!=3s', false, Infinity],
      ['p99.9!=1s', true, Infinity],
      ['max<100s', false, Infinity],
      ['max=1550ms', false, Infinity],
      ['avg<100s', false, Infinity],
      ['min<11ms', true, null],
      ['start.p99<100s', false, Infinity],
      ['submit.p89<3ms', true, null],
      ['submit.p90<100s', false, Infinity],
      ['inclusion.p50<160ms', true, 93_000],
      ['lag.max<1ms', true, null],
    ];
    for (const [text, passes, most] of censored) {
      it(`${text} ${passes ? 'passes' : 'fails'}`, () => {
        const given = text.replace('1h', '60m');
        const { passed, atMost, censored: many } = check(given);
        assert.equal(passed, passes);
        if (most === null) return assert.deepEqual([atMost, many], [undefined, undefined]);
        if (most === Infinity) assert.equal(atMost, null);
        else assert.ok(Math.abs(Number(atMost) - most) <= most * 1e-3, String(atMost));
        assert.equal(many, 2);
      });
    }

    it('older run files have only timed-out operations', () => {
      const old = /** @type {any} */ (runFileOf());
      const { latency } = old;
      delete latency.censored;
      delete latency.fromStartCensored;
      assert.deepEqual([check('max<100s', old).passed, check('max<100s', old).censored], [false, 1]);
      assert.deepEqual([check('start.max<100s', old).passed, check('submit.max<100s', old).passed], [false, false]);
      const whole = { ...old, latency: { ...latency, timedOut: new Distribution().toJSON() } };
      assert.equal(check('max<100s', whole).passed, true);
    });

    it('each name has its own; a name that every object has is none of them', () => {
      const recorder = new Recorder([0], 0);
      for (let i = 0; i < 100; i += 1) {
        const isSilent = i % 20 === 0;
        const outcome = isSilent ? 'failed' : 'verified';
        const code = isSilent ? 'transport_timeout' : null;
        recorder.add(sampleOf({ startUs: 1000 * i, name: isSilent || i < 50 ? 'slow' : 'fast', outcome, code }));
      }
      const run = runFileOf({ stats: recorder.rest() });
      assert.deepEqual(
        ['calls.slow.p99<10s', 'calls.slow.p50<10s', 'calls.fast.p99<10s', 'calls.fast.max<10s'].map(
          (text) => check(text, run).passed,
        ),
        [false, true, true, true],
      );
      const readOf = (/** @type {string} */ name) => shownFigure(`calls.${name}.p99`, run);
      assert.deepEqual(['fast', 'constructor'].map(readOf), [1000, null]);
      for (const name of ['constructor', '__proto__', 'toString']) {
        for (const figure of ['p99<10s', 'tps>=0', 'failed>=0']) {
          const { value, passed, why } = check(`calls.${name}.${figure}`, run);
          assert.deepEqual([value, passed, why], [null, false, `there is no ${name} among slow, fast`]);
        }
      }
    });
  });

  it('shares are exact: 7 of 1000 are not less than 0.7 %, and not more', () => {
    const run = runFileOf();
    const counts = { ...run.window.counts, scheduled: 1000, dropped: 7 };
    const given = { ...run, window: { ...run.window, counts } };
    assert.deepEqual(
      ['dropped<0.7%', 'dropped<=0.7%', 'dropped=0.7%', 'dropped>0.7%'].map((text) => check(text, given).passed),
      [false, true, true, false],
    );
  });

  it('what happened in the drain counts, what happened in the warm-up does not', () => {
    const recorder = new Recorder([0], 0);
    recorder.open(0, 1000, 2000);
    /** @param {number} startUs @param {number} endedAtUs @param {string} code */
    const fail = (startUs, endedAtUs, code) => {
      recorder.start(0, startUs);
      recorder.add(sampleOf({ startUs, endedAtUs, outcome: 'failed', code }));
    };
    fail(100, 500, 'reverted');
    fail(1100, 1500, 'reverted');
    fail(1600, 5000, 'lost');
    const stats = new Stats(0);
    const intervals = [1000, 2000, 6000].map((endUs, i) => {
      const interval = recorder.take(endUs);
      const { counts, failures } = interval;
      stats.add(interval);
      return rowOf({ counts, failures, phase: /** @type {const} */ (['warmup', 'load', 'drain'])[i] });
    });
    const run = runFileOf({ stats, intervals });
    assert.equal(run.counts.failed, 3);
    for (const [text, value] of /** @type {Array<[string, number]>} */ ([
      ['failed=0', 2],
      ['failed=0%', 100],
      ['failed.reverted=0', 1],
      ['failed.lost=0', 1],
      ['failed.rejected>0', 0],
    ])) {
      assert.deepEqual([check(text, run).value, check(text, run).passed], [value, false], text);
    }
  });

  it('probes: the worst value counts, and unmeasured values fail with any operator', () => {
    const range = { from: 1, to: 100, ports: 100 };
    const endpoints = [70, 30].map((portsLeft, i) => ({ endpoint: `h:${i}`, timeWait: 5, portsInUse: 9, portsLeft }));
    const node = { cpuUs: 3_000_000, rssBytes: 2e6, threads: 3 };
    const run = { ...runFileOf(), probes: readingsOf({ sockets: { timeWait: 12, range, endpoints }, node }) };
    assert.deepEqual(
      ['timewait<1', 'ports_left<1', 'node.cpu<1%', 'node.rss<1B'].map((text) => check(text, run).value),
      [12, 30, 150, 2e6],
    );
    for (const text of ['timewait>=0', 'ports_left!=3', 'node.cpu>=0%', 'node.rss<5GB']) {
      const { value, passed, why } = check(text);
      assert.deepEqual([value, passed, why], [null, false, 'not asked'], text);
    }
    assert.match(check('timewait<1', { ...runFileOf({ intervals: [] }) }).why ?? '', /before its first report/);
  });

  it('a run in which nothing happened: reasons, no numbers', () => {
    const recorder = new Recorder([0], 0);
    recorder.closeWindow(0);
    const run = runFileOf({ stats: recorder.rest(), durationUs: 0, intervals: [] });
    for (const [text, why] of /** @type {Array<[string, RegExp]>} */ ([
      ['tps>=0', /^the window has no length$/],
      ['asked>=0', /^no rate was asked for/],
      ['p99<1s', /^there was nothing of it in the window$/],
      ['gas.op<1', /^there was nothing of it in the window$/],
      ['failed<1%', /^the window has no length$/],
      ['dropped=0', /^the window has no length$/],
      ['cpu<1s', /^nothing was verified in the window$/],
      ['chain.gas<1', /^the window has no length$/],
    ])) {
      const result = check(text, run);
      assert.deepEqual([result.value, result.passed], [null, false], text);
      assert.match(result.why ?? '', why);
    }
    assert.equal(check('failed=0', run).passed, false, 'nothing is known, not even that nothing failed');
  });
});

it('thresholdExit(): is the exit code of the run, unless there is a worse one', () => {
  const thresholds = [parseThreshold('tps>1000')];
  assert.equal(runFileOf({ thresholds }).exitCode, 99);
  assert.equal(runFileOf({ thresholds, exitCodes: [130] }).exitCode, 99);
  assert.equal(runFileOf({ thresholds, exitCodes: [76] }).exitCode, 76);
  assert.equal(runFileOf({ thresholds: [parseThreshold('tps>1')] }).exitCode, 0);
});
