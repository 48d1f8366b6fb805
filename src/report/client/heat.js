/// <reference lib="dom" />
import { bucketAt, bucketMs, countsOf } from './buckets.js';
import { heatColors } from './colors.js';
import { digits, quantity } from '../../quantity.js';

/**
 * @import { Heat, TimeAxis } from '../charts.js'
 * @import uPlot from 'uplot'
 */

/**
 * The heat map of latencies. It draws on a uPlot plot, so that it shares axes, cursor and zoom with the other charts.
 */

/** A shorter interval could be denser than any other by chance. */
const MIN_SECONDS = 0.1;

/**
 * Colours show the logarithm of operations per second, so that columns of different lengths can be compared.
 * @param {uPlot} plot
 * @param {Heat} heat
 * @param {TimeAxis} time
 */
export function drawHeat(plot, heat, time) {
  const { ctx, bbox } = plot;
  const { min = 0, max = Infinity } = plot.scales.x;
  const columns = heat.columns
    .map((column, i) => ({ counts: countsOf(column), from: time.from[i], to: time.to[i] }))
    .filter(({ from, to }) => to > from && to > min && from < max);
  const long = columns.filter(({ from, to }) => to - from >= MIN_SECONDS);
  const rates = (long.length > 0 ? long : columns).flatMap(({ counts, from, to }) =>
    [...counts.values()].map((count) => count / (to - from)),
  );
  const [low, high] = rates.reduce(([a, b], rate) => [Math.min(a, rate), Math.max(b, rate)], [Infinity, 0]);
  const span = Math.log(high / low) || 1;
  const colorOf = heatColors();
  const steps = Array.from({ length: 32 }, (_, i) => colorOf(i / 31));
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const { counts, from, to } of columns) {
    const [left, right] = [from, to].map((seconds) => plot.valToPos(seconds, 'x', true));
    const width = Math.max(1, Math.ceil(right) - Math.floor(left));
    for (const [bucket, count] of counts) {
      const part = high > low ? Math.min(1, Math.max(0, Math.log(count / (to - from) / low) / span)) : 1;
      const [bottom, top] = [bucket, bucket + 1].map((edge) => plot.valToPos(bucketMs(edge, heat), 'y', true));
      ctx.fillStyle = steps[Math.round(part * 31)];
      ctx.fillRect(Math.floor(left), Math.floor(top), width, Math.max(1, Math.ceil(bottom) - Math.floor(top)));
    }
  }
  ctx.restore();
  return { low, high };
}

/** @param {string} id @param {{low: number, high: number}} rates */
export function drawHeatScale(id, { low, high }) {
  const scale = document.getElementById(`scale-${id}`);
  const canvas = scale?.querySelector('canvas');
  const context = canvas?.getContext('2d');
  if (!scale || !canvas || !context) return;
  const colorOf = heatColors();
  for (let x = 0; x < canvas.width; x += 1) {
    context.fillStyle = colorOf(x / (canvas.width - 1));
    context.fillRect(x, 0, 1, canvas.height);
  }
  const [few, many] = scale.querySelectorAll('span');
  few.textContent = high === 0 ? 'no operations' : `${digits(low)}`;
  many.textContent = high === 0 ? '' : `${digits(high)} operations per second in a cell, on a logarithmic scale`;
}

/** @param {Heat} heat @param {number} i @param {number | null} atMs the latency under the pointer */
export function heatWords(heat, i, atMs) {
  const counts = countsOf(heat.columns[i] ?? []);
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const [most] = [...counts].sort((a, b) => b[1] - a[1]);
  if (most === undefined) return 'no operations';
  const at = atMs === null ? null : bucketAt(atMs, heat);
  const [bucket, count] = at === null ? most : [at, counts.get(at) ?? 0];
  const [from, to] = [bucket, bucket + 1].map((edge) => quantity(bucketMs(edge, heat), 'ms'));
  return `${digits(count)} of ${digits(all)} operations took ${from} to ${to}${at === null ? ', more than any other time' : ''}`;
}
