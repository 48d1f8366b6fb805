/** What the rows of the fault matrix have found: kept for the document, whether all of it held or not. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

/**
 * @import { Pace } from './pace.js'
 * @import { TestContext } from 'node:test'
 */

/**
 * @typedef {object} RowResult
 * @property {string} group
 * @property {string} fault
 * @property {string} proof
 * @property {number} seconds that the program took in all
 * @property {number} verified
 * @property {Record<string, number>} failures by code
 * @property {number} timedOut
 * @property {Record<string, number> | null} resubmissions
 * @property {Pace | null} pace
 * @property {number | null} exitCode
 * @property {string} audit in words
 * @property {string} remark
 * @property {string | null} client the node, as it calls itself
 * @property {string[]} problems what did not hold
 */

/** Where the rows of one run of the suite meet: its test files have the same parent. */
export const ROWS_FOLDER = join(tmpdir(), `stress-fault-rows-${process.ppid}`);

/** @typedef {{group: string, fault: string}} RowName */

/** Whether the document is written at the end: rows of a part of the suite would lie about for ever. */
const IS_KEPT = parentsArguments().includes('zz-document.test.js');

function parentsArguments() {
  try {
    return readFileSync(`/proc/${process.ppid}/cmdline`, 'utf8');
  } catch {
    return ''; // not on Linux
  }
}

/** @param {RowName} row */
function resultFile({ group, fault }) {
  return join(ROWS_FOLDER, `${group} ${fault}`.replaceAll(/[^a-z0-9]+/gi, '-') + '.json');
}

/** @param {string} testFile */
function expectationFile(testFile) {
  return join(ROWS_FOLDER, `${basename(testFile)}.expected`);
}

/** What this test file is going to carry out. @param {RowName[]} rows */
export function expectRows(rows) {
  if (!IS_KEPT) return;
  mkdirSync(ROWS_FOLDER, { recursive: true });
  const names = rows.map(({ group, fault }) => ({ group, fault }));
  writeFileSync(expectationFile(process.argv[1]), JSON.stringify(names));
}

/** @param {TestContext} t @param {RowResult} result */
export function keepResult(t, result) {
  t.diagnostic(JSON.stringify(result));
  if (IS_KEPT) writeFileSync(resultFile(result), JSON.stringify(result));
}

/**
 * @param {string[]} testFiles
 * @returns {RowResult[] | null} in the order of the files and of the rows in them; null: some are still to come
 */
export function allResults(testFiles) {
  if (!testFiles.every((file) => existsSync(expectationFile(file)))) return null;
  /** @type {RowName[]} */
  const names = testFiles.flatMap((file) => JSON.parse(readFileSync(expectationFile(file), 'utf8')));
  const files = names.map(resultFile);
  return files.every((file) => existsSync(file)) ? files.map((file) => JSON.parse(readFileSync(file, 'utf8'))) : null;
}

/** A row that came to no end at all. @param {{group: string, fault: string}} row @param {Error} error @returns {RowResult} */
export function brokenRow({ group, fault }, error) {
  const nothing = { proof: '', seconds: 0, verified: 0, failures: {}, timedOut: 0, resubmissions: null, pace: null };
  return {
    group,
    fault,
    ...nothing,
    exitCode: null,
    audit: '',
    remark: '',
    client: null,
    problems: [error.stack ?? error.message],
  };
}

/** What does not hold, all of it: a row that fails has more than one thing to say. */
export class Problems {
  /** @type {string[]} */
  list = [];

  /** @template T @param {string} what @param {() => T | Promise<T>} check @returns {Promise<T | null>} */
  async note(what, check) {
    try {
      return await check();
    } catch (error) {
      this.list.push(`${what}: ${/** @type {Error} */ (error).message}`);
      return null;
    }
  }
}

/** @param {any} run */
export function auditOf(run) {
  if (!run?.audit) return `none: ${run?.unmeasured['/audit'] ?? 'there is no run file'}`;
  const { exact, includedLate, reorgedOut = 0, replaced, neverSent, pending, bounds } = run.audit;
  const facts = Object.entries({
    'included late': includedLate,
    'reorged out': reorgedOut,
    replaced,
    'never sent': neverSent,
  })
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what}`);
  if (exact) return ['exact', ...facts].join(', ');
  return ['not exact', `${bounds.atLeast} to ${bounds.atMost} executed`, `${pending} pending`, ...facts].join(', ');
}
