/**
 * The HTTP layer of stress against tools that do nothing else, all on one nginx that answers from memory.
 *
 *     npm run bench:rpc -- [--rounds 5] [--seconds 5] [--connections 64] [--write]
 *
 * The tools: apt-get install -y apache2-utils wrk nginx-light; those
 * of npm are installed into a cache outside of the checkout.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { interleave, publish, ratios, readOptions } from './lib.js';
import { startNginx } from './nginx.js';
import { ab, autocannon, ensureTools, loadtest, measure, stress, writeBodies, wrk } from './rpc-tools.js';

/** @import { Tool } from './rpc-tools.js' */

/** What everything is compared with comes first. */
const TOOLS = [
  ...[stress('tcp'), stress('undici'), ab(), wrk(), autocannon()],
  ...[loadtest({ tcp: false }), loadtest({ tcp: true })],
];

/** The tools' own counts may differ from that of nginx by what was under way at the end. */
const TOLERANCE = 0.05;

const { rounds, seconds, connections } = readOptions({ rounds: 5, seconds: 5, connections: 64 }).numbers;
const versions = ensureTools();
const folder = mkdtempSync(join(tmpdir(), 'stress-rpc-'));
const nginx = await startNginx();
try {
  writeBodies(folder);
  const setting =
    `A 63-byte eth_blockNumber request to nginx (one process, a constant answer), ${connections} connections, ` +
    `${seconds} s, ${rounds} interleaved rounds; median and range. CPU is that of the client's processes by the ` +
    'kernel, start-up included, divided by the requests that nginx counted.';
  await publish('rpc', 'HTTP alone', [setting, '### One process, keep-alive', await compare()].join('\n\n'), [
    nginx.version,
    ...versions,
  ]);
} finally {
  await nginx.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function compare() {
  const { markdown } = await interleave({
    cells: TOOLS.map((tool) => ({ name: tool.name, cell: tool })),
    rounds,
    measure: run,
    columns: [
      ['requests a second', ({ rate }) => rate],
      ['CPU us per request', ({ cpuUs }) => cpuUs, 1],
    ],
    others: [
      [
        `times ${TOOLS[0].name}`,
        (results, first) => {
          const [rates, usual] = [results, first].map((side) => side.map(({ rate }) => rate));
          return ratios(rates, usual);
        },
      ],
    ],
  });
  return markdown;
}

/** @param {Tool} tool */
async function run(tool) {
  const before = await nginx.requests();
  const { rate, cpuUs } = await measure(tool, { url: nginx.url, seconds, connections, folder });
  const requests = (await nginx.requests()) - before;
  if (Math.abs((rate * seconds) / requests - 1) > TOLERANCE) {
    console.error(`${tool.name} says ${(rate * seconds).toFixed(0)} requests, nginx ${requests}`);
  }
  return { rate, cpuUs: cpuUs / requests };
}
