/**
 * Recorded runs: what each run of recorded.ndjson gave when it was last accepted. A change of behaviour shows in the rows that
 * it changes, also where every law still holds: it is looked at, and accepted with GOLDEN=write, or repaired.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { figureNames, figureOf } from '../../src/stats/figures.js';
import { mergedAlone, mergedTwice } from './laws.js';
import { KNOWN, singlesOf } from './suite.js';

/**
 * @import { RunFile } from '../../src/contracts/run-file.d.ts'
 * @import { Configuration, Observed, createSimulator } from './run.js'
 *
 * @typedef {object} RecordedRun
 * @property {Configuration} configuration
 * @property {string} result the main figures, in words
 * @property {Record<string, string>} parts digests of the members of the run file, of its merge alone and with an equal instance, of all figures, of what was shown during the run, of the requests to the nodes, of the messages and of the terminal
 */

const FILE = new URL('recorded.ndjson', import.meta.url);
const SEED = 1;

/** Members that say where a run was made, or repeat its command line. */
const NOT_RECORDED = new Set(['schema', 'id', 'config', 'environment', 'definitions']);

const NOT_RECORDED_OF_MERGES = Object.freeze({ id: null, environment: null, config: null, definitions: null });

/** @returns {RecordedRun[]} */
export function recordedRuns() {
  if (!existsSync(FILE)) return [];
  return readFileSync(FILE, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

/** @param {RecordedRun[]} runs */
export function writeRecorded(runs) {
  writeFileSync(FILE, runs.map((run) => `${JSON.stringify(run)}\n`).join(''));
}

/**
 * What has broken a law once, each value alone, and the combinations that were recorded before.
 * @param {ReturnType<typeof createSimulator>} simulator
 * @param {{isShort: boolean}} options isShort: what has broken a law, and each behaviour of the chain
 * @returns {Promise<Configuration[]>} without those that the command line refuses
 */
export async function configurationsToRecord(simulator, { isShort }) {
  const known = KNOWN.map(([, one]) => one);
  const singles = await singlesOf(simulator);
  const before = recordedRuns().map(({ configuration }) => configuration);
  const all = isShort
    ? [...known, ...singles.filter(({ chain }) => chain !== undefined)]
    : [...known, ...singles, ...before];
  const byText = new Map(all.map((one) => [JSON.stringify(one), one]));
  const refusals = await Promise.all([...byText.values()].map(simulator.refusalOf));
  return [...byText.values()].filter((_, i) => refusals[i] === null);
}

/** @param {ReturnType<typeof createSimulator>} simulator @param {Configuration} configuration */
export function runToRecord(simulator, configuration) {
  return simulator.run(configuration, SEED, { isAligned: true });
}

/** @param {Observed} observed @returns {RecordedRun} */
export function recordOf({ configuration, code, run, lines, live, requests, text }) {
  const file = run === null ? null : comparableOf(run);
  const figures = file === null ? [] : figureNames().map((name) => figureIn(file, name));
  const hasLoad = file !== null && file.end !== 'set_up_failed';
  const merged = hasLoad ? { ...mergedAlone(file), ...NOT_RECORDED_OF_MERGES } : null;
  const twice = hasLoad ? { ...mergedTwice(file), ...NOT_RECORDED_OF_MERGES } : null;
  const parts = Object.entries({
    ...file,
    figures,
    live,
    merged,
    twice,
    requests,
    messages: lines,
    terminal: text.replaceAll(MEMORY, ''),
  }).filter(([name]) => !NOT_RECORDED.has(name));
  return {
    configuration,
    result: run === null ? `exit ${code}` : `exit ${code}: ${resultOf(run)}`,
    parts: Object.fromEntries(parts.map(([name, value]) => [name, digestOf(value)])),
  };
}

/** @param {RunFile} run @returns {RunFile} without what the real process and the draw of an id add */
export function comparableOf(run) {
  const plain = JSON.parse(JSON.stringify({ ...run, id: null }));
  plain.generator.peakRssBytes = null;
  return plain;
}

/** @param {RecordedRun} before @param {RecordedRun} now @returns {string[]} what changed */
export function changesBetween(before, now) {
  const names = new Set([...Object.keys(before.parts), ...Object.keys(now.parts)]);
  const changed = [...names].filter((name) => before.parts[name] !== now.parts[name]);
  const result = before.result === now.result ? [] : [`was: ${before.result}`, `now: ${now.result}`];
  return [...result, ...(changed.length > 0 ? [`changed: ${changed.join(', ')}`] : [])];
}

/** @param {RunFile} run */
function resultOf({ counts, audit, verdict, rates, latency }) {
  const { started, verified, failed, timedOut } = counts;
  const tps = rates.verifiedPerSecond?.toFixed(2) ?? 'unknown';
  const p99 = latency.total.p99Us === null ? 'unknown' : Math.round(latency.total.p99Us / 1000);
  return `${verified} of ${started} verified, ${failed} failed, ${timedOut} timed out; ${tps} per second, p99 ${p99} ms; ${verdict?.name}; audit ${audit?.result}`;
}

/** That of the real process. */
const MEMORY = /peak\s+memory\s+[\d.,]+/g;

/** @param {RunFile} run @param {string} name */
function figureIn(run, name) {
  const figure = figureOf(name);
  return [name, figure?.read(run), figure?.bounds?.(run)];
}

/** Files that a configuration names lie in a folder of each process. */
const FOLDER = /[^\s"']*stress-simulation-\w+/g;

/** @param {unknown} value */
const digestOf = (value) =>
  createHash('sha256')
    .update((JSON.stringify(value) ?? '').replaceAll(FOLDER, ''))
    .digest('hex')
    .slice(0, 8);
