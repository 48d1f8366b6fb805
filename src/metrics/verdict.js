import { backlog } from './pace.js';

/**
 * What limited a run. An opinion with its reasons: the figures that it is made from are all in the run file.
 *
 * @typedef {object} Verdict
 * @property {'generator-bound' | 'port-bound' | 'rate-bound' | 'node-bound'} name
 * @property {string} evidence one sentence with the figures
 *
 * @typedef {import('./summary.js').MeasuredRun} MeasuredRun
 */

/** With so few ports of the range left the next connections hunt for one, and some find none. */
const FEW_PORTS = 0.02;

/** A thread that is busy all but a tenth of the time has no room for bursts: its queue is part of every latency. */
const BUSY = 0.9;

/**
 * Timers that are that late on average, not only while a block is worked off: the thread is there for a small part of
 * the time, because others have the CPU.
 */
const LATE_TIMERS_US = 50_000;

/** In an open loop nothing but the generator delays a beginning: without an idle wallet an operation is dropped. */
const LATE_STARTS_US = 100_000;

/** What counts as all that was asked for: a few operations at the end of the window may fail to be verified. */
const ACHIEVED = 0.99;
const DROPPED = 0.001;

/** Users who rest for so much of the time are what limits the load. */
const RESTING = 0.5;

/** Where users were made to wait for so much of the time, because calls were not answered, the load was not what was asked for. */
const PAUSED = 0.25;
const WORTH_SAYING = 0.01;

/** With so much of the latency spent before anything was sent, it is not the node's. */
const QUEUED = 0.5;
const QUEUED_US = 5000;

/** Runs that ended because there was nobody left to ask. @type {Readonly<Record<string, string>>} */
const GONE = Object.freeze({
  chain_ended: 'the embedded chain ended in mid-run',
  endpoint_lost: 'the endpoint stopped answering',
  no_wallets: 'no wallet was left to work with',
});

/** In this order: what is short on our side explains everything behind it. @type {ReadonlyArray<[Verdict['name'], (run: MeasuredRun) => string | null]>} */
const CHECKS = [
  ['port-bound', ports],
  ['generator-bound', generator],
  ['rate-bound', rate],
  ['node-bound', node],
];

/** @param {MeasuredRun} run @returns {Verdict | null} null: nothing was due in the window */
export function judge(run) {
  if (run.window.counts.scheduled === 0 || run.window.durationMs === 0) return null;
  const gone = GONE[run.end];
  if (gone !== undefined) return { name: 'node-bound', evidence: `${gone}: ${node(run)}` };
  for (const [name, evidenceOf] of CHECKS) {
    const evidence = evidenceOf(run);
    if (evidence !== null) return { name, evidence };
  }
  return null;
}

/** @param {MeasuredRun} run */
function ports({ failures, probes }) {
  const refused = failures.transport_no_ports ?? 0;
  if (refused > 0) return `${whole(refused)} operations failed because no local port was left for their connection`;
  const { endpoints, range } = probes?.sockets ?? { endpoints: [], range: { ports: 0 } };
  const short = endpoints.find(({ portsLeft }) => portsLeft < FEW_PORTS * range.ports);
  if (short === undefined) return null;
  return `${whole(short.portsLeft)} of ${whole(range.ports)} local ports were left towards ${short.endpoint} when they were fewest`;
}

/** @param {MeasuredRun} run */
function generator(run) {
  const { probes, rates, lag, latency } = run;
  const { workers } = run.generator;
  const loop = probes?.loop ?? null;
  if (loop !== null && loop.utilization >= BUSY)
    return `${theLoop(workers)} was busy ${percent(loop.utilization)} of the time`;
  if (loop !== null && loop.delayMeanUs >= LATE_TIMERS_US)
    return `timers of ${theLoop(workers)} fired ${ms(loop.delayMeanUs)} late on average: others had the CPU`;
  if (rates.askedPerSecond !== null && lag.p99Us !== null && lag.p99Us > LATE_STARTS_US)
    return `1 % of the operations were begun, or dropped, ${ms(lag.p99Us)} or more after they were due, which is not the node's doing`;
  const { queued } = latency.stages;
  const allUs = Object.values(latency.stages).reduce((sum, { sumUs }) => sum + sumUs, 0);
  const part = queued.sumUs / Math.max(1, allUs);
  if (part >= QUEUED && (queued.meanUs ?? 0) >= QUEUED_US)
    return `${percent(part)} of the latency is waiting in the generator, for ${loop === null ? '' : `${theLoop(workers)} (busy ${percent(loop.utilization)} of the time) or for `}one of its connections (--connections)`;
  return null;
}

/** Of an iteration, from 0 to 1: users who rest ask for no more than they do. @param {MeasuredRun} run */
function restOf({ config, environment, latency }) {
  const restUs = 1000 * Number(config.thinkTimeMs ?? 0);
  const calls = Number(/** @type {any} */ (environment.workload)?.callsPerIteration ?? 1);
  return restUs === 0 ? 0 : restUs / (restUs + calls * (latency.total.meanUs ?? 0));
}

/** Of the time of all users, from 0 to 1: none of it is the endpoint's. @param {MeasuredRun} run */
function pausedOf({ config, generator, intervals }) {
  const rows = intervals.filter(({ phase }) => phase !== 'drain');
  const lengthMs = rows.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
  const all = lengthMs * Number(config.threads) * Number(config.inFlight ?? 1);
  return all > 0 ? Math.min(1, (generator.pausedMs ?? 0) / all) : 0;
}

/** @param {MeasuredRun} run */
function pausedWords(run) {
  return `users were given a pause for ${percent(pausedOf(run))} of the time, because calls were not answered (${theFailed(run.failures, 0)})`;
}

/** @param {MeasuredRun} run */
function rate(run) {
  if (pausedOf(run) > PAUSED) return `${pausedWords(run)}: what the node can do is not to be seen${unchecked(run)}`;
  const rest = restOf(run);
  if (rest > RESTING)
    return `users rested ${percent(rest)} of the time (--think-time): more of them would tell what the node can do${unchecked(run)}`;
  const { askedPerSecond, achievedPerSecond } = run.rates;
  if (askedPerSecond === null || achievedPerSecond === null) return null;
  const { scheduled, dropped } = run.window.counts;
  if (achievedPerSecond < ACHIEVED * askedPerSecond || dropped > DROPPED * scheduled) return null;
  if (backlog(run) !== null) return null;
  return `${tenths(achievedPerSecond)} of ${tenths(askedPerSecond)} per second were achieved, ${whole(dropped)} dropped: a higher rate would tell what the node can do${unchecked(run)}`;
}

/** @param {MeasuredRun} run */
function node(run) {
  const { counts, failures, rates, window } = run;
  const reasons = [counts.verified === 0 ? 'nothing was verified' : longestStage(run)];
  if (counts.failed + counts.timedOut > counts.verified) reasons.push(theFailed(failures, counts.timedOut));
  if (rates.askedPerSecond !== null) {
    reasons.push(`${tenths(rates.achievedPerSecond ?? 0)} of ${tenths(rates.askedPerSecond)} per second were achieved`);
    const words = backlog(run);
    if (words !== null) reasons.push(words);
    if (window.counts.dropped > 0)
      reasons.push(
        `${whole(window.counts.dropped)} of ${whole(window.counts.scheduled)} were dropped because all wallets were busy (more wallets, -t or --in-flight, would tell whether the node can do more)`,
      );
  }
  if (pausedOf(run) > WORTH_SAYING) reasons.push(pausedWords(run));
  const inFlight = meanInFlight(run);
  if (inFlight !== null) reasons.push(`${whole(inFlight)} in flight`);
  const loop = run.probes?.loop ?? null;
  if (loop !== null) reasons.push(`${theLoop(run.generator.workers)} busy ${percent(loop.utilization)} of the time`);
  return `${reasons.join(', ')}${unchecked(run)}`;
}

/** What each stage is, as a part of the latency. */
const STAGE_WORDS = {
  queued: 'waiting in the generator',
  submit: 'submission',
  inclusion: 'waiting for a block',
  visibility: 'waiting for the block where it is read back',
  readBack: 'read-back',
};

/** @param {MeasuredRun} run */
function longestStage({ latency: { stages } }) {
  const sums = Object.entries(STAGE_WORDS).map(([stage, words]) => ({ words, sumUs: stages[stage]?.sumUs ?? 0 }));
  const allUs = sums.reduce((sum, { sumUs }) => sum + sumUs, 0);
  const isPlain = stages.inclusion.sumUs + stages.readBack.sumUs === 0;
  const longest = sums.reduce((a, b) => (b.sumUs > a.sumUs ? b : a));
  const words = isPlain && longest.words === STAGE_WORDS.submit ? 'waiting for the answer' : longest.words;
  return allUs === 0
    ? 'latency is too small to be measured'
    : `${percent(longest.sumUs / allUs)} of the latency is ${words}`;
}

/** @param {Record<string, number>} failures @param {number} timedOut */
function theFailed(failures, timedOut) {
  return Object.entries({ ...failures, ...(timedOut > 0 ? { timed_out: timedOut } : {}) })
    .sort((a, b) => b[1] - a[1])
    .map(([code, times]) => `${code} ${whole(times)}`)
    .join(', ');
}

/** At the ends of the intervals of the window, on average. @param {MeasuredRun} run */
function meanInFlight({ intervals }) {
  const load = intervals.filter(({ phase }) => phase === 'load');
  // Rows of a long run are merged, and then they are not all of the same length.
  const lengthMs = load.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
  const product = load.reduce((sum, { inFlight, startMs, endMs }) => sum + inFlight * (endMs - startMs), 0);
  return lengthMs === 0 ? null : product / lengthMs;
}

/** What would be another verdict could not be seen. @param {MeasuredRun} run */
function unchecked({ probes }) {
  const missing = [];
  if ((probes?.sockets ?? null) === null) missing.push('ports');
  if ((probes?.loop ?? null) === null) missing.push('the event loop');
  return missing.length === 0 ? '' : ` (not checked: ${missing.join(', ')})`;
}

/** @param {number} workers */
function theLoop(workers) {
  return workers > 1 ? 'the event loop of the busiest worker' : "the generator's event loop";
}

/** @param {number} part */
function percent(part) {
  return `${Math.round(100 * part)} %`;
}

/** @param {number} us */
function ms(us) {
  return `${whole(us / 1000)} ms`;
}

/** @param {number} value */
function whole(value) {
  return Math.round(value).toLocaleString('en-US');
}

/** @param {number} value */
function tenths(value) {
  return value.toLocaleString('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}
