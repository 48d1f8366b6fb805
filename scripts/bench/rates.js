/**
 * What an open loop achieves on a geth --dev, at shares of the TPS that a closed loop has there:
 *
 *     npm run bench:rates -- [--rounds 3] [--threads 200] [--seconds 15] [--warmup 3] [--write]
 */
import { call } from '../nodes/build.js';
import { startGeth } from '../nodes/geth.js';
import { interleave, median, publish, readNumbers, runOurs, spread, table } from './lib.js';

/** @import { RunFile } from '../../src/types.d.ts' */

const SHARES = [25, 50, 75, 150];

const { rounds, threads, seconds, warmup } = readNumbers({ rounds: 3, threads: 200, seconds: 15, warmup: 3 });

const load = ['-t', `${threads}`, '--warmup', `${warmup}s`];
const geth = await startGeth({ period: 0 });
try {
  const version = String(await call(geth.url, 'web3_clientVersion'));
  const closed = await interleave(
    [{ name: 'closed loop', cell: load }],
    rounds,
    (args) => runOurs(geth, args, seconds),
    ({ tps }) => `${tps.toFixed(0)} TPS`,
  );
  const speeds = closed[0].results.map(({ tps }) => tps);
  const cells = SHARES.map((share) => {
    const rate = Math.round((median(speeds) * share) / 100);
    return { name: `${share} %`, cell: rate };
  });
  const measure = async (/** @type {number} */ rate) =>
    (await runOurs(geth, [...load, '--rate', `${rate}`], seconds)).run;
  const rows = await interleave(cells, rounds, measure, say);
  const markdown = table(
    [
      ...['of the closed loop', 'asked per second', 'achieved per second', 'achieved of asked, %', 'dropped, %'],
      ...['p50 ms', 'p99 ms', 'verdict'],
    ],
    rows.map(({ name, cell, results }) => [
      ...[name, `${cell}`, spread(results.map(achieved), 1)],
      spread(
        results.map((run) => (100 * achieved(run)) / Number(run.rates.askedPerSecond)),
        2,
      ),
      spread(results.map(droppedPercent), 2),
      spread(
        results.map(({ latency }) => Number(latency.total.p50Us) / 1000),
        1,
      ),
      spread(
        results.map(({ latency }) => Number(latency.total.p99Us) / 1000),
        1,
      ),
      [...new Set(results.map(verdict))].join(', '),
    ]),
  );
  await publish('rates', 'Rates (geth)', `${setting(speeds)}\n\n${markdown}`, [version]);
} finally {
  await geth.stop();
}

/** @param {number[]} speeds */
function setting(speeds) {
  return (
    `geth --dev (period 0), ${threads} wallets, ${seconds} s after a warm-up of ${warmup} s, ${rounds} interleaved ` +
    `rounds; median and range. The closed loop before them made ${spread(speeds)} TPS, of which the median counts. ` +
    'Latency is seen from when an operation was due; what found no idle wallet was dropped.'
  );
}

/** @param {RunFile} run */
function achieved({ rates }) {
  return Number(rates.achievedPerSecond);
}

/** @param {RunFile} run */
function droppedPercent({ window: { counts } }) {
  return (100 * counts.dropped) / counts.scheduled;
}

/** @param {RunFile} run */
function verdict(run) {
  return run.verdict?.name ?? 'none';
}

/** @param {RunFile} run */
function say(run) {
  const { rates, latency } = run;
  return (
    `${achieved(run).toFixed(1)} of ${Number(rates.askedPerSecond).toFixed(1)} per second, ` +
    `${droppedPercent(run).toFixed(2)} % dropped, p99 ${(Number(latency.total.p99Us) / 1000).toFixed(0)} ms, ${verdict(run)}`
  );
}
