/** A development chain of the EthereumJS client on loopback, for tests: `startEthereumjs`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { computeAddress } from 'ethers';
import { freePort } from '../../src/chain/devchain.js';
import { call, startNode } from './build.js';
import { FUNDER_KEY } from './geth.js';
import { ensurePackage } from './npm.js';

const VERSION = '0.10.5';
const READY_TIMEOUT_MS = 60_000;
const BLOCK_MS = 1000;
/** Under load the node answers late. */
const BUSY_MS = 60_000;
const ZERO_HASH = `0x${'0'.repeat(64)}`;
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

const FORKS = 'homestead eip150 eip155 eip158 byzantium constantinople petersburg istanbul berlin london mergeNetsplit';

/** The genesis file of a chain after the merge, in geth's format. */
const GENESIS = Object.freeze({
  config: {
    chainId: 1337,
    ...Object.fromEntries(FORKS.split(' ').map((fork) => [`${fork}Block`, 0])),
    shanghaiTime: 0,
    terminalTotalDifficulty: 0,
    terminalTotalDifficultyPassed: true,
  },
  nonce: '0x0',
  timestamp: '0x614b3731',
  gasLimit: '0x1c9c380',
  difficulty: '0x0',
  mixHash: ZERO_HASH,
  coinbase: ZERO_ADDRESS,
  number: '0x0',
  gasUsed: '0x0',
  parentHash: ZERO_HASH,
  baseFeePerGas: '0x7',
  extraData: '0x',
  alloc: { [computeAddress(FUNDER_KEY).slice(2)]: { balance: '0x10000000000000000000' } },
});

/**
 * Makes a block, as a consensus client does. The chains of --dev do without one, but on --dev=poa eth_estimateGas always
 * fails, and with --dev=pow the node does not answer while it mines.
 * @param {string} url of the node
 * @param {string} engine URL of its engine API
 */
async function makeBlock(url, engine) {
  const head = /** @type {any} */ (await call(url, 'eth_getBlockByNumber', ['latest', false], BUSY_MS));
  const attributes = {
    timestamp: `0x${Math.max(Math.floor(Date.now() / 1000), Number(head.timestamp) + 1).toString(16)}`,
    prevRandao: ZERO_HASH,
    suggestedFeeRecipient: ZERO_ADDRESS,
    withdrawals: [],
  };
  /** @param {string} method @param {...unknown} params @returns {Promise<any>} */
  const ask = (method, ...params) => call(engine, method, params, BUSY_MS);
  /** @param {string} hash @param {object} [next] */
  const choose = (hash, next) =>
    ask(
      'engine_forkchoiceUpdatedV2',
      { headBlockHash: hash, safeBlockHash: hash, finalizedBlockHash: hash },
      next ?? null,
    );
  const { payloadId } = await choose(head.hash, attributes);
  const { executionPayload } = await ask('engine_getPayloadV2', payloadId);
  await ask('engine_newPayloadV2', executionPayload);
  await choose(executionPayload.blockHash);
}

/** @param {string} url @param {string} engine @param {AbortSignal} signal */
async function makeBlocks(url, engine, signal) {
  while (!signal.aborted) {
    await makeBlock(url, engine).catch((error) => {
      if (!signal.aborted) process.stderr.write(`ethereumjs: no block: ${error.message}\n`);
    });
    await sleep(BLOCK_MS, undefined, { signal }).catch(() => {});
  }
}

export async function startEthereumjs() {
  const packages = await ensurePackage(`ethereumjs-${VERSION}`, `@ethereumjs/client@${VERSION}`);
  const [port, wsPort, enginePort, wsEnginePort] = await Promise.all([1, 2, 3, 4].map(() => freePort()));
  const node = await startNode({
    name: 'ethereumjs',
    binary: process.execPath,
    funderKey: FUNDER_KEY,
    readyTimeoutMs: READY_TIMEOUT_MS,
    args: (folder) => {
      const genesis = join(folder, 'genesis.json');
      writeFileSync(genesis, JSON.stringify(GENESIS));
      return [
        join(packages, '@ethereumjs/client/dist/esm/bin/cli.js'),
        ...[`--gethGenesis=${genesis}`, `--dataDir=${folder}`, '--isSingleNode'],
        ...[`--logFile=${join(folder, 'client.log')}`, '--logLevelFile=error', '--logRotate=false'],
        ...['--port=0', '--extIP=127.0.0.1', '--discV4=false', '--discDns=false'],
        ...['--rpc', '--rpcAddr=127.0.0.1', `--rpcPort=${port}`, '--ws', '--wsAddr=127.0.0.1', `--wsPort=${wsPort}`],
        ...['--rpcEngine', '--rpcEngineAuth=false', '--rpcEngineAddr=127.0.0.1', `--rpcEnginePort=${enginePort}`],
        ...['--wsEngineAddr=127.0.0.1', `--wsEnginePort=${wsEnginePort}`],
      ];
    },
    findUrl: ({ output }) => /Started JSON RPC Server address=(http:\S+) namespaces=eth/.exec(output)?.[1],
  });
  const stopping = new AbortController();
  const blocks = makeBlocks(node.url, `http://127.0.0.1:${enginePort}`, stopping.signal);
  const stop = async () => {
    stopping.abort();
    await node.stop();
    await blocks;
  };
  return { ...node, wsUrl: `ws://127.0.0.1:${wsPort}`, stop };
}
