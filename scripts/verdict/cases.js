/** Runs in which exactly one thing limits, by the verdict that names it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { HDNodeWallet, keccak256 } from 'ethers';
import { DEFAULT_HD_PATH, DEV_MNEMONIC } from '../../src/chain/keys.js';
import { startAnvil } from '../bench/anvil.js';
import { startNullChain } from '../bench/null-chain.js';
import { call } from '../nodes/build.js';
import { startGeth } from '../nodes/geth.js';
import {
  CHAIN_ID,
  answerTo,
  delayed,
  errorTo,
  limitExceeded,
  plain,
  refusing,
  serially,
  startProxy,
  tooMany,
  withoutGasLimit,
} from './endpoints.js';

/**
 * @import { ChildProcess } from 'node:child_process'
 * @import { Hook } from './endpoints.js'
 *
 * @typedef {object} Case
 * @property {string} name how it is constructed
 * @property {string} right the verdict that names what limits; `unknown` is never a wrong one
 * @property {(tools: Tools) => Promise<Prepared>} prepare starts what is needed
 *
 * @typedef {object} Prepared
 * @property {string[]} args of stress
 * @property {NodeJS.ProcessEnv} [env]
 * @property {(child: ChildProcess) => Promise<void>} [during] from the end of the first interval on (--interval 1s)
 *
 * @typedef {object} Tools
 * @property {<T extends {stop: () => unknown}>(started: Promise<T>) => Promise<T>} use it is stopped after the run
 */

const CALLS = ['--workload', 'rpc', '--method', 'eth_blockNumber'];

/** @param {string} url @param {string} options */
const on = (url, options) => ['--rpc', url, ...options.split(' ')];

/** @param {ChildProcess} child @param {number} forMs @param {number} runMs @param {number} stopMs */
async function stopAndGo(child, forMs, runMs, stopMs) {
  const endMs = Date.now() + forMs;
  while (Date.now() < endMs && child.exitCode === null) {
    child.kill('SIGSTOP');
    await sleep(stopMs);
    child.kill('SIGCONT');
    await sleep(runMs);
  }
}

/** @param {string} options @returns {Case['prepare']} */
const embedded = (options) => async () => ({ args: options.split(' ') });

/** @param {string} options @param {Parameters<typeof startNullChain>[0]} [chain] @param {Hook} [hook] @returns {Case['prepare']} */
const nullChain =
  (options, chain, hook) =>
  async ({ use }) => {
    const { url } = await use(startNullChain(chain));
    const front = hook === undefined ? url : (await use(startProxy(url, hook))).url;
    return { args: on(front, options) };
  };

/** @param {string} options @param {Parameters<typeof startGeth>[0]} [node] @returns {Case['prepare']} */
const geth =
  (options, node) =>
  async ({ use }) => {
    const { url, pid, funderKey } = await use(startGeth(node));
    const isPushed = options.endsWith(' ws');
    const args = on(
      isPushed ? url.replace('http', 'ws') : url,
      options.replace('PID', String(pid)).replace(/ ws$/, ''),
    );
    return { args, env: { STRESS_FUNDER_KEY: funderKey } };
  };

/**
 * @param {string} options
 * @param {{settings?: Array<[string, unknown[]]>, wei?: bigint, rewrite?: (text: string) => string}} [chain] settings: calls that change the chain;
 *   wei: the balance of each wallet, which no transaction of the set-up funds; rewrite: changes the node's answers
 * @returns {Case['prepare']}
 */
const anvil =
  (options, { settings = [], wei = 10n ** 19n, rewrite } = {}) =>
  async ({ use }) => {
    const { url } = await use(startAnvil());
    for (let i = 0; i < Number(/-t (\d+)/.exec(options)?.[1]); i += 1) {
      const { address } = HDNodeWallet.fromPhrase(DEV_MNEMONIC, undefined, `${DEFAULT_HD_PATH}/${i}`);
      await call(url, 'anvil_setBalance', [address, `0x${wei.toString(16)}`]);
    }
    for (const [method, params] of settings) await call(url, method, params);
    const front = rewrite === undefined ? url : (await use(startProxy(url, undefined, rewrite))).url;
    return { args: on(front, options) };
  };

/** Calls to a server that is no node. @param {string} options @param {() => Hook} hook @returns {Case['prepare']} */
const calls =
  (options, hook) =>
  async ({ use }) => {
    const { url } = await use(startProxy(null, hook()));
    return { args: [...on(url, options), ...CALLS] };
  };

/** An endpoint that is gone so long after the load has begun. @param {string} options @returns {Case['prepare']} */
const dying =
  (options) =>
  async ({ use }) => {
    const { url } = await use(startNullChain());
    const proxy = await use(startProxy(url));
    return { args: on(proxy.url, options), during: async () => void (await sleep(500), proxy.stop()) };
  };

/** As much as a result can have, so that to read it takes longer than to write it. */
const large = JSON.stringify(Array.from({ length: 20_000 }, (_, i) => ({ i })));

/** Blocks of one second. @type {Array<[string, unknown[]]>} */
const SECOND = [['evm_setIntervalMining', [1]]];

/** Blocks of one second with room for 32 transactions. @type {Array<[string, unknown[]]>} */
const SMALL = [...SECOND, ['evm_setBlockGasLimit', ['0xdbba0']]];

/** A generator that runs for 30 of 300 ms. @param {string} options @returns {Case['prepare']} */
function stopped(options) {
  return async () => ({ args: options.split(' '), during: (child) => stopAndGo(child, 12_000, 30, 270) });
}

/** Options of a run whose trouble begins in its warm-up. */
const TROUBLED = '--warmup 3s --interval 1s --tx-timeout 4s --drain-timeout 3s';

/** The null chain behind a proxy that refuses submissions from the first interval on. @param {string} options @param {(submissions: number) => string | null} wordsOf null: taken @returns {Case['prepare']} */
const refusedLater =
  (options, wordsOf) =>
  async ({ use }) => {
    const { url } = await use(startNullChain());
    let isOn = false;
    const proxy = await use(
      startProxy(url, async (body, n) => {
        const words = isOn && body.includes('eth_sendRawTransaction') ? wordsOf(n) : null;
        return words === null ? null : errorTo(body, words);
      }),
    );
    return { args: on(proxy.url, `${options} ${TROUBLED}`), during: async () => void (isOn = true) };
  };

/** The null chain behind a proxy that answers every so manieth submission with its hash, and drops it. @param {string} options @param {number} everyNth @returns {Case['prepare']} */
const losing =
  (options, everyNth) =>
  async ({ use }) => {
    const { url } = await use(startNullChain());
    const known = new Set();
    let [isOn, n] = [false, 0];
    const proxy = await use(
      startProxy(url, async (body) => {
        const raw = body.includes('eth_sendRawTransaction') ? /"(0x[0-9a-fA-F]{100,})"/.exec(body)?.[1] : undefined;
        if (!isOn || raw === undefined || known.has(raw)) return null;
        known.add(raw);
        return (n += 1) % everyNth === 0 ? answerTo(body, `"${keccak256(raw)}"`) : null;
      }),
    );
    const args = on(proxy.url, `${options} --warmup 3s --interval 1s`);
    return { args, during: async () => void (isOn = true) };
  };

/** Anvil with blocks of one second that change after the first interval. @param {string} options @param {(url: string, child: ChildProcess) => Promise<void>} change @returns {Case['prepare']} */
const changing = (options, change) => async (tools) => {
  const prepared = await anvil(options, { settings: SECOND })(tools);
  return { ...prepared, during: (child) => change(prepared.args[1], child) };
};

/** Base fees of blocks in turn, until the run ends. @param {string[]} gwei @returns {(url: string, child: ChildProcess) => Promise<void>} */
const baseFees = (gwei) => async (url, child) => {
  for (let i = 0; child.exitCode === null; i += 1) {
    const wei = BigInt(gwei[i % gwei.length]) * 10n ** 9n;
    await call(url, 'anvil_setNextBlockBaseFeePerGas', [`0x${wei.toString(16)}`]).catch(() => {});
    await sleep(1000);
  }
};

const MILLION_GWEI = '0x38d7ea4c68000';

/** Payments on geth, whose lowest tip (which pool and miner share) is raised after the first interval. @param {string} options @returns {Case['prepare']} */
const dearer =
  (options) =>
  async ({ use }) => {
    const flags = ['--http.api', 'eth,net,web3,txpool,debug,miner'];
    const { url, funderKey } = await use(startGeth({ period: 1, flags }));
    const during = async () => void (await call(url, 'miner_setGasPrice', [MILLION_GWEI]));
    return { args: on(url, options), env: { STRESS_FUNDER_KEY: funderKey }, during };
  };

const REVERTING = fileURLToPath(new URL('reverting.mjs', import.meta.url));

/** Cases by the verdict that names what limits, each with how it is constructed. @type {Record<string, Record<string, Case['prepare']>>} */
const BY_VERDICT = {
  'concurrency-bound': {
    'closed loop, 20 wallets, embedded chain (100 ms blocks)': embedded('-t 20 -d 6s'),
    'closed loop, 60 wallets, null chain with 500 ms blocks': nullChain('-t 60 -d 6s', { blockMs: 500 }),
    'closed loop, 24 wallets, anvil whose 1 s blocks have room for 32 transactions': anvil('-t 24 -d 8s', {
      settings: SMALL,
    }),
    'closed loop, 10 wallets, anvil with 1 s blocks': anvil('-t 10 -d 8s', { settings: SECOND }),
    'closed loop, 10 wallets with 4 in flight, anvil with 1 s blocks': anvil('-t 10 --in-flight 4 -d 8s', {
      settings: SECOND,
    }),
    'closed loop, 20 wallets, anvil with 1 s blocks that state a gas limit of 0': anvil('-t 20 -d 8s', {
      settings: SECOND,
      rewrite: withoutGasLimit,
    }),
    'closed loop, 20 wallets, geth with 1 s blocks, --warmup auto': geth('-t 20 --warmup auto -d 8s', { period: 1 }),
    'closed loop, 200 wallets, geth with 1 s blocks': geth('-t 200 -d 8s', { period: 1 }),
    'closed loop, 20 wallets, geth with 1 s blocks over WebSocket': geth('-t 20 -d 8s ws', { period: 1 }),
    'closed loop, 40 payers in two workers, geth with 1 s blocks': geth('-t 40 --workers 2 --workload transfer -d 8s', {
      period: 1,
    }),
    'closed loop, 1 wallet, geth with a block per transaction': geth('-t 1 -d 6s'),
    'closed loop, 100 wallets, null chain 60 ms away': nullChain('-t 100 -d 8s', { blockMs: 1000 }, delayed(60)),
    'open loop, 40/s asked of 10 wallets, 1 s blocks': anvil('-t 10 --rate 40 -d 8s', { settings: SECOND }),
    'open loop, 15/s asked of 10 wallets, 1 s blocks': anvil('-t 10 --rate 15 -d 8s', { settings: SECOND }),
    'open loop, 300/s asked of 20 wallets, null chain (100 ms blocks)': nullChain('-t 20 --rate 300 -d 6s'),
    'closed loop, 20 wallets, one of four blocks has a base fee above --max-fee': changing(
      '-t 20 --max-fee 50gwei --warmup 3s --interval 1s -d 12s',
      baseFees(['10', '10', '10', '90']),
    ),
    'closed loop, 20 wallets, blocks of 4 s': anvil('-t 20 -d 22s', { settings: [['evm_setIntervalMining', [4]]] }),
    'closed loop, 40 wallets, the node loses one of a hundred transactions': losing('-t 40 -d 10s', 100),
    'closed loop, 20 wallets, one of a hundred transactions is reverted': anvil(
      `-t 20 -d 8s --workload ${REVERTING} --set percent=1`,
      { settings: SECOND },
    ),
    'plain calls, 10 users, each answer takes 50 ms': calls('-t 10 -d 6s', () => async (body) => {
      await sleep(50);
      return answerTo(body, CHAIN_ID);
    }),
  },
  'node-bound': {
    'closed loop, 48 wallets, anvil whose 1 s blocks have room for 32 transactions': anvil('-t 48 -d 8s', {
      settings: SMALL,
    }),
    'open loop, 60/s asked of 200 wallets, anvil whose 1 s blocks have room for 32': anvil('-t 200 --rate 60 -d 8s', {
      settings: SMALL,
    }),
    'closed loop, 100 wallets, null chain that takes 10 in 100 ms': nullChain('-t 100 -d 8s', { perBlock: 10 }),
    'closed loop, 25 wallets with 4 in flight, null chain that takes 10 in 100 ms': nullChain(
      '-t 25 --in-flight 4 -d 8s',
      { perBlock: 10 },
    ),
    'closed loop, 200 wallets, geth with blocks as fast as it can, --node-pid': geth('-t 200 -d 8s --node-pid PID'),
    'open loop, 15 % more than the null chain takes, 2,000 wallets': nullChain(
      '-t 2000 --rate 115 -d 10s --interval 1s',
      {
        perBlock: 10,
      },
    ),
    'open loop, twice what the null chain takes, 1,000 wallets': nullChain('-t 1000 --rate 200 -d 8s --interval 1s', {
      perBlock: 10,
    }),
    'open loop, twice what the null chain takes, 100 wallets': nullChain('-t 100 --rate 200 -d 8s --interval 1s', {
      perBlock: 10,
    }),
    'plain calls, 200 users, the endpoint takes them one after another': calls('-t 200 -d 8s --interval 1s', () =>
      plain(serially(5)),
    ),
    'plain calls, 150/s asked of 900 users, the endpoint takes 100/s one after another': calls(
      '-t 900 --rate 150 -d 8s --interval 1s',
      () => plain(serially(10)),
    ),
  },
  'endpoint-limited': {
    'closed loop, 3 % of the transactions get 429 with Retry-After: 1': nullChain(
      '-t 100 -d 8s',
      {},
      refusing(33, () => tooMany),
    ),
    'closed loop, four of five transactions get -32005': nullChain('-t 100 -d 8s', {}, async (body, n) =>
      body.includes('eth_sendRawTransaction') && n > 200 && n % 5 !== 0 ? limitExceeded(body) : null,
    ),
    'open loop, 3 % of the transactions get 429 with Retry-After: 1': nullChain(
      '-t 100 --rate 300 -d 8s',
      {},
      refusing(33, () => tooMany),
    ),
    'plain calls, every third gets 429': calls('-t 10 -d 6s', () => {
      let n = 0;
      return plain(async (body) => ((n += 1) % 3 === 0 ? { ...tooMany, headers: {} } : answerTo(body, '"0x1"')));
    }),
  },
  'endpoint-down': {
    'closed loop, the endpoint dies in mid-run': dying('-t 50 -d 8s --interval 1s --drain-timeout 3s'),
    'open loop, the endpoint dies in mid-run': dying('-t 100 --rate 100 -d 8s --interval 1s --drain-timeout 3s'),
    'closed loop, the endpoint takes connections and answers no more': async ({ use }) => {
      const { url } = await use(startNullChain());
      let isDead = false;
      const hook = () => (isDead ? new Promise(() => {}) : Promise.resolve(null));
      const proxy = await use(startProxy(url, /** @type {Hook} */ (hook)));
      const args = on(proxy.url, '-t 50 -d 14s --interval 1s --drain-timeout 2s --request-timeout 3s');
      return { args, during: async () => void (isDead = true) };
    },
    'plain calls, the endpoint dies in mid-run': async ({ use }) => {
      const proxy = await use(
        startProxy(
          null,
          plain(async (body) => answerTo(body, '"0x1"')),
        ),
      );
      const args = [...on(proxy.url, '-t 10 -d 8s --interval 1s'), ...CALLS];
      return { args, during: async () => proxy.stop() };
    },
  },
  funds: {
    'closed loop, 20 wallets with funds for a few operations': anvil('-t 20 -d 8s --fund-amount 0.0006', {
      wei: 6n * 10n ** 14n,
    }),
  },
  'generator-bound': {
    'plain calls, 64 users, answers of 300 kB': calls('-t 64 -d 6s --fixed-id 1', () =>
      plain(async (body) => answerTo(body, large)),
    ),
    'plain calls, 50 users, one connection, each answer takes 20 ms': calls('-t 50 -d 6s --connections 1', () =>
      plain(async (body) => {
        await sleep(20);
        return answerTo(body, '"0x1"');
      }),
    ),
    'closed loop, 200 wallets, one connection, null chain 5 ms away': nullChain(
      '-t 200 -d 8s --connections 1',
      {},
      delayed(5),
    ),
    'closed loop, 3,000 wallets, null chain': nullChain('-t 3000 -d 8s'),
    'open loop, stress is stopped for nine tenths of the time (cpulimit)': stopped(
      '-t 10 --rate 20 -d 8s --interval 1s',
    ),
  },
  'rate-bound': {
    'open loop, 20/s of what a chain could do': anvil('-t 40 --rate 20 -d 8s'),
    'open loop, 50/s of 200 wallets, geth with 1 s blocks': geth('-t 200 --rate 50 -d 8s', { period: 1 }),
    'open loop, 50/s of 100 payers over WebSocket, geth with blocks on demand': geth(
      '-t 100 --rate 50 --workload transfer -d 6s ws',
    ),
    'plain calls, 100/s of 50 users': calls('-t 50 --rate 100 -d 6s', () =>
      plain(async (body) => answerTo(body, '"0x1"')),
    ),
    'closed loop, 20 wallets that rest for a second (--think-time)': embedded('-t 20 --think-time 1s -d 8s'),
  },
  refused: {
    'closed loop, 20 payers, geth wants a higher tip from the first interval on': dearer(
      `-t 20 --workload transfer --tip 1gwei -d 10s ${TROUBLED}`,
    ),
    'closed loop, all transactions are underpriced': refusedLater('-t 40 -d 8s', () => 'transaction underpriced'),
    'closed loop, every nonce is refused': refusedLater('-t 40 -d 8s', () => 'nonce too distant'),
    'closed loop, the pool is full': refusedLater('-t 40 -d 8s', () => 'txpool is full'),
    'open loop, three of four transactions are underpriced': refusedLater('-t 100 --rate 50 -d 8s', (n) =>
      n % 4 === 0 ? null : 'transaction underpriced',
    ),
  },
  reverted: {
    'closed loop, 54 % of the transactions are reverted': anvil(
      `-t 20 -d 8s --workload ${REVERTING} --set percent=54`,
      { settings: SECOND },
    ),
  },
  'fee-limit': {
    'closed loop, three of five blocks have a base fee above --max-fee': changing(
      '-t 20 --max-fee 50gwei --warmup 3s --interval 1s -d 12s',
      baseFees(['10', '10', '90', '90', '90']),
    ),
  },
  'no-blocks': {
    'closed loop, the chain stops in mid-run': changing(`-t 20 -d 10s ${TROUBLED}`, async (url) => {
      await call(url, 'evm_setIntervalMining', [0]);
    }),
    'open loop, the chain stops in mid-run': changing(`-t 100 --rate 20 -d 10s ${TROUBLED}`, async (url) => {
      await call(url, 'evm_setIntervalMining', [0]);
    }),
  },
  lost: {
    'closed loop, the node loses every second transaction': losing('-t 40 -d 10s', 2),
  },
  'left-out': {
    'closed loop, 20 payers, blocks of a chain that are empty': nullChain(
      '-t 20 --workload transfer -d 8s --tx-timeout 6s --drain-timeout 2s',
      { perBlock: 0 },
    ),
  },
  stopped: {
    'closed loop, stress is stopped for 6 s': async () => ({
      args: '-t 20 -d 12s --interval 1s'.split(' '),
      during: (child) => stopAndGo(child, 1, 1, 6000),
    }),
    'closed loop, stress is stopped for 6 s, most of them after the window': async () => ({
      args: '-t 20 -d 12s --interval 1s'.split(' '),
      during: async (child) => {
        // The first row is that of the first second.
        await sleep(10_000);
        await stopAndGo(child, 1, 1, 6000);
      },
    }),
    'open loop, stress is stopped for 6 s': async () => ({
      args: '-t 40 --rate 20 -d 12s --interval 1s'.split(' '),
      during: (child) => stopAndGo(child, 1, 1, 6000),
    }),
  },
};

/** @type {readonly Case[]} */
export const CASES = Object.entries(BY_VERDICT).flatMap(([right, cases]) =>
  Object.entries(cases).map(([name, prepare]) => ({ name, right, prepare })),
);
