import { oneLine, withoutKeys } from '../errors.js';
import { pText } from './compare-words.js';
import { metricOf } from './metrics.js';

/** @import { ComparedMetric } from './compare.js' */

/**
 * Changes that must not be shown, for CI.
 *
 * @typedef {object} FailIf
 * @property {string} expression as it was given
 * @property {string} metric a figure's name
 * @property {'<' | '>'} operator
 * @property {number} limitPercent the candidate's change against the base
 *
 * @typedef {object} JudgedFailIf
 * @property {string} expression
 * @property {boolean} passed
 * @property {number | null} change as a fraction; null where it was not compared, or began at 0
 * @property {string} why
 */

/**
 * @param {string} text such as tps<-10% or p99>+20%
 * @returns {FailIf}
 * @throws {Error} whose message goes behind the name of the option
 */
export function parseFailIf(text) {
  const expression = text.trim();
  const [, name, operator, number] = /^([^\s<>=!]+)\s*(<|>)\s*([+-]?\d+(?:\.\d+)?)\s*%$/.exec(expression) ?? [];
  if (name === undefined)
    throw new Error(
      `must be a figure, < or >, and a change in percent, such as 'tps<-10%' or 'p99>+20%', not ${quote(expression)}`,
    );
  const limitPercent = Number(number);
  if (operator === '<' ? limitPercent > 0 : limitPercent < 0)
    throw new Error(
      `must not fail on no change at all, as ${quote(expression)} would: give ${operator} a limit of 0% or ${operator === '<' ? 'less' : 'more'}`,
    );
  return Object.freeze({
    expression,
    metric: comparedMetric(name),
    limitPercent,
    operator: /** @type {FailIf['operator']} */ (operator),
  });
}

/** @param {string} text @returns {string} the name of a figure */
export function comparedMetric(text) {
  return metricOf(text.trim()).name;
}

/**
 * A change fails only when it is shown to be one at all; what could not be judged has not passed.
 * @param {FailIf} condition
 * @param {object} compared
 * @param {readonly ComparedMetric[]} compared.metrics
 * @param {readonly ComparedMetric[]} compared.raw those that are 0 in some run, and were compared as they are
 * @param {readonly string[]} compared.zeros those that are 0 in every run
 * @returns {JudgedFailIf}
 */
export function judgeFailIf({ expression, metric: name, operator, limitPercent }, { metrics, raw, zeros }) {
  if (zeros.includes(name)) return { expression, passed: true, change: 0, why: '0 in every run' };
  const ofRaw = raw.find((one) => one.name === name);
  const metric = ofRaw ?? metrics.find((one) => one.name === name);
  if (metric === undefined)
    return { expression, passed: false, change: null, why: 'it was not compared: see the warnings' };
  const { estimate } = metric.change;
  const words = ofRaw === undefined ? '' : `${rawWords(ofRaw)}: `;
  const judged = (/** @type {boolean} */ passed, /** @type {string} */ why) => ({
    expression,
    passed,
    change: Number.isFinite(estimate) ? estimate : null,
    why: `${words}${why}`,
  });
  if (metric.word === 'too few runs') return judged(false, 'too few runs to judge it');
  const isBeyond = operator === '<' ? 100 * estimate < limitPercent : 100 * estimate > limitPercent;
  if (!isBeyond) return judged(true, 'within the limit');
  return metric.word === 'no difference shown'
    ? judged(true, 'not shown: it may be chance')
    : judged(false, 'beyond the limit');
}

/** @param {ComparedMetric} metric */
function rawWords({ name, base, candidate, pAdjusted }) {
  const { show } = metricOf(name);
  const from = base.max === 0 ? '0 in every run of BASE' : `${show(base.mean)} a run in BASE`;
  return `${from}, ${show(candidate.mean)} in CANDIDATE, compared as they are (p ${pText(pAdjusted)})`;
}

/** What was given by mistake may be a key. @param {string} text */
function quote(text) {
  return JSON.stringify(oneLine(withoutKeys(text), 40));
}
