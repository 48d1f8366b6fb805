import { EXIT } from '../errors.js';
import { writeFileAtomically } from '../files.js';
import { auditResult } from '../stats/audit-result.js';
import { auditTable, speedText } from './run-facts.js';
import { measuredText } from './run-tables.js';

/**
 * @import { Output, OutputOptions } from '../contracts/output.d.ts'
 * @import { RunFile, ThresholdResult } from '../contracts/run-file.d.ts'
 */

/**
 * The JUnit file: one test case per threshold, one for the audit and one for the run. Their output is what was measured,
 * which CI servers show of passed cases as well.
 *
 * @typedef {{kind: 'failure' | 'skipped', words: string} | null} Trouble null: it passed
 * @typedef {{group: string, name: string, trouble: Trouble, output?: string}} Case
 */

/** What the schema of Ant's JUnit task needs (github.com/windyroad/JUnit-Schema). */
const TYPES = Object.freeze({ failure: { type: 'failed' }, skipped: {} });

/** @param {OutputOptions} options @returns {Output} */
export function createJunitOutput({ junit }) {
  return { finish: async (run) => (junit === null ? undefined : writeFileAtomically(junit, junitText(run))) };
}

/** @param {RunFile} run */
export function junitText(run) {
  const cases = [
    ...run.thresholds.map((result) => ({
      group: 'thresholds',
      name: result.expression,
      trouble: result.passed ? null : failure(measuredWords(result)),
      output: measuredWords(result),
    })),
    { group: 'audit', name: 'audit', trouble: auditTrouble(run), output: auditText(run) },
    { group: 'run', name: 'run', trouble: runTrouble(run), output: speedText(run) },
  ];
  const seconds = (Date.parse(run.endedAt) - Date.parse(run.startedAt)) / 1000;
  return suiteText(cases, { startedAt: run.startedAt, seconds });
}

/**
 * @param {readonly Case[]} cases
 * @param {{startedAt: string, seconds: number}} times
 */
export function suiteText(cases, { startedAt, seconds }) {
  /** @param {'failure' | 'skipped'} kind */
  const times = (kind) => String(cases.filter(({ trouble }) => trouble?.kind === kind).length);
  const suite = attributes({
    name: 'stress',
    tests: String(cases.length),
    failures: times('failure'),
    errors: '0',
    skipped: times('skipped'),
    time: String(seconds),
    // In UTC: the JUnit schema has no time zones.
    timestamp: startedAt.slice(0, 'yyyy-mm-ddThh:mm:ss'.length),
    hostname: 'localhost',
  });
  const lines = cases.map(({ group, name, trouble, output = '' }) => {
    const head = `  <testcase${attributes({ classname: `stress.${group}`, name, time: '0' })}>`;
    const fault = trouble && `<${trouble.kind}${attributes({ message: trouble.words, ...TYPES[trouble.kind] })}/>`;
    const isSaid = output === '' || output === trouble?.words;
    return `${head}${fault ?? ''}${isSaid ? '' : `<system-out>${escaped(output)}</system-out>`}</testcase>`;
  });
  const body = ['  <properties/>', ...lines, '  <system-out/>', '  <system-err/>'];
  return ['<?xml version="1.0" encoding="UTF-8"?>', `<testsuite${suite}>`, ...body, '</testsuite>', ''].join('\n');
}

/** The value and its limit. @param {ThresholdResult} result */
function measuredWords(result) {
  return `${result.figure}: ${measuredText(result)} (${result.expression})`;
}

/** @param {RunFile} run */
function auditText(run) {
  const { rows, notes } = auditTable(run);
  return [rows[0][1], ...notes].join('; ');
}

/** @param {RunFile} run @returns {Trouble} */
function auditTrouble(run) {
  const result = auditResult(run);
  if (result === 'exact') return null;
  return { kind: result === 'not_exact' ? 'failure' : 'skipped', words: auditText(run) };
}

/** Failures that the other cases do not cover. @param {RunFile} run @returns {Trouble} */
function runTrouble(run) {
  const { exitCode, end, warnings, verdict } = run;
  if (end === 'set_up_failed') return failure(warnings.join('; '));
  // Another exit code may be worse, and hide that of an endpoint that was lost.
  if (verdict?.name === 'endpoint-down' && end === 'duration' && exitCode !== EXIT.ok)
    return failure(`endpoint-down: ${verdict.evidence}`);
  const isSaid = exitCode === EXIT.thresholdFailed || (exitCode === EXIT.notExact && auditResult(run) === 'not_exact');
  // If several exit codes apply, the end names the reason.
  if (exitCode === EXIT.ok || (isSaid && end === 'duration')) return null;
  return failure(`ended with exit code ${exitCode} (${end})`);
}

/** @param {string} words @returns {Trouble} */
export function failure(words) {
  return { kind: 'failure', words };
}

/** @param {Record<string, string>} values */
function attributes(values) {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${escaped(value)}"`)
    .join('');
}

/** What an XML document must not hold, even escaped: control characters, halves of characters, two that are none. */
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ud800-\udfff\ufffe\uffff]/gu;

/** Blanks that a reader of attributes would take for spaces, and what has a meaning in XML. @param {string} text */
function escaped(text) {
  return text.replace(FORBIDDEN, '\ufffd').replace(/[&<>"'\t\n\r\u007f-\u009f]/g, (c) => `&#${c.charCodeAt(0)};`);
}
