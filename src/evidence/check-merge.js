import { counted } from '../text.js';
import { Claims } from './claims.js';
import { valuesOf } from './figures.js';

/**
 * The run file of a merge against the evidence of its instances.
 *
 * @import { GivenRunFile } from './check-file.js'
 * @import { Evidence } from './format.js'
 */

/** Figures of a merged run file that are the sum of those of its instances. */
const ADDED = Object.freeze({
  attempts: 'started',
  operationsVerified: 'verified',
  failed: 'failed',
  timedOut: 'timedOut',
  abandoned: 'abandoned',
});

/** The same of its audit. */
const AUDITED = ['verified', 'includedLate', 'reverted', 'reorgedOut'];

/** @param {GivenRunFile} given @param {Evidence[]} all @returns {Claims} */
export function checkMerge({ name, run }, all) {
  const claims = new Claims();
  const stated = run.evidence?.sha256 ?? [];
  const digests = all.map(({ bodySha256 }) => bodySha256);
  const unknown = digests.filter((digest) => !stated.includes(digest));
  if (unknown.length > 0)
    claims.contradict('instances', `${counted(unknown.length, 'evidence file')} of no instance of ${name}`);
  const missing = stated.filter((digest) => !digests.includes(digest));
  if (missing.length > 0 || stated.length === 0) {
    const why = `the evidence of ${counted(missing.length, 'instance')} of ${counted(run.merged?.instances.length ?? 0, 'instance')} was not given`;
    claims.conclude('instances', 'not checkable', why, { isOpen: true });
    return claims;
  }
  for (const [figure, member] of Object.entries(ADDED)) {
    const sum = all.reduce((total, { end }) => total + Number(end === null ? NaN : valuesOf(end)[figure]), 0);
    const value = /** @type {Record<string, number>} */ (/** @type {unknown} */ (run.counts))[member];
    if (sum !== value)
      claims.contradict('instances', `${figure} is ${value}, and ${sum} in the evidence of the instances`);
  }
  for (const figure of AUDITED) {
    const values = all.map(({ end }) => (end === null ? null : (valuesOf(end)[figure] ?? null)));
    const value = /** @type {any} */ (run.audit)?.[figure] ?? null;
    if (value === null || values.includes(null)) continue;
    const sum = values.reduce((total, one) => Number(total) + Number(one), 0);
    if (sum !== value)
      claims.contradict('instances', `${figure} of the audit is ${value}, and ${sum} in the evidence of the instances`);
  }
  claims.conclude(
    'merged rates',
    'not checkable',
    `throughput, gas and latency of ${name} are for the time that all instances have in common: those of each instance are above`,
  );
  const addresses = all.flatMap((evidence) => evidence.addresses);
  if (new Set(addresses).size < addresses.length) claims.contradict('instances', 'two instances have one wallet');
  claims.conclude(
    'instances',
    'confirmed',
    `${counted(all.length, 'instance')}: their operations add up, and no wallet is in two`,
  );
  return claims;
}
