import { realpathSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { InterruptedError, StressError, WorkloadError, displayName, oneLine } from '../errors.js';

/**
 * Errors of a workload of the user's own, told by its file, line and column.
 */

/** Where this program's own files are. */
const OURS = Object.freeze([new URL('../', import.meta.url).href, fileURLToPath(new URL('../', import.meta.url))]);

/** How long may take what is neither an operation nor Ctrl-C's to end, in milliseconds. */
const PATIENCE_MS = 60_000;

/**
 * @param {unknown} error
 * @param {string} file as the user gave it
 * @returns {string} such as mine.js:12:5, where the error came through the file; otherwise its name
 */
export function placeOf(error, file) {
  const name = displayName(file);
  const stack = error instanceof Error ? String(error.stack) : '';
  for (const known of [pathToFileURL(realOf(file)).href, realOf(file)]) {
    const at = stack.indexOf(`${known}:`);
    const place = at < 0 ? null : /^:\d+(:\d+)?/.exec(stack.slice(at + known.length));
    if (place) return name + place[0];
  }
  return name;
}

/**
 * @param {unknown} error
 * @param {string} file
 * @returns {string | null} such as helpers.js:3:7, seen from the file's folder, where the error came from another of the
 *   user's files; null where none of them is named
 */
export function otherPlaceOf(error, file) {
  const stack = error instanceof Error ? String(error.stack) : '';
  for (const [, path, at] of stack.matchAll(
    /(?:\(|\bat (?:async )?)((?:file:\/\/)?\/[^\n()]+?)(:\d+(?::\d+)?)\)?$/gm,
  )) {
    if (OURS.some((folder) => path.startsWith(folder))) continue;
    return seenFrom(file, path) + at;
  }
  return null;
}

/** The name of a file, seen from the folder of another. @param {string} file @param {string} other path or file: URL */
export function seenFrom(file, other) {
  const path = other.startsWith('file:') ? fileURLToPath(other) : other;
  return displayName(relative(dirname(realOf(file)), path));
}

/** Whether a file of this program's own is named by the stack. @param {unknown} error */
export function isThroughUs(error) {
  const stack = error instanceof Error ? String(error.stack) : '';
  return OURS.some((folder) => stack.includes(folder));
}

/** Stacks name the file that a link leads to. @param {string} file */
function realOf(file) {
  try {
    return realpathSync(file);
  } catch {
    return resolve(file);
  }
}

/**
 * What was thrown, as an error that points into the file. Errors of ours, such as a connection that was lost, stay what
 * they are.
 * @param {unknown} error
 * @param {string} file
 * @param {string} what threw it
 * @returns {StressError}
 */
export function blame(error, file, what) {
  if (error instanceof StressError) return error;
  return new WorkloadError(`${placeOf(error, file)}: ${what} threw: ${wordsOf(error)}`);
}

/** @param {unknown} error anything can be thrown */
export function wordsOf(error) {
  return oneLine(error instanceof Error ? error.message || error.name : error);
}

/**
 * A Ctrl-C ends what does not end by itself.
 * @template T
 * @param {AbortSignal} signal
 * @param {T | Promise<T>} action
 * @returns {Promise<T>}
 */
export async function unlessAborted(signal, action) {
  /** @type {() => void} */
  let onAbort = () => {};
  /** @type {Promise<never>} */
  const aborted = new Promise((_, reject) => {
    onAbort = () => reject(new InterruptedError('interrupted during set-up'));
  });
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([action, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * @template T
 * @param {T | Promise<T>} action
 * @param {string} words what has not ended then
 * @param {number} [ms]
 * @returns {Promise<T>}
 */
export async function within(action, words, ms = PATIENCE_MS) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new WorkloadError(`${words} has not ended after ${ms / 1000} s`)), ms);
  });
  try {
    return /** @type {T} */ (await Promise.race([action, late]));
  } finally {
    clearTimeout(timer);
  }
}
