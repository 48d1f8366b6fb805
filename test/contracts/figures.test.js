/**
 * The figures of whole runs on the chain in memory: what could not be done or measured is said, and each span ends with its
 * event.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { simulatedRun } from '../helpers/simulated-run.js';

describe('what was asked for and not done', () => {
  it('replacements that --max-fee does not allow', async () => {
    const { run, words } = await simulatedRun('--replace-share 100% --max-fee 30wei');
    const { replacements, replacementsTooDear } = run.generator.storm;
    assert.deepEqual([replacements, replacementsTooDear], [0, run.counts.verified]);
    assert.match(
      words,
      /^--replace-share: 0 of \d+ transactions got a replacement: the fee of \d+ could not be raised /m,
    );
  });

  it('an order of nonces where a wallet has one transaction at a time', async () => {
    const { words } = await simulatedRun('-t 1 --in-flight 2 --iterations 1 --nonce-order reversed');
    assert.match(words, /^--nonce-order reversed: 0 of 1 transaction left before a lower nonce/m);
  });

  it('nothing is said of what was done', async () => {
    const { run, words } = await simulatedRun('--in-flight 4 --nonce-order reversed --replace-share 100% -d 12s');
    const { outOfOrder, inOrder, replacements } = run.generator.storm;
    assert.ok(outOfOrder > 2 * inOrder, `${outOfOrder} and ${inOrder}`);
    assert.equal(replacements, run.counts.started);
    assert.doesNotMatch(words, /--replace-share|--nonce-order/);
  });
});

describe('like is compared with like', () => {
  it('failures of each name leave out the warm-up, as those of all operations do', async () => {
    const { run } = await simulatedRun(
      '--workload rpc --calls light --rate 20 --warmup 4s --threshold calls.eth_gasPrice.failed<=9,failed<=9',
      {
        before: ({ method }, { nowMs }) => {
          if (method === 'net_version') return { result: '1' };
          const isOdd = method === 'eth_gasPrice' && (nowMs() < 3000 || (nowMs() > 8000 && nowMs() < 9000));
          return isOdd ? { error: { code: -32000, message: 'busy day' } } : undefined;
        },
      },
    );
    const [ofName, ofAll] = run.thresholds;
    assert.ok(run.failures.rpc_error > ofAll.value && ofAll.value > 0, JSON.stringify(run.failures));
    assert.equal(ofName.value, ofAll.value);
    const { counts, failedInWarmUp } = run.byName.eth_gasPrice;
    assert.equal(counts.failed, run.counts.failed, 'the counts are of the whole run');
    assert.equal(failedInWarmUp, counts.failed - ofAll.value);
  });
});
