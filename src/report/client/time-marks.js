/// <reference lib="dom" />
import { color } from './colors.js';
import { strokeLine } from './shapes.js';
import { clockTime } from '../../quantity.js';

/**
 * @import { TimeAxis } from '../charts.js'
 * @import uPlot from 'uplot'
 */

/** The time axis of charts: the names of its intervals, and phases outside of the window. */

/** Shades phases outside of the window, and marks events. @param {uPlot} plot @param {TimeAxis} time @param {boolean} isNamed */
export function drawTimes(plot, { phases, marks }, isNamed) {
  const { ctx, bbox } = plot;
  const right = bbox.left + bbox.width;
  const at = (/** @type {number} */ seconds) => plot.valToPos(seconds, 'x', true);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, 0, bbox.width, bbox.top + bbox.height);
  ctx.clip();
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'alphabetic';
  ctx.fillStyle = color('shade');
  for (const { from, to } of phases) ctx.fillRect(at(from), bbox.top, at(to) - at(from), bbox.height);
  ctx.strokeStyle = color('bad');
  ctx.fillStyle = color('bad');
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
  /** @type {Array<{left: number, right: number}>} */
  const taken = [];
  for (const { at: seconds, name } of marks) {
    const x = at(seconds);
    strokeLine(ctx, [x, bbox.top], [x, bbox.top + bbox.height]);
    if (isNamed) drawName(plot, name, x, right, taken);
  }
  ctx.fillStyle = color('quiet');
  for (const { from, to, name } of isNamed ? phases : [])
    drawName(plot, name, Math.max(at(from), bbox.left), at(to), taken);
  ctx.restore();
}

/**
 * Above the plot, where no line hides it, if it fits and no other name is there.
 * @param {uPlot} plot
 * @param {string} name
 * @param {number} from
 * @param {number} to
 * @param {Array<{left: number, right: number}>} taken places of other names
 */
function drawName({ ctx, bbox }, name, from, to, taken) {
  const gap = 4 * devicePixelRatio;
  const left = from + gap;
  const right = left + ctx.measureText(name).width;
  if (right > to || taken.some((one) => one.left < right + gap && one.right > left - gap)) return;
  taken.push({ left, right });
  ctx.fillText(name, left, bbox.top - 3 * devicePixelRatio);
}

/** @param {TimeAxis} time @param {number} i */
export function intervalWords({ from, to }, i) {
  return `${clockTime(from[i])} to ${clockTime(to[i])}`;
}
