/**
 * The connections of the transport.
 *
 * @typedef {object} ConnectionsReading
 * @property {number} opened connections opened
 * @property {number} reused requests that went over a connection that was already open
 */

/**
 * @param {{stats: () => {requests: number, connectionsOpened: number}}} options stats: since the start, of all threads
 */
export function createConnectionsProbe({ stats }) {
  let last = stats();
  return {
    /** @returns {ConnectionsReading} */
    sample: () => {
      const now = stats();
      const opened = Math.max(0, now.connectionsOpened - last.connectionsOpened);
      // A connection may be opened for a request that was counted before it, or for none at all.
      const reused = Math.max(0, now.requests - last.requests - opened);
      last = now;
      return { opened, reused };
    },
  };
}
