import { appendFileSync } from 'node:fs';
import { cannotWrite, writeFileAtomically } from '../files.js';
import { auditResult } from '../stats/audit-result.js';
import { windowMs } from '../stats/figures.js';
import { placeOf } from '../stats/run-file.js';
import { actorsText } from '../stats/sample.js';
import { counted, printable, seconds } from '../text.js';
import { endText, runTables } from './summary.js';
import { namedColumns, wordColumns } from './table.js';

/**
 * Results as Markdown, for the summary of a CI job and for comments of pull requests: the result first, then tables.
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
  const { warnings, end, environment } = run;
  const title = bold(`stress ${resultWords(run)}`);
  if (end === 'set_up_failed') return markdownOf([title, ...warnings.map(escaped)]);
  const load = `${actorsText(run)}, ${seconds(windowMs(run))}, ${environment.clientVersion ?? 'a node'} at ${placeOf(run)}`;
  const tables = runTables(run);
  const limit = tables.filter(({ id }) => id === 'limit');
  return markdownOf([title, ...[...new Set([...limit, ...tables])].map(markdownTable), escaped(load)]);
}

/** @param {RunFile} run */
function resultWords(run) {
  const { exitCode, thresholds } = run;
  const failed = thresholds.filter(({ passed }) => !passed).map(({ expression }) => expression);
  if (exitCode === 0) return `passed${thresholds.length === 0 ? '' : `: ${counted(thresholds.length, 'threshold')}`}`;
  const why =
    failed.length > 0 ? failed.join(', ') : auditResult(run) === 'not_exact' ? 'the audit is not exact' : endText(run);
  return `failed (exit code ${exitCode}): ${why}`;
}

/** @param {readonly string[]} blocks empty ones are left out @returns {string} */
function blocksOf(blocks) {
  return blocks.filter((block) => block !== '').join('\n\n');
}

/** @param {readonly string[]} blocks @returns {string} */
function markdownOf(blocks) {
  return `${printable(blocksOf(blocks))}\n`;
}

/** @param {string} text */
function bold(text) {
  return `**${escaped(text)}**`;
}

/** The title is in the head, or above it where the first column has a name. @param {Table} table @returns {string} */
function markdownTable(table) {
  const { title, columns, rows, notes } = table;
  const isWords = wordColumns(rows);
  const line = (/** @type {readonly string[]} */ cells) =>
    `| ${cells.map((cell) => escaped(cell.trim())).join(' | ')} |`;
  const border = `|${(rows[0] ?? columns).map((_, i) => (isWords[i] ? ' --- |' : ' ---: |')).join('')}`;
  const names = columns.length === 0 ? [title, ...(rows[0] ?? []).slice(1).map(() => '')] : namedColumns(table);
  const lines = [line(names), border, ...rows.map(line)].join('\n');
  return blocksOf([columns[0] && title ? bold(title) : '', lines, ...notes.map(escaped)]);
}

/** @param {readonly string[]} lines */
function list(lines) {
  return lines.map((line) => `- ${escaped(line)}`).join('\n');
}

/** @param {Result} result @returns {string} */
export function resultMarkdown({ title, verdict, reasons = [], tables, notes }) {
  return markdownOf([bold(verdict), list(reasons), ...tables.map(markdownTable), list(notes), escaped(title)]);
}

/** Escapes Markdown in texts of the user and of the endpoint. @param {string} text */
function escaped(text) {
  return text.replace(/[\n\r]+/g, ' ').replace(/[\\|*_`<[\]$]/g, '\\$&');
}
