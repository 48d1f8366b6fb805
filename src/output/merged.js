import { countedWords, isPlain } from '../metrics/sample.js';
import { count, figure, seconds } from './format.js';
import { borderless, textOf } from './table.js';

/** @import { RunFile } from '../metrics/summary.js' */

/**
 * What the summary says of a run file that stands for many instances.
 *
 * @typedef {any} Merged see docs/run.schema.json
 */

/** Of many instances so many have a line of their own. */
const SHOWN = 20;

/** @param {RunFile} run @returns {Merged | null} */
export function mergedOf(run) {
  return /** @type {any} */ (run).merged ?? null;
}

/** @param {RunFile} run @returns {string[]} none for the run file of one instance */
export function mergedText(run) {
  const merged = mergedOf(run);
  if (merged === null) return [];
  const { instances } = merged;
  return [
    instancesTable(instances, countedWords(isPlain(run))),
    ...(instances.length > SHOWN ? [`  ... and ${count(instances.length - SHOWN)} more instances`] : []),
    ...mergedLines(run).map((line) => `  ${line}`),
  ];
}

/** @param {RunFile} run @returns {string[]} what is to be said of all of them */
export function mergedLines(run) {
  const merged = mergedOf(run);
  const { superseded, damaged } = merged;
  return [
    startText(merged),
    commonText(merged, run.window.counts.verified),
    ...superseded
      .slice(0, SHOWN)
      .map(
        (/** @type {any} */ one) =>
          `superseded  instance ${one.index}, attempt ${one.attempt}: its ${count(one.verified)} verified operations are in no figure`,
      ),
    ...damaged.slice(0, SHOWN).map((/** @type {any} */ one) => `damaged     ${one.name}: ${one.why}`),
    ...unresolvedText(merged),
    'latency, and figures of the generator, cover the own window of each instance; rates the common window',
  ];
}

/** @param {any[]} instances @param {ReturnType<typeof countedWords>} words */
function instancesTable(instances, words) {
  const table = borderless({
    head: ['  instance', 'wallets', 'began', 'window', words.verified, 'failed', words.tps, 'audit', 'host'],
    colAligns: [...Array(2).fill('left'), 'left', ...Array(4).fill('right'), 'left', 'left'],
  });
  for (const one of instances.slice(0, SHOWN)) {
    const { counts, offset, threads } = one;
    table.push([
      ...[
        `  ${one.index ?? '-'}${one.attempt > 0 ? `, attempt ${one.attempt}` : ''}`,
        `${offset}..${offset + threads - 1}`,
      ],
      ...[one.windowStartedAt.slice(11, 23), seconds(one.durationMs), count(counts.verified)],
      ...[count(counts.failed + counts.timedOut + counts.abandoned), figure(one.verifiedPerSecond)],
      auditWord(one),
      one.partial ? 'PARTIAL' : [...(one.host === null ? [] : [one.host])].join(),
    ]);
  }
  return textOf(table);
}

/** @param {any} instance @returns {string} what its audit came to */
export function auditWord({ auditExact, auditResult = null }) {
  if (auditResult === 'incomplete') return 'INCOMPLETE';
  return auditExact === null ? 'none' : auditExact ? 'exact' : 'NOT EXACT';
}

/** @param {Merged} merged */
function startText({ startSkewMs, rawStartSkewMs, clockSkewMs, clocksKnownToMs = null }) {
  const known = clocksKnownToMs === null ? '' : `, and may be ${count(clocksKnownToMs)} ms off that`;
  const raw =
    Math.abs(rawStartSkewMs - startSkewMs) < 1
      ? ''
      : ` (${seconds(rawStartSkewMs)} by their own clocks, which do not agree)`;
  const clocks =
    clockSkewMs === null
      ? 'nothing tells whether their clocks agree'
      : `their clocks are ${count(clockSkewMs)} ms apart, as far as blocks tell${known}`;
  return `start       all within ${count(startSkewMs)} ms${raw}; ${clocks}`;
}

/** @param {Merged} merged @param {number} verified in the common window */
function commonText({ common }, verified) {
  if (common === null) return 'common      NONE: at no time were all of them in their windows';
  const parts =
    common.apportioned === 0
      ? ''
      : `; TPS is an estimate: ${count(common.apportioned)} of ${count(verified)} verified operations in it are the share of intervals that cross its borders`;
  return `common      ${seconds(common.durationMs)} from ${common.startedAt} on${parts}`;
}

/** @param {Merged} merged @returns {string[]} */
function unresolvedText({ unresolved }) {
  const lines = unresolved.slice(0, SHOWN).map((/** @type {any} */ one) => {
    const who = one.index === null ? '' : `instance ${one.index}, `;
    const what =
      one.lastKnownAt === null
        ? 'MISSING: nothing is known of it'
        : `PARTIAL: ${count(one.inFlight)} operations in flight at ${one.lastKnownAt}; what they and later ones came to is not known`;
    return `unresolved  ${who}wallets ${one.offset}..${one.offset + one.threads - 1}: ${what}`;
  });
  const more = unresolved.length - SHOWN;
  return more > 0 ? [...lines, `... and ${count(more)} more of them`] : lines;
}
