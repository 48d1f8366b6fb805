import { UNSEEN_CHARACTERS } from './errors.js';

/** Text that every command prints. */

/** Lines that somebody else's words are in: nothing in them reaches the terminal but text. @param {string} text */
export function printable(text) {
  return text.replace(/[^\P{Cc}\n]+/gu, ' ').replace(UNSEEN_CHARACTERS, ' ');
}
