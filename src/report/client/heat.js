/// <reference lib="dom" />
import { bucketMs, coarser, countsOf } from './buckets.js';
import { heatColor } from './colors.js';
import { digits, quantity } from './quantity.js';

/**
 * @import { Heat, TimeAxis } from '../charts.js'
 * @import uPlot from 'uplot'
 */

/**
 * The heat map of latencies. It draws on a uPlot plot whose y axis are bucket numbers, so that it shares axis, cursor
 * and zoom with the other charts.
 */

/** Least width and height of a cell in screen pixels; smaller ones are added up. */
const MIN_WIDTH = 2;
const MIN_HEIGHT = 7;

/** In shorter columns a rate is not meaningful. */
const MIN_SECONDS = 0.1;

/**
 * Adds up neighbours that share a column of the picture.
 * @param {Heat} heat
 * @param {TimeAxis} time
 * @param {(seconds: number) => number} toPixels
 * @param {number} factor
 * @returns {Array<{left: number, right: number, counts: Map<number, number>, seconds: number}>} visible columns
 */
function pictureColumns(heat, time, toPixels, factor) {
  const columns = [];
  for (let i = 0; i < heat.columns.length; i += 1) {
    const [left, right] = [toPixels(time.from[i]), toPixels(time.to[i])];
    const seconds = time.to[i] - time.from[i];
    const last = columns.at(-1);
    const counts = coarser(countsOf(heat.columns[i]), factor);
    if (last !== undefined && right - last.left < MIN_WIDTH * devicePixelRatio) {
      for (const [bucket, count] of counts) last.counts.set(bucket, (last.counts.get(bucket) ?? 0) + count);
      last.right = right;
      last.seconds += seconds;
    } else columns.push({ left, right, seconds, counts: new Map(counts) });
  }
  return columns;
}

/** Buckets per cell. @param {uPlot} plot @param {Heat} heat */
export function coarseness({ bbox }, { first, last }) {
  const cell = bbox.height / (last + 1 - first);
  let factor = 1;
  while (cell * factor < MIN_HEIGHT * devicePixelRatio && factor < 1024) factor *= 2;
  return factor;
}

/**
 * Colours show the logarithm of operations per second, so that columns of different lengths can be compared.
 * @param {uPlot} plot
 * @param {Heat} heat
 * @param {TimeAxis} time
 */
export function drawHeat(plot, heat, time) {
  const { ctx, bbox } = plot;
  const toPixels = (/** @type {number} */ seconds) => plot.valToPos(seconds, 'x', true);
  const [leftmost, rightmost] = [bbox.left, bbox.left + bbox.width];
  const factor = coarseness(plot, heat);
  const columns = pictureColumns(heat, time, toPixels, factor).filter(
    ({ left, right, seconds }) => seconds > 0 && right > leftmost && left < rightmost,
  );
  // A short last interval could be denser than any other by chance.
  const long = columns.filter(({ seconds }) => seconds >= MIN_SECONDS);
  const rates = (long.length > 0 ? long : columns).flatMap(({ counts, seconds }) =>
    [...counts.values()].map((count) => count / seconds),
  );
  const [low, high] = rates.reduce(([a, b], rate) => [Math.min(a, rate), Math.max(b, rate)], [Infinity, 0]);
  const span = Math.log(high / low) || 1;
  const steps = Array.from({ length: 32 }, (_, i) => heatColor(i / 31));
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const { left, right, counts, seconds } of columns) {
    for (const [bucket, count] of counts) {
      const part = high > low ? Math.min(1, Math.max(0, Math.log(count / seconds / low) / span)) : 1;
      ctx.fillStyle = steps[Math.round(part * 31)];
      const [bottom, top] = [bucket, bucket + 1].map((edge) => plot.valToPos(edge * factor, 'y', true));
      const x = Math.floor(left);
      ctx.fillRect(
        x,
        Math.floor(top),
        Math.max(1, Math.ceil(right) - x),
        Math.max(1, Math.ceil(bottom) - Math.floor(top)),
      );
    }
  }
  ctx.restore();
  return { low, high };
}

/** @param {string} id @param {{low: number, high: number}} rates */
export function drawHeatLegend(id, { low, high }) {
  const legend = document.getElementById(`legend-${id}`);
  const canvas = legend?.querySelector('canvas');
  const context = canvas?.getContext('2d');
  if (!legend || !canvas || !context) return;
  for (let x = 0; x < canvas.width; x += 1) {
    context.fillStyle = heatColor(x / (canvas.width - 1));
    context.fillRect(x, 0, 1, canvas.height);
  }
  const [few, many] = legend.querySelectorAll('span');
  few.textContent = high === 0 ? 'no operations' : `${digits(low)}`;
  many.textContent = high === 0 ? '' : `${digits(high)} operations per second in a cell, on a logarithmic scale`;
}

/**
 * @param {Heat} heat
 * @param {number} i
 * @param {number | null} at the bucket under the pointer, with a fraction
 * @param {number} factor
 */
export function heatWords(heat, i, at, factor) {
  const counts = coarser(countsOf(heat.columns[i] ?? []), factor);
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const [most] = [...counts].sort((a, b) => b[1] - a[1]);
  if (most === undefined) return 'no operations';
  const pointed = at === null ? null : Math.floor(at / factor);
  const [bucket, count] = pointed === null ? most : [pointed, counts.get(pointed) ?? 0];
  const [from, to] = [bucket, bucket + 1].map((edge) => quantity(bucketMs(edge * factor, heat), 'ms'));
  return `${digits(count)} of ${digits(all)} operations took ${from} to ${to}${at === null ? ', more than any other time' : ''}`;
}
