/**
 * Every workload, three mixes and batches of submissions, on one node after another:
 *
 *     npm run bench:workloads -- [--rounds 1] [--threads 200] [--seconds 30] [--node geth|geth-period-1|anvil|avalanche|all] [--only NAME] [--write]
 *
 * A run whose audit is not exact stops the benchmark. Gas and fullness are added up again from the blocks of the window,
 * read after the run, and must agree with the run file.
 */
import { call } from '../nodes/build.js';
import { startAvalanche } from '../nodes/avalanche.js';
import { startGeth } from '../nodes/geth.js';
import { shownFigure } from '../../src/stats/figures.js';
import { startAnvil } from './anvil.js';
import { interleave, median, publish, readOptions, runOurs } from './lib.js';

/** @import { Node, OurFigures } from './lib.js' */

/** @typedef {Node & {stop: () => Promise<void>}} BenchNode */
/** @type {Record<string, {title: string, start: () => Promise<BenchNode>}>} */
const NODES = {
  geth: { title: 'geth --dev (period 0)', start: () => startGeth({ period: 0 }) },
  'geth-period-1': { title: 'geth --dev (period 1)', start: () => startGeth({ period: 1 }) },
  anvil: { title: 'anvil (a block every 100 ms)', start: startAnvil },
  avalanche: { title: 'AvalancheGo', start: () => startAvalanche() },
};

const { numbers, words } = readOptions({ rounds: 1, threads: 200, seconds: 30 }, { node: 'geth', only: '' });
const { rounds, threads, seconds } = numbers;
const chosen = Object.entries(NODES).filter(([name]) => words.node === 'all' || words.node === name);
if (chosen.length === 0) throw new Error(`--node: give all, ${Object.keys(NODES).join(' or ')}`);

const WORKLOADS = ['counter', 'transfer', 'erc20', 'erc721', 'storage', 'deploy', 'compute', 'swap'];
/** Members of one weight. */
const MIXES = [
  ['counter', 'erc20', 'transfer'],
  ['erc721', 'storage', 'swap'],
  ['counter', 'compute', 'deploy'],
];
const CELLS = [
  ...WORKLOADS.map((name) => ({ name, cell: ['--workload', name] })),
  ...MIXES.map((members) => ({
    name: `mix of ${members.join(', ')}`,
    cell: ['--mix', members.map((name) => `${name}:1`).join(',')],
  })),
  ...[10, 100].map((size) => ({ name: `counter, --batch ${size}`, cell: ['--batch', String(size)] })),
].filter(({ name }) => name.includes(words.only));

const parts = [];
const versions = [];
for (const [, { title, start }] of chosen) {
  const node = await start();
  try {
    versions.push(String(await call(node.url, 'web3_clientVersion')));
    parts.push(`### ${title}\n\n${await measureAll(node)}`);
  } finally {
    await node.stop();
  }
}
const setting = `${threads} wallets, ${seconds} s, ${rounds} interleaved rounds. Each audit was exact; gas and fullness agree with the sums over the blocks.`;
await publish('workloads', 'Workloads', [setting, ...parts].join('\n\n'), versions);

/** @param {BenchNode} node @returns {Promise<string>} */
async function measureAll(node) {
  const { rows, markdown } = await interleave({
    cells: CELLS,
    rounds,
    measure: async (args) => {
      const result = await runOurs(node, ['-t', String(threads), '--warmup', '3s', ...args], seconds);
      await checkBlocks(node.url, result.run.blocks);
      return result;
    },
    columns: [
      ['verified TPS', ({ tps }) => tps],
      ['Mgas/s', figure('gas', 1e-6), 1],
      ['fullness %', figure('fullness'), 1],
      ['CPU us per verified', ({ cpuUs }) => cpuUs],
      ['latency p50 ms', ({ run }) => (run.latency.total.p50Us ?? NaN) / 1000],
    ],
  });
  const cpuUsOf = (/** @type {string} */ name) => {
    const row = rows.find((one) => one.name === name);
    return row === undefined || row.results.length === 0 ? NaN : median(row.results.map(({ cpuUs }) => cpuUs));
  };
  const ratios = MIXES.map((members) => {
    const name = `mix of ${members.join(', ')}`;
    const mean = members.reduce((sum, member) => sum + cpuUsOf(member), 0) / members.length;
    return `CPU of the ${name} against the mean of its members: ${(cpuUsOf(name) / mean).toFixed(2)}.`;
  });
  return [markdown, ...(words.only === '' ? ratios : [])].join('\n\n');
}

/** @param {string} name @param {number} [factor] @returns {(result: OurFigures) => number} */
function figure(name, factor = 1) {
  return ({ run }) => factor * (shownFigure(name, /** @type {any} */ (run)) ?? NaN);
}

/** @param {string} url @param {OurFigures['run']['blocks']} blocks */
async function checkBlocks(url, { firstNumber, lastNumber, gasUsed, fullnessSum = 0 }) {
  let [gas, shares] = [0, 0];
  for (let number = Number(firstNumber); number <= Number(lastNumber); number += 1) {
    const block = /** @type {any} */ (await call(url, 'eth_getBlockByNumber', [`0x${number.toString(16)}`, false]));
    gas += Number(block.gasUsed);
    shares += Number(block.gasUsed) / Number(block.gasLimit);
  }
  if (gas !== gasUsed || Math.abs(shares - fullnessSum) > 1e-6)
    throw new Error(
      `the blocks used ${gas} gas (${shares} of their limits), and the run file says ${gasUsed} (${fullnessSum})`,
    );
}
