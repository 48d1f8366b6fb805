import { percentText } from './compare-words.js';
import { digits, metricOf } from './metrics.js';

/**
 * @typedef {import('./trend.js').Fit} Fit
 *
 * @param {string} over
 * @param {Omit<import('./trend.js').TrendLine, 'words'>} line
 * @returns {string} what grows fastest
 */
export function trendWords(over, line) {
  const { metrics, values } = line;
  const fit = (/** @type {string} */ name) => /** @type {Fit} */ (metrics.find((one) => one.name === name));
  const parts = [];
  if (line.fastestStage === null) parts.push(`no part of the latency is shown to grow with ${over}`);
  else {
    const { label } = fit(line.fastestStage);
    const grown = slopeText(fit(line.fastestStage), line);
    parts.push(`of the parts of the latency ${label} grows fastest, by ${grown} of ${over}`);
  }
  if (line.fastest !== null) {
    const { label, growth } = fit(line.fastest);
    const [from, to] = [values[0], values[values.length - 1]].map(digits);
    parts.push(`of all that should be small ${label}: ${percentText(growth)} from ${over} ${from} to ${to}`);
  }
  return parts.join('; ');
}

/** For a step where all are alike, or else for one more. @param {Fit} fit @param {{step: number | null}} line */
export function slopeText({ name, slope, perStep }, { step }) {
  return `${metricOf(name).show(perStep ?? slope)} per ${step === null ? '1' : `step of ${digits(step)}`}`;
}
