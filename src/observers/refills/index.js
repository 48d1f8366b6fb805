import { askAll, balanceOf } from '../../chain/answers.js';
import { asMembers, isUnknown, unknown } from '../../stats/unknown.js';
import { timeText } from '../../text.js';

/**
 * --refill-below: a thread pays wallets from the funder during the load; this is the side of the load, which owns the
 * budget. Without the option, BalanceWatch warns when a tenth of the funds of the wallets is left.
 *
 * @import { WalletPayments } from '../../contracts/load.d.ts'
 * @import { RunFile, Unknown, WithUnknown } from '../../contracts/run-file.d.ts'
 * @import { ObserverRow } from '../index.js'
 * @import { OpenOptions, RunObserver, SideThread } from '../observer.d.ts'
 *
 * @typedef {{hasBegun?: boolean, isEnding?: boolean, isOver?: boolean, isAborted?: boolean, isGranted?: boolean}} RefillMessage isEnding: the load starts nothing more;
 *   isGranted: answer of the budget
 * @typedef {{transactions: number, payments: number, valueWei: bigint, gasWei: bigint, isStated: boolean}} RefillFacts isStated:
 *   whether all receipts said what was paid for gas
 * @typedef {{facts: RefillFacts, paidWei: bigint[], open: number}} RefillResult open: transactions whose outcome is not known
 */

/** How long the end of the load waits for a payment under way, and for the thread. */
const FINISH_MS = 30_000;
const ANSWER_MS = 5000;

/** @returns {RefillFacts} */
const nothing = () => ({ transactions: 0, payments: 0, valueWei: 0n, gasWei: 0n, isStated: true });

/** The run's side. @implements {RunObserver} */
export class Refills {
  /** @type {WalletPayments} */
  payments = { why: 'the load has not ended' };
  /** By the last message of the thread; unknown: it did not end. @type {RefillFacts | Unknown} */
  #facts = nothing();
  /** At the end of the last interval. */
  #past = nothing();
  /** @type {bigint | null} */
  #funderWei = null;
  #stop;
  #thread;
  /** @type {Parameters<NonNullable<RunObserver['begin']>>[0] | null} */
  #run = null;

  /** @param {OpenOptions['stop']} stop @param {(onMessage: (message: any) => void) => SideThread} openThread */
  constructor(stop, openThread) {
    this.#stop = stop;
    this.#thread = openThread(({ wei, facts, funderWei = null, warning }) => {
      if (facts !== undefined) [this.#facts, this.#funderWei] = [facts, funderWei];
      if (warning !== undefined) this.#run?.warnOf(warning[0], warning[1]);
      if (wei !== undefined) void this.#charge(wei);
    });
  }

  /** @type {NonNullable<RunObserver['begin']>} */
  begin(run) {
    this.#run = run;
    this.#thread.post({ hasBegun: true });
    this.#stop.drain.addEventListener('abort', () => this.#thread.post({ isEnding: true }));
    for (const signal of [this.#stop.now, run.noAnswer])
      signal.addEventListener('abort', () => this.#thread.post({ isAborted: true }));
    void this.#thread.result.then((result) => {
      const { why } = /** @type {{why?: string}} */ (result);
      if (why !== undefined && !this.#stop.drain.aborted)
        run.warnOf('refill', `wallets are not refilled any more: ${why}`);
    });
  }

  /** @param {bigint} wei */
  async #charge(wei) {
    const isGranted = await this.#run?.control.charge(wei).catch(() => false);
    this.#thread.post({ isGranted: isGranted === true });
  }

  /** Waits for a payment under way. */
  async drained() {
    const asked = await this.#thread.finish({ isOver: true }, FINISH_MS + ANSWER_MS);
    const result = /** @type {RefillResult | {why: string}} */ (asked);
    if ('why' in result) {
      this.#facts = unknown(`what the funder has paid is not known: ${result.why}`);
      this.payments = { why: this.#facts.why };
    } else {
      this.#facts = result.facts;
      const why = 'payments of the funder were in no block when the load had ended';
      this.payments = result.open === 0 ? { wei: result.paidWei } : { why };
    }
  }

  /** What was paid in the interval, and what the funder has left. */
  row() {
    if (isUnknown(this.#facts)) return {};
    const [{ payments, valueWei, gasWei, isStated }, past] = [this.#facts, this.#past];
    this.#past = this.#facts;
    return {
      refills: {
        payments: payments - past.payments,
        valueWei: String(valueWei - past.valueWei),
        ...(isStated && { gasWei: String(gasWei - past.gasWei) }),
        ...(this.#funderWei !== null && { funderWei: String(this.#funderWei) }),
      },
    };
  }

  describe() {
    return asMembers({ refills: membersOf(this.#facts) });
  }
}

/** @param {RefillFacts | Unknown} facts @returns {WithUnknown<NonNullable<RunFile['refills']>>} */
function membersOf(facts) {
  if (isUnknown(facts)) return { transactions: facts, payments: facts, valueWei: facts, gasWei: facts };
  const { valueWei, gasWei, isStated, ...counts } = facts;
  const gas = isStated ? String(gasWei) : unknown('a receipt of the node states no gas used, or no price');
  return { ...counts, valueWei: String(valueWei), gasWei: gas };
}

/** Few calls, so that nothing on the thread of the load grows with the number of wallets. */
const SAMPLED = 20;
const PERIOD_MS = 15_000;

/** Says when a tenth of what some of the wallets had at first is left. @implements {RunObserver} */
class BalanceWatch {
  #options;
  #sampled;

  /** @param {Pick<OpenOptions, 'rpc' | 'wallets' | 'clock' | 'stop'>} options */
  constructor(options) {
    const { wallets } = options;
    this.#options = options;
    this.#sampled = wallets.filter((_, i) => i % Math.ceil(wallets.length / SAMPLED) === 0);
  }

  /** @type {NonNullable<RunObserver['begin']>} */
  begin({ warnOnce }) {
    void this.#watch(warnOnce);
  }

  /** @param {(kind: string, words: string) => void} warnOnce */
  async #watch(warnOnce) {
    const { clock, stop } = this.#options;
    // The same wallets: others may have more or less.
    let first = await this.#read();
    for (;;) {
      await clock.sleep(PERIOD_MS, stop.drain);
      if (stop.drain.aborted) return;
      const now = await this.#read();
      first ??= now;
      if (first === null || now === null || 10 * now.wei > first.wei || first.wei === 0) continue;
      const seconds = (now.wei / (first.wei - now.wei)) * ((now.atUs - first.atUs) / 1e6);
      const words =
        now.wei === 0
          ? 'the wallets have no funds left'
          : `a tenth of the funds of the wallets is left, which lasts for about ${timeText(seconds)}`;
      return warnOnce(
        'funds',
        `${words}: a longer load needs --fund-from and --refill-below, or a higher --fund-amount`,
      );
    }
  }

  /** @returns {Promise<{wei: number, atUs: number} | null>} what they have in all; null: no answer */
  async #read() {
    const { rpc, clock } = this.#options;
    const questions = this.#sampled.map(({ address }) => balanceOf(address, 'latest'));
    const balances = await askAll(rpc, questions, 'probe').catch(() => null);
    if (balances === null) return null;
    return { wei: balances.reduce((sum, wei) => sum + Number(wei), 0), atUs: clock.nowUs() };
  }

  describe() {
    return { members: {} };
  }
}

/** @type {ObserverRow} */
export const refills = {
  open: async (_, { refill, before, openThread, ...given }) => {
    if (refill !== null) {
      const task = { ...refill, finishMs: FINISH_MS };
      return new Refills(given.stop, (onMessage) => openThread(new URL('thread.js', import.meta.url), task, onMessage));
    }
    // Where gas is free, wallets need no funds.
    const isFree = 'wei' in before && before.wei === 0n;
    return given.inclusion === null || isFree ? null : new BalanceWatch(given);
  },
};
