import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { displayUrl } from '../chain/rpc.js';
import { EXIT, InputError, StressError, displayName, oneLine } from '../errors.js';
import { Experiment, FATAL, LOCK, inFolder, remainingTime, runChild } from './experiment.js';
import { metricOf } from './metrics.js';
import { startNode } from './started-node.js';

/**
 * @import { Both, Config, Parts, RunFile } from '../types.d.ts'
 * @import { Wanted } from './experiment.js'
 */

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

/** @type {readonly Side[]} */
export const SIDES = Object.freeze(['a', 'b']);
const PAIRS = 8;
/** Limit of the first run of each side. */
export const MAX_FIRST_MS = 5000;
/** A run that measures nothing is repeated once. */
const TRIES = 2;
/** @param {number} pairs @returns {Turn[]} an unmeasured run of each side, then A B B A... */
function turnsOf(pairs) {
  const measured = Array.from({ length: pairs }, (_, i) => {
    const sides = /** @type {Side[]} */ (i % 2 === 0 ? ['a', 'b'] : ['b', 'a']);
    return sides.map((side) => ({ side, file: `${side}-${i + 1}.json`, isMeasured: true }));
  });
  return [...SIDES.map(firstTurn), ...measured.flat()];
}

/** Its name does not match patterns such as a-*.json. @param {Side} side @returns {Turn} */
export function firstTurn(side) {
  return { side, file: `first-${side}.json`, isMeasured: false };
}

/**
 * @param {Config} config
 * @param {Parts} parts
 * @param {typeof runChild} [start] starts a run
 * @returns {Promise<Both>} also if interrupted (parts.stop)
 */
export async function runBoth(config, parts, start = runChild) {
  const folder = config.dir ?? 'compare';
  for (const side of SIDES) await parts.checkCell([], envOf(config, side));
  const experiment = new Experiment({ config, parts, folder, start });
  return inFolder(folder, '', () => runBothIn({ folder, config, parts, experiment }));
}

/** @param {{folder: string, config: Config, parts: Parts, experiment: Experiment}} given @returns {Promise<Both>} */
async function runBothIn({ folder, config, parts, experiment }) {
  const { clock, stop, say } = parts;
  checkEmpty(folder);
  const turns = turnsOf(config.repeat ?? PAIRS);
  sayBoth(config, say);
  const left = remainingTime(clock, turns.length);
  /** @type {Record<Side, {runs: RunFile[], files: string[]}>} */
  const made = { a: { runs: [], files: [] }, b: { runs: [], files: [] } };
  for (const [i, { side, file, isMeasured }] of turns.entries()) {
    const label = `run ${i + 1} of ${turns.length}, on ${side.toUpperCase()}${left(i)}`;
    const wanted = { label, done: i, all: turns.length };
    const run = await runTurn({ folder, config, parts, experiment }, turns[i], wanted);
    if (run === null) break;
    say(lineOf(`${i + 1}/${turns.length}`, side, isMeasured, run) + left(i + 1));
    if (!isMeasured) continue;
    made[side].runs.push(run);
    made[side].files.push(join(folder, file));
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

/** @param {Config} config @param {Parts['say']} say */
export function sayBoth(config, say) {
  say(`A is ${urlOf(config, 'a')}, B is ${urlOf(config, 'b')}; a first run on each is not measured`);
}

/** Old run files could be mixed up with the new ones. @param {string} folder */
export function checkEmpty(folder) {
  const names = readdirSync(folder).filter((name) => name !== LOCK);
  if (names.length > 0)
    throw new InputError(
      `${displayName(folder)} has files in it already, such as ${displayName(names[0])}: give --dir another folder, or compare the run files in it with stress compare FILES --with FILES`,
    );
}

/**
 * A study that runs both sides.
 *
 * @typedef {{folder: string, config: Config, parts: Parts, experiment: Experiment}} Live
 */

/**
 * @param {Live} live
 * @param {Turn} turn
 * @param {Pick<Wanted, 'label' | 'done' | 'all'>} progress
 * @returns {Promise<RunFile | null>} null: interrupted
 */
export async function runTurn({ folder, config, parts, experiment }, { side, file, isMeasured }, progress) {
  /** @type {Wanted} */
  const wanted = { ...progress, name: side.toUpperCase(), file, isMeasured, env: envOf(config, side) };
  const { start: command, url } = sideOf(config, side);
  if (command !== null)
    wanted.start = async (how) => {
      const { clock, stop, env } = parts;
      const log = join(folder, `node-${side}.log`);
      const node = await startNode({ name: `--start-${side}`, command, url, log, env, clock, stop });
      if (node === null) return { exitCode: EXIT.interrupted, run: null, complaint: null };
      try {
        return await experiment.start(how);
      } finally {
        await node.stop();
      }
    };
  const durationMs = Math.min(MAX_FIRST_MS, config.durationMs ?? MAX_FIRST_MS);
  // With stages, the first run goes through all of them.
  const args = wanted.isMeasured || config.stages !== null ? [] : [`--duration=${durationMs}ms`];
  for (let tried = 1; ; tried += 1) {
    const made = await experiment.run({ ...wanted, args });
    if (made === null) return null;
    const { run, exitCode, complaint } = made;
    if (run !== null && run.counts.verified > 0) return run;
    const words = `a run on ${wanted.name} measured nothing: ${complaint}`;
    if (tried === TRIES || FATAL.includes(exitCode))
      throw new StressError(words, 'run_failed', exitCode === EXIT.ok ? EXIT.unavailable : exitCode);
    parts.say(`${oneLine(words, 500)}; once more`);
  }
}

/** @param {Config} config @param {Side} side @returns {NodeJS.ProcessEnv} passes the URL, so that no process list shows its secrets */
export function envOf(config, side) {
  return { ...config.study.env, STRESS_RPC: sideOf(config, side).url.href };
}

/** @param {Config} config @param {Side} side */
export function sideOf({ rpcA, rpcB, startA, startB }, side) {
  return { url: /** @type {URL} */ (side === 'a' ? rpcA : rpcB), start: side === 'a' ? startA : startB };
}

/** @param {Config} config @param {Side} side */
export function urlOf(config, side) {
  return displayUrl(sideOf(config, side).url);
}

/** @param {string} count @param {Side} side @param {boolean} isMeasured @param {RunFile} run */
function lineOf(count, side, isMeasured, run) {
  const figures = ['tps', 'avg', 'p99'].map((name) => {
    const { label, show, read, isAtLeast } = metricOf(name);
    return `${label} ${show(read(run), isAtLeast(run))}`;
  });
  return [count, side.toUpperCase(), ...figures, ...(isMeasured ? [] : ['not measured'])].join('  ');
}
