import { EXIT, oneLine, withoutKeys } from '../errors.js';
import { similarNames } from '../similar-names.js';
import { AUDIT_RESULTS, auditResult } from './audit-result.js';
import { DURATIONS, FIGURES, figureNames, figureOf, whyNull } from './figures.js';

/**
 * @import { Figure, Threshold, ThresholdResult, Unit } from '../types.d.ts'
 * @import { MeasuredRun } from './run-file.js'
 */

/**
 * Thresholds: a figure that is on the wrong side of its limit makes the run end with exit code 99.
 *
 * @typedef {'<' | '<=' | '>' | '>=' | '=' | '!='} Operator
 *
 * @typedef {object} Checked
 * @property {number | string | null} value null: not measured, so that the threshold fails
 * @property {number | null} [atMost] only if the value is a lower bound because of censored operations: its upper bound;
 *   null: infinite
 * @property {number} [censored] with atMost: number of censored operations
 * @property {boolean} passed
 * @property {string} [why] why there is no value
 */

const GAS_FACTORS = { '': 1, k: 1e3, m: 1e6, g: 1e9, kgas: 1e3, mgas: 1e6, ggas: 1e9 };

/** Units of limits, as factors of the figure's own unit. @type {Record<Unit, Record<string, number>>} */
const FACTORS = {
  us: { us: 1, ms: 1000, s: 1e6, m: 60e6 },
  bytes: { b: 1, kb: 1e3, mb: 1e6, gb: 1e9 },
  percent: { '%': 1 },
  perSecond: { '': 1 },
  count: { '': 1 },
  gas: GAS_FACTORS,
  gasPerSecond: GAS_FACTORS,
};

/** @type {Record<Unit, string>} */
const FITTING = {
  us: 'a duration: give the limit a unit, such as 200ms',
  bytes: 'an amount of memory: give the limit a unit, such as 500MB',
  percent: 'a share: give the limit in percent, such as 50%',
  perSecond: 'a rate per second: give the limit as a plain number, such as 100',
  count: 'a count: give the limit as a plain number, such as 0',
  gas: 'an amount of gas: give the limit as a number, such as 50000 or 1.5M',
  gasPerSecond: 'gas per second: give the limit as a number, such as 30M',
};

/** Whether a value between the bounds `value` and `atMost` meets the limit for certain. @type {Record<Operator, (value: number, atMost: number, limit: number) => boolean>} */
const HOLDS = {
  '<': (_, atMost, limit) => atMost < limit,
  '<=': (_, atMost, limit) => atMost <= limit,
  '>': (value, _, limit) => value > limit,
  '>=': (value, _, limit) => value >= limit,
  '=': (value, atMost, limit) => value === limit && atMost === limit,
  '!=': (value, atMost, limit) => value > limit || atMost < limit,
};

/**
 * @param {string} text such as p99<2s
 * @returns {Threshold}
 * @throws {Error} whose message follows the name of the option
 */
export function parseThreshold(text) {
  const expression = text.trim();
  if (/^audit\s*[<>=!]/i.test(expression)) return auditThreshold(expression);
  const [, name, operator, number, unit] =
    /^([^\s<>=!]+)\s*(<=|>=|==|!=|<|>|=)\s*(\d+(?:\.\d+)?)\s*([a-z%]*)$/i.exec(expression) ?? [];
  if (name === undefined || !Number.isFinite(Number(number)))
    throw new Error(`must be a figure, one of < <= > >= = != and a limit, such as 'p99<2s', not ${quote(expression)}`);
  const figure = figureOf(name);
  if (figure === null) throw new Error(`names ${quote(name)}, which is no figure${nearFigures(name)}`);
  const isShare = unit === '%' && figure.whole !== undefined;
  const base = isShare ? 'percent' : figure.unit;
  const word = unit.toLowerCase();
  const factor = Object.hasOwn(FACTORS[base], word) ? FACTORS[base][word] : undefined;
  if (factor === undefined) {
    const orShare = figure.whole === undefined ? '' : `, or as a share of ${figure.whole}, such as 0.1%`;
    throw new Error(`does not fit in ${quote(expression)}: ${figure.name} is ${FITTING[base]}${orShare}`);
  }
  return Object.freeze({
    expression,
    figure: figure.name,
    operator: /** @type {Operator} */ (operator === '==' ? '=' : operator),
    // Without rounding 1.001 * 1000 would be less than 1001, and a figure exactly at its limit would fail.
    limit: Number((Number(number) * factor).toPrecision(15)),
    unit: base,
  });
}

/** @param {string} expression such as audit=exact @returns {Threshold} */
function auditThreshold(expression) {
  const [, operator, word] = /^audit\s*(==|=|!=)\s*(\w+)$/i.exec(expression) ?? [];
  const limit = AUDIT_RESULTS.find((result) => result === word?.toLowerCase());
  if (limit === undefined)
    throw new Error(
      `does not fit in ${quote(expression)}: audit is ${AUDIT_RESULTS.join(', ')}, such as audit=exact or audit!=not_exact`,
    );
  return Object.freeze({
    expression,
    figure: 'audit',
    operator: operator === '!=' ? '!=' : '=',
    limit,
    unit: 'result',
  });
}

/** @param {readonly Threshold[]} thresholds @param {MeasuredRun} run @returns {ThresholdResult[]} */
export function checkThresholds(thresholds, run) {
  return thresholds.map((threshold) => {
    if (threshold.unit === 'result') return checkResult(threshold, run);
    const { value, why, atMost = value, censored } = measure(threshold, run);
    if (value === null || atMost === null) return { ...threshold, value, passed: false, why: why ?? 'not measured' };
    const passed = HOLDS[threshold.operator](value, atMost, Number(threshold.limit));
    if (atMost <= value) return { ...threshold, value, passed };
    return { ...threshold, value, atMost: Number.isFinite(atMost) ? atMost : null, censored, passed };
  });
}

/** @param {Threshold} threshold of the audit @param {MeasuredRun} run @returns {ThresholdResult} */
function checkResult(threshold, run) {
  const value = auditResult(run);
  if (value === null) return { ...threshold, value, passed: false, why: run.unmeasured['/audit'] };
  return { ...threshold, value, passed: (value === threshold.limit) === (threshold.operator === '=') };
}

/** @param {readonly ThresholdResult[]} results */
export function thresholdExit(results) {
  return results.every(({ passed }) => passed) ? EXIT.ok : EXIT.thresholdFailed;
}

/** @param {Threshold} threshold @param {MeasuredRun} run @returns {{value: number | null, atMost?: number, censored?: number, why?: string}} */
function measure({ figure: name, unit }, run) {
  const figure = known(name);
  if (figure.bounds !== undefined) {
    const { us, atMostUs, censored } = figure.bounds(run);
    return us === null ? { value: us, why: whyNull(figure, run) } : { value: us, atMost: atMostUs, censored };
  }
  const value = figure.read(run);
  if (value === null) return { value, why: whyNull(figure, run) };
  if (unit !== 'percent' || figure.whole === undefined) return { value };
  const whole = known(figure.whole).read(run) ?? 0;
  // The product first, because it is exact: 7 of 1000 is 0.7.
  if (whole > 0) return { value: (100 * value) / whole };
  return { value: null, why: `a share of nothing: no operation was ${figure.whole} in the window` };
}

/** @param {string} name of a figure that a threshold was made of */
function known(name) {
  return /** @type {Figure} */ (figureOf(name));
}

const SUGGESTIONS = 3;

/** @param {string} name */
function nearFigures(name) {
  // The name is right except for its percentile.
  if (figureOf(name.replace(/p\d+(\.\d+)?$/i, 'p50')) !== null)
    return ': a percentile is more than 0 and less than 100, such as p99.9; and there is max';
  const near = similarNames(name.toLowerCase(), [...figureNames(), 'audit']).slice(0, SUGGESTIONS);
  if (near.length > 0) return `: did you mean ${near.join(' or ')}?`;
  const alone = [...FIGURES.map((figure) => figure.name), 'audit'].join(', ');
  return `: there are ${alone}, failed.CODE, and avg, min, max, stddev and any percentile such as p99.9, also of ${Object.keys(DURATIONS).join(', ')} (submit.p95)`;
}

/** The text may be a private key given by mistake, so only a part is shown. @param {string} text */
function quote(text) {
  return JSON.stringify(oneLine(withoutKeys(text), 31));
}
