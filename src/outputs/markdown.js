import { appendFileSync } from 'node:fs';
import { cannotWrite, writeFileAtomically } from '../files.js';
import { auditResult } from '../stats/audit-result.js';
import { censoredOf, figureOf } from '../stats/figures.js';
import { countedWords, isPlain } from '../stats/sample.js';
import { byCode, count, printable, seconds } from '../text.js';
import { boundedMs, figure } from './format.js';
import { END_WORDS, auditText, measuredText } from './summary.js';

/**
 * Results as Markdown, for the summary of a CI job and for comments of pull requests: the verdict first, then a small table.
 *
 * @import { Output, OutputOptions, RunFile } from '../types.d.ts'
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
  const finish = async (/** @type {RunFile} */ run) => {
    if (markdown !== null) await writeMarkdown(markdown, runMarkdown(run));
  };
  return { finish, setUpFailed: finish };
}

/** @param {RunFile} run @returns {string} */
export function runMarkdown(run) {
  const { rates, counts, window, latency, thresholds, verdict, warnings, end, config, environment } = run;
  const words = countedWords(isPlain(run));
  const percentiles = /** @type {const} */ (['p50', 'p90', 'p99']);
  const gas = figureOf('gas')?.read(run) ?? null;
  const [audit] = auditText(run).trim().split('\n');
  const rows = [
    [words.tps, figure(rates.verifiedPerSecond)],
    ...(rates.askedPerSecond === null ? [] : [['asked per second', figure(rates.askedPerSecond)]]),
    [`latency ${percentiles.join(', ')}`, `${boundedMs(latency.total, censoredOf(run), percentiles).join(', ')} ms`],
    ...(gas === null ? [] : [['Mgas/s', figure(gas / 1e6)]]),
    [words.verified, `${count(counts.verified)} of ${count(counts.started)}`],
    ['failed, timed out', `${count(counts.failed)}, ${count(counts.timedOut)} ${byCode(run.failures)}`],
    ['audit', audit.replace(/^audit +/, '')],
    ...thresholds.map((one) => [one.expression, `${one.passed ? 'passed' : 'FAILED'}: ${measuredText(one)}`]),
  ];
  const { endpoint, clientVersion } = /** @type {any} */ (environment) ?? {};
  const load = `${count(Number(config.threads))} wallets, ${seconds(window.durationMs)}, ${clientVersion ?? 'a node'}${endpoint === undefined ? '' : ` at ${endpoint}`}`;
  return markdownOf([
    bold(`stress ${resultWords(run)}`),
    ...(end === 'set_up_failed' ? warnings : verdict === null ? [] : [`${verdict.name}: ${verdict.evidence}`]).map(
      escaped,
    ),
    ...(end === 'set_up_failed' ? [] : [markdownTable(['figure', 'value'], rows), escaped(load)]),
  ]);
}

/** @param {RunFile} run */
function resultWords(run) {
  const { exitCode, thresholds, end } = run;
  const failed = thresholds.filter(({ passed }) => !passed).map(({ expression }) => expression);
  if (exitCode === 0) return `passed${thresholds.length === 0 ? '' : `: ${thresholds.length} thresholds`}`;
  const why =
    failed.length > 0
      ? failed.join(', ')
      : auditResult(run) === 'not_exact'
        ? 'the audit is not exact'
        : (END_WORDS[end] ?? end);
  return `failed (exit code ${exitCode}): ${why}`;
}

/** Blocks of Markdown. @param {readonly string[]} blocks @returns {string} */
export function markdownOf(blocks) {
  return `${printable(blocks.join('\n\n'))}\n`;
}

/** @param {string} text */
export function bold(text) {
  return `**${escaped(text)}**`;
}

/** @param {readonly string[]} head @param {ReadonlyArray<readonly string[]>} rows the first column is text @returns {string} */
export function markdownTable(head, rows) {
  const line = (/** @type {readonly string[]} */ cells) =>
    `| ${cells.map((cell) => escaped(cell.trim())).join(' | ')} |`;
  const border = `|${head.map((_, i) => (i === 0 ? ' --- |' : ' ---: |')).join('')}`;
  return [line(head), border, ...rows.map(line)].join('\n');
}

/** Escapes Markdown in texts of the user and of the endpoint. @param {string} text */
export function escaped(text) {
  return text.replace(/[\n\r]+/g, ' ').replace(/[\\|*_`<[\]]/g, '\\$&');
}
