import { quantity } from './client/quantity.js';
import { html } from './html.js';

/** @import { Unit } from './client/quantity.js' */

/**
 * What a chart is: data that the script draws with uPlot, and a figure with everything that can be read without it.
 *
 * @typedef {object} TimeAxis in seconds since the start of the load
 * @property {number[]} from of each interval
 * @property {number[]} to
 * @property {Array<{from: number, to: number, name: string}>} phases those that are outside of the window
 * @property {Array<{at: number, kind: 'failure' | 'reorg', words: string}>} marks
 *
 * @typedef {object} Series
 * @property {string} label
 * @property {number} color 0 to 5: one of the palette in page.css
 * @property {number[]} [x] its own axis, where the others have another
 * @property {number[]} [dash] lengths of dashes and gaps, so that colour alone need not be told apart
 * @property {Array<number | null>} values one for each x; null where nothing was measured
 * @property {Array<number | null>} [low] the ends of intervals around the values
 * @property {Array<number | null>} [high]
 * @property {string[]} [names] of the points of a path, which stand beside them
 * @property {boolean[]} [crossed] points with a cross over them; what it says are the chart's crossWords
 *
 * @typedef {object} Heat counts in buckets, a column for each x
 * @property {number} perDecade buckets to a factor of ten
 * @property {number} first number of the lowest: bucket n begins at 10^(n/perDecade) us
 * @property {number} last
 * @property {number[][]} columns pairs of (number less the one before, count)
 *
 * @typedef {object} Chart
 * @property {string} id
 * @property {string} title
 * @property {'lines' | 'stacked' | 'points' | 'path' | 'heat'} kind stacked: areas on top of each other; points: values
 *   without lines; path: points joined in their order, which x need not follow
 * @property {Unit} unit of y
 * @property {boolean} [isLog] y is logarithmic
 * @property {number | null} [ceiling] y reaches at least so far
 * @property {number} [floor] where y begins; without it, at 0
 * @property {Array<number>} [x] its own axis; without it, that of the time
 * @property {string} [xLabel]
 * @property {Unit} [xUnit]
 * @property {string[]} [xTexts] what each x is called, where it is not a number to be read as such
 * @property {Array<[number, string]>} [xTicks] what stands on the axis then; without it, all of xTexts
 * @property {string} [crossWords]
 * @property {number | null} [mark] an x worth a line, with its words
 * @property {string} [markWords]
 * @property {Series[]} series
 * @property {Heat} [heat]
 */

/**
 * The figure of a chart: a title, what it says in one sentence, a legend, room for the plot, and its numbers.
 * @param {Chart} chart
 * @param {{summary: string, note?: string, isWide?: boolean}} words
 */
export function chartFigure(chart, { summary, note, isWide = false }) {
  const { id, title, kind } = chart;
  return html`<figure
    id="figure-${id}"
    class="chart${isWide ? ' wide' : ''}"
    aria-labelledby="title-${id}"
    aria-describedby="caption-${id}"
  >
    <h3 id="title-${id}">${title}</h3>
    <figcaption id="caption-${id}">${summary}</figcaption>
    ${note !== undefined && html`<p class="note">${note}</p>`} ${kind === 'heat' ? heatLegend(id) : legend(chart)}
    <div
      class="plot"
      id="plot-${id}"
      role="group"
      tabindex="0"
      aria-label="${title}: plot. Arrow keys read values${chart.x === undefined ? ', plus and minus zoom, 0 shows all' : ''}."
    ></div>
    <p class="readout" id="readout-${id}" aria-live="polite"></p>
    <details class="numbers" data-chart="${id}">
      <summary>Numbers of this chart</summary>
      <div class="scroll" tabindex="0" role="region" aria-label="Numbers: ${title}"></div>
    </details>
  </figure>`;
}

/** What could not be drawn, and why. @param {string} id @param {string} title @param {string} why */
export function missingFigure(id, title, why) {
  return html`<p class="missing" id="missing-${id}"><strong>${title}</strong>: not measured. ${sentence(why)}</p>`;
}

/** @param {string} words */
export function sentence(words) {
  const text = words.trim();
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}

/** One series needs none, unless there is something over its points. @param {Chart} chart */
function legend({ kind, series, crossWords }) {
  const isCrossed = series.some(({ crossed = [] }) => crossed.includes(true));
  if (series.length < 2 && !isCrossed) return null;
  return html`<ul class="legend">
    ${series.map(
      ({ label, color, dash = [] }, i) =>
        html`<li>
          <svg width="26" height="10" aria-hidden="true" class="stroke-${color}">
            ${kind !== 'points' && html`<line x1="0" y1="5" x2="26" y2="5" stroke-dasharray="${dash.join(' ')}" />`}
            ${(kind === 'points' || kind === 'path') && html`<path d="${SHAPES[i % SHAPES.length]}" fill="currentcolor" />`}</svg
          >${label}
        </li>`,
    )}
    ${
      isCrossed &&
      html`<li>
        <svg width="14" height="10" aria-hidden="true" class="stroke-bad">
          <path d="M3 1 L11 9 M3 9 L11 1" fill="none" stroke-width="2" /></svg
        >${crossWords}
      </li>`
    }
  </ul>`;
}

/** As the script draws them: a circle, a square, a triangle. */
const SHAPES = ['M13 1 A4 4 0 1 1 13 9 A4 4 0 1 1 13 1 Z', 'M9 1 H17 V9 H9 Z', 'M13 0 L18 9 H8 Z'];

/** Its two ends are told by the script, which knows what is visible. @param {string} id */
function heatLegend(id) {
  return html`<p class="legend heat-legend" id="legend-${id}">
    <span>few</span> <canvas width="160" height="10" aria-hidden="true"></canvas> <span>many</span>
  </p>`;
}

/**
 * "Between 180 and 191, median 188."
 * @param {ReadonlyArray<number | null>} values
 * @param {Unit} unit
 */
export function spread(values, unit) {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  if (known.length === 0) return 'nothing was measured';
  const [low, middle, high] = [known[0], known[Math.floor((known.length - 1) / 2)], known[known.length - 1]];
  const [least, most] = [quantity(low, unit), quantity(high, unit)];
  if (least === most) return `always ${least}`;
  return `between ${least} and ${most}, median ${quantity(middle, unit)}`;
}

/**
 * "Median 188, at most 191": where several have to be told in one sentence.
 * @param {ReadonlyArray<number | null>} values
 * @param {Unit} unit
 */
export function middle(values, unit) {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  const half = quantity(known[Math.floor((known.length - 1) / 2)], unit);
  const most = quantity(known.at(-1), unit);
  if (known.length === 0) return 'not measured';
  return half === most ? `mostly ${half}` : `median ${half}, at most ${most}`;
}
