/// <reference lib="dom" />
import { color } from './colors.js';
import { clockTime } from '../../quantity.js';

/**
 * @import { TimeAxis } from '../charts.js'
 * @import uPlot from 'uplot'
 */

/** The time axis of charts: the names of its intervals, and phases outside of the window. */

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

/** @param {TimeAxis} time @param {number} i */
export function intervalWords({ from, to }, i) {
  return `${clockTime(from[i])} to ${clockTime(to[i])}`;
}
