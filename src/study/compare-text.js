import { basename, dirname } from 'node:path';
import { displayName } from '../errors.js';
import { borderless, textOf } from '../output/table.js';
import { percentText, pText } from './compare-words.js';
import { runsNeeded } from './decide.js';
import { metricOf } from './metrics.js';

/** @import { ComparedMetric, Comparison } from './compare.js' */

/**
 * A comparison as people read it on a terminal.
 */

/** @param {Comparison} comparison */
export function compareText(comparison) {
  const { base, candidate, differences, warnings, failIf } = comparison;
  return [
    '',
    `Comparison: ${sizeText(comparison.method)}`,
    sidesTable([
      ['  BASE', base],
      ['  CANDIDATE', candidate],
    ]),
    metricsTable(comparison),
    ...footnotes(comparison),
    ...speedUpLines(comparison),
    ...differences.map((words) => `  different   ${words}`),
    ...warnings.map((words) => `  warning     ${words}`),
    ...(failIf.length === 0 ? [] : [failIfTable(failIf)]),
    `  verdict     ${comparison.verdict.sentence}`,
  ].join('\n');
}

/** @param {Comparison['method']} method */
function sizeText({ pairs, runs }) {
  const plural = (/** @type {number} */ n, /** @type {string} */ noun) => `${n} ${noun}${n === 1 ? '' : 's'}`;
  return pairs === null
    ? `${plural(runs.base, 'run')} against ${runs.candidate}, unpaired`
    : `${plural(pairs, 'pair')} of runs`;
}

/** @param {Array<[string, Comparison['base']]>} sides */
function sidesTable(sides) {
  const table = borderless();
  for (const [name, { label, files, clientVersion }] of sides) {
    const lines = label === name.trim() ? filesLines(files) : [label];
    lines.forEach((line, i) => table.push(i === 0 ? [name, line, clientVersion ?? ''] : ['', line, '']));
  }
  return textOf(table);
}

/** All files of a side, so that one too many is seen. @param {readonly string[]} files @returns {string[]} */
function filesLines(files) {
  const folder = dirname(files[0]);
  const isOne = folder !== '.' && files.every((file) => dirname(file) === folder);
  const names = files.slice(0, SHOWN).map((file) => (isOne ? basename(file) : displayName(file)));
  const more = files.length > SHOWN ? [`and ${files.length - SHOWN} more`] : [];
  const lines = [`${files.length} run${files.length === 1 ? '' : 's'}${isOne ? ` in ${folder}` : ''}:`];
  for (const word of [...names, ...more]) {
    if (`${lines.at(-1)} ${word}`.length > LINE_LENGTH) lines.push(word);
    else lines.push(`${lines.pop()} ${word}`);
  }
  return lines;
}

/** How many files are named. */
const SHOWN = 50;
const LINE_LENGTH = 80;

/** @param {Comparison} comparison */
function metricsTable({ metrics }) {
  const table = borderless({
    head: ['', 'BASE', 'CANDIDATE', 'change', 'interval', 'p', ''],
    colAligns: ['left', 'right', 'right', 'right', 'right', 'right', 'left'],
  });
  for (const metric of metrics) {
    const { label, base, candidate, change, isPrimary, word } = metric;
    const { show } = metricOf(metric.name);
    table.push([
      ...[`  ${label}${isPrimary ? ' *' : ''}`, show(base.mean, base.atLeast), show(candidate.mean, candidate.atLeast)],
      ...[percentText(change.estimate), boundsText(change), pText(metric.pAdjusted), word],
    ]);
  }
  return textOf(table);
}

/** @param {ComparedMetric['change']} change */
function boundsText({ low, high }) {
  return low === null || high === null ? '-' : `${percentText(low)} .. ${percentText(high)}`;
}

/** @param {Comparison} comparison */
function footnotes({ metrics, method }) {
  const [primary, ...others] = metrics;
  const lines = [
    `  * decides. Means of the runs; changes and intervals of their geometric means${method.secondaries === 0 ? '' : `; p of the other ${method.secondaries} corrected for being many (Holm)`}`,
  ];
  const mute = others.filter(({ word }) => word === 'too few runs');
  if (mute.length > 0 && primary.word !== 'too few runs') {
    const isPaired = method.pairs !== null;
    const needed = runsNeeded(isPaired, method.secondaries);
    lines.push(
      `    nothing can be shown of ${mute.length} of the others by so few runs: it takes ${needed} ${isPaired ? 'pairs' : 'runs on each side'}`,
    );
  }
  return lines;
}

/** As in benchmarks of one build against another. @param {Comparison} comparison */
function speedUpLines({ speedUps: { words, onAverage, onSlowest, onFastest } }) {
  const table = borderless({ colAligns: ['left', 'left', 'right', 'left'] });
  table.push(
    ['  latency', 'speed-up on average', percentText(onAverage.speedUp), onAverage.words],
    ['', 'speed-up on the slowest', percentText(onSlowest.speedUp), onSlowest.words],
    ['', 'slow-down on the fastest', percentText(onFastest.slowDown), onFastest.words],
  );
  return [textOf(table), `    ${words}`];
}

/** @param {Comparison['failIf']} failIf */
function failIfTable(failIf) {
  const table = borderless();
  failIf.forEach((judged, i) =>
    table.push([
      i === 0 ? '  fail if' : '',
      judged.passed ? 'passed' : 'FAILED',
      judged.expression.replace(/\s+/g, ' '),
      judged.change === null ? judged.why : `${percentText(judged.change)}: ${judged.why}`,
    ]),
  );
  return textOf(table);
}
