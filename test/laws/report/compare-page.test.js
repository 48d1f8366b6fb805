import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderCompare } from '../../../src/report/compare-page.js';
import { Distribution } from '../../../src/stats/histogram.js';
import { parseFailIf } from '../../../src/studies/compare-text.js';
import { compare } from '../../../src/studies/compare.js';
import { assertGoldenPage } from '../../golden/assert-golden.js';
import { sidesOf } from '../studies/runs.js';
import { HOSTILE, assertHarmless, assertWhole, chartsOf } from '../../helpers/pages.js';

/** @import { Comparison } from '../../../src/contracts/study.d.ts' */

const ABBA = 'ABBAABBAABBAABBA';

/** Of a candidate that is a sixth slower. @param {string} [order] @param {Partial<Parameters<typeof compare>[2]>} [more] @returns {Comparison} */
function slower(order = ABBA, more = {}) {
  const { base, candidate, options } = sidesOf(order, (side, i) => ({
    tps: (side === 'A' ? 120 : 100) + (i % 3),
    latencyMs: (side === 'A' ? 50 : 60) + (i % 3),
  }));
  return compare(base, candidate, { ...options, ...more });
}

/** @param {number[]} ms */
function latencies(ms) {
  const all = new Distribution();
  for (const one of ms) all.record(1000 * one);
  return all.toJSON();
}

describe('the page of a comparison', () => {
  it('is that which is kept, with the names that are given', () =>
    assertGoldenPage(
      'compare-slower',
      renderCompare(slower(ABBA, { names: { base: 'geth 1.16', candidate: 'geth <1.17>' } })),
    ));

  it('draws intervals without bounds to the edges', () => {
    const comparison = slower('AB');
    assert.equal(comparison.metrics[0].change.low, null);
    const page = renderCompare(comparison);
    assert.match(page, /<line\s+x1="0\.00%"\s+x2="100\.00%"\s+y1="11"/);
    assertWhole(page);
  });

  it('has allowed differences, warnings and failed conditions', () => {
    const comparison = slower(ABBA, { failIf: [parseFailIf('tps<-10%'), parseFailIf('p99>+90%')] });
    const page = renderCompare({ ...comparison, differences: ['threads are 1 and 2'], warnings: ['be careful'] });
    assert.match(page, /1 of 2 conditions failed/);
    assert.match(page, />✗ FAILED<[^]*>✓ passed</);
    assert.match(page, /threads are 1 and 2/);
    assert.match(page, /be careful/);
  });

  it('says that a side has no latencies', () => {
    const comparison = slower();
    comparison.distributions.base = latencies([]);
    const page = renderCompare(comparison);
    assert.match(page, /One side has none/);
    assert.deepEqual(Object.keys(chartsOf(page)), ['runs']);
  });

  it('escapes texts of files everywhere', () => {
    const comparison = slower(ABBA, { failIf: [parseFailIf('tps<-10%')] });
    const side = { ...comparison.base, label: HOSTILE, files: [HOSTILE], clientVersion: HOSTILE, stress: HOSTILE };
    const hostile = {
      ...comparison,
      base: side,
      candidate: side,
      startedAt: HOSTILE,
      primary: HOSTILE,
      stress: HOSTILE,
      differences: [HOSTILE],
      warnings: [HOSTILE],
      verdict: { word: HOSTILE, sentence: HOSTILE },
      method: { ...comparison.method, words: HOSTILE, test: HOSTILE },
      failIf: comparison.failIf.map((one) => ({ ...one, expression: HOSTILE, why: HOSTILE })),
      metrics: comparison.metrics.map((metric) => ({ ...metric, label: HOSTILE, word: HOSTILE })),
    };
    assertHarmless(renderCompare(/** @type {Comparison} */ (/** @type {unknown} */ (hostile))));
  });
});
