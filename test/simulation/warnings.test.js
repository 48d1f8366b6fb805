/** When a load that stands still, and a set-up that waits, are said to, on the chain in memory. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { simulatedRun } from '../helpers/simulated-run.js';
import { createSimulator } from './run.js';

it('a load that stands still is said to after 5 s', async () => {
  const simulator = createSimulator({ stretch: 4 });
  try {
    const { lines } = await simulator.run({ chain: 'no blocks for a while' }, 1);
    assert.match(lines.join('\n'), /^nothing was verified for 5\.0 s: no new block was seen for \d\.\d s, with 6 /m);
  } finally {
    simulator.close();
  }
});

for (const blockMs of [2000, 6000, 12_000])
  it(`a load on a chain with a block every ${blockMs} ms does not stand still between two`, async () => {
    const { words } = await simulatedRun('-d 60s', {}, { chain: { blockMs } });
    assert.doesNotMatch(words, /nothing was verified|no new block/);
  });

/** @type {Array<[string, object, RegExp]>} */
const pools = [
  [
    'refuses',
    { poolLimit: 0 },
    /^the pool of the node is full, and it refuses a transaction of wallet 0 .*globalslots/m,
  ],
  ['forgets', { silentPoolLimit: 0 }, /in no block after 60 s .*: the node took it \d+ times and .*globalslots/m],
];
for (const [what, chain, words] of pools)
  it(`a set-up names a pool that is full and ${what} its transactions`, async () => {
    const found = await simulatedRun('-t 2', {}, { chain });
    assert.equal(found.code, 69);
    assert.match(found.words, words);
  });

it('a set-up says what to do about a limit of the fee', async () => {
  const error = { code: -32000, message: 'tx fee (1.89 ether) exceeds the configured cap (1.00 ether)' };
  const refuse = (/** @type {{method: string}} */ { method }) =>
    method === 'eth_sendRawTransaction' ? { error } : undefined;
  const { code, words } = await simulatedRun('-t 2', { before: refuse });
  assert.equal(code, 69);
  assert.match(words, /configured cap \(1\.00 ether\) \(-32000\); the node limits the fee .*geth: --rpc\.txfeecap/);
});

it('blocks have not left out what the pool of a node had lost meanwhile', async () => {
  const { code, words } = await simulatedRun('-t 40 -d 3s', {}, { chain: { silentPoolLimit: 3 } });
  assert.equal(code, 0, words);
  assert.doesNotMatch(words, /blocks leave transactions of the set-up out/);
});
