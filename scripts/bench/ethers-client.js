/**
 * The peer that stress is measured against: the client that an ordinary engineer writes with ethers v6.
 * Each wallet increments a Counter of its own, waits for the receipt and fetches the count back; whichever
 * wallet is done first goes again. Prints one line of JSON.
 *
 *   node scripts/bench/ethers-client.js --rpc URL --threads N --duration SECONDS
 *        [--funder-key-env STRESS_FUNDER_KEY] [--offset N] [--contracts]
 *
 * --contracts adds the addresses of the Counters, which are new in every run, so that the benchmark can read them.
 *
 * What makes the comparison fair: ethers batches its calls, polls once for all wallets and uses its own
 * fee and gas estimates, as it does by default. Everything before the window is left out of the figures.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Contract, ContractFactory, JsonRpcProvider, NonceManager, Wallet, id, parseEther } from 'ethers';
import { EXIT, StressError, UsageError, oneLine } from '../../src/errors.js';

const COUNTER = JSON.parse(readFileSync(new URL('../../contracts/artifacts/Counter.json', import.meta.url), 'utf8'));

/** ethers polls every 4 s by default, which would measure nothing else; faster than this costs more than it gains. */
const POLLING_INTERVAL_MS = 100;
const FUNDS = parseEther('10');
/** Pools bound how many transactions one account may have pending, so the funder and the deployers take turns. */
const SETUP_CHUNK = 50;
const SETUP_TIMEOUT_MS = 60_000;
const DRAIN_TIMEOUT_MS = 30_000;
/** Keeps a wallet that fails at once, because the node is gone say, from spinning. */
const FAILURE_PAUSE_MS = 100;

/** @typedef {{ signer: NonceManager, counter: any, count: bigint }} Client */
/** @typedef {{ client: Client, ms?: number, error?: unknown }} Outcome */

/**
 * Keys of our own, so that this runs on the same chain as stress without touching its wallets.
 * @param {number} index
 * @param {JsonRpcProvider} provider
 */
const walletAt = (index, provider) => new Wallet(id(`evm-stress ethers-client wallet ${index}`), provider);

/**
 * @template T, R
 * @param {T[]} items
 * @param {(item: T) => Promise<R>} work
 * @returns {Promise<R[]>}
 */
async function inChunks(items, work) {
  const results = [];
  for (let start = 0; start < items.length; start += SETUP_CHUNK) {
    results.push(...(await Promise.all(items.slice(start, start + SETUP_CHUNK).map(work))));
  }
  return results;
}

/**
 * @param {Wallet} funder
 * @param {Wallet[]} wallets
 * @param {JsonRpcProvider} provider
 */
async function fund(funder, wallets, provider) {
  let nonce = await funder.getNonce('pending');
  await inChunks(wallets, async ({ address }) => {
    if ((await provider.getBalance(address)) >= FUNDS / 2n) return; // from an earlier run on this chain
    const transaction = await funder.sendTransaction({ to: address, value: FUNDS, nonce: nonce++ });
    await transaction.wait(1, SETUP_TIMEOUT_MS);
  });
}

/**
 * @param {Wallet} wallet
 * @returns {Promise<Client>}
 */
async function deploy(wallet) {
  const signer = new NonceManager(wallet);
  const counter = await new ContractFactory(COUNTER.abi, COUNTER.bytecode, signer).deploy();
  await counter.deploymentTransaction()?.wait(1, SETUP_TIMEOUT_MS);
  return { signer, counter: new Contract(await counter.getAddress(), COUNTER.abi, signer), count: 0n };
}

/**
 * One increment, from its start to the count fetched back.
 * @param {Client} client
 * @returns {Promise<Outcome>}
 */
async function increment(client) {
  const startedAt = performance.now();
  try {
    const transaction = await client.counter.increment();
    const receipt = await transaction.wait();
    // By number, because ethers answers the same call for `latest` from a cache for 250 ms.
    const count = await client.counter.count({ blockTag: receipt.blockNumber });
    const expected = client.count + 1n;
    client.count = count;
    if (count !== expected) throw new Error(`the count is ${count}, not ${expected}`);
    return { client, ms: performance.now() - startedAt };
  } catch (error) {
    client.signer.reset(); // the nonce it counted may not have been used
    await sleep(FAILURE_PAUSE_MS);
    return { client, error };
  }
}

/**
 * What the promise gives, or undefined when it takes too long.
 * @template T
 * @param {number} ms
 * @param {Promise<T>} promise
 */
async function within(ms, promise) {
  const timer = new AbortController();
  try {
    return await Promise.race([promise, sleep(ms, undefined, { signal: timer.signal })]);
  } finally {
    timer.abort();
  }
}

/**
 * The measured part.
 * @param {Client[]} clients
 * @param {number} durationSeconds
 */
async function run(clients, durationSeconds) {
  /** @type {number[]} */
  const latenciesMs = [];
  /** @type {unknown[]} */
  const errors = [];
  /** @type {Map<Client, Promise<Outcome>>} */
  const inFlight = new Map();
  const startedAt = performance.now();
  const cpuAtStart = process.cpuUsage();
  const end = sleep(durationSeconds * 1000, undefined);
  for (const client of clients) inFlight.set(client, increment(client));
  for (;;) {
    const outcome = await Promise.race([end, ...inFlight.values()]);
    if (outcome === undefined) break;
    if (outcome.ms === undefined) errors.push(outcome.error);
    else latenciesMs.push(outcome.ms);
    inFlight.set(outcome.client, increment(outcome.client));
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(cpuAtStart);
  // What is in flight may finish, which shows late failures; it does not count as verified any more.
  const drained = await within(DRAIN_TIMEOUT_MS, Promise.all(inFlight.values()));
  if (drained === undefined) errors.push(new Error('some increments were still open after the drain'));
  else errors.push(...drained.filter(({ ms }) => ms === undefined).map(({ error }) => error));
  const late = drained?.filter(({ ms }) => ms !== undefined).length ?? 0;
  return { latenciesMs, errors, late, seconds, cpuUs: user + system };
}

/** @param {unknown} error */
function explain(error) {
  const { shortMessage, message } = /** @type {{ shortMessage?: string, message?: string }} */ (error);
  return oneLine(shortMessage ?? message ?? error);
}

/**
 * @param {string | undefined} text
 * @param {string} name
 * @param {number} least
 */
function wholeNumber(text, name, least) {
  if (!/^\d{1,9}$/.test(text ?? '') || Number(text) < least) {
    throw new UsageError(
      `--${name} ${text === undefined ? 'is missing' : oneLine(text)}: give a whole number from ${least}`,
    );
  }
  return Number(text);
}

/** @param {string} variable the name of the environment variable that holds the key */
function funderKey(variable) {
  const key = process.env[variable] ?? '';
  if (!/^(0x)?[0-9a-f]{64}$/i.test(key)) {
    throw new UsageError(`${oneLine(variable)}: set it to the private key of an account with funds`);
  }
  return key;
}

async function main() {
  const { values } = parseArgs({
    options: {
      rpc: { type: 'string' },
      threads: { type: 'string' },
      duration: { type: 'string' },
      offset: { type: 'string', default: '0' },
      contracts: { type: 'boolean', default: false },
      'funder-key-env': { type: 'string', default: 'STRESS_FUNDER_KEY' },
    },
  });
  if (!/^https?:\/\//.test(values.rpc ?? '')) throw new UsageError('--rpc: give an http:// or https:// URL');
  const threads = wholeNumber(values.threads, 'threads', 1);
  const duration = wholeNumber(values.duration, 'duration', 1);
  const offset = wholeNumber(values.offset, 'offset', 0);
  const key = funderKey(values['funder-key-env']);

  // The network is asked for once: ethers would otherwise ask again and again. _detectNetwork, because
  // getNetwork retries an endpoint that is not there for ever.
  const network = await new JsonRpcProvider(values.rpc)._detectNetwork();
  const provider = new JsonRpcProvider(values.rpc, network, { staticNetwork: network });
  provider.pollingInterval = POLLING_INTERVAL_MS;
  try {
    const wallets = Array.from({ length: threads }, (_, index) => walletAt(offset + index, provider));
    await fund(new Wallet(key, provider), wallets, provider);
    const clients = await inChunks(wallets, deploy);
    const contracts = values.contracts ? clients.map(({ counter }) => counter.target) : undefined;
    return report(threads, await run(clients, duration), contracts);
  } finally {
    provider.destroy(); // its poller, and what is still open after the drain, would keep the process alive
  }
}

/**
 * @param {number} threads
 * @param {Awaited<ReturnType<typeof run>>} result
 * @param {string[]} [contracts]
 */
function report(threads, { latenciesMs, errors, late, seconds, cpuUs }, contracts) {
  const verified = latenciesMs.length;
  const round = (/** @type {number} */ value) => Math.round(value * 100) / 100;
  /** A figure that nothing was measured for is null, never 0. @param {number} value */
  const orNull = (value) => (verified === 0 ? null : round(value));
  if (errors.length > 0) process.stderr.write(`ethers-client: first failure: ${explain(errors[0])}\n`);
  console.log(
    JSON.stringify({
      client: 'ethers-v6',
      threads,
      seconds: round(seconds),
      verified,
      late, // verified, but after the window
      cpuUs,
      tps: round(verified / seconds),
      cpuUsPerVerified: orNull(cpuUs / verified),
      avgMs: orNull(latenciesMs.reduce((sum, ms) => sum + ms, 0) / verified),
      minMs: orNull(latenciesMs.reduce((least, ms) => Math.min(least, ms), Infinity)),
      maxMs: orNull(latenciesMs.reduce((most, ms) => Math.max(most, ms), 0)),
      failed: errors.length,
      contracts,
    }),
  );
  return verified > 0 ? EXIT.ok : EXIT.nothingVerified;
}

// ethers leaves a failed poll of its own unhandled, which would end us with a stack trace. The increment it
// belonged to is polled for again with the next block, or is found open after the drain.
let pollFailures = 0;
process.on('unhandledRejection', (error) => {
  if (pollFailures++ === 0) process.stderr.write(`ethers-client: a poll failed: ${explain(error)}\n`);
});

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`ethers-client: ${explain(error)}\n`);
  const usage = String(/** @type {NodeJS.ErrnoException} */ (error).code).startsWith('ERR_PARSE_ARGS');
  process.exitCode = error instanceof StressError ? error.exitCode : usage ? EXIT.usage : EXIT.unavailable;
}
