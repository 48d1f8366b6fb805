import { isLoopback } from '../chain/networks.js';
import { count, counted } from '../text.js';
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
function isLocal({ environment }) {
  const { embeddedChain, endpoint } = /** @type {{embeddedChain?: boolean, endpoint?: string}} */ (environment);
  return embeddedChain === true || (URL.canParse(endpoint ?? '') && isLoopback(new URL(endpoint ?? '')));
}

/** @param {Failure} failure @returns {Trial['limit']} null: not known */
export function limitOf(failure) {
  const found = LIMITS.find(({ is }) => is(failure));
  return found === undefined ? null : { words: found.words, isOurs: found.advice !== undefined };
}

/** Three digits, as rates are known no better; other options are whole numbers. @param {Pick<Searched, 'name'>} searched @param {number} value */
export function valueText({ name }, value) {
  return name === 'rate' ? threeDigits.format(value) : count(value);
}

const threeDigits = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });

/**
 * @typedef {object} Knowledge what a search knows
 * @property {number} [mostPerSecond] throughput of the fastest run, whether it held or not
 * @property {Pick<Searched, 'name' | 'behind' | 'short' | 'unit'>} searched
 * @property {readonly Trial[]} trials
 * @property {Figures} figures
 * @property {End} end
 * @property {{lowest: number, highest: number}} scale
 * @property {readonly string[]} conditions
 * @property {Find['stopped']} stopped
 * @property {number} heldShare the share of its rate that a run must hold, from 0 to 1
 *
 * @typedef {Knowledge & {held: Trial[], failed: Trial[]}} Tried with the runs by their result, each in ascending order
 */

/**
 * @param {Knowledge} knowledge
 * @returns {Pick<Find, 'estimate' | 'low' | 'high' | 'sharp' | 'limit' | 'words' | 'reasons'>}
 */
export function answerOf(knowledge) {
  const { trials, end, scale } = knowledge;
  const ascending = trials.toSorted((a, b) => a.value - b.value);
  const [held, failed] = [true, false].map((holds) => ascending.filter((trial) => trial.holds === holds));
  const tried = { ...knowledge, held, failed };
  const isEach = held.length > 0 && failed.length > 0;
  const isAnswer = end !== 'at least' && end !== 'below' && trials.length > 0 && (end !== null || isEach);
  const figures = withinTried(tried);
  const limit = ourLimit(tried, isAnswer ? figures : null);
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
 * @param {Tried} tried
 * @returns {Figures}
 */
function withinTried({ figures: { estimate, low, high }, held, failed, heldShare }) {
  const lowest = held.find(({ value }) => value <= estimate)?.value ?? 0;
  const highest = failed.findLast(({ value }) => value >= estimate)?.value ?? Infinity;
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
function ourLimit({ searched, failed }, figures) {
  if (searched.name !== 'rate') return null;
  const above = figures === null ? failed.at(-1) : failed.find(({ value }) => value > figures.high);
  const near = failed.filter(
    ({ value }) => value <= (above?.value ?? Infinity) && (figures === null || value >= figures.low),
  );
  const ours = near.flatMap(({ limit }) => (limit?.isOurs ? [limit.words] : []));
  if (2 * ours.length <= near.length) return null;
  const times = (/** @type {string} */ words) => ours.filter((one) => one === words).length;
  return ours.reduce((most, words) => (times(words) > times(most) ? words : most));
}

/** @param {Tried} tried @param {string} limit */
function notFound({ searched, held, mostPerSecond = 0 }, limit) {
  const most = held.at(-1)?.value ?? (searched.unit === undefined ? mostPerSecond : 0);
  const atLeast =
    most === 0 ? 'no run held its rate' : `the node took at least ${valueText(searched, most)}${searched.behind}`;
  return `not found: ${limit}; ${atLeast}`;
}

/** At most 25 words. @param {Tried} tried @param {Figures | null} figures null: no answer */
function headline(tried, figures) {
  const { searched, trials, end, scale, held, failed } = tried;
  const unit = searched.short === '/s' ? ' op/s' : searched.short;
  const text = (/** @type {number} */ value) => `${valueText(searched, value)}${unit}`;
  if (trials.length === 0) return 'not known yet: no run was made';
  if (figures !== null) {
    const [low, high] = [figures.low, figures.high].map((value) => valueText(searched, value));
    const { limit = null, failed: [why] = [] } = nearestOf(tried, figures.estimate).failed ?? {};
    // A limit on our side that one run met says nothing about the answer.
    const words = limit !== null && !limit.isOurs ? `Limit: ${limit.words}` : why && `Above it ${why}`;
    const interval = `${Math.round(100 * CONFIDENCE)} % interval ${low} to ${high}`;
    return `Holds ${text(figures.estimate)} (${interval}).${words === undefined ? '' : ` ${words}.`}`;
  }
  if (end === 'at least') return `Holds at least ${text(scale.highest)}, the end of the range.`;
  if (end === 'below') return `Holds less than ${text(scale.lowest)}, the start of the range.`;
  if (held.length === 0) return `Holds less than ${text(failed[0].value)}: no run held.`;
  return `Holds at least ${text(held[held.length - 1].value)}: no run failed.`;
}

/**
 * The runs on both sides of the answer.
 * @param {Pick<Tried, 'held' | 'failed'>} tried
 * @param {number | null} estimate null: no answer
 * @returns {{held: Trial | undefined, failed: Trial | undefined}}
 */
function nearestOf({ held, failed }, estimate) {
  return {
    held: held.findLast(({ value }) => estimate === null || value <= estimate) ?? held[0],
    failed: failed.find(({ value }) => estimate === null || value > estimate) ?? failed.at(-1),
  };
}

/** @type {Readonly<Record<NonNullable<Find['stopped']>, string>>} */
const STOPPED = Object.freeze({
  time: 'the time limit was reached: run the same command again to resume',
  fees: 'the limit of fees (--max-spend) was reached',
});

/** @param {Tried} tried @param {number | null} estimate @param {string | null} limit @returns {string[]} */
function reasonsOf(tried, estimate, limit) {
  const { searched, trials, conditions, end, stopped } = tried;
  const { held, failed } = nearestOf(tried, estimate);
  const at = (/** @type {Trial} */ { value }) => `${valueText(searched, value)}${searched.short}`;
  const advice = LIMITS.find(({ words }) => words === limit)?.advice;
  const all = `${counted(trials.length, 'run')}, ${tried.held.length} held, with ${conditions.join(' and ')}`;
  return [
    advice && `to find it: ${advice}`,
    held && `nearest run that held, at ${at(held)}`,
    failed && `nearest run that failed, at ${at(failed)}: ${failureText(failed)}`,
    (end === 'noise' || end === 'trials') && 'runs near the answer hold and fail by turns: more runs add little',
    stopped && STOPPED[stopped],
    trials.length > 0 && all,
  ].filter((reason) => typeof reason === 'string');
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
