import { UsageError } from '../errors.js';
import { quote } from './values.js';

/** The values of an option that a sweep takes: a list, ranges, or both. */

/** The most values of one option: more would be a mistake. */
const MOST_VALUES = 1000;

/**
 * @param {string} text such as 10,40,100..250/10
 * @param {string} label of the option, for messages
 * @returns {string[]} each as if it had been given alone, once and in the order of the text
 * @throws {UsageError}
 */
export function axisTexts(text, label) {
  const texts = text.split(',').flatMap((part) => rangeTexts(part.trim(), label));
  if (texts.includes(''))
    throw new UsageError(
      `${label} has an axis with an empty value: give a list such as 10,40 or a range such as 100..250/10`,
    );
  if (texts.length > MOST_VALUES)
    throw new UsageError(`${label} has ${texts.length} values: at most ${MOST_VALUES} are swept`);
  return [...new Set(texts)];
}

/**
 * The first and the last value of a range to search in.
 * @param {string} text such as 100..5000, or 100 alone
 * @returns {[string, string | null]}
 */
export function bracketTexts(text) {
  const [from, to = null] = text.split('/')[0].split('..');
  return [from.trim(), to?.trim() ?? null];
}

/** @param {string} text @param {string} label @returns {string[]} */
function rangeTexts(text, label) {
  if (!text.includes('..')) return [text];
  const match = /^(\d+(?:\.\d+)?)\.\.(\d+(?:\.\d+)?)(?:\/(\d+(?:\.\d+)?))?$/.exec(text);
  const [from, to, step] = [match?.[1], match?.[2], match?.[3] ?? '1'].map(Number);
  if (match === null || !(from <= to) || !(step > 0))
    throw new UsageError(`${label} has ${quote(text)}, which is no range: FROM..TO/STEP, such as 100..250/10`);
  const count = Math.floor((to - from) / step + 1e-9) + 1;
  if (count > MOST_VALUES)
    throw new UsageError(`${label} has ${count} values in ${quote(text)}: at most ${MOST_VALUES} are swept`);
  // Twelve digits: 0.1 + 2 * 0.1 is not to be 0.30000000000000004.
  return Array.from({ length: count }, (_, i) => String(Number((from + i * step).toPrecision(12))));
}
