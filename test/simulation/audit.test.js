/** What the audit says of transactions that are in no block, on the chain in memory. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { simulatedRun } from '../helpers/simulated-run.js';

for (const [what, isShown, fate] of /** @type {const} */ ([
  ['that the node shows is pending', true, 'pending'],
  ['that the node does not show is not said to be pending', false, 'unknown'],
]))
  it(`a transaction ${what}`, async () => {
    const hidden = (/** @type {{method: string}} */ { method }) => method === 'eth_getTransactionByHash' && !isShown;
    const { run } = await simulatedRun(
      '--workload transfer -t 2 -d 3s --drain-timeout 1s',
      { after: (request) => (hidden(request) ? { result: null } : undefined) },
      // Blocks take none of them.
      { chain: { takenAfter: () => 9n } },
    );
    assert.equal(run.audit.result, 'incomplete');
    assert.deepEqual(
      run.audit.resolutions.map((/** @type {{fate: string}} */ one) => one.fate),
      [fate, fate],
    );
  });
