import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { measuredText } from '../../../src/outputs/run-tables.js';
import { summaryText } from '../../../src/outputs/summary.js';
import { Recorder } from '../../../src/stats/recorder.js';
import { parseThreshold } from '../../../src/stats/thresholds.js';
import { addressOf, exactAudit, readingsOf, runFileOf } from '../../helpers/samples.js';

/**
 * @import { AuditReport, Mismatch } from '../../../src/contracts/run-file.d.ts'
 */

/** @param {Partial<AuditReport>} given */
const withAudit = (given) => summaryText(runFileOf({ audit: { ...exactAudit(), ...given } }), false);

const HASH = `0x${'cd'.repeat(32)}`;

/** @param {number} walletIndex @returns {Mismatch} */
const mismatch = (walletIndex) => ({
  walletIndex,
  address: addressOf(walletIndex),
  target: addressOf(0xc0),
  expectedEffect: '9',
  effect: '10',
  expectedNonce: 11,
  nonce: 12,
  pendingNonce: 14,
});

describe('summaryText()', () => {
  it('has the number of iterations, if it was set', () => {
    const run = runFileOf({ config: { iterations: 5, threads: 4 }, end: 'iterations' });
    assert.match(summaryText(run, false), /^\nSummary: all iterations were made \(19 of 20\), window/);
    const paged = { ...run, environment: { workload: { callsPerIteration: 3 } } };
    assert.match(summaryText(paged, false), /made \(6 of 20\), window/);
  });

  it('has the fees in a readable unit', () => {
    const feesOf = (/** @type {Partial<ReturnType<typeof runFileOf>['spending']>} */ given) => {
      const spending = { capWei: null, setUpWei: '0', spentWei: null, ...given };
      return /^ {2}fees {8}(.*)$/m.exec(summaryText({ ...runFileOf(), spending }, false))?.[1];
    };
    const ether = 10n ** 18n;
    assert.equal(
      feesOf({ setUpWei: String(ether / 400n), leftWei: String(17n * 10n ** 14n), spentWei: String(42n * 10n ** 14n) }),
      '0.0042 ether: 0.0025 ether for the set-up; 0.0017 ether left the wallets in the load, 0.0001 ether an operation',
    );
    assert.equal(
      feesOf({ leftWei: String(17n * 21_000n * 10n ** 9n), spentWei: String(17n * 21_000n * 10n ** 9n) }),
      '0.000357 ether: 0.000357 ether left the wallets in the load, 21,000 gwei an operation',
    );
    assert.equal(
      feesOf({ leftWei: '34' }),
      'total not known: 34 wei left the wallets in the load, 2 wei an operation, sent value included',
    );
    assert.equal(feesOf({ leftWei: '0', spentWei: '0' }), undefined, 'a chain without fees');
    assert.equal(feesOf({ setUpWei: null, leftWei: null }), undefined, 'plain calls');
    assert.equal(feesOf({}), undefined, 'files of older versions');
  });

  it('a run at a glance', () => {
    assert.equal(
      summaryText(runFileOf(), false),
      `
Summary: ran for its duration, window 2.0 s
  TPS        8.5  verified per second of the window
  attempts    20
  verified    17
  failed       1  reverted 1
  timed out    1
  abandoned    1  still open when the drain ended
  generator  350  us of CPU per verified operation; peak memory 123 MB
                  avg  min  p50     p90       p99     p99.9       max
  latency ms   >= 188   10  100  >= 500  >= 1,550  >= 1,550  >= 1,550
    queued          1    1    1       1         1         1         1
    submit          2    2    2       2         2         2         2
    inclusion      83    3   83     153       163       163       163
    read-back       4    4    4       4         4         4         4
    2 of 19 operations got no good answer in time: figures with >= are lower bounds; stages leave these operations out
  heads       polled every 10 ms: inclusion times are up to 10 ms late
  gas         0.25 Mgas/s in all blocks; blocks 1.67 % full on average, p50 1.7 %, p90 1.7 %
  fees        900 wei: the limit is 1,000 wei (--max-spend); 10 wei for the set-up
  verdict     unknown: 92.2 % of the latency is waiting for a block, reverted 1, timed_out 1, 0.167
              % of the gas limit was used, the generator's event loop busy 0 % of the time; the CPU
              time of the node (--node-pid) or a run with twice the wallets (-t) would tell more
  audit       exact: 2 counters grew by 18 = 17 verified + 1 included late, at block 1,234`,
    );
  });

  /** @type {Array<[number, number, RegExp]>} asked, achieved */
  const rates = [
    [500, 498.94, /^ {2}rate +499 {2}achieved of 500 asked per second$/m],
    [600, 495, /^ {2}rate +495 {2}achieved of 600 asked per second: 17\.5 % SHORT of the rate asked for$/m],
    [100, 95, /^ {2}rate +95 {2}achieved of 100 asked per second$/m],
    [100, 94.9, /: 5\.1 % SHORT of the rate asked for$/m],
    [12_345, 12_346, /^ {2}rate +12,346 {2}achieved of 12,345 asked per second$/m],
    [0, 0, /^ {2}rate +0 {2}achieved of 0 asked per second$/m],
  ];
  for (const [askedPerSecond, achievedPerSecond, expected] of rates) {
    it(`${achievedPerSecond} of ${askedPerSecond} per second`, () => {
      const run = runFileOf({ isOpenLoop: true });
      const given = { ...run, rates: { ...run.rates, askedPerSecond, achievedPerSecond } };
      assert.match(summaryText(given, false), expected);
    });
  }

  it('counts drops like the warning, also with a warm-up', () => {
    const recorder = new Recorder([0], 0);
    recorder.open(0, 1_000_000, 3_000_000);
    for (let dueUs = 0; dueUs < 3_000_000; dueUs += 10_000)
      if (dueUs % 20_000 === 0) recorder.drop(dueUs);
      else recorder.start(0, dueUs);
    const run = runFileOf({ stats: recorder.rest(), isOpenLoop: true });
    const [warning] = run.warnings.filter((words) => words.includes('dropped'));
    assert.match(warning, /; 100 of 200 were dropped/);
    assert.match(
      summaryText(run, false),
      /^ {2}dropped +100 {2}50 % of 200 due in the window: .*; 50 more outside of it$/m,
    );
  });

  it('the machine where something is wrong, and the node where it was watched', () => {
    const range = { from: 1, to: 1000, ports: 1000 };
    const node = { cpuUs: 2_500_000, rssBytes: 512e6, threads: 3 };
    /** @param {number} portsInUse */
    const textOf = (portsInUse) => {
      const all = { endpoint: 'all', timeWait: 5, portsInUse, portsLeft: 1000 - portsInUse };
      const sockets = { timeWait: 5, range, endpoints: [all] };
      return summaryText({ ...runFileOf(), probes: readingsOf({ sockets, node }) }, false);
    };
    assert.match(textOf(600), /^ {2}machine {5}the sockets of this machine may use 600 of 1000 /m);
    assert.doesNotMatch(textOf(599), /machine/);
    assert.match(textOf(599), /^ {2}node {8}CPU 125 % of a core; peak memory 512 MB$/m);
    for (const probes of [null, readingsOf()])
      assert.doesNotMatch(summaryText({ ...runFileOf(), probes }, false), /^ {2}(machine|node) /m);
  });

  it('outages, stalls and a lost endpoint are shown', () => {
    const run = runFileOf();
    const words = 'connection refused';
    const outages = [
      { fromMs: 12_000, toMs: 22_200, words },
      { fromMs: 50_000, words },
    ];
    const generator = { ...run.generator, outages };
    const verdict = { name: /** @type {const} */ ('endpoint-down'), evidence: 'gone' };
    const blocks = { ...run.blocks, count: 100, gapMaxMs: 21_300 };
    const text = summaryText({ ...run, generator, blocks, verdict }, false);
    assert.match(text, /^Summary: ran for its duration, but the endpoint was down, window /m);
    assert.match(
      text,
      /^ {2}outage {6}no answer for 10\.2 s, from 12\.0 s after the load began on: connection refused$/m,
    );
    assert.match(text, /^ {2}outage {6}no answer to the end, from 50\.0 s after/m);
    assert.match(text, /^ {2}stall {7}no new block was seen for 21\.3 s; 0\.0 s is the average$/m);
    assert.doesNotMatch(summaryText(run, false), /outage|stall|was down/);
  });

  it('thresholds: which held, and what was measured', () => {
    const expressions = ['tps>=8.6', 'p99 <  200ms', 'rss<1GB', 'timed_out<5.1%', 'failed=0', 'asked>1', 'p50<9us'];
    const text = summaryText(runFileOf({ thresholds: expressions.map(parseThreshold) }), false).split('\n');
    const at = text.findIndex((line) => line.startsWith('  thresholds'));
    assert.deepEqual(text.slice(at, at + 8), [
      '  thresholds      result  measured',
      '  tps>=8.6        FAILED  8.5 per second',
      '  p99 < 200ms     FAILED  >= 1,550 ms; 2 censored',
      '  rss<1GB         passed  123 MB',
      '  timed_out<5.1%  passed  5 %',
      '  failed=0        FAILED  1',
      '  asked>1         FAILED  not measured: no rate was asked for (--rate, --stages)',
      '  p50<9us         FAILED  100 ms',
    ]);
    assert.doesNotMatch(summaryText(runFileOf(), false), /thresholds/);
  });

  it('figures of thresholds have three digits, and more only beside their limit', () => {
    const held = (/** @type {number} */ value, /** @type {number} */ limit) =>
      measuredText({ expression: '', figure: 'held', operator: '>=', unit: 'percent', passed: false, value, limit });
    assert.deepEqual([held(93.6293, 98), held(99.96, 100), held(98.04, 98), held(98, 98)], ['93.6 %', '99.96 %', '98.04 %', '98 %']); // prettier-ignore
  });

  it('resubmissions with their reasons', () => {
    /** @param {Record<string, number>} given */
    const lineOf = (given) => {
      const run = runFileOf();
      const resubmissions = { repeated: 0, rebroadcast: 0, lost: 0, replaced: 0, ...given };
      const text = summaryText({ ...run, generator: { ...run.generator, resubmissions } }, false);
      return /\n {2}sent again {2}(.*)/.exec(text)?.[1] ?? null;
    };
    assert.equal(lineOf({}), null);
    assert.equal(lineOf({ rebroadcast: 50, lost: 0 }), '50 rebroadcast');
    assert.equal(lineOf({ rebroadcast: 50 }), '50 rebroadcast', 'an older file does not know why');
    assert.equal(lineOf({ rebroadcast: 5, lost: 5, replaced: 1 }), '5 lost by the node, 1 with a higher fee');
    assert.equal(
      lineOf({ repeated: 3, rebroadcast: 5, lost: 2 }),
      '3 without an answer, or while the node was busy, 2 lost by the node, 3 rebroadcast for other reasons',
    );
  });

  it('the verdict, broken into lines that fit, without losing a word', () => {
    const evidence = Array.from({ length: 60 }, (_, i) => `word${i}`).join(' ');
    const verdict = { name: /** @type {const} */ ('rate-bound'), evidence };
    const text = summaryText({ ...runFileOf(), verdict }, false);
    const [, words] = /^ {2}verdict {5}(rate-bound: [\s\S]*?)\n {2}audit/m.exec(text) ?? [];
    assert.equal(words.replace(/\n {14}(?=\S)/g, ' '), `rate-bound: ${evidence}`);
    for (const line of text.slice(text.indexOf('verdict')).split('\n').slice(0, 5)) assert.ok(line.length <= 100, line);
    assert.doesNotMatch(summaryText({ ...runFileOf(), verdict: null }, false), /verdict/);
  });

  it('a run in which nothing was verified has dashes, not zeros', () => {
    const recorder = new Recorder([0], 0);
    recorder.closeWindow(1_000_000);
    const text = summaryText(
      runFileOf({
        stats: recorder.rest(),
        durationUs: 1_000_000,
        intervals: [],
        audit: null,
        unmeasured: { '/audit': 'ended at once, on request' },
      }),
      false,
    );
    assert.match(text, /^ {2}generator {2,}- {2}us of CPU/m);
    assert.match(text, /^ {2}latency ms( +-){7}$/m);
    assert.match(text, /^ {2}TPS +0 /m);
    assert.match(text, /^ {2}audit {7}INCOMPLETE: it could not be made: ended at once, on request$/m);
  });

  it('an audit that is not exact: the bounds, the wallets and the hashes', () => {
    const text = withAudit({
      exact: false,
      effectsOnChain: '19',
      bounds: { atLeast: '18', atMost: '19' },
      replaced: 1,
      pending: 2,
      mismatchCount: 1,
      mismatches: [mismatch(4)],
      foreign: [{ walletIndex: 4, nonce: 11, hash: HASH, blockNumber: 77 }],
      resolutions: [
        { walletIndex: 5, nonce: 3, hash: '0xpending', outcome: 'timed_out', code: null, fate: 'pending' },
        { walletIndex: 5, nonce: 4, hash: '0xreplaced', outcome: 'failed', code: 'nonce_too_low', fate: 'replaced' },
        { walletIndex: 5, nonce: 5, hash: '0xincluded', outcome: 'timed_out', code: null, fate: 'included' },
      ],
    });
    assert.deepEqual(text.split('\n').slice(-5), [
      '  audit       NOT EXACT: 2 counters grew by 19; ours are 18 to 19: 17 verified + 1 included late, at block 1,234',
      `    wallet 4 (${addressOf(4)}): effect 10, expected 9; nonce 12, expected 11; pending 2`,
      `    not ours: ${HASH} (wallet 4, nonce 11, block 77)`,
      '    pending: 0xpending (wallet 5, nonce 3)',
      '    replaced: 0xreplaced (wallet 5, nonce 4)',
    ]);
  });

  it('an incomplete audit never says exact, and lists failed checks and pending transactions', () => {
    const text = withAudit({
      exact: false,
      result: 'incomplete',
      pending: 1,
      incomplete: ['the fees: no receipts', 'more'],
      resolutions: [{ walletIndex: 5, nonce: 3, hash: HASH, outcome: 'timed_out', code: null, fate: 'pending' }],
      checks: [
        { name: 'a', words: 'what arrived', expected: '5', found: '5', holds: true, why: null },
        { name: 'b', words: 'the fees', expected: null, found: null, holds: null, why: 'no receipts' },
      ],
    });
    assert.deepEqual(text.split('\n').slice(-5), [
      '  audit       INCOMPLETE: 2 counters grew by 18; ours are 18: 17 verified + 1 included late, at block 1,234',
      '    not checked: the fees: no receipts',
      '    not checked: more',
      '    what arrived: 5, as it must be',
      `    pending: ${HASH} (wallet 5, nonce 3)`,
    ]);
  });

  it('in a file of an older version, an audit with checks that could not be made is incomplete, too', () => {
    const check = { name: 'b', words: 'the fees', expected: null, found: null, holds: null, why: 'no receipts' };
    const text = withAudit({ exact: true, checks: [check] });
    assert.match(text, /audit {7}INCOMPLETE: 2 counters grew .*\n {4}not checked: the fees: no receipts$/);
  });

  it('of many wallets the first ten', () => {
    const mismatches = Array.from({ length: 100 }, (_, i) => mismatch(i));
    const text = withAudit({ exact: false, mismatchCount: 150, mismatches });
    assert.equal(text.match(/^ {4}wallet /gm)?.length, 10);
    assert.match(text, /^ {4}\.\.\. 150 in all; the run file \(--out\) lists more$/m);
    assert.doesNotMatch(
      withAudit({ exact: false, mismatchCount: 10, mismatches: mismatches.slice(0, 10) }),
      / in all; the run file/,
    );
  });
});
