/** What an earlier run has left in the pool, on the chain in memory: replaced only if blocks had room for it. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Wallet } from 'ethers';
import { simulatedRun } from '../helpers/simulated-run.js';

/** @import { MemoryChainOptions } from '../helpers/memory-chain.js' */

/** The first wallet of the test mnemonic. */
const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';
const ADDRESS = new Wallet(KEY).address;

/** Low tips are left out for so many blocks. @param {number} count @returns {(blocks: number) => bigint} */
const leavesOut = (count) => (blocks) => (blocks < count ? 9n : 0n);
const EMPTY = { tipWei: 10n, takenAfter: leavesOut(60) };
/** A deposit of 50,000 gas in each block. */
const BUSY = { tipWei: 10n, takenAfter: leavesOut(20), hasDeposits: true };
/** Whose transactions may have had their turn before. @param {number} count of blocks */
const othersFor = (count) => ({ tipWei: 10n, takenAfter: leavesOut(count), hasDeposits: true });
const RISEN = { tipWei: 10n, baseFeeAfter: () => 500n };

/**
 * The chain, the gas limit of what was left, how the node shows it, whether it is replaced, and whether another program goes on.
 * @type {Array<[string, Omit<MemoryChainOptions, 'clock'>, bigint, object | null, boolean, boolean?]>}
 */
const rows = [
  ['that empty blocks leave out is replaced', EMPTY, 21_000n, null, true],
  ['that empty blocks leave out is replaced, shown by the node', EMPTY, 21_000n, {}, true],
  ['below the base fee is replaced, shown by the node', { ...RISEN, gasLimit: 60_000 }, 59_000n, {}, true],
  ['is not replaced while blocks are full of others', { ...BUSY, gasLimit: 70_000 }, 21_000n, null, false],
  ['is not replaced while blocks have no room for it', { ...BUSY, gasLimit: 200_000 }, 190_000n, {}, false],
  ['is not replaced while it may be the turn of others', othersFor(25), 21_000n, {}, false],
  ['is replaced when blocks with others have left it out for long', othersFor(60), 21_000n, {}, true],
  ['with blobs is not replaced', { ...EMPTY, takenAfter: leavesOut(20) }, 21_000n, { maxFeePerBlobGas: '0x1' }, false],
  [
    'is not replaced while another program goes on',
    { ...EMPTY, takenAfter: leavesOut(20) },
    21_000n,
    null,
    false,
    true,
  ],
];
for (const [name, chain, gasLimit, members, isReplaced, goesOn = false] of rows)
  it(`a transaction of an earlier run ${name}`, async () => {
    let hash = '';
    /** @param {number} nonce */
    const signed = (nonce) => {
      const fees = { maxFeePerGas: 100n, maxPriorityFeePerGas: 1n };
      const left = { chainId: 31_337, nonce, to: ADDRESS, value: 0n, gasLimit, type: 2, ...fees };
      return new Wallet(KEY).signTransaction(left);
    };
    const { code, words, run } = await simulatedRun(
      '--workload transfer -t 2 -d 4s',
      {
        before: async ({ method }, { node, nowMs, count }) => {
          if (hash === '') {
            hash = 'sent';
            hash = (await node('eth_sendRawTransaction', [await signed(0)])).result;
          }
          if (goesOn && nowMs() > 1500 && count('another') === 1)
            await node('eth_sendRawTransaction', [await signed(1)]);
          if (method !== 'txpool_contentFrom' || members === null) return undefined;
          const { result: shown } = await node('eth_getTransactionByHash', [hash]);
          const pending = shown === null || shown.blockNumber !== undefined ? {} : { 0: { ...shown, ...members } };
          return { result: { pending, queued: {} } };
        },
      },
      { chain },
    );
    assert.equal(code, 0, words);
    assert.equal(/blocks have skipped/.test(words), isReplaced, words);
    assert.equal(run.audit.result, 'exact');
  });

it('a transaction of an earlier run is replaced although the endpoint lagged behind that run at first', async () => {
  let lagsUntilMs = -Infinity;
  let next = 0;
  const { code, words, run } = await simulatedRun(
    '--workload transfer -t 2 -d 12s --in-flight 4',
    {
      before: async ({ method, params }, { node, nowMs, count }) => {
        // Asked once by each run.
        if (method === 'web3_clientVersion' && count('looks') === 2) {
          next = Number((await node('eth_getTransactionCount', [ADDRESS, 'latest'])).result);
          const fees = { maxFeePerGas: 100n, maxPriorityFeePerGas: 1n };
          const left = { chainId: 31_337, nonce: next, to: ADDRESS, value: 0n, gasLimit: 21_000n, type: 2, ...fees };
          await node('eth_sendRawTransaction', [await new Wallet(KEY).signTransaction(left)]);
          lagsUntilMs = nowMs() + 7000;
        }
        const isStale =
          nowMs() < lagsUntilMs &&
          method === 'eth_getTransactionCount' &&
          String(params[0]).toLowerCase() === ADDRESS.toLowerCase();
        if (!isStale || !['latest', 'pending'].includes(params[1])) return undefined;
        return { result: `0x${(next - (params[1] === 'latest' ? 5 : 4)).toString(16)}` };
      },
    },
    // Nothing is left out for three blocks while the endpoint lags.
    { chain: { ...EMPTY, blockMs: 3000 }, runs: 2 },
  );
  assert.equal(code, 0, words);
  assert.match(words, /blocks have skipped 1 transaction/);
  assert.equal(run.audit.result, 'exact');
});
