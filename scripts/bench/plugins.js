/**
 * Every workload of transactions, over every transport, with every way to find out about inclusion, on geth and on
 * AvalancheGo:
 *
 *     npm run bench:plugins -- [--threads 50] [--seconds 10] [--repeat 1] [--node all|geth|avalanche]
 *       [--workload all|NAME] [--write]
 *
 * What a node cannot do is refused by stress in one line, which stands below the table, and so do runs that the chain does
 * not confirm.
 */
import { createServer } from 'node:net';
import { EXIT } from '../../src/errors.js';
import { detectors } from '../../src/inclusion/index.js';
import { transports } from '../../src/transport/index.js';
import { WORKLOADS } from '../../src/workloads/table.js';
import { startAvalanche } from '../nodes/avalanche.js';
import { call } from '../nodes/build.js';
import { startGeth } from '../nodes/geth.js';
import { interleave, median, publish, readOptions, runStress, table } from './lib.js';

/**
 * @import { RunningNode } from '../nodes/build.js'
 * @import { AddressInfo } from 'node:net'
 */

/** AvalancheGo's chain id is none of those on which this is the default. */
const MNEMONIC = 'test test test test test test test test test test test junk';
const STAGES = /** @type {const} */ (['queued', 'submit', 'inclusion', 'readBack']);

/**
 * @typedef {RunningNode & {wsUrl: string}} BenchNode
 * @typedef {{workload: string, transport: string, inclusion: string}} Cell
 * @typedef {{why: string} | {why: null, tps: number, cpuUs: number, meanMs: number, stagesMs: number[], exact: boolean}} Result
 */

/** @type {Record<string, {title: string, start: () => Promise<BenchNode>}>} */
const NODES = {
  geth: { title: 'geth --dev (period 0)', start: startBothWays },
  avalanche: {
    title: 'AvalancheGo, one node',
    start: async () => {
      const node = await startAvalanche();
      return { ...node, wsUrl: node.url.replace(/^http(.*)\/rpc$/, 'ws$1/ws') };
    },
  },
};

const { numbers, words } = readOptions({ threads: 50, seconds: 10, repeat: 1 }, { node: 'all', workload: 'all' });
const { threads, seconds, repeat } = numbers;
const chosen = Object.entries(NODES).filter(([name]) => words.node === 'all' || words.node === name);
if (chosen.length === 0) throw new Error(`--node: give all, ${Object.keys(NODES).join(' or ')}`);
const names = Object.keys(WORKLOADS).filter((name) => WORKLOADS[name].kind === 'transaction');
const workloads = names.filter((name) => [name, 'all'].includes(words.workload));
if (workloads.length === 0) throw new Error(`--workload: give all, ${names.join(' or ')}`);

const cells = workloads.flatMap((workload) =>
  Object.keys(transports).flatMap((transport) =>
    Object.keys(detectors).map((inclusion) => ({
      name: `${workload}, ${transport}, ${inclusion}`,
      cell: { workload, transport, inclusion },
    })),
  ),
);

const parts = [];
const versions = [];
for (const [, { title, start }] of chosen) {
  const node = await start();
  try {
    versions.push(String(await call(node.url, 'web3_clientVersion')));
    parts.push(`### ${title}\n\n${await measureAll(title, node)}`);
  } finally {
    await node.stop();
  }
}
const setting =
  `${threads} wallets, ${seconds} s each${repeat === 1 ? '' : `, ${repeat} interleaved rounds, of which the medians`}. ` +
  'CPU is that of the generator for a verified operation; latencies are means in ms, and the four stages add up to the first.';
await publish('plugins', 'Every workload, transport and detector', [setting, ...parts].join('\n\n'), versions);

/** A geth that serves WebSockets at the port of its HTTP server. @returns {Promise<BenchNode>} */
async function startBothWays() {
  const port = await freePort();
  const flags = ['--ws', '--ws.addr', '127.0.0.1', '--ws.port', String(port), '--ws.api', 'eth,net,web3'];
  const node = await startGeth({ port, flags });
  return { ...node, wsUrl: node.url.replace(/^http/, 'ws') };
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = /** @type {AddressInfo} */ (server.address());
      server.close(() => resolve(port));
    });
  });
}

/** @param {string} title @param {BenchNode} node @returns {Promise<string>} */
async function measureAll(title, node) {
  console.error(title);
  const say = (/** @type {Result} */ result) => result.why ?? `${result.tps.toFixed(1)} TPS`;
  const rows = await interleave(cells, repeat, (cell) => measure(node, cell), say);
  const columns = ['workload', 'transport', 'inclusion', 'TPS', 'CPU us', 'latency'];
  const measured = rows.flatMap(({ cell, results }) => {
    const good = results.filter((result) => result.why === null);
    return good.length === 0 ? [] : [{ cell, results: good }];
  });
  const lines = measured.map(({ cell: { workload, transport, inclusion }, results }) => {
    const middle = (/** @type {(result: typeof results[number]) => number} */ of) => median(results.map(of)).toFixed(1);
    const stages = STAGES.map((_, i) => middle(({ stagesMs }) => stagesMs[i]));
    const audit = results.every(({ exact }) => exact) ? 'exact' : 'NOT EXACT';
    const [tps, cpuUs, meanMs] = [middle((r) => r.tps), middle((r) => Math.round(r.cpuUs)), middle((r) => r.meanMs)];
    return [workload, transport, inclusion, tps, String(Math.round(Number(cpuUs))), meanMs, ...stages, audit];
  });
  return [table([...columns, 'queued', 'submit', 'inclusion', 'read-back', 'audit'], lines), ...refusals(rows)].join(
    '\n\n',
  );
}

/**
 * What was not measured, and why, each reason once.
 * @param {{cell: Cell, results: Result[]}[]} rows
 * @returns {string[]}
 */
function refusals(rows) {
  /** @type {Map<string, Set<string>>} */
  const reasons = new Map();
  for (const { cell, results } of rows) {
    const why = results.find((result) => result.why !== null)?.why ?? null;
    if (why !== null) reasons.set(why, (reasons.get(why) ?? new Set()).add(`${cell.inclusion} over ${cell.transport}`));
  }
  if (reasons.size === 0) return [];
  const lines = [...reasons].map(([why, names]) => `- ${[...names].join(', ')}: ${why}`);
  return ['Not measured:', lines.join('\n')];
}

/** @param {BenchNode} node @param {Cell} cell @returns {Promise<Result>} */
async function measure(node, { workload, transport, inclusion }) {
  const url = transport === 'ws' ? node.wsUrl : node.url;
  const choice = ['--workload', workload, '--transport', transport, '--inclusion', inclusion];
  const args = ['--rpc', url, '--chain-id', String(node.chainId), '-t', String(threads), '-o', '0', ...choice];
  try {
    const env = { STRESS_FUNDER_KEY: node.funderKey, STRESS_MNEMONIC: MNEMONIC };
    const { run } = await runStress(args, seconds, env);
    const { rates, generator, latency, audit } = /** @type {any} */ (run);
    return {
      why: null,
      tps: rates.verifiedPerSecond,
      cpuUs: generator.cpuUsPerVerified,
      meanMs: latency.total.meanUs / 1000,
      stagesMs: STAGES.map((stage) => latency.stages[stage].meanUs / 1000),
      exact: audit?.exact === true,
    };
  } catch (error) {
    const { code, stderr } = /** @type {{code?: number, stderr?: string}} */ (error);
    if (code === EXIT.notExact) return { why: 'the audit was not exact' };
    if (code !== EXIT.unavailable) throw error;
    const line = String(stderr).trim().split('\n').at(-1) ?? '';
    return { why: line.replace(/^stress: /, '').replaceAll(url, 'the endpoint') };
  }
}
