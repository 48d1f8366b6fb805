import { consistency } from './consistency/index.js';
import { gas } from './gas.js';
import { ladder } from './ladder.js';

/**
 * The table of observers. An observer listens to the load and hands facts to the run file. What needs every operation
 * listens in each thread of the load (`observe`); `open` makes the side of the run, in the main thread.
 *
 * @import { SeenBlock } from '../contracts/chain.d.ts'
 * @import { Config, Observer, ObserverTools, OpenOptions, OperationIdentity, RemovedOperation, RunEnd, RunObserver, Sample, Snapshot, TransactionStatus } from '../contracts/load.d.ts'
 * @import { IntervalRow, RunFile } from '../contracts/run-file.d.ts'
 *
 * @typedef {object} ObserverRow
 * @property {(config: Config, given: OpenOptions) => Promise<RunObserver | null>} open null: not asked for
 * @property {(plan: any, tools: ObserverTools) => Observer} [observe] in a thread; plan: that of the run's side
 */

/** @type {Readonly<Record<string, ObserverRow>>} */
const OBSERVERS = Object.freeze({ ladder, consistency, gas });

/** The observers of one thread. One that throws hears nothing more. */
export class Observers {
  /** @type {Map<string, Observer>} */
  #all = new Map();
  /** Those that were detached, by name. @type {Record<string, string>} */
  warnings = {};
  /** Null: nobody listens, so that an operation costs no call. @type {((sample: Sample) => void) | null} */
  operation = null;

  /** @param {Readonly<Record<string, unknown>>} [plans] by name @param {(name: string) => ObserverTools} [toolsOf] */
  constructor(plans = {}, toolsOf) {
    for (const [name, plan] of Object.entries(plans)) {
      const observer = toolsOf && OBSERVERS[name].observe?.(plan, toolsOf(name));
      if (observer !== undefined) this.#all.set(name, observer);
    }
    if ([...this.#all.values()].some(({ operation }) => operation !== undefined))
      this.operation = (sample) => this.#tell((observer) => observer.operation?.(sample));
  }

  begin() {
    this.#tell((observer) => observer.begin?.());
  }

  /** @param {SeenBlock} block */
  block(block) {
    this.#tell((observer) => observer.block?.(block));
  }

  /** @param {number} blockNumber @param {readonly RemovedOperation[]} removed */
  reorg(blockNumber, removed) {
    this.#tell((observer) => observer.reorg?.(blockNumber, removed));
  }

  /** @param {OperationIdentity} operation @param {TransactionStatus} status */
  status(operation, status) {
    this.#tell((observer) => observer.status?.(operation, status));
  }

  /** @param {boolean} endsInterval @returns {Record<string, unknown>} by name */
  facts(endsInterval) {
    /** @type {Record<string, unknown>} */
    const facts = {};
    this.#tell((observer, name) => {
      const own = observer.interval?.(endsInterval);
      if (own !== undefined) facts[name] = own;
    });
    return facts;
  }

  /** After the drain. */
  async finish() {
    for (const [name, observer] of this.#all)
      await observer.finish?.().catch((error) => this.#warnOf(name, /** @type {Error} */ (error)));
  }

  /** @param {(observer: Observer, name: string) => void} action */
  #tell(action) {
    for (const [name, observer] of this.#all) {
      try {
        action(observer, name);
      } catch (error) {
        this.#all.delete(name);
        this.#warnOf(name, /** @type {Error} */ (error));
        // Its timers would keep the process alive.
        observer.finish?.().catch(() => {});
      }
    }
  }

  /** @param {string} name @param {Error} error */
  #warnOf(name, error) {
    this.warnings[name] = detachedWords(name, error);
  }
}

/** @param {string} name @param {Error} error */
function detachedWords(name, { message }) {
  return `the observer ${name} ended during the load, its figures are incomplete: ${message}. This is a bug of stress`;
}

/** The observers of a run. One that throws hears nothing more. */
export class RunObservers {
  /** @type {Map<string, RunObserver>} */
  #all = new Map();
  /** @type {(kind: string, words: string) => void} */
  #warnOf = () => {};

  /** @param {Config} config @param {OpenOptions} options @returns {Promise<RunObservers>} */
  static async open(config, options) {
    const observers = new RunObservers();
    for (const [name, row] of Object.entries(OBSERVERS)) {
      const observer = await row.open(config, options);
      if (observer !== null) observers.#all.set(name, observer);
    }
    return observers;
  }

  /** For the threads: plain data by name. */
  get plans() {
    const own = [...this.#all].filter(([, { plan }]) => plan !== undefined);
    return Object.fromEntries(own.map(([name, { plan }]) => [name, plan]));
  }

  /** @param {Parameters<NonNullable<RunObserver['begin']>>[0]} watch */
  begin(watch) {
    this.#warnOf = watch.warnOf;
    this.#tell((observer) => observer.begin?.(watch));
  }

  /** @param {SeenBlock} block */
  block = (block) => {
    this.#tell((observer) => observer.block?.(block));
  };

  /** From a thread. @param {string} name @param {unknown} message */
  message = (name, message) => {
    this.#all.get(name)?.message?.(message);
  };

  /** @param {OperationIdentity} operation @param {TransactionStatus} status as the audit finds it */
  status = (operation, status) => {
    this.#tell((observer) => observer.status?.(operation, status));
  };

  /** @param {Snapshot} snapshot */
  snapshot(snapshot) {
    this.#tell((observer) => observer.snapshot?.(snapshot));
  }

  /** @param {string} name @returns {RunObserver | null} null: it does not observe this run */
  get(name) {
    return this.#all.get(name) ?? null;
  }

  /** Their members of the row of the interval that has ended. @returns {Partial<IntervalRow>} */
  row() {
    const row = {};
    this.#tell((observer) => void Object.assign(row, observer.row?.()));
    return row;
  }

  /** @param {(observer: RunObserver) => void} action */
  #tell(action) {
    for (const [name, observer] of this.#all) {
      try {
        action(observer);
      } catch (error) {
        this.#all.delete(name);
        this.#warnOf(name, detachedWords(name, /** @type {Error} */ (error)));
      }
    }
  }

  /** The load is over, the audit follows. @param {Record<string, unknown>} facts of the threads */
  async drained(facts) {
    for (const [name, observer] of this.#all) await observer.drained?.(facts[name]);
  }

  /** After the audit. @param {RunEnd} ended */
  async finish(ended) {
    for (const observer of this.#all.values()) await observer.finish?.(ended);
  }

  /** For the run file. @param {Record<string, unknown>} facts @returns {{members: Partial<RunFile>, unmeasured: Record<string, string>}} */
  describe(facts) {
    const parts = [...this.#all].map(([name, observer]) => observer.describe(facts[name]));
    return {
      members: Object.assign({}, ...parts.map(({ members }) => members)),
      unmeasured: Object.assign({}, ...parts.map(({ unmeasured }) => unmeasured)),
    };
  }
}
