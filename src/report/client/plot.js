/// <reference lib="dom" />
import { color } from './colors.js';
import { SHAPES, columnsOf, drawBand, drawOver, levels, stack } from './shapes.js';
import { axisOf, logRange } from './axes.js';
import { heatRange } from './buckets.js';
import { drawHeat, drawHeatScale, heatWords } from './heat.js';
import { intervalWords, drawTimes } from './time-marks.js';
import { quantity } from '../../quantity.js';

/**
 * @import { Chart, Series, TimeAxis } from '../charts.js'
 * @import uPlot from 'uplot'
 */

/**
 * One chart, drawn by uPlot, which is a global of the page.
 *
 * @typedef {uPlot} uPlot
 */

const LABEL = { labelSize: 18, labelFont: '12px system-ui, sans-serif' };

const HEIGHT = 190;
const HEAT_HEIGHT = 240;

/** Heights of panels, which are lower on a phone so that both are seen at once. */
const PANEL_HEIGHTS = { upper: 140, lower: 160 };
const PHONE_WIDTH = 500;
const PHONE_PART = 0.75;

export class Plot {
  /** @param {Chart} chart @param {TimeAxis | null} time the shared axis, if any @param {() => void} onRange called when the visible part changes */
  constructor(chart, time, onRange) {
    this.chart = chart;
    this.whole = wholeOf(time);
    this.time = chart.x === undefined && chart.series.every(({ x }) => x === undefined) ? (chart.time ?? time) : null;
    this.onRange = onRange;
    this.element = /** @type {HTMLElement} */ (document.getElementById(`plot-${chart.id}`));
    this.columns = columnsOf(chart, this.time);
    const constructor = /** @type {any} */ (globalThis).uPlot;
    /** @type {uPlot} */
    this.uplot = new constructor(this.#options(), this.#data(), this.element);
    // Screen readers read the legend of the focused chart only, and all of it.
    const legend = this.element.querySelector('.u-legend');
    legend?.setAttribute('aria-atomic', 'true');
    this.element.addEventListener('focus', () => legend?.setAttribute('aria-live', 'polite'));
    this.element.addEventListener('blur', () => legend?.setAttribute('aria-live', 'off'));
  }

  /** For uPlot: ascending x, then one list per series. @returns {any} */
  #data() {
    const { series, kind } = this.chart;
    const { xs, places } = this.columns;
    if (kind === 'heat') return [xs, xs.map(() => null)];
    const lists = places.map((at, s) => at.map((i) => (i === undefined ? null : (series[s].values[i] ?? null))));
    return [xs, ...(kind === 'stacked' ? stack(lists) : lists)];
  }

  /** @returns {any} */
  #options() {
    const { chart, time } = this;
    const isTimed = time !== null;
    return {
      width: this.element.clientWidth || 600,
      height: this.#height(this.element.clientWidth),
      padding: [chart.panel === 'lower' ? 6 : 14, 26, 0, 0],
      // The labels have the markers, in colours that follow the theme.
      legend: { markers: { show: false, stroke: '', fill: '' } },
      cursor: {
        y: false,
        drag: { x: isTimed, y: false, setScale: isTimed },
        ...(isTimed ? { sync: { key: 'time', scales: ['x', null] } } : {}),
        points: { size: 7 },
      },
      scales: {
        x: { time: false, range: isTimed ? this.#timeRange : xRange(chart), distr: chart.isLogX ? 3 : 1 },
        y: { range: this.#yRange, distr: chart.isLog || chart.kind === 'heat' ? 3 : 1 },
      },
      axes: [this.#xAxis(), this.#yAxis()],
      series: [{ label: chart.xLabel ?? 'interval', value: shown((column) => this.at(column)) }, ...this.#series()],
      hooks: {
        drawClear: [
          (/** @type {uPlot} */ u) => time !== null && drawTimes(u, time, chart.panel !== 'lower'),
          (/** @type {uPlot} */ u) => chart.band !== undefined && drawBand(u, chart.band),
        ],
        draw: [(/** @type {uPlot} */ u) => this.#draw(u)],
        // The words of a heat map depend on the height of the pointer as well.
        setCursor: [
          (/** @type {uPlot} */ u) => chart.kind === 'heat' && u.setLegend({ idx: u.cursor.idx ?? undefined }),
        ],
        setScale: [(/** @type {uPlot} */ _, /** @type {string} */ key) => key === 'x' && isTimed && this.onRange()],
      },
    };
  }

  /** @param {number} width */
  #height(width) {
    const { kind, panel } = this.chart;
    if (panel !== undefined) return PANEL_HEIGHTS[panel] * (width > 0 && width < PHONE_WIDTH ? PHONE_PART : 1);
    return kind === 'heat' ? HEAT_HEIGHT : HEIGHT;
  }

  /** The whole range is that of the shared axis, so that no chart zooms the others. */
  #timeRange = (/** @type {uPlot} */ u, /** @type {number} */ min, /** @type {number} */ max) => {
    const [xs] = u.data;
    const isAll = this.time !== null && min === xs[0] && max === xs.at(-1);
    return isAll ? this.whole : [min, max];
  };

  /** The range of the visible values. Those of the drain may leave it: the few operations that end there are no trend. */
  #yRange = (/** @type {uPlot} */ u, /** @type {number | null} */ min, /** @type {number | null} */ max) => {
    const { heat, series, isLog, kind } = this.chart;
    if (heat !== undefined) return heatRange(heat);
    const [from, to] = u.series[0].idxs ?? [0, -1];
    const drains = this.time?.phases.filter(({ name }) => name === 'drain') ?? [];
    const isShown = (/** @type {number} */ i) =>
      i >= from && i <= to && !drains.some((phase) => u.data[0][i] > phase.from && u.data[0][i] < phase.to);
    const drawn = u.data.slice(1).flatMap((list) => [...list].filter((_, i) => isShown(i)));
    const all = [...drawn, ...series.flatMap(({ low = [], high = [] }) => [...low, ...high])];
    const [least, most] = all.reduce(
      ([low, high], y) => [y ? Math.min(low, y) : low, Math.max(high, y ?? 0)],
      [Infinity, 0],
    );
    if (isLog) return most > 0 ? logRange(least, most) : logRange(min || 1, max || 10);
    // Markers and names need more room than lines.
    return [0, (most || (max ?? 0)) * (kind === 'path' || kind === 'points' ? 1.15 : 1.06) || 1];
  };

  #xAxis() {
    const { isLogX, panel, xUnit, xLabel, xTicks } = this.chart;
    const kind = this.time !== null ? 'time' : isLogX ? 'log' : 'linear';
    return {
      ...axisLook(),
      ...axisOf('x', kind, xUnit, xTicks),
      ...(panel === 'upper' ? { size: 8, values: () => [] } : {}),
      label: xLabel && `${xLabel}${isLogX ? ' (logarithmic)' : ''}`,
      ...LABEL,
    };
  }

  #yAxis() {
    const { kind, isLog, unit } = this.chart;
    const isHeat = kind === 'heat';
    return { ...axisLook(), ...axisOf('y', isLog || isHeat ? 'log' : 'linear', isHeat ? 'ms' : unit) };
  }

  #series() {
    const { kind, series, isOfLevels } = this.chart;
    const none = { paths: () => null, points: { show: false } };
    if (kind === 'heat') return [{ ...none, label: 'latency', value: shown((column) => this.#heatWords(column)) }];
    const isLine = (/** @type {Series} */ { dash }) => kind !== 'points' || dash !== undefined;
    const all = series.map(({ label, color: number, dash = [], isHollow }, s) => ({
      label: labelOf(label, `var(--c${number})`, [
        ...(isLine(series[s]) ? [`<line x1="0" y1="5" x2="26" y2="5" stroke-dasharray="${dash.join(' ')}"/>`] : []),
        ...(!isLine(series[s]) || kind === 'path'
          ? [`<path d="${SHAPES[s % SHAPES.length]}" ${isHollow ? 'fill="none" stroke' : 'fill'}="currentcolor"/>`]
          : []),
      ]),
      value: shown((column) => this.text(s, column)),
      stroke: () => color(`c${number}`),
      width: isLine(series[s]) ? 1.75 : 0,
      dash,
      spanGaps: this.time === null,
      ...(kind === 'stacked' ? { fill: () => color(`f${number}`) } : {}),
      // A single value between gaps needs a point.
      points: { show: kind !== 'points' && (this.time === null || series[0].values.length < 60), size: 4 },
      ...(kind === 'path' ? none : {}),
      ...(isOfLevels && this.time !== null ? { paths: levels(this.time), points: { show: false } } : {}),
    }));
    return kind === 'stacked' ? all.reverse() : all;
  }

  /** @param {uPlot} u */
  #draw(u) {
    const { chart, time } = this;
    if (chart.heat !== undefined && time !== null) drawHeatScale(chart.id, drawHeat(u, chart.heat, time));
    else drawOver(u, chart);
  }

  /** What a column is of. @param {number} column */
  at(column) {
    const { chart, time, columns } = this;
    if (time !== null) return intervalWords(time, column);
    const names = chart.series.map((series, s) => series.names?.[columns.places[s][column] ?? -1]);
    const x = chart.xTexts?.[column] ?? quantity(columns.xs[column], chart.xUnit);
    return [x, ...names.filter((name) => name !== undefined)].join(', at ');
  }

  /** The value of a series in a column, with its interval. @param {number} s @param {number} column */
  text(s, column) {
    const { unit, series } = this.chart;
    const { values, low, high } = series[s];
    const i = this.columns.places[s][column];
    if (i === undefined || (this.time === null && values[i] === null)) return '';
    const ends = [low?.[i] ?? null, high?.[i] ?? null];
    const interval = ends.includes(null) ? '' : ` (${quantity(ends[0], unit)} to ${quantity(ends[1], unit)})`;
    return `${quantity(values[i], unit)}${interval}`;
  }

  /** @param {number} column */
  #heatWords(column) {
    const { heat } = this.chart;
    const top = this.uplot.cursor.top ?? -1;
    const isOver = top >= 0 && this.element.matches(':hover');
    return heat === undefined ? '' : heatWords(heat, column, isOver ? this.uplot.posToVal(top, 'y') : null);
  }

  resize(width = this.element.clientWidth) {
    if (width > 0 && width !== this.uplot.width) this.uplot.setSize({ width, height: this.#height(width) });
  }

  /** Reads the next value. Without a cursor it starts in the middle of the visible part. @param {number} step */
  move(step) {
    const [xs] = this.uplot.data;
    const { min = 0, max = 0 } = this.uplot.scales.x;
    const at = this.uplot.cursor.idx ?? xs.findIndex((x) => x >= (min + max) / 2);
    const i = Math.min(xs.length - 1, Math.max(0, at + step));
    const half = (max - min) / 2;
    const isHidden = xs[i] < min || xs[i] > max;
    if (isHidden) this.uplot.batch(() => this.uplot.setScale('x', { min: xs[i] - half, max: xs[i] + half }));
    const left = this.uplot.valToPos(xs[i], 'x');
    /** @type {any} */ (this.uplot).setCursor({ left, top: this.uplot.over.clientHeight / 2 }, true, true);
  }
}

/** The text of the legend for the column under the cursor. @param {(column: number) => string} text */
function shown(text) {
  return (
    /** @type {uPlot} */ _,
    /** @type {unknown} */ __,
    /** @type {number} */ ___,
    /** @type {number | null} */ i,
  ) => (i === null ? '' : text(i));
}

/** @param {string} label @param {string} ink a colour of page.css @param {string[]} marker SVG elements */
function labelOf(label, ink, marker) {
  const span = document.createElement('span');
  span.innerHTML = `<svg width="26" height="10" aria-hidden="true" color="${ink}">${marker.join('')}</svg>`;
  span.append(label);
  return span;
}

function axisLook() {
  return {
    stroke: () => color('ink'),
    font: '12px system-ui, sans-serif',
    grid: { stroke: () => color('grid'), width: 1 },
    ticks: { stroke: () => color('grid'), width: 1, size: 4 },
  };
}

/** @param {TimeAxis | null} time @returns {[number, number]} */
export function wholeOf(time) {
  const [from, to] = [time?.from[0] ?? 0, time?.to.at(-1) ?? 1];
  return [from, to > from ? to : from + 1];
}

/** Space beside the outermost points. @param {Chart} chart */
function xRange({ isLogX }) {
  return (/** @type {uPlot} */ _, /** @type {number} */ min, /** @type {number} */ max) => {
    if (isLogX) return logRange(min, max);
    const room = Math.max((max - min) * 0.04, Math.abs(max) * 0.02) || 0.04;
    return [min - room, max + room];
  };
}
