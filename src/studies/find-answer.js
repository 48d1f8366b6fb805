import { isLoopback } from '../chain/networks.js';
import { isFull } from '../stats/halves.js';
import { awayMsOf } from '../stats/verdict-facts.js';
import { count, counted, threeDigits, timeText } from '../text.js';
import { dueOf, failedOf, heldOf, highestHeld, oursOf, repeatedBounds, votesOn } from './evidence.js';
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
 * @property {boolean | null} isShort it dropped operations, and was not made with twice as many in flight; null: the search
 *   is for another option than the rate
 * @property {boolean} isRate the search is for a rate: of other options each failure counts
 * @property {number | null} othersShare of the CPU time of this machine that other programs used before it
 *
 * @typedef {object} Limit
 * @property {string} words
 * @property {string} [advice] only of limits on our side: the node may do more
 * @property {string} [verdict] of the run, whose evidence then is that of the limit
 * @property {(failure: Failure) => boolean} is
 */

/** Share of the CPU time of this machine. */
const OTHERS = 0.5;
/** Share of the wallets whose transactions were refused because of their number. */
const REFUSED = 0.25;
export const SENDER_LIMIT = "the node's limit of transactions of one sender was the limit";

const DOWN = 'the endpoint was down';
/** A shorter outage is no reason why a run fails. */
const AWAY_MS = 500;

/** An interval whose ends differ by a larger factor is no answer. */
const WIDEST = 1.5;
/** By this share the limit may be lower than a rate that held in two runs: with less, intervals missed it too often in simulations. */
const SPREAD = 0.03;

/** @param {string} name @param {string} words @param {string} [advice] @returns {Limit} */
function ofVerdict(name, words, advice) {
  return { words, advice, verdict: name, is: ({ run }) => run.verdict?.name === name };
}

/** In order: the first that holds. @type {readonly Limit[]} */
const LIMITS = Object.freeze([
  // The run was made again, and the endpoint was down again.
  { words: DOWN, is: ({ run }) => wasDown({ awayMs: awayMsOf(run) }) },
  {
    words: 'blocks are full',
    is: ({ run: { blocks } }) => isFull(blocks),
  },
  {
    words: SENDER_LIMIT,
    advice: 'give more wallets (-t) and a lower --in-flight',
    is: ({ run: { config, generator } }) =>
      Number(config.inFlight ?? 1) > 1 &&
      (generator.refusals?.sender_limit?.count ?? 0) >= REFUSED * Number(config.threads),
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
  ofVerdict('endpoint-down', DOWN),
  ofVerdict('endpoint-limited', 'the endpoint limits requests'),
  ofVerdict('node-bound', 'the node fell behind'),
  // With enough in flight for this rate, operations are dropped because latency has risen.
  {
    words: 'the node fell behind',
    is: ({ run, isShort }) => isShort === false && run.verdict?.name === 'concurrency-bound',
  },
]);

/** @param {Pick<Trial, 'awayMs'>} trial */
export function wasDown({ awayMs = 0 }) {
  return awayMs >= AWAY_MS;
}

/** @param {number} awayMs */
export function awayText(awayMs) {
  return `the endpoint did not answer for ${timeText(awayMs / 1000)}`;
}

/** Whether the node shares this machine with the generator. @param {RunFile} run */
function isLocal({ environment: { embeddedChain, endpoint } }) {
  return embeddedChain === true || (URL.canParse(endpoint ?? '') && isLoopback(new URL(endpoint ?? '')));
}

/** @param {Failure} failure @returns {Trial['limit']} null: not known */
export function limitOf(failure) {
  const found = LIMITS.find(({ is }) => is(failure));
  return found === undefined ? null : { words: found.words, isOurs: failure.isRate && found.advice !== undefined };
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
 * @returns {Pick<Find, 'held' | 'estimate' | 'low' | 'high' | 'sharp' | 'done' | 'limit' | 'words' | 'reasons'>}
 */
export function answerOf(tried) {
  const { trials, end, scale, stopped } = tried;
  const isEach = heldOf(trials).length > 0 && failedOf(trials).length > 0;
  const isAnswer = end !== 'at least' && end !== 'below' && stopped !== 'limit' && (end !== null || isEach);
  const interval = intervalOf(tried);
  // Where the load does not matter, neither does what limits it.
  const limit = isAnswer || stopped === 'latency' ? null : ourLimit(tried);
  const shown = limit === null && isAnswer ? interval : null;
  const isNarrow = shown !== null && (end === 'sharp' || shown.high <= WIDEST * shown.low);
  const isDone = limit === null && (isNarrow || end === 'at least' || end === 'below');
  return {
    held: highestHeld(trials),
    estimate: shown?.estimate ?? null,
    low: shown?.low ?? (limit === null && end === 'at least' ? scale.highest : null),
    high: shown?.high ?? (limit === null && end === 'below' ? scale.lowest : null),
    sharp: limit === null && end === 'sharp',
    done: isDone,
    limit,
    words: limit === null ? headline(tried, shown, isDone) : notFound(tried, limit),
    reasons: reasonsOf(tried, shown, { limit, isDone }),
  };
}

/**
 * The distribution has a long tail, because a run may fail by chance: the interval ends at rates that were run. It never
 * contradicts what repeated runs say, nor the highest rate that held.
 * @param {Tried} tried
 * @returns {Figures}
 */
function intervalOf({ searched, figures, trials, heldShare }) {
  const repeated = repeatedBounds(trials);
  const named = highestHeld(trials) ?? 0;
  const lowest = heldOf(trials).find(({ value }) => value <= figures.estimate)?.value ?? 0;
  const highest = failedOf(trials).findLast(({ value }) => value >= figures.estimate)?.value ?? Infinity;
  // A run may hold although the node did a little less than its rate.
  const shown = Math.max(Math.max(figures.low, lowest) * heldShare, repeated.low * (heldShare - SPREAD));
  const low = Math.min(shown, repeated.high);
  const high = Math.max(Math.min(figures.high, highest, repeated.high), repeated.low, named);
  return {
    low: searched.name === 'rate' ? low : Math.floor(low),
    estimate: Math.min(high, Math.max(figures.estimate, low, named)),
    high,
  };
}

/** What most runs above the highest that held met on our side. @param {Tried} tried @returns {string | null} */
function ourLimit({ trials }) {
  const ours = oursOf(trials).flatMap(({ limit }) => (limit == null ? [] : [limit.words]));
  const times = (/** @type {string} */ words) => ours.filter((one) => one === words).length;
  return ours.length === 0 ? null : ours.reduce((most, words) => (times(words) > times(most) ? words : most));
}

/** What held comes first: it answers the question, if less is enough. @param {Tried} tried @param {string} limit */
function notFound({ searched, trials, mostPerSecond = 0 }, limit) {
  const held = highestHeld(trials);
  if (held !== null)
    return `Holds at least ${valueText(searched, held)}${unitOf(searched)}; the highest is not found: ${limit}.`;
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

/** Parts of the figure held: the list of reasons has them. */
const PARTS = / \([^)]*\)$/;

/** At most 25 words. @param {Tried} tried @param {Figures | null} figures null: no answer @param {boolean} isDone */
function headline({ searched, trials, end, scale }, figures, isDone) {
  const text = (/** @type {number} */ value) => `${valueText(searched, value)}${unitOf(searched)}`;
  const [held, failed, due] = [heldOf(trials), failedOf(trials), dueOf(trials)];
  const so = isDone ? '' : 'Not done: ';
  if (trials.length === 0) return `not known yet: no run with a value of --${searched.name} was made`;
  if (figures !== null) {
    const [low, high] = [figures.low, figures.high].map((value) => valueText(searched, value));
    const { limit = null, failed: [why] = [], value = 0 } = nearestOf(trials, figures.estimate).failed ?? {};
    const fails = why ? ` ${text(value)} fails: ${why.replace(PARTS, '')}.` : '';
    const isDueFirst = due !== null && !due.holds && due.value < (why ? value : Infinity);
    const words = isDueFirst ? ` ${text(due.value)} failed once.` : limit ? ` Limit: ${limit.words}.` : fails;
    const interval = `(${Math.round(100 * CONFIDENCE)} % interval ${low} to ${high})`;
    return `${so}${capital(`${heldText(trials, text, figures.estimate)} ${interval}`, so)}.${words}`;
  }
  if (end === 'at least') return `Holds at least ${text(scale.highest)}, the end of the range.`;
  if (end === 'below') return `Holds less than ${text(scale.lowest)}, the start of the range.`;
  if (held.length === 0 && failed.length === 0) return `${so}no run counts yet.`;
  if (held.length === 0)
    return `No run held. At ${text(failed[0].value)}, the lowest tried, ${failed[0].failed[0].replace(PARTS, '')}.`;
  const highest = held[held.length - 1].value;
  const uncounted = trials.filter(({ holds }) => !holds);
  const why = uncounted.some(({ value }) => value > highest)
    ? 'the failures above it do not count'
    : uncounted.length > 0
      ? 'no failure counts'
      : 'no run failed';
  return `${so}${capital(`holds at least ${text(highest)}; ${why}`, so)}.`;
}

/** @param {string} text @param {string} before what stands before it */
function capital(text, before) {
  return before === '' ? text.replace(/^./, (letter) => letter.toUpperCase()) : text;
}

/** What was run comes first, then what is estimated of it. @param {readonly Trial[]} trials @param {(value: number) => string} text @param {number} estimate */
function heldText(trials, text, estimate) {
  const named = highestHeld(trials);
  const held = named === null ? 'no rate surely holds' : `holds ${text(named)}`;
  // The estimate may lie between two rates that are the same with three digits.
  const isRun = [...heldOf(trials), ...failedOf(trials)].some(({ value }) => text(value) === text(estimate));
  return isRun ? held : `${held}; estimated highest ${text(estimate)}`;
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
    failed: failed.find(({ value }) => estimate === null || value > estimate) ?? failed.at(-1) ?? oursOf(trials)[0],
  };
}

/** @type {Readonly<Record<NonNullable<Find['stopped']>, string>>} */
const STOPPED = Object.freeze({
  time: 'the time left was shorter than the longest run so far: run the same command again to resume',
  fees: 'the limit of fees (--max-spend) was reached',
  latency: 'less load hardly lowered the latency: lower values were not tried',
  limit: 'each higher rate met a limit outside of the node',
});

/** What was to follow a run. @param {Trial} trial whose repeat is due @param {Find['stopped']} stopped */
export function dueText({ again }, stopped) {
  const why = stopped == null ? '' : `; ${stopped === 'time' ? 'the time was over' : 'the search ended before'}`;
  return `to be made again ${again}${why}`;
}

/** Failures below a rate that held which are listed. */
const LISTED = 3;

/** @param {Tried} tried @param {Figures | null} figures @param {{limit: string | null, isDone: boolean}} result @returns {string[]} */
function reasonsOf({ searched, trials, conditions, end, stopped }, figures, { limit, isDone }) {
  const { held, failed } = nearestOf(trials, figures?.estimate ?? null);
  const at = (/** @type {Trial} */ { value }) => `${valueText(searched, value)}${searched.short}`;
  const counts = trials.filter((trial) => trial.holds && !trial.again).length;
  const due = dueOf(trials);
  const advice = LIMITS.find(({ words }) => words === limit)?.advice;
  const below = failedOf(trials).filter(({ value }) => value < (heldOf(trials).at(-1)?.value ?? 0));
  const above = heldOf(trials).filter(({ value }) => value > (figures?.high ?? Infinity));
  return [
    ...(advice === undefined ? [] : [`to find it: ${advice}`]),
    ...(isDone || figures === null
      ? []
      : [`not done: the ends of the interval differ by more than a factor of ${WIDEST}; give a longer --time-limit`]),
    ...(held === undefined ? [] : [`nearest run that held, at ${at(held)}`]),
    ...(failed === undefined ? [] : [`nearest run that failed, at ${at(failed)}: ${failureText(failed)}`]),
    ...(due === null
      ? []
      : [`run at ${at(due)} ${due.holds ? 'held' : `failed: ${due.failed.join('; ')}`}; ${dueText(due, stopped)}`]),
    ...below
      .filter((trial) => trial !== failed)
      .slice(-LISTED)
      .map((trial) => `${at(trial)} failed, below one that held: ${failureText(trial)}; ${votesText(trials, trial)}`),
    ...above.slice(-LISTED).map((trial) => `${at(trial)} held, above the interval; ${votesText(trials, trial)}`),
    ...trials
      .filter(wasDown)
      .slice(0, LISTED)
      .map(
        (trial) =>
          `${awayText(trial.awayMs ?? 0)} in a run at ${at(trial)}${trial.again && trial !== due ? ', which does not count' : ''}`,
      ),
    ...(end === 'noise' || end === 'trials'
      ? ['some runs near the answer hold and some fail: more runs will not narrow the interval']
      : []),
    ...(stopped == null ? [] : [STOPPED[stopped]]),
    ...(trials.length === 0
      ? []
      : [`${counted(trials.length, 'run')}, ${counts} held, with ${conditions.join(' and ')}`]),
  ];
}

/** @param {readonly Trial[]} trials @param {Trial} trial */
function votesText(trials, { value }) {
  const { held, failed } = votesOn(trials, value);
  const result = held > failed ? 'so the failures are taken for chance' : 'so this rate is not taken to hold';
  return `${counted(held, 'run')} held there or above, ${failed} failed there or below: ${result}`;
}

/** A run that almost held its rate is rate-bound, and behind a slow node any number of wallets is too small. @type {readonly string[]} */
const UNCLEAR = Object.freeze(['rate-bound', 'concurrency-bound', 'unknown']);

/** One limit: the verdict of the run may name another one. @param {Trial} trial that failed */
function failureText({ failed, limit, verdict = null }) {
  const words = limit?.words ?? (verdict !== null && !UNCLEAR.includes(verdict.name) ? verdict.name : null);
  const isOfVerdict = !limit || LIMITS.some((one) => one.words === limit.words && one.verdict === verdict?.name);
  const cause = isOfVerdict && verdict !== null ? `${words}: ${verdict.evidence}` : words;
  return [failed.join('; '), ...(words === null ? [] : [cause])].join('; ');
}
