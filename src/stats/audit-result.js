import { isPlain } from './sample.js';

/**
 * @import { AuditResult, RunFile } from '../contracts/run-file.d.ts'
 */

/**
 * The result of a run's audit, also for run files of versions that did not store it.
 *
 * @typedef {Pick<RunFile, 'audit' | 'environment' | 'partial' | 'unmeasured'>} Audited
 */

/** @type {readonly AuditResult[]} */
export const AUDIT_RESULTS = Object.freeze(['exact', 'incomplete', 'not_exact']);

/** @param {Audited} run @returns {AuditResult | null} null: the run goes on, or leaves nothing on the chain to audit */
export function auditResult(run) {
  const { audit } = run;
  if (audit === null) return run.partial || isPlain(run) ? null : 'incomplete';
  const { exact, result, checks = [] } = audit;
  if (result !== undefined) return result;
  if (!exact) return 'not_exact';
  return checks.some(({ holds }) => holds === null) ? 'incomplete' : 'exact';
}

/** @param {Audited} run @returns {string | null} null: not incomplete */
export function auditWarning(run) {
  if (auditResult(run) !== 'incomplete') return null;
  const [first, ...more] = auditGaps(run);
  return `the audit is incomplete: ${first}${more.length === 0 ? '' : `, and ${more.length} more`}`;
}

/** @param {Audited} run @returns {string[]} checks that could not be made, with reasons */
export function auditGaps({ audit, unmeasured }) {
  if (audit === null) return [`it could not be made: ${unmeasured['/audit']}`];
  const { incomplete, checks = [] } = audit;
  return incomplete ?? checks.filter(({ holds }) => holds === null).map(({ words, why }) => `${words}: ${why}`);
}
