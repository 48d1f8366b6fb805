import { consistency } from './consistency/index.js';
import { evidence } from './evidence/index.js';
import { gas } from './gas.js';
import { ladder } from './ladder.js';
import { pace } from './pace.js';
import { profile } from './profile/index.js';
import { refills } from './refills/index.js';

/**
 * The table of observers. An observer listens to the load and hands facts to the run file. What needs every operation
 * listens in each thread of the load (`observe`); `open` makes the side of the run, in the main thread.
 *
 * @import { SeenBlock } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { Config } from '../contracts/config.d.ts'
 * @import { LoadPlan, ObserverTools, OperationIdentity, Sample, Snapshot, TransactionStatus } from '../contracts/load.d.ts'
 * @import { IntervalRow, Phase, RunFile } from '../contracts/run-file.d.ts'
 * @import { StressError } from '../errors.js'
 * @import { Observer, OpenOptions, RemovedOperation, RunEnd, RunObserver, StatusBlock } from './observer.d.ts'
 *
 * @typedef {object} ObserverRow
 * @property {(config: Config, tools: CheckTools) => Promise<void>} [check] before anything is sent: what it needs is there
 * @property {(config: Config, given: OpenOptions) => Promise<RunObserver | null>} open null: not asked for
 * @property {(plan: any, tools: ObserverTools) => Observer} [observe] in a thread; plan: that of the run's side
 */

/**
 * @typedef {Pick<OpenOptions, 'rpc' | 'clock' | 'gasPerOperation'> & {signal: AbortSignal}} CheckTools
 */

/** @type {Readonly<Record<string, ObserverRow>>} */
const OBSERVERS = Object.freeze({
  ladder,
  consistency,
  gas,
  refills,
  pace,
  profile,
  evidence,
});

/**
 * Calls its observers one after the other. One that throws is detached: it hears nothing more, and the run file has a reason
 * in place of its members.
 * @template {Observer | RunObserver} T
 */
class Listeners {
  /** @type {Map<string, T>} */
  all = new Map();
  /** Why, by name. @type {Record<string, string>} */
  detached = {};

  /** @param {(observer: T, name: string) => void} action */
  tell(action) {
    for (const [name, observer] of this.all) {
      try {
        action(observer, name);
      } catch (error) {
        this.detach(name, error);
      }
    }
  }

  /** @param {(observer: T, name: string) => Promise<void> | void} action */
  async tellAll(action) {
    for (const [name, observer] of [...this.all]) {
      try {
        await action(observer, name);
      } catch (error) {
        this.detach(name, error);
      }
    }
  }

  /** @param {string} name @param {unknown} error */
  detach(name, error) {
    this.all.delete(name);
    const { message } = /** @type {Error} */ (error);
    this.detached[name] =
      `the observer ${name} failed during the run and was detached; its figures are missing: ${message}. This is a bug of stress`;
  }
}

/** The observers of one thread. @extends {Listeners<Observer>} */
export class Observers extends Listeners {
  /** Null: nobody listens, so that an operation costs no call. @type {((sample: Sample) => void) | null} */
  operation = null;

  /** @param {Readonly<Record<string, unknown>>} [plans] by name @param {(name: string) => ObserverTools} [toolsOf] */
  constructor(plans = {}, toolsOf) {
    super();
    for (const [name, plan] of Object.entries(plans)) {
      try {
        const observer = toolsOf && OBSERVERS[name].observe?.(plan, toolsOf(name));
        if (observer !== undefined) this.all.set(name, observer);
      } catch (error) {
        this.detach(name, error);
      }
    }
    if ([...this.all.values()].some(({ operation }) => operation !== undefined))
      this.operation = (sample) => this.tell((observer) => observer.operation?.(sample));
  }

  /** @param {AbortSignal} signal ends it early */
  prepare(signal) {
    return this.tellAll((observer) => observer.prepare?.(signal));
  }

  begin() {
    this.tell((observer) => observer.begin?.());
  }

  /** @param {SeenBlock} block */
  block(block) {
    this.tell((observer) => observer.block?.(block));
  }

  /** @param {number} blockNumber @param {readonly RemovedOperation[]} removed */
  reorg(blockNumber, removed) {
    this.tell((observer) => observer.reorg?.(blockNumber, removed));
  }

  /** @param {OperationIdentity} operation @param {TransactionStatus} status @param {StatusBlock | null} block */
  status(operation, status, block) {
    this.tell((observer) => observer.status?.(operation, status, block));
  }

  /** @param {boolean} endsInterval @returns {Record<string, unknown>} by name; `detached`: why some have none */
  facts(endsInterval) {
    /** @type {Record<string, unknown>} */
    const facts = {};
    this.tell((observer, name) => {
      const own = observer.interval?.(endsInterval);
      if (own !== undefined) facts[name] = own;
    });
    if (Object.keys(this.detached).length > 0) facts.detached = this.detached;
    return facts;
  }

  /** After the drain. */
  finish() {
    return this.tellAll((observer) => observer.finish?.());
  }

  /** @override @param {string} name @param {unknown} error */
  detach(name, error) {
    const observer = this.all.get(name);
    super.detach(name, error);
    // What it began would keep the process alive.
    Promise.resolve()
      .then(() => observer?.finish?.())
      .catch(() => {});
  }
}

/** @param {Config} config @param {CheckTools} tools @throws {StressError} */
export async function checkObservers(config, tools) {
  for (const { check } of Object.values(OBSERVERS)) await check?.(config, tools);
}

/** The observers of a run, in the main thread. @extends {Listeners<RunObserver>} */
export class RunObservers extends Listeners {
  /** @type {(kind: string, words: string) => void} */
  #warnOf = () => {};

  /** @param {Config} config @param {OpenOptions} options @returns {Promise<RunObservers>} */
  static async open(config, options) {
    const observers = new RunObservers();
    for (const [name, row] of Object.entries(OBSERVERS)) {
      const observer = await row.open(config, options);
      if (observer !== null) observers.all.set(name, observer);
    }
    return observers;
  }

  /** For the threads: plain data by name. */
  get plans() {
    const own = [...this.all].filter(([, { plan }]) => plan !== undefined);
    return Object.fromEntries(own.map(([name, { plan }]) => [name, plan]));
  }

  /** What the warm-up measures. */
  get rate() {
    for (const { rate = null } of this.all.values()) if (rate !== null) return rate;
    return null;
  }

  /** @param {Parameters<NonNullable<RunObserver['begin']>>[0]} run */
  begin(run) {
    this.#warnOf = run.warnOf;
    this.tell((observer) => observer.begin?.(run));
  }

  /** @param {LoadPlan} plan */
  window(plan) {
    this.tell((observer) => observer.window?.(plan));
  }

  /** @param {SeenBlock} block */
  block = (block) => {
    this.tell((observer) => observer.block?.(block));
  };

  /** From a thread. @param {string} to name @param {unknown} message */
  message = (to, message) => {
    this.tell((observer, name) => name === to && observer.message?.(message));
  };

  /** @param {OperationIdentity} operation @param {TransactionStatus} status as the audit finds it @param {StatusBlock | null} block */
  status = (operation, status, block) => {
    this.tell((observer) => observer.status?.(operation, status, block));
  };

  /** @param {Snapshot} snapshot */
  snapshot(snapshot) {
    this.tell((observer) => observer.snapshot?.(snapshot));
  }

  /** Their members of the row of the interval that has ended. @param {Phase} phase @param {number} endUs @returns {Partial<IntervalRow>} */
  row(phase, endUs) {
    const row = {};
    this.tell((observer) => Object.assign(row, observer.row?.(phase, endUs)));
    return row;
  }

  /** The load is over, the audit follows. @param {Record<string, unknown>} facts of the threads */
  drained(facts) {
    return this.tellAll((observer, name) => observer.drained?.(facts[name]));
  }

  /** After the audit. @param {RunEnd} ended */
  finish(ended) {
    return this.tellAll((observer) => observer.finish?.(ended));
  }

  /** Before the outputs have it. @param {RunFile} run */
  concluded(run) {
    return this.tellAll((observer) => observer.concluded?.(run));
  }

  /** For the run file. @param {Record<string, unknown>} facts @returns {{members: Partial<RunFile>, unmeasured: Record<string, string>}} */
  describe(facts) {
    const members = {};
    /** @type {Record<string, string>} */
    const unmeasured = {};
    const inThreads = /** @type {Record<string, string>} */ (facts.detached ?? {});
    this.tell((observer, name) => {
      if (name in inThreads) return;
      const own = observer.describe(facts[name]);
      Object.assign(members, own.members);
      Object.assign(unmeasured, own.unmeasured);
    });
    for (const [name, words] of Object.entries({ ...inThreads, ...this.detached })) unmeasured[`/${name}`] = words;
    return { members, unmeasured };
  }

  /** @override @param {string} name @param {unknown} error */
  detach(name, error) {
    super.detach(name, error);
    this.#warnOf(name, this.detached[name]);
  }
}
