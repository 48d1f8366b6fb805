import { randomBytes } from 'node:crypto';
import { link, readFile, readdir, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { IncompleteError, RefusedError, oneLine } from '../errors.js';
import { FILE_MODE, cannotWrite, proveWritable } from '../files.js';

/** @import { OutputError } from '../errors.js' */

/**
 * A folder that all instances of a run share, where each leaves word that it has arrived, and where index 0 leaves word
 * when the load begins. Only creating a file that must not be there yet decides anything, which holds over NFS as well.
 *
 * @typedef {object} Arrival
 * @property {string} id of the run file, which tells this process from all others
 * @property {number} index
 * @property {number} attempt
 * @property {number} instances
 * @property {number} threads
 * @property {number} firstOffset
 * @property {number | null} chainId
 * @property {string | null} genesisHash
 * @property {string} host
 * @property {string} arrivedAt time of day
 * @property {number} [leadMs] how long before the load it wants to know when that begins
 *
 * @typedef {object} Start
 * @property {string} [at] time of day at which the load begins
 * @property {number} [leadMs] how long before that it was said
 * @property {Array<Pick<Arrival, 'index' | 'attempt' | 'id'>>} [arrivals] who takes part
 * @property {string} [refused] why nobody does
 *
 * @typedef {Map<number, number>} Attempts the highest attempt that has arrived, by index
 */

const START_FILE = 'start.json';
const ARRIVAL_FILE = /^(\d{1,6})-(\d{1,7})\.json$/;

/** Over NFS each file is a way there and back. */
const READ_AT_ONCE = 32;

/** File systems without hard links say so in one of these ways. */
const NO_LINKS = Object.freeze(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/** What all instances of a run have in common, by the words for it. @type {Array<[string, keyof Arrival]>} */
const IN_COMMON = [
  ['--instances', 'instances'],
  ['-t', 'threads'],
  ['-o', 'firstOffset'],
  ['chain', 'chainId'],
  ['first block', 'genesisHash'],
];

export class Barrier {
  #folder;
  #runId;
  /** Arrivals that were read and agree with the first one, by the names of their files. @type {Map<string, Arrival>} */
  #agreeing = new Map();
  /** @type {string | null} */
  #ownFile = null;

  /** @param {string} folder that all runs may share @param {string} runId */
  constructor(folder, runId) {
    this.#folder = join(folder, runId);
    this.#runId = runId;
  }

  /**
   * Before anything is sent.
   * @param {Pick<Arrival, 'index' | 'attempt'>} who
   * @throws {OutputError | IncompleteError | RefusedError}
   */
  async open(who) {
    proveWritable(this.#folder);
    const start = await this.#read(START_FILE);
    if (start !== null) throw this.#over(start);
    const twin = await this.#read(fileOf(who));
    if (twin !== null) throw this.#twice(who, twin);
  }

  /** @param {Arrival} arrival @throws {RefusedError} */
  async arrive(arrival) {
    const there = await this.#create(fileOf(arrival), arrival);
    // Over NFS a link may be made although its answer is lost, and is there when it is asked for again.
    if (there !== null && there.id !== arrival.id) throw this.#twice(arrival, there);
    this.#ownFile = fileOf(arrival);
  }

  /**
   * @returns {Promise<{start: Start | null, isStartThere: boolean, attempts: Attempts} | null>} null: the folder could not
   *   be read this time; a start may be there, and not yet as a whole
   */
  async look() {
    /** @type {string[]} */
    let names;
    try {
      // Opening a folder makes NFS ask the server; a file that was not there a moment ago it would remember.
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
   * Reads those that were not read before. Only index 0 does, so that the server is not asked for each file by each.
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
        const words = other === null ? null : contradictionOf(own, { ...other, ...some[k] });
        if (words !== null) return { allRead, contradiction: `run ${this.#runId}: ${words}` };
        if (other === null) allRead = false;
        else this.#agreeing.set(fileOf(some[k]), { ...other, ...some[k] });
      }
    }
    return { allRead, contradiction: null };
  }

  /**
   * Reads all of them once more, just before they begin: one that was there may have gone, and another process may have
   * come under its name.
   * @param {Arrival} own
   * @param {Attempts} attempts
   * @returns {Promise<{arrivals: Arrival[] | null, contradiction: string | null}>} null: not all are there any more
   */
  async compareAgain(own, attempts) {
    this.#agreeing.clear();
    const { allRead, contradiction } = await this.compare(own, attempts);
    const arrivals = [own, ...this.#agreeing.values()].sort((a, b) => a.index - b.index);
    return { arrivals: allRead ? arrivals : null, contradiction };
  }

  /** Of several that say it the first one is heard. @param {Start} start @returns {Promise<Start>} what holds */
  async begin(start) {
    return (await this.#create(START_FILE, start)) ?? start;
  }

  /** Nobody is to wait for, or begin with, one that has gone. */
  async leave() {
    if (this.#ownFile !== null) await unlink(join(this.#folder, this.#ownFile)).catch(() => {});
    this.#ownFile = null;
  }

  /**
   * Creates a file as a whole, unless there is one.
   * @param {string} name
   * @param {Arrival | Start} content
   * @returns {Promise<any>} what is there already; null: it was created
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

  /** @param {string} name @returns {Promise<any>} null: it is not there, or not as a whole; whoever asks asks again */
  async #read(name) {
    try {
      const content = JSON.parse(await readFile(join(this.#folder, name), 'utf8'));
      return typeof content === 'object' ? content : null;
    } catch {
      return null;
    }
  }

  /** @param {Start} start */
  #over({ at, refused }) {
    const what = refused === undefined ? `has begun at ${oneLine(at, 40)}` : `was refused (${oneLine(refused)})`;
    return new IncompleteError(
      `run ${this.#runId} ${what}, before this instance was there: each run needs a name of its own (--run-id)`,
    );
  }

  /** @param {Pick<Arrival, 'index' | 'attempt'>} who @param {Partial<Arrival>} twin */
  #twice({ index, attempt }, { host, arrivedAt }) {
    const where = `${host === undefined ? '' : ` on ${oneLine(host, 60)}`}${arrivedAt === undefined ? '' : ` since ${oneLine(arrivedAt, 40)}`}`;
    return new RefusedError(
      `index ${index} of run ${this.#runId} is there already${where}: two instances with one index would send from the same wallets. If that one is dead, say so with --attempt ${attempt + 1}`,
    );
  }
}

/** @param {Pick<Arrival, 'index' | 'attempt'>} who */
function fileOf({ index, attempt }) {
  return `${index}-${attempt}.json`;
}

/** @param {Arrival} a @param {Arrival} b @returns {string | null} */
function contradictionOf(a, b) {
  for (const [words, name] of IN_COMMON) {
    // What a node does not keep any more cannot be told.
    const isKnown = name !== 'genesisHash' || (a[name] !== null && b[name] !== null);
    if (!isKnown || a[name] === b[name]) continue;
    const [one, other] = [a, b].map(
      (arrival) => `index ${arrival.index} (${oneLine(arrival.host, 60)}) has ${words} ${oneLine(arrival[name], 80)}`,
    );
    return `${one}, ${other}: all instances of a run must have the same`;
  }
  return null;
}
