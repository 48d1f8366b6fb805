/** @import { Control } from '../contracts/load.d.ts' */

/**
 * The side of the run of Control. Threads and the mix carry its messages without knowing them; the driver does what they say.
 *
 * @typedef {{verb: keyof Control, args: readonly unknown[], isForOne?: boolean}} ControlMessage isForOne: the first thread that
 *   takes it
 *
 * @typedef {{post: (message: ControlMessage) => Promise<boolean>}} Target an engine, or a thread of it
 */

/** @param {Target} engine @returns {Control} */
export function controlOf(engine) {
  /** @param {ControlMessage['verb']} verb */
  const tellAll =
    (verb) =>
    (/** @type {unknown[]} */ ...args) =>
      void engine.post({ verb, args });
  return {
    hold: tellAll('hold'),
    release: tellAll('release'),
    room: tellAll('room'),
    retime: tellAll('retime'),
    // Each has a part of the budget.
    charge: (wei) => engine.post({ verb: 'charge', args: [wei], isForOne: true }),
  };
}

/** @param {readonly Target[]} targets in their order @param {ControlMessage} message @returns {Promise<boolean>} whether one, or all, have taken it */
export async function postTo(targets, message) {
  if (!message.isForOne) return (await Promise.all(targets.map((target) => target.post(message)))).every(Boolean);
  for (const target of targets) if (await target.post(message)) return true;
  return false;
}
