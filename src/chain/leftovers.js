import { UnavailableError } from '../errors.js';
import { counted } from '../text.js';
import { HEAD, ask } from './answers.js';
import { maxPriceWei, offerText, tipOf } from './fees.js';
import { BlockRoom, SKIPPED_BLOCKS, mayBeInTurn } from './left-out.js';
import { NonceTakenError, estimateGas, sendAll } from './send.js';
import { followFees, listWallets, othersOf, partsOf, readPool, readStates } from './wallet-states.js';

/**
 * @import { Fee, Fees, Sender, Wallet } from '../contracts/chain.d.ts'
 * @import { PooledTransaction } from './answers.js'
 * @import { WalletState } from './wallet-states.js'
 */

/** Wallets whose leftovers are replaced at a time. */
const REPLACED_AT_ONCE = 50;

/** Each try doubles the fee: a million times in all, where the node does not show the tip of what is replaced. */
const MAX_TRIES = 20;

/**
 * @typedef {WalletState & {wallet: Wallet, pendingAtFirst: number}} Unsettled
 * @typedef {Unsettled & {shown: Fee | null}} Skipped shown: the highest offer in the pool; null: the node shows none
 */

/** Transactions that were in the pool before this run, and that blocks leave out although they have room for them. */
export class Leftovers {
  /** By wallet: its next nonce, and the head when that was first seen. @type {Map<Wallet, {latest: number, block: number}>} */
  #since = new Map();
  /** The head at the last look. */
  #head = -1;
  #room;
  #sender;

  /** @param {Pick<Sender, 'rpc' | 'clock' | 'signal' | 'timeoutMs'> & Partial<Sender>} sender */
  constructor(sender) {
    this.#sender = sender;
    this.#room = new BlockRoom(sender.rpc, 'setup');
  }

  /** Those that blocks have skipped with reason to replace them. @param {Unsettled[]} open @param {number} head @returns {Promise<Skipped[]>} */
  async #skippedOf(open, head) {
    const skipped = open.filter(({ wallet, latest, pending, pendingAtFirst }) => {
      const known = this.#since.get(wallet);
      if (known?.latest !== latest) this.#since.set(wallet, { latest, block: head });
      // If it has grown, another program sends.
      return known?.latest === latest && pending === pendingAtFirst && head - known.block >= SKIPPED_BLOCKS;
    });
    if (skipped.length === 0) return [];
    const wallets = skipped.map(({ wallet }) => wallet);
    const pool = await readPool(this.#sender.rpc, wallets);
    const areLeftOut = await Promise.all(
      skipped.map(({ wallet, latest }) => this.#isLeftOut(wallet, pool?.get(wallet)?.byNonce.get(latest), head)),
    );
    return skipped
      .filter((_, i) => areLeftOut[i])
      .map((one) => {
        const fees = [...(pool?.get(one.wallet)?.byNonce.values() ?? [])].map(({ fee }) => fee);
        return { ...one, shown: fees.sort((a, b) => Number(tipOf(b) - tipOf(a)))[0] ?? null };
      });
  }

  /** @param {Wallet} wallet @param {PooledTransaction | undefined} next undefined: the node does not show it @param {number} head */
  async #isLeftOut(wallet, next, head) {
    if (next === undefined) return this.#room.isAmple(head);
    if (await this.#room.isTooDear(next.fee, head)) return true;
    const { block } = /** @type {{block: number}} */ (this.#since.get(wallet));
    const evidence = await this.#room.evidence({ address: wallet.address, ...next }, block, head).catch(() => null);
    return evidence !== null && !mayBeInTurn(evidence, head - block);
  }

  /** @param {Unsettled[]} open */
  async look(open) {
    const { rpc, fees, notice } = this.#sender;
    if (fees === undefined) return;
    const head = await ask(rpc, HEAD, 'setup');
    if (head === this.#head) return;
    this.#head = head;
    const stuck = await this.#skippedOf(open, head);
    if (stuck.length === 0) return;
    const count = stuck.reduce((sum, { latest, pending }) => sum + pending - latest, 0);
    notice?.(
      `${SKIPPED_BLOCKS} blocks have skipped ${counted(count, 'transaction')} of ${listWallets(stuck.map(({ wallet }) => wallet))} in the node's pool: replacing with empty ones${fees.isFixed ? '' : ' at a higher fee'}`,
    );
    for (const part of partsOf(stuck, REPLACED_AT_ONCE)) {
      await followFees(/** @type {Sender} */ (this.#sender));
      await Promise.all(part.map((one) => replacePooled(/** @type {Sender} */ (this.#sender), one)));
    }
    for (const { wallet } of stuck) this.#since.delete(wallet);
  }
}

/** @param {Sender} sender @param {Skipped} skipped */
async function replacePooled(sender, { wallet, latest, pending, shown }) {
  const { rpc, fees } = sender;
  const call = { to: wallet.address, data: '0x', value: 0n };
  const gasLimit = await estimateGas(rpc, { from: wallet.address, to: call.to, data: call.data });
  const orders = Array.from({ length: pending - latest }, () => ({ ...call, wallet, gasLimit }));
  /** @type {Fee} */
  let offer = fees.current();
  for (let tries = 1; ; tries += 1) {
    // A fixed offer is made once, as it is.
    const next = tries === 1 && shown !== null ? fees.replacementFee(shown) : doubled(offer, fees);
    const raised = fees.isFixed ? offer : next;
    if (raised === null) throw notReplaced(wallet, offer, fees);
    offer = raised;
    wallet.nonce = latest;
    const higher = { ...fees, current: () => raised, worstPriceWei: () => maxPriceWei(raised) };
    try {
      await sendAll({ ...sender, fees: higher }, orders);
      return;
    } catch (error) {
      if (!(error instanceof NonceTakenError) || tries === MAX_TRIES) throw error;
      const [now] = await readStates(rpc, [wallet]);
      if (now.latest > latest) return;
      if (fees.isFixed) throw notReplaced(wallet, offer, fees);
    }
  }
}

/** @param {Fee} fee @param {Pick<Fees, 'replacementFee'>} fees @returns {Fee | null} null above --max-fee */
function doubled(fee, { replacementFee }) {
  /** @type {Fee | null} */
  let raised = fee;
  // A replacement offers an eighth more.
  for (let times = 0; times < 6 && raised !== null; times += 1) raised = replacementFee(raised);
  return raised;
}

/** @param {Wallet} wallet @param {Fee} offer @param {Pick<Fees, 'limitWords'>} fees */
function notReplaced(wallet, offer, { limitWords }) {
  return new UnavailableError(
    `transactions of ${listWallets([wallet])} are still in the node's pool, and ${offerText(offer)} does not replace them; ${limitWords()}, or ${othersOf(wallet)}`,
  );
}
