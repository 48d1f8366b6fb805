import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { displayUrl } from '../chain/rpc.js';
import { EXIT, InputError, StressError, displayName, oneLine } from '../errors.js';
import { shortWindow } from '../stats/growth.js';
import { LOCK, inFolder, isInterruption, runChild } from './experiment.js';
import { metricOf } from './metrics.js';
import { RemainingTime, isWhole } from './sweep.js';

/** @import { Both, Config, Parts, RunFile } from '../types.d.ts' */

/**
 * Runs two endpoints in turn, A B B A A B B A, so that drift, for example of the machine, affects both sides alike. The
 * first run of each side is not measured, because a node that was just started is slower.
 *
 * @typedef {'a' | 'b'} Side
 *
 * @typedef {object} Turn
 * @property {Side} side
 * @property {string} file in the folder
 * @property {boolean} isMeasured
 */

const PAIRS = 8;
/** Limit of the first run of each side. */
const MAX_FIRST_MS = 5000;
/** A run that measures nothing is repeated once. */
const TRIES = 2;
/** Exit codes that a repeated run would have as well. @type {readonly number[]} */
const FATAL = Object.freeze([EXIT.usage, EXIT.badInput, EXIT.refused, EXIT.cannotWrite, EXIT.internal]);

/** @param {number} pairs @returns {Turn[]} an unmeasured run of each side, then A B B A... */
export function turnsOf(pairs) {
  const measured = Array.from({ length: pairs }, (_, i) => {
    const sides = /** @type {Side[]} */ (i % 2 === 0 ? ['a', 'b'] : ['b', 'a']);
    return sides.map((side) => ({ side, file: `${side}-${i + 1}.json`, isMeasured: true }));
  });
  // Their names do not match patterns such as a-*.json.
  const first = /** @type {Side[]} */ (['a', 'b']).map((side) => ({
    side,
    file: `first-${side}.json`,
    isMeasured: false,
  }));
  return [...first, ...measured.flat()];
}

/**
 * @param {Config} config
 * @param {Parts} parts
 * @param {typeof runChild} [start] starts a run
 * @returns {Promise<Both>} also if interrupted (parts.stop)
 */
export async function runBoth(config, parts, start = runChild) {
  const folder = config.dir ?? 'compare';
  for (const side of /** @type {Side[]} */ (['a', 'b'])) await parts.checkCell([], envOf(config, side));
  return inFolder(folder, '', () => runBothIn({ folder, config, parts, start }));
}

/** @param {{folder: string, config: Config, parts: Parts, start: typeof runChild}} given @returns {Promise<Both>} */
async function runBothIn({ folder, config, parts, start }) {
  const { clock, stop, say, onProgress } = parts;
  checkEmpty(folder);
  const turns = turnsOf(config.repeat ?? PAIRS);
  say(`A is ${urlOf(config, 'a')}, B is ${urlOf(config, 'b')}; a first run on each is not measured`);
  const time = new RemainingTime(clock, turns.length);
  /** @type {Record<Side, {runs: RunFile[], files: string[]}>} */
  const made = { a: { runs: [], files: [] }, b: { runs: [], files: [] } };
  for (const [i, { side, file, isMeasured }] of turns.entries()) {
    if (i > 0) await clock.sleep(config.restMs, stop.drain);
    onProgress(`run ${i + 1} of ${turns.length}, on ${side.toUpperCase()}${time.words(i)}`, i, turns.length);
    const out = join(folder, file);
    const run = await runOne({ config, side, out, isMeasured, parts, start });
    // The progress bar is removed before a line is printed.
    onProgress('', 1, 1);
    if (run === null) break;
    say(lineOf(`${i + 1}/${turns.length}`, side, isMeasured, run) + time.words(i + 1));
    if (!isMeasured) continue;
    const short = made[side].runs.length === 0 ? shortWindow(run) : null;
    if (short !== null) say(`warning: ${side.toUpperCase()}: ${short.words}`);
    made[side].runs.push(run);
    made[side].files.push(out);
  }
  const pairs = Math.min(made.a.runs.length, made.b.runs.length);
  if (stop.drain.aborted) say(`interrupted: ${pairs} whole pair${pairs === 1 ? '' : 's'} of runs are compared`);
  const [error] = stop.errors;
  if (error !== undefined) throw error;
  return {
    base: made.a.runs.slice(0, pairs),
    candidate: made.b.runs.slice(0, pairs),
    files: { base: made.a.files.slice(0, pairs), candidate: made.b.files.slice(0, pairs) },
  };
}

/** Old run files could be mixed up with the new ones. @param {string} folder */
function checkEmpty(folder) {
  const names = readdirSync(folder).filter((name) => name !== LOCK);
  if (names.length > 0)
    throw new InputError(
      `${displayName(folder)} has files in it already, such as ${displayName(names[0])}: give --dir another folder, or compare the run files in it with stress compare FILES --with FILES`,
    );
}

/**
 * @param {{config: Config, side: Side, out: string, isMeasured: boolean, parts: Parts, start: typeof runChild}} options
 * @returns {Promise<RunFile | null>} null: interrupted
 */
async function runOne({ config, side, out, isMeasured, start, parts: { stop, say, clock } }) {
  const durationMs = Math.min(MAX_FIRST_MS, config.durationMs ?? MAX_FIRST_MS);
  // With stages, the first run goes through all of them.
  const args = isMeasured || config.stages !== null ? [] : [`--duration=${durationMs}ms`];
  for (let tried = 1; !stop.drain.aborted; tried += 1) {
    const { exitCode, run, complaint } = await start({ args, env: envOf(config, side), out, stop });
    if (!stop.drain.aborted && isInterruption(exitCode)) stop.request('interrupted', exitCode);
    if (stop.drain.aborted) return null;
    if (run !== null && isWhole(run) && run.counts.verified > 0) return run;
    const words = `a run on ${side.toUpperCase()} measured nothing: ${complaint ?? `it ended with exit code ${exitCode}`}`;
    if (tried === TRIES || FATAL.includes(exitCode))
      throw new StressError(words, 'run_failed', exitCode === EXIT.ok ? EXIT.unavailable : exitCode);
    say(`${oneLine(words, 500)}; once more`);
    await clock.sleep(config.restMs, stop.drain);
  }
  return null;
}

/** @param {Config} config @param {Side} side @returns {NodeJS.ProcessEnv} passes the URL, so that no process list shows its secrets */
function envOf({ study, rpcA, rpcB }, side) {
  return { ...study.env, STRESS_RPC: String((side === 'a' ? rpcA : rpcB)?.href) };
}

/** @param {Config} config @param {Side} side */
function urlOf({ rpcA, rpcB }, side) {
  return displayUrl(/** @type {URL} */ (side === 'a' ? rpcA : rpcB));
}

/** @param {string} count @param {Side} side @param {boolean} isMeasured @param {RunFile} run */
function lineOf(count, side, isMeasured, run) {
  const figures = ['tps', 'avg', 'p99'].map((name) => {
    const { label, show, read, isAtLeast } = metricOf(name);
    return `${label} ${show(read(run), isAtLeast(run))}`;
  });
  return [count, side.toUpperCase(), ...figures, ...(isMeasured ? [] : ['not measured'])].join('  ');
}
