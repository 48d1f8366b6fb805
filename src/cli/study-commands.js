import { existsSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { displayUrl } from '../chain/rpc.js';
import { EXIT, InputError, UsageError, displayName, worstExit } from '../errors.js';
import { checkWritable, writeFileAtomically } from '../files.js';
import { printable } from '../text.js';
import { stderr, stdout } from '../outputs/streams.js';
import { summaryText } from '../outputs/summary.js';
import { renderCompare } from '../report/compare-page.js';
import { runPage } from '../report/run-page.js';
import { renderRuns } from '../report/runs-page.js';
import { renderSweep } from '../report/sweep-page.js';
import { merge } from '../scale-out/merge.js';
import { auditWarning } from '../stats/audit-result.js';
import { compareText } from '../studies/compare-text.js';
import { compare, compareExit } from '../studies/compare.js';
import { search } from '../studies/find.js';
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
import { sweepText } from '../studies/sweep-text.js';
import { sweep } from '../studies/sweep.js';
import { pointsOfRuns, pointsOfSweep, trend, trendText } from '../studies/trend.js';
import { readInvocation } from './config.js';
import { INSTANCES_MAY_DIFFER_IN, OF_ONE_INSTANCE, OPTIONS, RUNS_MAY_DIFFER_IN, VARIABLES } from './options.js';

/**
 * @import { Both, Comparison, Config, Parts, RunFile, SweepFile } from '../types.d.ts'
 * @import { Surroundings } from './commands.js'
 */

/** Where studies say what they found. */
const RESULTS = Object.freeze(['sweep.json', 'compare.json']);

/**
 * What stress report says of a file, whatever it is of.
 * @typedef {object} Report
 * @property {string} file
 * @property {string} text
 * @property {RunFile | null} run
 * @property {SweepFile | null} sweep
 * @property {Comparison | null} comparison
 */

/** @param {string} name of a file, or of the folder of a study @returns {string} the file that says what was found */
export function resultFile(name) {
  if (statSync(name, { throwIfNoEntry: false })?.isDirectory() !== true) return name;
  const found = RESULTS.map((file) => join(name, file)).find((file) => existsSync(file));
  if (found !== undefined) return found;
  throw new InputError(`${displayName(name)} is a folder without ${RESULTS.join(' or ')}: give a file`);
}

/**
 * All of them, before one is printed.
 * @param {Config} config
 * @returns {Promise<Report[]>}
 * @throws {InputError} which names the first that is nothing of ours
 */
export async function readReports(config) {
  const readRun = await runFileReader();
  return Promise.all(
    config.files.map(resultFile).map(async (file) => {
      const schema = schemaOf(file);
      const none = { file, run: null, sweep: null, comparison: null };
      if (schema === SWEEP_SCHEMA) {
        const found = await readSweep(file);
        return { ...none, sweep: found, text: sweepText(found) };
      }
      if (schema === COMPARE_SCHEMA) {
        const comparison = await readCompare(file);
        return { ...none, comparison, text: compareText(comparison) };
      }
      const run = readRun(file);
      return { ...none, run, text: summaryOf(run, config, file) };
    }),
  );
}

/** @param {Report[]} reports @param {string} html where the page goes @returns {string} */
export function pageOf(reports, html) {
  const [{ file, run, sweep: swept, comparison }] = reports;
  if (reports.length > 1) {
    const runs = reports.flatMap((report) => (report.run === null ? [] : [{ file: report.file, run: report.run }]));
    if (runs.length < reports.length)
      throw new UsageError('a page is of run files, or of one sweep, or of one comparison: give --html one kind');
    return renderRuns(runs, { options: OPTIONS });
  }
  if (swept !== null) return sweepPage(swept, file, html);
  return comparison === null
    ? legible(displayName(file), () => runPage(/** @type {RunFile} */ (run), { options: OPTIONS }))
    : renderCompare(comparison);
}

/** Its run files are named as seen from the page. @param {SweepFile} swept @param {string} file @param {string} html */
export function sweepPage(swept, file, html) {
  return renderSweep(swept, { folder: relative(dirname(resolve(html)), dirname(resolve(file))) || '.' });
}

/** @param {RunFile} run @param {Config} config @param {string} file */
function summaryOf(run, { explain }, file) {
  return legible(displayName(file), () => summaryText(run, explain));
}

/** @type {Record<'report' | 'sweep' | 'compare' | 'trend' | 'merge', (config: Config, surroundings: Surroundings) => Promise<number>>} */
export const studyCommands = {
  report: async (config) => {
    await checkHtml(config);
    const reports = await readReports(config);
    const page = config.html === null ? null : pageOf(reports, config.html);
    reports.forEach(({ file, text }, i) => {
      if (reports.length > 1) say(config, `${i > 0 ? '\n' : ''}${displayName(file)}:`);
      say(config, printable(text));
    });
    if (config.html !== null && page !== null) await writeFileAtomically(config.html, page);
    return EXIT.ok;
  },

  sweep: async (config, surroundings) => {
    await checkHtml(config);
    const parts = partsOf(config, surroundings);
    const exitCode = await (config.find === null ? sweep(config, parts) : search(config, parts));
    const file = join(config.dir ?? 'sweep', 'sweep.json');
    if (config.html !== null)
      await writeFileAtomically(config.html, sweepPage(await readSweep(file), file, config.html));
    return exitCode;
  },

  compare: async (config, surroundings) => {
    const { stop, version } = surroundings;
    const { metric, failIf, allowDifferent } = config;
    await checkOut(config);
    await checkHtml(config);
    const isLive = config.rpcA !== null;
    const { base, candidate, files } = isLive
      ? await runBoth(config, partsOf(config, surroundings))
      : await runsOf(config);
    // Interrupted before there was anything to compare.
    if (isLive && base.length === 0) return worstExit(stop.exitCodes);
    const comparison = compare(base, candidate, {
      baseFiles: files.base,
      candidateFiles: files.candidate,
      primary: metric,
      failIf,
      allowDifferent,
      mayDiffer: RUNS_MAY_DIFFER_IN,
      pairs: isLive,
      stress: version,
      ...(isLive ? { baseLabel: labelOf(config.rpcA), candidateLabel: labelOf(config.rpcB) } : {}),
    });
    if (isLive)
      await writeFileAtomically(
        join(config.dir ?? 'compare', 'compare.json'),
        `${JSON.stringify(comparison, null, 2)}\n`,
      );
    await writeResult(config, comparison, compareText(comparison));
    if (config.html !== null) await writeFileAtomically(config.html, renderCompare(comparison));
    return worstExit([compareExit(comparison), ...stop.exitCodes]);
  },

  trend: async (config) => {
    await checkOut(config);
    const result = trend(await pointsOf(config.files), { over: config.over });
    await writeResult(config, result, trendText(result));
    return EXIT.ok;
  },

  merge: async (config, surroundings) => {
    const { files, expect, runId, allowPartial, thresholds, explain } = config;
    await checkOut(config);
    await checkHtml(config);
    const options = { mayDiffer: INSTANCES_MAY_DIFFER_IN, ofOneInstance: OF_ONE_INSTANCE };
    const wanted = { expect, runId, allowPartial, thresholds, options };
    const { run, notes } = await merge(files, wanted, process.stdin);
    for (const note of notes) if (!config.quiet) stderr.write(`${printable(note)}\n`);
    await writeResult(config, run, summaryText(run, explain));
    const warning = auditWarning(run);
    if (warning !== null) surroundings.log.error(printable(warning));
    if (config.html !== null) await writeFileAtomically(config.html, runPage(run, { options: OPTIONS }));
    return run.exitCode;
  },
};

/**
 * What a study that makes runs is given from outside.
 * @param {Config} config
 * @param {Surroundings} surroundings
 * @returns {Parts}
 */
function partsOf(config, { clock, stop, log, version, onProgress }) {
  return {
    clock,
    stop,
    log,
    version,
    onProgress,
    say: (line) => say(config, line),
    checkCell: (args, env) => readInvocation(args, env, version),
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

/** @param {URL | null} url */
function labelOf(url) {
  return url === null ? undefined : displayUrl(url);
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
async function checkOut({ out }) {
  if (out !== null && out !== '-') await checkWritable(out);
}

/** @param {Config} config @param {object} result @param {string} text of it, for people */
async function writeResult(config, result, text) {
  const json = `${JSON.stringify(result, null, 2)}\n`;
  if (config.out === '-') stdout.write(json);
  else if (config.out !== null) await writeFileAtomically(config.out, json);
  say(config, printable(text));
}

/** @param {Config} config */
async function checkHtml({ html }) {
  if (html !== null) await checkWritable(html);
}

/** Where standard output is for machines, people read standard error. @param {Config} config @param {string} line */
function say(config, line) {
  const stream = config.out === '-' ? stderr : stdout;
  if (!config.quiet) stream.write(`${line}\n`);
}
