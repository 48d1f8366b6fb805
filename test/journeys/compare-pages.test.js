/** The page of a comparison, as stress report makes it of compare.json. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { writeFileSync } from 'node:fs';
import { assertGoldenPage } from '../golden/assert-golden.js';
import { exited, readJson } from '../helpers/cli.js';
import { HOSTILE, assertHarmless, assertWhole, chartsOf } from '../helpers/pages.js';
import { reportPage } from '../helpers/reports.js';
import { distributionOf } from '../helpers/samples.js';
import { temporaryFolder } from '../helpers/temporary.js';
import { runOf } from '../laws/studies/runs.js';

/**
 * @import { TestContext } from 'node:test'
 * @import { Comparison } from '../../src/contracts/study.d.ts'
 */

const ABBA = 'ABBAABBAABBAABBA';

/**
 * Of a candidate that is a sixth slower.
 * @param {TestContext} t
 * @param {{order?: string, words?: string[], exit?: number}} [options]
 * @returns {Promise<Comparison>}
 */
async function slower(t, { order = ABBA, words = [], exit = 0 } = {}) {
  const cwd = temporaryFolder(t);
  const files = [...order].map((side, i) => {
    const given = { tps: (side === 'A' ? 120 : 100) + (i % 3), latencyMs: (side === 'A' ? 50 : 60) + (i % 3) };
    writeFileSync(join(cwd, `${i}.json`), JSON.stringify(runOf(i, given)));
    return { side, file: `${i}.json` };
  });
  const of = (/** @type {string} */ side) => files.filter((one) => one.side === side).map(({ file }) => file);
  await exited(exit, ['compare', ...of('A'), '--with', ...of('B'), '--out', 'compare.json', ...words], { cwd });
  return { ...readJson(join(cwd, 'compare.json')), stress: '1.0.0' };
}

describe('the page of a comparison', () => {
  it('is that which is kept, with the names that are given', async (t) => {
    const words = ['--label-a', 'geth 1.16', '--label-b', 'geth <1.17>'];
    assertGoldenPage('compare-slower', await reportPage(t, await slower(t, { words })));
  });

  it('draws intervals without bounds to the edges', async (t) => {
    const comparison = await slower(t, { order: 'AB' });
    assert.equal(comparison.metrics[0].change.low, null);
    const page = await reportPage(t, comparison);
    assert.match(page, /<line\s+x1="0\.00%"\s+x2="100\.00%"\s+y1="11"/);
    assertWhole(page);
  });

  it('has allowed differences, warnings and failed conditions', async (t) => {
    const words = ['--fail-if', 'tps<-10%', '--fail-if', 'p99>+90%'];
    const comparison = await slower(t, { words, exit: 99 });
    const page = await reportPage(t, { ...comparison, differences: ['threads are 1 and 2'], warnings: ['be careful'] });
    assert.match(page, /1 of 2 conditions failed/);
    assert.match(page, />✗ FAILED<[^]*>✓ passed</);
    assert.match(page, /threads are 1 and 2/);
    assert.match(page, /be careful/);
  });

  it('says that a side has no latencies', async (t) => {
    const comparison = await slower(t);
    comparison.distributions.base = distributionOf();
    const page = await reportPage(t, comparison);
    assert.match(page, /One side has none/);
    assert.deepEqual(Object.keys(chartsOf(page)), ['runs']);
  });

  it('escapes texts of files everywhere', async (t) => {
    const comparison = await slower(t, { words: ['--fail-if', 'tps<-10%'], exit: 99 });
    const side = { ...comparison.base, label: HOSTILE, files: [HOSTILE], clientVersion: HOSTILE, stress: HOSTILE };
    const hostile = {
      ...comparison,
      base: side,
      candidate: side,
      primary: HOSTILE,
      stress: HOSTILE,
      differences: [HOSTILE],
      warnings: [HOSTILE],
      verdict: { ...comparison.verdict, sentence: HOSTILE },
      method: { ...comparison.method, words: HOSTILE },
      failIf: comparison.failIf.map((one) => ({ ...one, expression: HOSTILE, why: HOSTILE })),
      metrics: comparison.metrics.map((metric) => ({ ...metric, label: HOSTILE })),
    };
    assertHarmless(await reportPage(t, hostile));
  });
});
