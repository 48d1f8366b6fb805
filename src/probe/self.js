/**
 * This process.
 *
 * @typedef {object} SelfReading
 * @property {number} cpuUs CPU time used, user and system, all threads
 * @property {number} rssBytes resident memory now
 */

export function createSelfProbe() {
  let last = process.cpuUsage();
  return {
    /** @returns {SelfReading} */
    sample: () => {
      const { user, system } = process.cpuUsage(last);
      last = process.cpuUsage();
      return { cpuUs: user + system, rssBytes: process.memoryUsage.rss() };
    },
  };
}
