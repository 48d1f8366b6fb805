import { statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { displayUrl } from '../chain/rpc.js';
import { EXIT, InputError, UsageError, displayName, oneLine, worstExit } from '../errors.js';
import { checkWritable, writeFileAtomically } from '../files.js';
import { printable } from '../output/format.js';
import { summaryText } from '../output/summary.js';
import { renderCompare } from '../report/compare-page.js';
import { runPage } from '../report/run-page.js';
import { renderRuns } from '../report/runs-page.js';
import { renderSweep } from '../report/sweep-page.js';
import { readCompare } from '../study/compare-file.js';
import { compareText } from '../study/compare-text.js';
import { COMPARE_SCHEMA, compare, compareExit } from '../study/compare.js';
import { schemaOf } from '../study/document.js';
import { runBoth } from '../study/live-compare.js';
import { readRunFiles, runFileReader } from '../study/run-file.js';
import { search } from '../study/search.js';
import { SWEEP_SCHEMA, readSweep } from '../study/sweep-file.js';
import { sweepText } from '../study/sweep-text.js';
import { sweep } from '../study/sweep.js';
import { trendText } from '../study/trend-text.js';
import { pointsOfRuns, pointsOfSweep, trend } from '../study/trend.js';
import { readInvocation } from './config.js';
import { OPTIONS, envName } from './options.js';

/**
 * What the commands do that know runs by their run files.
 *
 * @typedef {import('../run/run.js').Config} Config
 * @typedef {import('./commands.js').Surroundings} Surroundings
 */

/** @type {Record<'report' | 'sweep' | 'compare' | 'trend', (config: Config, surroundings: Surroundings) => Promise<number>>} */
export const studyCommands = {
  report: async (config) => {
    checkHtml(config);
    const reports = await reportsOf(config);
    reports.forEach(({ file, text }, i) => {
      if (reports.length > 1) say(config, `${i > 0 ? '\n' : ''}${displayName(file)}:`);
      say(config, printable(text));
    });
    if (config.html !== null) writeFileAtomically(config.html, pageOf(reports, config.html));
    return EXIT.ok;
  },

  sweep: async (config, surroundings) => {
    checkHtml(config);
    const parts = partsOf(config, surroundings);
    const exitCode = await (config.find === null ? sweep(config, parts) : search(config, parts));
    const file = join(config.dir ?? 'sweep', 'sweep.json');
    if (config.html !== null) writeFileAtomically(config.html, sweepPage(await readSweep(file), file, config.html));
    return exitCode;
  },

  compare: async (config, surroundings) => {
    const { stop, version } = surroundings;
    const { metric, failIf, allowDifferent } = config;
    checkOut(config);
    checkHtml(config);
    const isLive = config.rpcA !== null;
    const { base, candidate, files } = isLive
      ? await runBoth(config, partsOf(config, surroundings))
      : await runsOf(config);
    // Interrupted before there was anything to compare.
    if (isLive && base.length === 0) return worstExit(stop.exitCodes);
    const comparison = compare(base, candidate, {
      ...{ baseFiles: files.base, candidateFiles: files.candidate, primary: metric, failIf, allowDifferent },
      ...{ pairs: isLive, stress: version },
      ...(isLive ? { baseLabel: labelOf(config.rpcA), candidateLabel: labelOf(config.rpcB) } : {}),
    });
    if (isLive)
      writeFileAtomically(join(config.dir ?? 'compare', 'compare.json'), `${JSON.stringify(comparison, null, 2)}\n`);
    writeResult(config, comparison, compareText(comparison));
    if (config.html !== null) writeFileAtomically(config.html, renderCompare(comparison));
    return worstExit([compareExit(comparison), ...stop.exitCodes]);
  },

  trend: async (config) => {
    checkOut(config);
    const result = trend(await pointsOf(config.files), { over: config.over });
    writeResult(config, result, trendText(result));
    return EXIT.ok;
  },
};

/**
 * What a study that makes runs is given from outside.
 * @param {Config} config
 * @param {Surroundings} surroundings
 * @returns {import('../study/sweep.js').Parts}
 */
function partsOf(config, { clock, stop, log, version, onProgress }) {
  const ours = new Set(OPTIONS.map(envName));
  return {
    ...{ clock, stop, log, version, onProgress },
    say: (line) => say(config, line),
    checkCell: (args, env) => readInvocation(args, env, version),
    env: Object.fromEntries(Object.entries(config.study.env).filter(([name]) => !ours.has(name))),
  };
}

/** @param {Config} config @returns {Promise<import('../study/live-compare.js').Both>} */
async function runsOf({ files, candidates }) {
  const runs = await readRunFiles([...files, ...candidates]);
  return {
    ...{ base: runs.slice(0, files.length), candidate: runs.slice(files.length) },
    files: { base: [...files], candidate: [...candidates] },
  };
}

/** @param {URL | null} url */
function labelOf(url) {
  return url === null ? undefined : displayUrl(url);
}

/** Sweeps, by their file or folder, and run files. @param {readonly string[]} names */
async function pointsOf(names) {
  const files = names.map((name) =>
    statSync(name, { throwIfNoEntry: false })?.isDirectory() ? join(name, 'sweep.json') : name,
  );
  const sweeps = files.filter((file) => schemaOf(file) === SWEEP_SCHEMA);
  const points = pointsOfRuns(await readRunFiles(files.filter((file) => !sweeps.includes(file))));
  for (const file of sweeps) {
    const found = await readSweep(file);
    if (found.find !== null)
      throw new InputError(`${displayName(file)} is a search, which has no trend: give the run files of a sweep`);
    points.push(...pointsOfSweep(found));
  }
  return points;
}

/** @param {Config} config */
function checkOut({ out }) {
  if (out !== null && out !== '-') checkWritable(out);
}

/** @param {Config} config @param {object} result @param {string} text of it, for people */
function writeResult(config, result, text) {
  const json = `${JSON.stringify(result, null, 2)}\n`;
  if (config.out === '-') process.stdout.write(json);
  else if (config.out !== null) writeFileAtomically(config.out, json);
  say(config, printable(text));
}

/** @param {Config} config */
function checkHtml({ html }) {
  if (html !== null) checkWritable(html);
}

/**
 * What stress report says of a file, whatever it is of.
 * @typedef {object} Report
 * @property {string} file
 * @property {string} text
 * @property {import('../metrics/summary.js').RunFile | null} run
 * @property {import('../study/sweep-file.js').SweepFile | null} sweep
 * @property {import('../study/compare.js').Comparison | null} comparison
 */

/** All of them, before one is printed. @param {Config} config @returns {Promise<Report[]>} */
async function reportsOf(config) {
  const readRun = await runFileReader();
  return Promise.all(
    config.files.map(async (file) => {
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

/** @param {Report[]} reports @param {string} html where the page goes */
function pageOf(reports, html) {
  const [{ file, run, sweep: swept, comparison }] = reports;
  if (reports.length > 1) {
    const runs = reports.flatMap((report) => (report.run === null ? [] : [{ file: report.file, run: report.run }]));
    if (runs.length < reports.length)
      throw new UsageError('a page is of run files, or of one sweep, or of one comparison: give --html one kind');
    return renderRuns(runs, { options: OPTIONS });
  }
  if (swept !== null) return sweepPage(swept, file, html);
  return comparison === null
    ? runPage(/** @type {import('../metrics/summary.js').RunFile} */ (run), { options: OPTIONS })
    : renderCompare(comparison);
}

/** Its run files are named as seen from the page. @param {import('../study/sweep-file.js').SweepFile} swept @param {string} file @param {string} html */
function sweepPage(swept, file, html) {
  return renderSweep(swept, { folder: relative(dirname(resolve(html)), dirname(resolve(file))) || '.' });
}

/** @param {import('../metrics/summary.js').RunFile} run @param {Config} config @param {string} file */
function summaryOf(run, { explain }, file) {
  try {
    return summaryText(run, explain);
  } catch (error) {
    // It has the right form; what is in its histograms is seen by who needs them.
    throw new InputError(`${displayName(file)} has figures that cannot be read: ${oneLine(error)}`, error);
  }
}

/** Where standard output is for machines, people read standard error. @param {Config} config @param {string} line */
function say(config, line) {
  const stream = config.out === '-' ? process.stderr : process.stdout;
  if (!config.quiet) stream.write(`${line}\n`);
}
