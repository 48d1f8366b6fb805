/** The same jobs on clients that no other suite runs: each audit must be exact. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startAvalanche } from '../../scripts/nodes/avalanche.js';
import { startCosmosEvm } from '../../scripts/nodes/cosmos-evm.js';
import { startErigon } from '../../scripts/nodes/erigon.js';
import { startEthereumjs } from '../../scripts/nodes/ethereumjs.js';
import { startGanache } from '../../scripts/nodes/ganache.js';
import { startGeth } from '../../scripts/nodes/geth.js';
import { startHardhat } from '../../scripts/nodes/hardhat.js';
import { startPolygonEdge } from '../../scripts/nodes/polygon-edge.js';
import { DEV_MNEMONIC } from '../../src/chain/keys.js';
import { rpcCall, startAnvil } from '../helpers/anvil.js';
import { readJson } from '../helpers/cli.js';
import { killedBy, runOf } from '../helpers/run-of.js';

/**
 * @typedef {{url: string, wsUrl?: string, funderKey?: string, mnemonic?: string, stop: () => Promise<void>}} Node
 *
 * @typedef {object} Client
 * @property {() => Promise<Node>} start
 * @property {Record<string, string>} [lacks] why it cannot do a job, by the name of the job
 *
 * @typedef {{words: string, exit?: number, during?: (stress: any) => unknown, overWs?: boolean}} Job
 */

/** @type {Record<string, Client>} */
const CLIENTS = {
  'EthereumJS after the merge': { start: startEthereumjs },
  ganache: { start: startGanache },
  'AvalancheGo, C-chain': {
    start: async () => {
      const node = await startAvalanche();
      // It is no development chain that stress knows.
      return { ...node, mnemonic: DEV_MNEMONIC, wsUrl: node.url.replace('http', 'ws').replace(/rpc$/, 'ws') };
    },
  },
  'Cosmos EVM, a block a second': { start: startCosmosEvm },
  'Erigon, blocks on demand': { start: startErigon },
  'Polygon Edge, a block a second': { start: startPolygonEdge },
  'hardhat, chain type l1': { start: () => startHardhat({ chainType: 'l1' }) },
  'hardhat, chain type op': { start: () => startHardhat({ chainType: 'op' }) },
  'anvil --disable-block-gas-limit': { start: () => startAnvil({ args: ['--disable-block-gas-limit'] }) },
  'anvil, a block a second': { start: () => startAnvil({ args: ['--block-time', '1'] }) },
  'geth, a block a second': { start: () => startGeth({ period: 1 }) },
  'geth with the transactions and states of the last blocks only': {
    start: () => startGeth({ flags: '--history.transactions 8 --history.state 128 --history.logs.disable'.split(' ') }),
  },
};

/** All have the same wallets, so each but the first one finds those of the job before. @type {Record<string, Job>} */
const JOBS = {
  counter: { words: '-d 5s' },
  'in flight 4': { words: '-d 5s --in-flight 4' },
  transfer: { words: '-d 5s --workload transfer' },
  erc20: { words: '-d 5s --workload erc20' },
  ws: { words: '-d 5s', overWs: true },
  'plain calls': { words: '-d 5s --workload rpc --calls wallet' },
  'Ctrl-C': { words: '-d 1h', exit: 130, during: killedBy('SIGINT') },
  'again after Ctrl-C': { words: '-d 5s' },
};

/**
 * Counted without stress: transactions to these contracts that succeeded by their receipts, in the blocks after one.
 * @param {string} url
 * @param {readonly string[]} contracts
 * @param {number} block
 */
async function succeededSince(url, contracts, block) {
  const own = new Set(contracts.map((address) => address.toLowerCase()));
  const latest = Number(await rpcCall(url, 'eth_blockNumber'));
  let succeeded = 0;
  for (let number = block + 1; number <= latest; number += 1) {
    const at = `0x${number.toString(16)}`;
    const { transactions } = await rpcCall(url, 'eth_getBlockByNumber', [at, false]);
    const ofBlock = () =>
      Promise.all(transactions.map((/** @type {string} */ hash) => rpcCall(url, 'eth_getTransactionReceipt', [hash])));
    const receipts = await rpcCall(url, 'eth_getBlockReceipts', [at]).catch(ofBlock);
    for (const { to, status } of receipts) if (own.has(to?.toLowerCase()) && Number(status) === 1) succeeded += 1;
  }
  return succeeded;
}

for (const [client, { start, lacks = {} }] of Object.entries(CLIENTS)) {
  describe(client, () => {
    /** @type {Node} */
    let node;
    before(async () => (node = await start()));
    after(() => node?.stop());
    for (const [name, { words, exit, during, overWs = false }] of Object.entries(JOBS)) {
      test(name, { skip: lacks[name] }, async (t) => {
        const { url, wsUrl = url.replace('http', 'ws'), funderKey, mnemonic } = node;
        const env = { STRESS_FUNDER_KEY: funderKey, STRESS_MNEMONIC: mnemonic };
        const options = { rpc: overWs ? wsUrl : url, threads: 20, offset: 0, env, exit, during };
        const isCounter = !words.includes('--workload');
        const before = Number(await rpcCall(url, 'eth_blockNumber'));
        const { run, stdout, stderr, folder } = await runOf(
          t,
          isCounter ? `${words} --contracts DIR/contracts.json` : words,
          options,
        );
        const { counts, rates, failures, environment } = run;
        t.diagnostic(
          `${environment.clientVersion}: ${counts.verified} verified, ${rates.verifiedPerSecond} per second`,
        );
        if (stderr !== '') t.diagnostic(stderr);
        assert.ok(counts.verified > 0);
        assert.equal(counts.verified, counts.started, JSON.stringify(failures));
        assert.match(stdout, name === 'plain calls' ? /audit +none/ : /audit +exact/);
        if (!isCounter) return;
        const { contracts } = readJson(`${folder}/contracts.json`);
        assert.equal(await succeededSince(url, Object.values(contracts), before), counts.verified, 'by the receipts');
      });
    }
  });
}
