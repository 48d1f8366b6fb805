/** @import { EndpointSockets, LoopReading, NodeReading, Readings, SocketsReading } from '../types.d.ts' */

/**
 * Probe readings of two neighbouring intervals as one: counters add up, of values at the end of an interval the worse
 * one is kept, means are weighted by the intervals' lengths.
 * @param {Readings} a
 * @param {Readings} b the interval after it
 * @param {number} aMs length of a
 * @param {number} bMs length of b
 * @returns {Readings}
 */
export function mergeReadings(a, b, aMs, bMs) {
  const weight = aMs + bMs > 0 ? aMs / (aMs + bMs) : 0.5;
  const merged = {
    self: { cpuUs: a.self.cpuUs + b.self.cpuUs, rssBytes: Math.max(a.self.rssBytes, b.self.rssBytes) },
    loop: either(a.loop, b.loop, (x, y) => mergeLoop(x, y, weight)),
    connections: {
      opened: a.connections.opened + b.connections.opened,
      reused: a.connections.reused + b.connections.reused,
    },
    sockets: either(a.sockets, b.sockets, mergeSockets),
    pool: either(a.pool, b.pool, (x, y) => ({
      pending: Math.max(x.pending, y.pending),
      queued: Math.max(x.queued, y.queued),
    })),
    node: either(a.node, b.node, mergeNode),
    // A metrics page does not tell counters from gauges, so neither a sum nor a maximum is right for all.
    metrics: b.metrics ?? a.metrics,
  };
  const why = Object.entries({ ...a.why, ...b.why }).filter(
    ([name]) => merged[/** @type {keyof typeof merged} */ (name)] === null,
  );
  return { ...merged, why: Object.fromEntries(why) };
}

/**
 * Readings of two threads for the same interval: the worse event loop limits the load; times of garbage collection add
 * up.
 * @param {LoopReading} a
 * @param {LoopReading} b
 * @returns {LoopReading}
 */
export function worstLoop(a, b) {
  return {
    utilization: Math.max(a.utilization, b.utilization),
    delayMeanUs: Math.max(a.delayMeanUs, b.delayMeanUs),
    delayP99Us: Math.max(a.delayP99Us, b.delayP99Us),
    delayMaxUs: Math.max(a.delayMaxUs, b.delayMaxUs),
    gcUs: a.gcUs + b.gcUs,
    ...scheduled(a, b, Math.max),
  };
}

/** CPU times that only Linux has. @param {LoopReading} a @param {LoopReading} b @param {(x: number, y: number) => number} merge */
function scheduled(a, b, merge) {
  if (a.cpuUs === undefined || b.cpuUs === undefined) return {};
  return { cpuUs: merge(a.cpuUs, b.cpuUs), waitedUs: merge(a.waitedUs ?? 0, b.waitedUs ?? 0) };
}

/** @param {number} a @param {number} b */
const sum = (a, b) => a + b;

/** @template T @param {T | null} a @param {T | null} b @param {(a: T, b: T) => T} merge */
function either(a, b, merge) {
  return a === null || b === null ? (a ?? b) : merge(a, b);
}

/** @param {LoopReading} a @param {LoopReading} b @param {number} weight of a, 0 to 1 @returns {LoopReading} */
function mergeLoop(a, b, weight) {
  return {
    ...worstLoop(a, b),
    utilization: a.utilization * weight + b.utilization * (1 - weight),
    delayMeanUs: a.delayMeanUs * weight + b.delayMeanUs * (1 - weight),
    ...scheduled(a, b, sum),
  };
}

/** @param {SocketsReading} a @param {SocketsReading} b @returns {SocketsReading} */
function mergeSockets(a, b) {
  /** @type {Map<string, EndpointSockets>} */
  const endpoints = new Map(a.endpoints.map((one) => [one.endpoint, one]));
  for (const one of b.endpoints) {
    const before = endpoints.get(one.endpoint);
    endpoints.set(one.endpoint, before === undefined ? one : mergeEndpoint(before, one));
  }
  return { timeWait: Math.max(a.timeWait, b.timeWait), range: b.range, endpoints: [...endpoints.values()] };
}

/** @param {EndpointSockets} a @param {EndpointSockets} b @returns {EndpointSockets} */
function mergeEndpoint(a, b) {
  return {
    endpoint: b.endpoint,
    timeWait: Math.max(a.timeWait, b.timeWait),
    portsInUse: Math.max(a.portsInUse, b.portsInUse),
    portsLeft: Math.min(a.portsLeft, b.portsLeft),
  };
}

/** @param {NodeReading} a @param {NodeReading} b @returns {NodeReading} */
function mergeNode(a, b) {
  const descriptors = either(a.descriptors, b.descriptors, Math.max);
  const why = descriptors === null ? (b.why ?? a.why) : undefined;
  return {
    cpuUs: a.cpuUs + b.cpuUs,
    rssBytes: Math.max(a.rssBytes, b.rssBytes),
    threads: Math.max(a.threads, b.threads),
    descriptors,
    ...(why === undefined ? {} : { why }),
  };
}
