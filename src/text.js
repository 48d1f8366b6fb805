import { UNSEEN_CHARACTERS } from './errors.js';

/** Text that every command prints. */

/** Replaces control characters in text from outside, so that it cannot control the terminal. @param {string} text */
export function printable(text) {
  return text.replace(/[^\P{Cc}\n]+/gu, ' ').replace(UNSEEN_CHARACTERS, ' ');
}
