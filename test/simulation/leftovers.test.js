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
const RISEN = { tipWei: 10n, baseFeeAfter: () => 500n };

/** The chain, the gas limit of what was left, whether the node shows its pool, and whether it is replaced. @type {Array<[string, Omit<MemoryChainOptions, 'clock'>, bigint, boolean, boolean]>} */
const rows = [
  ['that empty blocks leave out is replaced', EMPTY, 21_000n, false, true],
  ['that empty blocks leave out is replaced, shown by the node', EMPTY, 21_000n, true, true],
  ['below the base fee is replaced, shown by the node', { ...RISEN, gasLimit: 60_000 }, 59_000n, true, true],
  ['is not replaced while blocks are full of others', { ...BUSY, gasLimit: 70_000 }, 21_000n, false, false],
  ['is not replaced while blocks have no room for it', { ...BUSY, gasLimit: 200_000 }, 190_000n, true, false],
];
for (const [name, chain, gasLimit, isShown, isReplaced] of rows)
  it(`a transaction of an earlier run ${name}`, async () => {
    let hash = '';
    const { code, words, run } = await simulatedRun(
      '--workload transfer -t 2 -d 4s',
      {
        before: async ({ method }, { node }) => {
          if (hash === '') {
            const fees = { maxFeePerGas: 100n, maxPriorityFeePerGas: 1n };
            const left = { chainId: 31_337, nonce: 0, to: ADDRESS, value: 0n, gasLimit, type: 2, ...fees };
            hash = 'sent';
            hash = (await node('eth_sendRawTransaction', [await new Wallet(KEY).signTransaction(left)])).result;
          }
          if (method !== 'txpool_contentFrom' || !isShown) return undefined;
          const { result: shown } = await node('eth_getTransactionByHash', [hash]);
          const pending = shown === null || shown.blockNumber !== undefined ? {} : { 0: shown };
          return { result: { pending, queued: {} } };
        },
      },
      { chain },
    );
    assert.equal(code, 0, words);
    assert.equal(/3 blocks have skipped 1 transaction of wallets 0 in the node's pool/.test(words), isReplaced, words);
    assert.equal(run.audit.result, 'exact');
  });
