import { appendFileSync } from 'node:fs';
import { cannotWrite, writeFileAtomically } from '../files.js';
import { auditResult } from '../stats/audit-result.js';
import { count, printable, seconds } from '../text.js';
import { latencyTable, overviewTable, thresholdsTable } from './run-tables.js';
import { auditLines, consistencyLines, endText } from './summary.js';
import { wordColumns } from './table.js';

/**
 * Results as Markdown, for the summary of a CI job and for comments of pull requests: the verdict first, then tables.
 *
 * @import { Output, OutputOptions } from '../contracts/output.d.ts'
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { Result, Table } from './table.js'
 */

/** Appends to the job summary of GitHub Actions; nothing elsewhere. */
export const AUTO = 'auto';

/** @param {string} target a file, or AUTO @param {string} text @param {NodeJS.ProcessEnv} [env] @throws {OutputError} */
export async function writeMarkdown(target, text, env = process.env) {
  if (target !== AUTO) return writeFileAtomically(target, text);
  const { GITHUB_STEP_SUMMARY: file = '' } = env;
  if (file === '') return;
  try {
    appendFileSync(file, text);
  } catch (error) {
    throw cannotWrite(file, error);
  }
}

/** @param {OutputOptions} options @returns {Output} */
export function createMarkdownOutput({ markdown }) {
  return { finish: async (run) => (markdown === null ? undefined : writeMarkdown(markdown, runMarkdown(run))) };
}

/** @param {RunFile} run @returns {string} */
export function runMarkdown(run) {
  const { window, thresholds, verdict, warnings, end, config, environment } = run;
  const title = bold(`stress ${resultWords(run)}`);
  if (end === 'set_up_failed') return markdownOf([title, ...warnings.map(escaped)]);
  const { endpoint, clientVersion } = environment;
  const load = `${count(config.threads)} wallets, ${seconds(window.durationMs)}, ${clientVersion ?? 'a node'} at ${endpoint}`;
  return markdownOf([
    title,
    ...(verdict === null ? [] : [escaped(`${verdict.name}: ${verdict.evidence}`)]),
    ...[overviewTable(run), latencyTable(run), ...(thresholds.length === 0 ? [] : [thresholdsTable(run)])].map(
      markdownTable,
    ),
    escaped(`audit ${auditLines(run)[0]}`),
    ...consistencyLines(run)
      .slice(0, 1)
      .map((line) => escaped(`consistency ${line}`)),
    escaped(load),
  ]);
}

/** @param {RunFile} run */
function resultWords(run) {
  const { exitCode, thresholds } = run;
  const failed = thresholds.filter(({ passed }) => !passed).map(({ expression }) => expression);
  if (exitCode === 0) return `passed${thresholds.length === 0 ? '' : `: ${thresholds.length} thresholds`}`;
  const why =
    failed.length > 0 ? failed.join(', ') : auditResult(run) === 'not_exact' ? 'the audit is not exact' : endText(run);
  return `failed (exit code ${exitCode}): ${why}`;
}

/** Blocks of Markdown. @param {readonly string[]} blocks @returns {string} */
function markdownOf(blocks) {
  return `${printable(blocks.join('\n\n'))}\n`;
}

/** @param {string} text */
export function bold(text) {
  return `**${escaped(text)}**`;
}

/** @param {Table} table @returns {string} */
function markdownTable({ head, rows, note }) {
  const isWords = wordColumns(rows);
  const line = (/** @type {readonly string[]} */ cells) =>
    `| ${cells.map((cell) => escaped(cell.trim())).join(' | ')} |`;
  const border = `|${(rows[0] ?? head).map((_, i) => (isWords[i] ? ' --- |' : ' ---: |')).join('')}`;
  const heads = head.length === 0 ? (rows[0] ?? []).map(() => '') : head;
  return [line(heads), border, ...rows.map(line), ...(note === undefined ? [] : ['', escaped(note)])].join('\n');
}

/** @param {Result} result @returns {string} */
export function resultMarkdown({ title, verdict, reasons = [], tables, notes }) {
  const list = (/** @type {readonly string[]} */ lines) => lines.map((line) => `- ${escaped(line)}`).join('\n');
  return markdownOf(
    [bold(verdict), list(reasons), ...tables.map(markdownTable), list(notes), escaped(title)].filter(
      (block) => block !== '',
    ),
  );
}

/** Escapes Markdown in texts of the user and of the endpoint. @param {string} text */
export function escaped(text) {
  return text.replace(/[\n\r]+/g, ' ').replace(/[\\|*_`<[\]]/g, '\\$&');
}
