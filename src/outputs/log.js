import { openSync } from 'node:fs';
import { pino } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { displayUrl } from '../chain/rpc.js';
import { OutputError, displayName, oneLine } from '../errors.js';
import { FILE_MODE, cannotWrite } from '../files.js';
import { OutputStream, fileStream, stderr } from './streams.js';
import { wantsColors } from './terminal.js';

/** @import { Level, Logger, StreamEntry } from 'pino' */

/** Values with these names are hidden in logs. */
const SECRET_NAMES = ['privateKey', 'authorization', 'password'];

/** Depth of logged values, because responses of an endpoint may be deep. */
const DEEPEST = 12;

/**
 * Logs: text or JSON on standard error, JSON in a file.
 * @param {{logLevel: string, logFormat?: string, logFile: string | null, quiet: boolean, hasScreen?: boolean, secretKeys: Iterable<string>}} options
 *   secretKeys: other names whose values are not shown
 * @returns {Logger}
 */
export function createLog({ logLevel, logFormat = 'text', logFile, quiet, hasScreen = true, secretKeys }) {
  const secrets = [...SECRET_NAMES, ...secretKeys];
  const colors = {
    colorize: wantsColors(process.stderr),
    customColors: 'warn:yellow,error:red,fatal:red,message:reset',
  };
  const pretty = prettyFactory({ ...colors, ignore: 'pid,hostname,time', singleLine: true });
  const screen = { write: (/** @type {string} */ line) => stderr.write(logFormat === 'json' ? line : pretty(line)) };
  /** @type {StreamEntry[]} */
  const streams = [];
  const screenLevel = quiet && logLevel !== 'silent' ? 'error' : logLevel;
  if (hasScreen && screenLevel !== 'silent') {
    streams.push({ level: /** @type {Level} */ (screenLevel), stream: screen });
  }
  if (logFile !== null) {
    try {
      streams.push({
        level: /** @type {Level} */ (FILE_LEVELS[logLevel] ?? logLevel),
        stream: openLogFile(logFile),
      });
    } catch (error) {
      throw new OutputError(
        `cannot write the log file ${displayName(logFile)}: ${oneLine(/** @type {Error} */ (error).message)}`,
      );
    }
  }
  return pino(
    {
      level: 'trace',
      formatters: { log: (object) => redactMembers(object, secrets) },
      // Pino does not pass the bindings of child loggers to formatters.
      redact: { paths: secrets, censor: '[redacted]' },
    },
    pino.multistream(streams),
  );
}

/** @param {string} name */
function openLogFile(name) {
  const file = new OutputStream(fileStream(openSync(name, 'a', FILE_MODE)));
  file.stream.once('error', (error) => stderr.write(`stress: ${cannotWrite(name, error).message}\n`));
  return file;
}

/** A file tells more than the screen unless told otherwise: it does not get in the way. @type {Record<string, string>} */
const FILE_LEVELS = { warn: 'info' };

/** @param {object} object what is logged @param {readonly string[]} secrets @returns {Record<string, unknown>} */
function redactMembers(object, secrets) {
  return /** @type {Record<string, unknown>} */ (redact(object, DEEPEST, secrets));
}

/**
 * A copy without secrets at any depth.
 * @param {unknown} value
 * @param {number} depth how many levels below this one are shown
 * @param {readonly string[]} secrets names of members
 * @returns {unknown}
 */
function redact(value, depth, secrets) {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof URL) return displayUrl(value);
  if (value instanceof Date) return value.toISOString();
  if (depth === 0) return '[deeper]';
  // A byte array may be a key.
  if (ArrayBuffer.isView(value)) return '[bytes]';
  if (Array.isArray(value)) return value.map((one) => redact(one, depth - 1, secrets));
  const members = value instanceof Error ? { ...value, ...errorMembers(value) } : value;
  return Object.fromEntries(
    Object.entries(members).map(([name, member]) => {
      const isSecret = secrets.some((secret) => secret.toLowerCase() === name.toLowerCase());
      return [name, isSecret ? '[redacted]' : redact(member, depth - 1, secrets)];
    }),
  );
}

/** What an error does not list as its members. @param {Error} error */
function errorMembers({ name, message, stack, cause }) {
  return { type: name, message, stack, ...(cause === undefined ? {} : { cause }) };
}
