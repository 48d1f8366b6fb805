import { percentText } from './compare-words.js';
import { digits, metricOf } from './metrics.js';

/**
 * @import { Growth } from './growth.js'
 * @import { Fit, TrendFits } from './trend.js'
 */

/**
 * @typedef {TrendFits & Growth} Line
 *
 * @param {string} over
 * @param {Line} line
 * @returns {string} what is shown to grow: what was not there before comes first
 */
export function trendWords(over, line) {
  return [
    ...line.fromNothing.map((name) => nothingWords(name, over, line)),
    stageWords(over, line),
    costWords(over, line),
  ]
    .filter((words) => words !== '')
    .join('; ');
}

/** @param {string} name @param {string} over @param {Line} line */
function nothingWords(name, over, line) {
  const { label, medians } = fitOf(name, line);
  const last = medians[medians.length - 1];
  // Where few of the repeats have any, their median has none.
  if (last === 0) return `${label} grows from 0, by ${slopeText(fitOf(name, line), line)} of ${over}`;
  return `${label} grows from 0 to ${metricOf(name).show(last)} from ${over} ${endsText(line)}`;
}

/** @param {string} over @param {Line} line */
function stageWords(over, line) {
  if (line.fastestStage === null) return `no part of the latency is shown to grow with ${over}`;
  const fit = fitOf(line.fastestStage, line);
  const slope = `by ${slopeText(fit, line)} of ${over} (95 % interval ${intervalText(fit, line)})`;
  if (line.rivals.length === 0) return `of the parts of the latency ${fit.label} grows fastest, ${slope}`;
  const rivals = line.rivals.map((name) => fitOf(name, line).label).join(', ');
  return `of the parts of the latency ${fit.label} has the steepest slope found, ${slope}; it cannot be told apart from that of ${rivals}`;
}

/** @param {string} over @param {Line} line */
function costWords(over, line) {
  if (line.fastest === null) return line.fromNothing.length > 0 ? '' : 'no other cost is shown to grow';
  const { label, growth } = fitOf(line.fastest, line);
  return `of what is shown to grow ${label} has the largest growth found, ${percentText(growth)} from ${over} ${endsText(line)}`;
}

/** @param {string} name @param {Line} line */
function fitOf(name, { metrics }) {
  return /** @type {Fit} */ (metrics.find((fit) => fit.name === name));
}

/** @param {Line} line */
function endsText({ values }) {
  return `${digits(values[0])} to ${digits(values[values.length - 1])}`;
}

/** Of the slope, for a step as in the table. @param {Fit} fit @param {{step: number | null}} line */
export function intervalText({ name, slopeLow, slopeHigh }, { step }) {
  const [low, high] = [slopeLow, slopeHigh].map((value) => metricOf(name).show(value * (step ?? 1)));
  return `${low} .. ${high}`;
}

/** For a step where all are alike, or else for one more. @param {Fit} fit @param {{step: number | null}} line */
export function slopeText({ name, slope, perStep }, { step }) {
  return `${metricOf(name).show(perStep ?? slope)} per ${step === null ? '1' : `step of ${digits(step)}`}`;
}
