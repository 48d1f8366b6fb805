import { CONFIDENCE } from './threshold-estimate.js';

/**
 * What a search says.
 *
 * @typedef {import('./threshold-estimate.js').End} End
 * @typedef {import('./sweep-file.js').Trial} Trial
 */

/** How the values of an option are called. @type {Record<string, {noun: string, behind: string, short: string}>} */
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

/**
 * A line of the terminal for a run.
 * @param {string} name
 * @param {Trial} trial
 * @param {readonly string[]} figures of what holds
 */
export function trialText(name, { value, holds, failed }, figures) {
  const words = holds ? figures : failed;
  return `${valueText(name, value).padEnd(18)} ${holds ? 'holds' : 'fails'}  ${words.join(', ')}`.trimEnd();
}

/**
 * @typedef {object} Outcome
 * @property {string} name of the option
 * @property {readonly string[]} until
 * @property {boolean} isRateImplied
 * @property {End} end
 * @property {import('./threshold-estimate.js').Figures} figures
 * @property {{lowest: number, highest: number}} scale
 * @property {number} trials
 */

/** @param {Outcome} outcome @returns {string} one sentence */
export function answerText({ name, until, isRateImplied, end, figures, scale, trials }) {
  const { noun, behind } = WORDS[name];
  const conditions = [...until, ...(isRateImplied ? ['the rate held'] : [])];
  const condition = conditions.length === 1 ? conditions[0] : `all of ${conditions.join(', ')}`;
  const runs = `${trials} run${trials === 1 ? '' : 's'}`;
  const show = (/** @type {number} */ value) => number(name, value);
  if (trials === 0) return `no run has said yet for which ${noun} ${condition} holds`;
  if (end === 'at least')
    return `${condition} holds at ${show(scale.highest)}${behind}, the highest that was asked for: the highest ${noun} for which it holds is at least that (${runs})`;
  if (end === 'below')
    return `${condition} does not hold at ${show(scale.lowest)}${behind}, the lowest that was asked for: the highest ${noun} for which it holds is below that (${runs})`;
  const interval = `${Math.round(100 * CONFIDENCE)} % interval ${show(figures.low)} to ${show(figures.high)}, ${runs}`;
  const answer = `the highest ${noun} for which ${condition} holds is ${show(figures.estimate)}${behind} (${interval})`;
  if (end === null) return `so far, ${answer}`;
  return end === 'sharp' ? answer : `${answer}; noise forbids a sharper answer: runs in there hold and fail by turns`;
}

/**
 * What the runs beyond the answer fell short of.
 * @param {string} name
 * @param {Trial} trial
 * @param {{name: string, evidence: string} | null} verdict of its run
 */
export function limitText(name, { value, failed }, verdict) {
  const words = verdict === null ? [] : [`${verdict.name}: ${verdict.evidence}`];
  return `at ${valueText(name, value)}: ${[...failed, ...words].join('; ')}`;
}

/** @param {string} name @param {number} value */
function number(name, value) {
  return (name === 'rate' && value < 1000 ? threeDigits : whole).format(value);
}
