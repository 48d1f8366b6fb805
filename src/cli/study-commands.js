import { existsSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { displayUrl } from '../chain/rpc.js';
import { EXIT, InputError, UsageError, displayName, worstExit } from '../errors.js';
import { checkWritable, writeFileAtomically } from '../files.js';
import { printable } from '../text.js';
import { suiteText } from '../outputs/junit.js';
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
import { bisect } from '../studies/bisect.js';
import { compareResult } from '../studies/compare-text.js';
import { compare, compareExit } from '../studies/compare.js';
import { search } from '../studies/find.js';
import { folderOf } from '../studies/experiment.js';
import { runBoth } from '../studies/live-compare.js';
import {
  COMPARE_SCHEMA,
  SWEEP_SCHEMA,
  legible,
  readCompare,
  readRunFiles,
  readSweep,
  runFileReader,
  schemaOf,
} from '../studies/run-files.js';
import { runUntilSure } from '../studies/until-sure.js';
import { sweepMarkdown, sweepResult } from '../studies/sweep-text.js';
import { sweep } from '../studies/sweep.js';
import { pointsOfRuns, pointsOfSweep, trend, trendText } from '../studies/trend.js';
import { readInvocation } from './config.js';
import { INSTANCES_MAY_DIFFER_IN, OF_ONE_INSTANCE, RUNS_MAY_DIFFER_IN, VARIABLES } from './options.js';

/**
 * @import { Both, Comparison, Config, Parts, RunFile, SweepFile } from '../types.d.ts'
 * @import { Surroundings } from './commands.js'
 */

/** The results of studies in their folders. */
const RESULTS = Object.freeze(['sweep.json', 'compare.json']);

/**
 * What stress report prints of a file.
 *
 * @typedef {{file: string, text: string} & ({kind: 'run', content: RunFile} | {kind: 'sweep', content: SweepFile} |
 *   {kind: 'compare', content: Comparison})} Report
 */

/** @param {string} name of a file, or of the folder of a study @returns {string} the file with the result */
function resultFile(name) {
  if (statSync(name, { throwIfNoEntry: false })?.isDirectory() !== true) return name;
  const found = RESULTS.map((file) => join(name, file)).find((file) => existsSync(file));
  if (found !== undefined) return found;
  throw new InputError(`${displayName(name)} is a folder without ${RESULTS.join(' or ')}: give a file`);
}

/**
 * Reads all files before one is printed.
 * @param {Config} config
 * @returns {Promise<Report[]>}
 * @throws {InputError} which names the first bad file
 */
async function readReports({ files, explain }) {
  const readRun = await runFileReader();
  return Promise.all(
    files.map(resultFile).map(async (file) => {
      const schema = schemaOf(file);
      if (schema === SWEEP_SCHEMA) {
        const content = await readSweep(file);
        return { kind: 'sweep', file, content, text: resultText(sweepResult(content)) };
      }
      if (schema === COMPARE_SCHEMA) {
        const content = await readCompare(file);
        return { kind: 'compare', file, content, text: resultText(compareResult(content), columnsOf(stdout.stream)) };
      }
      const content = readRun(file);
      const text = legible(displayName(file), () => summaryText(content, explain, ...screenFormat(stdout.stream)));
      return { kind: 'run', file, content, text };
    }),
  );
}

/** @param {Report[]} reports @param {string} html name of the page @returns {string} */
function pageOf(reports, html) {
  const [report] = reports;
  if (reports.length > 1) {
    const runs = reports.flatMap(({ kind, file, content }) => (kind === 'run' ? [{ file, run: content }] : []));
    if (runs.length < reports.length)
      throw new UsageError('a page is of run files, or of one sweep, or of one comparison: give --html one kind');
    for (const { file, run } of runs) legible(displayName(file), () => recordedValues(run.latency.total));
    return renderRuns(runs, RUNS_MAY_DIFFER_IN);
  }
  const { kind, content, file } = report;
  if (kind === 'sweep') return sweepPage(content, file, html);
  return legible(displayName(file), () => (kind === 'compare' ? renderCompare(content) : runPage(content)));
}

/** Links to run files are relative to the page. @param {SweepFile} swept @param {string} file @param {string} html */
function sweepPage(swept, file, html) {
  return renderSweep(swept, { folder: relative(dirname(resolve(html)), dirname(resolve(file))) || '.' });
}

/** @type {Record<'report' | 'find' | 'sweep' | 'compare' | 'bisect' | 'trend' | 'merge', (config: Config, surroundings: Surroundings) => Promise<number>>} */
export const studyCommands = {
  report: async (config) => {
    await checkOutputs(config);
    const reports = await readReports(config);
    const page = config.html === null ? null : pageOf(reports, config.html);
    reports.forEach(({ file, text }, i) => {
      if (reports.length > 1) say(config, `${i > 0 ? '\n' : ''}${displayName(file)}:`);
      say(config, text);
    });
    if (config.html !== null && page !== null) await writeFileAtomically(config.html, page);
    return EXIT.ok;
  },

  sweep: async (config, surroundings) => {
    await checkOutputs(config);
    const parts = partsOf(config, surroundings);
    const exitCode = await (config.find === null ? sweep(config, parts) : search(config, parts));
    await writeSweepPage(config);
    return exitCode;
  },

  find: async (config, surroundings) => {
    await checkOutputs(config);
    const exitCode = await search(config, partsOf(config, surroundings), { isCapacity: true });
    await writeSweepPage(config);
    return exitCode;
  },

  compare: async (config, surroundings) => {
    const { stop, version } = surroundings;
    const { metrics, failIf, allowDifferent, labelA, labelB } = config;
    await checkOutputs(config);
    const isLive = config.rpcA !== null;
    const make = config.untilSure ? runUntilSure : runBoth;
    const { base, candidate, files, sequential } = isLive
      ? await make(config, partsOf(config, surroundings))
      : await runsOf(config);
    // Interrupted before there was anything to compare.
    if (isLive && base.length === 0) return worstExit(stop.exitCodes);
    const comparison = compare(base, candidate, {
      baseFiles: files.base,
      candidateFiles: files.candidate,
      primary: metrics[0],
      more: metrics.slice(1),
      sequential,
      failIf,
      allowDifferent,
      mayDiffer: RUNS_MAY_DIFFER_IN,
      pairs: isLive,
      stress: version,
      labels: { base: endpointLabel(config.rpcA), candidate: endpointLabel(config.rpcB) },
      names: { base: labelA, candidate: labelB },
    });
    const file = join(config.dir ?? 'compare', 'compare.json');
    if (isLive) await writeFileAtomically(file, `${JSON.stringify(comparison, null, 2)}\n`);
    const result = compareResult(comparison);
    await writeResult(config, comparison, resultText(result, columnsOf(streamForPeople(config).stream)));
    if (isLive) say(config, `\ncompare.json and the run files are in ${displayName(dirname(file))}`);
    if (config.markdown !== null) await writeMarkdown(config.markdown, resultMarkdown(result));
    if (config.junit !== null)
      await writeFileAtomically(config.junit, compareJunit(comparison, [...base, ...candidate]));
    if (config.html !== null) await writeFileAtomically(config.html, renderCompare(comparison));
    return worstExit([compareExit(comparison), ...stop.exitCodes]);
  },

  bisect: (config, surroundings) => bisect(config, partsOf(config, surroundings)),

  trend: async (config) => {
    await checkOutputs(config);
    const result = trend(await pointsOf(config.files), { over: config.over });
    await writeResult(config, result, trendText(result, columnsOf(streamForPeople(config).stream)));
    return EXIT.ok;
  },

  merge: async (config, surroundings) => {
    const { files, expect, runId, allowPartial, thresholds, explain } = config;
    await checkOutputs(config);
    const options = { mayDiffer: INSTANCES_MAY_DIFFER_IN, ofOneInstance: OF_ONE_INSTANCE };
    const wanted = { expect, runId, allowPartial, thresholds, options };
    const { run, notes } = await merge(files, wanted, process.stdin);
    for (const note of notes) if (!config.quiet) stderr.write(`${printable(note)}\n`);
    await writeResult(config, run, summaryText(run, explain, ...screenFormat(streamForPeople(config).stream)));
    const warning = auditWarning(run);
    if (warning !== null) surroundings.log.error(printable(warning));
    if (config.markdown !== null) await writeMarkdown(config.markdown, runMarkdown(run));
    if (config.html !== null) await writeFileAtomically(config.html, runPage(run));
    return run.exitCode;
  },
};

/** A test case for each --fail-if, and one for the comparison. @param {Comparison} comparison @param {readonly RunFile[]} runs */
function compareJunit({ failIf, verdict }, runs) {
  const judged = failIf.map(({ expression, passed, why }) => ({
    group: 'fail-if',
    name: expression,
    trouble: passed ? null : { kind: /** @type {const} */ ('failure'), words: `${why}; ${verdict.sentence}` },
  }));
  const [startedAt] = runs.map((run) => run.startedAt).sort();
  const endMs = Math.max(...runs.map((run) => Date.parse(run.endedAt)));
  const seconds = (endMs - Date.parse(startedAt)) / 1000;
  return suiteText([...judged, { group: 'comparison', name: verdict.sentence, trouble: null }], { startedAt, seconds });
}

/** @param {Config} config */
async function writeSweepPage({ html, markdown, ...config }) {
  if (html === null && markdown === null) return;
  const file = join(folderOf(config), 'sweep.json');
  const result = await readSweep(file);
  if (html !== null) await writeFileAtomically(html, sweepPage(result, file, html));
  if (markdown !== null) await writeMarkdown(markdown, sweepMarkdown(result));
}

/** @param {URL | null} url */
function endpointLabel(url) {
  return url === null ? null : displayUrl(url);
}

/** What a study that makes runs is given from outside. @param {Config} config @param {Surroundings} surroundings @returns {Parts} */
function partsOf(config, { clock, stop, log, version, onProgress }) {
  return {
    clock,
    stop,
    log,
    version,
    onProgress,
    say: (line) => say(config, line),
    // The runs have all options of the study already.
    checkCell: (args, env) => readInvocation([...args, '--config=none'], env, version),
    env: Object.fromEntries(Object.entries(config.study.env).filter(([name]) => !VARIABLES.includes(name))),
  };
}

/** @param {Config} config @returns {Promise<Both>} */
async function runsOf({ files, candidates }) {
  const runs = await readRunFiles([...files, ...candidates]);
  return {
    base: runs.slice(0, files.length),
    candidate: runs.slice(files.length),
    files: { base: [...files], candidate: [...candidates] },
  };
}

/** Sweeps, by their file or folder, and run files. @param {readonly string[]} names */
async function pointsOf(names) {
  const files = names.map(resultFile);
  const sweeps = files.filter((file) => schemaOf(file) === SWEEP_SCHEMA);
  const points = pointsOfRuns(await readRunFiles(files.filter((file) => !sweeps.includes(file))), RUNS_MAY_DIFFER_IN);
  for (const file of sweeps) {
    const found = await readSweep(file);
    if (found.find !== null)
      throw new InputError(`${displayName(file)} is a search, which has no trend: give the run files of a sweep`);
    points.push(...pointsOfSweep(found));
  }
  return points;
}

/** @param {Config} config */
async function checkOutputs({ out, html }) {
  if (out !== null && out !== '-') await checkWritable(out);
  if (html !== null) await checkWritable(html);
}

/** @param {Config} config @param {object} result @param {string} text of it, for people; printable */
async function writeResult(config, result, text) {
  const json = `${JSON.stringify(result, null, 2)}\n`;
  if (config.out === '-') stdout.write(json);
  else if (config.out !== null) await writeFileAtomically(config.out, json);
  say(config, text);
}
