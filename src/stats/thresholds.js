import { EXIT } from '../errors.js';
import { similarNames } from '../similar-names.js';
import { quote } from '../text.js';
import { AUDIT_RESULTS, auditResult } from './audit-result.js';
import { figureNames, figureOf } from './figures.js';
import { isUnknown, product, ratio } from './unknown.js';

/**
 * @import { Figure, FigureBounds, Operator, RunFile, Threshold, ThresholdResult, Unit, Unknown } from '../contracts/run-file.d.ts'
 */

/**
 * Thresholds: a figure that is on the wrong side of its limit makes the run end with exit code 99.
 */

const OF_GAS = { '': 1, k: 1e3, m: 1e6, g: 1e9, kgas: 1e3, mgas: 1e6, ggas: 1e9 };

/** Limits by the unit of the figure: an example, and their units as factors of it. @type {Record<Unit, {example: string, factors: Record<string, number>}>} */
const LIMITS = {
  us: { example: '200ms', factors: { us: 1, ms: 1000, s: 1e6, m: 60e6 } },
  bytes: { example: '500MB', factors: { b: 1, kb: 1e3, mb: 1e6, gb: 1e9 } },
  percent: { example: '50%', factors: { '%': 1 } },
  perSecond: { example: '100', factors: { '': 1 } },
  count: { example: '0', factors: { '': 1 } },
  gas: { example: '1.5M', factors: OF_GAS },
  gasPerSecond: { example: '30M', factors: OF_GAS },
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
    throw new Error(
      `must be a figure, one of < <= > >= = != and a limit, such as 'p99<2s', not ${quote(expression, 31)}`,
    );
  const figure = figureOf(name);
  if (figure === null) throw new Error(`names ${quote(name, 31)}, which is no figure${nearFigures(name)}`);
  const isShare = unit === '%' && figure.whole !== undefined;
  const base = isShare ? 'percent' : figure.unit;
  const { example, factors } = LIMITS[base];
  const word = unit.toLowerCase();
  const factor = Object.hasOwn(factors, word) ? factors[word] : undefined;
  if (factor === undefined) {
    const missing = word === '' ? 'the unit is missing: ' : '';
    const orShare = figure.whole === undefined ? '' : `, or a share of ${figure.whole} such as 0.1%`;
    throw new Error(
      `does not fit in ${quote(expression, 31)}: ${missing}${figure.name} takes a limit such as ${example}${orShare}`,
    );
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
      `does not fit in ${quote(expression, 31)}: audit is ${AUDIT_RESULTS.join(', ')}, such as audit=exact or audit!=not_exact`,
    );
  return Object.freeze({
    expression,
    figure: 'audit',
    operator: operator === '!=' ? '!=' : '=',
    limit,
    unit: 'result',
  });
}

/** @param {readonly Threshold[]} thresholds @param {RunFile} run @returns {ThresholdResult[]} */
export function checkThresholds(thresholds, run) {
  return thresholds.map((threshold) => {
    if (threshold.unit === 'result') return checkResult(threshold, run);
    const measured = measure(threshold, run);
    if (isUnknown(measured)) return { ...threshold, value: null, passed: false, why: measured.why };
    const { value, atMost, censored } = measured;
    const passed = HOLDS[threshold.operator](value, atMost, Number(threshold.limit));
    if (atMost <= value) return { ...threshold, value, passed };
    return { ...threshold, value, atMost: Number.isFinite(atMost) ? atMost : null, censored, passed };
  });
}

/** @param {Threshold} threshold of the audit @param {RunFile} run @returns {ThresholdResult} */
function checkResult(threshold, run) {
  const value = auditResult(run);
  if (value === null)
    return { ...threshold, value, passed: false, why: run.unmeasured['/audit'] ?? 'there is no audit' };
  return { ...threshold, value, passed: (value === threshold.limit) === (threshold.operator === '=') };
}

/** @param {readonly ThresholdResult[]} results */
export function thresholdExit(results) {
  return results.every(({ passed }) => passed) ? EXIT.ok : EXIT.thresholdFailed;
}

/** @param {Threshold} threshold @param {RunFile} run @returns {FigureBounds | Unknown} */
function measure({ figure: name, unit }, run) {
  const figure = known(name);
  if (figure.bounds !== undefined) return figure.bounds(run);
  const isShare = unit === 'percent' && figure.whole !== undefined;
  const value = isShare ? shareOf(figure.read(run), String(figure.whole), run) : figure.read(run);
  return isUnknown(value) ? value : { value, atMost: value, censored: 0 };
}

/** @param {number | Unknown} count @param {string} whole name of the figure that it is a part of @param {RunFile} run */
function shareOf(count, whole, run) {
  // The product first, because it is exact: 7 of 1000 is 0.7.
  return ratio(
    product(100, count),
    known(whole).read(run),
    `a share of nothing: no operation was ${whole} in the window`,
  );
}

/** @param {string} name of a figure that a threshold was made of */
function known(name) {
  return /** @type {Figure} */ (figureOf(name));
}

const SUGGESTIONS = 3;

/** @param {string} name */
function nearFigures(name) {
  const near = similarNames(name.toLowerCase(), [...figureNames(), 'audit']).slice(0, SUGGESTIONS);
  return near.length > 0 ? `: did you mean ${near.join(' or ')}?` : '; see Thresholds in docs/measurement.md';
}
