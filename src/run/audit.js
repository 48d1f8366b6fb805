import { RpcError } from '../errors.js';
import { toHex, toNumber } from '../chain/rpc.js';
import { fateOf } from './fate.js';

/**
 * Compares what this run says it did with what the chain says, wallet by wallet, at one block.
 *
 * The audit is exact when for every wallet counter = start + verified + included late, nonce = start + our
 * included transactions, and nothing is pending.
 *
 * @typedef {object} Mismatch
 * @property {number} walletIndex
 * @property {string} address
 * @property {string | null} target
 * @property {string} expectedEffect
 * @property {string} effect
 * @property {number} expectedNonce
 * @property {number} nonce
 * @property {number} pendingNonce
 *
 * @typedef {object} AuditReport
 * @property {boolean} exact
 * @property {number} blockNumber
 * @property {string} blockHash
 * @property {number} wallets
 * @property {number} verified operations that we say were verified
 * @property {number} includedLate operations found executed although they were not verified
 * @property {number} reverted operations found in a block, without effect
 * @property {number} neverSent
 * @property {number} replaced
 * @property {number} pending
 * @property {string} effectsOnChain what all counters grew by since the start, as the chain has it
 * @property {{atLeast: string, atMost: string}} bounds of the operations of ours that the chain executed
 * @property {number} mismatchCount
 * @property {Mismatch[]} mismatches the first of them
 * @property {import('./driver.js').Foreign[]} foreign
 * @property {import('./driver.js').Resolution[]} resolutions
 */

/** How many mismatching wallets are listed one by one, and how many of them are searched for foreign transactions. */
const LISTED = 100;
const SEARCHED = 50;

/**
 * @param {object} options
 * @param {import('../chain/rpc.js').Rpc} options.rpc
 * @param {import('../clock.js').Clock} options.clock
 * @param {import('../workload/index.js').Workload} options.workload
 * @param {import('./account.js').Account[]} options.accounts
 * @param {import('../metrics/recorder.js').Recorder} options.recorder
 * @param {import('./driver.js').Driver} options.driver
 * @param {number} options.timeoutMs longest wait for pending transactions
 * @param {AbortSignal} options.signal ends the waiting
 * @returns {Promise<AuditReport>}
 */
export async function audit({ rpc, clock, workload, accounts, recorder, driver, timeoutMs, signal }) {
  await waitUntilNothingPends({ rpc, clock, accounts, timeoutMs, signal });
  for (const { operation, sample } of [...driver.unresolved.values()]) {
    await driver.settle(operation, sample, await fateOf(rpc, operation, 'audit'));
  }
  const block = await rpc.call('eth_getBlockByNumber', ['latest', false], 'audit');
  const number = toNumber(block.number);
  const readings = await workload.audit(block.hash, number);
  const nonces = await noncesAt(rpc, accounts, block.hash, number);
  const pendingNonces = await readNonces(rpc, accounts, 'pending');

  /** @type {Mismatch[]} */
  const mismatches = [];
  let effects = 0n;
  let atLeast = 0n;
  accounts.forEach((account, i) => {
    const claimed = BigInt(recorder.verifiedBy[i] + account.includedLate);
    const { start, now, target } = readings[i];
    const expectedNonce = account.startNonce + recorder.verifiedBy[i] + account.includedLate + account.reverted;
    effects += now - start;
    atLeast += claimed < now - start ? claimed : now - start;
    if (now === start + claimed && nonces[i] === expectedNonce && pendingNonces[i] === nonces[i]) return;
    mismatches.push({
      walletIndex: account.wallet.index,
      address: account.wallet.address,
      target,
      expectedEffect: String(start + claimed),
      effect: String(now),
      expectedNonce,
      nonce: nonces[i],
      pendingNonce: pendingNonces[i],
    });
  });
  await searchForForeign(driver, accounts, mismatches);

  const { fates } = driver;
  return {
    exact: mismatches.length === 0 && driver.foreign.length === 0,
    blockNumber: number,
    blockHash: block.hash,
    wallets: accounts.length,
    verified: recorder.counts.verified,
    includedLate: fates.included ?? 0,
    reverted: fates.reverted ?? 0,
    neverSent: fates.never_sent ?? 0,
    replaced: fates.replaced ?? 0,
    pending: driver.unresolved.size,
    effectsOnChain: String(effects),
    bounds: { atLeast: String(atLeast), atMost: String(effects) },
    mismatchCount: mismatches.length,
    mismatches: mismatches.slice(0, LISTED),
    foreign: driver.foreign.slice(0, LISTED),
    resolutions: driver.resolutions,
  };
}

/**
 * @param {{rpc: import('../chain/rpc.js').Rpc, clock: import('../clock.js').Clock, accounts: import('./account.js').Account[], timeoutMs: number, signal: AbortSignal}} options
 */
async function waitUntilNothingPends({ rpc, clock, accounts, timeoutMs, signal }) {
  const deadlineUs = clock.nowUs() + timeoutMs * 1000;
  let open = accounts;
  while (!signal.aborted) {
    const latest = await readNonces(rpc, open, 'latest');
    const pending = await readNonces(rpc, open, 'pending');
    open = open.filter((_, i) => latest[i] !== pending[i]);
    if (open.length === 0 || clock.nowUs() > deadlineUs) return;
    await clock.sleep(200, signal);
  }
}

/** A wallet with more nonces than we used: the first one that is not ours is somebody's. @param {import('./driver.js').Driver} driver @param {import('./account.js').Account[]} accounts @param {Mismatch[]} mismatches */
async function searchForForeign(driver, accounts, mismatches) {
  const proven = new Set(driver.foreign.map(({ walletIndex }) => walletIndex));
  const suspects = mismatches.filter(
    ({ walletIndex, nonce, expectedNonce }) => nonce > expectedNonce && !proven.has(walletIndex),
  );
  const byIndex = new Map(accounts.map((account) => [account.wallet.index, account]));
  for (const { walletIndex, nonce } of suspects.slice(0, SEARCHED)) {
    const account = /** @type {import('./account.js').Account} */ (byIndex.get(walletIndex));
    if (account.wallet.nonce < nonce) await driver.accuse(account, account.wallet.nonce, []);
  }
}

/** @param {import('../chain/rpc.js').Rpc} rpc @param {import('./account.js').Account[]} accounts @param {string | {blockHash: string}} block */
async function readNonces(rpc, accounts, block) {
  const answers = await rpc.batch(
    accounts.map(({ wallet }) => ({ method: 'eth_getTransactionCount', params: [wallet.address, block] })),
    'audit',
  );
  return answers.map(toNumber);
}

/** @param {import('../chain/rpc.js').Rpc} rpc @param {import('./account.js').Account[]} accounts @param {string} blockHash @param {number} blockNumber */
async function noncesAt(rpc, accounts, blockHash, blockNumber) {
  try {
    return await readNonces(rpc, accounts, { blockHash });
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return readNonces(rpc, accounts, toHex(blockNumber)); // a node without EIP-1898
  }
}
