import { isLoopback } from '../chain/networks.js';
import { count, counted, threeDigits } from '../text.js';
import { CONFIDENCE } from './threshold-estimate.js';

/**
 * What a search says: why a run failed, and the answer of all runs, as one sentence and a list of reasons.
 *
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { Find, Searched, Trial } from '../contracts/study.d.ts'
 * @import { End, Figures } from './threshold-estimate.js'
 *
 * @typedef {object} Failure a run that failed
 * @property {RunFile} run
 * @property {boolean | null} isShort it dropped operations, and had fewer in flight than its rate needs; null: the search is
 *   for another option than the rate
 * @property {number | null} othersShare of the CPU time of this machine that other programs used before it
 *
 * @typedef {object} Limit
 * @property {string} words
 * @property {string} [advice] only of limits on our side: the node may do more
 * @property {(failure: Failure) => boolean} is
 */

/** Share of the CPU time of this machine. */
const OTHERS = 0.5;
/** Share of the blocks. */
const FULL = 0.5;

/** @param {string} name @param {string} words @param {string} [advice] @returns {Limit} */
function ofVerdict(name, words, advice) {
  return { words, advice, is: ({ run }) => run.verdict?.name === name };
}

/** In order: the first that holds. @type {readonly Limit[]} */
const LIMITS = Object.freeze([
  {
    words: 'blocks are full',
    is: ({ run: { blocks } }) => blocks.count > 0 && (blocks.full ?? 0) >= FULL * blocks.count,
  },
  {
    words: 'the number of wallets was the limit',
    advice: 'give a higher -t or --in-flight, or more keys',
    is: ({ isShort }) => isShort === true,
  },
  {
    words: 'other programs on this machine were the limit',
    advice: 'stop them, or use another machine',
    is: ({ run, othersShare }) => (othersShare ?? 0) >= OTHERS && isLocal(run),
  },
  ofVerdict('generator-bound', 'the generator was the limit', 'give --workers, or use a faster machine'),
  ofVerdict('port-bound', 'the local ports were the limit', 'use fewer connections (--connections)'),
  ofVerdict('funds', 'the funds of the wallets were the limit', 'give a higher --fund-amount'),
  ofVerdict('endpoint-down', 'the endpoint was down'),
  ofVerdict('endpoint-limited', 'the endpoint limits requests'),
  ofVerdict('node-bound', 'the node fell behind'),
  // With enough in flight for this rate, operations are dropped because latency has risen.
  {
    words: 'the node fell behind',
    is: ({ run, isShort }) => isShort === false && run.verdict?.name === 'concurrency-bound',
  },
]);

/** Whether the node shares this machine with the generator. @param {RunFile} run */
function isLocal({ environment: { embeddedChain, endpoint } }) {
  return embeddedChain === true || (URL.canParse(endpoint ?? '') && isLoopback(new URL(endpoint ?? '')));
}

/** @param {Failure} failure @returns {Trial['limit']} null: not known */
export function limitOf(failure) {
  const found = LIMITS.find(({ is }) => is(failure));
  return found === undefined ? null : { words: found.words, isOurs: found.advice !== undefined };
}

/** Three digits, as rates are known no better; other options are whole numbers. @param {Pick<Searched, 'name'>} searched @param {number} value */
export function valueText({ name }, value) {
  return name === 'rate' ? threeDigits(value) : count(value);
}

/**
 * @typedef {object} Tried what a search knows
 * @property {number} [mostPerSecond] throughput of the fastest run, whether it held or not
 * @property {Pick<Searched, 'name' | 'behind' | 'short' | 'unit'>} searched
 * @property {readonly Trial[]} trials
 * @property {Figures} figures
 * @property {End} end
 * @property {{lowest: number, highest: number}} scale
 * @property {readonly string[]} conditions
 * @property {Find['stopped']} stopped
 * @property {number} heldShare the share of its rate that a run must hold, from 0 to 1
 */

/**
 * @param {Tried} tried
 * @returns {Pick<Find, 'estimate' | 'low' | 'high' | 'sharp' | 'limit' | 'words' | 'reasons'>}
 */
export function answerOf(tried) {
  const { trials, end, scale, heldShare } = tried;
  const isEach = [true, false].every((holds) => trials.some((trial) => trial.holds === holds));
  const isAnswer = end !== 'at least' && end !== 'below' && trials.length > 0 && (end !== null || isEach);
  const figures = withinTried(tried.figures, trials, heldShare);
  // Where the load does not matter, neither does what limits it.
  const limit = tried.stopped === 'latency' ? null : ourLimit(tried, isAnswer ? figures : null);
  const shown = limit !== null || !isAnswer ? null : figures;
  return {
    estimate: shown?.estimate ?? null,
    low: shown?.low ?? (limit === null && end === 'at least' ? scale.highest : null),
    high: shown?.high ?? (limit === null && end === 'below' ? scale.lowest : null),
    sharp: limit === null && end === 'sharp',
    limit,
    words: limit === null ? headline(tried, shown) : notFound(tried, limit),
    reasons: reasonsOf(tried, isAnswer ? figures.estimate : null, limit),
  };
}

/**
 * The distribution has a long tail, because a run may fail by chance. The interval ends at rates that were tried.
 * @param {Figures} figures
 * @param {readonly Trial[]} trials
 * @param {number} heldShare
 * @returns {Figures}
 */
function withinTried({ estimate, low, high }, trials, heldShare) {
  const lowest = heldOf(trials).find(({ value }) => value <= estimate)?.value ?? 0;
  const highest = failedOf(trials).findLast(({ value }) => value >= estimate)?.value ?? Infinity;
  // A run may hold although the node did a little less than its rate.
  return { estimate, low: Math.max(low, lowest) * heldShare, high: Math.min(high, highest) };
}

/**
 * What on our side was the limit of more than half of the failed runs inside the interval and of the first one above it.
 * One run alone may have met a busy machine by chance.
 * @param {Tried} tried
 * @param {Figures | null} figures null: no run held
 * @returns {string | null}
 */
function ourLimit({ searched, trials }, figures) {
  if (searched.name !== 'rate') return null;
  const failed = failedOf(trials);
  const above = figures === null ? failed.at(-1) : failed.find(({ value }) => value > figures.high);
  const near = failed.filter(
    ({ value }) => value <= (above?.value ?? Infinity) && (figures === null || value >= figures.low),
  );
  const ours = near.flatMap(({ limit }) => (limit?.isOurs ? [limit.words] : []));
  if (2 * ours.length <= near.length) return null;
  const times = (/** @type {string} */ words) => ours.filter((one) => one === words).length;
  return ours.reduce((most, words) => (times(words) > times(most) ? words : most));
}

/** @param {readonly Trial[]} trials @returns {Trial[]} ascending */
function failedOf(trials) {
  return trials.filter(({ holds }) => !holds).sort((a, b) => a.value - b.value);
}

/** @param {readonly Trial[]} trials @returns {Trial[]} ascending */
function heldOf(trials) {
  return trials.filter(({ holds }) => holds).sort((a, b) => a.value - b.value);
}

/** What held comes first: it answers the question, if less is enough. @param {Tried} tried @param {string} limit */
function notFound({ searched, trials, mostPerSecond = 0 }, limit) {
  const held = heldOf(trials).at(-1);
  if (held !== undefined)
    return `Holds at least ${valueText(searched, held.value)}${unitOf(searched)}; the highest is not found: ${limit}.`;
  const isKnown = searched.unit === undefined && mostPerSecond > 0;
  const atLeast = isKnown
    ? `the node took at least ${valueText(searched, mostPerSecond)}${searched.behind}`
    : 'no run held its rate';
  return `Not found: ${limit}; ${atLeast}.`;
}

/** @param {Pick<Searched, 'short'>} searched */
function unitOf({ short }) {
  return short === '/s' ? ' op/s' : short;
}

/** At most 25 words. @param {Tried} tried @param {Figures | null} figures null: no answer */
function headline({ searched, trials, end, scale }, figures) {
  const text = (/** @type {number} */ value) => `${valueText(searched, value)}${unitOf(searched)}`;
  const [held, failed] = [heldOf(trials), failedOf(trials)];
  if (trials.length === 0) return 'not known yet: no run was made';
  if (figures !== null) {
    const [low, high] = [figures.low, figures.high].map((value) => valueText(searched, value));
    const { limit = null, failed: [why] = [] } = nearestOf(trials, figures.estimate).failed ?? {};
    // A limit on our side that one run met says nothing about the answer.
    const words = limit !== null && !limit.isOurs ? `Limit: ${limit.words}` : why && `Above it ${why}`;
    const interval = `${Math.round(100 * CONFIDENCE)} % interval ${low} to ${high}`;
    return `Holds ${text(figures.estimate)} (${interval}).${words === undefined ? '' : ` ${words}.`}`;
  }
  if (end === 'at least') return `Holds at least ${text(scale.highest)}, the end of the range.`;
  if (end === 'below') return `Holds less than ${text(scale.lowest)}, the start of the range.`;
  if (held.length === 0) return `No run held. At ${text(failed[0].value)}, the lowest tried, ${failed[0].failed[0]}.`;
  return `Holds at least ${text(held[held.length - 1].value)}: no run failed.`;
}

/**
 * The runs on both sides of the answer.
 * @param {readonly Trial[]} trials
 * @param {number | null} estimate null: no answer
 * @returns {{held: Trial | undefined, failed: Trial | undefined}}
 */
function nearestOf(trials, estimate) {
  const [held, failed] = [heldOf(trials), failedOf(trials)];
  return {
    held: held.findLast(({ value }) => estimate === null || value <= estimate) ?? held[0],
    failed: failed.find(({ value }) => estimate === null || value > estimate) ?? failed.at(-1),
  };
}

/** @type {Readonly<Record<NonNullable<Find['stopped']>, string>>} */
const STOPPED = Object.freeze({
  time: 'the time limit was reached: run the same command again to resume',
  fees: 'the limit of fees (--max-spend) was reached',
  latency: 'less load hardly lowered the latency: lower values were not tried',
});

/** @param {Tried} tried @param {number | null} estimate @param {string | null} limit @returns {string[]} */
function reasonsOf({ searched, trials, conditions, end, stopped }, estimate, limit) {
  const { held, failed } = nearestOf(trials, estimate);
  const at = (/** @type {Trial} */ { value }) => `${valueText(searched, value)}${searched.short}`;
  const runs = heldOf(trials).length;
  const advice = LIMITS.find(({ words }) => words === limit)?.advice;
  return [
    ...(advice === undefined ? [] : [`to find it: ${advice}`]),
    ...(held === undefined ? [] : [`nearest run that held, at ${at(held)}`]),
    ...(failed === undefined ? [] : [`nearest run that failed, at ${at(failed)}: ${failureText(failed)}`]),
    ...(end === 'noise' || end === 'trials'
      ? ['runs near the answer hold and fail by turns: more runs add little']
      : []),
    ...(stopped == null ? [] : [STOPPED[stopped]]),
    ...(trials.length === 0
      ? []
      : [`${counted(trials.length, 'run')}, ${runs} held, with ${conditions.join(' and ')}`]),
  ];
}

/** A run that almost held its rate is rate-bound, and behind a slow node any number of wallets is too small. @type {readonly string[]} */
const UNCLEAR = Object.freeze(['rate-bound', 'concurrency-bound', 'unknown']);

/** @param {Trial} trial that failed */
function failureText({ failed, limit, verdict = null }) {
  const isClear = verdict !== null && !UNCLEAR.includes(verdict.name);
  return [
    failed.join('; '),
    ...(limit ? [limit.words] : []),
    ...(isClear ? [`${verdict.name}: ${verdict.evidence}`] : []),
  ].join('; ');
}
