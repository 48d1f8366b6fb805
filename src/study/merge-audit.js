import { auditGaps, auditResult } from '../metrics/audit-result.js';
import { walletsOf } from './merge-words.js';

/**
 * @import { RunFile } from '../metrics/summary.js'
 * @import { AuditReport } from '../run/audit.js'
 * @import { Check } from '../workload/index.js'
 * @import { Card } from './merge-card.js'
 */

/**
 * The audits of all instances as one. Each was made of wallets of its own, so that they add up; what belongs to one
 * wallet names that wallet, and the wallet says whose it is.
 */

/** Lists are as long as those of one run may be. */
const LISTED = Object.freeze({ mismatches: 100, foreign: 100, resolutions: 1000, incomplete: 100 });

const ADDED = Object.freeze(
  /** @type {const} */ ([
    ...['wallets', 'verified', 'includedLate', 'reverted', 'reorgedOut', 'neverSent', 'replaced', 'pending'],
    'mismatchCount',
  ]),
);

export class AuditSum {
  /** @type {AuditReport | null} */
  #sum = null;
  #isProven = false;
  /** What could not be checked, and why. @type {string[]} */
  #gaps = [];

  /** @param {RunFile} run of one instance @param {Card} card */
  add(run, { name, index, offset, threads }) {
    const result = auditResult(run);
    if (result === 'not_exact') this.#isProven = true;
    const who = `${index === null ? name : `instance ${index}`} (${walletsOf({ offset, threads })})`;
    if (result === 'incomplete' || run.partial) this.#gaps.push(...auditGaps(run).map((words) => `${who}: ${words}`));
    const audit = /** @type {AuditReport | null} */ (run.audit);
    if (audit !== null) this.#sum = this.#sum === null ? { ...audit } : together(this.#sum, audit);
  }

  /**
   * @param {string[]} absent instances that are not among them, in words
   * @returns {AuditReport | null} null: no instance made one
   */
  result(absent) {
    if (this.#sum === null) return null;
    const incomplete = [...absent, ...this.#gaps];
    const result = this.#isProven ? 'not_exact' : incomplete.length > 0 ? 'incomplete' : 'exact';
    return { ...this.#sum, exact: result === 'exact', result, incomplete: incomplete.slice(0, LISTED.incomplete) };
  }
}

/** @param {AuditReport} a @param {AuditReport} b @returns {AuditReport} */
function together(a, b) {
  const last = b.blockNumber > a.blockNumber ? b : a;
  const added = Object.fromEntries(ADDED.map((name) => [name, a[name] + b[name]]));
  return {
    ...a,
    .../** @type {Pick<AuditReport, typeof ADDED[number]>} */ (added),
    // The latest block that one of them was made at.
    blockNumber: last.blockNumber,
    blockHash: last.blockHash,
    effectsOnChain: sumOf(a.effectsOnChain, b.effectsOnChain),
    bounds: {
      atLeast: sumOf(a.bounds.atLeast, b.bounds.atLeast),
      atMost: sumOf(a.bounds.atMost, b.bounds.atMost),
    },
    mismatches: [...a.mismatches, ...b.mismatches].slice(0, LISTED.mismatches),
    foreign: [...a.foreign, ...b.foreign].slice(0, LISTED.foreign),
    resolutions: [...a.resolutions, ...b.resolutions].slice(0, LISTED.resolutions),
    checks: checksOf(a.checks ?? [], b.checks ?? []),
  };
}

/** @param {Check[]} a @param {Check[]} b @returns {Check[]} */
function checksOf(a, b) {
  const others = new Map(b.map((check) => [check.name, check]));
  const merged = a.map((check) => {
    const other = others.get(check.name);
    others.delete(check.name);
    return other === undefined ? check : checkOf(check, other);
  });
  return [...merged, ...others.values()];
}

/** One that fails says more than one that could not be made, and that more than one that holds. @param {Check} a @param {Check} b @returns {Check} */
function checkOf(a, b) {
  const worse = [a, b].find(({ holds }) => holds === false) ?? [a, b].find(({ holds }) => holds === null);
  if (worse !== undefined && (a.holds !== b.holds || worse.holds === null)) return worse;
  const numbers = [a.expected, b.expected, a.found, b.found];
  const isNumeric = numbers.every((text) => text !== null && /^-?\d+$/.test(text));
  if (!isNumeric) return worse ?? a;
  return { ...a, expected: sumOf(a.expected ?? '0', b.expected ?? '0'), found: sumOf(a.found ?? '0', b.found ?? '0') };
}

/** @param {string} a @param {string} b */
function sumOf(a, b) {
  return String(BigInt(a) + BigInt(b));
}
