/**
 * This checkout against another commit, or with more options against itself, in pairs of runs whose order a seeded coin draws:
 *
 *     npm run bench:against -- HEAD~1 [--pairs 12] [--seconds 5] [--seed 1] [--only NAME]
 *     npm run bench:against -- --with='--check consistency' [...]
 *
 * Prints, for each scenario, the ratio of this checkout to the commit (geometric mean of the pairs) with its 95 %
 * interval: Student's t on the log ratios. The number of pairs is fixed beforehand and every pair is reported.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { randomNumbers } from '../../src/random.js';
import { mean, standardDeviation, studentQuantile } from '../../src/studies/statistics.js';
import { startGeth } from '../nodes/geth.js';
import { ROOT, checkOut, inTemporaryFolder, median, readOptions, runOurs, table, withNode } from './lib.js';
import { startNullChain } from './null-chain.js';

/** @import { Node } from './lib.js' */

/**
 * @typedef {Record<string, number>} Figures
 * @typedef {object} Scenario
 * @property {() => Promise<Node & {stop: () => Promise<void>} | null>} start the chain; null: none is needed
 * @property {(side: Side, node: any) => Promise<Figures>} run one run of a side
 *
 * @typedef {{root: string, options: string[]}} Side root: folder of its stress; options: what its loads have beside those of
 *   the scenario
 */

if (process.argv[2]?.startsWith('--') === false) process.argv.splice(2, 0, '--commit');
const { numbers, words } = readOptions({ pairs: 12, seconds: 5, seed: 1 }, { commit: '', with: '', only: '' });
const { pairs, seconds, seed } = numbers;
if (words.commit === '' && words.with === '') {
  console.error(
    'bench:against: give the commit to compare with, such as npm run bench:against -- HEAD~1, or --with=OPTIONS',
  );
  process.exit(64);
}

/** @param {number} threads @param {string} transport @param {string[]} more @returns {Scenario['run']} */
const load =
  (threads, transport, ...more) =>
  async (side, node) => {
    const args = ['-t', `${threads}`, '--transport', transport, ...more, ...side.options];
    const { tps, cpuUs, run } = await runOurs(node, args, seconds, side.root);
    return { 'CPU per operation': cpuUs, TPS: tps, 'peak RSS': run.generator.peakRssBytes };
  };

/** @param {string} option @returns {Scenario} */
const startUp = (option) => ({
  start: async () => null,
  run: async ({ root }) => {
    const startMs = performance.now();
    await promisify(execFile)(process.execPath, [join(root, 'bin', 'stress.js'), option]);
    return { 'wall time': performance.now() - startMs };
  },
});

const geth = () => startGeth({ period: 0 });
const nullChain = () => startNullChain({ blockMs: 100 });

/** @type {Record<string, Scenario>} */
const SCENARIOS = {
  'increment, undici, geth': { start: geth, run: load(200, 'undici') },
  'increment, tcp, geth': { start: geth, run: load(200, 'tcp') },
  'ceiling, undici, null chain': { start: nullChain, run: load(2000, 'undici') },
  'ceiling, tcp, null chain': { start: nullChain, run: load(2000, 'tcp') },
  '20,000 wallets, 2 workers, null chain': { start: nullChain, run: load(20_000, 'tcp', '--workers', '2') },
  'stress --version': startUp('--version'),
  'stress --help': startUp('--help'),
};

await inTemporaryFolder(async (folder) => {
  const commit = words.commit === '' ? null : await checkOut(words.commit, folder);
  const ours = { root: ROOT, options: words.with.split(' ').filter((word) => word !== '') };
  const other = { root: commit?.root ?? ROOT, options: [] };
  const random = randomNumbers(seed);
  const rows = [];
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    if (!name.includes(words.only)) continue;
    rows.push(...(await compare(name, scenario, { ours, other }, random)));
  }
  const sides = `This checkout${words.with && ` with ${words.with}`} against ${commit?.commit ?? 'itself'}`;
  console.log(`${sides}: ${pairs} pairs a scenario, ${seconds} s a run, seed ${seed}.\n`);
  console.log(table(['', 'figure', 'ratio', '95 % interval', 'median of the pairs'], rows));
});

/**
 * @param {string} name
 * @param {Scenario} scenario
 * @param {{ours: Side, other: Side}} sides
 * @param {() => number} random
 */
async function compare(name, { start, run }, { ours, other }, random) {
  /** @type {Figures[]} */
  const logRatios = [];
  await withNode(start(), async (node) => {
    await run(ours, node); // warms the disk's cache and the chain
    for (let pair = 0; pair < pairs; pair += 1) {
      const isFirst = random() < 0.5;
      const first = await run(isFirst ? ours : other, node);
      const second = await run(isFirst ? other : ours, node);
      const [mine, theirs] = isFirst ? [first, second] : [second, first];
      logRatios.push(Object.fromEntries(Object.keys(mine).map((key) => [key, Math.log(mine[key] / theirs[key])])));
      console.error(`${name}, pair ${pair + 1}/${pairs}: ${pairWords(mine, theirs)}`);
    }
  });
  return Object.keys(logRatios[0]).map((key) => row(name, key, logRatios.map((logs) => logs[key]))); // prettier-ignore
}

/** @param {Figures} ours @param {Figures} theirs */
function pairWords(ours, theirs) {
  const words = Object.entries(ours).map(([key, value]) => `${key} ${value.toFixed(0)} / ${theirs[key].toFixed(0)}`);
  return words.join(', ');
}

/** @param {string} name @param {string} figure @param {number[]} logs */
function row(name, figure, logs) {
  const half = (studentQuantile(0.975, logs.length - 1) * standardDeviation(logs)) / Math.sqrt(logs.length);
  const [ratio, low, high, middle] = [mean(logs), mean(logs) - half, mean(logs) + half, median(logs)].map((log) =>
    Math.exp(log).toFixed(3),
  );
  return [name, figure, ratio, `${low} to ${high}`, middle];
}
