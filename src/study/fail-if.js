import { oneLine, withoutKeys } from '../errors.js';
import { metricOf } from './metrics.js';

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
 * @property {number | null} change as a fraction; null where it was not compared
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
    ...{ expression, metric: comparedMetric(name), limitPercent },
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
 * @param {readonly import('./compare.js').ComparedMetric[]} metrics
 * @returns {JudgedFailIf}
 */
export function judgeFailIf({ expression, metric: name, operator, limitPercent }, metrics) {
  const metric = metrics.find((one) => one.name === name);
  if (metric === undefined)
    return { expression, passed: false, change: null, why: 'it was not compared: see the warnings' };
  const { estimate } = metric.change;
  if (metric.word === 'too few runs')
    return { expression, passed: false, change: estimate, why: 'too few runs to judge it' };
  const isBeyond = operator === '<' ? 100 * estimate < limitPercent : 100 * estimate > limitPercent;
  if (!isBeyond) return { expression, passed: true, change: estimate, why: 'within the limit' };
  const passed = metric.word === 'no difference shown';
  return { expression, passed, change: estimate, why: passed ? 'not shown: it may be chance' : 'beyond the limit' };
}

/** What was given by mistake may be a key. @param {string} text */
function quote(text) {
  return JSON.stringify(oneLine(withoutKeys(text), 40));
}
