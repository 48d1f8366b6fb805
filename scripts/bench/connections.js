/**
 * How many keep-alive connections are best: each number in turn, several rounds, on one geth --dev.
 *
 *     npm run bench:connections -- [--rounds 3] [--threads 200] [--seconds 8] [--write]
 */
import { call } from '../nodes/build.js';
import { startGeth } from '../nodes/geth.js';
import { interleave, publish, readNumbers, runOurs, spread, table } from './lib.js';

const CONNECTIONS = [8, 16, 32, 64, 128, 256];

const { rounds, threads, seconds } = readNumbers({ rounds: 3, threads: 200, seconds: 8 });

const geth = await startGeth({ period: 0 });
try {
  const version = String(await call(geth.url, 'web3_clientVersion'));
  const rows = await interleave(
    CONNECTIONS.map((connections) => ({ name: String(connections), cell: connections })),
    rounds,
    (connections) => runOurs(geth, ['-t', `${threads}`, '--connections', `${connections}`], seconds),
    ({ tps }) => `${tps.toFixed(0)} TPS`,
  );
  const markdown = table(
    ['connections', 'verified TPS', 'CPU us per verified'],
    rows.map(({ name, results }) => [
      name,
      spread(results.map(({ tps }) => tps)),
      spread(results.map(({ cpuUs }) => cpuUs)),
    ]),
  );
  const setting = `geth --dev (period 0), ${threads} wallets, ${seconds} s, ${rounds} interleaved rounds; median and range.`;
  await publish('connections', 'How many connections', `${setting}\n\n${markdown}`, [version]);
} finally {
  await geth.stop();
}
