import { EXIT, InternalError } from '../errors.js';

/**
 * What the outside can do to a run: the first signal asks for an end, the second ends it at once.
 * @param {import('../run/stop.js').Stop} stop
 * @returns {() => void} takes the handlers away again
 */
export function connectSignals(stop) {
  /** @type {Array<[NodeJS.EventEmitter, string, (...args: any[]) => void]>} */
  const handlers = [];
  /** @param {NodeJS.EventEmitter} emitter @param {string} event @param {(...args: any[]) => void} handler */
  const on = (emitter, event, handler) => {
    emitter.on(event, handler);
    handlers.push([emitter, event, handler]);
  };
  let asked = false;
  /** @param {string} reason @param {number} exitCode */
  const signal = (reason, exitCode) => () => {
    if (asked) stop.hurry();
    asked = true;
    stop.request(reason, exitCode);
  };
  on(process, 'SIGINT', signal('interrupted', EXIT.interrupted));
  on(process, 'SIGTERM', signal('terminated', EXIT.terminated));
  on(process, 'SIGHUP', signal('hangup', EXIT.hangup));
  /** @param {Error} error */
  const bug = (error) =>
    stop.request(
      'internal',
      EXIT.internal,
      new InternalError(`unexpected: ${error.message}. This is a bug of stress`, error),
    );
  on(process, 'uncaughtException', bug);
  on(process, 'unhandledRejection', bug);
  // A reader that has gone away (stress | head), or a closed terminal, ends the run in good order.
  on(process.stdout, 'error', () => stop.request('output_closed'));
  on(process.stderr, 'error', () => {});
  return () => handlers.forEach(([emitter, event, handler]) => emitter.off(event, handler));
}
