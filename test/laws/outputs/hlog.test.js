import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import * as hdr from 'hdr-histogram-js';
import { createHlogOutput } from '../../../src/outputs/hlog.js';
import { STAGES } from '../../../src/stats/figures.js';
import { assertNear } from '../../helpers/recompute.js';
import { distributionOf, rowOf } from '../../helpers/samples.js';
import { temporaryFolder } from '../../helpers/temporary.js';

/** @import { OutputOptions, Totals } from '../../../src/contracts/output.d.ts' */

/** @param {string} file @param {Array<{startMs: number, endMs: number, valuesUs: number[]}>} intervals */
async function write(file, intervals) {
  const output = createHlogOutput(/** @type {OutputOptions} */ ({ hlog: file }));
  output.begin?.({ startUs: 0, startedAtMs: Date.UTC(2026, 0, 1, 0, 0, 0, 123) });
  for (const { startMs, endMs, valuesUs } of intervals) {
    const stages = Object.fromEntries(
      STAGES.map(({ name }, i) => [name, distributionOf(...valuesUs.map((value) => Math.floor(value / (i + 2))))]),
    );
    const totals = /** @type {Totals} */ ({ attempts: 0, verified: 0, runTps: null, stages });
    output.interval?.(rowOf({ startMs, endMs, latency: distributionOf(...valuesUs) }), totals);
  }
  await output.close?.();
  return readFileSync(file, 'utf8');
}

/** @param {string} text @returns {hdr.Histogram[]} */
function read(text) {
  const reader = new hdr.HistogramLogReader(text);
  const histograms = [];
  for (let one = reader.nextIntervalHistogram(); one !== null; one = reader.nextIntervalHistogram())
    histograms.push(one);
  return /** @type {hdr.Histogram[]} */ (histograms);
}

describe('output hlog', () => {
  it('is the log format, version 1.3', async (t) => {
    const text = await write(join(temporaryFolder(t), 'a.hlog'), [
      { startMs: 0, endMs: 5000, valuesUs: [12_345] },
      { startMs: 5000, endMs: 10_000.25, valuesUs: [] },
    ]);
    const lines = text.split('\n');
    assert.equal(lines[0], '#[Histogram log format version 1.3]');
    assert.equal(lines[1], '#[StartTime: 1767225600.123 (seconds since epoch), 2026-01-01T00:00:00.123Z]');
    assert.equal(lines[2], '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"');
    const encoded = '[A-Za-z0-9+/]+=*';
    const tags = ['', ...STAGES.map(({ name }) => name)].map((tag) => (tag === '' ? '' : `Tag=${tag},`));
    const expected = [
      ...tags.map((tag) => new RegExp(`^${tag}0\\.000,5\\.000,\\d+\\.\\d{3},${encoded}$`)),
      ...tags.map((tag) => new RegExp(`^${tag}5\\.000,5\\.000,0\\.000,${encoded}$`)),
    ];
    assert.equal(lines.length, 3 + expected.length + 1);
    expected.forEach((pattern, i) => assert.match(lines[3 + i], pattern));
    // Within the resolution of a histogram, and in milliseconds.
    assertNear(Number(lines[3].split(',')[2]), 12.345, 1e-3, 'maximum');
  });

  it('has the times of day of its intervals', async (t) => {
    const text = await write(join(temporaryFolder(t), 'a.hlog'), [{ startMs: 1000, endMs: 3500, valuesUs: [5] }]);
    const [{ startTimeStampMsec, endTimeStampMsec }] = read(text);
    assertNear(startTimeStampMsec, Date.UTC(2026, 0, 1, 0, 0, 1, 123), 1e-12, 'start');
    assertNear(endTimeStampMsec, Date.UTC(2026, 0, 1, 0, 0, 3, 623), 1e-12, 'end');
  });

  it('its counts are the counts of the run file, its percentiles the same within the resolution', async (t) => {
    const folder = temporaryFolder(t);
    const valueUs = fc.oneof(fc.nat(5000), fc.nat(3_000_000), fc.nat(600_000_000));
    let number = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(valueUs, { maxLength: 50 }), { maxLength: 4 }), async (intervals) => {
        const file = join(folder, `${(number += 1)}.hlog`);
        const rows = intervals.map((valuesUs, i) => ({ startMs: i * 1000, endMs: (i + 1) * 1000, valuesUs }));
        const histograms = read(await write(file, rows));
        assert.equal(histograms.length, intervals.length * 5);
        for (const [i, valuesUs] of intervals.entries()) {
          const [total, ...stages] = histograms.slice(i * 5, i * 5 + 5);
          assert.deepEqual([total.tag, ...stages.map(({ tag }) => tag)], ['NO TAG', ...STAGES.map(({ name }) => name)]);
          const all = [valuesUs, ...STAGES.map((_, k) => valuesUs.map((value) => Math.floor(value / (k + 2))))];
          for (const [k, histogram] of [total, ...stages].entries()) {
            const expected = distributionOf(...all[k]);
            assert.equal(histogram.totalCount, expected.count);
            if (expected.count === 0) continue;
            for (const [key, percentile] of /** @type {const} */ ([
              ['p50Us', 50],
              ['p99Us', 99],
              ['maxUs', 100],
            ])) {
              assertNear(
                histogram.getValueAtPercentile(percentile) / 1000,
                Number(expected[key]),
                2e-3,
                `${key} of ${k}`,
              );
            }
          }
        }
      }),
      { numRuns: 50 },
    );
  });
});
