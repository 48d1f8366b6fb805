import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { runData } from '../../../src/report/run-charts.js';
import { runPage } from '../../../src/report/run-page.js';
import { noBlocks } from '../../../src/stats/blocks.js';
import { Recorder } from '../../../src/stats/recorder.js';
import { STILL_RUNNING } from '../../../src/stats/run-file.js';
import { parseThreshold } from '../../../src/stats/thresholds.js';
import { assertGoldenPage } from '../../golden/assert-golden.js';
import { longRun } from '../../helpers/long-run.js';
import { exactAudit, rowOf, runFileOf } from '../../helpers/samples.js';
import { HOSTILE, assertHarmless, assertWhole, chartsOf, figuresOf, tableOf } from '../../helpers/pages.js';

/** @import { RunFile } from '../../../src/contracts/run-file.d.ts' */

/** Every tag of the page with its attributes, what stands in script and style apart. @param {string} page */
function tagsOf(page) {
  const markup = page.replace(/<(script|style)>.*?<\/\1>/gs, '');
  return [...markup.matchAll(/<([a-z][\w-]*)((?:[^>"]|"[^"]*")*)>/g)].map(([, name, rest]) => ({
    name,
    attributes: [...rest.matchAll(/\s([\w-]+)(?:="([^"]*)")?/g)].map(([, key, value = '']) => ({ key, value })),
  }));
}

function hostileRun() {
  const run = runFileOf({
    environment: { stress: '1', endpoint: HOSTILE, clientVersion: HOSTILE, [HOSTILE]: { [HOSTILE]: HOSTILE } },
    config: { workload: 'counter', threads: 3, contracts: HOSTILE, rpc: HOSTILE },
    failureWords: { reverted: HOSTILE, [HOSTILE]: HOSTILE },
    warnings: [HOSTILE],
    unmeasured: { [HOSTILE]: HOSTILE },
    intervals: [
      rowOf({
        failures: { [HOSTILE]: 3 },
        probes: { ...rowOf().probes, metrics: { series: { [HOSTILE]: 1 } }, why: { sockets: HOSTILE } },
      }),
    ],
    end: HOSTILE,
    audit: { ...exactAudit(), exact: false, bounds: { atLeast: HOSTILE, atMost: HOSTILE } },
  });
  return /** @type {RunFile} */ (
    /** @type {unknown} */ ({
      ...run,
      failures: { [HOSTILE]: 1 },
      id: HOSTILE,
      startedAt: HOSTILE,
      definitions: { [HOSTILE]: HOSTILE },
    })
  );
}

const FIXTURES = new URL('../../fixtures/runs-0.1/', import.meta.url);

describe('the page of a run', () => {
  for (const name of ['open-loop-with-drops', 'reorg', 'plain-calls', 'interrupted'])
    it(`is that which is kept: ${name}`, () => {
      const run = JSON.parse(readFileSync(new URL(`${name}.json`, FIXTURES), 'utf8'));
      // One page shows the definitions of all.
      if (name !== 'interrupted') run.definitions = {};
      assertGoldenPage(name, runPage(run));
    });

  it('all charts over time end together, also where the throughput has more points than the run has intervals', () => {
    const drain = rowOf({ phase: 'drain', startMs: 6000, endMs: 6048, tps: null });
    const series = { startMs: -1000, stepMs: 1000, verified: [1, 5, 5, 5, 5, 5, 4], gas: [0, 0, 0, 0, 0, 0, 0] };
    const { time, charts } = runData(runFileOf({ intervals: [rowOf({ startMs: 0, endMs: 6000 }), drain], series }));
    const ends = Object.values(charts).flatMap((list) => list.map((chart) => (chart.time ?? time).to.at(-1)));
    assert.deepEqual([...new Set(ends)], [6.048]);
    const [tps] = charts.answer;
    assert.deepEqual(tps.series[0].values, [5, 5, 5, 5, 5, 4, null]);
  });

  it('draws no rate where none is known: of the last rows, and of gas that the chain does not state', () => {
    const series = { startMs: 0, stepMs: 1000, verified: [5, 5, 1, 0], gas: [7e6, 7e6, 0, 0] };
    const blocks = { ...noBlocks(), count: 1, transactions: 5 };
    const perSecond = { blocks: 1, transactions: 5, ours: 5, gas: 0 };
    const rows = [
      rowOf({ startMs: 0, endMs: 2000, tps: 5, blocks, perSecond }),
      rowOf({ startMs: 2000, endMs: 4000, tps: null, perSecond: undefined }),
    ];
    const { charts } = runData(runFileOf({ intervals: rows, series }));
    assert.deepEqual(charts.answer[0].series[0].values, [5, 5, null, null]);
    const gas = charts.blocks.find(({ id }) => id === 'gas-rate');
    assert.deepEqual(gas?.series[0].values, [null, null, null, null]);
  });

  it('shows the rate of an outage, which is 0, and when it began and ended', () => {
    const rows = [0, 1, 2].map((i) => rowOf({ startMs: 2000 * i, endMs: 2000 * i + 2000 }));
    const series = { startMs: 0, stepMs: 1000, verified: [5, 6], gas: [7, 8] };
    const run = runFileOf({ intervals: rows, series });
    const outages = [
      { fromMs: 2000, toMs: 3000, words: 'refused' },
      { fromMs: 4000, words: 'refused' },
    ];
    const { time, charts } = runData({ ...run, generator: { ...run.generator, outages } });
    const [tps] = charts.answer;
    assert.deepEqual(tps.series[0].values, [5, 6, 0, 0, 0, 0]);
    assert.match(tps.summary, /from 0\/s to 6\/s/);
    const marks = time.marks.map(({ at, name }) => `${at} ${name}`);
    assert.deepEqual(marks, ['2 down', '3 back', '4 down']);
  });

  it('says what limited the run and the result of the audit once, and thresholds before the conditions', () => {
    const run = runFileOf({ thresholds: [parseThreshold('tps>=5')] });
    const evidence = 'blocks were full';
    const page = runPage({ ...run, verdict: { name: 'node-bound', evidence } });
    assert.equal(page.split(/blocks were full/i).length, 2);
    assert.match(page, /<strong>The node was the limit \(node-bound\)\.</);
    assert.equal(figuresOf(page).audit, undefined);
    assert.ok(page.indexOf('id="limits"') < page.indexOf('id="conditions"'));
  });

  it('has a legend of the stages, with the colours of their bar', () => {
    const page = runPage(runFileOf());
    const bar = page.split('class="share"')[1].split('</svg>')[0];
    const legend = page.split('class="legend"')[1].split('</ul>')[0];
    const colors = (/** @type {string} */ markup) => markup.match(/--f\d/g) ?? [];
    assert.ok(colors(bar).length > 1);
    assert.deepEqual(colors(legend), colors(bar));
  });

  it('has members of the run file in words, rounded and with units', () => {
    const environment = { roundTripMs: 2.566133000000036, memoryBytes: 25_276_514_304, transport: { name: 'tcp' } };
    const config = { durationMs: 12_000, tipWei: '2000000', label: [] };
    const page = runPage(
      runFileOf({ environment, config, unmeasured: { '/generator/batches/why': 'no batch was refused' } }),
    );
    const rows = (/** @type {string} */ title) => Object.fromEntries(tableOf(page, title));
    assert.deepEqual(
      ['round trip', 'memory', 'transport: name'].map((name) => rows('Environment')[name]),
      ['2.57 ms', '25,277 MB', 'tcp'],
    );
    assert.deepEqual(
      ['duration', 'tip', 'label'].map((name) => rows('Configuration')[name]),
      ['12 s', '0.002 gwei', undefined],
    );
    assert.equal(rows('What was not measured, and why')['generator: batches'], 'no batch was refused');
  });

  it('has the command line of the run, and its configuration', () => {
    const run = runFileOf({
      environment: { commandLine: "stress -t 3 --threshold 'p99<2s'" },
      config: { threads: 3, mnemonic: '[redacted]' },
    });
    const page = runPage(run);
    assert.match(page, /<pre[^>]*>stress -t 3 --threshold &#39;p99&lt;2s&#39;<\/pre/);
    assert.deepEqual(tableOf(page, 'Configuration'), [['command', 'run'], ['threads', '3'], ['mnemonic', '[redacted]']]); // prettier-ignore
    assert.match(page, /Secrets are in no run file/);
    assert.doesNotMatch(runPage(runFileOf()), /<pre/);
  });

  it('loads nothing: no URL outside of text, and a policy for its own script and style only', () => {
    const page = runPage(hostileRun());
    const attributes = tagsOf(page).flatMap((tag) => tag.attributes);
    const asking = ['src', 'srcset', 'href', 'action', 'data', 'poster', 'formaction', 'ping', 'background'];
    const links = attributes.filter(({ key }) => asking.includes(key)).map(({ value }) => value);
    assert.deepEqual(links, ['data:,', '#main']);
    assert.doesNotMatch(page, /@import|url\(/);
    const [, policy] = /Content-Security-Policy"\s+content="([^"]*)"/.exec(page) ?? [];
    assert.match(policy, /^default-src &#39;none&#39;;/);
    assert.doesNotMatch(policy, /unsafe|https?:|connect-src|\*/);
    for (const name of ['script', 'style']) {
      const [, text] = new RegExp(`<${name}>(.*?)</${name}>`, 's').exec(page) ?? [];
      assert.ok(policy.includes(createHash('sha256').update(text).digest('base64')), `the policy allows the ${name}`);
    }
  });

  it('escapes texts of files everywhere', () => {
    const page = runPage(hostileRun());
    assertHarmless(page);
    assertWhole(page);
  });

  it('has a word and a sign for each colour', () => {
    assert.match(runPage(runFileOf()), /audit exact/);
    const failed = runPage(runFileOf({ audit: { ...exactAudit(), exact: false, mismatchCount: 2 } }));
    assert.match(failed, /✗ audit not exact/);
    /** @type {ReturnType<typeof exactAudit>} */
    const audit = { ...exactAudit(), exact: false, result: 'incomplete', incomplete: ['the fees: no receipts'] };
    const incomplete = runPage(runFileOf({ audit }));
    assert.match(incomplete, /✗ audit incomplete/);
    assert.match(incomplete, />not checked: the fees: no receipts</);
    assert.doesNotMatch(incomplete, /audit exact/);
    assert.match(failed, /✗ NOT EXACT/);
  });

  it('is a good page of a run that has not ended', () => {
    const page = runPage(runFileOf({ end: 'running', audit: null, durationUs: 1e6 }));
    assert.match(page, /So far: /);
    assertWhole(page);
  });

  it('of plain calls is about users, without an audit; the end of all iterations is good', () => {
    const page = runPage(runFileOf({ environment: { inclusion: null }, config: { threads: 1 }, end: 'iterations' }));
    assert.match(page, /<h1>Run on \S+ 1 user, /);
    assert.doesNotMatch(page, /no audit/);
    assert.match(page, /<li class="plain">all iterations were made</);
  });

  it('with operations that were abandoned does not say that there are no failures', () => {
    const run = runFileOf();
    const page = runPage({ ...run, counts: { ...run.counts, failed: 0, timedOut: 0, abandoned: 3 } });
    assert.match(page, /✗ 3 abandoned/);
    assert.doesNotMatch(page, /no failures/);
  });

  it('while the run goes on has what limits it so far, and no end of a drain', () => {
    const run = { ...runFileOf({ end: 'running' }), verdict: null };
    const page = runPage({ ...run, rates: { ...run.rates, spreadMs: 100 } }, 1);
    assert.match(page, /<strong>So far the limit is unknown\.</);
    assert.doesNotMatch(page, /up to its last block/);
    assert.match(page, /The charts end [\d.]+ s after the start, with the last interval that has ended/);
  });

  it('while the run goes on is no file, has no audit, and gives no advice before its window', () => {
    const run = runFileOf({ end: 'running', audit: null, durationUs: 1e6 });
    const page = runPage({ ...run, intervals: [rowOf({ phase: 'warmup' })] }, 1);
    assert.ok(Object.values(run.unmeasured).includes(STILL_RUNNING));
    assert.ok(!page.includes(STILL_RUNNING));
    assert.doesNotMatch(page, /Table: Audit|class="limit"/);
  });

  it('is a good page of a run in which nothing happened', () => {
    const recorder = new Recorder([0], 0);
    recorder.closeWindow(0);
    const page = runPage(
      runFileOf({
        stats: recorder.rest(),
        durationUs: 0,
        intervals: [],
        audit: null,
        end: 'interrupted',
        unmeasured: { '/audit': 'nothing was sent' },
      }),
    );
    assert.match(page, /Nothing was measured/);
    assert.match(page, /nothing to draw over time/);
    assert.doesNotMatch(page, /no failures/);
    assert.match(page, /✗ INCOMPLETE: it could not be made: nothing was sent</);
    assert.equal(figuresOf(page)['latency p99'], undefined);
  });

  it('stays below 2 MB with 3 million operations in 2,000 intervals', () => {
    const run = longRun({ pattern: runFileOf() });
    const page = runPage(run);
    assert.equal(run.intervals.length, 2000);
    assert.ok(Buffer.byteLength(page) < 2e6, `${Buffer.byteLength(page)} bytes`);
    const columns = chartsOf(page).heat.heat?.columns ?? [];
    assert.equal(columns.length, 2000);
    const all = columns.flat().reduce((sum, value, i) => sum + (i % 2 === 1 ? value : 0), 0);
    assert.equal(all, 300_000);
  });
});
