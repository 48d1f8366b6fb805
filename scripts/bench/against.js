/**
 * This checkout, or a commit, against another commit: CPU time per operation, in pairs of short runs of the same number of
 * operations against the same node.
 *
 *     npm run bench:against -- BASE [CANDIDATE] [--minutes 10] [--seed 1] [--only NAME] [--pairs N] [--runs together|in-turn]
 *     npm run bench:against -- --with='--check consistency' [...]
 *     npm run bench:against -- BASE --slower 3
 *
 * What else the machine does must hit both sides alike. The two runs of a pair therefore run at the same time and, on
 * Linux, on the same core, between which the kernel switches every few milliseconds; --runs in-turn starts the second after
 * the first. Which side starts first and takes the first wallets is drawn by the seed and turned round in the next pair
 * (ABBA). CPU time is that of getrusage, of the whole process with its threads from start to end, and that of the window,
 * each divided by the verified operations.
 *
 * The first pairs of a scenario are its pilot. Its spread and its duration, not its ratios, decide how many pairs follow:
 * as many as give an interval of +-1 %, or the narrowest that fits into --minutes for all scenarios. The scenarios take
 * turns, so that each is measured over the whole time. No pair is dropped, and nothing ends because of a ratio. The exit
 * code is 99 if the upper end of an interval of CPU time is above 1.02, or if there are fewer than six pairs.
 *
 * --with gives the candidate more options; --slower lets it use so many percent more CPU, to see whether that is found.
 */
import { join } from 'node:path';
import { EXIT } from '../../src/errors.js';
import { randomNumbers } from '../../src/random.js';
import { startGeth } from '../nodes/geth.js';
import { executeTimed, lastCore } from './cpu.js';
import { checkOut, inTemporaryFolder, median, readOptions, runOurs, table } from './lib.js';
import { startNullChain } from './null-chain.js';
import { medianInterval, planPairs, spreadOf } from './pairs.js';

/**
 * @import { Execute, Node } from './lib.js'
 *
 * @typedef {Record<string, number>} Figures
 * @typedef {(Node & {stop: () => Promise<void>}) | null} RunningNode null: none is needed
 *
 * @typedef {object} Side
 * @property {string} commit
 * @property {string} root folder of its stress
 * @property {string[]} options of its loads besides those of the scenario
 * @property {Record<string, string>} env
 *
 * @typedef {object} Slice wallets of one of the two runs of a pair
 * @property {0 | 1} index
 * @property {string} contracts file of their addresses
 * @property {boolean} isFunded
 *
 * @typedef {object} Scenario
 * @property {keyof typeof NODES} node
 * @property {boolean} [isExtra] runs only with --only
 * @property {(side: Side, slice: Slice, node: RunningNode) => Promise<Figures>} run
 *
 * @typedef {{candidate: Figures, base: Figures, seconds: number}} Pair
 *
 * @typedef {object} Series the pairs of a scenario
 * @property {string} name
 * @property {() => Promise<Pair>} runPair
 * @property {Pair[]} pairs
 * @property {number} planned
 */

/** The upper end of an interval of CPU time up to which a change is accepted. */
const LIMIT = 1.02;
const HALF_WIDTH = 0.01;
const PILOT_PAIRS = 10;
/** With fewer, not even the range of the ratios contains the median in 95 % of all cases. */
const LEAST_PAIRS = 6;
/** Every run does its operations within this time, however busy the machine is. */
const LONGEST_SECONDS = 120;
/** The first run of a slice funds it for all others, so that two at the same time never pay from the same funder. */
const FIRST_FUNDS = '100';
const FUNDS = '1';
/** Starts in a run of a command that ends after a tenth of a second. */
const STARTS = 5;

const [WHOLE, WINDOW] = ['CPU us, whole process', 'CPU us, window'];
const JUDGED = [WHOLE, WINDOW];

const NODES = {
  geth: () => startGeth({ period: 0 }),
  'null chain': () => startNullChain({ blockMs: 100 }),
  none: async () => null,
};

const end = process.argv.findIndex((arg, i) => i > 1 && arg.startsWith('--'));
const [base, candidate] = process.argv.splice(2, (end === -1 ? process.argv.length : end) - 2);
const { numbers, words } = readOptions(
  { minutes: 10, pairs: 0, seed: 1, slower: 0 },
  { with: '', only: '', runs: 'together' },
);
const { minutes, seed } = numbers;
const isTogether = words.runs === 'together';
const core = isTogether ? lastCore() : null;

/**
 * @param {{wallets: number, iterations: number, keepsContracts?: boolean}} size keepsContracts: for all its runs
 * @param {...string} args
 * @returns {Scenario['run']}
 */
const load =
  ({ wallets, iterations, keepsContracts = false }, ...args) =>
  async ({ root, env, options }, { index, contracts, isFunded }, node) => {
    let wholeUs = NaN;
    /** @type {Execute} */
    const execute = async (file, words, how) => {
      wholeUs = await executeTimed(file, words, { ...how, core });
      return wholeUs;
    };
    const wholeArgs = [
      ...['-t', `${wallets}`, '-o', `${index * wallets}`, '--iterations', `${isFunded ? iterations : 1}`],
      ...[...args, ...options],
      ...['--fund-amount', isFunded ? FUNDS : FIRST_FUNDS, ...(keepsContracts ? ['--contracts', contracts] : [])],
    ];
    const { tps, cpuUs, run } = await runOurs(node, wholeArgs, LONGEST_SECONDS, { root, env, execute });
    if (run.end !== 'iterations') throw new Error(`${iterations} operations per wallet: the run ended by ${run.end}`);
    const figures = { [WHOLE]: wholeUs / run.counts.verified, [WINDOW]: cpuUs };
    return { ...figures, 'peak RSS MB': run.generator.peakRssBytes / 2 ** 20, ...(isTogether ? {} : { TPS: tps }) };
  };

/** @param {string} option @returns {Scenario['run']} */
const start =
  (option) =>
  async ({ root, env }) => {
    const how = { core, env: { ...process.env, ...env }, timeout: LONGEST_SECONDS * 1000 };
    let sumUs = 0;
    for (let i = 0; i < STARTS; i += 1)
      sumUs += await executeTimed(process.execPath, [join(root, 'bin', 'stress.js'), option], how);
    return { [WHOLE]: sumUs / STARTS };
  };

const [TCP, UNDICI] = ['tcp', 'undici'].map((name) => ['--transport', name]);
const PAYMENTS = { wallets: 200, iterations: 25 };
const SMALL = { ...PAYMENTS, keepsContracts: true };
const MEDIUM = { wallets: 2000, iterations: 10 };
const LARGE = { wallets: 20_000, iterations: 1, keepsContracts: true };

/** @type {Record<string, Scenario>} */
const SCENARIOS = {
  'increment, tcp, geth': { node: 'geth', run: load(SMALL, ...TCP) },
  'payments, undici, geth': { node: 'geth', run: load(PAYMENTS, '--workload', 'transfer', ...UNDICI) },
  'increment, tcp, null chain': { node: 'null chain', run: load(MEDIUM, ...TCP) },
  '20,000 wallets, tcp, null chain': { node: 'null chain', run: load(LARGE, ...TCP) },
  'increment, undici, geth': { node: 'geth', run: load(SMALL, ...UNDICI), isExtra: true },
  'increment, undici, null chain': { node: 'null chain', run: load(MEDIUM, ...UNDICI), isExtra: true },
  '20,000 wallets, 2 workers, null chain': {
    node: 'null chain',
    run: load(LARGE, '--workers', '2', ...TCP),
    isExtra: true,
  },
  'stress --version': { node: 'none', run: start('--version'), isExtra: true },
  'stress --help': { node: 'none', run: start('--help'), isExtra: true },
};

const chosen = Object.entries(SCENARIOS).filter(([name, { isExtra }]) =>
  words.only === '' ? !isExtra : name.includes(words.only),
);
const problem = findProblem();
if (problem !== null) {
  console.error(`bench:against: ${problem}`);
  process.exit(EXIT.usage);
}
// 'exit' ends the nodes and the runs, which a signal alone would not.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(EXIT.interrupted));

await inTemporaryFolder(async (folder) => {
  const sides = await checkOutSides(folder);
  await withNodes([...new Set(chosen.map(([, { node }]) => node))], async (nodes) => {
    // A node that is built first, which takes minutes, costs no pairs.
    const startMs = performance.now();
    /** @type {Series[]} */
    const all = [];
    for (const [name, scenario] of chosen) {
      const runPair = await prepare(scenario, sides, nodes[scenario.node], join(folder, `contracts-${all.length}`));
      all.push({ name, runPair, pairs: [], planned: numbers.pairs || PILOT_PAIRS });
    }
    const deadlineMs = numbers.pairs > 0 ? Infinity : startMs + minutes * 60_000;
    await runPlanned(all, deadlineMs);
    if (numbers.pairs === 0) {
      plan(all, (deadlineMs - performance.now()) / 1000);
      await runPlanned(all, deadlineMs);
    }
    report(all, sides);
  });
});

function findProblem() {
  if (base === undefined && words.with === '')
    return 'no commit to compare with; give one, such as npm run bench:against -- HEAD~1, or --with=OPTIONS';
  if (chosen.length === 0)
    return `--only ${words.only}: no such scenario; give part of ${Object.keys(SCENARIOS).join('; ')}`;
  if (!['together', 'in-turn'].includes(words.runs)) return `--runs ${words.runs}: give together or in-turn`;
  return null;
}

/** @param {string} folder @returns {Promise<{candidate: Side, base: Side}>} */
async function checkOutSides(folder) {
  const [ours, theirs] = [join(folder, 'candidate'), join(folder, 'base')];
  const burn = {
    NODE_OPTIONS: `--import=${new URL('burn.js', import.meta.url)}`,
    BENCH_BURN_PERCENT: `${numbers.slower}`,
  };
  return {
    candidate: {
      commit: await checkOut(candidate ?? null, ours),
      root: ours,
      options: words.with.split(' ').filter((word) => word !== ''),
      env: numbers.slower > 0 ? burn : {},
    },
    base: { commit: await checkOut(base ?? null, theirs), root: theirs, options: [], env: {} },
  };
}

/** @param {Scenario['node'][]} names @param {(nodes: Record<string, RunningNode>) => Promise<void>} work */
async function withNodes(names, work) {
  /** @type {Record<string, RunningNode>} */
  const nodes = {};
  try {
    for (const name of names) nodes[name] = await NODES[name]();
    await work(nodes);
  } finally {
    for (const node of Object.values(nodes)) await node?.stop();
  }
}

/**
 * Runs each slice once with an operation per wallet, which funds it, deploys contracts that are kept and warms the disk's cache.
 * @param {Scenario} scenario
 * @param {{candidate: Side, base: Side}} sides
 * @param {RunningNode} node
 * @param {string} contracts start of the names of files
 * @returns {Promise<Series['runPair']>}
 */
async function prepare({ run }, sides, node, contracts) {
  const random = randomNumbers(seed);
  const slice = (/** @type {0 | 1} */ index, isFunded = true) => ({
    index,
    contracts: `${contracts}-${index}`,
    isFunded,
  });
  await run(sides.candidate, slice(0, false), node);
  await run(sides.base, slice(1, false), node);
  let count = 0;
  let isCandidateFirst = false;
  return async () => {
    isCandidateFirst = count % 2 === 0 ? random() < 0.5 : !isCandidateFirst;
    count += 1;
    const order = isCandidateFirst ? [sides.candidate, sides.base] : [sides.base, sides.candidate];
    const startMs = performance.now();
    const [first, second] = await both(
      () => run(order[0], slice(0), node),
      () => run(order[1], slice(1), node),
    );
    const seconds = (performance.now() - startMs) / 1000;
    const [ofCandidate, ofBase] = isCandidateFirst ? [first, second] : [second, first];
    return { candidate: ofCandidate, base: ofBase, seconds };
  };
}

/** @template T @param {() => Promise<T>} first @param {() => Promise<T>} second @returns {Promise<T[]>} */
async function both(first, second) {
  if (!isTogether) return [await first(), await second()];
  const results = await Promise.allSettled([first(), second()]);
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

/** Runs what is planned, always the series that is furthest behind, until the time is over. @param {Series[]} all @param {number} deadlineMs */
async function runPlanned(all, deadlineMs) {
  for (;;) {
    const [series] = all
      .filter(({ pairs, planned }) => pairs.length < planned)
      .sort((a, b) => a.pairs.length / a.planned - b.pairs.length / b.planned);
    if (series === undefined) return;
    const isStarted = series.pairs.length > 0;
    if (isStarted && performance.now() + 2000 * secondsOf(series) > deadlineMs) return;
    // Two, with both orders.
    for (let i = 0; i < 2; i += 1) {
      const pair = await series.runPair();
      series.pairs.push(pair);
      console.error(`${series.name}, pair ${series.pairs.length}/${series.planned}: ${pairText(pair)}`);
    }
  }
}

/** @param {Pair} pair */
function pairText({ candidate: mine, base: theirs, seconds }) {
  const figures = Object.keys(mine).map((key) => `${key} ${mine[key].toFixed(0)} / ${theirs[key].toFixed(0)}`);
  return `${figures.join(', ')}; ${seconds.toFixed(1)} s`;
}

/** Mean of a pair. @param {Series} series */
function secondsOf({ pairs }) {
  return pairs.reduce((sum, { seconds }) => sum + seconds, 0) / pairs.length;
}

/** @param {Series} series @param {string} figure */
function logRatios({ pairs }, figure) {
  return pairs.map((pair) => Math.log(pair.candidate[figure] / pair.base[figure]));
}

/** @param {Series} series */
function judgedOf({ pairs }) {
  return JUDGED.filter((figure) => figure in pairs[0].candidate);
}

/** @param {Series[]} all @param {number} secondsLeft */
function plan(all, secondsLeft) {
  const pilots = all.map((series) => ({
    spread: Math.max(...judgedOf(series).map((figure) => spreadOf(logRatios(series, figure)))),
    seconds: secondsOf(series),
    pairs: series.pairs.length,
  }));
  planPairs(pilots, { halfWidth: HALF_WIDTH, secondsLeft }).forEach((count, i) => {
    all[i].planned = count;
    const { spread, seconds } = pilots[i];
    console.error(
      `${all[i].name}: the pilot spreads by ${(100 * spread).toFixed(1)} %, ${seconds.toFixed(1)} s a pair: ${count} pairs`,
    );
  });
}

/** @param {Series[]} all @param {{candidate: Side, base: Side}} sides */
function report(all, sides) {
  const results = all.flatMap((series) =>
    Object.keys(series.pairs[0].candidate).map((figure) => resultOf(series, figure)),
  );
  const asked = [words.with, numbers.slower > 0 ? `${numbers.slower} % more CPU` : ''].filter((text) => text !== '');
  const ours = `${sides.candidate.commit}${asked.length > 0 ? ` with ${asked.join(' and ')}` : ''}`;
  const how = isTogether ? `at the same time${core === null ? '' : ` on core ${core}`}` : 'one after the other';
  console.log(
    `${ours} against ${sides.base.commit}: runs of a pair ${how}; seed ${seed}; ${(performance.now() / 60_000).toFixed(1)} min.\n`,
  );
  const columns = ['', 'figure', 'base', 'pairs', 'median ratio', '95 % interval', 'half-width', `at most ${LIMIT}`];
  console.log(table(columns, results.map(({ cells }) => cells))); // prettier-ignore
  if (results.some(({ isAccepted }) => !isAccepted)) process.exitCode = EXIT.thresholdFailed;
}

/** @param {Series} series @param {string} figure */
function resultOf(series, figure) {
  const { name, pairs, planned } = series;
  const logs = medianInterval(logRatios(series, figure), randomNumbers(seed));
  const { middle, low, high } = /** @type {typeof logs} */ (
    Object.fromEntries(Object.entries(logs).map(([key, log]) => [key, Math.exp(log)]))
  );
  const isEnough = pairs.length >= LEAST_PAIRS;
  const isAccepted = !JUDGED.includes(figure) || (isEnough && high <= LIMIT);
  const words = isAccepted ? 'yes' : isEnough && low > 1 ? 'no: slower' : 'not decided';
  const cells = [
    ...[name, figure, median(pairs.map((pair) => pair.base[figure])).toFixed(0)],
    pairs.length < planned ? `${pairs.length} of ${planned}` : `${pairs.length}`,
    middle.toFixed(3),
    ...(isEnough ? [`${low.toFixed(3)} to ${high.toFixed(3)}`, `${(50 * (high - low)).toFixed(1)} %`] : ['', '']),
    JUDGED.includes(figure) ? words : '',
  ];
  return { isAccepted, cells };
}
