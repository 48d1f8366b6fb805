import { CONFIDENCE } from './threshold-estimate.js';

/**
 * @import { Trial } from './run-files.js'
 * @import { End, Figures } from './threshold-estimate.js'
 */

/**
 * The sentences and lines of a search.
 *
 * @typedef {{name: string, evidence: string}} RunVerdict
 */

/** @type {Record<string, {noun: string, behind: string, short: string}>} */
const WORDS = Object.freeze({
  rate: { noun: 'rate', behind: ' per second', short: '/s' },
  threads: { noun: 'number of wallets', behind: '', short: ' threads' },
  'in-flight': { noun: 'number of operations in flight per wallet', behind: '', short: ' in flight' },
  connections: { noun: 'number of connections', behind: '', short: ' connections' },
});

const threeDigits = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });
const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** @param {string} name of the option @param {number} value */
export function valueText(name, value) {
  return `${number(name, value)}${WORDS[name].short}`;
}

/** @param {string} name @param {Trial} trial @param {readonly string[]} figures of conditions that hold */
export function trialText(name, { value, holds, failed }, figures) {
  const words = holds ? figures : failed;
  return `${valueText(name, value).padEnd(18)} ${holds ? 'holds' : 'fails'}  ${words.join(', ')}`.trimEnd();
}

/**
 * @typedef {object} Outcome
 * @property {string} name of the option
 * @property {readonly string[]} until
 * @property {boolean} isRateHeld whether the rate had to be held as well
 * @property {End} end
 * @property {Figures} figures
 * @property {{lowest: number, highest: number}} scale
 * @property {number} trials
 */

/** @param {Outcome} outcome @returns {string} one sentence */
export function answerText({ name, until, isRateHeld, end, figures, scale, trials }) {
  const { noun, behind } = WORDS[name];
  const suffix = isRateHeld ? ' with the rate held' : '';
  const holds = `${list(until)} ${until.length === 1 ? 'holds' : 'hold'}${suffix}`;
  const runs = `${trials} run${trials === 1 ? '' : 's'}`;
  const show = (/** @type {number} */ value) => number(name, value);
  if (trials === 0) return `no run has said yet for which ${noun} ${holds}`;
  if (end === 'at least')
    return `${holds} at ${show(scale.highest)}${behind}, the highest that was asked for: the highest ${noun} is at least that (${runs})`;
  if (end === 'below')
    return `${list(until)} ${refusal(until)}${suffix} at ${show(scale.lowest)}${behind}, the lowest that was asked for: the highest ${noun} is below that (${runs})`;
  const interval = `${Math.round(100 * CONFIDENCE)} % interval ${show(figures.low)} to ${show(figures.high)}, ${runs}`;
  const answer = `the highest ${noun} for which ${holds} is ${show(figures.estimate)}${behind} (${interval})`;
  if (end === null) return `so far, ${answer}`;
  return end === 'sharp' ? answer : `${answer}; noise forbids a sharper answer: runs in there hold and fail by turns`;
}

/** @param {readonly string[]} until */
function refusal({ length }) {
  if (length === 1) return 'does not hold';
  return length === 2 ? 'do not both hold' : 'do not all hold';
}

/** @param {readonly string[]} words */
function list(words) {
  return words.length === 1 ? words[0] : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

/**
 * Why a run above the answer failed.
 * @param {string} name
 * @param {Trial} trial
 * @param {RunVerdict | null} verdict of its run
 */
export function limitText(name, { value, failed }, verdict) {
  const words = verdict === null ? [] : [`${verdict.name}: ${verdict.evidence}`];
  const ours = whoseLimit(name, verdict);
  return `at ${valueText(name, value)}: ${[...failed, ...words, ...(ours === null ? [] : [ours])].join('; ')}`;
}

/** Limits other than the node. @type {Readonly<Record<string, string>>} */
const OTHER_LIMITS = Object.freeze({
  'concurrency-bound': 'the number of wallets was the limit, not the node: -t or --in-flight would ask for more',
  'generator-bound': 'this machine was the limit, not the node',
  'port-bound': 'local ports were the limit, not the node',
  'endpoint-limited': 'a limit that the endpoint sets was the limit, not what the node can take',
  'endpoint-down': 'the endpoint was down: what the node can take is not known',
  funds: 'wallets without funds were the limit, not the node',
});

/** @param {string} name of the option @param {RunVerdict | null} verdict @returns {string | null} null: the node, or unknown */
export function whoseLimit(name, verdict) {
  // The search varies the number of wallets.
  if (name !== 'rate' && verdict?.name === 'concurrency-bound') return null;
  return OTHER_LIMITS[verdict?.name ?? ''] ?? null;
}

/** @param {string} name @param {number} value */
function number(name, value) {
  return (name === 'rate' && value < 1000 ? threeDigits : whole).format(value);
}
