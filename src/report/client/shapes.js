/// <reference lib="dom" />
import { color } from './colors.js';

/**
 * @import { Chart, Series, TimeAxis } from '../charts.js'
 * @import uPlot from 'uplot'
 */

/**
 * Drawings that uPlot does not have: stacked areas, levels of intervals, intervals around points, paths that go back.
 *
 * @typedef {uPlot} uPlot
 * @typedef {{x: number, y: number, name?: string, isCrossed: boolean}} Point on the screen
 */

/** Sums from below, largest first, so that smaller areas are drawn over larger ones. @param {Array<Array<number | null>>} lists */
export function stack(lists) {
  /** @type {Array<Array<number | null>>} */
  const sums = [];
  for (const list of lists) {
    const below = sums[0];
    sums.unshift(list.map((value, i) => (value === null ? null : value + (below?.[i] ?? 0))));
  }
  return sums;
}

/** @param {Chart} chart @param {Series} series */
function xOf(chart, series) {
  return series.x ?? chart.x ?? [];
}

/**
 * The columns of a plot: their ascending x, and of each series the index of its point there. Series with an x of their own
 * have a column for each point, because a path may go back, and several points may have one x.
 * @param {Chart} chart
 * @param {TimeAxis | null} time
 * @returns {{xs: number[], places: Array<Array<number | undefined>>}}
 */
export function columnsOf(chart, time) {
  const { series, kind } = chart;
  if (time !== null) {
    const xs = time.from.map((from, i) => (from + time.to[i]) / 2);
    return { xs, places: series.map(() => xs.map((_, i) => i)) };
  }
  const points = series.flatMap((one, s) => xOf(chart, one).map((x, i) => ({ x, s, i }))).sort((a, b) => a.x - b.x);
  if (kind === 'path' || chart.x === undefined)
    return {
      xs: points.map(({ x }) => x),
      places: series.map((_, at) => points.map(({ s, i }) => (s === at ? i : undefined))),
    };
  const xs = [...new Set(points.map(({ x }) => x))];
  const places = series.map((one) => {
    const at = new Map(xOf(chart, one).map((x, i) => [x, i]));
    return xs.map((x) => at.get(x));
  });
  return { xs, places };
}

/**
 * Lines of values that were measured over intervals. A line is level over each interval: a slope between two intervals
 * would show values that were not measured.
 * @param {TimeAxis} time
 */
export function levels({ from, to }) {
  return (/** @type {uPlot} */ u, /** @type {number} */ s, /** @type {number} */ first, /** @type {number} */ last) => {
    const stroke = new Path2D();
    let isOpen = false;
    for (let i = first; i <= last; i += 1) {
      const value = u.data[s][i] ?? null;
      if (value !== null) {
        const [left, right] = [from[i], to[i]].map((seconds) => u.valToPos(seconds, 'x', true));
        const y = u.valToPos(value, 'y', true);
        if (isOpen) stroke.lineTo(left, y);
        else stroke.moveTo(left, y);
        stroke.lineTo(right, y);
      }
      isOpen = value !== null;
    }
    return { stroke, fill: null, clip: null, band: null, gaps: null, flags: 0 };
  };
}

/** An interval of x, and a line in it. @param {uPlot} u @param {NonNullable<Chart['band']>} band */
export function drawBand(u, { low, at, high }) {
  const { ctx, bbox } = u;
  const [left, middle, right] = [low, at, high].map((x) => u.valToPos(x, 'x', true));
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.fillStyle = color('shade');
  // A sharp interval must be visible as well.
  const width = Math.max(right - left, 4 * devicePixelRatio);
  ctx.fillRect((left + right - width) / 2, bbox.top, width, bbox.height);
  ctx.strokeStyle = color('c0');
  ctx.lineWidth = 1.75 * devicePixelRatio;
  strokeLine(ctx, [middle, bbox.top], [middle, bbox.top + bbox.height]);
  ctx.restore();
}

/** @param {CanvasRenderingContext2D} ctx @param {number[][]} points x and y */
export function strokeLine(ctx, ...points) {
  ctx.beginPath();
  for (const [x, y] of points) ctx.lineTo(x, y);
  ctx.stroke();
}

/** @param {uPlot} u @param {Chart} chart */
export function drawOver(u, chart) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, 0, bbox.width, bbox.top + bbox.height);
  ctx.clip();
  ctx.lineWidth = 1.75 * devicePixelRatio;
  const all = chart.series.map((series) => placesOf(u, chart, series));
  for (const [i, series] of chart.series.entries()) {
    ctx.strokeStyle = color(`c${series.color}`);
    ctx.fillStyle = ctx.strokeStyle;
    const points = all[i];
    ctx.setLineDash((series.dash ?? []).map((length) => length * devicePixelRatio));
    if (chart.kind === 'path') strokeLine(ctx, ...points.map(({ x, y }) => [x, y]));
    ctx.setLineDash([]);
    drawIntervals(u, chart, series);
    if (chart.kind === 'path' || (chart.kind === 'points' && series.dash === undefined))
      drawShapes(ctx, points, i, series);
    drawCrosses(ctx, points);
  }
  drawNames(u, all.flat());
  ctx.restore();
}

/** @param {uPlot} u @param {Chart} chart @param {Series} series */
function placesOf(u, chart, series) {
  const { names, crossed } = series;
  return xOf(chart, series).flatMap((x, i) => {
    const y = series.values[i];
    if (y === null || y === undefined) return [];
    const place = { x: u.valToPos(x, 'x', true), y: u.valToPos(y, 'y', true) };
    return [{ ...place, name: names?.[i], isCrossed: crossed?.[i] === true }];
  });
}

/** Circle, square, triangle and diamond around 13, 5: paths of SVG, for the plots and their legends. */
export const SHAPES = [
  'M13 1 A4 4 0 1 1 13 9 A4 4 0 1 1 13 1 Z',
  'M9 1 H17 V9 H9 Z',
  'M13 0 L18 9 H8 Z',
  'M13 0 L18 5 L13 10 L8 5 Z',
];

/** @param {CanvasRenderingContext2D} ctx @param {Point[]} points @param {number} shape @param {Series} series */
function drawShapes(ctx, points, shape, { isHollow }) {
  const path = new Path2D(SHAPES[shape % SHAPES.length]);
  for (const { x, y } of points) {
    ctx.save();
    ctx.translate(x, y);
    ctx.scale(devicePixelRatio, devicePixelRatio);
    ctx.translate(-13, -5);
    ctx.lineWidth = 1.75;
    if (isHollow) ctx.stroke(path);
    else ctx.fill(path);
    ctx.restore();
  }
}

/** Where a name can stand: directions of x and y from its point, the best first; the place of the point itself is taken. */
const SIDES = [1, -1, 0].flatMap((right) => [-1, 1, 0].map((down) => [right, down]));

/** Beside the points, where neither a marker nor another name is, if there is such a place. @param {uPlot} u @param {Point[]} points */
function drawNames({ ctx, bbox }, points) {
  const [marker, height, gap, step] = [5, 12, 6, 8].map((length) => length * devicePixelRatio);
  const taken = points.map(({ x, y }) => ({ x, y, half: marker }));
  ctx.save();
  ctx.textAlign = 'center';
  ctx.textBaseline = 'middle';
  ctx.fillStyle = color('ink');
  ctx.strokeStyle = color('back');
  ctx.lineWidth = 3 * devicePixelRatio;
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  for (const { x, y, name = '' } of points) {
    const half = ctx.measureText(name).width / 2;
    const place = SIDES.map(([right, down]) => ({
      x: x + right * (gap + half),
      y: y + down * (right === 0 ? height : step),
      half,
    })).find(
      (one) =>
        Math.abs(one.x - bbox.left - bbox.width / 2) <= bbox.width / 2 - half &&
        one.y >= height / 2 &&
        one.y <= bbox.top + bbox.height - height / 2 &&
        taken.every((other) => Math.abs(other.x - one.x) >= other.half + half || Math.abs(other.y - one.y) >= height),
    );
    if (place === undefined) continue;
    taken.push(place);
    // Lines behind it are hidden.
    ctx.strokeText(name, place.x, place.y);
    ctx.fillText(name, place.x, place.y);
  }
  ctx.restore();
}

/** @param {CanvasRenderingContext2D} ctx @param {Point[]} points */
function drawCrosses(ctx, points) {
  const size = 5 * devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = color('bad');
  ctx.lineWidth = 2 * devicePixelRatio;
  for (const { x, y } of points.filter(({ isCrossed }) => isCrossed))
    for (const up of [size, -size]) strokeLine(ctx, [x - size, y - up], [x + size, y + up]);
  ctx.restore();
}

/** @param {uPlot} u @param {Chart} chart @param {Series} series */
function drawIntervals(u, chart, series) {
  const { ctx } = u;
  const cap = 4 * devicePixelRatio;
  xOf(chart, series).forEach((at, i) => {
    const [low, high] = [series.low?.[i] ?? null, series.high?.[i] ?? null];
    if (low === null || high === null) return;
    const [x, bottom, top] = [u.valToPos(at, 'x', true), u.valToPos(low, 'y', true), u.valToPos(high, 'y', true)];
    strokeLine(ctx, [x, bottom], [x, top]);
    for (const y of [bottom, top]) strokeLine(ctx, [x - cap, y], [x + cap, y]);
  });
}
