/** stress prepare logs: what it says is on the chain is there, and it says nothing of what is not. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { AbiCoder, HDNodeWallet } from 'ethers';
import { startAnvil } from '../helpers/anvil.js';
import { readJson, runStress, spawnStress } from '../helpers/cli.js';
import { serveBetween } from '../helpers/endpoint.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** @import { Anvil } from '../helpers/anvil.js' */

const MNEMONIC = 'test test test test test test test test test test test junk';
/** The only one that has funds on these chains. */
const FUNDER = HDNodeWallet.fromPhrase(MNEMONIC, '', "m/44'/60'/0'/0/0");
const env = Object.freeze({ STRESS_FUNDER_KEY: FUNDER.privateKey });

/** Eight of so large logs are in a transaction, because no receipt may be longer. */
const COUNT = 20;
const BYTES = 50_001;
const PAGE_SIZE = 6;
const WANTED = ['--count', `${COUNT}`, '--bytes', `${BYTES}`, '--page-size', `${PAGE_SIZE}`];

/** @param {string} data of a log @returns {string} */
const bytesIn = (data) => AbiCoder.defaultAbiCoder().decode(['bytes'], data)[0];

describe('stress prepare logs', () => {
  /** @type {Anvil} */
  let chain;
  before(async () => {
    chain = await startAnvil({ args: ['--accounts', '1'] });
  });
  after(() => chain.stop());

  test('the pages are on the chain as the file says', async (t) => {
    const out = join(temporaryFolder(t), 'logs.json');
    const args = ['prepare', 'logs', '--rpc', chain.url, '-t', '2', '-o', '1', ...WANTED, '--out', out];
    const { code, stdout, stderr } = await runStress(args, { env });
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(
      stdout,
      /^20 logs of 50001 bytes in 4 pages on chain 31337, made by 4 transactions; 4 pages read back; /,
    );
    const { schema, chainId, genesisHash, address, topic, count, bytes, pageSize, pages } = readJson(out);
    assert.deepEqual([schema, chainId, count, bytes, pageSize], ['evm-stress/logs@1', 31337, COUNT, BYTES, PAGE_SIZE]);
    assert.equal(genesisHash, (await chain.rpc('eth_getBlockByNumber', ['0x0', false])).hash);

    const all = await chain.rpc('eth_getLogs', [{ address, topics: [topic], fromBlock: '0x0' }]);
    assert.deepEqual(all.map((/** @type {any} */ log) => Number(log.topics[2])).sort(byNumber), range(COUNT));
    const payloads = all.map((/** @type {any} */ { data }) => bytesIn(data));
    assert.ok(payloads.every((/** @type {string} */ text) => text.length === 2 + 2 * BYTES));
    // No 32 bytes of it are anywhere else.
    const chunks = payloads.flatMap((/** @type {string} */ text) => text.slice(2).match(/.{64}/g));
    assert.equal(new Set(chunks).size, chunks.length);

    assert.deepEqual(
      pages.map((/** @type {any} */ page) => page.count),
      [6, 6, 6, 2],
    );
    for (const [i, { fromBlock, toBlock }] of pages.entries()) {
      const own = all.filter((/** @type {any} */ { topics }) => Number(topics[1]) === i);
      assert.deepEqual(own.map((/** @type {any} */ log) => Number(log.topics[2])).sort(byNumber), idsOf(i));
      const blocks = own.map((/** @type {any} */ { blockNumber }) => Number(blockNumber));
      assert.deepEqual([fromBlock, toBlock], [Math.min(...blocks), Math.max(...blocks)]);
    }
  });

  test('one wallet is enough, and the file that is there stays until the other is whole', async (t) => {
    const out = join(temporaryFolder(t), 'logs.json');
    const args = ['prepare', 'logs', '--rpc', chain.url, '-o', '5', '--count', '3', '--out', out];
    assert.equal((await runStress(args, { env })).code, 0);
    const first = readJson(out);
    assert.deepEqual([first.count, first.bytes, first.pageSize, first.pages.length], [3, 10_240, 100, 1]);
    // A node that has the logs, and does not list them.
    const refusal = { error: { code: -32005, message: 'query exceeds max results' } };
    const { url } = await serveBetween(chain.url, ({ method }) => (method === 'eth_getLogs' ? refusal : null));
    const { code, stderr } = await runStress(args.with(3, url), { env });
    assert.equal(code, 69);
    assert.match(
      stderr,
      /^stress: the node does not list page 0: eth_getLogs: query exceeds max results .*; give a smaller --page-size\n$/,
    );
    assert.deepEqual(readJson(out), first);
  });

  test('nothing is sent when it cannot be paid, or may not be', async (t) => {
    const out = join(temporaryFolder(t), 'logs.json');
    const head = await chain.rpc('eth_blockNumber');
    const args = ['prepare', 'logs', '--rpc', chain.url, '-o', '9', ...WANTED, '--out', out];
    const poor = await runStress(args);
    assert.equal(poor.code, 69);
    assert.match(poor.stderr, /^stress: 1 wallet has less than the \S+ ether this run may need, .*\n$/);
    const capped = await runStress([...args, '--max-spend', '0.000001'], { env });
    assert.equal(capped.code, 77);
    assert.match(
      capped.stderr,
      /^stress: the logs are expected to cost \S+ ether in fees, and --max-spend allows .*\n$/,
    );
    assert.equal(await chain.rpc('eth_blockNumber'), head);
    assert.ok(!existsSync(out));
  });

  test('a log that fits into no block', async (t) => {
    const small = await startAnvil({ args: ['--accounts', '1', '--gas-limit', '300000'] });
    const out = join(temporaryFolder(t), 'logs.json');
    const args = ['prepare', 'logs', '--rpc', small.url, '-o', '1', ...WANTED, '--out', out];
    const { code, stderr } = await runStress(args, { env });
    assert.equal(code, 69);
    assert.match(
      stderr,
      /^stress: the node does not let a transaction emit a log of 50001 bytes \(.*\): give fewer --bytes\n$/,
    );
    await small.stop();
  });

  test('an interruption leaves no file', async (t) => {
    const out = join(temporaryFolder(t), 'logs.json');
    await chain.rpc('evm_setAutomine', [false]);
    const args = ['prepare', 'logs', '--rpc', chain.url, '-o', '1', ...WANTED, '--out', out];
    const running = spawnStress(args, { env });
    const isPending = async () => Number((await chain.rpc('txpool_status')).pending) > 0;
    while (!(await isPending())) await sleep(20);
    running.child.kill('SIGINT');
    const { code, stderr } = await running.done;
    assert.deepEqual([code, stderr], [130, 'stress: interrupted during set-up\n']);
    assert.ok(!existsSync(out));
  });
});

/** @param {number} a @param {number} b */
function byNumber(a, b) {
  return a - b;
}

/** @param {number} count */
function range(count) {
  return Array.from({ length: count }, (_, i) => i);
}

/** @param {number} page */
function idsOf(page) {
  return range(COUNT).filter((id) => Math.floor(id / PAGE_SIZE) === page);
}
