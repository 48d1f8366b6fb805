/**
 * The figures of whole runs on the chain in memory: what could not be done or measured is said, and each span ends with its
 * event.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { simulatedRun } from '../helpers/simulated-run.js';

/** @import { Dialect } from '../helpers/dialect-node.js' */

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

describe('a span ends with its event', () => {
  /** Safe is two blocks behind, finalized four. @type {Dialect} */
  const WITH_TAGS = {
    before: async ({ method, params: [tag, isWhole] }, { node, head }) => {
      const behind = { safe: 2, finalized: 4 }[String(tag)];
      if (method !== 'eth_getBlockByNumber' || behind === undefined) return undefined;
      return node(method, [`0x${((await head()) - behind).toString(16)}`, isWhole]);
    },
  };

  it('levels are reached when their block is, however many confirmations an operation waits for', async () => {
    /** @param {number} confirmations */
    const meansMs = async (confirmations) => {
      const { run } = await simulatedRun(`--ladder auto --confirmations ${confirmations} -d 30s`, WITH_TAGS);
      const { latest, safe, finalized } = run.ladder.rungs;
      for (const level of [latest, safe]) assert.ok(level.reached >= 12, JSON.stringify(level.reached));
      return [latest, safe, finalized].map(({ latency, censored }) => {
        const sumUs = latency.sumUs - censored.sumUs;
        return Math.round(sumUs / (latency.count - censored.count) / 1000);
      });
    };
    const [few, many] = [await meansMs(0), await meansMs(6)];
    assert.ok(few[0] > 900 && few[0] < 1000, `${few}`);
    for (const [i, ms] of many.entries()) assert.ok(Math.abs(ms - few[i]) < 60, `${few} without, ${many} with`);
  });
});

describe('like is compared with like', () => {
  it('failures of each name leave out the warm-up, as those of all operations do', async () => {
    const { run } = await simulatedRun(
      '--workload rpc --calls light --rate 20 --warmup 4s --threshold calls.eth_gasPrice.failed<=9,failed<=9',
      {
        // About 20 calls in the warm-up, and 40 in the window.
        before: ({ method }, { count }) => {
          if (method === 'net_version') return { result: '1' };
          const calls = method === 'eth_gasPrice' ? count(method) : 0;
          const isOdd = (calls > 1 && calls < 10) || (calls > 40 && calls < 45);
          return isOdd ? { error: { code: -32000, message: 'not today' } } : undefined;
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
