import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import {
  InterruptedError,
  ProtocolError,
  RpcError,
  StressError,
  TransportError,
  WorkloadError,
  displayName,
  oneLine,
} from '../errors.js';
import { isWorkloadFile } from '../files.js';

/** Calls code of the user, and turns what it throws into errors that name the file and the line. */

/** This program's own files, as they stand in a stack. */
const OWN_FOLDER = new URL('../', import.meta.url).href;

/** Time limit of functions that are called once. */
const TIMEOUT_MS = 60_000;

/** Files, lines and columns in a stack, as Node prints them. @param {unknown} error */
function positionsOf(error) {
  const stack = error instanceof Error ? String(error.stack) : '';
  const lines = stack.matchAll(/^ +at (?:.*[ (])?((?:file:\/\/|\/|[A-Z]:\\)[^\n()]+:\d+:\d+)\)?$/gm);
  return [...lines].map(([, position]) => position);
}

/** @param {string} position */
function isOfUser(position) {
  return !position.startsWith(OWN_FOLDER) && !/[\\/]node_modules[\\/]/.test(position);
}

/**
 * @param {unknown} error
 * @param {string} file the workload, as the user gave it
 * @returns {string} such as mine.js:12:5, or the file alone if no line of the user is in the stack
 */
export function placeOf(error, file) {
  const position = positionsOf(error).find(isOfUser);
  if (position === undefined) return displayName(file);
  const path = position.startsWith('file:') ? fileURLToPath(position) : position;
  // Other files of the user have their whole path.
  return displayName(path.replace(`${resolve(file)}:`, `${file}:`));
}

/** @param {unknown} error any thrown value */
export function messageOf(error) {
  return oneLine(error instanceof Error ? error.message || error.name : error);
}

/** @param {unknown} value for messages */
export function describeValue(value) {
  return oneLine(inspect(value, { depth: 1, breakLength: Infinity, maxStringLength: 60 }), 120);
}

/** Errors of this program, such as a lost connection, stay as they are. @param {unknown} error @param {string} file @param {string} what threw it */
export function locateError(error, file, what) {
  if (error instanceof StressError) return error;
  return new WorkloadError(`${placeOf(error, file)}: ${what} threw: ${messageOf(error)}`);
}

/** Before the load a request that the node refuses is an error of the workload. @template T @param {string} file @param {string} what @param {() => T | Promise<T>} action @returns {Promise<T>} */
export async function beforeLoad(file, what, action) {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof RpcError) || error.method === 'eth_sendRawTransaction') throw locateError(error, file, what);
    throw new WorkloadError(`${placeOf(error, file)}: ${what} was refused by the node: ${error.message}`);
  }
}

/** Rejects when the signal aborts. @template T @param {AbortSignal} signal @param {T | Promise<T>} action @returns {Promise<T>} */
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

/** @template T @param {T | Promise<T>} action @param {string} name of the action @returns {Promise<T>} */
export async function inTime(action, name) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(
      () => reject(new WorkloadError(`${name} has not ended after ${TIMEOUT_MS / 1000} s`)),
      TIMEOUT_MS,
    );
  });
  try {
    return /** @type {T} */ (await Promise.race([action, late]));
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Errors outside of the workload's functions, for instance in a timer or an unhandled promise.
 * @param {string} workload name or file
 * @param {unknown} thrown
 * @returns {WorkloadError | null} null: only files of this program are in the stack
 */
export function strayErrorOf(workload, thrown) {
  if (!isWorkloadFile(workload)) return null;
  if (thrown instanceof WorkloadError) return thrown;
  const positions = positionsOf(thrown);
  const isOfRequest = [RpcError, TransportError, ProtocolError].some((kind) => thrown instanceof kind);
  const isOurs = !positions.some(isOfUser) && positions.some((position) => position.startsWith(OWN_FOLDER));
  if (isOurs && !isOfRequest) return null;
  return new WorkloadError(`${placeOf(thrown, workload)}: an error outside of its functions: ${messageOf(thrown)}`);
}
