import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { randomNumbers } from '../../../src/random.js';
import { Distribution } from '../../../src/stats/histogram.js';
import { resultText } from '../../../src/outputs/table.js';
import { compareResult, parseFailIf } from '../../../src/studies/compare-text.js';
import { compare, compareExit } from '../../../src/studies/compare.js';
import { renderCompare } from '../../../src/report/compare-page.js';
import { reader } from '../../../src/studies/run-files.js';
import { equalBy } from '../../helpers/equal-by.js';
import { temporaryFolder } from '../../helpers/temporary.js';
import { nodeProfileOf, runOf, sidesOf } from './runs.js';

/** @import { RunFile } from '../../../src/contracts/run-file.d.ts' */

const SCHEMA = JSON.parse(readFileSync(new URL('../../../docs/compare.schema.json', import.meta.url), 'utf8'));
const EIGHT = 'ABBAABBAABBAABBA';

/** A little noise that is the same each time, with the candidate's change. @param {number} change */
function changed(change) {
  return (/** @type {'A' | 'B'} */ side, /** @type {number} */ i) => {
    const factor = (side === 'B' ? 1 + change : 1) * (1 + 0.01 * Math.sin(7 * i + 1));
    return { tps: 100 * factor, latencyMs: 50 / factor };
  };
}

/** @param {string} order @param {(side: 'A' | 'B', i: number) => Parameters<typeof runOf>[1]} given @param {object} [more] */
function comparisonOf(order, given, more = {}) {
  const { base, candidate, options } = sidesOf(order, given);
  return compare(base, candidate, { ...options, ...more });
}

/** On the terminal. @param {ReturnType<typeof compare>} comparison */
const compareText = (comparison) => resultText(compareResult(comparison));

/** @param {ReturnType<typeof compare>} comparison @param {string} name */
function metric({ metrics }, name) {
  const found = metrics.find((one) => one.name === name);
  assert.ok(found, `${name} was compared`);
  return found;
}

test('a slower candidate: every metric, its interval, the speed-ups, and one sentence', () => {
  const comparison = comparisonOf(EIGHT, changed(-0.15));
  assert.deepEqual([comparison.method.name, comparison.method.pairs, comparison.method.minimum], ['paired', 8, 6]);
  const tps = metric(comparison, 'tps');
  assert.deepEqual([tps.isPrimary, tps.word, comparison.primary], [true, 'slower', 'tps']);
  assert.ok(Math.abs(tps.change.estimate + 0.15) < 0.01, String(tps.change.estimate));
  assert.ok(Number(tps.change.low) <= tps.change.estimate && tps.change.estimate <= Number(tps.change.high));
  assert.equal(tps.p, 2 / 2 ** 8);
  const avg = metric(comparison, 'avg');
  assert.deepEqual([avg.word, avg.isPrimary, avg.better], ['slower', false, 'lower']);
  assert.ok(avg.change.estimate > 0.15 && avg.pAdjusted >= avg.p);
  // 0.85 times as fast: base / candidate - 1 is -15 % of each latency, candidate / base - 1 is +18 %.
  const { onAverage, onSlowest, onFastest } = comparison.speedUps;
  for (const { speedUp } of [onAverage, onSlowest]) assert.ok(Math.abs(Number(speedUp) + 0.15) < 0.01);
  assert.ok(Math.abs(Number(onFastest.slowDown) - 0.176) < 0.01);
  assert.match(
    comparison.verdict.sentence,
    /^the candidate is slower than the baseline: TPS changed by -1[45](\.\d)? % \(96\.5 % interval/,
  );
  assert.equal(comparison.distributions.base.count, 8 * 5);
  assert.equal(compareExit(comparison), 0);
});

test('series of the nodes that differ most come first, counters per second, and none is a claim', () => {
  const { base, candidate, options } = sidesOf(EIGHT, changed(0));
  for (const [i, run] of [...base, ...candidate].entries()) {
    const isB = candidate.includes(run);
    const wave = Math.sin(7 * i);
    const row = (/** @type {number} */ n) => ({
      requests_total: 1000 * i + n * (isB ? 150 : 100) * (1 + 0.02 * wave),
      pending: 40 + 10 * wave + (n % 2),
      limit: 7,
      locks: isB ? 30 : 20 - (n % 2),
    });
    const [interval] = run.intervals;
    run.intervals = [1, 2, 3].map((n) => ({
      ...interval,
      ...{ phase: 'load', startMs: 1000 * (n - 1), endMs: 1000 * n },
      probes: { ...interval.probes, metrics: { series: row(n) } },
    }));
  }
  const comparison = compare(base, candidate, options);
  assert.deepEqual(
    comparison.nodeSeries?.map(({ name, isPerSecond }) => [name, isPerSecond]),
    [
      ['locks', false],
      ['requests_total', true],
      ['pending', false],
    ],
  );
  const shown = compareText(comparison);
  assert.match(
    shown,
    /Metrics of the nodes +baseline +candidate +change\n +locks +19\.3 +30 .*\n +requests_total, per second +100 +150 +\+/,
  );
  assert.match(comparison.verdict.sentence, /^no difference of TPS is shown/);
  for (const run of candidate) run.intervals = run.intervals.slice(0, 1);
  const { nodeSeries, warnings } = compare(base, candidate, options);
  assert.equal(nodeSeries, undefined);
  assert.match(warnings.join(), /the metrics of the nodes were read once in a run, .* give a shorter --interval/);
});

/** @param {number} hashing of the candidate */
function profiled(hashing) {
  return (/** @type {'A' | 'B'} */ side, /** @type {number} */ i) => {
    const wave = 1 + 0.01 * Math.sin(7 * i);
    const nodeProfile = nodeProfileOf(side === 'B' ? hashing : 1, wave);
    return { tps: 100, latencyMs: 50 * wave, over: { nodeProfile } };
  };
}

test('CPU time of the nodes: groups and functions are tested, and the stacks of both sides are kept', () => {
  const comparison = comparisonOf(EIGHT, profiled(2));
  const words = Object.fromEntries(comparison.nodeFunctions?.map(({ label, word }) => [label, word]) ?? []);
  assert.deepEqual(words, {
    'crypto/keccak.keccakF1600': 'slower',
    'core/vm.(*EVM).Call': 'no difference shown',
    gc: 'no difference shown',
  });
  assert.ok(!comparison.metrics.some(({ name }) => name.includes(':')));
  assert.equal(comparison.method.secondaries, comparison.metrics.length - 1 + 3);
  // 600,000 us in a second of 100 operations, and 300,000 us more.
  const { baseUs, candidateUs, names, frames } = comparison.nodeStacks ?? assert.fail();
  assert.deepEqual(
    [baseUs, candidateUs].map((us) => Math.round(us / 100)),
    [60, 90],
  );
  // What takes little is part of its caller.
  assert.ok(!names.includes('tiny'));
  const evm = frames.find(([, name]) => names[name] === 'core/vm.(*EVM).Call') ?? assert.fail();
  assert.deepEqual(
    evm.slice(2).map((us) => Math.round(us / 100)),
    [20, 20],
  );
  const keccak = frames.find(([, name]) => names[name] === 'crypto/keccak.keccakF1600') ?? assert.fail();
  assert.deepEqual(
    keccak.slice(2).map((us) => Math.round(us / 100)),
    [30, 60],
  );
  assert.match(
    compareText(comparison),
    /the node of the candidate needs 3 ms more CPU for an operation \(p 0\.0\d+\): state trie \+3 ms, keccak\.keccakF1600 \+3 ms/,
  );
  const page = renderCompare(comparison);
  assert.match(page, /id="flame-difference"/);
  assert.match(page, /Red functions take more CPU time for an operation in the candidate than in the baseline/);
});

test('CPU time of equal nodes is no claim', () => {
  const comparison = comparisonOf(EIGHT, profiled(1));
  assert.ok(comparison.nodeFunctions?.every(({ word }) => word === 'no difference shown'));
  assert.doesNotMatch(compareText(comparison), /the node of the candidate needs/);
  assert.match(renderCompare(comparison), /No difference is shown, so the colors may be chance/);
});

test('stacks of one side alone are no difference', () => {
  const { base, candidate, options } = sidesOf(EIGHT, profiled(2));
  for (const run of candidate) run.nodeProfile = undefined;
  const comparison = compare(base, candidate, options);
  assert.deepEqual([comparison.nodeStacks, comparison.nodeFunctions], [undefined, undefined]);
});

test('a faster candidate, and an equal one', () => {
  assert.equal(comparisonOf(EIGHT, changed(0.15)).verdict.word, 'faster');
  const same = comparisonOf(EIGHT, changed(0));
  assert.ok(same.metrics.every(({ word }) => word === 'no difference shown'));
  const { change } = metric(same, 'tps');
  assert.ok(Number(change.low) <= 0 && Number(change.high) >= 0);
  assert.match(same.verdict.sentence, /^no difference of TPS is shown/);
});

test('the schema fits a comparison, with and without bounds, and nothing else', () => {
  const validate = new Ajv2020({ strict: true, allowUnionTypes: true, formats: { 'date-time': true } }).compile(SCHEMA);
  const failIf = [parseFailIf('tps<-10%'), parseFailIf('failed>0%')];
  for (const comparison of [
    comparisonOf(EIGHT, changed(-0.15), { failIf }),
    comparisonOf('AB', changed(0)),
    comparisonOf('AAABBBB', changed(0.5)),
  ]) {
    const json = /** @type {any} */ (JSON.parse(JSON.stringify(comparison)));
    assert.equal(validate(json), true, JSON.stringify(validate.errors));
    for (const change of [{ more: 1 }, { metrics: [] }, { verdict: { ...json.verdict, word: 'perhaps' } }])
      assert.equal(validate({ ...json, ...change }), false, JSON.stringify(change));
  }
});

test('a comparison is read back; a cut or edited one is refused with the position', async (t) => {
  const file = join(temporaryFolder(t), 'c.json');
  const json = JSON.parse(JSON.stringify(comparisonOf('AB', changed(0))));
  writeFileSync(file, JSON.stringify(json));
  assert.deepEqual((await reader('compare'))(file), json);
  for (const [change, words] of /** @type {[object, RegExp][]} */ ([
    [{ metrics: undefined }, /c\.json is no whole comparison: \/metrics is missing/],
    [{ startedAt: 'yesterday' }, /\/startedAt must match/],
    [{ method: { ...json.method, alpha: 'x' } }, /\/method\/alpha must be number/],
    [{ schema: 'evm-stress/compare@2' }, /c\.json is no comparison of this version, but "evm-stress\/compare@2"/],
  ])) {
    writeFileSync(file, JSON.stringify({ ...json, ...change }));
    await assert.rejects(async () => (await reader('compare'))(file), { code: 'bad_input', message: words });
  }
});

test('below the number of runs where the test can reject at all there is no verdict', () => {
  for (const [order, word, needed] of /** @type {[string, string, RegExp][]} */ ([
    ['ABBAABBAAB', 'too few runs', /^5 pairs are too few .* at least 6 pairs$/],
    ['ABBAABBAABBA', 'slower', /6 pairs/],
    ['AB', 'too few runs', /^1 pair is too few for a verdict on TPS: make at least 6 pairs$/],
    ['AAABBB', 'too few runs', /^3 and 3 runs are too few .* at least 4 runs on each side$/],
    ['AAAABBBB', 'slower', /4 and 4 runs/],
  ])) {
    const comparison = comparisonOf(order, changed(-0.5));
    assert.equal(comparison.verdict.word, word, order);
    assert.match(comparison.verdict.sentence, needed);
  }
  // As many as are enough for one metric are for all.
  const word = (/** @type {string} */ order) => compareText(comparisonOf(order, changed(-0.5)));
  assert.match(word('ABBAABBAAB'), /TPS \* .* too few pairs: 6 needed\n {2}latency avg .* too few pairs: 6 needed\n/);
  assert.match(word('AAABBB'), /TPS \* .* too few runs: 4 a side needed\n/);
  assert.doesNotMatch(word('ABBAABBAABBA'), /too few/);
});

test('200 ms more in each answer, with noise of 10 %: six pairs show it in TPS and in every latency', () => {
  for (const seed of [1, 2, 3]) {
    const random = randomNumbers(seed);
    const noise = () => 0.95 + 0.1 * random();
    const { generator } = runOf(1);
    const { metrics, warnings } = comparisonOf('ABBAABBAABBA', (side) => {
      const latencyMs = noise() * 100 + (side === 'B' ? 200 : 0);
      const cpuUsPerVerified = 1000 * noise();
      return {
        tps: (noise() * 20_000) / latencyMs,
        latencyMs,
        over: { generator: { ...generator, cpuUsPerVerified } },
      };
    });
    equalBy(metrics, ({ name, word }) => [name, name === 'cpu' ? '' : word], [
      ...['tps', 'avg', 'max', 'min', 'p50', 'p99'].map((name) => [name, 'slower']),
      ['cpu', ''],
    ]);
    assert.ok(metrics.every(({ name, pAdjusted }) => name === 'cpu' || pAdjusted === 2 / 64));
    assert.deepEqual(warnings, []);
  }
});

test('pairs are neighbours in time with one run of each side, in any order of files', () => {
  const { base, candidate, options } = sidesOf(EIGHT, changed(0));
  const turned = compare([...base].reverse(), candidate, { ...options, baseFiles: [...options.baseFiles].reverse() });
  assert.deepEqual(turned.base, compare(base, candidate, options).base);
  assert.deepEqual(turned.metrics, compare(base, candidate, options).metrics);
  assert.equal(turned.warnings.length, 0);
  for (const [order, name, warning] of /** @type {[string, string, RegExp | null][]} */ ([
    ['ABABABABABAB', 'paired', /^one side always ran before the other/],
    ['BABABABABABA', 'paired', /^one side always ran before the other/],
    ['AAAAAABBBBBB', 'unpaired', /^one side always ran before the other/],
    ['AABBAABBAABB', 'unpaired', null],
    ['ABBAB', 'unpaired', null],
  ])) {
    const { method, warnings } = comparisonOf(order, changed(0));
    assert.equal(method.name, name, order);
    if (warning === null) assert.deepEqual(warnings, []);
    else assert.match(warnings[0], warning);
  }
  assert.match(comparisonOf('AAAABBBB', changed(-0.5)).verdict.sentence, /if nothing else changed between their runs$/);
  assert.match(
    comparisonOf('AB'.repeat(8), changed(-0.5)).verdict.sentence,
    /if nothing else changed between their runs$/,
  );
  assert.match(comparisonOf(EIGHT, changed(-0.5)).verdict.sentence, /8 pairs\)$/);
  // Live runs are pairs as they are.
  const live = compare(base, candidate, { ...options, pairs: true });
  assert.equal(live.method.pairs, 8);
});

test('settings must be equal within and between the sides, unless --allow-different is given', () => {
  /** @param {object} given of the last run @param {object} [more] */
  const withLast = (given, more) => comparisonOf(EIGHT, (_, i) => (i === 15 ? given : {}), more);
  for (const [given, words] of /** @type {[object, RegExp][]} */ ([
    [{ config: { threads: 40 } }, /threads is 20 in 0\.json and 40 in 15\.json/],
    [{ config: { ratePerSecond: 5 } }, /rate is not given in 0\.json and 5 in 15\.json/],
    [{ config: { transport: 'tcp' } }, /transport is not given in 0\.json and tcp in 15\.json/],
    [{ config: { somethingNew: 7 } }, /something-new is not given in 0\.json and 7/],
    [{ config: { warmupMs: 5000 } }, /warmup is/],
    [
      { over: { window: { ...runOf(1).window, durationMs: 1900 } } },
      /window has 2 s in 0\.json and 1\.9 s in 15\.json/,
    ],
    [{ over: { partial: true } }, /15\.json is partial/],
    [
      { over: { environment: { ...runOf(1).environment, workload: { callsHash: 'b' } } } },
      /the calls in 0\.json are not those in 15\.json/,
    ],
  ])) {
    assert.throws(() => withLast(given), { code: 'bad_input', message: words });
    assert.throws(() => withLast(given), /--allow-different/);
    const { differences } = withLast(given, { allowDifferent: true });
    assert.equal(differences.length, 1);
    assert.match(differences[0], words);
  }
  const harmless = { config: { rpc: 'http://other', out: 'x.json', offset: 100, logLevel: 'debug', contracts: 'c' } };
  assert.deepEqual(withLast(harmless).differences, []);
  assert.throws(
    () => withLast({ config: { threads: 1, inFlight: 2, transport: 'tcp', method: 'x', workers: 3 } }),
    /; and 2 more \(/,
  );
});

test('duplicate runs, runs without verified operations and empty sides are always refused', () => {
  const { base, candidate, options } = sidesOf(EIGHT, changed(0));
  const allowDifferent = true;
  for (const [a, b] of [
    [base, [...candidate.slice(1), base[0]]],
    [[base[0], ...base.slice(0, 7)], candidate],
  ])
    assert.throws(() => compare(a, b, { ...options, allowDifferent }), { code: 'bad_input', message: /the same run/ });
  const nothing = { ...candidate[3], counts: { ...candidate[3].counts, verified: 0 } };
  assert.throws(() => compare(base, candidate.with(3, nothing), { ...options, allowDifferent }), {
    code: 'bad_input',
    message: /^6\.json verified nothing, so it cannot be compared: is the build broken\?$/,
  });
  assert.throws(() => compare([], candidate, options), /at least one run on each side/);
});

test('what cannot have a ratio is not compared; of the primary metric it is refused', () => {
  const comparison = comparisonOf(EIGHT, (_, i) => ({
    over: i === 5 ? { generator: { ...runOf(1).generator, cpuUsPerVerified: null } } : {},
  }));
  assert.ok(!comparison.metrics.some(({ name }) => name === 'cpu'));
  assert.deepEqual(comparison.warnings, ['not compared: generator CPU is not measured in 5.json']);
  assert.throws(() => comparisonOf(EIGHT, () => ({}), { primary: 'node.cpu' }), {
    code: 'bad_input',
    message: /^node CPU is not measured in 0\.json, so that no ratio/,
  });
  const broken = { ...runOf(1).latency, total: { ...runOf(1).latency.total, hdr: 'AAAA' } };
  assert.throws(() => comparisonOf(EIGHT, (_, i) => ({ over: i === 5 ? { latency: broken } : {} })), {
    code: 'bad_input',
    message: /^5\.json has figures that cannot be read/,
  });
});

test('doubts about a verdict become warnings', () => {
  const { warnings } = comparisonOf(EIGHT, (side, i) => ({
    over: {
      ...(i === 2 ? { audit: { exact: false } } : {}),
      ...(i === 3 ? { audit: null, end: 'interrupted' } : {}),
      ...(side === 'B' ? { counts: { ...runOf(1).counts, started: 20, failed: 1, timedOut: 0 } } : {}),
      verdict: { name: 'generator-bound', evidence: 'x' },
      ...(side === 'B' ? { environment: { ...runOf(1).environment, cores: 8 } } : {}),
    },
  }));
  assert.deepEqual(warnings, [
    'the audit is not exact: 2.json',
    'there was no audit: 3.json',
    'the run ended early: 3.json',
    'the generator was the limit, not the node: 0.json, 3.json, 4.json and 13 more',
    '0 % of the operations failed or timed out in the baseline, 5 % in the candidate: only a --fail-if compares such counts',
    'cores is 2 in 0.json and 8 in 1.json',
  ]);
});

test('a condition fails on a change that is beyond its limit and shown, and on one that could not be judged', () => {
  /** @param {string} order @param {number} change @param {string[]} texts */
  const judged = (order, change, ...texts) => {
    const comparison = comparisonOf(order, changed(change), { failIf: texts.map(parseFailIf) });
    return { exit: compareExit(comparison), passed: comparison.failIf.map(({ passed }) => passed), comparison };
  };
  assert.deepEqual(judged(EIGHT, -0.15, 'tps<-10%', 'tps<-20%', 'avg>+10%', 'tps>5%').passed, [
    false,
    true,
    false,
    true,
  ]);
  assert.equal(judged(EIGHT, -0.15, 'tps<-10%').exit, 99);
  assert.equal(judged(EIGHT, -0.05, 'tps<-10%').exit, 0);
  // Beyond a limit of zero, but not shown to be more than chance.
  const chance = judged(EIGHT, -0.0001, 'tps<0%');
  assert.deepEqual([chance.exit, chance.comparison.failIf[0].why], [0, 'not shown: it may be chance']);
  const few = judged('ABBA', 0, 'tps<-10%');
  assert.deepEqual([few.exit, few.comparison.failIf[0].why], [99, 'too few pairs to judge it']);
  const unknown = judged(EIGHT, 0, 'node.cpu>0%');
  assert.deepEqual([unknown.exit, unknown.comparison.failIf[0].change], [99, null]);
  // It joins the secondaries.
  const own = judged(EIGHT, -0.15, 'start.p95>5%', 'queued.avg>1%');
  const names = ['tps', 'start.p95', 'queued.avg', 'avg', 'max', 'min', 'p50', 'p99', 'cpu'];
  equalBy(own.comparison.metrics, ({ name }) => name, names);
});

test('a condition on a metric that is 0 in some run is judged without logarithms', () => {
  /** @param {(side: 'A' | 'B', i: number) => number} failed @param {string} [order] @param {string} [text] */
  const judged = (failed, order = EIGHT, text = 'failed>0%') => {
    const comparison = comparisonOf(
      order,
      (side, i) => ({ over: { counts: { ...runOf(1).counts, failed: failed(side, i) } } }),
      { failIf: [parseFailIf(text)] },
    );
    const { passed, change, why } = comparison.failIf[0];
    assert.ok(!comparison.metrics.some(({ name }) => name === 'failed'));
    assert.ok(!comparison.warnings.some((words) => /^not compared/.test(words)));
    assert.equal(compareExit(comparison), passed ? 0 : 99);
    return { passed, change, why, comparison };
  };
  for (const order of [EIGHT, 'AB', 'AABB']) {
    const { passed, change, why } = judged(() => 0, order);
    assert.deepEqual([passed, change, why], [true, 0, '0 in every run'], order);
  }
  const begun = judged((side, i) => (side === 'B' ? 3 + (i % 4) : 0));
  assert.deepEqual([begun.passed, begun.change], [false, null]);
  assert.match(
    begun.why,
    /^0 in every run of the baseline, 4\.5 in the candidate, compared as they are \(p 0\.0\d\d\): beyond the limit$/,
  );
  assert.match(compareText(begun.comparison), /failed>0% +FAILED +0 in every run of the baseline/);
  // What began at 0 is beyond any limit, and never below one.
  assert.equal(judged((side) => (side === 'B' ? 3 : 0), EIGHT, 'failed>+500%').passed, false);
  assert.equal(judged((side) => (side === 'B' ? 3 : 0), EIGHT, 'failed<-5%').passed, true);
  // In one run of eight it may be chance.
  const once = judged((_, i) => (i === 1 ? 50 : 0));
  assert.deepEqual([once.passed, /not shown/.test(once.why)], [true, true]);
  const few = judged((side) => (side === 'B' ? 50 : 0), 'ABBA');
  assert.deepEqual([few.passed, /too few pairs to judge it/.test(few.why)], [false, true]);
  // Where the baseline has some, the change of the means.
  const more = judged((side, i) => (side === 'B' ? 20 : i === 0 ? 0 : 8));
  assert.deepEqual([more.passed, more.change], [false, 20 / 7 - 1]);
  assert.equal(judged((side, i) => (side === 'B' ? 20 : i === 0 ? 0 : 8), EIGHT, 'failed>+500%').passed, true);
  // It is one of those that are tested together.
  assert.equal(more.comparison.method.secondaries, 7);
  assert.equal(judged(() => 0).comparison.method.secondaries, 6);
});

test('the speed-ups follow from the two figures beside them', () => {
  const comparison = comparisonOf(EIGHT, (side, i) => ({ latencyMs: (side === 'A' ? 50 : 40) + 3 * (i % 5) }));
  const { onAverage, onFastest } = comparison.speedUps;
  const { values } = metric(comparison, 'avg').base;
  const geometric = values.reduce((product, us) => product * us, 1) ** (1 / values.length);
  assert.ok(Math.abs(Number(onAverage.baseUs) - geometric) < 1e-6 * geometric);
  const { change } = metric(comparison, 'avg');
  const { speedUp, low, high } = onAverage;
  // The inverse of the upper end is the lower one.
  for (const [end, of] of [
    [speedUp, change.estimate],
    [low, change.high],
    [high, change.low],
  ])
    // prettier-ignore
    assert.ok(Math.abs(Number(end) - (1 / (1 + Number(of)) - 1)) < 1e-12);
  assert.ok(Number(low) < Number(speedUp) && Number(speedUp) < Number(high));
  assert.deepEqual([onFastest.slowDown, onFastest.low], [metric(comparison, 'min').change.estimate, metric(comparison, 'min').change.low]); // prettier-ignore
  const none = { ...runOf(1).latency, total: new Distribution().toJSON() };
  const unknown = comparisonOf(EIGHT, (_, i) => (i === 3 ? { over: { latency: none } } : {}));
  assert.deepEqual([unknown.speedUps.onAverage.speedUp, unknown.speedUps.onAverage.baseUs], [null, null]);
});

test('conditions are read, or refused with what to write instead', () => {
  assert.deepEqual(
    { ...parseFailIf(' P99 > +20% ') },
    { expression: 'P99 > +20%', metric: 'p99', operator: '>', limitPercent: 20 },
  );
  for (const [text, words] of /** @type {[string, RegExp][]} */ ([
    ['tps<-10', /must be a figure, < or >/],
    ['tps', /must be a figure/],
    ['tps<=-10%', /must be a figure/],
    ['tps<10%', /must not fail on no change/],
    ['p99>-5%', /must not fail on no change/],
    ['tpss<-10%', /names "tpss", which is no figure: did you mean tps/],
  ]))
    assert.throws(() => parseFailIf(text), words, text);
});

test('the shortest of too short windows is reported', () => {
  const { base, candidate, options } = sidesOf(EIGHT, changed(-0.5));
  const words = (/** @type {RunFile[]} */ side) =>
    compare(base, side, options).warnings.filter((warning) => warning.includes('blocks that its figures need'));
  assert.deepEqual(words(candidate), []);
  const [first, second, ...rest] = candidate;
  const withBlocks = (/** @type {typeof first} */ run, /** @type {number} */ count) => {
    const [row] = run.intervals;
    const blocks = { ...run.blocks, count };
    return { ...run, blocks, intervals: [{ ...row, blocks, inFlight: 10 }] };
  };
  const [warning, ...more] = words([withBlocks(first, 3), withBlocks(second, 2), ...rest]);
  assert.match(warning, /^2\.json: the window has 2 of the 10 blocks that its figures need: /);
  assert.deepEqual(more, []);
});

test('the sides have the names that are given, and state their load and their machine', () => {
  const { base, candidate, options } = sidesOf(EIGHT, changed(-0.5));
  const names = { base: 'geth 1.16', candidate: 'geth 1.17' };
  const comparison = compare(base, candidate, { ...options, names });
  assert.match(comparison.verdict.sentence, /^"geth 1\.17" is slower than "geth 1\.16": TPS /);
  const text = compareText(comparison);
  assert.match(text, /\n {2}geth 1\.16 +node\/v1, .*\n {2}geth 1\.17 +node\/v1, /);
  assert.match(text, /\n {2}Changes +geth 1\.16 +geth 1\.17 +change /);
  assert.match(text, /\n {2}Latency ratios +geth 1\.17 \/ geth 1\.16 +interval\n {2}mean +2 +1\.9\d* \.\. 2\S*\n/);
  assert.match(text, /\n {2}load +counter, 20 wallets, 1 in flight each, closed loop, window \d+ s\n/);
  assert.match(text, /\n {2}machine +a cpu, 2 cores, 8 GB, linux-x64, Node v20, stress 1\.0\.0\n/);
  assert.ok(new Ajv2020({ strict: false }).validate(SCHEMA, JSON.parse(JSON.stringify(comparison))));
  const moved = candidate.map((run) => ({ ...run, environment: { ...run.environment, cpu: 'another cpu' } }));
  assert.match(
    compareText(compare(base, moved, options)),
    /\n {2}machine +a cpu, .* \(baseline\)\n {2}machine +another cpu, .* \(candidate\)\n/,
  );
});

test('notes name what differs between the nodes and chains of the sides', () => {
  const { blocks } = runOf(1);
  /** @param {Record<'A' | 'B', object>} environments @param {Record<'A' | 'B', number>} intervalsMs */
  const notesOf = (environments, intervalsMs) => {
    const comparison = comparisonOf(EIGHT, (side) => ({
      over: {
        environment: { ...runOf(1).environment, ...environments[side] },
        blocks: { ...blocks, count: 11, firstSeenAtMs: 0, lastSeenAtMs: 10 * intervalsMs[side], gapMaxMs: 0 },
      },
    }));
    assert.ok(new Ajv2020({ strict: false }).validate(SCHEMA, JSON.parse(JSON.stringify(comparison))));
    return compareResult(comparison).notes.filter((note) => note.startsWith('different: '));
  };
  assert.deepEqual(notesOf({ A: {}, B: {} }, { A: 1000, B: 1050 }), []);
  assert.deepEqual(notesOf({ A: {}, B: { clientVersion: 'node/v2', blockGasLimit: 6e7 } }, { A: 2000, B: 1000 }), [
    'different: the client is node/v1 in the baseline and node/v2 in the candidate',
    'different: the block interval is 2,000 ms in the baseline and 1,000 ms in the candidate',
    'different: the block gas limit is 30 Mgas in the baseline and 60 Mgas in the candidate',
  ]);
});

test('loads in words: the workloads of a mix, a rate, a rate in gas, stages', () => {
  const loadOf = (/** @type {Record<string, unknown>} */ config) => comparisonOf('AB', () => ({ config })).base.load;
  assert.match(loadOf({ workload: 'mix', mix: ['counter:1', 'erc20:2'] }), /^mix counter:1 erc20:2, 20 wallets, /);
  assert.match(loadOf({ ratePerSecond: 50, inFlight: 2 }), /, 2 in flight each, 50 per second/);
  assert.match(loadOf({ gasPerSecond: 3e7 }), /, 30 Mgas per second/);
  assert.match(loadOf({ stages: '5:30/1s' }), /, stages 5:30\/1s/);
});

test('means of figures that may be larger, because operations got no good answer, are marked', () => {
  const censored = new Distribution();
  censored.record(200_000);
  const latency = { ...runOf(1).latency, censored: censored.toJSON() };
  const comparison = comparisonOf('ABBA', (side) => ({ over: side === 'B' ? { latency } : {} }));
  const marks = comparison.metrics.map(({ name, base, candidate }) => [name, base.atLeast, candidate.atLeast]);
  const open = ['avg', 'max', 'p99'];
  assert.deepEqual(
    marks,
    comparison.metrics.map(({ name }) => [name, undefined, open.includes(name) ? true : undefined]),
  );
  assert.match(compareText(comparison), /latency p99 +200 ms +>= 200 ms/);
  assert.ok(new Ajv2020({ strict: false }).validate(SCHEMA, JSON.parse(JSON.stringify(comparison))));
});
