/** Pools that are too small for what is in flight, and one that loses transactions at random, on the chain in memory. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Transaction } from 'ethers';
import { simulatedRun } from '../helpers/simulated-run.js';

/** @import { MemoryChainOptions } from '../helpers/memory-chain.js' */

const LOAD = '--workload transfer -t 8 --in-flight 8 -d 40s';

/** @type {Array<[string, Omit<MemoryChainOptions, 'clock'>, string]>} */
const pools = [
  ['forgets others without a word', { silentPoolLimit: 24 }, 'lost'],
  ['forgets others without a word, with blocks of 5 s', { silentPoolLimit: 24, blockMs: 5000 }, 'lost'],
  ['refuses others', { poolLimit: 24 }, 'refused'],
  ['refuses others as underpriced', { poolLimit: 24, isPricedPool: true }, 'refused'],
];
for (const [name, chain, verdict] of pools)
  it(`a pool of 24 that ${name}: nothing fails, its size is known, and no price is raised`, async () => {
    /** @type {Set<bigint>} */
    const tips = new Set();
    const words = chain.blockMs === undefined ? LOAD : LOAD.replace('40s', '120s');
    const { code, run } = await simulatedRun(
      words,
      {
        before: async ({ method, params }) => {
          if (method === 'eth_sendRawTransaction') tips.add(Transaction.from(params[0]).maxPriorityFeePerGas ?? -1n);
          return undefined;
        },
      },
      { chain },
    );
    const { failed, timedOut, abandoned } = run.counts;
    assert.deepEqual([code, failed + timedOut + abandoned, run.audit.result], [0, 0, 'exact']);
    assert.deepEqual([...tips], [1n]);
    const { pool } = run.generator.nodeLimits;
    assert.ok(pool >= 20 && pool <= 28, `${pool}`);
    assert.equal(run.verdict.name, verdict);
    assert.ok(run.verdict.evidence.includes(`the pool of the node keeps about ${pool} transactions, of 64 in flight`));
    // As many as it keeps are in each block.
    const rate = (1000 * pool) / (chain.blockMs ?? 1000);
    assert.ok(run.rates.verifiedPerSecond > 0.5 * rate, `${run.rates.verifiedPerSecond} of ${rate}`);
  });

it('of a pool that loses transactions at random no size is stated', async () => {
  let sent = 0;
  const { code, run } = await simulatedRun(LOAD, {
    before: async ({ method, params }) => {
      if (method !== 'eth_sendRawTransaction' || (sent += 1) < 30 || (sent * 7919) % 5 !== 0) return undefined;
      return { result: Transaction.from(params[0]).hash };
    },
  });
  assert.deepEqual([code, run.counts.failed + run.counts.timedOut, run.audit.result], [0, 0, 'exact']);
  assert.ok(run.generator.resubmissions.lost > 20);
  assert.equal(run.generator.nodeLimits?.pool, undefined);
});
