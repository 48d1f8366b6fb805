import { ProtocolError, RpcError } from '../errors.js';

/**
 * @import { Rpc } from '../chain/rpc.js'
 * @import { Clock } from '../clock.js'
 */

/** Between two attempts to subscribe; doubled until a head is pushed. */
const SHORTEST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 10_000;
/** So many heads in a row that only a poll has found. One alone may have been on its way to us. */
const MISSED_IS_SILENT = 3;

/**
 * Keeps a subscription to the heads of the chain for as long as the node allows it: one that is lost, or says nothing
 * though there is news, is made again.
 *
 * @param {NonNullable<Rpc['subscribe']>} subscribe
 * @param {object} options
 * @param {Clock} options.clock
 * @param {number} options.head
 * @param {() => void} options.onNews called when there is a new head, and when there may be one that was not pushed,
 *   because the subscription was just made or lost
 */
export function subscribeToHeads(subscribe, { clock, head, onNews }) {
  const stopping = new AbortController();
  let newest = head;
  /** Heads in a row that we were not told of. */
  let missed = 0;
  let waitMs = SHORTEST_WAIT_MS;
  let isLive = false;
  /** Ends the subscription that there is. */
  let leave = () => {};

  /** @param {any} header */
  function onHeader(header) {
    const number = Number(header?.number);
    if (!Number.isSafeInteger(number)) return;
    newest = number; // lower than the last one where blocks were replaced
    missed = 0;
    waitMs = SHORTEST_WAIT_MS;
    onNews();
  }

  /** One subscription, from its first word to its end. */
  async function live() {
    const ended = new Promise((/** @type {(value: void) => void} */ resolve) => (leave = resolve));
    const end = await subscribe('newHeads', onHeader, leave);
    isLive = true;
    missed = 0;
    onNews();
    await ended;
    isLive = false;
    end();
    onNews();
  }

  async function keep() {
    while (!stopping.signal.aborted) {
      try {
        await live();
      } catch (error) {
        // A node that knows no subscriptions will not know them later.
        if (error instanceof RpcError || error instanceof ProtocolError) return;
      }
      await clock.sleep(waitMs, stopping.signal);
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
    }
  }
  const done = keep();

  return {
    isLive: () => isLive,
    /** The newest head that was pushed. */
    newest: () => newest,
    /** Blocks are gone: what was pushed before does not count. @param {number} number */
    rewind: (number) => {
      newest = Math.min(newest, number);
    },
    /** A poll has found a head that is new. */
    polled: () => {
      if (!isLive) return;
      missed += 1;
      if (missed === MISSED_IS_SILENT) leave();
    },
    stop: () => {
      stopping.abort();
      leave();
      return done;
    },
  };
}
