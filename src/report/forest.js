import { marks } from './figures.js';
import { html } from './html.js';

/** @import { ComparedMetric, Comparison } from '../study/compare.js' */

/**
 * Changes with their intervals, a row for each metric: what lies right of the line is more, left of it less; an interval
 * that reaches over the line may be no change at all. Made without a script, so that it is there on paper, too.
 */

/** An interval may be so many times as wide as the changes before it is cut off. */
const WIDEST = 3;
const HEIGHT = 26;

/** @param {Comparison} comparison */
export function forest({ metrics }) {
  const scale = scaleOf(metrics);
  return html`<figure class="forest" aria-labelledby="title-forest" aria-describedby="caption-forest">
    <h3 id="title-forest">What changed, and how sure that is</h3>
    <figcaption id="caption-forest">
      CANDIDATE against BASE: right of the line in the middle is more, left of it less. The point is the change, the bar
      its interval: where it reaches over that line, chance is enough to explain the change.
    </figcaption>
    <div class="forest-row forest-axis" aria-hidden="true">
      <span></span>
      <span class="forest-plot"
        ><svg>
          ${scale.ticks.map(({ place, text }) => html`<text x="${place}%" y="18" text-anchor="${anchorOf(place)}">${text}</text>`)}
        </svg></span
      >
      <span></span>
    </div>
    ${metrics.map((metric) => row(metric, scale))}
  </figure>`;
}

/** @param {ComparedMetric} metric @param {ReturnType<typeof scaleOf>} scale */
function row({ name, label, isPrimary, change, word, better }, { placeOf, ticks }) {
  const { estimate, low, high } = change;
  const kind = kindOf(word);
  return html`<div class="forest-row" data-metric="${name}">
    <span class="forest-name"
      >${isPrimary ? html`<strong>${label}</strong> (decides)` : label}<small
        >${better === 'higher' ? 'more is better' : 'less is better'}</small
      ></span
    >
    <span class="forest-plot ${kind}" aria-hidden="true"
      ><svg height="${HEIGHT}">
        ${ticks.map(({ place, text }) => html`<line x1="${place}%" x2="${place}%" y1="0" y2="100%" class="${text === '0 %' ? 'zero' : 'tick'}" />`)}
        ${whisker(placeOf(low, 'low'), placeOf(high, 'high'))}
        <circle cx="${placeOf(estimate, 'low').place}%" cy="${HEIGHT / 2}" r="5" /></svg
    ></span>
    <span class="forest-words"
      ><span ${marks(`change.${name}`, estimate)}>${percent(estimate)}</span>${intervalWords(change)}
      <strong class="${kind}">${sign(word)}${word}</strong></span
    >
  </div>`;
}

/** Ends that are beyond the picture are arrows. @param {{place: number, isCut: boolean}} low @param {{place: number, isCut: boolean}} high */
function whisker(low, high) {
  const middle = HEIGHT / 2;
  return html`<line x1="${low.place}%" x2="${high.place}%" y1="${middle}" y2="${middle}" />${[
      { ...low, arrow: 'M9 7 L2 13 L9 19' },
      { ...high, arrow: 'M-9 7 L-2 13 L-9 19' },
    ].map(({ place, isCut, arrow }) =>
      isCut
        ? html`<svg x="${place}%" overflow="visible"><path d="${arrow}" /></svg>`
        : html`<line x1="${place}%" x2="${place}%" y1="${middle - 5}" y2="${middle + 5}" />`,
    )}`;
}

/** A factor of two up is as long as a factor of two down. @param {readonly ComparedMetric[]} metrics */
function scaleOf(metrics) {
  const log = (/** @type {number | null} */ fraction) => (fraction === null ? 0 : Math.abs(Math.log1p(fraction)));
  const [primary] = metrics;
  const points = Math.max(
    0.01,
    log(primary.change.low),
    log(primary.change.high),
    ...metrics.map(({ change }) => log(change.estimate)),
  );
  const ends = metrics.flatMap(({ change: { low, high } }) => [log(low), log(high)]);
  const half = 1.1 * Math.min(Math.max(points, ...ends), WIDEST * points);
  /** In percent of the width. @param {number | null} fraction @param {'low' | 'high'} end what null is: without a bound */
  const placeOf = (fraction, end) => {
    const at = fraction === null ? (end === 'low' ? -Infinity : Infinity) : Math.log1p(fraction) / half;
    return { place: round(50 + 50 * Math.min(1, Math.max(-1, at))), isCut: Math.abs(at) > 1 };
  };
  return {
    placeOf,
    ticks: ticksOf(half).map((tick) => ({ place: placeOf(tick / 100, 'low').place, text: tickText(tick) })),
  };
}

const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 50, 100, 200, 400, 900, 1900, 4900, 9900];
/** Ticks are at least so much of half of the width apart. */
const APART = 0.3;

/** @param {number} half of the width, as a logarithm @returns {number[]} percent, ascending */
function ticksOf(half) {
  /** @param {number[]} candidates away from 0 */
  const spaced = (candidates) => {
    let last = 0;
    return candidates.filter((tick) => {
      const at = Math.abs(Math.log1p(tick / 100)) / half;
      if (at > 0.95 || at - last < APART) return false;
      last = at;
      return true;
    });
  };
  const down = spaced(
    STEPS.filter((step) => step <= 50)
      .map((step) => -step)
      .concat([-75, -90, -95, -99]),
  );
  return [...down.reverse(), 0, ...spaced(STEPS)];
}

/** @param {number} tick */
function tickText(tick) {
  return `${tick > 0 ? '+' : tick < 0 ? '−' : ''}${Math.abs(tick)} %`;
}

/** @param {number} place */
function anchorOf(place) {
  return place < 8 ? 'start' : place > 92 ? 'end' : 'middle';
}

/** @param {string} word @returns {'good' | 'bad' | 'quiet'} */
export function kindOf(word) {
  return word === 'faster' ? 'good' : word === 'slower' ? 'bad' : 'quiet';
}

/** @param {string} word */
export function sign(word) {
  return { faster: '✓ ', slower: '✗ ' }[word] ?? '';
}

const oneDecimal = new Intl.NumberFormat('en-US', {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
  signDisplay: 'exceptZero',
});
const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0, signDisplay: 'exceptZero' });

/** As on the terminal. @param {number | null} fraction */
export function percent(fraction) {
  if (fraction === null) return '–';
  return `${(Math.abs(fraction) < 1 ? oneDecimal : whole).format(100 * fraction).replace('-', '−')} %`;
}

/** @param {ComparedMetric['change']} change */
export function intervalWords({ low, high }) {
  return low === null || high === null ? ' (no bounds)' : ` (${percent(low)} to ${percent(high)})`;
}

/** @param {number} place */
function round(place) {
  return Math.round(100 * place) / 100;
}
