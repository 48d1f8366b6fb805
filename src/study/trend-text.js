import { borderless, textOf } from '../output/table.js';
import { percentText, pText } from './compare-words.js';
import { digits, metricOf } from './metrics.js';

/**
 * Trends as people read them on a terminal.
 *
 * @typedef {import('./trend.js').Trend} Trend
 * @typedef {import('./trend.js').TrendLine} TrendLine
 */

/** So many medians fit on a line. */
const SHOWN = 5;

/** @param {Trend} trend */
export function trendText({ over, lines, warnings }) {
  return [
    ...lines.flatMap((line) => [
      '',
      `Trend over ${over}${atText(line.at)}`,
      lineTable(over, line),
      footnote(line),
      `  verdict   ${line.words}`,
    ]),
    ...warnings.map((words) => `  warning   ${words}`),
  ].join('\n');
}

/** @param {Record<string, unknown>} at */
function atText(at) {
  const others = Object.entries(at).map(([name, value]) => `${name} ${String(value)}`);
  return others.length === 0 ? '' : `, at ${others.join(', ')}`;
}

/** @param {string} over @param {TrendLine} line */
function lineTable(over, { values, step, metrics }) {
  const shown = someOf(values.length);
  const table = borderless({
    head: [
      `  ${over}`,
      ...shown.map((i) => digits(values[i])),
      `per ${step === null ? '1' : digits(step)}`,
      'interval',
      'R2',
      'p',
      'growth',
    ],
    colAligns: ['left', ...Array(shown.length + 5).fill('right')],
  });
  for (const { name, label, medians, slope, slopeLow, slopeHigh, r2, p, growth } of metrics) {
    // What never happened has no trend.
    if (medians.every((value) => value === 0) && slope === 0) continue;
    const { show } = metricOf(name);
    const [per, low, high] = [slope, slopeLow, slopeHigh].map((value) => show(value * (step ?? 1)));
    table.push([
      ...[`  ${label}`, ...shown.map((i) => show(medians[i])), per, `${low} .. ${high}`],
      ...[r2 === null ? '-' : r2.toFixed(2), pText(p), percentText(growth)],
    ]);
  }
  return textOf(table);
}

/** The first, the last, and what is evenly between them. @param {number} length */
function someOf(length) {
  const count = Math.min(length, SHOWN);
  return Array.from({ length: count }, (_, i) => Math.round((i * (length - 1)) / (count - 1)));
}

/** @param {TrendLine} line */
function footnote({ metrics }) {
  const runs = Math.max(0, ...metrics.map(({ residuals }) => residuals.length));
  return `  medians at each value; lines by least squares through all ${runs} runs, with 95 % intervals of their slopes`;
}
