import { openSync } from 'node:fs';
import { pino } from 'pino';
import { FILE_MODE, cannotWrite } from '../files.js';
import { OutputStream, fileStream, stderr } from './streams.js';
import { paintOf } from './terminal.js';

/**
 * @import { Log } from '../contracts/common.d.ts'
 * @import { StreamEntry } from 'pino'
 * @import { Style } from './terminal.js'
 */

/** @type {Record<string, Style>} */
const STYLES = { info: 'green', warn: 'yellow', error: 'red', fatal: 'red' };

/** A file has more detail than the screen, unless a level was chosen. @type {Record<string, string>} */
const FILE_LEVELS = { warn: 'info' };

/**
 * Logs: text or JSON on standard error, JSON in a file.
 * @param {{logLevel: string, logFormat?: string, logFile: string | null, quiet: boolean, hasScreen?: boolean}} options
 * @returns {Log}
 * @throws {OutputError} the file cannot be written
 */
export function createLog({ logLevel, logFormat = 'text', logFile, quiet, hasScreen = true }) {
  const paint = paintOf(process.stderr);
  /** @param {string} line */
  const textOf = (line) => {
    const { level, msg } = JSON.parse(line);
    const name = pino.levels.labels[level];
    return `${paint(STYLES[name], name.toUpperCase())}: ${msg}\n`;
  };
  const screen = { write: (/** @type {string} */ line) => stderr.write(logFormat === 'json' ? line : textOf(line)) };
  const screenLevel = quiet && logLevel !== 'silent' ? 'error' : logLevel;
  const streams = /** @type {StreamEntry[]} */ ([
    ...(hasScreen && screenLevel !== 'silent' ? [{ level: screenLevel, stream: screen }] : []),
    ...(logFile === null ? [] : [{ level: FILE_LEVELS[logLevel] ?? logLevel, stream: openLogFile(logFile) }]),
  ]);
  const log = pino({ level: 'trace' }, pino.multistream(streams));
  return {
    info: (text) => log.info(text),
    warn: (text) => log.warn(text),
    error: (text) => log.error(text),
    fatal: (text, exitCode) => log.fatal({ exitCode }, text),
  };
}

/** For an output that warns at most a few times. @param {Parameters<typeof createLog>[0]} options */
export function warnBy(options) {
  return (/** @type {string} */ words) => createLog(options).warn(words);
}

/** @param {string} name */
function openLogFile(name) {
  try {
    const file = new OutputStream(fileStream(openSync(name, 'a', FILE_MODE)));
    file.stream.once('error', (error) => stderr.write(`stress: ${cannotWrite(name, error).message}\n`));
    return file;
  } catch (error) {
    throw cannotWrite(name, error);
  }
}
