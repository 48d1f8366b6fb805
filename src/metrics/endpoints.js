import { Distribution } from './distribution.js';

/**
 * @import { GroupJson } from './groups.js'
 * @import { MeasuredRun, Outage } from './summary.js'
 */

/**
 * What a run file says of each of several endpoints, in one place.
 *
 * @typedef {Pick<MeasuredRun, 'environment' | 'generator' | 'byEndpoint' | 'window'>} Run
 *
 * @typedef {object} EndpointFigures
 * @property {string} display with its place, where another one looks the same
 * @property {string | null} clientVersion
 * @property {GroupJson} group operations that were sent to it last
 * @property {number | null} tps verified operations of those, per second of the window
 * @property {number} left how often it was left for the others
 * @property {number} awayMs
 */

/** @param {Run} run @returns {EndpointFigures[]} none where there is one endpoint, or the file is older than that */
export function endpointsOf({ environment, generator, byEndpoint = {}, window }) {
  const all = /** @type {Array<{display: string, clientVersion: string | null}>} */ (environment.endpoints ?? []);
  const absences = /** @type {Array<{left: number, awayMs: number}>} */ (generator.endpoints ?? []);
  const names = numbered(all.map(({ display }) => display));
  return all.map(({ clientVersion }, i) => {
    const display = names[i];
    const group = byEndpoint[i] ?? nothingSent();
    const tps = window.durationMs === 0 ? null : (1000 * group.windowVerified) / window.durationMs;
    const { left = 0, awayMs = 0 } = absences[i] ?? {};
    return { display, clientVersion, group, tps, left, awayMs };
  });
}

/**
 * What is secret in a URL is not shown, so that two of them may look the same: these have their places.
 * @param {readonly string[]} displays
 * @returns {string[]}
 */
export function numbered(displays) {
  const isTwice = (/** @type {string} */ display) => displays.indexOf(display) !== displays.lastIndexOf(display);
  return displays.map((display, i) => (isTwice(display) ? `${display} (${i + 1})` : display));
}

/**
 * When none of several threads, or instances, had a submission accepted.
 * @param {Array<Outage | undefined>} stalls the longest of each
 * @returns {Outage | undefined}
 */
export function commonStall(stalls) {
  return stalls.reduce((a, b) => {
    if (a === undefined || b === undefined) return undefined;
    const fromMs = Math.max(a.fromMs, b.fromMs);
    const toMs = Math.min(a.toMs ?? Infinity, b.toMs ?? Infinity);
    return fromMs > toMs ? undefined : { ...a, fromMs, toMs };
  });
}

/** @returns {GroupJson} */
function nothingSent() {
  const counts = { verified: 0, failed: 0, timedOut: 0, abandoned: 0 };
  return { counts, windowVerified: 0, failures: {}, latency: new Distribution().toJSON() };
}
