import { existsSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { displayUrl } from '../chain/rpc.js';
import { EXIT, InputError, UsageError, displayName, worstExit } from '../errors.js';
import { checkWritable, writeFileAtomically } from '../files.js';
import { printable } from '../text.js';
import { percentText } from '../outputs/format.js';
import { failure, suiteText } from '../outputs/junit.js';
import { resultMarkdown, runMarkdown, writeMarkdown } from '../outputs/markdown.js';
import { say, stderr, stdout, streamForPeople } from '../outputs/streams.js';
import { summaryText } from '../outputs/summary.js';
import { resultText } from '../outputs/table.js';
import { columnsOf, screenFormat } from '../outputs/terminal.js';
import { renderCompare } from '../report/compare-page.js';
import { runPage } from '../report/run-page.js';
import { renderRuns } from '../report/runs-page.js';
import { renderSweep } from '../report/sweep-page.js';
import { merge } from '../scale-out/merge.js';
import { auditWarning } from '../stats/audit-result.js';
import { recordedValues } from '../stats/histogram.js';
import { bisect, bisectMarkdown, bisectText } from '../studies/bisect.js';
import { compareResult } from '../studies/compare-text.js';
import { compare, compareExit } from '../studies/compare.js';
import { search } from '../studies/find.js';
import { runPairs } from '../studies/pairs.js';
import { kindOf, legible, reader } from '../studies/run-files.js';
import { sweepMarkdown, sweepResult } from '../studies/sweep-text.js';
import { folderOf, sweep } from '../studies/sweep.js';
import { pointsOfRuns, pointsOfSweep, trend, trendText } from '../studies/trend.js';
import { readInvocation } from './config.js';
import { INSTANCES_MAY_DIFFER_IN, OF_ONE_INSTANCE, RUNS_MAY_DIFFER_IN, VARIABLES } from './options.js';

/**
 * @import { Config } from '../contracts/config.d.ts'
 * @import { OutputConfig } from '../contracts/output.d.ts'
 * @import { Both, Comparison, Parts, StudyConfig } from '../contracts/study.d.ts'
 * @import { RunContext } from './commands.js'
 */

/**
 * What is made of a result.
 *
 * @typedef {object} ResultKind
 * @property {(content: any, outputs: OutputConfig) => string} text
 * @property {(content: any) => string} [markdown]
 * @property {(content: any, where: {file: string, html: string}) => string} [page] HTML; file: of the result
 * @property {(content: any) => string} [junit]
 */

/** @type {Readonly<Record<'run' | 'sweep' | 'compare' | 'trend' | 'bisect', ResultKind>>} */
const RESULTS = Object.freeze({
  run: {
    text: (run, outputs) => summaryText(run, outputs.explain, ...screenFormat(streamForPeople(outputs).stream)),
    markdown: runMarkdown,
    page: (run) => runPage(run),
  },
  sweep: {
    text: (swept) => resultText(sweepResult(swept)),
    markdown: sweepMarkdown,
    // Links to run files are relative to the page.
    page: (swept, { file, html }) =>
      renderSweep(swept, { folder: relative(dirname(resolve(html)), dirname(resolve(file))) || '.' }),
  },
  compare: {
    text: (comparison, outputs) => resultText(compareResult(comparison), columnsOf(streamForPeople(outputs).stream)),
    markdown: (comparison) => resultMarkdown(compareResult(comparison)),
    page: renderCompare,
    junit: compareJunit,
  },
  trend: { text: (result, outputs) => trendText(result, columnsOf(streamForPeople(outputs).stream)) },
  bisect: { text: bisectText, markdown: bisectMarkdown },
});

/** In folders of studies. */
const FILES = Object.freeze(['sweep.json', 'compare.json', 'bisect.json']);

/** @param {string} name of a file, or of the folder of a study @returns {string} the file with the result */
function resultFile(name) {
  if (statSync(name, { throwIfNoEntry: false })?.isDirectory() !== true) return name;
  const found = FILES.map((file) => join(name, file)).find((file) => existsSync(file));
  if (found !== undefined) return found;
  throw new InputError(`${displayName(name)} is a folder without ${FILES.join(' or ')}: give a file`);
}

/** Writes a result to the files that the options name. @param {OutputConfig} outputs @param {keyof typeof RESULTS} kind @param {object} content @param {string} [file] of the result */
async function write({ out, html, markdown, junit }, kind, content, file = '') {
  const made = RESULTS[kind];
  const json = `${JSON.stringify(content, null, 2)}\n`;
  if (out === '-') stdout.write(json);
  else if (out !== null) await writeFileAtomically(out, json);
  if (markdown !== null && made.markdown) await writeMarkdown(markdown, made.markdown(content));
  if (html !== null && made.page) await writeFileAtomically(html, made.page(content, { file, html }));
  if (junit !== null && made.junit) await writeFileAtomically(junit, made.junit(content));
}

/** @typedef {keyof typeof studyCommands} StudyCommand */

/** @param {StudyCommand} name @param {Config} config @param {RunContext} context @returns {Promise<number>} the exit code */
export async function runStudyCommand(name, config, context) {
  const { out, html } = config.outputs;
  if (out !== null && out !== '-') await checkWritable(out);
  if (html !== null) await checkWritable(html);
  return studyCommands[name](config, context);
}

const studyCommands = {
  /** @param {Config} config @param {RunContext} context */
  report: async ({ outputs, study: { files } }, { log }) => {
    const { html } = outputs;
    const found = files.map(resultFile).map((file) => ({ file, kind: reportedKind(file) }));
    // The schema of a kind is compiled once.
    const kinds = [...new Set(found.map(({ kind }) => kind))];
    const readers = new Map(
      await Promise.all(kinds.map(async (kind) => /** @type {const} */ ([kind, await reader(kind)]))),
    );
    // All files are read before one is printed.
    const reports = found.map(({ file, kind }) => {
      /** @type {any} */
      const content = readers.get(kind)?.(file);
      const of = (/** @type {() => string} */ make) => legible(displayName(file), make);
      return { file, kind, content, of, text: of(() => RESULTS[kind].text(content, outputs)) };
    });
    const page = html === null ? null : pageOf(reports, html);
    reports.forEach(({ file, kind, content, text }, i) => {
      if (reports.length > 1) say(outputs, `${i > 0 ? '\n' : ''}${displayName(file)}:`);
      say(outputs, text);
      if (kind === 'run') for (const words of content.warnings) log.warn(printable(words));
    });
    if (html !== null && page !== null) await writeFileAtomically(html, page);
    return EXIT.ok;
  },

  /** @param {Config} config @param {RunContext} context */
  sweep: async (config, context) => {
    const parts = partsOf(config, context);
    const { exitCode, file } = await (config.study.find === null ? sweep(config, parts) : search(config, parts));
    await write(config.outputs, 'sweep', file, join(folderOf(config.study), 'sweep.json'));
    return exitCode;
  },

  /** @param {Config} config @param {RunContext} context */
  find: async (config, context) => {
    const { exitCode, file } = await search(config, partsOf(config, context), { isCapacity: true });
    await write(config.outputs, 'sweep', file, join(folderOf(config.study), 'sweep.json'));
    return exitCode;
  },

  /** @param {Config} config @param {RunContext} context */
  compare: async (config, context) => {
    const { stop, version } = context;
    const { outputs, study } = config;
    const { metrics, failIf, allowDifferent, labelA, labelB, rpcA, rpcB } = study;
    const isLive = rpcA !== null;
    const both = isLive ? await runPairs(config, partsOf(config, context)) : await runsOf(study);
    // Interrupted before there was anything to compare.
    if (isLive && both.base.length === 0) return worstExit(stop.exitCodes);
    const comparison = compare(both.base, both.candidate, {
      baseFiles: both.files.base,
      candidateFiles: both.files.candidate,
      primary: metrics[0],
      more: metrics.slice(1),
      sequential: both.sequential,
      failIf,
      failures: both.failures,
      allowDifferent,
      mayDiffer: RUNS_MAY_DIFFER_IN,
      pairs: isLive,
      stress: version,
      labels: { base: rpcA && displayUrl(rpcA), candidate: rpcB && displayUrl(rpcB) },
      names: { base: labelA, candidate: labelB },
    });
    const file = join(study.dir ?? 'compare', 'compare.json');
    if (isLive) await writeFileAtomically(file, `${JSON.stringify(comparison, null, 2)}\n`);
    say(outputs, RESULTS.compare.text(comparison, outputs));
    if (isLive) say(outputs, `\ncompare.json and the run files are in ${displayName(dirname(file))}`);
    await write(outputs, 'compare', comparison);
    return worstExit([compareExit(comparison), ...stop.exitCodes]);
  },

  /** @param {Config} config @param {RunContext} context */
  bisect: async (config, context) => {
    const { exitCode, file } = await bisect(config, partsOf(config, context));
    if (file.result !== null) await write(config.outputs, 'bisect', file);
    return exitCode;
  },

  /** @param {Config} config */
  trend: async ({ outputs, study: { files, over } }) => {
    const result = trend(await pointsOf(files), { over });
    await write(outputs, 'trend', result);
    say(outputs, RESULTS.trend.text(result, outputs));
    return EXIT.ok;
  },

  /** @param {Config} config @param {RunContext} context */
  merge: async ({ outputs, study, instance }, context) => {
    const { files, thresholds } = study;
    const { expect, runId, allowPartial } = instance;
    const options = { mayDiffer: INSTANCES_MAY_DIFFER_IN, ofOneInstance: OF_ONE_INSTANCE };
    const wanted = { expect, runId, allowPartial, thresholds, options };
    const { run, notes } = await merge(files, wanted, process.stdin);
    for (const note of notes) if (!outputs.quiet) stderr.write(`${printable(note)}\n`);
    await write(outputs, 'run', run);
    say(outputs, RESULTS.run.text(run, outputs));
    for (const words of run.warnings) context.log.warn(printable(words));
    const warning = auditWarning(run);
    if (warning !== null) context.log.error(printable(warning));
    return run.exitCode;
  },
};

/** @param {string} file @returns {Exclude<ReturnType<typeof kindOf>, 'pairs'>} */
function reportedKind(file) {
  const kind = kindOf(file);
  return kind === 'pairs' ? 'run' : kind;
}

/**
 * @param {ReadonlyArray<{file: string, kind: keyof typeof RESULTS, content: any, of: (make: () => string) => string}>} reports
 * @param {string} html name of the page
 */
function pageOf(reports, html) {
  const [{ file, kind, content, of }] = reports;
  if (reports.length === 1) {
    const { page } = RESULTS[kind];
    if (page === undefined) throw new UsageError(`there is no page of ${displayName(file)}: leave --html out`);
    return of(() => page(content, { file, html }));
  }
  if (reports.some((one) => one.kind !== 'run'))
    throw new UsageError('a page is of run files, or of one sweep, or of one comparison: give --html one kind');
  for (const one of reports)
    one.of(() => {
      recordedValues(one.content.latency.total);
      return '';
    });
  const runs = reports.map((one) => ({ file: one.file, run: one.content }));
  return renderRuns(runs, RUNS_MAY_DIFFER_IN);
}

/** A test case for each --fail-if, and one for the comparison. @param {Comparison} comparison */
function compareJunit({ failIf, verdict, startedAt, endedAt, leftOut = [] }) {
  const judged = failIf.map(({ expression, passed, why, change }) => ({
    group: 'fail-if',
    name: expression,
    trouble: passed ? null : failure(`${why}; ${verdict.sentence}`),
    output: `${change === null ? '' : `${percentText(change)} (${expression}): `}${why}`,
  }));
  const seconds = (Date.parse(endedAt) - Date.parse(startedAt)) / 1000;
  const trouble = leftOut.length === 0 ? null : failure(`pairs left out: ${leftOut.join()}`);
  // CI servers keep the history of a case by its name.
  const whole = { group: 'comparison', name: 'verdict', trouble, output: verdict.sentence };
  return suiteText([...judged, whole], { startedAt, seconds });
}

/** What a study that makes runs is given from outside. @param {Config} config @param {RunContext} context @returns {Parts} */
function partsOf({ outputs, study: { env: given } }, context) {
  return {
    ...context,
    say: (line) => say(outputs, line),
    // The runs have all options of the study already.
    checkCell: (args, env) => readInvocation([...args, '--config=none'], env, context.version),
    env: Object.fromEntries(Object.entries(given).filter(([name]) => !VARIABLES.includes(name))),
  };
}

/** @param {StudyConfig} study @returns {Promise<Both>} */
async function runsOf({ files, candidates }) {
  const runs = [...files, ...candidates].map(await reader('run'));
  return {
    base: runs.slice(0, files.length),
    candidate: runs.slice(files.length),
    files: { base: [...files], candidate: [...candidates] },
  };
}

/** Sweeps, by their file or folder, and run files. @param {readonly string[]} names */
async function pointsOf(names) {
  const [readRun, readSweep] = [await reader('run'), await reader('sweep')];
  const files = names.map(resultFile);
  const sweeps = files.filter((file) => kindOf(file) === 'sweep');
  const points = pointsOfRuns(files.filter((file) => !sweeps.includes(file)).map(readRun), RUNS_MAY_DIFFER_IN);
  for (const file of sweeps) {
    const found = readSweep(file);
    if (found.find !== null)
      throw new InputError(`${displayName(file)} is a search, which has no trend: give the run files of a sweep`);
    points.push(...pointsOfSweep(found));
  }
  return points;
}
