import { createHash } from 'node:crypto';
import { SAME_WINDOW, maxOf, minOf } from './merge-window.js';
import { ranges, some, walletsOf } from './merge-words.js';
import { RUN_SCHEMA } from '../metrics/summary.js';

/**
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Card } from './merge-card.js'
 * @import { Chosen } from './merge-choose.js'
 * @import { Clocks } from './merge-clocks.js'
 * @import { Total } from './merge-total.js'
 * @import { Common } from './merge-window.js'
 */

/**
 * The run file of all instances together: that of one run, with what the merge has to say of it in `merged`.
 *
 * @typedef {object} Parts
 * @property {Chosen} chosen
 * @property {Clocks} clocks
 * @property {Common} common
 * @property {Total} total
 */

/** Files that instances wrote are theirs. */
const OWN_FILES = [
  'out',
  'samples',
  'blocks',
  'hlog',
  'html',
  'dashboard',
  'junit',
  'prometheus',
  'contracts',
  'results',
];
/** What made it one of several: one instance would have to do without to do what all did. */
const OF_ONE = ['index', 'instances', 'runId', 'startAtMs', 'barrier'];

/** @param {Parts} parts */
export function mergedRun(parts) {
  const { chosen, clocks, common, total } = parts;
  const { cards } = chosen;
  const first = /** @type {RunFile} */ (total.first);
  const { window, rates, apportioned } = total.window.result(total.isOpenLoop);
  const isWhole = cards.every(({ partial }) => !partial) && isComplete(chosen);
  const instants = instantsOf(cards, clocks);
  const hasCommon = common.endMs > common.startMs;
  const run = {
    schema: RUN_SCHEMA,
    id: idOf(cards),
    startedAt: instant(minOf(instants.map(({ startedAtMs }) => startedAtMs))),
    endedAt: instant(maxOf(instants.map(({ endedAtMs }) => endedAtMs))),
    end: endOf(cards),
    partial: !isWhole,
    exitCode: 0,
    config: configOf(first.config, total, cards),
    environment: {
      ...total.environment,
      ...(total.endpoints === undefined ? {} : { endpoints: total.endpoints.list() }),
    },
    definitions: first.definitions,
    warnings: warningsOf(parts),
    window,
    counts: total.sums.counts,
    inFlight: total.sums.inFlight,
    failures: total.sums.failures,
    failureWords: total.sums.failureWords,
    reorgs: total.sums.reorgs,
    rates,
    ...total.sums.distributions(),
    byName: total.sums.byName.toJSON(),
    byEndpoint: total.sums.byEndpoint.toJSON(),
    intervals: total.grid.rows(),
    blocks: total.sums.blocks,
    probes: total.sums.probes,
    generator: total.generator.result(),
    audit: total.audit.result(absentOf(chosen)),
    spending: total.spending.result(),
    verdict: total.verdicts.result(),
    thresholds: [],
    merged: {
      runId: cards[0].runId,
      expected: chosen.expected,
      instances: cards.map((card, i) => instanceOf(card, clocks.offsetsMs[i])),
      missing: chosen.missing,
      damaged: chosen.damaged.map(({ name, index, why }) => ({ name, index, why })),
      superseded: chosen.superseded.map(({ index, attempt, id, counts }) => {
        return { index, attempt, id, verified: counts.verified };
      }),
      ...skewsOf(cards, clocks),
      common: hasCommon ? { startedAt: window.startedAt, durationMs: window.durationMs, apportioned } : null,
      warmup: total.grid.warmup,
      unresolved: unresolvedOf(chosen),
    },
  };
  return { ...run, unmeasured: unmeasuredOf(run, total.unmeasured, { common, clocks }) };
}

/** @param {Chosen} chosen */
function isComplete({ cards, expected, damaged }) {
  return damaged.length === 0 && cards.length >= (expected ?? 0);
}

/** Instances whose wallets are in no audit. @param {Chosen} chosen @returns {string[]} */
function absentOf({ cards, missing, damaged }) {
  const [{ firstOffset, threads }] = cards;
  const gone = missing.map((index) => {
    return `instance ${index} is missing (${walletsOf({ offset: firstOffset + index * threads, threads })})`;
  });
  const unreadable = damaged.filter(({ index }) => index === null || !missing.includes(index));
  return [...gone, ...unreadable.map(({ name, why }) => `${name} is damaged: ${why}`)];
}

/** @param {Card[]} cards @param {Clocks} clocks */
function instantsOf(cards, { correctionsMs }) {
  return cards.map(({ startedAtMs, endedAtMs }, i) => {
    return { startedAtMs: startedAtMs + correctionsMs[i], endedAtMs: endedAtMs + correctionsMs[i] };
  });
}

/** @param {number} ms */
function instant(ms) {
  return new Date(ms).toISOString();
}

/** The same instances have the same id, however often they are merged. @param {Card[]} cards */
function idOf(cards) {
  const hash = createHash('sha256');
  for (const { id, endedAtMs } of cards) hash.update(`${id} ${endedAtMs}\n`);
  const hex = hash.digest('hex');
  // It has the form of a random UUID.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** One that never ended, or else one that ended otherwise than as planned. @param {Card[]} cards */
function endOf(cards) {
  const ends = cards.map(({ end }) => end);
  return (
    ends.find((end) => end === 'running') ??
    ends.find((end) => !['duration', 'iterations'].includes(end)) ??
    ends.find((end) => end === 'duration') ??
    ends[0]
  );
}

/** As one instance would be asked for it. @param {Record<string, any>} config of one instance @param {Total} total @param {Card[]} cards */
function configOf(config, { ratePerSecond }, cards) {
  const none = Object.fromEntries(
    [...OWN_FILES, ...OF_ONE].filter((name) => name in config).map((name) => [name, null]),
  );
  const threads = cards.reduce((sum, card) => sum + card.threads, 0);
  return { ...config, ...none, threads, offset: minOf(cards.map(({ firstOffset }) => firstOffset)), ratePerSecond };
}

/** @param {Card} card @param {number | null} clockOffsetMs */
function instanceOf(card, clockOffsetMs) {
  const { index, attempt, id, host, offset, threads, windowStartMs, windowEndMs } = card;
  const { partial, end, exitCode, counts, verifiedPerSecond, auditExact, auditResult, auditBlock } = card;
  return {
    index,
    attempt,
    id,
    host,
    offset,
    threads,
    windowStartedAt: instant(windowStartMs),
    durationMs: windowEndMs - windowStartMs,
    clockOffsetMs,
    partial,
    end,
    exitCode,
    counts,
    verifiedPerSecond,
    auditExact,
    auditResult,
    auditBlock,
  };
}

/** @param {Card[]} cards @param {Clocks} clocks */
function skewsOf(cards, { correctionsMs, skewMs, knownToMs }) {
  const isMeasured = (/** @type {unknown} */ _, /** @type {number} */ i) => cards[i].hasLoad;
  const starts = cards.map(({ windowStartMs }) => windowStartMs);
  const raw = starts.filter(isMeasured);
  const corrected = starts.map((ms, i) => ms + correctionsMs[i]).filter(isMeasured);
  const skewOf = (/** @type {number[]} */ instants) => (instants.length === 0 ? 0 : maxOf(instants) - minOf(instants));
  return {
    startSkewMs: skewOf(corrected),
    rawStartSkewMs: skewOf(raw),
    clockSkewMs: skewMs,
    clocksKnownToMs: knownToMs,
  };
}

/** Wallets of which it is not known what they did last. @param {Chosen} chosen */
function unresolvedOf({ cards, missing }) {
  const [{ firstOffset, threads }] = cards;
  const gone = missing.map((index) => {
    return { index, offset: firstOffset + index * threads, threads, inFlight: null, lastKnownAt: null };
  });
  const cut = cards
    .filter(({ partial }) => partial)
    .map(({ index, offset, threads: own, inFlight, endedAtMs }) => {
      return { index, offset, threads: own, inFlight, lastKnownAt: instant(endedAtMs) };
    });
  return [...cut, ...gone].sort((a, b) => a.offset - b.offset);
}

/** @param {Parts} parts */
function warningsOf({ chosen, clocks, common, total }) {
  const { cards } = chosen;
  const warnings = [...total.warnings].map(([words, times]) =>
    cards.length === 1 ? words : `${times} of ${some(cards.length, 'instance')}: ${words}`,
  );
  const wrong = cards.flatMap(({ name, index }, i) => {
    const offsetMs = clocks.offsetsMs[i] ?? 0;
    if (clocks.correctionsMs[i] === 0 || Math.abs(offsetMs) <= clocks.knownToMs / 2) return [];
    const who = index === null ? name : `instance ${index}`;
    return [`the clock of ${who} is ${Math.round(Math.abs(offsetMs))} ms ${offsetMs > 0 ? 'ahead' : 'behind'}`];
  });
  if (wrong.length > 0)
    warnings.push(`${shortened(wrong)}: by the blocks that all saw; its instants were corrected by that`);
  if (common.endMs <= common.startMs) warnings.push('the instances have no common window: there are no rates over it');
  else if (common.shares.some((share) => share > 0 && share < SAME_WINDOW)) {
    const least = minOf(common.shares.filter((share) => share > 0));
    warnings.push(
      `the common window is ${Math.round(100 * least)} % of the longest: figures by name and by endpoint in it are estimates`,
    );
  }
  const without = cards.filter((_, i) => common.shares[i] === 0);
  if (common.endMs > common.startMs && without.length > 0)
    warnings.push(
      `without a window of their own: ${without
        .map(({ name }) => name)
        .slice(0, 3)
        .join(', ')}`,
    );
  if (chosen.missing.length > 0) warnings.push(`missing: ${ranges(chosen.missing)}`);
  return warnings;
}

/** @param {string[]} words */
function shortened(words) {
  const more = words.length > 5 ? ` and ${words.length - 5} more` : '';
  return `${words.slice(0, 5).join(', ')}${more}`;
}

/**
 * Reasons of the instances hold for what is null here, too; some figures are null only of all together.
 * @param {any} run
 * @param {Record<string, string>} reasons of the instances
 * @param {{common: Common, clocks: Clocks}} known
 */
function unmeasuredOf(run, reasons, { common, clocks }) {
  const hasCommon = common.endMs > common.startMs;
  const noCommon = 'the instances have no common window';
  const ownWindows = "known of whole windows only, and the common window is less than 99 % of an instance's own";
  /** @type {Record<string, string>} */
  const own = {
    ...(hasCommon ? {} : { '/rates': noCommon, '/window/counts': noCommon, '/merged/common': noCommon }),
    ...(hasCommon && run.window.counts.accepted === null
      ? Object.fromEntries(
          ['/rates/acceptedPerSecond', '/rates/includedPerSecond', '/rates/achievedPerSecond', '/window/counts'].map(
            (pointer) => [pointer, ownWindows],
          ),
        )
      : {}),
    ...(clocks.skewMs === null
      ? { '/merged/clockSkewMs': 'no blocks that several instances saw tell their clocks' }
      : {}),
    '/generator/arrivalSeed': 'arrivals were not random, or instances have seeds of their own',
    '/merged':
      'not known, not given, or none: a run file without an index has no name of its host, a run that did not end has no exit code',
  };
  const all = { ...reasons, ...own };
  return Object.fromEntries(
    Object.entries(all).filter(([pointer]) => !pointer.startsWith('/intervals/') && hasNull(at(run, pointer))),
  );
}

/** @param {any} json @param {string} pointer */
function at(json, pointer) {
  return pointer
    .split('/')
    .slice(1)
    .reduce((value, key) => value?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], json);
}

/** @param {any} value @returns {boolean} */
function hasNull(value) {
  if (value === null) return true;
  return typeof value === 'object' && Object.values(value).some(hasNull);
}
