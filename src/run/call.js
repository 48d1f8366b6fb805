import { isLimit } from '../chain/passing.js';
import { RpcError } from '../errors.js';
import { failureCode } from './iteration.js';

/**
 * @import { Rpc } from '../chain/rpc.js'
 * @import { Clock } from '../clock.js'
 * @import { CallWorkload } from '../workload/index.js'
 * @import { Operation } from './operation.js'
 */

/**
 * One plain call from start to outcome: asked, answered, its answer checked. There is no block to wait for, and its
 * deadline is that of its request. A check that takes time, because somebody else has to be asked, is no part of it.
 *
 * @typedef {object} CallTools
 * @property {Rpc} rpc
 * @property {Clock} clock
 * @property {CallWorkload} workload
 */

/** @param {CallTools} tools @param {Operation} operation */
export function call({ rpc, clock, workload }, operation) {
  const { position } = operation.account;
  operation.taken(); // calls need not arrive in order
  /** @param {Error} error */
  const fail = (error) => {
    if (operation.isCancelled) return;
    const code = failureCode(error);
    if (code === 'internal') operation.bug = error;
    operation.isRefusedForNow = error instanceof RpcError && error.isBusy;
    operation.isLimited = isLimit(error);
    operation.words = error.message;
    operation.end('failed', code, operation.acceptedAtUs ?? clock.nowUs());
  };
  /** @param {string | null} effect */
  const verified = (effect) => {
    if (operation.isCancelled) return;
    operation.effect = effect;
    operation.end('verified', null, operation.acceptedAtUs ?? clock.nowUs());
  };
  /** @param {number} [endpoint] */
  const onSent = (endpoint) => {
    if (operation.isCancelled) return false;
    operation.sentAtUs = clock.nowUs();
    operation.endpoint = endpoint ?? null;
    return true;
  };
  try {
    const request = workload.next(position);
    operation.name = request.name ?? null;
    rpc.call(request.method, request.params, 'load', onSent).then((result) => {
      if (operation.isCancelled) return;
      operation.acceptedAtUs = clock.nowUs();
      try {
        const checked = workload.check(position, result, request);
        if (checked instanceof Promise) checked.then(verified, fail);
        else verified(checked);
      } catch (error) {
        fail(/** @type {Error} */ (error));
      }
    }, fail);
  } catch (error) {
    fail(/** @type {Error} */ (error));
  }
}
