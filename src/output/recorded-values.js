import * as hdr from 'hdr-histogram-js';

/**
 * What was recorded in a distribution: a value for each bucket of its histogram, the middle of it but never beyond
 * what was recorded, and how often. The library's own iterator takes ten times as long.
 * @param {import('../metrics/distribution.js').DistributionJson} json
 * @returns {Generator<{valueUs: number, count: number}>} ascending
 */
export function* recordedValues({ hdr: encoded, count: total, minUs, maxUs }) {
  if (minUs === null || maxUs === null) return;
  const histogram = /** @type {hdr.JsHistogram} */ (hdr.decodeFromCompressedBase64(encoded, 32, false));
  for (let i = 0, seen = 0; seen < total; i += 1) {
    const count = histogram.getCountAtIndex(i);
    if (count === 0) continue;
    seen += count;
    const middleUs = histogram.medianEquivalentValue(histogram.valueFromIndex(i));
    yield { valueUs: Math.min(Math.max(middleUs, minUs), maxUs), count };
  }
}
