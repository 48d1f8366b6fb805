/** Several instances on one node: disjoint slices get on with each other, overlapping ones are found out. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { countersIn, rpcCall } from '../helpers/anvil.js';
import { readJson, runStress, startStress } from '../helpers/cli.js';
import { DEV_WALLETS } from '../helpers/dev-wallets.js';
import { serveBehind, startTogether } from '../helpers/endpoint.js';
import { assertNothingLeft } from '../helpers/leftovers.js';
import { nodeFor, startOf } from '../helpers/run-of.js';
import { temporaryFolder } from '../helpers/temporary.js';
import { until } from '../helpers/until.js';

/**
 * @import { StressResult } from '../helpers/cli.js'
 * @import { AddressInfo } from 'node:net'
 * @import { TestContext } from 'node:test'
 */

/** The wallets, one of their transactions, and that it is not ours. */
const ACCUSATION =
  /wallets ([\d., ]+) sent a transaction that is not of this run: (0x\w{64}) \(wallet (\d+), nonce (\d+)\) was mined; /;

/** One chain for all tests: each has wallets of its own on it. */
const node = nodeFor(200);

/** @typedef {{offset: number, threads: number, contracts: string}} Instance */

/** @param {TestContext} t @param {number} offset @param {number} [threads] @returns {Instance} */
const instance = (t, offset, threads = 20) => ({
  offset,
  threads,
  contracts: join(temporaryFolder(t), 'contracts.json'),
});

/** @param {TestContext} t @param {Instance} one @param {string} words @param {string} [rpc] */
const start = (t, { contracts, ...slice }, words, rpc = node.url) =>
  startOf(t, `--contracts ${contracts} ${words}`, { rpc, ...slice });

/** @param {string} ranges such as '10..12, 15' @returns {number[]} */
function indexes(ranges) {
  return ranges.split(', ').flatMap((range) => {
    const [first, last = first] = range.split('..').map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
}

/**
 * Checks an accusation against the chain: the transaction is mined, its sender is a wallet that both instances
 * claim, and the accuser cannot have sent it.
 * @param {Instance} accuser
 * @param {string} stderr
 * @param {number} first of the ten wallets that both claim
 */
async function assertProven(accuser, stderr, first) {
  const lines = stderr.split('\n').filter((line) => line.includes('not of this run'));
  assert.equal(lines.length, 1, stderr);
  const [, ranges, hash, wallet, nonce] = ACCUSATION.exec(lines[0]) ?? assert.fail(lines[0]);
  assert.ok(indexes(ranges).length > 0);
  for (const index of indexes(ranges))
    assert.ok(index >= first && index < first + 10, `wallet ${index} is in the overlap`);
  assert.ok(indexes(ranges).includes(Number(wallet)));

  const transaction = await rpcCall(node.url, 'eth_getTransactionByHash', [hash]);
  assert.ok(transaction !== null && transaction.blockNumber !== null, `${hash} was mined`);
  const { address } = DEV_WALLETS.deriveChild(Number(wallet));
  assert.equal(transaction.from.toLowerCase(), address.toLowerCase());
  assert.equal(Number(transaction.nonce), Number(nonce));
  // Without a contracts file it has not come as far as deploying one.
  const own = existsSync(accuser.contracts) ? readJson(accuser.contracts).contracts[address].toLowerCase() : 'none';
  assert.notEqual(transaction.to?.toLowerCase(), own, 'it is no increment of the counter of the accuser');
  const receipt = await rpcCall(node.url, 'eth_getTransactionReceipt', [hash]);
  assert.notEqual(receipt.contractAddress?.toLowerCase(), own, 'and not its deployment');
}

/**
 * Two instances that begin to send at the same moment, whatever their set-up took. When one of them has ended, as
 * it should long before its duration, the other one is asked to.
 * @param {TestContext} t
 * @param {Instance[]} instances
 * @param {string} [more] arguments
 * @returns the one that ended first is the first
 */
async function collide(t, instances, more = '') {
  const gates = startTogether(instances.length);
  const words = `-d 10m --tx-timeout 10s --interval 1s ${more}`;
  const all = await Promise.all(
    instances.map(async (one, i) => start(t, one, words, (await serveBehind(node.url, gates[i])).url)),
  );
  /** @type {Array<StressResult & {run: any, instance: Instance}>} */
  const results = [];
  await Promise.all(
    all.map(async ({ end }, i) => {
      results.push({ ...(await end(null)), signal: null, instance: instances[i] });
      all.forEach(({ child }) => child.kill('SIGTERM'));
    }),
  );
  return results;
}

test('an instance that starts over a slice in use: one of the two ends with 76 and proof', async (t) => {
  const [first, second] = [instance(t, 40), instance(t, 50)];
  // The pauses leave moments without a pending transaction, for which the set-up of the second one waits.
  const running = start(t, first, '--tx-timeout 3s --interval 300ms --think-time 500ms');
  await running.waitFor(/^ +\d\.\d s /m);
  const { code, stdout, stderr } = await start(t, second, '--tx-timeout 3s -d 8s').end(null);
  running.child.kill('SIGTERM');
  const other = await running.end(null);
  // Where the second one came as far as sending, the first may find out before it and leave it the wallets.
  assert.ok([0, 76].includes(code ?? -1), stdout + stderr);
  assert.ok([143, 76].includes(other.code ?? -1), other.stderr);
  assert.ok(code === 76 || other.code === 76, 'at least one of them has found out');
  if (code === 76) await assertProven(second, stderr, 50);
  if (other.code === 76) await assertProven(first, other.stderr, 50);
});

/**
 * The other one has lost nothing, or has found out as well.
 * @param {StressResult & {run: any, instance: Instance}} result
 * @param {number} overlap first wallet that both claim
 */
async function assertUnharmed({ code, stderr, run, instance: one }, overlap) {
  // The signal may come when it is about to exit, and take its exit code from it.
  if (stderr.includes('not of this run')) return assertProven(one, stderr, overlap);
  assert.equal(code, 143, stderr);
  if (run !== null) assert.equal(run.audit.exact, true);
}

test('overlapping slices that send at the same time are found while running, with proof', async (t) => {
  const instances = [instance(t, 80), instance(t, 90)];
  // With their counters deployed before, nothing but the load is left to collide.
  for (const one of instances) await start(t, one, '--iterations 20').end();
  const [first, second] = await collide(t, instances);
  assert.equal(first.code, 76, first.stderr);
  await assertProven(first.instance, first.stderr, 90);
  const { end, audit, failures } = first.run;
  assert.deepEqual([end, audit.exact], ['foreign_sender', false], 'found while running, not at the end');
  for (const { walletIndex } of audit.foreign) assert.ok(walletIndex >= 90 && walletIndex <= 99);
  for (const name of Object.keys(failures))
    assert.ok(['nonce_in_use', 'nonce_too_low', 'replaced', 'wrong_count'].includes(name), name);
  await assertUnharmed(second, 90);
});

test('two instances that would send the very same transactions are found out, and nothing counts twice', async (t) => {
  const instances = [instance(t, 120, 10), instance(t, 120, 10)];
  await start(t, instances[0], '--iterations 20').end();
  // The same counters and a fixed price: the same nonce, receiver, data, gas and fee, and so the same hash.
  writeFileSync(instances[1].contracts, JSON.stringify(readJson(instances[0].contracts)));
  const before = await countersIn(node.url, instances[0].contracts);
  const [first, second] = await collide(t, instances, '--gas-price 3');
  assert.equal(first.code, 76, first.stderr);
  assert.equal(first.run.end, 'foreign_sender', 'found while running, not at the end');
  const verified = first.run.counts.verified + second.run.counts.verified;
  const grown = (await countersIn(node.url, instances[0].contracts)) - before;
  assert.ok(verified <= grown, `${verified} increments are claimed to be verified, the counters grew by ${grown}`);
});

test('stress node ends at a signal that comes while it starts', async (t) => {
  const TMPDIR = temporaryFolder(t);
  const { child, done } = startStress(['node', '-t', '2'], { env: { TMPDIR } });
  await until(() => readdirSync(TMPDIR).some((name) => name.startsWith('stress-chain-')));
  child.kill('SIGTERM');
  assert.equal((await done).code, 143);
  await assertNothingLeft(TMPDIR);
});

/** @param {TestContext} t @param {number} port */
async function listenOn(t, port) {
  /** @type {string[]} */
  const urls = [];
  const server = createServer((request, response) => void (urls.push(String(request.url)), response.end('{}')));
  t.after(() => server.close());
  // Where the port is taken already, another program has it.
  await Promise.race([once(server.listen(port, '127.0.0.1'), 'listening'), once(server, 'error')]).catch(() => {});
  return { urls, port: /** @type {AddressInfo | null} */ (server.address())?.port ?? port };
}

test('stress node takes another port if the default one is in use', async (t) => {
  await listenOn(t, 8545);
  const TMPDIR = temporaryFolder(t);
  const alone = startStress(['node', '-t', '3'], { env: { TMPDIR } });
  const [line, itsUrl] = await alone.waitFor(/^(http:\S+) \(chain 31337\): wallets 0\.\.2 of .* are funded; .*$/m);
  assert.ok(line.includes(`stress --rpc ${itsUrl} `), 'it says how to use it');
  assert.notEqual(new URL(itsUrl).port, '8545');
  assert.equal(Number(await rpcCall(itsUrl, 'eth_chainId')), 31337);
  alone.child.kill('SIGTERM');
  const { code, stderr } = await alone.done;
  assert.deepEqual([code, stderr], [143, '']);
  await assertNothingLeft(TMPDIR);
});

test('stress node --port refuses a port that is taken, and asks it for nothing', async (t) => {
  const { urls, port } = await listenOn(t, 0);
  const TMPDIR = temporaryFolder(t);
  const { code, stdout, stderr } = await runStress(['node', '-t', '3', '--port', String(port)], { env: { TMPDIR } });
  assert.deepEqual([code, stdout, urls], [69, '', []]);
  assert.match(stderr, new RegExp(`^stress: .*port ${port} is taken.*\\n$`));
  await assertNothingLeft(TMPDIR);
});
