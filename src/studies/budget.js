import { exactAmount } from '../coin.js';
import { EXIT, RefusedError } from '../errors.js';
import { isPlain } from '../stats/sample.js';

/**
 * What the runs of a study may still spend on fees (--max-spend): each run gets what is left. A run is charged however it
 * ends, and so is one that was made while the study itself was killed.
 *
 * @import { StudyFile } from '../contracts/study.d.ts'
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { Finished } from './experiment.js'
 */

/** The option. Its value may change when a study is resumed. */
export const MAX_SPEND = '--max-spend';

/** Exit codes of a run that has ended by itself: if it has paid something, it leaves a run file. @type {readonly number[]} */
const BY_ITSELF = Object.freeze(Object.values(EXIT).filter((code) => code !== EXIT.internal));

/**
 * What a run has spent at most.
 * @param {Pick<Finished, 'run' | 'exitCode'>} finished
 * @returns {bigint | null} null: not known
 */
function spentAtMost({ run, exitCode }) {
  if (run === null) return BY_ITSELF.includes(exitCode) ? 0n : null;
  return spentIn(run);
}

/** @param {RunFile} run @returns {bigint | null} */
function spentIn(run) {
  const { capWei, setUpWei, leftWei = null, spentWei } = run.spending;
  if (spentWei !== null) return BigInt(spentWei);
  if (run.end !== 'set_up_failed' && isPlain(run)) return 0n;
  const cap = capWei === null ? null : BigInt(capWei);
  // Value that was sent is in leftWei as well.
  const most = setUpWei === null || leftWei === null ? null : BigInt(setUpWei) + BigInt(leftWei);
  return most === null || (cap !== null && cap < most) ? cap : most;
}

export class Budget {
  #capWei;
  #file;
  #save;
  #spentWei;
  /** Whether the file counts all runs of the study: it had a limit from the start. */
  #isKnown;

  /**
   * @param {bigint | null} capWei null: no limit
   * @param {Pick<StudyFile, 'spending'>} file of the study
   * @param {() => Promise<void>} save writes it
   */
  constructor(capWei, file, save) {
    this.#capWei = capWei;
    this.#file = file;
    this.#save = save;
    this.#isKnown = file.spending !== undefined;
    this.#spentWei = BigInt(file.spending?.spentWei ?? 0);
    if (capWei === null) delete file.spending;
    else file.spending ??= { spentWei: '0', open: null };
  }

  /** @returns {bigint | null} null: no limit */
  get leftWei() {
    if (this.#capWei === null) return null;
    return this.#capWei > this.#spentWei ? this.#capWei - this.#spentWei : 0n;
  }

  get isSpent() {
    return this.leftWei === 0n;
  }

  /** Arguments of the next run. @returns {string[]} */
  get args() {
    return this.leftWei === null ? [] : [`${MAX_SPEND}=${this.leftWei}wei`];
  }

  /**
   * A run was made while the study was killed.
   * @param {(file: string) => RunFile | null} read
   */
  resume(read) {
    const { open = null } = this.#file.spending ?? {};
    if (open === null) return;
    const run = read(open.file);
    this.#charge((run && spentIn(run)) ?? BigInt(open.capWei));
  }

  /** A run that was in the folder already. @param {RunFile} run */
  keep(run) {
    if (!this.#isKnown) this.#charge(spentIn(run));
  }

  /** Before a run starts. @param {string} file its run file @throws {RefusedError} nothing is left */
  async open(file) {
    const { leftWei } = this;
    const { spending } = this.#file;
    if (leftWei === null || spending === undefined) return;
    if (leftWei === 0n)
      throw new RefusedError(
        `the runs of this study may have spent all of ${MAX_SPEND} ${exactAmount(/** @type {bigint} */ (this.#capWei))}: raise it, and the same command continues`,
      );
    spending.open = { file, capWei: String(leftWei) };
    await this.#save();
  }

  /** When it has ended. @param {Pick<Finished, 'run' | 'exitCode'>} finished */
  async close(finished) {
    if (this.#capWei === null) return;
    this.#charge(spentAtMost(finished));
    await this.#save();
  }

  /** @param {bigint | null} wei null: not known, so that nothing is left */
  #charge(wei) {
    this.#spentWei += wei ?? this.leftWei ?? 0n;
    if (this.#file.spending !== undefined) this.#file.spending = { spentWei: String(this.#spentWei), open: null };
  }
}
