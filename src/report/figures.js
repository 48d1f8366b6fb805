/** Figures as pages print them. */
import { LATENCY_FIGURES, atLeast } from '../outputs/format.js';
import { boundsOf } from '../stats/histogram.js';
import { quantity } from './client/quantity.js';

/**
 * @import { DistributionJson } from '../types.d.ts'
 * @typedef {keyof typeof LATENCY_FIGURES} LatencyName
 */

/**
 * A latency, with >= if it is a lower bound because of censored operations.
 * @param {DistributionJson} json
 * @param {Parameters<typeof boundsOf>[1]} censored
 * @param {LatencyName} name
 */
export function latencyFigure(json, censored, name) {
  const { us, atMostUs } = boundsOf(json, censored, LATENCY_FIGURES[name]);
  const text = us === null ? quantity(null, 'ms') : atLeast(quantity(us / 1000, 'ms'), quantity(atMostUs / 1000, 'ms'));
  return { value: us, text };
}

/** Six digits are enough for a screen, and halve the size of the data. @param {number | null | undefined} value */
export function rounded(value) {
  return value === null || value === undefined || !Number.isFinite(value) ? null : Number(value.toPrecision(6));
}
