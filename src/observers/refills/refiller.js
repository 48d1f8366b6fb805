import { ask, askAll, balanceOf, gather, nonceOf, nullIfAbsent, receiptOf } from '../../chain/answers.js';
import { ether, pay, planPayments, settleFunder } from '../../chain/funding.js';
import { FundsError, RefusedError, StressError } from '../../errors.js';
import { timeText } from '../../text.js';

/**
 * Pays wallets with less than a threshold, from the funder, during the load. Balances are read from the chain: that costs
 * the load nothing, and counts whatever a workload pays.
 *
 * @import { Order, Sender, Wallet } from '../../contracts/chain.d.ts'
 *
 * @typedef {object} RefillOptions
 * @property {Sender} sender its rpc is not used
 * @property {Sender['rpc'][]} rpcs the next one is used after a failure
 * @property {Wallet} funder
 * @property {readonly string[]} addresses of the wallets, by position
 * @property {bigint} belowWei
 * @property {bigint} amountWei what a wallet has afterwards
 * @property {(wei: bigint) => Promise<boolean>} charge asks the load for gas; negative: gives it back
 * @property {(kind: string, words: string) => void} warn
 *
 * @typedef {{address: string, position: number}} Receiver
 * @typedef {{wallet: Receiver, missingWei: bigint}} Payment
 * @typedef {{nonce: number, reservedWei: bigint, payments: Payment[], isPassed: boolean}} Open
 */

/** The threshold covers what a wallet spends in the meantime. */
const PERIOD_MS = 5000;

/** Readings take at most a tenth of the time: with many wallets they are a load of their own. */
const PAUSE_PER_READING = 9;

/** How much of the past tells how fast the funds are spent, and from how much on it is trusted. */
const WINDOW_US = 60e6;
const MIN_WINDOW_US = 30e6;

/** The user is told so long before the funder runs dry. */
const WARN_S = 600;

/** A payment that ends the load is waited for. */
const POLL_MS = 500;

export class Refiller {
  facts = { transactions: 0, payments: 0, valueWei: 0n, gasWei: 0n };
  /** By position. @type {bigint[]} */
  paidWei;
  #options;
  #wallets;
  #failures = 0;
  #isLow = false;
  /** Transactions by hash whose outcome is not known. @type {Map<string, Open>} */
  #open = new Map();
  /** @type {Map<Order, Payment[]>} */
  #paymentsOf = new Map();
  /** What was spent until then, but for a constant. @type {Array<{atUs: number, spentWei: bigint}>} */
  #marks = [];

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
      if (this.#open.size > 0) await settleFunder(this.#sender, this.#options.funder);
      await this.#settle();
      const startUs = clock.nowUs();
      const balances = await askAll(
        this.#rpc,
        this.#wallets.map(({ address }) => balanceOf(address, 'latest')),
        'setup',
      );
      readingMs = (clock.nowUs() - startUs) / 1000;
      await this.#foretell(balances);
      const poor = this.#wallets.filter(({ position }) => balances[position] < this.#options.belowWei);
      const missing = poor.map((wallet) => {
        return { wallet, missingWei: this.#options.amountWei - balances[wallet.position] };
      });
      if (missing.length > 0) await this.#pay(missing);
    } catch (error) {
      if (!(error instanceof StressError)) throw error;
      this.#failures += 1;
      if (!signal.aborted) this.#options.warn('refill', `wallets were not refilled: ${error.message}`);
    }
    return Math.max(PERIOD_MS, PAUSE_PER_READING * readingMs);
  }

  /** Waits for what was sent, until the signal aborts. */
  async finish() {
    const { clock, signal } = this.#options.sender;
    for (;;) {
      await this.#settle().catch(() => (this.#failures += 1));
      if (this.#open.size === 0 || signal.aborted) return;
      await clock.sleep(POLL_MS, signal);
    }
  }

  /** Asks the load before it signs. @returns {Sender} */
  get #sender() {
    const { charge, sender } = this.#options;
    return {
      ...sender,
      rpc: this.#rpc,
      costs: {
        reserve: async (orders, priceWei) => {
          const gas = orders.reduce((sum, { gasLimit }) => sum + gasLimit, 0n);
          if (await charge(gas * priceWei)) return orders.length;
          throw new RefusedError('its gas might exceed --max-spend');
        },
        spend: () => {},
      },
      onSigned: ({ hash, nonce }, order, priceWei) => {
        const payments = this.#paymentsOf.get(order) ?? [];
        this.#open.set(hash, { nonce, reservedWei: order.gasLimit * priceWei, payments, isPassed: false });
      },
    };
  }

  /** @param {Payment[]} missing */
  async #pay(missing) {
    const sender = this.#sender;
    missing.sort((a, b) => (a.missingWei > b.missingWei ? -1 : 1));
    try {
      const { part, plan } = await this.#planWithin(sender, missing);
      for (const [i, order] of plan.orders.entries())
        this.#paymentsOf.set(order, part.slice(i * plan.perOrder, (i + 1) * plan.perOrder));
      await pay(sender, plan);
    } finally {
      this.#paymentsOf.clear();
      await this.#settle().catch(() => {});
    }
  }

  /**
   * For as many of the poorest wallets as the funder can pay.
   * @param {Sender} sender
   * @param {Payment[]} missing
   */
  async #planWithin(sender, missing) {
    for (let part = missing; ; part = part.slice(0, part.length / 2)) {
      try {
        return { part, plan: await planPayments(sender, this.#options.funder, part) };
      } catch (error) {
        if (!(error instanceof FundsError) || part.length === 1) throw error;
      }
    }
  }

  /** Looks for what was sent. */
  async #settle() {
    if (this.#open.size === 0) return;
    const { funder, charge } = this.#options;
    const next = await ask(this.#rpc, nonceOf(funder.address, 'latest'), 'setup');
    for (const [hash, sent] of this.#open) {
      const receipt = await nullIfAbsent(gather(this.#rpc, receiptOf(hash), 'setup'));
      const wasPassed = sent.isPassed;
      sent.isPassed = sent.nonce < next;
      // Another transaction has its nonce, unless an endpoint serves the receipt late.
      if (receipt === null && !(wasPassed && sent.isPassed)) continue;
      this.#open.delete(hash);
      // What a receipt does not state stays charged.
      const { gasUsed = 0, priceWei = 0n, l1FeeWei = 0n } = receipt ?? {};
      const gasWei = gasUsed === null || priceWei === null ? sent.reservedWei : BigInt(gasUsed) * priceWei;
      await charge(gasWei - sent.reservedWei);
      if (receipt === null) continue;
      this.facts.transactions += 1;
      this.facts.gasWei += gasWei + l1FeeWei;
      if (receipt.isSuccess) for (const payment of sent.payments) this.#credit(payment);
    }
  }

  /** @param {Payment} payment that is in a block */
  #credit({ wallet, missingWei }) {
    this.facts.payments += 1;
    this.facts.valueWei += missingWei;
    this.paidWei[wallet.position] += missingWei;
  }

  /** Says when the funder will soon have too little. @param {bigint[]} balances */
  async #foretell(balances) {
    const { funder, sender, warn } = this.#options;
    const funderWei = await ask(this.#rpc, balanceOf(funder.address, 'latest'), 'setup');
    const atUs = sender.clock.nowUs();
    const leftWei = balances.reduce((sum, wei) => sum + wei, 0n);
    this.#marks.push({ atUs, spentWei: this.facts.valueWei + this.facts.gasWei - leftWei });
    while (this.#marks.length > 2 && this.#marks[1].atUs <= atUs - WINDOW_US) this.#marks.shift();
    const [first, last] = [this.#marks[0], this.#marks[this.#marks.length - 1]];
    const lengthUs = last.atUs - first.atUs;
    if (lengthUs < MIN_WINDOW_US) return;
    const perSecond = Number(last.spentWei - first.spentWei) / (lengthUs / 1e6);
    const seconds = perSecond > 0 ? Number(funderWei) / perSecond : Infinity;
    if (seconds < WARN_S && !this.#isLow)
      warn(
        'funder',
        `the funder ${funder.address} has ${ether(funderWei)}, which lasts for about ${timeText(seconds)}: pay it more, or wallets run dry`,
      );
    this.#isLow = seconds < (this.#isLow ? 1.5 : 1) * WARN_S;
  }
}
