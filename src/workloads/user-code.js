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
  withoutKeys,
} from '../errors.js';
import { onAbort } from '../clock.js';
import { isWorkloadFile } from '../files.js';
import { similarNames } from '../similar-names.js';

/** Calls code of the user, and turns what it throws into errors that name the file. */

/** Files of this program, of packages and of Node, as they stand in a stack. */
const NOT_OF_USERS = Object.freeze([new URL('../', import.meta.url).href, 'node_modules', 'node:']);

/** Time limit of functions that are called once. */
const TIMEOUT_MS = 60_000;

/** The first line of a stack that has a file of the user, as Node prints it. @param {unknown} thrown */
function lineOf(thrown) {
  const lines = thrown instanceof Error ? String(thrown.stack).split('\n') : [];
  return lines.find((line) => /^ +at .*:\d+:\d+\)?$/.test(line) && !NOT_OF_USERS.some((part) => line.includes(part)));
}

/** @param {unknown} thrown any value */
export function messageOf(thrown) {
  const line = lineOf(thrown);
  // In a URL the name of a file would be hidden, as a secret of an endpoint is.
  const where = line === undefined ? '' : ` (${oneLine(line.replace('file://', ''), 200)})`;
  return oneLine(thrown instanceof Error ? thrown.message || thrown.name : thrown) + where;
}

/** @param {unknown} value for messages */
export function describeValue(value) {
  return oneLine(inspect(value, { depth: 1, breakLength: Infinity, maxStringLength: 60 }), 120);
}

/** Errors of this program, such as a lost connection, stay as they are. @param {unknown} error @param {string | null} file null: of a built-in workload @param {string} what threw it @param {UserSettings} [settings] */
export function locateError(error, file, what, settings) {
  if (error instanceof StressError || file === null) return error;
  return new WorkloadError(`${displayName(file)}: ${what} threw: ${messageOf(error)}${settings?.hint ?? ''}`);
}

/** The values of --set, which remember the names that the workload has read. */
export class UserSettings {
  /** @type {Set<string>} */
  #read = new Set();
  #given;

  /** @param {readonly (readonly [string, string])[]} pairs */
  constructor(pairs) {
    this.#given = new Set(pairs.map(([name]) => name));
    /** @type {Readonly<Record<string, string>>} */
    this.set = new Proxy(Object.freeze(Object.fromEntries(pairs)), {
      get: (values, name) => {
        if (typeof name === 'string') this.#read.add(name);
        return Reflect.get(values, name);
      },
    });
  }

  /** For the end of an error of the workload: the names that it reads, and what a name may mean that it does not read. */
  get hint() {
    const shown = (/** @type {string} */ name) => oneLine(withoutKeys(name), 60);
    const lacking = [...this.#read].filter((name) => !this.#given.has(name));
    const unread = [...this.#given].filter((name) => !this.#read.has(name));
    const all = [...this.#read].map((name) => `--set ${shown(name)}=VALUE`);
    const missing = lacking.length > 0 ? ` (not given: ${lacking.map(shown).join(', ')})` : '';
    const wrong = unread.map((name) => {
      const [best] = similarNames(name, lacking);
      return `; it has not read --set ${shown(name)}${best === undefined ? '' : `: did you mean ${shown(best)}?`}`;
    });
    return all.length === 0 ? '' : `; it reads ${all.join(', ')}${missing}${wrong.join('')}`;
  }
}

/** Before the load a request that the node refuses is an error of the user's workload. @template T @param {string | null} file @param {string} what @param {() => T | Promise<T>} action @returns {Promise<T>} */
export async function beforeLoad(file, what, action) {
  try {
    return await action();
  } catch (error) {
    const isRefused = error instanceof RpcError && error.method !== 'eth_sendRawTransaction';
    if (file === null || !isRefused) throw locateError(error, file, what);
    throw new WorkloadError(`${displayName(file)}: ${what} was refused by the node: ${error.message}`);
  }
}

/** Rejects when the signal aborts. @template T @param {AbortSignal} signal @param {T | Promise<T>} action @param {() => Error} [reason] @returns {Promise<T>} */
export async function unlessAborted(signal, action, reason = () => new InterruptedError('interrupted during set-up')) {
  let leave = () => {};
  /** @type {Promise<never>} */
  const aborted = new Promise((_, reject) => {
    leave = onAbort(signal, () => reject(reason()));
    if (signal.aborted) reject(reason());
  });
  try {
    return await Promise.race([action, aborted]);
  } finally {
    leave();
  }
}

/** @template T @param {T | Promise<T>} action @param {string} name of the action @returns {Promise<T>} */
export async function inTime(action, name) {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), TIMEOUT_MS);
  const words = `${name} has not ended after ${TIMEOUT_MS / 1000} s`;
  return unlessAborted(late.signal, action, () => new WorkloadError(words)).finally(() => clearTimeout(timer));
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
  const isOfRequest = [RpcError, TransportError, ProtocolError].some((kind) => thrown instanceof kind);
  const isOurs = thrown instanceof Error && String(thrown.stack).includes(NOT_OF_USERS[0]);
  if (isOurs && lineOf(thrown) === undefined && !isOfRequest) return null;
  return new WorkloadError(`${displayName(workload)}: an error outside of its functions: ${messageOf(thrown)}`);
}
