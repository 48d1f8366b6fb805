/**
 * @import { ComparedMetric } from './compare.js'
 * @import { Change } from './decide.js'
 */

/**
 * What a comparison says, in sentences: the same in its file, on the terminal and on the page.
 */

/** @param {boolean} isPaired @param {string} why @param {number} needed */
export function methodWords(isPaired, why, needed) {
  return isPaired
    ? `Paired: ${why}. The log ratios of the pairs are flipped in sign; below ${needed} pairs no outcome could be told from chance.`
    : `Unpaired: ${why}. The logs are exchanged between the sides; below ${needed} runs on each side no outcome could be told from chance.`;
}

/**
 * @param {object} comparison
 * @param {readonly ComparedMetric[]} comparison.metrics the first of them decides
 * @param {{pairs: number | null, runs: {base: number, candidate: number}, minimum: number}} comparison.method
 * @param {boolean} isApart one side always ran before the other
 */
export function verdictOf({ metrics: [{ label, word, change, p }], method: { pairs, runs, minimum } }, isApart) {
  const size =
    pairs === null ? `${runs.base} and ${runs.candidate} runs` : `${pairs} ${pairs === 1 ? 'pair' : 'pairs'}`;
  const noun = pairs === null ? 'runs on each side' : 'pairs';
  if (word === 'too few runs')
    return {
      word,
      sentence: `${size} ${pairs === 1 ? 'is' : 'are'} too few for a verdict on ${label}: make at least ${minimum} ${noun}`,
    };
  const evidence = `${rangeText(change)}, p ${pText(p)}, ${size}`;
  const percent = percentText(change.estimate);
  if (word === 'no difference shown')
    return { word, sentence: `no difference of ${label} is shown: it changed by ${percent} (${evidence})` };
  // The test takes it that the order of the runs does not matter.
  const caveat = isApart ? ', if nothing else changed between their runs' : '';
  return { word, sentence: `CANDIDATE is ${word} than BASE: ${label} changed by ${percent} (${evidence})${caveat}` };
}

const oneDecimal = new Intl.NumberFormat('en-US', {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
  signDisplay: 'exceptZero',
});
const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0, signDisplay: 'exceptZero' });

/** With its sign. @param {number | null} fraction */
export function percentText(fraction) {
  if (fraction === null) return '-';
  const percent = 100 * fraction;
  return `${(Math.abs(percent) < 100 ? oneDecimal : whole).format(percent)} %`;
}

/** @param {Change} change */
export function rangeText({ low, high, confidence }) {
  const level = `${new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 }).format(100 * confidence)} %`;
  if (low === null || high === null) return `${level} interval without bounds`;
  return `${level} interval ${percentText(low)} to ${percentText(high)}`;
}

/** @param {number} p */
export function pText(p) {
  return p < 0.0005 ? '< 0.001' : p.toFixed(3);
}
