import { pino } from 'pino';
import pretty from 'pino-pretty';
import { OutputError } from '../errors.js';

/** Wherever these names appear in something that is logged, the value is not shown. */
const SECRET_NAMES = ['privateKey', 'mnemonic', 'fundFrom', 'keys', 'authorization', 'password'];

/**
 * Logs: for people on standard error, as JSON in a file.
 * @param {{logLevel: string, logFile: string | null, quiet: boolean, hasScreen?: boolean}} options
 * @returns {import('pino').Logger}
 */
export function createLog({ logLevel, logFile, quiet, hasScreen = true }) {
  const screen = pretty({
    destination: 2,
    sync: true,
    colorize: process.stderr.isTTY,
    ignore: 'pid,hostname,time',
    singleLine: true,
  });
  /** @type {import('pino').StreamEntry[]} */
  const streams = [];
  const screenLevel = quiet && logLevel !== 'silent' ? 'error' : logLevel;
  if (hasScreen && screenLevel !== 'silent') {
    streams.push({ level: /** @type {import('pino').Level} */ (screenLevel), stream: screen });
  }
  if (logFile !== null) {
    try {
      streams.push({
        level: /** @type {import('pino').Level} */ (FILE_LEVELS[logLevel] ?? logLevel),
        stream: pino.destination({ dest: logFile, sync: true, append: true }),
      });
    } catch (error) {
      throw new OutputError(`cannot write the log file ${logFile}: ${/** @type {Error} */ (error).message}`);
    }
  }
  return pino(
    {
      level: 'trace',
      redact: {
        paths: SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`, `*.*.*.${name}`]),
        censor: '[redacted]',
      },
    },
    pino.multistream(streams),
  );
}

/** A file tells more than the screen unless told otherwise: it does not get in the way. @type {Record<string, string>} */
const FILE_LEVELS = { warn: 'info' };
