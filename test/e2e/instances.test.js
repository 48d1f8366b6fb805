/** Several instances on one node: disjoint slices get on with each other, overlapping ones are found out. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { freePort, rpcCall } from '../helpers/anvil.js';
import { readJson, runStress, startStress } from '../helpers/cli.js';
import { DEV_WALLETS } from '../helpers/dev-wallets.js';
import { assertNothingLeft } from '../helpers/leftovers.js';
import { startProxy, startTogether } from '../helpers/proxy.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { StressProcess, StressResult } from '../helpers/cli.js'
 * @import { AddressInfo } from 'node:net'
 * @import { TestContext } from 'node:test'
 */

/** The wallets, one of their transactions, and that it is not ours. */
const ACCUSATION =
  /wallets ([\d., ]+) sent a transaction that is not of this run: (0x\w{64}) \(wallet (\d+), nonce (\d+)\) was mined; /;

/** One chain for all tests: each has wallets of its own on it. */
let url = '';
/** @type {StressProcess} */
let node;
before(async () => {
  node = startStress(['node', '-t', '200', '--port', String(await freePort())], { timeoutMs: 120_000 });
  [, url] = await node.waitFor(/^(http:\S+) \(chain 31337\): wallets 0\.\.199 of .* are funded; /m);
});
after(async () => {
  node.child.kill('SIGTERM');
  await node.done;
});

/**
 * @typedef {object} Instance
 * @property {string} out its run file
 * @property {string} contracts its contracts file
 * @property {(url: string, ...more: string[]) => string[]} args
 */

/** @param {TestContext} t @param {number} offset @param {number} [threads] */
function instance(t, offset, threads = 20) {
  const folder = temporaryFolder(t);
  const out = join(folder, 'run.json');
  const contracts = join(folder, 'contracts.json');
  const files = ['--out', out, '--contracts', contracts];
  /** @type {Instance} */
  const one = {
    out,
    contracts,
    args: (url, ...more) => ['--rpc', url, '-t', String(threads), '-o', String(offset), ...files, ...more],
  };
  return one;
}

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

  const transaction = await rpcCall(url, 'eth_getTransactionByHash', [hash]);
  assert.ok(transaction !== null && transaction.blockNumber !== null, `${hash} was mined`);
  const { address } = DEV_WALLETS.deriveChild(Number(wallet));
  assert.equal(transaction.from.toLowerCase(), address.toLowerCase());
  assert.equal(Number(transaction.nonce), Number(nonce));
  // Without a contracts file it has not come as far as deploying one.
  const own = existsSync(accuser.contracts) ? readJson(accuser.contracts).contracts[address].toLowerCase() : 'none';
  assert.notEqual(transaction.to?.toLowerCase(), own, 'it is no increment of the counter of the accuser');
  const receipt = await rpcCall(url, 'eth_getTransactionReceipt', [hash]);
  assert.notEqual(receipt.contractAddress?.toLowerCase(), own, 'and not its deployment');
}

/**
 * Two instances that begin to send at the same moment, whatever their set-up took. When one of them has ended, as
 * it should long before its duration, the other one is asked to.
 * @param {TestContext} t
 * @param {Instance[]} instances
 * @param {string[]} [more] arguments
 * @returns {Promise<Array<StressResult & {instance: Instance}>>} the one that ended first is the first
 */
async function collide(t, instances, more = []) {
  const gates = startTogether(instances.length);
  /** @type {Array<StressResult & {instance: Instance}>} */
  const results = [];
  const all = await Promise.all(
    instances.map(async (one, i) => {
      const proxy = await startProxy(url, gates[i]);
      t.after(proxy.close);
      return startStress(one.args(proxy.url, '-d', '1m', '--tx-timeout', '10s', '--interval', '1s', ...more));
    }),
  );
  await Promise.all(
    all.map(async ({ done }, i) => {
      results.push({ ...(await done), instance: instances[i] });
      all.forEach(({ child }) => child.kill('SIGTERM'));
    }),
  );
  return results;
}

test('two instances with offsets 0 and 20 share a chain: both exact, not a single failure', async (t) => {
  const instances = [instance(t, 0), instance(t, 20)];
  const results = await Promise.all(instances.map(({ args }) => runStress(args(url, '-d', '2s', '--interval', '1s'))));
  results.forEach(({ code, stdout, stderr }, i) => {
    assert.equal(code, 0, stderr);
    assert.equal(stderr, '');
    const run = readJson(instances[i].out);
    assert.deepEqual(run.failures, {});
    const { started, verified, failed, timedOut, abandoned } = run.counts;
    assert.deepEqual([failed, timedOut, abandoned], [0, 0, 0]);
    assert.equal(verified, started);
    assert.ok(verified >= 20);
    assert.equal(run.audit.exact, true);
    assert.deepEqual([run.audit.includedLate, run.audit.resolutions], [0, []]);
    assert.match(stdout, /audit +exact: 20 counters/);
  });
  const [a, b] = instances.map(({ contracts }) => Object.values(readJson(contracts).contracts));
  assert.equal(new Set([...a, ...b]).size, 40, 'a counter for each wallet');
});

test('an instance that starts over a slice in use: one of the two ends with 76 and proof', async (t) => {
  const first = instance(t, 40);
  const second = instance(t, 50);
  // The pauses leave moments without a pending transaction, for which the set-up of the second one waits.
  const pauses = ['--think-time', '500ms'];
  const running = startStress(first.args(url, '--tx-timeout', '3s', '--interval', '500ms', ...pauses));
  await running.waitFor(/^ +\d\.\d s /m);
  const { code, stdout, stderr } = await runStress(second.args(url, '--tx-timeout', '3s', '-d', '8s'));
  running.child.kill('SIGTERM');
  const other = await running.done;
  // Where the second one came as far as sending, the first may find out before it and leave it the wallets.
  assert.ok([0, 76].includes(code ?? -1), stdout + stderr);
  assert.ok([143, 76].includes(other.code ?? -1), other.stderr);
  assert.ok(code === 76 || other.code === 76, 'at least one of them has found out');
  if (code === 76) await assertProven(second, stderr, 50);
  if (other.code === 76) await assertProven(first, other.stderr, 50);
});

test('overlapping slices that send at the same time are found while running, with proof', async (t) => {
  const instances = [instance(t, 80), instance(t, 90)];
  // With their counters deployed before, nothing but the load is left to collide.
  for (const { args } of instances) {
    const { code, stderr } = await runStress(args(url, '-d', '100ms'));
    assert.equal(code, 0, stderr);
  }
  const [first, second] = await collide(t, instances);
  assert.equal(first.code, 76, first.stderr);
  await assertProven(first.instance, first.stderr, 90);
  const { end, audit, failures } = readJson(first.instance.out);
  assert.equal(end, 'foreign_sender', 'found while running, not at the end');
  assert.equal(audit.exact, false);
  const accused = audit.foreign.map((/** @type {any} */ { walletIndex }) => walletIndex);
  assert.ok(accused.every((/** @type {number} */ index) => index >= 90 && index <= 99));
  const expected = ['nonce_in_use', 'nonce_too_low', 'replaced', 'wrong_count'];
  assert.deepEqual(
    Object.keys(failures).filter((name) => !expected.includes(name)),
    [],
  );
  await assertUnharmed(second, 90);
});

/**
 * The other one has lost nothing, or has found out as well.
 * @param {StressResult & {instance: Instance}} result
 * @param {number} overlap first wallet that both claim
 */
async function assertUnharmed({ code, stderr, instance: one }, overlap) {
  // The signal may come when it is about to exit, and take its exit code from it.
  if (stderr.includes('not of this run')) return assertProven(one, stderr, overlap);
  assert.equal(code, 143, stderr);
  if (existsSync(one.out)) assert.equal(readJson(one.out).audit.exact, true);
}

test('overlapping slices that deploy their counters at the same time are found out, with proof', async (t) => {
  const [first, second] = await collide(t, [instance(t, 140), instance(t, 150)]);
  assert.equal(first.code, 76, first.stderr);
  await assertProven(first.instance, first.stderr, 150);
  await assertUnharmed(second, 150);
});

test('two instances that would send the very same transactions are found out, and nothing counts twice', async (t) => {
  const instances = [instance(t, 120, 10), instance(t, 120, 10)];
  const { code, stderr } = await runStress(instances[0].args(url, '-d', '100ms'));
  assert.equal(code, 0, stderr);
  // The same counters and a fixed price: the same nonce, receiver, data, gas and fee, and so the same hash.
  writeFileSync(instances[1].contracts, JSON.stringify(readJson(instances[0].contracts)));
  const before = await counts(instances[0]);
  const [first, second] = await collide(t, instances, ['--gas-price', '3']);
  assert.equal(first.code, 76, first.stderr);
  const runs = [first, second].map((result) => readJson(result.instance.out));
  assert.equal(runs[0].end, 'foreign_sender', 'found while running, not at the end');
  const verified = runs.reduce((sum, { counts }) => sum + counts.verified, 0);
  const grown = (await counts(instances[0])) - before;
  assert.ok(verified <= grown, `${verified} increments are claimed to be verified, the counters grew by ${grown}`);
});

/** @param {Instance} instance @returns {Promise<number>} what all its counters say together */
async function counts({ contracts }) {
  const addresses = Object.values(readJson(contracts).contracts);
  const answers = await Promise.all(
    addresses.map((to) => rpcCall(url, 'eth_call', [{ to, data: '0x06661abd' }, 'latest'])),
  );
  return answers.reduce((sum, answer) => sum + Number(answer), 0);
}

test('stress node takes another port if the default one is in use', async (t) => {
  const bodies = /** @type {string[]} */ ([]);
  const server = createServer((request, response) => {
    request.setEncoding('utf8').on('data', (chunk) => bodies.push(chunk));
    response.end('{}');
  });
  t.after(() => server.close());
  // Where the port is taken already, another program has it.
  await Promise.race([once(server.listen(8545, '127.0.0.1'), 'listening'), once(server, 'error')]).catch(() => {});
  const TMPDIR = temporaryFolder(t);
  const alone = startStress(['node', '-t', '3'], { env: { TMPDIR } });
  const [line, itsUrl] = await alone.waitFor(/^(http:\S+) \(chain 31337\): wallets 0\.\.2 of .* are funded; .*$/m);
  assert.ok(line.includes(`stress --rpc ${itsUrl} `), 'it says how to use it');
  assert.notEqual(new URL(itsUrl).port, '8545');
  assert.equal(Number(await rpcCall(itsUrl, 'eth_chainId')), 31337);
  alone.child.kill('SIGTERM');
  const { code, stderr } = await alone.done;
  assert.equal(stderr, '');
  assert.equal(code, 143);
  assert.deepEqual(bodies, [], 'it was asked nothing');
  await assertNothingLeft(TMPDIR);
});

test('stress node --port refuses a port that is taken', async (t) => {
  const server = createServer((_request, response) => response.end('{}')).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = /** @type {AddressInfo} */ (server.address());
  const TMPDIR = temporaryFolder(t);
  const { code, stdout, stderr } = await runStress(['node', '-t', '3', '--port', String(port)], { env: { TMPDIR } });
  assert.equal(code, 69);
  assert.equal(stdout, '');
  assert.match(stderr, new RegExp(`^stress: .*port ${port} is taken.*\\n$`));
  await assertNothingLeft(TMPDIR);
});
