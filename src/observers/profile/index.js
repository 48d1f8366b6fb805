import { asMembers, isUnknown, orUnknown, unknown } from '../../stats/unknown.js';

/**
 * --node-profile: where the CPU time of a node went in the window. Profiles are read and added up by a thread of their own;
 * this is the side of the run.
 *
 * @import { Snapshot } from '../../contracts/load.d.ts'
 * @import { NodeProfile, Unknown } from '../../contracts/run-file.d.ts'
 * @import { ObserverRow } from '../index.js'
 * @import { RunObserver, SideThread } from '../observer.d.ts'
 */

/** The thread waits for no answer when the load is over. */
const REPORT_MS = 5000;

/** @implements {RunObserver} */
class ProfileObserver {
  #thread;
  /** Snapshots before the load have no window yet. */
  #isLoading = false;
  #isProfiling = false;
  /** @type {NodeProfile[] | Unknown} */
  #profiles = unknown('no profile had been read when this file was written');

  /** @param {(onMessage: (message: any) => void) => SideThread} openThread */
  constructor(openThread) {
    this.#thread = openThread((/** @type {{profiles: NodeProfile[]}} */ { profiles }) => (this.#profiles = profiles));
  }

  begin() {
    this.#isLoading = true;
  }

  /** @param {Snapshot} snapshot */
  snapshot({ atUs, window: { startUs, endUs } }) {
    if (!this.#isLoading || this.#isProfiling || atUs < startUs) return;
    this.#isProfiling = true;
    this.#thread.post({ windowMs: Math.max(0, endUs - atUs) / 1000 });
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
    const all = profiles.map(({ stacks, ...one }) => ({ ...one, stacks: orUnknown(stacks, whyMissing(one)) }));
    return asMembers({ nodeProfile: all });
  }
}

/** @param {Pick<NodeProfile, 'missing'>} profile */
function whyMissing({ missing }) {
  return Object.keys(missing)[0] ?? 'no profile was complete before the end of the window';
}

/** @type {ObserverRow} */
export const profile = {
  open: async ({ network: { insecure }, chain: { nodeProfile = [] } }, { openThread, nodePid }) => {
    if (nodeProfile.length === 0) return null;
    const sources = nodeProfile.map(({ name, url }) => ({ name, url: url?.href ?? null, pid: nodePid }));
    const module = new URL('thread.js', import.meta.url);
    return new ProfileObserver((onMessage) => openThread(module, { sources, insecure }, onMessage));
  },
};
