import { censoredOf, reasonOf } from '../stats/figures.js';
import { addUp, merge } from '../stats/merge.js';
import { RUN } from '../stats/metrics.js';
import { zeroCounts } from '../stats/stats.js';
import { sum, unknown } from '../stats/unknown.js';
import { numbered } from '../text.js';
import { Grid, SAME_WINDOW, maxOf, minOf, seriesOf } from './window.js';

/**
 * @import { EndpointFacts, GroupJson, RunEnvironment, RunFile, Unknown } from '../contracts/run-file.d.ts'
 * @import { RunHeader } from './choose.js'
 * @import { Clocks, Common } from './window.js'
 */

/** The sum of the run files of all instances: a fold over them, one after the other. */

/** @template T @param {Record<string, T> | undefined} record @param {(key: string, value: T) => [string, T]} change */
function mapped(record = {}, change) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => change(key, value)));
}

/**
 * The run of an instance with the times and the names of endpoints of the merged run. Counts that are known of the whole
 * window only are scaled to the common one.
 * @param {RunFile} run
 * @param {number} share of its window that is in the common window
 * @param {number} shiftMs
 * @param {(index: string) => string} endpointOf
 */
function asPart(run, share, shiftMs, endpointOf) {
  const { latency, probes, generator, environment, reorgs } = run;
  /** @template {{atMs: number}} T @param {T} event */
  const later = (event) => ({ ...event, atMs: event.atMs + shiftMs });
  const scaled = (/** @type {GroupJson} */ group) => ({ ...group, windowVerified: share * group.windowVerified });
  /** @type {EndpointFacts[]} */
  const endpoints = [];
  for (const [i, one] of Object.entries(generator.endpoints))
    endpoints[Number(endpointOf(i))] = { ...one, events: one.events.map(later) };
  return {
    ...run,
    environment: { ...environment, endpoints: undefined },
    reorgs: { ...reorgs, events: reorgs.events.map(later) },
    // Older files lack the censored operations.
    latency: { ...latency, censored: censoredOf(run), fromStartCensored: latency.fromStartCensored ?? censoredOf(run) },
    byName: mapped(run.byName, (name, group) => [name, scaled(group)]),
    byEndpoint: mapped(run.byEndpoint, (index, group) => [endpointOf(index), scaled(group)]),
    probes: probes?.node
      ? { ...probes, node: { ...probes.node, cpuUs: Math.round(share * probes.node.cpuUs) } }
      : probes,
    generator: { ...generator, endpoints },
    intervals: run.intervals.map((row) => {
      return { ...row, byEndpoint: mapped(row.byEndpoint, (index, counts) => [endpointOf(index), counts]) };
    }),
  };
}

/** Rates that are spread over the time for which the throughput is known. @type {Record<'verified' | 'included' | 'gas', {rate: 'verifiedPerSecond' | 'includedPerSecond' | 'chainGasPerSecond', inSeries?: 'verified' | 'gas'}>} */
const SPREAD = Object.freeze({
  verified: { rate: 'verifiedPerSecond', inSeries: 'verified' },
  included: { rate: 'includedPerSecond' },
  gas: { rate: 'chainGasPerSecond', inSeries: 'gas' },
});

export const OTHER_WINDOW = "known of whole windows only, and the common window is less than 99 % of an instance's own";

export class Total {
  /** The sum of all run files, without their intervals. */
  sum = /** @type {Omit<RunFile, 'intervals' | 'series'>} */ ({});
  /** Rows in the common window: an instance may have a little more or less than it, so that the mean length counts. */
  #window = { counts: zeroCounts(), lengthMs: 0, instances: 0 };
  /** What the throughput spreads over the common window; of blocks, which all instances see, the gas that the first has. */
  #spread = /** @type {Record<keyof typeof SPREAD, number | Unknown>} */ ({ verified: 0, included: 0, gas: 0 });
  #hasGas = false;
  /** Endpoints of all instances by their names. @type {Map<string, NonNullable<RunEnvironment['endpoints']>[number]>} */
  #endpoints = new Map();

  /** @param {RunHeader[]} headers @param {Clocks['correctionsMs']} correctionsMs @param {Common} common */
  constructor(headers, correctionsMs, common) {
    this.common = common;
    this.loadStartsMs = headers.map(({ loadStartMs }, i) => loadStartMs + correctionsMs[i]);
    const starts = headers.map((header, i) => header.windowStartMs + correctionsMs[i]);
    const measured = starts.filter((_, i) => headers[i].hasLoad);
    this.grid = new Grid({
      loadStartMs: minOf(this.loadStartsMs),
      windowStartMs: minOf(measured.length > 0 ? measured : starts),
      endMs: maxOf(headers.map(({ endedAtMs }, i) => endedAtMs + correctionsMs[i])),
      stepMs: maxOf(headers.map(({ intervalMs }) => intervalMs)),
    });
  }

  /** @param {RunFile} run @param {number} i index in headers */
  add(run, i) {
    const [share, loadStartMs] = [this.common.shares[i], this.loadStartsMs[i]];
    const endpointOf = this.#addEndpoints(run.environment);
    const { intervals, series, ...part } = asPart(run, share, loadStartMs - this.grid.originMs, endpointOf);
    // Also the first one is added, so that an error in its histograms names its file.
    this.sum = merge(RUN, this.sum, part);
    this.grid.add({ intervals, series }, loadStartMs);
    if (share > 0) this.#addSpread(run, i);
    const { startMs, endMs } = this.common;
    const rows = run.intervals.filter((row) => {
      const middleMs = loadStartMs + (row.startMs + row.endMs) / 2;
      return share > 0 && row.phase === 'load' && middleMs >= startMs && middleMs <= endMs;
    });
    if (rows.length === 0) return;
    const { counts, lengthMs, instances } = this.#window;
    this.#window = {
      counts: rows.reduce((sum, row) => addUp(sum, row.counts), counts),
      lengthMs: lengthMs + rows[rows.length - 1].endMs - rows[0].startMs,
      instances: instances + 1,
    };
  }

  /** @param {RunFile} run @param {number} i */
  #addSpread(run, i) {
    const { startMs, known } = this.common;
    const share = known.shares[i];
    const loadStartMs = this.loadStartsMs[i];
    const part = (/** @type {keyof typeof SPREAD} */ name) => {
      const { rate, inSeries } = SPREAD[name];
      const { [rate]: perSecond, spreadMs = run.window.durationMs } = run.rates;
      if (perSecond === null) return unknown(reasonOf(run, `/rates/${rate}`));
      // Older files lack some of them.
      if (share >= SAME_WINDOW && perSecond !== undefined) return (share * spreadMs * perSecond) / 1000;
      if (inSeries === undefined) return unknown(OTHER_WINDOW);
      return seriesOf(run).between(startMs - loadStartMs, known.endMs - loadStartMs)[inSeries];
    };
    const { verified, included, gas } = this.#spread;
    this.#spread = {
      verified: sum(verified, part('verified')),
      included: sum(included, part('included')),
      gas: this.#hasGas ? gas : part('gas'),
    };
    this.#hasGas = true;
  }

  /** @param {RunEnvironment} environment of one instance @returns {(index: string) => string} maps its index of an endpoint to the index in the merged run */
  #addEndpoints({ endpoints = [] }) {
    const names = numbered(endpoints.map(({ display }) => display));
    names.forEach((name, i) => this.#endpoints.set(name, this.#endpoints.get(name) ?? endpoints[i]));
    const places = [...this.#endpoints.keys()];
    return (index) => (names[Number(index)] === undefined ? index : `${places.indexOf(names[Number(index)])}`);
  }

  get endpoints() {
    return [...this.#endpoints.values()];
  }

  get window() {
    const { counts, lengthMs, instances } = this.#window;
    return { counts, spread: this.#spread, durationMs: lengthMs / Math.max(1, instances) };
  }
}
