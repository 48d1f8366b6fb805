/**
 * How many keep-alive connections are best: each number in turn, several rounds, on one geth --dev.
 *
 *     npm run bench:connections -- [--rounds 3] [--threads 200] [--seconds 8]
 */
import { parseArgs } from 'node:util';
import { startGeth } from '../nodes/geth.js';
import { machine, runOurs, spread } from './lib.js';

const CONNECTIONS = [8, 16, 32, 64, 128, 256];

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    threads: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '8' },
  },
});
const { threads, seconds, rounds } = values;

const geth = await startGeth({ period: 0 });
try {
  /** @type {Map<number, import('./lib.js').Figures[]>} */
  const results = new Map(CONNECTIONS.map((connections) => [connections, []]));
  for (let round = 0; round < Number(rounds); round += 1) {
    for (const connections of CONNECTIONS) {
      const args = ['-t', threads, '-d', `${seconds}s`, '--connections', String(connections)];
      results.get(connections)?.push(await runOurs(geth, args));
    }
  }
  console.log(`geth --dev (period 0), ${threads} wallets, ${seconds} s, ${rounds} rounds; ${machine()}\n`);
  console.log('| connections | verified TPS | CPU us per verified |\n| ---: | ---: | ---: |');
  for (const [connections, figures] of results) {
    const tps = spread(
      figures.map((run) => run.tps),
      0,
    );
    console.log(
      `| ${connections} | ${tps} | ${spread(
        figures.map((run) => run.cpuUs),
        0,
      )} |`,
    );
  }
} finally {
  await geth.stop();
}
