/** Runs of a chain that is made up: a queue that each block takes a part of. What it can do is known. */
import { Distribution } from '../../../src/stats/histogram.js';
import { runOf } from './runs.js';

/**
 * @import { RunFile } from '../../../src/contracts/run-file.d.ts'
 * @import { Random } from '../../../src/random.js'
 *
 * @typedef {object} Chain
 * @property {number} perSecond what its blocks take
 * @property {number} [blockS] its block interval
 * @property {number} [noise] standard deviation of what a block takes, as a share
 * @property {number} [lapses] share of the runs in which it stands still for two blocks
 * @property {number} [generator] the most that can be sent per second
 * @property {number} [usable] share of the operations in flight that it lets the wallets have
 * @property {string} [verdict] of each run, instead of the one that fits
 * @property {(rate: number, run: number) => boolean} [isDisturbed] other programs have the CPU in this run, and the blocks take a twentieth less than the rate
 */

/** Slices of a block interval. */
const SLICES = 20;
/** From the block to the operation's end. */
const READ_S = 0.02;
const WARMUP_BLOCKS = 4;

/** @param {readonly string[]} args @param {string} name */
export const given = (args, name) => args.find((arg) => arg.startsWith(`--${name}=`))?.split('=')[1];

/** @param {readonly string[]} args */
export const inFlightOf = (args) => Number(given(args, 'threads')) * Number(given(args, 'in-flight') ?? 1);

/** @param {Random} random */
function normal(random) {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/**
 * @param {{rate: number | null, inFlight: number, windowS: number}} load rate: null: as much as is allowed in flight
 * @param {Chain} chain
 * @param {Random} random
 */
function queued(
  { rate, inFlight, windowS },
  { perSecond, blockS = 1, noise = 0, lapses = 0, generator = Infinity },
  random,
) {
  const sliceS = blockS / SLICES;
  const beginS = WARMUP_BLOCKS * blockS;
  const endS = beginS + windowS;
  const stallS = random() < lapses ? beginS + windowS * (0.5 + 0.3 * random()) : Infinity;
  /** @type {Array<{dueS: number, count: number}>} */
  const queue = [];
  /** @type {Array<{dueS: number, count: number, latencyS: number}>} */
  const done = [];
  let [waiting, scheduled, started, included] = [0, 0, 0, 0];
  for (let slice = 0; slice * sliceS < endS || waiting > 0; slice += 1) {
    const nowS = slice * sliceS;
    const isDue = nowS < endS;
    const due = isDue ? (rate ?? Infinity) * sliceS : 0;
    const count = Math.min(due, inFlight - waiting, generator * sliceS);
    if (count > 0) queue.push({ dueS: nowS, count });
    waiting += count;
    if (isDue && nowS >= beginS) [scheduled, started] = [scheduled + (rate === null ? count : due), started + count];
    if (slice % SLICES < SLICES - 1) continue;
    const isStill = nowS >= stallS && nowS < stallS + 2 * blockS;
    let left = isStill ? 0 : perSecond * blockS * Math.max(0, 1 + noise * normal(random));
    while (left > 1e-9 && queue.length > 0) {
      const [first] = queue;
      const taken = Math.min(left, first.count);
      [left, waiting, first.count] = [left - taken, Math.max(0, waiting - taken), first.count - taken];
      done.push({ dueS: first.dueS, count: taken, latencyS: nowS + sliceS - first.dueS + READ_S });
      if (nowS >= beginS && nowS < endS) included += taken;
      if (first.count <= 1e-9) queue.shift();
    }
    if (waiting < 1e-6) waiting = 0;
  }
  return { scheduled, started, included, done: done.filter(({ dueS }) => dueS >= beginS && dueS < endS), beginS };
}

/** @param {Array<{count: number, latencyS: number}>} done @returns {Distribution} of a thousand of them */
function latencies(done) {
  const total = done.reduce((sum, { count }) => sum + count, 0);
  const distribution = new Distribution();
  let [seen, drawn] = [0, 0];
  for (const { count, latencyS } of done.toSorted((a, b) => a.latencyS - b.latencyS)) {
    seen += count;
    for (; drawn < (1000 * seen) / total; drawn += 1) distribution.record(Math.round(latencyS * 1e6));
  }
  return distribution;
}

/**
 * A run of the chain.
 * @param {readonly string[]} args of stress
 * @param {Chain} chain
 * @param {Random} random
 * @param {number} [number] of the run
 * @returns {RunFile}
 */
export function chainRun(args, chain, random, number = 1) {
  const { blockS = 1, generator = Infinity, usable = 1, isDisturbed = () => false } = chain;
  const rate = given(args, 'rate') === undefined ? null : Number(given(args, 'rate'));
  const durationMs = Number.parseInt(given(args, 'duration') ?? '', 10);
  const windowS = durationMs / 1000;
  const isSlow = rate !== null && isDisturbed(rate, number);
  const slowed = isSlow ? { ...chain, perSecond: 0.95 * rate } : chain;
  const { scheduled, started, included, done, beginS } = queued(
    { rate, inFlight: usable * inFlightOf(args), windowS },
    slowed,
    random,
  );
  const run = runOf(number, {
    config: { threads: Number(given(args, 'threads')), inFlight: Number(given(args, 'in-flight') ?? 1) },
  });
  const halves = [0, 1].map((half) => {
    const own = done.filter(({ dueS }) => dueS >= beginS + windowS / 2 === (half === 1));
    const count = own.reduce((sum, one) => sum + one.count, 0);
    const sumUs = own.reduce((sum, one) => sum + one.count * one.latencyS * 1e6, 0);
    return { count: Math.round(count), sumUs: Math.round(sumUs) };
  });
  const gas = { gasUsed: Math.round(1000 * included), gasLimit: Math.round(1000 * chain.perSecond * windowS) };
  const dropped = Math.round(scheduled - started);
  const isMissed = rate !== null && included < 0.98 * rate * windowS;
  const fits = isSlow
    ? 'unknown'
    : generator < (rate ?? Infinity)
      ? 'generator-bound'
      : dropped > 0
        ? 'concurrency-bound'
        : 'node-bound';
  const name = chain.verdict ?? (isMissed ? fits : 'rate-bound');
  return /** @type {RunFile} */ (
    /** @type {unknown} */ ({
      ...run,
      rates: {
        ...run.rates,
        askedPerSecond: rate,
        achievedPerSecond: started / windowS,
        verifiedPerSecond: included / windowS,
      },
      window: {
        ...run.window,
        durationMs,
        counts: { ...run.window.counts, scheduled: Math.round(scheduled), dropped },
      },
      probes: { ...run.probes, loop: { ...run.probes?.loop, waitedUs: (isSlow ? 0.3 : 0.05) * 1000 * durationMs } },
      blocks: { ...run.blocks, count: Math.floor(windowS / blockS), ...gas },
      latency: { ...run.latency, total: latencies(done).toJSON(), halves },
      spending: { setUpWei: '100', leftWei: null, spentWei: '1000', capWei: null },
      verdict: { name, evidence: `${Math.round(included / windowS)} per second` },
    })
  );
}
