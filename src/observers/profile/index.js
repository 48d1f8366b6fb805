import { asMembers, isUnknown, orUnknown, unknown } from '../../stats/unknown.js';

/**
 * --node-profile: where the CPU time of a node went in the window. Profiles are read and added up by a thread of their own;
 * this is the side of the run.
 *
 * @import { Clock } from '../../contracts/common.d.ts'
 * @import { LoadConfig, LoadPlan } from '../../contracts/load.d.ts'
 * @import { NodeProfile, Unknown } from '../../contracts/run-file.d.ts'
 * @import { ObserverRow } from '../index.js'
 * @import { RunObserver, SideThread, Warn } from '../observer.d.ts'
 */

/** The thread waits for no answer when the load is over. */
const REPORT_MS = 5000;

const NO_LOCKS =
  'the node recorded no waiting for locks: there was none, or its profile of locks is off (geth: debug_setMutexProfileFraction)';

/** @implements {RunObserver} */
class ProfileObserver {
  #thread;
  #times;
  /** @type {NodeProfile[] | Unknown} */
  #profiles = unknown('no profile had been read when this file was written');
  /** @type {Warn} */
  #warnOnce = () => {};

  /**
   * @param {(onMessage: (message: any) => void) => SideThread} openThread
   * @param {Pick<LoadConfig, 'warmupMs' | 'durationMs'> & {clock: Clock}} times
   * @param {AbortSignal} cut the load ends before its time: what is read then is not of the window
   */
  constructor(openThread, times, cut) {
    this.#times = times;
    /** @type {() => void} */
    let begun = () => {};
    const hasBegun = new Promise((resolve) => (begun = () => resolve(null)));
    this.#thread = openThread((/** @type {{profiles?: NodeProfile[]}} */ { profiles }) => {
      if (profiles === undefined) return begun();
      this.#profiles = profiles;
      for (const { source, stacks, missing } of profiles) {
        const [why] = Object.keys(missing);
        // Nothing at all was read; one profile that is missing is a note.
        if (stacks === null && why !== undefined) this.#warnOnce('profile', `--node-profile ${source}: ${why}`);
      }
    });
    cut.addEventListener('abort', () => this.#thread.post({ isOver: true }), { once: true });
    /** Resolves when the thread can read profiles: on a busy machine it takes seconds to start. */
    this.ready = Promise.race([hasBegun, this.#thread.result]);
  }

  /** @param {{warnOnce?: Warn}} run */
  begin({ warnOnce = () => {} }) {
    this.#warnOnce = warnOnce;
    const { warmupMs, durationMs } = this.#times;
    if (typeof warmupMs === 'number') this.#thread.post({ startMs: warmupMs, windowMs: durationMs ?? Infinity });
  }

  /** After an automatic warm-up. @param {LoadPlan} plan */
  window({ startUs, endUs }) {
    const startMs = Math.max(0, startUs - this.#times.clock.nowUs()) / 1000;
    this.#thread.post({ startMs, windowMs: (endUs - startUs) / 1000 });
  }

  async drained() {
    const result = /** @type {NodeProfile[] | {why: string}} */ (
      await this.#thread.finish({ isOver: true }, REPORT_MS)
    );
    if (!('why' in result)) this.#profiles = result;
    // What was read before stays.
    else if (isUnknown(this.#profiles)) this.#profiles = unknown(result.why);
  }

  describe() {
    const profiles = this.#profiles;
    if (isUnknown(profiles)) return asMembers({ nodeProfile: profiles });
    const all = profiles.map(({ stacks, locks = null, ...one }) => ({
      ...one,
      stacks: orUnknown(stacks, whyMissing(one)),
      locks: orUnknown(locks, NO_LOCKS),
    }));
    return asMembers({ nodeProfile: all });
  }
}

/** @param {Pick<NodeProfile, 'missing'>} profile */
function whyMissing({ missing }) {
  return Object.keys(missing)[0] ?? 'no profile was complete before the end of the window';
}

/** @type {ObserverRow} */
export const profile = {
  open: async ({ load, network: { insecure }, chain: { nodeProfile = [] } }, given) => {
    const { openThread, unlessStopped, nodePid, clock, stop } = given;
    if (nodeProfile.length === 0) return null;
    const sources = nodeProfile.map(({ name, url }) => ({ name, url: url?.href ?? null, pid: nodePid }));
    const module = new URL('thread.js', import.meta.url);
    const open = (/** @type {(message: unknown) => void} */ onMessage) =>
      openThread(module, { sources, insecure }, onMessage);
    const profiles = new ProfileObserver(open, { ...load, clock }, stop.drain);
    await unlessStopped(() => profiles.ready);
    return profiles;
  },
};
