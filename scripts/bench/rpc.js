/**
 * The HTTP layer of stress against tools that do nothing else, all on one nginx that answers from memory.
 *
 *     npm run bench:rpc -- [--rounds 5] [--seconds 5] [--connections 64] [--section all] [--write]
 *
 * --section: all, one-core, cores or no-keep-alive. The tools: apt-get install -y apache2-utils wrk nginx-light; those
 * of npm are installed into a cache outside of the checkout.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { interleave, publish, ratios, readOptions } from './lib.js';
import { startNginx } from './nginx.js';
import { ab, autocannon, ensureTools, loadtest, measure, stress, writeBodies, wrk } from './rpc-tools.js';

/** @import { Tool } from './rpc-tools.js' */

const one = { keepAlive: true, workers: 1 };
const two = { keepAlive: true, workers: 2 };
const none = { keepAlive: false, workers: 1 };

/** What everything is compared with comes first. @type {Record<string, {title: string, tools: Tool[]}>} */
const SECTIONS = {
  'one-core': {
    title: 'One process, keep-alive',
    tools: [
      ...[stress({ ...one, transport: 'tcp' }), stress({ ...one, transport: 'undici' }), ab(one), wrk(one)],
      ...[autocannon(one), loadtest({ ...one, tcp: false }), loadtest({ ...one, tcp: true })],
    ],
  },
  cores: {
    title: 'Two workers, keep-alive',
    tools: [
      ...[stress({ ...two, transport: 'tcp' }), stress({ ...two, transport: 'undici' }), wrk(two)],
      ...[autocannon(two), loadtest({ ...two, tcp: false }), loadtest({ ...two, tcp: true })],
    ],
  },
  'no-keep-alive': {
    title: 'One process, a connection for each request',
    tools: [
      ...[stress({ ...none, transport: 'tcp' }), ab(none), wrk(none), autocannon(none)],
      loadtest({ ...none, tcp: false }),
    ],
  },
};

/** The tools' own counts may differ from that of nginx by what was under way at the end. */
const TOLERANCE = 0.05;

const { numbers, words } = readOptions({ rounds: 5, seconds: 5, connections: 64 }, { section: 'all' });
const { rounds, seconds, connections } = numbers;
const chosen = Object.entries(SECTIONS).filter(([name]) => words.section === 'all' || words.section === name);
if (chosen.length === 0) throw new Error(`--section: give all, ${Object.keys(SECTIONS).join(', ')}`);

const versions = ensureTools();
const folder = mkdtempSync(join(tmpdir(), 'stress-rpc-'));
const nginx = await startNginx();
try {
  writeBodies(folder);
  const parts = [];
  for (const [, { title, tools }] of chosen) parts.push(`### ${title}\n\n${await compare(title, tools)}`);
  const setting =
    `A 63-byte eth_blockNumber request to nginx (one process, a constant answer), ${connections} connections, ` +
    `${seconds} s, ${rounds} interleaved rounds; median and range. CPU is that of the client's processes by the ` +
    'kernel, start-up included, divided by the requests that nginx counted.';
  await publish('rpc', 'HTTP alone', [setting, ...parts].join('\n\n'), [nginx.version, ...versions]);
} finally {
  await nginx.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** @param {string} title @param {Tool[]} tools @returns {Promise<string>} */
async function compare(title, tools) {
  console.error(title);
  const { markdown } = await interleave({
    cells: tools.map((tool) => ({ name: tool.name, cell: tool })),
    rounds,
    measure: run,
    columns: [
      ['requests a second', ({ rate }) => rate],
      ['CPU us per request', ({ cpuUs }) => cpuUs, 1],
    ],
    others: [
      [
        `times ${tools[0].name}`,
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
