/** When a load that stands still is said to, on the chain in memory. */
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
