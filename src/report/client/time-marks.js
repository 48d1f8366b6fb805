/// <reference lib="dom" />
import { color } from './colors.js';
import { clockTime } from './quantity.js';

/**
 * @import { TimeAxis } from '../charts.js'
 * @import uPlot from 'uplot'
 */

/** Marks of charts over time: phases outside of the window, failures, reorgs. */

/** Shades phases outside of the window. @param {uPlot} plot @param {TimeAxis} time */
export function shadePhases(plot, { phases }) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, 0, bbox.width, bbox.top + bbox.height);
  ctx.clip();
  for (const { from, to, name } of phases) {
    const [left, right] = [plot.valToPos(from, 'x', true), plot.valToPos(to, 'x', true)];
    ctx.fillStyle = color('shade');
    ctx.fillRect(left, bbox.top, right - left, bbox.height);
    // Above the plot, where no line hides it.
    ctx.fillStyle = color('quiet');
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textAlign = 'left';
    ctx.textBaseline = 'alphabetic';
    if (ctx.measureText(name).width + 8 < right - left)
      ctx.fillText(name, Math.max(left, bbox.left) + 4 * devicePixelRatio, bbox.top - 3 * devicePixelRatio);
  }
  ctx.restore();
}

const MANY = 60;

/** Failures and reorgs at the upper edge, with different shapes. @param {uPlot} plot @param {TimeAxis} time */
export function drawMarks(plot, { marks }) {
  const { ctx, bbox } = plot;
  const places = marks.map((mark) => ({ ...mark, x: plot.valToPos(mark.at, 'x', true) }));
  const visible = places.filter(({ x }) => x >= bbox.left && x <= bbox.left + bbox.width);
  // Many marks are drawn narrow, so that they stay separate.
  const [wide, high] = [(visible.length > MANY ? 1 : 5) * devicePixelRatio, 7 * devicePixelRatio];
  const colors = { failure: color('bad'), reorg: color('c4') };
  for (const { kind, x } of visible) {
    ctx.fillStyle = colors[kind];
    ctx.beginPath();
    ctx.moveTo(x - wide, bbox.top);
    if (kind === 'reorg') ctx.lineTo(x, bbox.top - high);
    ctx.lineTo(x + wide, bbox.top);
    ctx.lineTo(x, bbox.top + high);
    ctx.fill();
  }
}

/** @param {TimeAxis} time @param {number} i */
export function markWords({ marks, from, to }, i) {
  return marks.filter(({ at }) => at >= from[i] && at <= to[i]).map(({ words }) => words);
}

/** @param {TimeAxis} time @param {number} i */
export function intervalWords({ from, to }, i) {
  return `${clockTime(from[i])} to ${clockTime(to[i])}`;
}
