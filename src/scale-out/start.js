import { readFile, readdir, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { EXIT, IncompleteError, InterruptedError, RefusedError, worstExit } from '../errors.js';
import { FILE_MODE, cannotWrite, proveWritable } from '../files.js';
import { indexRanges, partOf } from '../text.js';

/**
 * @import { BeforeLoad } from '../contracts/load.d.ts'
 * @import { StartFacts } from '../contracts/run-file.d.ts'
 */

/**
 * All instances of a run start their load at one time: a given one (--start-at), or one that index 0 publishes in a
 * shared folder when all have arrived there (--barrier). The only decision is the exclusive creation of a file, which is
 * atomic over NFS as well.
 *
 * @typedef {object} Arrival
 * @property {string} id id of the run file, unique per process
 * @property {number} index
 * @property {number} attempt
 * @property {number} instances
 * @property {number} threads
 * @property {number} firstOffset
 * @property {number | null} chainId
 * @property {string | null} genesisHash
 * @property {string} host
 * @property {string} arrivedAt time of day
 *
 * @typedef {object} Start
 * @property {string} at time of day of the load
 * @property {Array<Pick<Arrival, 'index' | 'attempt' | 'id'>>} arrivals participants
 * @property {string} [refused] why the run was refused, in place of the others
 *
 * @typedef {Map<number, number>} Attempts highest attempt that has arrived, by index
 */

const START_FILE = 'start.json';
const ARRIVAL_FILE = /^(\d{1,6})-(\d{1,7})\.json$/;

/** Arrivals read at once: each is an open file, and their number is limited. */
const READ_AT_ONCE = 32;

/** Settings that all instances must share, by their names in messages. @type {Array<[string, keyof Arrival]>} */
const COMMON_SETTINGS = [
  ['--instances', 'instances'],
  ['-t', 'threads'],
  ['-o', 'firstOffset'],
  ['chain', 'chainId'],
  ['first block', 'genesisHash'],
];

/** Time between the agreement and the load, for the last preparations: worker threads, start block, first signatures. */
export const LEAD_MS = 10_000;
/** Poll interval of the folder: 1 ms per instance within these limits, to protect the file server. */
const POLL_MS = 200;
const MAX_POLL_MS = 2000;
/** Longest sleep, because the system clock may be set meanwhile. */
const MAX_SLEEP_MS = 1000;
/** Longest delay for --start-at. */
const MAX_LATE_MS = 1000;
/** Delay of a timer that does not move the start of the window. */
const ON_TIME_MS = 20;
/** Delays from here on are reported. */
const REPORTED_DELAY_MS = 100;
/** Interval of notices about missing instances. */
const NOTICE_MS = 30_000;

/** The shared folder: each instance creates an arrival file, and index 0 the start file. */
class Barrier {
  #folder;
  #runId;
  /** @type {string | null} */
  #ownFile = null;

  /** @param {string} folder shared by all runs @param {string} runId */
  constructor(folder, runId) {
    this.#folder = join(folder, runId);
    this.#runId = runId;
  }

  /** The folder must be writable, and the index free. @param {Pick<Arrival, 'index' | 'attempt'>} own */
  async open(own) {
    proveWritable(this.#folder);
    const start = /** @type {Start | null} */ (await this.#read(START_FILE));
    if (start !== null) {
      const what = start.refused === undefined ? `started at ${start.at}` : `was refused (${start.refused})`;
      throw new IncompleteError(
        `run ${this.#runId} ${what}, before this instance arrived; give each run its own --run-id`,
      );
    }
    const duplicate = await this.#read(fileOf(own));
    if (duplicate !== null) throw this.#duplicateIndex(own, duplicate);
  }

  /** @param {Arrival} arrival @throws {RefusedError} */
  async arrive(arrival) {
    if (!(await this.#create(fileOf(arrival), arrival)))
      throw this.#duplicateIndex(arrival, (await this.#read(fileOf(arrival))) ?? {});
    this.#ownFile = fileOf(arrival);
  }

  /** @returns {Promise<{start: Start | null, isStartThere: boolean, attempts: Attempts} | null>} null: not readable now */
  async look() {
    // NFS caches missing files, but not the listing of a folder that is opened again.
    const names = await readdir(this.#folder).catch(() => null);
    if (names === null) return null;
    /** @type {Attempts} */
    const attempts = new Map();
    for (const name of names) {
      const [index, attempt] = ARRIVAL_FILE.exec(name)?.slice(1).map(Number) ?? [];
      if (index !== undefined) attempts.set(index, Math.max(attempt, attempts.get(index) ?? 0));
    }
    const isStartThere = names.includes(START_FILE);
    return { start: isStartThere ? await this.#read(START_FILE) : null, isStartThere, attempts };
  }

  /** @param {Attempts} attempts @returns {Promise<Arrival[]>} those whose files are complete */
  async arrivals(attempts) {
    const names = [...attempts].map(([index, attempt]) => fileOf({ index, attempt }));
    /** @type {any[]} */
    const found = [];
    for (let at = 0; at < names.length; at += READ_AT_ONCE)
      found.push(...(await Promise.all(names.slice(at, at + READ_AT_ONCE).map((name) => this.#read(name)))));
    return found.filter((arrival) => arrival?.id !== undefined);
  }

  /** The first start is valid. @param {Partial<Start>} start */
  async publish(start) {
    await this.#create(START_FILE, start);
    return true;
  }

  async withdraw() {
    if (this.#ownFile !== null) await unlink(join(this.#folder, this.#ownFile)).catch(() => {});
    this.#ownFile = null;
  }

  /**
   * Creates a file, unless it exists. Until its content is complete, readers take it for a missing one.
   * @param {string} name
   * @param {Arrival | Partial<Start>} content
   * @returns {Promise<boolean>} false: it exists
   */
  async #create(name, content) {
    const file = join(this.#folder, name);
    try {
      await writeFile(file, `${JSON.stringify(content)}\n`, { flag: 'wx', mode: FILE_MODE });
      return true;
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false;
      throw cannotWrite(file, error);
    }
  }

  /** @param {string} name @returns {Promise<any>} null: missing or incomplete */
  async #read(name) {
    try {
      const content = JSON.parse(await readFile(join(this.#folder, name), 'utf8'));
      return typeof content === 'object' ? content : null;
    } catch {
      return null;
    }
  }

  /** @param {Pick<Arrival, 'index' | 'attempt'>} own @param {Partial<Arrival>} duplicate */
  #duplicateIndex({ index, attempt }, { host, arrivedAt }) {
    const where = host === undefined ? '' : ` on ${host} since ${arrivedAt}`;
    return new RefusedError(
      `index ${index} of run ${this.#runId} has arrived already${where}: two instances with one index would send from the same wallets; if the other one is dead, give --attempt ${attempt + 1}`,
    );
  }
}

export class CommonStart {
  #options;
  /** @type {Barrier | null} */
  #barrier = null;
  /** The common start, time of day. @type {number | null} */
  #atMs;
  /** The latest start on the run's clock. */
  #latestUs = Infinity;
  #deadlineUs = Infinity;
  #readyUs = 0;
  /** @type {number | null} */
  #waitedMs = null;
  /** @type {number | null} */
  #lateMs = null;

  /** @param {Parameters<BeforeLoad>[0]} options */
  constructor(options) {
    const { config } = options;
    this.#options = options;
    this.#atMs = config.startAtMs;
    if (config.barrier !== null && config.runId !== null) this.#barrier = new Barrier(config.barrier, config.runId);
  }

  async open() {
    const { config, clock } = this.#options;
    this.#deadlineUs = clock.nowUs() + (config.startTimeoutMs + MAX_LATE_MS) * 1000;
    await this.#barrier?.open({ index: config.index ?? 0, attempt: config.attempt });
    this.#checkNotMissed('before this instance arrived');
  }

  /** @param {Pick<Arrival, 'chainId' | 'genesisHash'>} chain */
  async wait(chain) {
    const { clock, notice } = this.#options;
    this.#readyUs = clock.nowUs();
    if (this.#barrier !== null) this.#atMs = await this.#agree(this.#barrier, chain);
    if (this.#atMs === null) return;
    this.#checkNotMissed('when this instance was ready');
    const leftMs = Math.max(0, this.#leftMs(this.#atMs, this.#latestUs));
    notice(`the load starts at ${iso(this.#atMs)}, in ${(leftMs / 1000).toFixed(1)} s`);
    await this.#waitUntil(this.#atMs - LEAD_MS, this.#latestUs - LEAD_MS * 1000);
  }

  async begin() {
    const { clock } = this.#options;
    if (this.#atMs === null) return null;
    await this.#waitUntil(this.#atMs, this.#latestUs);
    this.#checkNotMissed('when this instance was ready');
    const [wallMs, nowUs] = [clock.wallMs(), clock.nowUs()];
    const lateMs = wallMs - this.#atMs;
    const isOnTime = lateMs >= 0 && lateMs <= ON_TIME_MS;
    this.#lateMs = lateMs;
    this.#waitedMs = (nowUs - this.#readyUs) / 1000;
    return { beginUs: isOnTime ? nowUs - lateMs * 1000 : nowUs, wallMs, nowUs, words: lateInWords(lateMs) };
  }

  /** @returns {StartFacts} */
  facts() {
    const by = this.#barrier !== null ? 'barrier' : this.#options.config.startAtMs !== null ? 'start-at' : null;
    const at = this.#atMs === null ? null : iso(this.#atMs);
    return { by, at, waitedMs: this.#waitedMs, lateMs: this.#lateMs };
  }

  /** @param {Barrier} barrier @param {Pick<Arrival, 'chainId' | 'genesisHash'>} chain @returns {Promise<number>} time of day */
  async #agree(barrier, chain) {
    const { id, config, clock, stop } = this.#options;
    const { index, instances, threads, firstOffset, attempt, startTimeoutMs } = config;
    const place = { index: index ?? 0, attempt, instances: instances ?? 1, threads, firstOffset };
    const own = { id, ...place, ...chain, host: hostname(), arrivedAt: iso(clock.wallMs()) };
    this.#deadlineUs = clock.nowUs() + startTimeoutMs * 1000;
    let isAgreed = false;
    try {
      await barrier.arrive(own);
      const start = await this.#awaitStart(barrier, own);
      if (start.refused !== undefined) throw new RefusedError(start.refused);
      assertTakesPart(start, own, config.runId);
      isAgreed = true;
      // The lead time is known, so a clock that is behind shows.
      this.#latestUs = clock.nowUs() + (LEAD_MS + REPORTED_DELAY_MS) * 1000;
      this.#deadlineUs = Infinity;
      return Date.parse(start.at);
    } finally {
      if (!isAgreed || stop.drain.aborted) await barrier.withdraw();
    }
  }

  /** @param {Barrier} barrier @param {Arrival} own @returns {Promise<Start>} */
  async #awaitStart(barrier, own) {
    const { clock, stop, notice } = this.#options;
    const pollMs = Math.min(Math.max(POLL_MS, own.instances), MAX_POLL_MS);
    const indexes = Array.from({ length: own.instances }, (_, index) => index);
    let lacking = `missing: ${indexRanges(indexes)}`;
    let noticeUs = clock.nowUs();
    for (;;) {
      const seen = await barrier.look();
      if (seen?.start) return seen.start;
      let isPublished = false;
      if (seen !== null) {
        const { attempts, isStartThere } = seen;
        checkLastAttempt(own, attempts);
        const absent = indexes.filter((index) => !attempts.has(index));
        if (own.index === 0 && !isStartThere) isPublished = await this.#publish(barrier, own, attempts);
        lacking = `missing: ${indexRanges(absent)}`;
        if (absent.length === 0) lacking = 'all have arrived, but index 0 has not published the start';
        if (isStartThere) lacking = 'start.json exists, but cannot be read';
        if (absent.length > 0 && clock.nowUs() >= noticeUs) {
          notice(`waiting for ${partOf(absent.length, own.instances, 'instance')}: ${indexRanges(absent)}`);
          noticeUs = clock.nowUs() + NOTICE_MS * 1000;
        }
      }
      this.#checkInTime(lacking);
      await clock.sleep(isPublished ? POLL_MS : pollMs, stop.drain);
      this.#checkNotInterrupted();
    }
  }

  /**
   * Only index 0 reads arrivals, and only when all are there, to limit the load on the server.
   * @param {Barrier} barrier
   * @param {Arrival} own
   * @param {Attempts} attempts
   * @returns {Promise<boolean>} false: not yet
   */
  async #publish(barrier, own, attempts) {
    const { clock, config, stop } = this.#options;
    if (attempts.size < own.instances) return false;
    const arrivals = await barrier.arrivals(attempts);
    const [conflict] = arrivals.flatMap((arrival) => conflictOf(own, arrival) ?? []);
    if (conflict !== undefined) return barrier.publish({ refused: `run ${config.runId}: ${conflict}` });
    if (arrivals.length < attempts.size || stop.drain.aborted) return false;
    const taking = arrivals.map(({ index, attempt, id }) => ({ index, attempt, id }));
    return barrier.publish({ at: iso(clock.wallMs() + LEAD_MS), arrivals: taking });
  }

  /** @param {number} atMs by the time of day @param {number} latestUs on the run's clock */
  async #waitUntil(atMs, latestUs) {
    const { clock, stop } = this.#options;
    for (;;) {
      this.#checkNotInterrupted();
      const leftMs = this.#leftMs(atMs, latestUs);
      if (leftMs <= 0) return;
      this.#checkInTime('the clock of this machine was set back');
      await clock.sleep(Math.min(leftMs, MAX_SLEEP_MS), stop.drain);
    }
  }

  /** @param {number} atMs @param {number} latestUs */
  #leftMs(atMs, latestUs) {
    const { clock } = this.#options;
    return Math.min(atMs - clock.wallMs(), (latestUs - clock.nowUs()) / 1000);
  }

  /** @param {string} words what is missing */
  #checkInTime(words) {
    const { clock, config } = this.#options;
    if (clock.nowUs() < this.#deadlineUs) return;
    throw new IncompleteError(
      `the common start was not reached within ${config.startTimeoutMs / 1000} s (--start-timeout): ${words}`,
    );
  }

  /** @param {string} when */
  #checkNotMissed(when) {
    const { clock, config } = this.#options;
    const lateMs = config.startAtMs === null ? 0 : clock.wallMs() - config.startAtMs;
    if (lateMs > MAX_LATE_MS)
      throw new IncompleteError(
        `--start-at ${iso(config.startAtMs ?? 0)} had passed by ${(lateMs / 1000).toFixed(1)} s ${when}; give a later time`,
      );
  }

  #checkNotInterrupted() {
    const { stop } = this.#options;
    if (!stop.drain.aborted) return;
    const exitCode = worstExit([...stop.exitCodes, EXIT.nothingVerified]);
    throw stop.errors[0] ?? new InterruptedError('interrupted while waiting for the common start', exitCode);
  }
}

/** @param {Pick<Arrival, 'index' | 'attempt'>} arrival */
function fileOf({ index, attempt }) {
  return `${index}-${attempt}.json`;
}

/** @param {Arrival} a @param {Arrival} b @returns {string | null} */
function conflictOf(a, b) {
  for (const [words, name] of COMMON_SETTINGS) {
    // A pruned node has no genesis block.
    const isKnown = name !== 'genesisHash' || (a[name] !== null && b[name] !== null);
    if (!isKnown || a[name] === b[name]) continue;
    const [one, other] = [a, b].map(
      (arrival) => `index ${arrival.index} (${arrival.host}) has ${words} ${arrival[name]}`,
    );
    return `${one}, ${other}: all instances of a run need the same value`;
  }
  return null;
}

/** @param {Arrival} own @param {Attempts} attempts */
function checkLastAttempt({ index, attempt }, attempts) {
  const last = attempts.get(index) ?? 0;
  if (last > attempt)
    throw new IncompleteError(`index ${index} was started again as attempt ${last}; this attempt ${attempt} ends`);
}

/**
 * An earlier process may have had the same index and attempt, so the id is compared too.
 * @param {Start} start
 * @param {Arrival} own
 * @param {string | null} runId
 */
function assertTakesPart({ arrivals }, own, runId) {
  const taking = arrivals.find((arrival) => arrival.index === own.index);
  if (taking?.id === own.id && taking.attempt === own.attempt) return;
  throw new IncompleteError(
    `the load of run ${runId} starts without this instance (index ${own.index}, attempt ${own.attempt}): ${taking === undefined ? 'no process' : 'another one'} takes part with this index`,
  );
}

/** @param {number} lateMs @returns {string | null} */
function lateInWords(lateMs) {
  const seconds = (Math.abs(lateMs) / 1000).toFixed(1);
  if (lateMs > REPORTED_DELAY_MS)
    return `the load started ${seconds} s after the common start: this instance was not ready in time, or its clock is ahead of the others`;
  if (lateMs < -REPORTED_DELAY_MS)
    return `the clock of this machine is ${seconds} s behind that of index 0: the load started with the others, earlier by the local clock`;
  return null;
}

/** @param {number} ms since 1970 */
function iso(ms) {
  return new Date(ms).toISOString();
}
