import { createFees } from '../../chain/fees.js';
import { Wallet, createSigner } from '../../chain/keys.js';
import { Refiller } from './refiller.js';

/**
 * The thread of --refill-below: during the load it alone signs with the funder's key.
 *
 * @import { RefillPlan } from '../../contracts/load.d.ts'
 * @import { SideWork } from '../../core/side-thread.js'
 * @import { RefillMessage, RefillResult } from './index.js'
 */

/** @type {SideWork<RefillPlan & {finishMs: number}, RefillMessage, RefillResult>} */
export default async function refill({ finishMs, ...plan }, rpcs, { onMessage, post, clock, random }) {
  const { chainId, blockGasLimit, timeoutMs, funder, addresses, belowWei, perOperation, inFlight, amountWei } = plan;
  const [begun, ending, over] = [new AbortController(), new AbortController(), new AbortController()];
  // One request at a time.
  let answer = (/** @type {boolean} */ _isGranted) => {};
  const charge = (/** @type {bigint} */ wei) => {
    return new Promise((/** @type {(isGranted: boolean) => void} */ resolve) => {
      answer = resolve;
      post({ wei });
    });
  };
  onMessage(({ hasBegun, isEnding, isOver, isAborted, isGranted }) => {
    if (isGranted !== undefined) answer(isGranted);
    if (hasBegun) begun.abort();
    if (isEnding || isOver) ending.abort();
    if (isOver) clock.after(() => over.abort(), finishMs);
    if (isAborted) over.abort();
  });
  const notice = (/** @type {string} */ words) => post({ warning: ['offer', words] });
  const network = { clock, random, signal: over.signal, timeoutMs, chainId, blockGasLimit, notice };
  const refiller = new Refiller({
    sender: { ...network, fees: createFees(plan.fees), signer: await createSigner() },
    ...{ rpcs, addresses, belowWei, perOperation, inFlight, amountWei, charge },
    funder: Wallet.fromState(funder),
    maxBaseFeeWei: plan.maxBaseFeeWei,
    ending: ending.signal,
    warn: (kind, words) => post({ warning: [kind, words] }),
  });
  await clock.sleep(2 ** 31 - 1, AbortSignal.any([begun.signal, ending.signal]));
  while (!ending.signal.aborted) {
    const pauseMs = await refiller.round();
    post({ facts: refiller.facts, funderWei: refiller.funderWei });
    await clock.sleep(pauseMs, ending.signal);
  }
  await refiller.finish();
  return { facts: refiller.facts, paidWei: refiller.paidWei, open: refiller.open };
}
