/**
 * What the generator itself can do: verified increments a second against the null chain, which does next to nothing,
 * with each transport, in one process, in two workers and with batches of submissions.
 *
 *     npm run bench:ceiling -- [--rounds 5] [--seconds 5] [--threads 2000] [--block-ms 100] [--write]
 *
 * A wallet increments at most once a block, so that --threads * 1000 / --block-ms is a limit too. The table says how
 * much CPU was used: a row that uses less than its workers could is held up by that, or by the number of cores.
 */
import { cpus } from 'node:os';
import { call } from '../nodes/build.js';
import { interleave, publish, readOptions, runOurs } from './lib.js';
import { startNullChain } from './null-chain.js';

/** Two workers, their parent and the null chain want four. */
const CORES_FOR_WORKERS = 4;

const { numbers } = readOptions({ rounds: 5, seconds: 5, threads: 2000, 'block-ms': 100 });
const { rounds, seconds, threads, 'block-ms': blockMs } = numbers;

const TRANSPORTS = ['undici', 'tcp'];
const CELLS = [1, 2].flatMap((workers) =>
  TRANSPORTS.map((transport) => ({
    name: `${transport}, ${workers === 1 ? 'one process' : `--workers ${workers}`}`,
    // One process is asked for by leaving the option out, so that a stress without it can be measured too.
    cell: ['--transport', transport, ...(workers === 1 ? [] : ['--workers', `${workers}`])],
  })),
);
CELLS.push(
  ...TRANSPORTS.map((transport) => ({
    name: `${transport}, --batch 20`,
    cell: ['--transport', transport, '--batch', '20'],
  })),
);

/** Since the last deployment, so without the set-up. @typedef {{requests: number, cpuUs: number}} NodeStats */

const chain = await startNullChain({ blockMs });
try {
  const stats = async () => /** @type {NodeStats} */ (await call(chain.url, 'null_stats'));
  const { markdown } = await interleave({
    cells: CELLS,
    rounds,
    measure: (args) => measure(args, stats),
    columns: [
      ['verified TPS', ({ tps }) => tps],
      ['CPU us per verified', ({ cpuUs }) => cpuUs],
      ['cores used by us', ({ cores }) => cores, 2],
      ['null chain, CPU us per request', ({ nodeUs }) => nodeUs],
    ],
  });
  await publish('ceiling', 'The generator alone', [setting(), markdown, ...reservations()].join('\n\n'), [
    'null-chain/1',
  ]);
} finally {
  await chain.stop();
}

/** @param {string[]} args @param {() => Promise<NodeStats>} stats */
async function measure(args, stats) {
  const { tps, cpuUs } = await runOurs(chain, ['-t', `${threads}`, ...args], seconds);
  const node = await stats();
  return { tps, cpuUs, cores: (tps * cpuUs) / 1e6, nodeUs: node.cpuUs / node.requests };
}

function setting() {
  const limit = Math.round((threads * 1000) / blockMs);
  return (
    `Against the null chain (scripts/bench/null-chain.js: no EVM, a block every ${blockMs} ms), ${threads} wallets, ` +
    `so at most ${limit} TPS, ${seconds} s, ${rounds} interleaved rounds; median and range.`
  );
}

function reservations() {
  if (cpus().length >= CORES_FOR_WORKERS) return [];
  return [`${cpus().length} cores carry the workers, their parent and the null chain: judge workers by CPU, not TPS.`];
}
