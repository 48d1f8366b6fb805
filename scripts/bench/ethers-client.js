/**
 * The peer that stress is measured against: the client that an ordinary engineer writes with ethers v6. Each wallet
 * increments a Counter of its own, waits for the receipt and reads the count back; a wallet that is done goes again.
 * Prints one line of JSON with the addresses of the Counters, so that the benchmark can read them.
 *
 *   STRESS_FUNDER_KEY=0x... node scripts/bench/ethers-client.js --rpc URL --threads N --duration SECONDS
 *
 * ethers batches its calls, polls once for all wallets and uses its own fee and gas estimates, as it does by default.
 * What precedes the window is not in the figures.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Contract, ContractFactory, JsonRpcProvider, NonceManager, Wallet, id, parseEther } from 'ethers';

const COUNTER = JSON.parse(readFileSync(new URL('../../contracts/artifacts/Counter.json', import.meta.url), 'utf8'));

/** ethers polls every 4 s by default, which would measure nothing else; faster than this costs more than it gains. */
const POLLING_INTERVAL_MS = 100;
const FUNDS = parseEther('10');
/** Pools limit how many transactions one account may have pending. */
const SETUP_CHUNK = 50;
const SETUP_TIMEOUT_MS = 60_000;
const DRAIN_TIMEOUT_MS = 30_000;
/** Keeps a wallet that fails at once from spinning. */
const FAILURE_PAUSE_MS = 100;

/** @typedef {{signer: NonceManager, counter: any, count: bigint}} Client */
/** @typedef {{client: Client, ms?: number, error?: unknown}} Outcome */

/** @template T, R @param {T[]} items @param {(item: T) => Promise<R>} work @returns {Promise<R[]>} */
async function inChunks(items, work) {
  const results = [];
  for (let start = 0; start < items.length; start += SETUP_CHUNK)
    results.push(...(await Promise.all(items.slice(start, start + SETUP_CHUNK).map(work))));
  return results;
}

/** @param {Wallet} funder @param {Wallet[]} wallets @param {JsonRpcProvider} provider */
async function fund(funder, wallets, provider) {
  let nonce = await funder.getNonce('pending');
  await inChunks(wallets, async ({ address }) => {
    if ((await provider.getBalance(address)) >= FUNDS / 2n) return; // from an earlier run on this chain
    const transaction = await funder.sendTransaction({ to: address, value: FUNDS, nonce: nonce++ });
    await transaction.wait(1, SETUP_TIMEOUT_MS);
  });
}

/** @param {Wallet} wallet @returns {Promise<Client>} */
async function deploy(wallet) {
  const signer = new NonceManager(wallet);
  const counter = await new ContractFactory(COUNTER.abi, COUNTER.bytecode, signer).deploy();
  await counter.deploymentTransaction()?.wait(1, SETUP_TIMEOUT_MS);
  return { signer, counter: new Contract(await counter.getAddress(), COUNTER.abi, signer), count: 0n };
}

/** One increment, from its start to the count read back. @param {Client} client @returns {Promise<Outcome>} */
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
    client.signer.reset(); // the nonce that it counted may not have been used
    await sleep(FAILURE_PAUSE_MS);
    return { client, error };
  }
}

/** The measured part. @param {Client[]} clients @param {number} durationS */
async function load(clients, durationS) {
  /** @type {number[]} */
  const latenciesMs = [];
  /** @type {unknown[]} */
  const errors = [];
  const startedAt = performance.now();
  const cpuAtStart = process.cpuUsage();
  const end = sleep(durationS * 1000, undefined);
  const inFlight = new Map(clients.map((client) => [client, increment(client)]));
  for (;;) {
    const outcome = await Promise.race([end, ...inFlight.values()]);
    if (outcome === undefined) break;
    if (outcome.ms === undefined) errors.push(outcome.error);
    else latenciesMs.push(outcome.ms);
    inFlight.set(outcome.client, increment(outcome.client));
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(cpuAtStart);
  // What was in flight shows late failures; it does not count as verified any more.
  const drained = (await Promise.race([Promise.all(inFlight.values()), sleep(DRAIN_TIMEOUT_MS, null)])) ?? [
    { error: new Error('some increments were still open after the drain') },
  ];
  errors.push(...drained.flatMap(({ error }) => error ?? []));
  const late = drained.filter((outcome) => 'ms' in outcome).length;
  return { latenciesMs, errors, late, seconds, cpuUs: user + system };
}

/** @param {unknown} error */
function complain(error) {
  process.stderr.write(`ethers-client: ${/** @type {Error} */ (error).message}\n`);
}

async function main() {
  const options = { rpc: { type: 'string' }, threads: { type: 'string' }, duration: { type: 'string' } };
  const { values } = parseArgs({ options: /** @type {Record<string, {type: 'string'}>} */ (options) });
  // The network is asked for once: getNetwork would retry an endpoint that is not there for ever.
  const network = await new JsonRpcProvider(values.rpc)._detectNetwork();
  const provider = new JsonRpcProvider(values.rpc, network, { staticNetwork: network });
  provider.pollingInterval = POLLING_INTERVAL_MS;
  // Keys of its own, so that this runs on the same chain as stress without touching its wallets.
  const wallets = Array.from(
    { length: Number(values.threads) },
    (_, index) => new Wallet(id(`evm-stress ethers-client wallet ${index}`), provider),
  );
  await fund(new Wallet(process.env.STRESS_FUNDER_KEY ?? '', provider), wallets, provider);
  const clients = await inChunks(wallets, deploy);
  const { latenciesMs, errors, late, seconds, cpuUs } = await load(clients, Number(values.duration));
  if (errors.length > 0) complain(errors[0]);
  const verified = latenciesMs.length;
  const avgMs = latenciesMs.reduce((sum, ms) => sum + ms, 0) / verified;
  const contracts = clients.map(({ counter }) => counter.target);
  console.log(JSON.stringify({ seconds, verified, late, cpuUs, avgMs, failed: errors.length, contracts }));
  // The poller, and what is still open after the drain, would keep the process alive.
  process.exit(verified > 0 ? 0 : 1);
}

// ethers leaves a failed poll of its own unhandled. Its increment is polled for again with the next block.
process.on('unhandledRejection', complain);
await main();
