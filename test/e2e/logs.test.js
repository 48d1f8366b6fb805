/** The workload logs: what its data set says is on the chain is there. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { AbiCoder } from 'ethers';
import { TOPIC } from '../../src/workloads/logs.js';
import { anvilFor } from '../helpers/anvil.js';
import { exited, readJson, runStress } from '../helpers/cli.js';
import { temporaryFolder } from '../helpers/temporary.js';

const BYTES = 5001;
const PAGE_SIZE = 6;
const LOAD = ['-t', '2', '--iterations', '2', '--workload', 'logs'];
const SIZES = ['--bytes', `${BYTES}`, '--page-size', `${PAGE_SIZE}`];

/** @param {string} data of a log @returns {string} */
const bytesIn = (data) => AbiCoder.defaultAbiCoder().decode(['bytes'], data)[0];

describe('--workload logs', () => {
  const chain = anvilFor();

  for (const workers of ['1', '2'])
    test(`the pages are on the chain as the file says, with ${workers} workers`, async (t) => {
      const folder = temporaryFolder(t);
      const [file, out] = [join(folder, 'logs.json'), join(folder, 'run.json')];
      const args = ['--rpc', chain.url, ...LOAD, ...SIZES, '--workers', workers, '--logs', file, '--out', out];
      const { code, stdout, stderr } = await runStress(args);
      assert.deepEqual([code, stderr], [0, '']);
      assert.match(stdout, /exact: 2 wallets wrote pages: 4 = 4 verified \+ 0 included late/);
      assert.match(stdout, /pages that the node lists once: 4, as expected/);
      assert.match(stdout, /pages that were read back with the expected logs: 4, as expected/);
      const { schema, chainId, genesisHash, address, bytes, pageSize, blocks } = readJson(file);
      assert.deepEqual([schema, chainId, bytes, pageSize], ['evm-stress/logs@2', 31337, BYTES, PAGE_SIZE]);
      assert.equal(genesisHash, (await chain.rpc('eth_getBlockByNumber', ['0x0', false])).hash);

      const all = await chain.rpc('eth_getLogs', [{ address, fromBlock: '0x0', topics: [TOPIC] }]);
      assert.equal(new Set(all.map((/** @type {any} */ log) => Number(log.topics[2]))).size, 4 * PAGE_SIZE);
      const payloads = all.map((/** @type {any} */ { data }) => bytesIn(data));
      assert.ok(payloads.every((/** @type {string} */ text) => text.length === 2 + 2 * BYTES));
      // No 32 bytes of it are anywhere else.
      const chunks = payloads.flatMap((/** @type {string} */ text) => text.slice(2).match(/.{64}/g));
      assert.equal(new Set(chunks).size, chunks.length);
      assert.equal(blocks.length, 4);
      for (const [i, block] of blocks.entries()) {
        const own = all.filter((/** @type {any} */ { topics }) => Number(topics[1]) === i);
        assert.equal(own.length, PAGE_SIZE);
        for (const { blockNumber } of own) assert.equal(Number(blockNumber), block);
      }
    });

  test('a page that fits into no block', async () => {
    const args = ['--rpc', chain.url, ...LOAD, '--bytes', '262144', '--page-size', '100'];
    const { stderr } = await exited(69, args);
    const refusal = 'the node does not let a transaction write 100 logs of 262144 bytes';
    assert.match(stderr, new RegExp(`^stress: ${refusal} \\(.*\\): give a smaller --page-size or fewer --bytes\\n$`));
  });
});
