/** The bounds of what is offered without a request of the user, on the chain in memory. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { simulatedRun } from '../helpers/simulated-run.js';

const GWEI = 10n ** 9n;

/** Five times a base fee of 7 wei, and the tip: what is offered first. @type {Array<[string, bigint, string]>} */
const limits = [
  ['ten gwei where the first offer is a few wei', 1n, '10 gwei'],
  ['ten times the first offer', 3n * GWEI, '30.00000035 gwei'],
];
for (const [name, tipWei, most] of limits)
  it(`the offer is raised to ${name}`, async () => {
    const { code, words } = await simulatedRun('', {}, { chain: { tipWei, floorAfter: () => 1000n * GWEI } });
    assert.equal(code, 69);
    assert.ok(words.includes(`ten times the first one, ${most}: give --tip 1000gwei`), words);
  });

for (const workers of [1, 2])
  it(`one transaction of a run is replaced while no block is made, --workers ${workers}`, async () => {
    const words = `--workload transfer -t 4 -o 5 -d 60s --workers ${workers}`;
    const { code, run } = await simulatedRun(words, {}, { chain: { halt: [10_000, 45_000] } });
    assert.equal(code, 0);
    assert.equal(run.generator.resubmissions.replaced, 1);
  });

it('a --max-fee below the base fee is named, not the chain', async () => {
  const { code, words } = await simulatedRun('--max-fee 6wei --tx-timeout 20s');
  assert.equal(code, 69);
  assert.match(
    words,
    /blocks take no transaction of the set-up: the base fee is 7 wei, and .*6 wei.* is offered: --max-fee/,
  );
  assert.doesNotMatch(words, /does the chain make blocks/);
});
