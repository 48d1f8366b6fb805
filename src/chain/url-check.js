import { UnavailableError } from '../errors.js';
import { HEAD, ask } from './answers.js';
import { hashOf, settledNumbers } from './chain-identity.js';
import { displayUrl } from './rpc.js';

/**
 * Whether each URL answers for one chain: a load balancer may have nodes of two behind it.
 *
 * @import { Rpc, Transport } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 *
 * @typedef {{rpc: Rpc, transport: Transport}} Connection to one URL
 *
 * @typedef {'known' | 'fresh' | 'behind'} Finding
 */

/** Connections by which a URL is asked: of two equal nodes one is missed in 1 of 32 cases. */
const CONNECTIONS = 6;
/** After which a short fork has disappeared. */
const AGAIN_MS = 2000;
/** First and longest pause between two looks whether a chain has more than its first block. */
const FIRST_BLOCK_MS = Object.freeze([1000, 60_000]);

/**
 * A load balancer chooses the node by connection or by request, so several connections are asked. What they do not answer
 * proves nothing.
 * @param {Rpc[]} connections to one URL
 * @param {{clock: Clock, signal: AbortSignal, hasSent?: boolean}} options hasSent: transactions of this run may have been sent
 * @returns {Promise<Finding>} fresh: all have only their first block, and two chains with the same one may differ later; behind: some have
 * @throws {UnavailableError}
 */
export async function assertUrlIsOneChain(connections, { clock, signal, hasSent = false }) {
  /** @template T @param {(rpc: Rpc) => Promise<T>} call @returns {Promise<T[]>} answers without null */
  const answersOf = async (call) => {
    const answers = await Promise.all(connections.map((rpc) => call(rpc).catch(() => null)));
    return answers.filter((answer) => answer !== null);
  };
  const hashesOf = async (/** @type {number} */ number) =>
    new Set(await answersOf((rpc) => hashOf(rpc, number, 'setup')));
  const heads = await answersOf(headOf);
  if (heads.length < 2) return 'known';
  const lowest = Math.min(...heads);
  const numbers = settledNumbers(lowest);
  for (const number of numbers) {
    const before = await hashesOf(number);
    if (before.size < 2) continue;
    await clock.sleep(AGAIN_MS, signal);
    const again = await hashesOf(number);
    const [one, other] = [...before].filter((hash) => again.has(hash));
    if (other === undefined || signal.aborted) continue;
    const words = `some connections answer that block ${number} is ${one}, and others that it is ${other}`;
    const proof = `the same again after ${AGAIN_MS / 1000} s`;
    const sent = hasSent ? 'What was sent may be on both' : 'Nothing was sent';
    throw new UnavailableError(
      `${connections[0].display} answers for two chains: ${words}, ${proof}. ${sent}; give the URL of one chain`,
    );
  }
  if (lowest > 0) return 'known';
  return Math.max(...heads) > 0 ? 'behind' : 'fresh';
}

/** Checks each URL over connections of its own, which it closes, until it is known whether it answers for one chain. */
export class UrlCheck {
  /** URLs whose chain may have only its first block. @type {URL[]} */
  #undecided = [];
  /** @type {Set<Connection>} */
  #open = new Set();
  #closed = new AbortController();
  #options;

  /**
   * @param {object} options
   * @param {URL[]} options.urls
   * @param {(url: URL) => Connection} options.connect
   * @param {(connection: Connection) => void} options.onClosed
   * @param {Rpc} options.rpc the connections of the run
   * @param {Clock} options.clock
   */
  constructor(options) {
    this.#options = options;
  }

  /**
   * Before the first signature. Two fresh chains of one genesis block do not differ yet: they are looked at again later.
   * @param {AbortSignal} signal
   * @param {(error: Error) => void} onOther two chains that differ later
   * @throws {UnavailableError}
   */
  async begin(signal, onOther) {
    await this.#check(this.#options.urls, { signal, hasSent: false });
    this.#lookAgain().catch(onOther);
  }

  /**
   * Something has failed: perhaps because of two chains, which differ by now.
   * @returns {Promise<string | null>} what may be the reason; null: nothing is known
   * @throws {UnavailableError}
   */
  async again() {
    const behind = await this.#check(this.#undecided, { signal: this.#closed.signal, hasSent: true });
    if (behind.length === 0) return null;
    return `some connections to ${displayUrl(behind[0])} answer that it has block 0 only, and others that it has more: it may answer for two chains`;
  }

  async #lookAgain() {
    const { clock, rpc } = this.#options;
    const { signal } = this.#closed;
    const [firstMs, longestMs] = FIRST_BLOCK_MS;
    for (let pauseMs = firstMs; this.#undecided.length > 0;) {
      await clock.sleep(pauseMs, signal);
      if (signal.aborted) return;
      if ((await headOf(rpc).catch(() => 0)) === 0) continue;
      await this.again();
      pauseMs = Math.min(2 * pauseMs, longestMs);
    }
  }

  /** @param {URL[]} urls @param {{signal: AbortSignal, hasSent: boolean}} options @returns {Promise<URL[]>} those with nodes that are behind */
  async #check(urls, options) {
    /** @type {Array<{url: URL, finding: Finding}>} */
    const found = [];
    for (const url of urls) found.push({ url, finding: await this.#look(url, options) });
    this.#undecided = found.flatMap(({ url, finding }) => (finding === 'known' ? [] : [url]));
    return found.flatMap(({ url, finding }) => (finding === 'behind' ? [url] : []));
  }

  /** @param {URL} url @param {{signal: AbortSignal, hasSent: boolean}} options @returns {Promise<Finding>} */
  async #look(url, options) {
    const { connect, onClosed, clock } = this.#options;
    const connections = Array.from({ length: CONNECTIONS }, () => connect(url));
    for (const one of connections) this.#open.add(one);
    try {
      return await assertUrlIsOneChain(
        connections.map(({ rpc }) => rpc),
        { clock, ...options },
      );
    } finally {
      for (const one of connections) {
        this.#open.delete(one);
        await one.transport.close();
        onClosed(one);
      }
    }
  }

  async close() {
    this.#closed.abort();
    await Promise.all([...this.#open].map(({ transport }) => transport.close()));
  }
}

/** @param {Rpc} rpc */
const headOf = (rpc) => ask(rpc, HEAD, 'setup');
