import { ask, askAll, balanceOf, gather, nonceOf, nullIfAbsent, receiptOf } from '../../chain/answers.js';
import { pay, planPayments, settleFunder } from '../../chain/funding.js';
import { followFees } from '../../chain/wallet-states.js';
import { exactAmount } from '../../coin.js';
import { FundsError, RefusedError, StressError } from '../../errors.js';
import { timeText } from '../../text.js';

/**
 * Pays wallets with less than a threshold, from the funder, during the load. Balances are read from the chain: that costs
 * the load nothing, and counts whatever a workload pays.
 *
 * @import { Order, Rpc, Sender, Wallet } from '../../contracts/chain.d.ts'
 *
 * @typedef {object} RefillOptions
 * @property {Omit<Sender, 'rpc'>} sender
 * @property {Rpc[]} rpcs the next one is used after a failure
 * @property {Wallet} funder
 * @property {readonly string[]} addresses of the wallets, by position
 * @property {bigint} belowWei
 * @property {{gas: bigint, valueWei: bigint}} perOperation
 * @property {number} inFlight operations of one wallet
 * @property {bigint | null} maxBaseFeeWei above it the load pauses
 * @property {bigint} amountWei what a wallet has afterwards
 * @property {(wei: bigint) => Promise<boolean>} charge asks the load for gas; negative: gives it back
 * @property {(kind: string, words: string) => void} warn
 * @property {AbortSignal} ending afterwards nothing more is paid
 *
 * @typedef {{address: string, position: number}} Receiver
 * @typedef {{wallet: Receiver, missingWei: bigint}} Payment
 * @typedef {object} Open
 * @property {number} nonce
 * @property {bigint} reservedWei
 * @property {Payment[]} payments
 * @property {number | null} passedAtUs when its nonce was first seen used
 * @property {number | null} refusedAtUs when the node had refused it, and did not know it
 */

/** The threshold covers what a wallet spends in the meantime. */
const PERIOD_MS = 5000;

/** Readings take at most a tenth of the time: with many wallets they are a load of their own. */
const PAUSE_PER_READING = 9;

/** How often it is computed how fast the funds are spent. */
const WINDOW_S = 60;

/** The user is told ten minutes before the funder runs dry. */
const WARN_S = 600 + WINDOW_S;

/** An endpoint may serve a receipt so long after the nonce, and another one may have a transaction that was refused. */
const LAG_US = 5e6;

/** A payment that ends the load is waited for. */
const POLL_MS = 500;

export class Refiller {
  facts = { transactions: 0, payments: 0, valueWei: 0n, gasWei: 0n, isStated: true };
  /** By position. @type {bigint[]} */
  paidWei;
  /** Balance of the funder at the last reading. @type {bigint | null} */
  funderWei = null;
  #options;
  #wallets;
  #failures = 0;
  #isLow = false;
  /** Transactions by hash whose outcome is not known. @type {Map<string, Open>} */
  #open = new Map();
  /** What was spent until then, but for a constant. @type {{atUs: number, spentWei: bigint} | null} */
  #mark = null;

  /** @param {RefillOptions} options */
  constructor(options) {
    this.#options = options;
    this.#wallets = options.addresses.map((address, position) => ({ address, position }));
    this.paidWei = this.#wallets.map(() => 0n);
  }

  /** Number of transactions whose outcome is not known. */
  get open() {
    return this.#open.size;
  }

  get #rpc() {
    const { rpcs } = this.#options;
    return rpcs[this.#failures % rpcs.length];
  }

  /** @returns {Promise<number>} milliseconds until the next one */
  async round() {
    const { clock, signal } = this.#options.sender;
    let readingMs = 0;
    try {
      // What may still arrive would be paid twice.
      if (this.#open.size > 0) await settleFunder(this.#senderOf(), this.#options.funder);
      await this.#settle();
      const startUs = clock.nowUs();
      const questions = [this.#options.funder, ...this.#wallets].map(({ address }) => balanceOf(address, 'latest'));
      const [funderWei, ...balances] = await askAll(this.#rpc, questions, 'setup');
      readingMs = (clock.nowUs() - startUs) / 1000;
      this.funderWei = funderWei;
      this.#warnBeforeEmpty(funderWei, balances);
      const thresholdWei = await this.#thresholdWei();
      const poor = this.#wallets.filter(({ position }) => balances[position] < thresholdWei);
      const missing = poor.map((wallet) => {
        return { wallet, missingWei: this.#options.amountWei - balances[wallet.position] };
      });
      if (missing.length > 0) await this.#pay(missing);
    } catch (error) {
      if (!(error instanceof StressError)) throw error;
      this.#failures += 1;
      if (!signal.aborted && !this.#options.ending.aborted)
        this.#options.warn('refill', `wallets were not refilled: ${error.message}`);
    }
    return Math.max(PERIOD_MS, PAUSE_PER_READING * readingMs);
  }

  /**
   * What a wallet needs at the present price, at least --refill-below. All that it has in flight, as long as that is half
   * of what it is topped up to: otherwise most of the gas would be for payments. Then one operation, without which it
   * would start none.
   */
  async #thresholdWei() {
    const { sender, belowWei, perOperation, inFlight, amountWei, maxBaseFeeWei, warn } = this.#options;
    await followFees({ ...sender, rpc: this.#rpc });
    const operationWei = perOperation.gas * sender.fees.worstPriceWei() + perOperation.valueWei;
    const needWei = operationWei * BigInt(inFlight);
    const isHeld = maxBaseFeeWei !== null && (sender.fees.state().baseFeeWei ?? 0n) > maxBaseFeeWei;
    if (isHeld || needWei <= belowWei) return belowWei;
    if (2n * needWei <= amountWei) return needWei;
    warn(
      'price',
      `what a wallet has in flight may cost ${exactAmount(needWei)} at the present price, and wallets are topped up to ${exactAmount(amountWei)}: give a --fund-amount of twice what is in flight`,
    );
    const leastWei = operationWei > amountWei / 2n ? operationWei : amountWei / 2n;
    if (operationWei > amountWei || leastWei <= belowWei) return belowWei;
    return leastWei;
  }

  /** Waits for what was sent, until the signal aborts. */
  async finish() {
    const { clock, signal } = this.#options.sender;
    for (;;) {
      await this.#settle().catch((error) => {
        if (!(error instanceof StressError)) throw error;
        this.#failures += 1;
      });
      if (this.#open.size === 0 || signal.aborted) return;
      await clock.sleep(POLL_MS, signal);
    }
  }

  /** Asks the load before it signs. @param {(order: Order) => Payment[]} [paymentsIn] @returns {Sender} */
  #senderOf(paymentsIn = () => []) {
    const { charge, sender, ending } = this.#options;
    return {
      ...sender,
      rpc: this.#rpc,
      costs: {
        reserve: async (orders, priceWei) => {
          if (ending.aborted) throw new RefusedError('the load has ended');
          const gas = orders.reduce((sum, { gasLimit }) => sum + gasLimit, 0n);
          if (await charge(gas * priceWei)) return orders.length;
          throw new RefusedError('the gas of the payments might exceed --max-spend');
        },
        // settle() has the charges.
        spend: () => {},
        release: () => {},
      },
      onSigned: ({ hash, nonce, replaces }, order, priceWei) => {
        // The reservations of what it replaces are kept with those hashes.
        const keptWei = replaces.reduce((sum, one) => sum + (this.#open.get(one)?.reservedWei ?? 0n), 0n);
        // The same bytes may have been sent before.
        const reservedWei = order.gasLimit * priceWei - keptWei + (this.#open.get(hash)?.reservedWei ?? 0n);
        /** @type {Open} */
        const sent = { nonce, reservedWei, payments: paymentsIn(order), passedAtUs: null, refusedAtUs: null };
        this.#open.set(hash, sent);
        return () => (sent.refusedAtUs = sender.clock.nowUs());
      },
    };
  }

  /** @param {Payment[]} missing */
  async #pay(missing) {
    missing.sort((a, b) => (a.missingWei > b.missingWei ? -1 : 1));
    const { part, plan } = await this.#planWithin(missing);
    const { orders, perOrder } = plan;
    const paymentsIn = (/** @type {Order} */ order) => {
      const i = orders.findIndex((one) => one === order);
      return part.slice(i * perOrder, (i + 1) * perOrder);
    };
    await pay(this.#senderOf(paymentsIn), plan);
    await this.#settle();
  }

  /** For as many of the poorest wallets as the funder can pay. @param {Payment[]} missing */
  async #planWithin(missing) {
    for (let part = missing; ; part = part.slice(0, part.length / 2)) {
      try {
        return { part, plan: await planPayments(this.#senderOf(), this.#options.funder, part) };
      } catch (error) {
        if (!(error instanceof FundsError) || part.length === 1) throw error;
      }
    }
  }

  /** Looks for what was sent. */
  async #settle() {
    if (this.#open.size === 0) return;
    const { funder, charge, sender } = this.#options;
    const next = await ask(this.#rpc, nonceOf(funder.address, 'latest'), 'setup');
    for (const [hash, sent] of this.#open) {
      const receipt = await nullIfAbsent(gather(this.#rpc, receiptOf(hash), 'setup'));
      const nowUs = sender.clock.nowUs();
      sent.passedAtUs = sent.nonce < next ? (sent.passedAtUs ?? nowUs) : null;
      // Another transaction has its nonce, unless an endpoint serves the receipt late.
      const sinceUs = sent.passedAtUs ?? sent.refusedAtUs ?? nowUs;
      if (receipt === null && nowUs - sinceUs < LAG_US) continue;
      this.#open.delete(hash);
      // What a receipt does not state stays charged.
      const { gasUsed = 0, priceWei = 0n, dataFeeWei = 0n } = receipt ?? {};
      const isStated = gasUsed !== null && priceWei !== null;
      const gasWei = isStated ? BigInt(gasUsed) * priceWei : sent.reservedWei;
      await charge(gasWei - sent.reservedWei);
      if (receipt === null) continue;
      this.facts.transactions += 1;
      this.facts.isStated &&= isStated;
      this.facts.gasWei += gasWei + dataFeeWei;
      if (receipt.isSuccess) for (const payment of sent.payments) this.#credit(payment);
    }
  }

  /** @param {Payment} payment that is in a block */
  #credit({ wallet, missingWei }) {
    this.facts.payments += 1;
    this.facts.valueWei += missingWei;
    this.paidWei[wallet.position] += missingWei;
  }

  /** Says when the funder will soon have too little. @param {bigint} funderWei @param {bigint[]} balances of the wallets */
  #warnBeforeEmpty(funderWei, balances) {
    const { funder, sender, warn } = this.#options;
    const leftWei = balances.reduce((sum, wei) => sum + wei, 0n);
    const now = { atUs: sender.clock.nowUs(), spentWei: this.facts.valueWei + this.facts.gasWei - leftWei };
    const before = (this.#mark ??= now);
    const windowS = (now.atUs - before.atUs) / 1e6;
    if (windowS < WINDOW_S) return;
    this.#mark = now;
    const perSecond = Number(now.spentWei - before.spentWei) / windowS;
    const seconds = perSecond > 0 ? Number(funderWei) / perSecond : Infinity;
    const isLow = seconds < WARN_S;
    if (isLow && !this.#isLow) {
      const has =
        funderWei === 0n
          ? 'has no funds left'
          : `has ${exactAmount(funderWei)}, which lasts for about ${timeText(seconds)}`;
      warn('funder', `the funder ${funder.address} ${has}: pay it more, or wallets run dry`);
    }
    this.#isLow = isLow;
  }
}
