/**
 * Runs in which exactly one thing limits, and what the verdict says of each: prints a markdown table.
 *
 *     node scripts/verdict-cases.js [--only WORDS] [--evidence]
 *
 * --only: cases whose name contains the words; --evidence: the sentence of each verdict as well. Needs about ten minutes,
 * and Go for geth where it is not built.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, createServer, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { HDNodeWallet } from 'ethers';
import { DEFAULT_HD_PATH, DEV_MNEMONIC } from '../src/chain/keys.js';
import { startAnvil } from './bench/anvil.js';
import { startNullChain } from './bench/null-chain.js';
import { call } from './nodes/build.js';
import { startGeth } from './nodes/geth.js';

/**
 * @import { ChildProcess } from 'node:child_process'
 * @import { AddressInfo } from 'node:net'
 */

/**
 * @typedef {object} Case
 * @property {string} name how it is constructed
 * @property {string} right the verdict that names what limits; `unknown` is never a wrong one
 * @property {(tools: Tools) => Promise<Prepared>} prepare starts what is needed
 *
 * @typedef {object} Prepared
 * @property {string[]} args of stress
 * @property {NodeJS.ProcessEnv} [env]
 * @property {(child: ChildProcess) => Promise<void>} [during] from the first interval on
 *
 * @typedef {object} Tools
 * @property {<T extends {stop: () => unknown}>(started: Promise<T>) => Promise<T>} use it is stopped after the run
 *
 * @typedef {(body: string, submissions: number) => Promise<Answer | null>} Hook an answer in place of the node's, or null
 * @typedef {{status: number, headers?: Record<string, string>, text: string}} Answer
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** No case takes longer, set-up and drain included. */
const TIMEOUT_MS = 120_000;
const CHAIN_ID = '"0x7a69"';

/** @param {string} text @param {string} result JSON */
function answerTo(text, result) {
  return { status: 200, text: `{"jsonrpc":"2.0","id":${/"id":(\d+)/.exec(text)?.[1] ?? 1},"result":${result}}` };
}

/** An HTTP server before a node, or instead of one. @param {string | null} target null: the hook answers everything @param {Hook} [hook] */
async function startProxy(target, hook = async () => null) {
  const agent = new Agent({ keepAlive: true });
  let submissions = 0;
  const server = createServer((incoming, outgoing) => {
    let body = '';
    incoming.setEncoding('utf8').on('data', (chunk) => (body += chunk));
    incoming.on('end', () => {
      if (body.includes('eth_sendRawTransaction')) submissions += 1;
      void hook(body, submissions).then((own) => {
        if (own !== null) {
          const type = { 'content-type': 'application/json' };
          outgoing.writeHead(own.status, { ...type, ...own.headers }).end(own.text);
        } else if (target !== null) {
          const on = httpRequest(target, { method: 'POST', agent, headers: { 'content-type': 'application/json' } });
          on.on('response', (response) => response.pipe(outgoing)).on('error', () => outgoing.destroy());
          on.end(body);
        }
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {AddressInfo} */ (server.address());
  const stop = () => {
    server.close();
    server.closeAllConnections();
    agent.destroy();
  };
  return { url: `http://127.0.0.1:${port}`, stop };
}

/** @param {number} ms @returns {Hook} */
const delayed = (ms) => async () => {
  await sleep(ms);
  return null;
};

/** Every so manieth transaction is refused. @param {number} everyNth @param {(body: string) => Answer} refusal @returns {Hook} */
const refusing = (everyNth, refusal) => async (body, submissions) =>
  body.includes('eth_sendRawTransaction') && submissions % everyNth === 0 && submissions > 200 ? refusal(body) : null;

const tooMany = { status: 429, headers: { 'retry-after': '1' }, text: 'too many requests' };

/** @param {string} body @returns {Answer} */
const limitExceeded = (body) => {
  const { status, text } = answerTo(body, 'null');
  return { status, text: text.replace('"result":null', '"error":{"code":-32005,"message":"limit exceeded"}') };
};

/** An endpoint that is no node. @param {(body: string) => Promise<Answer>} answer @returns {Hook} */
const plain = (answer) => async (body) => (body.includes('eth_chainId') ? answerTo(body, CHAIN_ID) : answer(body));

/** Calls one after another, each for so long. @param {number} ms */
function serially(ms) {
  let last = Promise.resolve();
  return (/** @type {string} */ body) => {
    last = last.then(() => sleep(ms));
    return last.then(() => answerTo(body, '"0x1"'));
  };
}

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
    return { args: on(url, options.replace('PID', String(pid))), env: { STRESS_FUNDER_KEY: funderKey } };
  };

/**
 * @param {string} options
 * @param {Array<[string, unknown[]]>} settings calls that change the chain
 * @param {bigint} [wei] the balance of each wallet: no transaction of the set-up funds it
 * @returns {Case['prepare']}
 */
const anvil =
  (options, settings, wei = 10n ** 19n) =>
  async ({ use }) => {
    const { url } = await use(startAnvil());
    for (let i = 0; i < Number(/-t (\d+)/.exec(options)?.[1]); i += 1) {
      const { address } = HDNodeWallet.fromPhrase(DEV_MNEMONIC, undefined, `${DEFAULT_HD_PATH}/${i}`);
      await call(url, 'anvil_setBalance', [address, `0x${wei.toString(16)}`]);
    }
    for (const [method, params] of settings) await call(url, method, params);
    return { args: on(url, options) };
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
    return { args: on(proxy.url, options), during: async () => void (await sleep(2000), proxy.stop()) };
  };

/** As much as a result can have, so that to read it takes longer than to write it. */
const large = JSON.stringify(Array.from({ length: 20_000 }, (_, i) => ({ i })));

/** The chain of a case with blocks of one second. @type {[string, unknown[]]} */
const SECOND_BLOCKS = ['evm_setIntervalMining', [1]];

/** Cases by the verdict that names what limits, each with how it is constructed. @type {Record<string, Record<string, Case['prepare']>>} */
const BY_VERDICT = {
  'concurrency-bound': {
    ...Object.fromEntries(
      [5, 20, 200].map((wallets) => [
        `closed loop, ${wallets} wallets, embedded chain (100 ms blocks)`,
        embedded(`-t ${wallets} -d 8s`),
      ]),
    ),
    ...small(24),
    'closed loop, 200 wallets, geth with 1 s blocks': geth('-t 200 -d 10s', { period: 1 }),
    'closed loop, 10 wallets with 4 in flight, anvil with 1 s blocks': anvil('-t 10 --in-flight 4 -d 8s', [
      SECOND_BLOCKS,
    ]),
    'closed loop, 100 wallets, null chain 60 ms away': nullChain('-t 100 -d 8s', { blockMs: 1000 }, delayed(60)),
    'closed loop, 1 wallet, geth with a block per transaction': geth('-t 1 -d 6s'),
    'open loop, 40/s asked of 10 wallets, 1 s blocks': anvil('-t 10 --rate 40 -d 8s', [SECOND_BLOCKS]),
    'plain calls, 10 users, each answer takes 50 ms': calls('-t 10 -d 6s', () => async (body) => {
      await sleep(50);
      return answerTo(body, CHAIN_ID);
    }),
  },
  'node-bound': {
    ...small(38),
    ...small(48),
    ...small(64),
    'closed loop, 100 wallets, null chain that takes 10 in 100 ms': nullChain('-t 100 -d 8s', { perBlock: 10 }),
    'closed loop, 200 wallets, geth with blocks as fast as it can, --node-pid': geth('-t 200 -d 10s --node-pid PID'),
    'open loop, 3 % more than the null chain takes, 2,000 wallets': nullChain(
      '-t 2000 --rate 309 -d 20s --interval 1s',
      { perBlock: 30 },
    ),
    'open loop, twice what the null chain takes, 2,000 wallets': nullChain('-t 2000 --rate 600 -d 8s --interval 1s', {
      perBlock: 30,
    }),
    'plain calls, 50 users, the endpoint takes them one after another': calls('-t 50 -d 8s --interval 1s', () =>
      plain(serially(5)),
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
    'closed loop, the endpoint dies in mid-run': dying('-t 50 -d 10s --interval 1s --drain-timeout 3s'),
    'open loop, the endpoint dies in mid-run': dying('-t 100 --rate 100 -d 10s --interval 1s --drain-timeout 3s'),
    'closed loop, the endpoint takes connections and answers no more': async ({ use }) => {
      const { url } = await use(startNullChain());
      let isDead = false;
      const hook = () => (isDead ? new Promise(() => {}) : Promise.resolve(null));
      const proxy = await use(startProxy(url, /** @type {Hook} */ (hook)));
      const args = on(proxy.url, '-t 50 -d 14s --interval 1s --drain-timeout 2s --request-timeout 3s');
      return { args, during: async () => void (await sleep(1000), (isDead = true)) };
    },
    'plain calls, the endpoint dies in mid-run': async ({ use }) => {
      const proxy = await use(
        startProxy(
          null,
          plain(async (body) => answerTo(body, '"0x1"')),
        ),
      );
      const args = [...on(proxy.url, '-t 10 -d 8s --interval 1s'), ...CALLS];
      return { args, during: async () => void (await sleep(1000), proxy.stop()) };
    },
  },
  funds: {
    'closed loop, 20 wallets with funds for a few operations': anvil('-t 20 -d 8s --fund-amount 0.001', [], 10n ** 15n),
  },
  'generator-bound': {
    'plain calls, 64 users, answers of 300 kB': calls('-t 64 -d 6s --fixed-id 1', () =>
      plain(async (body) => answerTo(body, large)),
    ),
    'closed loop, 200 wallets, one connection, null chain 5 ms away': nullChain(
      '-t 200 -d 8s --connections 1',
      {},
      delayed(5),
    ),
    'open loop, stress is stopped for nine tenths of the time (cpulimit)': async () => ({
      args: '-t 10 --rate 20 -d 8s --interval 1s'.split(' '),
      during: (child) => stopAndGo(child, 12_000, 30, 270),
    }),
  },
  'rate-bound': {
    'open loop, 20/s of what a chain could do': anvil('-t 40 --rate 20 -d 8s', []),
    'closed loop, 20 wallets that rest for a second (--think-time)': embedded('-t 20 --think-time 1s -d 8s'),
  },
};

/** @param {number} wallets */
function small(wallets) {
  const settings = /** @type {Array<[string, unknown[]]>} */ ([SECOND_BLOCKS, ['evm_setBlockGasLimit', ['0xdbba0']]]);
  const name = `closed loop, ${wallets} wallets, anvil whose 1 s blocks have room for 32 transactions`;
  return { [name]: anvil(`-t ${wallets} -d 10s`, settings) };
}

/** @type {readonly Case[]} */
export const CASES = Object.entries(BY_VERDICT).flatMap(([right, cases]) =>
  Object.entries(cases).map(([name, prepare]) => ({ name, right, prepare })),
);

/** @param {Case} one @returns {Promise<{code: number | null, stdout: string, stderr: string, run: any}>} run: null without a run file */
export async function runCase({ prepare }) {
  const folder = mkdtempSync(join(tmpdir(), 'stress-verdict-'));
  /** @type {Array<() => unknown>} */
  const stops = [];
  try {
    const { args, env, during } = await prepare({
      use: async (started) => {
        const it = await started;
        stops.unshift(() => it.stop());
        return it;
      },
    });
    const out = join(folder, 'run.json');
    const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(CI|NODE_|STRESS_)/.test(name)));
    const all = [join(ROOT, 'bin/stress.js'), '--out', out, ...args];
    const child = spawn(process.execPath, all, { env: { ...clean, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
    let [stdout, stderr] = ['', ''];
    const ready = new Promise((resolve) => {
      child.stdout.setEncoding('utf8').on('data', (chunk) => {
        stdout += chunk;
        if (/\d (wallets|users) /.test(stdout)) resolve(undefined);
      });
      child.once('exit', resolve);
    });
    child.stderr.setEncoding('utf8').on('data', (chunk) => (stderr += chunk));
    const closed = once(child, 'close');
    await ready;
    // The set-up takes about a second: what happens in mid-run happens well inside of the load.
    if (during !== undefined) await sleep(1500).then(() => during(child));
    const [code] = await closed;
    clearTimeout(timer);
    return { code, stdout, stderr, run: existsSync(out) ? JSON.parse(readFileSync(out, 'utf8')) : null };
  } finally {
    for (const stop of stops) await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function main() {
  const { values } = parseArgs({
    options: { only: { type: 'string', default: '' }, evidence: { type: 'boolean', default: false } },
  });
  console.log('| case | right | verdict |\n| --- | --- | --- |');
  let [wrong, unknown] = [0, 0];
  for (const one of CASES.filter(({ name }) => name.includes(values.only))) {
    const { run, stderr } = await runCase(one);
    const { name = 'none', evidence = stderr.trim().split('\n').at(-1) } = run?.verdict ?? {};
    if (values.evidence) process.stderr.write(`${one.name}: ${name}: ${evidence}\n`);
    const isRight = name === one.right;
    if (name === 'unknown') unknown += 1;
    else if (!isRight) wrong += 1;
    console.log(`| ${one.name} | ${one.right} | ${isRight ? name : `**${name}**`} |`);
  }
  console.log(`\n${wrong} wrong culprits, ${unknown} unknown`);
  if (wrong > 0 || unknown > 3) process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
