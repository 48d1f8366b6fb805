import { EXIT, IncompleteError, InputError, oneLine, worstExit } from '../errors.js';
import { checkThresholds, thresholdExit } from '../metrics/thresholds.js';
import { cardOf, loadStartOf } from './merge-card.js';
import { checkSums } from './merge-check.js';
import { choose } from './merge-choose.js';
import { compareClocks } from './merge-clocks.js';
import { mergedRun } from './merge-run.js';
import { findSources } from './merge-sources.js';
import { Total } from './merge-total.js';
import { commonWindow } from './merge-window.js';
import { legible, runFileChecker } from './run-file.js';

/**
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Threshold } from '../metrics/thresholds.js'
 * @import { Card } from './merge-card.js'
 * @import { Damaged, Wanted as MergeChooseWanted } from './merge-choose.js'
 * @import { Source } from './merge-sources.js'
 */

/**
 * Run files of all instances of a run become one run file. Each is read twice, and one at a time: first to find out what
 * belongs together, whose clock is wrong and which time is common, then to add it up.
 *
 * @typedef {MergeChooseWanted & {thresholds: readonly Threshold[]}} Wanted
 * @typedef {(json: any, name: string) => RunFile} Check
 */

/** Of files that are something else so many are named. */
const NAMED = 3;

/**
 * @param {readonly string[]} names of folders, run files and logs; '-' for standard input
 * @param {Wanted} wanted
 * @param {NodeJS.ReadableStream} stdin
 * @returns {Promise<{run: RunFile & {exitCode: number}, notes: string[]}>}
 * @throws {InputError | IncompleteError}
 */
export async function merge(names, wanted, stdin) {
  const check = await runFileChecker();
  const { sources, close } = await findSources(names, stdin);
  try {
    const { cards: found, damaged, foreign } = readAll(sources, check, wanted);
    const chosen = chosenOf(found, { damaged, foreign }, wanted);
    const clocks = compareClocks(chosen.cards);
    const common = commonWindow(chosen.cards, clocks, wanted.allowPartial);
    const total = new Total(chosen.cards, clocks.correctionsMs, common);
    for (const [i, card] of chosen.cards.entries()) addTo(total, i, card);
    const run = judged(mergedRun({ chosen, clocks, common, total }), wanted, chosen.cards);
    return { run, notes: [...foreignWords(foreign), ...chosen.notes] };
  } finally {
    close();
  }
}

/** @param {Source[]} sources @param {Check} check @param {Wanted} wanted */
function readAll(sources, check, { runId }) {
  /** @type {Card[]} */
  const cards = [];
  /** @type {Damaged[]} */
  const damaged = [];
  /** @type {string[]} */
  const foreign = [];
  for (const source of sources) {
    const { name, index, id, isGiven } = source;
    // What is asked for by its run id is not read to find out that it is of another.
    if (runId !== null && source.runId !== null && source.runId !== runId) continue;
    const { json, damage, foreign: words } = source.read();
    const other = words ?? (damage === undefined ? strangerOf(json) : undefined);
    if (damage !== undefined) damaged.push({ name, index, id, runId: source.runId, why: damage });
    else if (other === undefined) cards.push(checkedCard(check(json, name), source));
    else if (isGiven) throw new InputError(`${name} is ${other}`);
    else foreign.push(`${name} is ${other}`);
  }
  return { cards, damaged, foreign };
}

/** @param {RunFile} run @param {Source} source */
function checkedCard(run, source) {
  checkSums(run, source.name, loadStartOf(run));
  return cardOf(run, source);
}

/** What was left out may be what is missing. @param {Card[]} found @param {{damaged: Damaged[], foreign: string[]}} others @param {Wanted} wanted */
function chosenOf(found, { damaged, foreign }, wanted) {
  try {
    return choose(found, damaged, wanted);
  } catch (error) {
    if (!(error instanceof IncompleteError) || foreign.length === 0) throw error;
    throw new IncompleteError([error.message, ...foreignWords(foreign)].join('; '));
  }
}

/** @param {any} json @returns {string | undefined} what it is; nothing where it says that it is a run file of any version */
function strangerOf(json) {
  const schema = json?.schema;
  if (typeof schema !== 'string' || !schema.startsWith('evm-stress/run@'))
    return typeof schema === 'string' ? `no run file, but ${oneLine(schema, 60)}` : 'no run file';
  const isMerged = (json.merged ?? null) !== null;
  return isMerged ? 'a merge itself: give the run files that it was made of' : undefined;
}

/** @param {string[]} foreign */
function foreignWords(foreign) {
  if (foreign.length === 0) return [];
  const more = foreign.length > NAMED ? `; and ${foreign.length - NAMED} more` : '';
  return [`left out: ${foreign.slice(0, NAMED).join('; ')}${more}`];
}

/** @param {Total} total @param {number} i @param {Card} card */
function addTo(total, i, card) {
  const { json } = card.source.read();
  if (json?.id !== card.id) throw new InputError(`${card.source.name} was changed while it was read: merge again`);
  legible(card.source.name, () => total.add(json, i));
}

/** @param {any} run @param {Wanted} wanted @param {Card[]} cards @returns {RunFile & {exitCode: number}} */
function judged(run, { thresholds }, cards) {
  const results = checkThresholds(thresholds, run);
  const exitCodes = cards.flatMap(({ exitCode }) => exitCode ?? []);
  const exitCode = worstExit([
    ...exitCodes,
    thresholdExit(results),
    run.audit?.result === 'not_exact' ? EXIT.notExact : EXIT.ok,
    run.counts.verified === 0 ? EXIT.nothingVerified : EXIT.ok,
  ]);
  const config = { ...run.config, thresholds: thresholds.map(({ expression }) => expression) };
  return { ...run, exitCode, config, thresholds: results };
}
