/**
 * The audits of all instances as one. Each was made of wallets of its own, so that they add up; what belongs to one
 * wallet names that wallet, and the wallet says whose it is.
 *
 * @typedef {import('../run/audit.js').AuditReport} AuditReport
 * @typedef {import('../workload/index.js').Check} Check
 */

/** Lists are as long as those of one run may be. */
const LISTED = Object.freeze({ mismatches: 100, foreign: 100, resolutions: 1000 });

const ADDED = Object.freeze(
  /** @type {const} */ ([
    ...['wallets', 'verified', 'includedLate', 'reverted', 'reorgedOut', 'neverSent', 'replaced', 'pending'],
    'mismatchCount',
  ]),
);

export class AuditSum {
  /** @type {AuditReport | null} */
  #sum = null;
  #audits = 0;

  /** @param {AuditReport | null} audit of one instance */
  add(audit) {
    if (audit === null) return;
    this.#audits += 1;
    this.#sum = this.#sum === null ? { ...audit } : together(this.#sum, audit);
  }

  /**
   * @param {number} instances
   * @param {boolean} isWhole none is missing, and none was ended before its run was over
   * @returns {AuditReport | null} null: no instance made one
   */
  result(instances, isWhole) {
    if (this.#sum === null) return null;
    return { ...this.#sum, exact: this.#sum.exact && isWhole && this.#audits === instances };
  }
}

/** @param {AuditReport} a @param {AuditReport} b @returns {AuditReport} */
function together(a, b) {
  const last = b.blockNumber > a.blockNumber ? b : a;
  const added = Object.fromEntries(ADDED.map((name) => [name, a[name] + b[name]]));
  return {
    ...a,
    .../** @type {Pick<AuditReport, typeof ADDED[number]>} */ (added),
    exact: a.exact && b.exact,
    // The latest block that one of them was made at.
    ...{ blockNumber: last.blockNumber, blockHash: last.blockHash },
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
