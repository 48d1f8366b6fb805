import { randomBytes } from 'node:crypto';
import { link, readFile, readdir, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { indexRanges } from '../chain/funding.js';
import { EXIT, IncompleteError, InterruptedError, RefusedError, oneLine, worstExit } from '../errors.js';
import { FILE_MODE, cannotWrite, proveWritable } from '../files.js';

/**
 * @import { Clock, Config } from '../types.d.ts'
 * @import { OutputError } from '../errors.js'
 * @import { Stop } from './stop.js'
 */

/**
 * A shared folder in which each instance creates an arrival file and index 0 the start file. The only decision is the
 * exclusive creation of a file, which is atomic over NFS as well.
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
 * @property {number} [leadMs] time needed between the agreement and the load
 *
 * @typedef {object} Start
 * @property {string} [at] time of day of the load
 * @property {number} [leadMs] time between the agreement and the load
 * @property {Array<Pick<Arrival, 'index' | 'attempt' | 'id'>>} [arrivals] participants
 * @property {string} [refused] why the run was refused
 *
 * @typedef {Map<number, number>} Attempts highest attempt that has arrived, by index
 */

const START_FILE = 'start.json';
const ARRIVAL_FILE = /^(\d{1,6})-(\d{1,7})\.json$/;

/** Files read at once: over NFS each takes a round trip. */
const READ_AT_ONCE = 32;

/** Error codes of file systems without hard links. */
const NO_LINKS = Object.freeze(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/** Settings that all instances must share, by their names in messages. @type {Array<[string, keyof Arrival]>} */
const COMMON_SETTINGS = [
  ['--instances', 'instances'],
  ['-t', 'threads'],
  ['-o', 'firstOffset'],
  ['chain', 'chainId'],
  ['first block', 'genesisHash'],
];

export class Barrier {
  #folder;
  #runId;
  /** Arrivals that agree with the own one, by file name. @type {Map<string, Arrival>} */
  #agreeing = new Map();
  /** @type {string | null} */
  #ownFile = null;

  /** @param {string} folder shared by all runs @param {string} runId */
  constructor(folder, runId) {
    this.#folder = join(folder, runId);
    this.#runId = runId;
  }

  /**
   * Checks before anything is sent that the folder is writable and the index is free.
   * @param {Pick<Arrival, 'index' | 'attempt'>} who
   * @throws {OutputError | IncompleteError | RefusedError}
   */
  async open(who) {
    proveWritable(this.#folder);
    const start = await this.#read(START_FILE);
    if (start !== null) throw this.#alreadyStarted(start);
    const duplicate = await this.#read(fileOf(who));
    if (duplicate !== null) throw this.#duplicateIndex(who, duplicate);
  }

  /** @param {Arrival} arrival @throws {RefusedError} */
  async arrive(arrival) {
    const there = await this.#create(fileOf(arrival), arrival);
    // Over NFS the link may exist although the response was lost.
    if (there !== null && there.id !== arrival.id) throw this.#duplicateIndex(arrival, there);
    this.#ownFile = fileOf(arrival);
  }

  /**
   * @returns {Promise<{start: Start | null, isStartThere: boolean, attempts: Attempts} | null>} null: the folder is not
   *   readable now; isStartThere without start: the file is not complete
   */
  async look() {
    /** @type {string[]} */
    let names;
    try {
      // NFS caches missing files, but not the listing of a folder that is opened again.
      names = await readdir(this.#folder);
    } catch {
      return null;
    }
    /** @type {Attempts} */
    const attempts = new Map();
    for (const name of names) {
      const [index, attempt] = ARRIVAL_FILE.exec(name)?.slice(1).map(Number) ?? [];
      if (index !== undefined) attempts.set(index, Math.max(attempt, attempts.get(index) ?? 0));
    }
    const isStartThere = names.includes(START_FILE);
    return { start: isStartThere ? await this.#read(START_FILE) : null, isStartThere, attempts };
  }

  /**
   * Reads the new arrivals. Only index 0 does this, to limit the load on the server.
   * @param {Arrival} own
   * @param {Attempts} attempts
   * @returns {Promise<{allRead: boolean, contradiction: string | null}>}
   */
  async compare(own, attempts) {
    const unread = [...attempts]
      .map(([index, attempt]) => ({ index, attempt }))
      .filter((who) => fileOf(who) !== this.#ownFile && !this.#agreeing.has(fileOf(who)));
    let allRead = true;
    for (let i = 0; i < unread.length; i += READ_AT_ONCE) {
      const some = unread.slice(i, i + READ_AT_ONCE);
      const others = await Promise.all(some.map((who) => this.#read(fileOf(who))));
      for (const [k, other] of others.entries()) {
        const words = other === null ? null : conflictOf(own, { ...other, ...some[k] });
        if (words !== null) return { allRead, contradiction: `run ${this.#runId}: ${words}` };
        if (other === null) allRead = false;
        else this.#agreeing.set(fileOf(some[k]), { ...other, ...some[k] });
      }
    }
    return { allRead, contradiction: null };
  }

  /**
   * Reads all arrivals again just before the start: an instance may have left, or another process may have taken its
   * index.
   * @param {Arrival} own
   * @param {Attempts} attempts
   * @returns {Promise<{arrivals: Arrival[] | null, contradiction: string | null}>} null: an instance has left
   */
  async compareAgain(own, attempts) {
    this.#agreeing.clear();
    const { allRead, contradiction } = await this.compare(own, attempts);
    const arrivals = [own, ...this.#agreeing.values()].sort((a, b) => a.index - b.index);
    return { arrivals: allRead ? arrivals : null, contradiction };
  }

  /** Publishes the start; the first one wins. @param {Start} start @returns {Promise<Start>} the valid start */
  async begin(start) {
    return (await this.#create(START_FILE, start)) ?? start;
  }

  /** Withdraws the arrival. */
  async withdraw() {
    if (this.#ownFile !== null) await unlink(join(this.#folder, this.#ownFile)).catch(() => {});
    this.#ownFile = null;
  }

  /**
   * Creates a file atomically unless it exists.
   * @param {string} name
   * @param {Arrival | Start} content
   * @returns {Promise<any>} the existing content; null: created
   */
  async #create(name, content) {
    const file = join(this.#folder, name);
    const text = `${JSON.stringify(content)}\n`;
    const temporary = join(this.#folder, `.${randomBytes(8).toString('hex')}.tmp`);
    try {
      await writeFile(temporary, text, { flag: 'wx', mode: FILE_MODE });
      await link(temporary, file).catch((error) => {
        if (!NO_LINKS.includes(error.code)) throw error;
        return writeFile(file, text, { flag: 'wx', mode: FILE_MODE });
      });
      return null;
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw cannotWrite(file, error);
      return (await this.#read(name)) ?? {};
    } finally {
      await unlink(temporary).catch(() => {});
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

  /** @param {Start} start */
  #alreadyStarted({ at, refused }) {
    const what = refused === undefined ? `started at ${oneLine(at, 40)}` : `was refused (${oneLine(refused)})`;
    return new IncompleteError(
      `run ${this.#runId} ${what}, before this instance arrived; give each run its own --run-id`,
    );
  }

  /** @param {Pick<Arrival, 'index' | 'attempt'>} who @param {Partial<Arrival>} duplicate */
  #duplicateIndex({ index, attempt }, { host, arrivedAt }) {
    const where = `${host === undefined ? '' : ` on ${oneLine(host, 60)}`}${arrivedAt === undefined ? '' : ` since ${oneLine(arrivedAt, 40)}`}`;
    return new RefusedError(
      `index ${index} of run ${this.#runId} has arrived already${where}: two instances with one index would send from the same wallets; if the other one is dead, give --attempt ${attempt + 1}`,
    );
  }
}

/** @param {Pick<Arrival, 'index' | 'attempt'>} who */
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
      (arrival) => `index ${arrival.index} (${oneLine(arrival.host, 60)}) has ${words} ${oneLine(arrival[name], 80)}`,
    );
    return `${one}, ${other}: all instances of a run need the same value`;
  }
  return null;
}

/**
 * All instances of a run start their load at one time: a given one (--start-at), or one agreed on when all have arrived
 * (--barrier).
 *
 * @typedef {object} CommonStartOptions
 * @property {string} id of the run file
 * @property {Pick<Config, 'runId' | 'index' | 'instances' | 'attempt' | 'threads' | 'firstOffset' | 'startAtMs' | 'barrier' | 'startTimeoutMs'>}
 *   config
 * @property {Clock} clock
 * @property {Stop} stop
 * @property {(line: string) => void} notice
 * @property {number} [workers] worker threads, started after the agreement
 *
 * @typedef {object} StartFacts for the run file
 * @property {'start-at' | 'barrier' | null} by
 * @property {string | null} at
 * @property {number | null} waitedMs from the end of the set-up to the start of the load
 * @property {number | null} lateMs by the local clock; negative if that is behind
 */

/** Time for the last preparations (start block, first signatures). */
export const LEAD_MS = 5000;

/** The same with worker threads to start on a busy machine. */
export const LONG_LEAD_MS = 10_000;

/** Largest believed difference of clocks, beyond --start-timeout. */
const MAX_CLOCK_DIFFERENCE_MS = 3_600_000;

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

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

export class CommonStart {
  #options;
  /** @type {Barrier | null} */
  #barrier = null;
  /** The common start, time of day. @type {number | null} */
  #atMs;
  #leadMs;
  /** The latest start on the run's clock. @type {number} */
  #latestUs = Infinity;
  #deadlineUs = Infinity;
  #readyUs = 0;
  /** @type {number | null} */
  #waitedMs = null;
  /** @type {number | null} */
  #lateMs = null;

  /** @param {CommonStartOptions} options */
  constructor(options) {
    const { config } = options;
    this.#options = options;
    this.#atMs = config.startAtMs;
    this.#leadMs = (options.workers ?? 1) > 1 ? LONG_LEAD_MS : LEAD_MS;
    if (config.barrier !== null && config.runId !== null) this.#barrier = new Barrier(config.barrier, config.runId);
  }

  /** Fails early, before anything is sent. */
  async open() {
    const { config, clock } = this.#options;
    this.#deadlineUs = clock.nowUs() + (config.startTimeoutMs + MAX_LATE_MS) * 1000;
    await this.#barrier?.open({ index: config.index ?? 0, attempt: config.attempt });
    this.#checkNotMissed('before this instance arrived');
  }

  /**
   * Waits for all instances and until it is time for the last preparations.
   * @param {Pick<Arrival, 'chainId' | 'genesisHash'>} chain
   */
  async wait(chain) {
    const { clock, notice } = this.#options;
    this.#readyUs = clock.nowUs();
    if (this.#barrier !== null) this.#atMs = await this.#agree(this.#barrier, chain);
    if (this.#atMs === null) return;
    this.#checkNotMissed('when this instance was ready');
    const leftMs = Math.max(0, this.#leftMs(this.#atMs, this.#latestUs));
    notice(`the load starts at ${iso(this.#atMs)}, in ${(leftMs / 1000).toFixed(1)} s`);
    await this.#waitUntil(this.#atMs - this.#leadMs, this.#latestUs - this.#leadMs * 1000);
  }

  /**
   * Waits for the common start.
   * @returns {Promise<{beginUs: number, wallMs: number, nowUs: number, words: string | null} | null>} start of the load
   *   on the run's clock, both clocks now, and a warning; null: no common start
   */
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
    const beginUs = isOnTime ? nowUs - lateMs * 1000 : nowUs;
    return { beginUs, wallMs, nowUs, words: lateInWords(lateMs) };
  }

  /** @returns {StartFacts} */
  facts() {
    const by = this.#barrier !== null ? 'barrier' : this.#options.config.startAtMs !== null ? 'start-at' : null;
    const at = this.#atMs === null ? null : iso(this.#atMs);
    return { by, at, waitedMs: this.#waitedMs, lateMs: this.#lateMs };
  }

  /**
   * @param {Barrier} barrier
   * @param {Pick<Arrival, 'chainId' | 'genesisHash'>} chain
   * @returns {Promise<number>} the agreed time of day
   */
  async #agree(barrier, chain) {
    const { id, config, clock, stop } = this.#options;
    const { instances, threads, firstOffset, attempt, startTimeoutMs } = config;
    const own = {
      id,
      index: config.index ?? 0,
      attempt,
      instances: instances ?? 1,
      threads,
      firstOffset,
      ...chain,
      host: hostname(),
      arrivedAt: iso(clock.wallMs()),
      leadMs: this.#leadMs,
    };
    this.#deadlineUs = clock.nowUs() + startTimeoutMs * 1000;
    let isAgreed = false;
    try {
      await barrier.arrive(own);
      const start = await this.#awaitStart(barrier, own);
      if (start.refused !== undefined) throw new RefusedError(oneLine(start.refused));
      const atMs = this.#instantOf(start);
      assertTakesPart(start, own, config.runId);
      isAgreed = true;
      // The lead time is known, so a clock that is behind shows.
      this.#latestUs = clock.nowUs() + (leadMsOf(start) + REPORTED_DELAY_MS) * 1000;
      this.#deadlineUs = Infinity;
      return atMs;
    } finally {
      if (!isAgreed || stop.drain.aborted) await barrier.withdraw();
    }
  }

  /** Rejects a start time that is far from now. @param {Start} start */
  #instantOf({ at }) {
    const { clock, config } = this.#options;
    const atMs = INSTANT.test(String(at)) ? Date.parse(String(at)) : NaN;
    const nowMs = clock.wallMs();
    if (Math.abs(atMs - nowMs) <= config.startTimeoutMs + MAX_CLOCK_DIFFERENCE_MS) return atMs;
    throw new IncompleteError(
      `start.json of run ${config.runId} (--barrier) has an implausible start time, ${oneLine(JSON.stringify(at) ?? 'none', 60)}; the local time is ${iso(nowMs)}`,
    );
  }

  /** @param {Barrier} barrier @param {Arrival} own @returns {Promise<Start>} */
  async #awaitStart(barrier, own) {
    const { clock, stop, notice } = this.#options;
    const pollMs = Math.min(Math.max(POLL_MS, own.instances), MAX_POLL_MS);
    /** Instances that have withdrawn since. @type {Set<number>} */
    const everSeen = new Set();
    let lacking = `missing: ${indexRanges(indexesBelow(own.instances))}`;
    let noticeUs = clock.nowUs();
    for (;;) {
      const seen = await barrier.look();
      if (seen?.start) return seen.start;
      if (seen !== null) {
        const { attempts } = seen;
        if ((attempts.get(own.index) ?? 0) > own.attempt)
          throw new IncompleteError(
            `index ${own.index} was started again as attempt ${attempts.get(own.index)}; this attempt ${own.attempt} ends`,
          );
        const start = own.index === 0 ? await publishStart(barrier, own, attempts, { clock, stop }) : null;
        if (start !== null) return start;
        for (const index of attempts.keys()) everSeen.add(index);
        const absent = indexesBelow(own.instances).filter((index) => !attempts.has(index));
        lacking = seen.isStartThere ? 'start.json exists, but cannot be read' : missingInWords(absent, everSeen);
        if (absent.length > 0 && clock.nowUs() >= noticeUs) {
          notice(`waiting for ${absent.length} of ${own.instances} instances: ${indexRanges(absent)}`);
          noticeUs = clock.nowUs() + NOTICE_MS * 1000;
        }
      }
      this.#checkInTime(lacking);
      await clock.sleep(pollMs, stop.drain);
      this.#checkNotInterrupted();
    }
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

/**
 * The part of index 0: publishes the start once all have arrived and agree, or a refusal if their settings differ.
 * @param {Barrier} barrier
 * @param {Arrival} own
 * @param {Attempts} attempts
 * @param {Pick<CommonStartOptions, 'clock' | 'stop'>} options
 */
async function publishStart(barrier, own, attempts, { clock, stop }) {
  const first = await barrier.compare(own, attempts);
  if (first.contradiction !== null) return barrier.begin({ refused: first.contradiction });
  if (!first.allRead || !indexesBelow(own.instances).every((index) => attempts.has(index))) return null;
  const { arrivals, contradiction } = await barrier.compareAgain(own, attempts);
  if (contradiction !== null) return barrier.begin({ refused: contradiction });
  if (arrivals === null || stop.drain.aborted) return null;
  const leadMs = Math.max(LEAD_MS, ...new Set(arrivals.map(leadMsOf)));
  const taking = arrivals.map(({ index, attempt, id }) => ({ index, attempt, id }));
  return barrier.begin({ at: iso(clock.wallMs() + leadMs), leadMs, arrivals: taking });
}

/** @param {{leadMs?: unknown}} said */
function leadMsOf({ leadMs }) {
  return leadMs === LONG_LEAD_MS ? LONG_LEAD_MS : LEAD_MS;
}

/**
 * An earlier process may have had the same index and attempt, so the id is compared too.
 * @param {Start} start
 * @param {Arrival} own
 * @param {string | null} runId
 */
function assertTakesPart({ arrivals }, own, runId) {
  const taking = Array.isArray(arrivals) ? arrivals.find((arrival) => arrival?.index === own.index) : undefined;
  if (taking?.id === own.id && taking.attempt === own.attempt) return;
  const other = taking?.attempt === own.attempt ? 'another process' : `attempt ${oneLine(taking?.attempt, 20)}`;
  throw new IncompleteError(
    `the load of run ${runId} starts without this instance (index ${own.index}, attempt ${own.attempt}): ${taking === undefined ? 'no process' : other} takes part with this index`,
  );
}

/** @param {number[]} absent @param {Set<number>} everSeen */
function missingInWords(absent, everSeen) {
  if (absent.length === 0) return 'all have arrived, but index 0 has not published the start';
  const missing = indexRanges(absent.filter((index) => !everSeen.has(index)));
  const gone = indexRanges(absent.filter((index) => everSeen.has(index)));
  return [missing && `missing: ${missing}`, gone && `left again: ${gone}`].filter(Boolean).join('; ');
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

/** @param {number} count */
function indexesBelow(count) {
  return Array.from({ length: count }, (_, index) => index);
}

/** @param {number} ms since 1970 */
function iso(ms) {
  return new Date(ms).toISOString();
}
