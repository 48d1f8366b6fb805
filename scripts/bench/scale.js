/**
 * What more wallets cost: CPU per verified increment, memory and start-up time from 10 to 10,000 wallets.
 *
 *     npm run bench:scale -- [--chain anvil|null] [--rounds 3] [--seconds 10] [--most 10000] [--transport NAME] [--write]
 *
 * The CPU that a run takes whatever its load, for following the head and fetching blocks, is measured apart: one
 * wallet on a null chain that makes a block every 100 ms, as the embedded chain does, but puts transactions into every
 * 50th only. What is left of the CPU of a row, divided by its increments, is the second figure.
 */
import { interleave, median, publish, readOptions, runOurs, spread } from './lib.js';
import { startNullChain } from './null-chain.js';

/** @import { Node } from './lib.js' */

const WALLETS = [10, 100, 200, 1000, 10_000];
const BLOCKS_PER_LOAD = 50;

const { numbers, words } = readOptions(
  { rounds: 3, seconds: 10, most: 10_000 },
  { chain: 'anvil', transport: '' }, // '' leaves the transport to stress
);
const { rounds, seconds, most } = numbers;
if (!['anvil', 'null'].includes(words.chain)) throw new Error('--chain: give anvil or null');

/** @typedef {{node: Node | null, wallets: number}} Cell */

const idleChain = await startNullChain({ blocksPerLoad: BLOCKS_PER_LOAD });
const nullChain = words.chain === 'null' ? await startNullChain() : null;
try {
  const loads = WALLETS.filter((wallets) => wallets <= most).map((wallets) => ({
    name: wallets.toLocaleString('en-US'),
    cell: { node: nullChain, wallets },
  }));
  /** @type {{name: string, cell: Cell}[]} */
  const cells = [{ name: 'next to no load', cell: { node: idleChain, wallets: 1 } }, ...loads];
  const fixedOf = (/** @type {Row[]} */ idle) => median(idle.map(({ cpuMsPerSecond }) => cpuMsPerSecond));
  const { rows, markdown } = await interleave({
    cells,
    rounds,
    measure,
    columns: [
      ['verified TPS', ({ tps }) => tps],
      ['CPU us per verified', ({ cpuUs }) => cpuUs],
      ['CPU ms per second', ({ cpuMsPerSecond }) => cpuMsPerSecond, 1],
      ['peak memory MB', ({ rssMb }) => rssMb],
      ['start-up s', ({ startMs }) => startMs / 1000, 1],
    ],
    others: [
      [
        'CPU us without the fixed cost',
        (results, idle) => spread(results.map(({ tps, cpuUs }) => cpuUs - (fixedOf(idle) * 1000) / tps)),
      ],
    ],
  });
  const fixedCost =
    'The fixed cost is the CPU of the first row, one wallet on a null chain with a block every 100 ms, of which every ' +
    `${BLOCKS_PER_LOAD}th takes transactions. In a busy process the same polls cost less, because their code is ` +
    'compiled and wake-ups are shared, so what is left without it is rather too little.';
  await publish(
    nullChain === null ? 'scale' : 'scale-null',
    `Wallets (${chainName()})`,
    [setting(), markdown, fixedCost].join('\n\n'),
    versions(rows),
  );
} finally {
  await idleChain.stop();
  await nullChain?.stop();
}

/** @param {Cell} cell */
async function measure({ node, wallets }) {
  const transport = words.transport === '' ? [] : ['--transport', words.transport];
  const { tps, cpuUs, startMs, run } = await runOurs(node, ['-t', `${wallets}`, ...transport], seconds);
  const { cpuUs: allUs, peakRssBytes } = run.generator;
  const cpuMsPerSecond = allUs / run.window.durationMs;
  const { clientVersion } = run.environment;
  return {
    tps,
    cpuUs: cpuUs ?? NaN,
    startMs,
    cpuMsPerSecond,
    rssMb: peakRssBytes / 2 ** 20,
    clientVersion: String(clientVersion),
  };
}

/** @typedef {Awaited<ReturnType<typeof measure>>} Row */

function chainName() {
  return words.chain === 'null' ? 'null chain' : 'embedded chain';
}

function setting() {
  const transport = words.transport === '' ? '' : `, transport ${words.transport}`;
  return (
    `Each run on the ${chainName()}${transport}, ${seconds} s, ${rounds} interleaved rounds; median and range. ` +
    'Start-up is from the start of the process to the first operation: the chain, the keys, the contracts.'
  );
}

/** @param {{results: Row[]}[]} rows */
function versions(rows) {
  return [...new Set(rows.flatMap(({ results }) => results.map(({ clientVersion }) => clientVersion)))];
}
