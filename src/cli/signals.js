import { EXIT, InternalError } from '../errors.js';
import { cannotWrite } from '../files.js';
import { stdout } from '../output/streams.js';

/**
 * @import { Clock } from '../clock.js'
 * @import { StressError } from '../errors.js'
 * @import { Stop } from '../run/stop.js'
 */

/**
 * A signal this soon after another is the same wish: npm, for one, passes on a Ctrl-C that the terminal has sent
 * to us already. Nobody means "at once" before having seen that the first one did something.
 */
const SAME_WISH_US = 300_000;

/** Somebody still wants to read what cannot be written, unlike the reader of a pipe or a terminal that is gone. */
const NO_ROOM = Object.freeze(['ENOSPC', 'EDQUOT', 'EFBIG']);

/**
 * What the outside can do to a run: the first signal asks for an end, the second ends it at once.
 * @param {Stop} stop
 * @param {Clock} clock
 * @param {(thrown: unknown) => StressError | null} [ofWorkload] whether the user's own workload threw it
 * @returns {() => void} takes the handlers away again
 */
export function connectSignals(stop, clock, ofWorkload = () => null) {
  /** @type {Array<[NodeJS.EventEmitter, string, (...args: any[]) => void]>} */
  const handlers = [];
  /** @param {NodeJS.EventEmitter} emitter @param {string} event @param {(...args: any[]) => void} handler */
  const on = (emitter, event, handler) => {
    emitter.on(event, handler);
    handlers.push([emitter, event, handler]);
  };
  let firstAtUs = Infinity;
  /** @param {string} reason @param {number} exitCode */
  const signal = (reason, exitCode) => () => {
    const nowUs = clock.nowUs();
    if (nowUs - firstAtUs > SAME_WISH_US) stop.hurry();
    firstAtUs = Math.min(firstAtUs, nowUs);
    stop.request(reason, exitCode);
  };
  on(process, 'SIGINT', signal('interrupted', EXIT.interrupted));
  on(process, 'SIGTERM', signal('terminated', EXIT.terminated));
  on(process, 'SIGHUP', signal('hangup', EXIT.hangup));
  // Whoever started us with a channel to us is gone: nothing of theirs outlives them.
  if (process.channel !== undefined) on(process, 'disconnect', signal('terminated', EXIT.terminated));
  /** @param {unknown} thrown */
  const bug = (thrown) => {
    const theirs = ofWorkload(thrown);
    if (theirs !== null) return stop.request('workload_failed', theirs.exitCode, theirs);
    const words = thrown instanceof Error ? thrown.message : String(thrown);
    stop.request('internal', EXIT.internal, new InternalError(`unexpected: ${words}. This is a bug of stress`, thrown));
  };
  on(process, 'uncaughtException', bug);
  on(process, 'unhandledRejection', bug);
  // A reader that has gone away (stress | head), or a closed terminal, ends the run in good order.
  on(stdout.stream, 'error', (/** @type {NodeJS.ErrnoException} */ error) => {
    if (!NO_ROOM.includes(error.code ?? '')) stop.request('output_closed');
    else stop.request('output_closed', EXIT.cannotWrite, cannotWrite('standard output', error));
  });
  return () => handlers.forEach(([emitter, event, handler]) => emitter.off(event, handler));
}
