import { UNSEEN_CHARACTERS } from './errors.js';

/** Text that is printed. */

/** Replaces control characters in text from outside, so that it cannot control the terminal. @param {string} text */
export function printable(text) {
  return text.replace(/[^\P{Cc}\n]+/gu, ' ').replace(UNSEEN_CHARACTERS, ' ');
}

/**
 * URLs without their secrets may be equal: these get a number.
 * @param {readonly string[]} displays
 * @returns {string[]}
 */
export function numbered(displays) {
  const isTwice = (/** @type {string} */ display) => displays.indexOf(display) !== displays.lastIndexOf(display);
  return displays.map((display, i) => (isTwice(display) ? `${display} (${i + 1})` : display));
}
