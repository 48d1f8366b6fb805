import { SingleBar } from 'cli-progress';

/**
 * A progress bar for the set-up on a terminal; nothing at all elsewhere.
 * @param {NodeJS.WriteStream} stream
 * @param {boolean} quiet
 * @returns {{update: (label: string, done: number, all: number) => void, stop: () => void}}
 */
export function createProgress(stream, quiet) {
  if (quiet || !stream.isTTY) return { update: () => {}, stop: () => {} };
  /** @type {SingleBar | null} */
  let bar = null;
  let current = '';
  const stop = () => {
    bar?.stop();
    bar = null;
    current = '';
  };
  return {
    update: (label, done, all) => {
      if (label !== current) {
        stop();
        current = label;
        bar = new SingleBar({
          format: '{label} [{bar}] {value}/{total}',
          stream,
          clearOnComplete: true,
          hideCursor: true,
          fps: 10,
        });
        bar.start(all, done, { label });
      }
      // While a terminal is stopped (Ctrl-S) what is drawn would pile up.
      if (!stream.writableNeedDrain) bar?.update(done);
      if (done >= all) stop();
    },
    stop,
  };
}
