import { borderless, textOf } from '../output/table.js';
import { percentText, pText } from './compare-words.js';
import { digits, metricOf } from './metrics.js';
import { intervalText } from './trend-words.js';

/** @import { Trend, TrendLine } from './trend.js' */

/**
 * Trends as people read them on a terminal.
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
  for (const fit of metrics) {
    const { name, label, medians, slope, r2, p, growth } = fit;
    // What never happened has no trend.
    if (medians.every((value) => value === 0) && slope === 0) continue;
    const { show } = metricOf(name);
    table.push([
      ...[
        `  ${label}${fit.atLeast ? ' >=' : ''}`,
        ...shown.map((i) => show(medians[i])),
        show(slope * (step ?? 1)),
        intervalText(fit, { step }),
      ],
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
  const bounds = metrics.some(({ atLeast }) => atLeast)
    ? '; >=: some runs have operations without a good answer, it may be larger'
    : '';
  const runs = Math.max(0, ...metrics.map(({ residuals }) => residuals.length));
  return `  medians; least squares through all ${runs} runs, 95 % intervals of the slopes; p of each alone, corrected for the verdict (Holm)${bounds}`;
}
