import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { axisOf, logRange } from '../../../src/report/client/axes.js';
import { heatRange } from '../../../src/report/client/buckets.js';

/** Pixels of a digit at the size of the labels. */
const DIGIT = 6.6;

/**
 * The labels of an axis, of a plot of so many pixels.
 * @param {'x' | 'y'} scale
 * @param {'linear' | 'log' | 'time'} kind
 * @param {[number, number]} range
 * @param {number} pixels
 * @param {string} [unit]
 */
function labelsOf(scale, kind, [low, high], pixels, unit) {
  const part = (/** @type {number} */ value) =>
    kind === 'log' ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  const place = (/** @type {number} */ value) => pixels * part(value);
  const { splits, values } = axisOf(scale, kind, unit);
  const plot = /** @type {any} */ ({ valToPos: place });
  const ticks = splits(plot, 0, low, high);
  return { ticks, texts: values(plot, ticks), places: ticks.map(place) };
}

/** @param {ReturnType<typeof labelsOf>} labels @param {'x' | 'y'} scale @param {[number, number]} range @param {string} words */
function assertReadable({ ticks, texts, places }, scale, [low, high], words) {
  assert.ok(ticks.length >= 3, `three labels or more: ${words}: ${texts}`);
  assert.equal(new Set(texts).size, texts.length, `no label twice: ${words}: ${texts}`);
  for (const [i, tick] of ticks.entries()) {
    assert.ok(tick >= low && tick <= high, `${words}: ${texts}`);
    if (i === 0) continue;
    const size = scale === 'y' ? 14 : (DIGIT * (texts[i].length + texts[i - 1].length)) / 2;
    assert.ok(Math.abs(places[i] - places[i - 1]) > size, `labels do not overlap: ${words}: ${texts}`);
  }
}

const LINEAR = /** @type {const} */ (['linear']);
const BOTH = /** @type {const} */ (['linear', 'log']);

describe('the labels of an axis', () => {
  it('are 1, 2 and 5 times powers of ten, or multiples of such a step', () => {
    assert.deepEqual(labelsOf('x', 'log', logRange(101, 1010), 1100).texts, ['100', '200', '500', '1,000']);
    assert.deepEqual(labelsOf('x', 'log', logRange(10, 200), 700).ticks, [10, 20, 50, 100, 200]);
    assert.deepEqual(labelsOf('y', 'linear', [0, 402], 130, '/s').texts, ['0/s', '100/s', '200/s', '300/s', '400/s']);
    assert.deepEqual(labelsOf('x', 'time', [0, 180], 500).texts, ['0 s', '30 s', '60 s', '90 s', '2:00 min', '2:30 min', '3:00 min']); // prettier-ignore
    // A range too narrow for them has multiples of a step.
    assert.deepEqual(labelsOf('x', 'log', [85, 130], 300).ticks, [90, 100, 110, 120, 130]);
  });

  it('are three or more, none twice and none over another, whatever the range and the width', () => {
    for (const pixels of [190, 262, 480, 1100])
      // On the narrowest phone numbers of many digits need more space.
      for (const factor of [...(pixels < 200 ? [] : [1.04, 1.3]), 2, 5, 10, 300, 1e5, 1e7])
        for (let low = 0.013; low * factor < (pixels < 200 ? 1e5 : pixels < 400 ? 1e7 : 1e9); low *= 2.7) {
          /** @type {[number, number]} */
          const range = [low, low * factor];
          // A logarithmic axis has space beside its values.
          for (const kind of factor < 1.3 ? LINEAR : BOTH)
            assertReadable(labelsOf('x', kind, range, pixels), 'x', range, `${kind} ${range} in ${pixels}`);
        }
    for (const pixels of [80, 130, 200])
      for (let top = 0.01; top < 1e7; top *= 1.37)
        assertReadable(labelsOf('y', 'linear', [0, top], pixels, 'ms'), 'y', [0, top], `0 to ${top} in ${pixels}`);
    for (const pixels of [190, 262, 1100])
      for (let end = 1; end < 1e6; end *= 1.37)
        assertReadable(labelsOf('x', 'time', [0, end], pixels), 'x', [0, end], `0 to ${end} s in ${pixels}`);
  });

  it('of a heat map are three or more, whatever its latencies', () => {
    for (const perDecade of [1, 2, 4, 8, 16, 32, 64])
      for (let first = 0; first < 7 * perDecade; first += 1)
        for (const length of [0, 1, Math.min(39, 5 * perDecade)]) {
          const range = heatRange({ perDecade, first, last: first + length, columns: [] });
          assertReadable(labelsOf('y', 'log', range, 190, 'ms'), 'y', range, `${perDecade} ${first} ${length}`);
        }
  });

  it('that are names are as many as fit', () => {
    const names = ['counter', 'transfer', 'a-workload-with-a-long-name', 'erc20'];
    const { splits, values } = axisOf(
      'x',
      'linear',
      undefined,
      names.map((name, i) => [i, name]),
    );
    const plot = (/** @type {number} */ gap) => /** @type {any} */ ({ valToPos: (/** @type {number} */ i) => gap * i });
    assert.deepEqual(values(plot(300), splits(plot(300), 0, 0, 3)), names);
    assert.deepEqual(values(plot(90), splits(plot(90), 0, 0, 3)), ['counter', 'transfer', 'erc20']);
  });
});
