/// <reference lib="dom" />
import { color } from './colors.js';
import { align, drawOver, pathData, stack } from './shapes.js';
import { bucketMs, heatTicks } from './buckets.js';
import { drawHeat, drawHeatLegend, heatWords } from './heat.js';
import { drawMarks, intervalWords, markWords, shadePhases } from './time-marks.js';
import { clockTime, quantity } from './quantity.js';

/**
 * @import { Chart, Heat, TimeAxis } from '../charts.js'
 * @import uPlot from 'uplot'
 */

/**
 * One chart, drawn by uPlot, which is a global of the page.
 *
 * @typedef {uPlot} uPlot
 */

/** Tick distances of a time axis, in seconds. */
const TIME_STEPS = [
  ...[0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800],
  ...[3600, 7200, 10_800, 21_600, 43_200, 86_400],
];

const HEIGHT = 190;
const HEAT_HEIGHT = 240;

export class Plot {
  /** @param {Chart} chart @param {TimeAxis | null} time the shared axis, if any @param {() => void} onRange called when the visible part changes */
  constructor(chart, time, onRange) {
    this.chart = chart;
    this.time = chart.x === undefined && chart.series.every(({ x }) => x === undefined) ? time : null;
    this.onRange = onRange;
    this.element = /** @type {HTMLElement} */ (document.getElementById(`plot-${chart.id}`));
    this.readout = document.getElementById(`readout-${chart.id}`);
    const constructor = /** @type {any} */ (globalThis).uPlot;
    /** @type {uPlot} */
    this.uplot = new constructor(this.#options(), this.data(), this.element);
    // Screen readers read the readout of the focused chart only.
    this.element.addEventListener('focus', () => this.readout?.setAttribute('aria-live', 'polite'));
    this.element.addEventListener('blur', () => this.readout?.setAttribute('aria-live', 'off'));
    this.readout?.setAttribute('aria-live', 'off');
  }

  /** The data for uPlot: ascending x, then one list per series. @returns {any} */
  data() {
    const { chart, time } = this;
    if (chart.kind === 'path') return pathData(chart).data;
    if (time === null) return align(chart);
    const x = time.from.map((from, i) => (from + time.to[i]) / 2);
    if (chart.kind === 'heat') return [x, x.map(() => null)];
    const values = chart.series.map((series) => series.values);
    return [x, ...(chart.kind === 'stacked' ? stack(values) : values)];
  }

  /** @returns {any} */
  #options() {
    const { chart, time } = this;
    const isTimed = time !== null;
    return {
      width: this.element.clientWidth || 600,
      height: chart.kind === 'heat' ? HEAT_HEIGHT : HEIGHT,
      padding: [14, 26, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: isTimed, y: false, setScale: isTimed },
        ...(isTimed ? { sync: { key: 'time', scales: ['x', null] } } : {}),
        points: { size: 7 },
      },
      scales: { x: { time: false, range: isTimed ? this.#timeRange : padded }, y: this.#yScale() },
      axes: [this.#xAxis(), this.#yAxis()],
      series: [{}, ...this.#series()],
      hooks: {
        drawClear: [(/** @type {uPlot} */ u) => time !== null && shadePhases(u, time)],
        draw: [(/** @type {uPlot} */ u) => this.#draw(u)],
        setCursor: [(/** @type {uPlot} */ u) => this.#read(u)],
        setScale: [(/** @type {uPlot} */ _, /** @type {string} */ key) => key === 'x' && isTimed && this.onRange()],
      },
    };
  }

  /** The whole range is from the start of the first interval to the end of the last one. */
  #timeRange = (/** @type {uPlot} */ u, /** @type {number} */ min, /** @type {number} */ max) => {
    const [xs] = u.data;
    const isAll = this.time !== null && min === xs[0] && max === xs.at(-1);
    return isAll ? wholeOf(this.time) : [min, max];
  };

  #yScale() {
    const { chart } = this;
    const { heat } = chart;
    if (heat !== undefined) return { range: () => heatRange(heat) };
    if (chart.isLog) return { distr: 3 };
    return {
      range: (/** @type {uPlot} */ _, /** @type {number | null} */ __, /** @type {number | null} */ max) => [
        chart.floor ?? 0,
        Math.max(max ?? 0, ...this.#tops(), chart.ceiling ?? 0) * (chart.floor === undefined ? 1.06 : 1) || 1,
      ],
    };
  }

  /** Ends of intervals, for the scale. */
  #tops() {
    return this.chart.series.flatMap(({ high = [] }) => high).map((value) => value ?? 0);
  }

  #xAxis() {
    const { x = [], xUnit = 'plain', xLabel, xTexts } = this.chart;
    const ticks = this.chart.xTicks ?? (xTexts === undefined ? null : zip(x, xTexts));
    const show = this.time === null ? (/** @type {number} */ x) => quantity(x, xUnit) : clockTime;
    return {
      ...axisLook(),
      size: xLabel === undefined ? 32 : 48,
      ...(this.time === null ? {} : { incrs: TIME_STEPS }),
      ...(xLabel === undefined ? {} : { label: xLabel, labelSize: 18, labelFont: '12px system-ui, sans-serif' }),
      space: 70,
      values: (/** @type {uPlot} */ _, /** @type {number[]} */ splits) => splits.map((at) => show(at)),
      ...(ticks === null ? {} : named(ticks)),
    };
  }

  #yAxis() {
    const { heat, unit } = this.chart;
    const look = { ...axisLook(), size: 66 };
    if (heat !== undefined) {
      return {
        ...look,
        splits: () => heatTicks(heat),
        values: (/** @type {uPlot} */ _, /** @type {number[]} */ splits) =>
          splits.map((bucket) => quantity(bucketMs(bucket, heat), 'ms')),
      };
    }
    const values = (/** @type {uPlot} */ _, /** @type {Array<number | null>} */ splits) =>
      splits.map((y) => (y === null ? '' : quantity(y, unit)));
    return { ...look, values };
  }

  #series() {
    const { kind, series } = this.chart;
    if (kind === 'heat') return [{ paths: () => null, points: { show: false } }];
    if (kind === 'path') return [{ paths: () => null, points: { show: false } }];
    const all = series.map(({ color: number, dash }) => ({
      stroke: () => color(`c${number}`),
      width: kind === 'points' ? 0 : 1.75,
      dash: dash ?? [],
      spanGaps: this.time === null,
      ...(kind === 'stacked' ? { fill: () => color(`f${number}`) } : {}),
      // A single value between gaps needs a point.
      points: { show: kind !== 'points' && (this.time === null || series[0].values.length < 60), size: 4 },
    }));
    return kind === 'stacked' ? all.reverse() : all;
  }

  /** @param {uPlot} u */
  #draw(u) {
    const { chart, time } = this;
    if (chart.heat !== undefined && time !== null) drawHeatLegend(chart.id, drawHeat(u, chart.heat, time));
    else drawOver(u, chart);
    if (time !== null) drawMarks(u, time);
  }

  /** Shows the values under the cursor. @param {uPlot} u */
  #read(u) {
    const i = u.cursor.idx;
    if (this.readout === null) return;
    this.readout.textContent = i === null || i === undefined || (u.cursor.left ?? -1) < 0 ? '' : this.words(i, u);
  }

  /** @param {number} i @param {uPlot} [u] */
  words(i, u) {
    const { chart, time } = this;
    if (chart.heat !== undefined && time !== null) {
      const top = u?.cursor.top ?? -1;
      const isOver = u !== undefined && top >= 0 && this.element.matches(':hover');
      const at = isOver ? u.posToVal(top, 'y') : null;
      return `${intervalWords(time, i)}: ${[heatWords(chart.heat, i, at), ...markWords(time, i)].join(', ')}`;
    }
    const show = (/** @type {number | null | undefined} */ value) => quantity(value, chart.unit);
    if (time !== null) {
      const values = chart.series.map(({ label, values }) => `${label} ${show(values[i])}`);
      return `${intervalWords(time, i)}: ${[...values, ...markWords(time, i)].join(', ')}`;
    }
    const [xs, ...lists] = this.data();
    const x = chart.xTexts?.[i] ?? quantity(xs[i], chart.xUnit ?? 'plain');
    if (chart.kind === 'path') return `${pathData(chart).names[i]}: ${chart.xLabel ?? 'x'} ${x}, ${show(lists[0][i])}`;
    const values = chart.series.flatMap(({ label }, s) =>
      lists[s][i] == null ? [] : [`${label} ${show(lists[s][i])}`],
    );
    return `${chart.xLabel ?? 'x'} ${x}: ${values.join(', ')}`;
  }

  resize(width = this.element.clientWidth) {
    if (width > 0 && width !== this.uplot.width) this.uplot.setSize({ width, height: this.uplot.height });
  }

  /** Without a cursor it starts in the middle of the visible part. @param {number} step */
  move(step) {
    const [xs] = this.uplot.data;
    const { min = 0, max = 0 } = this.uplot.scales.x;
    const at = this.uplot.cursor.idx ?? xs.findIndex((x) => x >= (min + max) / 2);
    this.moveTo(at + step);
  }

  /** Reads a value. @param {number} index */
  moveTo(index) {
    const [xs] = this.uplot.data;
    const i = Math.min(xs.length - 1, Math.max(0, index));
    const left = this.uplot.valToPos(xs[i], 'x');
    /** @type {any} */ (this.uplot).setCursor({ left, top: this.uplot.over.clientHeight / 2 }, true, true);
  }
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

/** @param {number[]} xs @param {string[]} texts @returns {Array<[number, string]>} */
function zip(xs, texts) {
  return xs.map((x, i) => [x, texts[i]]);
}

/** Named ticks, as many as fit. @param {Array<[number, string]>} ticks */
function named(ticks) {
  const texts = new Map(ticks);
  return {
    splits: (/** @type {uPlot} */ u) => {
      let edge = -Infinity;
      return ticks.flatMap(([x, text]) => {
        const [at, half] = [u.valToPos(x, 'x'), 3.5 * text.length + 4];
        if (at - half < edge) return [];
        edge = at + half;
        return [x];
      });
    },
    values: (/** @type {uPlot} */ _, /** @type {number[]} */ splits) => splits.map((x) => texts.get(x) ?? ''),
  };
}

/** Space beside the outermost points. @param {uPlot} _ @param {number} min @param {number} max @returns {[number, number]} */
function padded(_, min, max) {
  const room = (max - min || Math.abs(max) || 1) * 0.04;
  return [min - room, max + room];
}

/** At least a third of a factor of ten. @param {Heat} heat @returns {[number, number]} */
function heatRange({ perDecade, first, last }) {
  const room = Math.max(1, (perDecade / 3 - (last - first)) / 2);
  return [first - room, last + 1 + room];
}
