import { POOL_STATUS, ask, headerAt } from '../chain/answers.js';
import { isBusy } from '../chain/refusals.js';
import { amount } from '../coin.js';
import { RpcError, UsageError } from '../errors.js';
import { HeldTime } from '../stats/held-time.js';
import { DEPTH } from '../stats/observed.js';
import { merge } from '../stats/merge.js';
import { asMembers, orUnknown, unknown } from '../stats/unknown.js';
import { counted } from '../text.js';

/**
 * --pool-target and --max-base-fee: what is due depends on the chain. This is the side of the run, which looks at the pool
 * and at the base fee; the threads start, or hold back, operations.
 *
 * @import { Config } from '../contracts/config.d.ts'
 * @import { Control } from '../contracts/load.d.ts'
 * @import { PaceFacts, PoolDepth, WithUnknown } from '../contracts/run-file.d.ts'
 * @import { ObserverRow } from './index.js'
 * @import { OpenOptions, RunObserver } from './observer.d.ts'
 */

/** Between two looks at the pool. */
const PERIOD_MS = 100;
/** A depth that differs by less from the target is near it. */
const NEAR = 0.2;
/** The reason for which a load is held. */
const BASE_FEE = 'base fee';
/** A longer pause is told during the run. */
const LONG_MS = 5000;

/** @implements {RunObserver} */
class Pace {
  #options;
  /** The chain has no txpool_status: each thread takes its own pending transactions. */
  #isOwn = false;
  #held = new HeldTime();
  #baseFeeWei = 0n;
  /** Since the last row. @type {{depth: PoolDepth}} */
  #current = nothing();
  /** Sums of the window. */
  #total = { pauses: 0, heldMs: 0, ...nothing() };
  /** Null: the load has not begun. @type {Pick<Control, 'hold' | 'release' | 'room'> | null} */
  #control = null;
  #warnOnce = /** @type {(kind: string, words: string) => void} */ (() => {});

  /** @param {Pick<OpenOptions, 'rpc' | 'clock' | 'stop'> & {target: number | null, maxBaseFeeWei: bigint | null, baseFeeWei: bigint | null, share: number}} options
   *   share: of this instance in what the pool lacks */
  constructor(options) {
    this.#options = options;
    if (options.baseFeeWei !== null) this.block({ baseFeeWei: options.baseFeeWei, seenAtUs: options.clock.nowUs() });
  }

  /** @type {NonNullable<RunObserver['begin']>} */
  begin({ startUs, control, warnOnce }) {
    const { target } = this.#options;
    this.#control = control;
    this.#warnOnce = warnOnce;
    // The wait for a common start is no part of the load.
    this.#held.restart(startUs);
    this.#current = nothing();
    if (this.#held.isHeld) control.hold(BASE_FEE, startUs);
    if (target === null) return;
    this.#tell(0);
    void this.#watch();
  }

  /** @param {number | null} depth null: that of the transactions of each thread */
  #tell(depth) {
    const { target, share } = this.#options;
    // At least one: several instances could wait for each other.
    const partOf = (/** @type {number} */ count) => Math.ceil(share * count);
    const wanted = target === null ? null : depth === null ? partOf(target) : depth + partOf(target - depth);
    if (wanted !== null) this.#control?.room(wanted, depth);
  }

  /** @param {{baseFeeWei: bigint | null, seenAtUs: number}} block */
  block({ baseFeeWei, seenAtUs: atUs }) {
    const { maxBaseFeeWei } = this.#options;
    if (maxBaseFeeWei === null || baseFeeWei === null) return;
    this.#baseFeeWei = baseFeeWei;
    const verb = baseFeeWei > maxBaseFeeWei ? 'hold' : 'release';
    if (this.#held[verb](BASE_FEE, atUs)) this.#control?.[verb](BASE_FEE, atUs);
  }

  async #watch() {
    const { rpc, clock, stop } = this.#options;
    while (!stop.drain.aborted) {
      await clock.sleep(PERIOD_MS, stop.drain);
      if (this.#isOwn) {
        this.#tell(null);
        continue;
      }
      try {
        const { pending, queued } = await ask(rpc, POOL_STATUS, 'probe');
        this.#add(pending + queued);
        this.#tell(pending + queued);
      } catch (error) {
        // Without an answer nothing more is started.
        if (!(error instanceof RpcError) || isBusy(error)) continue;
        this.#isOwn = true;
        this.#warnOnce(
          'pool',
          'the node does not serve txpool_status: --pool-target counts the transactions of this run only',
        );
      }
    }
  }

  /** @param {number} depth */
  #add(depth) {
    const target = Number(this.#options.target);
    const near = Math.abs(depth - target) <= NEAR * target ? 1 : 0;
    this.#current.depth = merge(DEPTH, this.#current.depth, { samples: 1, near, sum: depth, min: depth, max: depth });
  }

  /** @type {NonNullable<RunObserver['row']>} */
  row(phase, endUs) {
    const { depth } = this.#current;
    const { heldUs, holds } = this.#held.take(endUs);
    const heldMs = heldUs / 1000;
    const why = phase === 'drain' ? null : this.#whyNothing(depth);
    if (why !== null) this.#warnOnce('pace', `no operation is started: ${why}`);
    this.#current = nothing();
    if (phase === 'load') {
      // One that has begun before the window counts in it.
      this.#total.pauses += this.#total.pauses === 0 && heldMs > 0 ? Math.max(1, holds) : holds;
      this.#total.heldMs += heldMs;
      this.#total.depth = merge(DEPTH, this.#total.depth, depth);
    }
    return { pace: { pausedMs: heldMs, ...(depth.samples > 0 && { depth }) } };
  }

  /** @param {PoolDepth} depth since the last row @returns {string | null} null: operations are started now and then */
  #whyNothing({ samples, min }) {
    const { target, maxBaseFeeWei, clock } = this.#options;
    if (this.#held.heldForUs(clock.nowUs()) >= LONG_MS * 1000)
      return `the base fee is ${amount(this.#baseFeeWei ?? 0n)}, and --max-base-fee is ${amount(maxBaseFeeWei ?? 0n)}`;
    if (target === null || samples === 0 || min <= (1 + NEAR) * target) return null;
    return `the pool has ${counted(min, 'transaction')} or more, and --pool-target is ${target}`;
  }

  /** @returns {ReturnType<RunObserver['describe']>} */
  describe() {
    const { target, maxBaseFeeWei } = this.#options;
    const { pauses, heldMs, depth } = this.#total;
    const notGiven = '--pool-target was not given';
    const noDepth = target === null ? notGiven : 'the node did not answer txpool_status in the window';
    /** @type {WithUnknown<PaceFacts>} */
    const pace = {
      poolTarget: orUnknown(target, notGiven),
      depth: depth.samples === 0 ? unknown(noDepth) : depth,
      maxBaseFeeWei: orUnknown(maxBaseFeeWei?.toString(), '--max-base-fee was not given'),
      pauses,
      pausedMs: heldMs,
    };
    return asMembers({ pace });
  }
}

function nothing() {
  return { depth: { samples: 0, near: 0, sum: 0, min: Infinity, max: 0 } };
}

/**
 * The target of the pool, and the present base fee.
 * @param {Pick<Config, 'load'>} config
 * @param {Pick<OpenOptions, 'rpc' | 'gasPerOperation'>} tools
 * @returns {Promise<{target: number | null, baseFeeWei: bigint | null} | null>} null: not asked for
 * @throws {UsageError} the chain has no base fee, or states no gas limit
 */
async function readLimits({ load: { poolTarget, maxBaseFeeWei } }, { rpc, gasPerOperation }) {
  if (poolTarget === null && maxBaseFeeWei === null) return null;
  const header = await ask(rpc, headerAt('latest'), 'setup');
  const { baseFeeWei = null, gasLimit = null } = header ?? {};
  if (maxBaseFeeWei !== null && baseFeeWei === null)
    throw new UsageError(`the blocks of ${rpc.display} have no base fee (EIP-1559): leave out --max-base-fee`);
  const isInBlocks = poolTarget !== null && /block/.test(poolTarget);
  if (isInBlocks && (gasLimit === null || gasPerOperation === null))
    throw new UsageError(
      `the blocks of ${rpc.display} state no gas limit: give --pool-target as a number of transactions`,
    );
  const perUnit = isInBlocks ? Number(gasLimit) / Number(gasPerOperation) : 1;
  const target = poolTarget === null ? null : Math.max(1, Math.floor(parseInt(poolTarget, 10) * perUnit));
  return { target, baseFeeWei };
}

/** @type {ObserverRow} */
export const pace = {
  check: async (config, tools) => void (await readLimits(config, tools)),
  open: async (config, { rpc, clock, stop, gasPerOperation }) => {
    const limits = await readLimits(config, { rpc, gasPerOperation });
    if (limits === null) return null;
    const { maxBaseFeeWei } = config.load;
    return new Pace({ rpc, clock, stop, ...limits, maxBaseFeeWei, share: 1 / (config.instance.instances ?? 1) });
  },
};
