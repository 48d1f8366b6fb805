import { InternalError, ProtocolError, RpcError, StressError } from '../errors.js';
import { audit } from './audit.js';
import { unexpected } from './closing.js';
import { assertSameChain } from './start-block.js';

/**
 * @import { AuditReport } from './audit.js'
 * @import { Config } from './config.js'
 * @import { StartBlock } from './start-block.js'
 * @import { Stop } from './stop.js'
 */

/**
 * @param {Omit<Parameters<typeof audit>[0], 'timeoutMs' | 'signal'>} parts
 * @param {StartBlock} start
 * @param {Pick<Config, 'drainTimeoutMs' | 'requestTimeoutMs'>} config
 * @param {Stop} stop
 * @returns {Promise<{report: AuditReport | null, reason: string}>} the reason why there is none
 */
export async function auditUnlessHurried(parts, start, { drainTimeoutMs, requestTimeoutMs }, stop) {
  const hurried = () => ({ report: null, reason: stop.hurriedBecause ?? '' });
  if (stop.now.aborted) return hurried();
  try {
    await assertSameChain(parts.rpc, start);
    // A request that was given up may still arrive for as long as it could have been answered.
    const timeoutMs = Math.max(drainTimeoutMs, requestTimeoutMs);
    return { report: await audit({ ...parts, timeoutMs, signal: stop.now }), reason: '' };
  } catch (error) {
    if (stop.now.aborted) return hurried();
    // The endpoint answers, and cannot tell what the audit asks: its state is pruned, or it lacks a method.
    const isAnswer = (error instanceof RpcError || error instanceof ProtocolError) && !error.isBusy;
    if (isAnswer) return { report: null, reason: error.message };
    const known = error instanceof StressError ? error : new InternalError(unexpected(error), error);
    stop.request('audit_failed', known.exitCode, known);
    return { report: null, reason: known.message };
  }
}
