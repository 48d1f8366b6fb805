import { failureCode } from './iteration.js';

/**
 * One plain call from start to outcome: asked, answered, its answer checked. There is no block to wait for, and its
 * deadline is that of its request.
 *
 * @typedef {import('./operation.js').Operation} Operation
 *
 * @typedef {object} CallTools
 * @property {import('../chain/rpc.js').Rpc} rpc
 * @property {import('../clock.js').Clock} clock
 * @property {import('../workload/index.js').CallWorkload} workload
 */

/** @param {CallTools} tools @param {Operation} operation */
export function call({ rpc, clock, workload }, operation) {
  const { position } = operation.account;
  operation.taken(); // calls need not arrive in order
  const { method, params, name = null } = workload.next(position);
  operation.name = name;
  const onSent = () => {
    if (operation.isCancelled) return false;
    operation.sentAtUs = clock.nowUs();
    return true;
  };
  /** @param {Error} error */
  const fail = (error) => {
    if (operation.isCancelled) return;
    const code = failureCode(error);
    if (code === 'internal') operation.bug = error;
    operation.words = error.message;
    operation.end('failed', code, clock.nowUs());
  };
  rpc.call(method, params, 'load', onSent).then((result) => {
    if (operation.isCancelled) return;
    operation.acceptedAtUs = clock.nowUs();
    try {
      operation.effect = workload.check(position, result);
    } catch (error) {
      return fail(/** @type {Error} */ (error));
    }
    operation.end('verified', null, operation.acceptedAtUs);
  }, fail);
}
