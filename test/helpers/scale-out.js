/**
 * What must hold of a run of many instances, whichever scheduler started them: the merged figures are the sum over the
 * instances, what their samples say, and what the chain says. The chain is read through ethers, by its blocks and its
 * counters, with nothing of the program's own code.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Contract, HDNodeWallet, JsonRpcProvider, Mnemonic, getCreateAddress } from 'ethers';
import { DEV_MNEMONIC } from './dev-wallets.js';
import { assertAgrees, assertDistribution, isCensored, stagesUs, totalUs, windowOf } from './recompute.js';
import { sumOf } from './run-file.js';

/**
 * @import { Row } from './recompute.js'
 * @import { TransactionResponse } from 'ethers'
 */

/**
 * @typedef {Record<string, any>} RunFile
 *
 * @typedef {object} WalletFacts what the chain says about one wallet
 * @property {number} index
 * @property {string} address
 * @property {string[]} contracts that it deployed
 * @property {number} count of all of them together
 * @property {number} mined transactions of it, deployments included
 * @property {Set<string>} tags the four random bytes that an instance puts behind the data of all its transactions
 */

const COUNTER = ['function count() view returns (uint256)'];
const TAG_DIGITS = 8;

/**
 * What the chain says about the wallets of a slice, or of several in a row.
 * @param {object} options
 * @param {string} options.url
 * @param {number} options.threads how many wallets
 * @param {number} [options.offset] index of the first one
 * @param {string} [options.mnemonic]
 * @param {number} [options.fromBlock] the first block to read
 * @returns {Promise<WalletFacts[]>}
 */
export async function countersOf({ url, threads, offset = 0, mnemonic = DEV_MNEMONIC, fromBlock = 0 }) {
  const provider = new JsonRpcProvider(url, undefined, { staticNetwork: true });
  try {
    const root = HDNodeWallet.fromMnemonic(Mnemonic.fromPhrase(mnemonic), "m/44'/60'/0'/0");
    /** @type {Map<string, WalletFacts>} */
    const wallets = new Map();
    for (let index = offset; index < offset + threads; index += 1) {
      const { address } = root.deriveChild(index);
      wallets.set(address, { index, address, contracts: [], count: 0, mined: 0, tags: new Set() });
    }
    const last = await provider.getBlockNumber();
    for (let number = fromBlock; number <= last; number += 1) {
      const block = await provider.getBlock(number, true);
      for (const transaction of block?.prefetchedTransactions ?? []) addTransaction(wallets, transaction);
    }
    await Promise.all([...wallets.values()].map(async (wallet) => (wallet.count = await countOf(provider, wallet))));
    return [...wallets.values()];
  } finally {
    provider.destroy();
  }
}

/** @param {Map<string, WalletFacts>} wallets @param {TransactionResponse} transaction */
function addTransaction(wallets, { from, to, nonce, data }) {
  const wallet = wallets.get(from);
  if (wallet === undefined) return;
  wallet.mined += 1;
  wallet.tags.add(data.slice(-TAG_DIGITS));
  if (to === null) wallet.contracts.push(getCreateAddress({ from, nonce }));
}

/** @param {JsonRpcProvider} provider @param {WalletFacts} wallet */
async function countOf(provider, { contracts }) {
  const counts = await Promise.all(contracts.map((address) => new Contract(address, COUNTER, provider).count()));
  return counts.reduce((sum, count) => sum + Number(count), 0);
}

/** @param {WalletFacts[]} wallets @returns {number} */
export function totalCount(wallets) {
  return sumOf(wallets.map(({ count }) => count));
}

/**
 * No wallet was used twice: each deployed one contract and sent nothing but increments of it, all of one instance, and
 * the wallets of an instance lie side by side.
 * @param {WalletFacts[]} wallets of all slices, in order
 * @param {number} threads wallets of one instance
 */
export function assertUsedOnce(wallets, threads) {
  const tags = wallets.map(({ index, contracts, count, mined, tags: own }) => {
    assert.equal(contracts.length, 1, `wallet ${index} deployed one contract`);
    assert.equal(own.size, 1, `wallet ${index} was used by one instance`);
    assert.equal(mined, 1 + count, `wallet ${index}: every other transaction is an increment`);
    return [...own][0];
  });
  const bySlice = tags.filter((_, i) => i % threads === 0);
  assert.equal(new Set(bySlice).size, wallets.length / threads, 'as many instances as slices');
  tags.forEach((tag, i) => assert.equal(tag, bySlice[Math.floor(i / threads)], `wallet ${wallets[i].index}`));
}

/**
 * The merged counts and distributions are exactly what the instances' run files add up to, and what all their samples
 * say. Each instance's samples are on its own clock, and belong to its own window.
 * @param {RunFile} merged
 * @param {Array<{run: RunFile, rows: Row[]}>} instances
 */
export function assertMergedExactly(merged, instances) {
  for (const { run, rows } of instances) assertAgrees(/** @type {any} */ (run), rows);
  for (const name of Object.keys(merged.counts))
    assert.equal(merged.counts[name], sumOf(instances.map(({ run }) => run.counts[name])), `${name} of all instances`);
  const all = instances.map(({ rows }) => new Set(rows.map(({ wallet }) => wallet)));
  const used = all.flatMap((wallets) => [...wallets]);
  assert.equal(new Set(used).size, used.length, 'no wallet has samples of two instances');

  const due = instances.flatMap(({ run, rows }) => {
    const { fromUs, toUs } = windowOf(/** @type {any} */ (run));
    return rows.filter(({ intended_at_us: atUs }) => atUs >= fromUs && atUs <= toUs);
  });
  const good = due.filter(({ outcome }) => outcome === 'verified');
  const late = due.filter(({ outcome }) => outcome === 'timed_out');
  const censored = due.filter(isCensored);
  assertDistribution(merged.latency.total, [...good, ...censored].map(totalUs), 'total');
  assertDistribution(merged.latency.timedOut, late.map(totalUs), 'timed out');
  assertDistribution(merged.latency.censored, censored.map(totalUs), 'censored');
  const lags = due.map((row) => row.started_at_us - row.intended_at_us);
  assertDistribution(merged.lag, lags, 'lag');
  const stages = good.map(stagesUs);
  for (const name of Object.keys(merged.latency.stages)) {
    const ofStage = stages.flatMap((stage) => stage[/** @type {keyof typeof stage} */ (name)] ?? []);
    assertDistribution(merged.latency.stages[name], ofStage, name);
  }
}

/**
 * Everything that must hold where all instances ended well on chains that lost nothing.
 * @param {object} options
 * @param {RunFile} options.merged
 * @param {Array<{run: RunFile, rows: Row[]}>} options.instances by index
 * @param {WalletFacts[]} options.wallets of all slices, in order
 * @param {number} options.skewMs the largest difference between their starts that is still a common start
 */
export function assertScaledOut({ merged, instances, wallets, skewMs }) {
  const verified = sumOf(instances.map(({ run }) => run.counts.verified));
  assert.ok(verified >= wallets.length, `${verified} increments of ${wallets.length} wallets`);
  assert.equal(merged.counts.verified, verified, 'the merged count is the sum over the instances');
  assert.equal(totalCount(wallets), verified, 'and what the counters on the chain say');
  assertUsedOnce(wallets, wallets.length / instances.length);
  assertMergedExactly(merged, instances);
  assert.equal(merged.audit.exact, true);
  assert.equal(Number(merged.audit.effectsOnChain), verified);

  const startsMs = instances.map(({ run }) => Date.parse(run.window.startedAt));
  const skew = Math.max(...startsMs) - Math.min(...startsMs);
  assert.ok(skew <= skewMs, `the instances began within ${skew} ms`);
  assert.equal(typeof merged.merged.startSkewMs, 'number', 'start skew is reported');
  assert.ok(Math.abs(merged.merged.startSkewMs - skew) <= skewMs, `${merged.merged.startSkewMs} ms of start skew`);
}

/**
 * Secrets are in none of these files and command lines.
 * @param {string[]} secrets
 * @param {object} where
 * @param {string[]} where.folders with all that is in them
 * @param {string[]} [where.except] names of files that have to have them
 * @param {number[]} [where.pids] processes that are alive
 */
export function assertUnseen(secrets, { folders, except = [], pids = [] }) {
  for (const pid of pids) {
    const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    assert.notEqual(line, '');
    for (const secret of secrets) assert.ok(!line.includes(secret), `the command line of process ${pid} has a secret`);
  }
  assert.deepEqual(filesWith(secrets, folders, except), []);
}

/** @param {string[]} secrets @param {string[]} folders @param {string[]} [except] names @returns {string[]} files that have one */
export function filesWith(secrets, folders, except = []) {
  const options = [...secrets.flatMap((secret) => ['-e', secret]), ...except.map((name) => `--exclude=${name}`)];
  const { stdout, error } = spawnSync('grep', ['-rlsiF', ...options, '--', ...folders], { encoding: 'utf8' });
  if (error) throw error;
  return stdout.split('\n').filter(Boolean);
}
