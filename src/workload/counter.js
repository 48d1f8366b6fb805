import { readFileSync } from 'node:fs';
import { getCreateAddress } from 'ethers';
import { toBigInt, toHex, toNumber } from '../chain/rpc.js';
import { estimateGas, sendAll } from '../chain/send.js';
import { RpcError, UnavailableError } from '../errors.js';
import { readContracts, writeContracts } from './contracts-file.js';

/**
 * One Counter per wallet, and one increment of it per operation. The count is the effect: it is read back after
 * each operation, and read again by the audit.
 */

const ARTIFACT = new URL('../../contracts/artifacts/Counter.json', import.meta.url);

/** Function selectors of contracts/Counter.sol: the first four bytes of keccak256 of each signature. */
const INCREMENT = '0xd09de08a';
const COUNT = '0x06661abd';

/**
 * @param {import('./index.js').WorkloadOptions} options
 * @returns {import('./index.js').Workload}
 */
export function createCounterWorkload({ rpc, contractsFile }) {
  const artifact = JSON.parse(readFileSync(ARTIFACT, 'utf8'));
  /** @type {Array<{address: string, start: number, call: import('./index.js').Call}>} */
  let counters = [];

  /** @param {import('./index.js').Preparation} preparation */
  async function prepare({ wallets, sender, chain, onProgress }) {
    const known = contractsFile === null ? new Map() : readContracts(contractsFile, chain);
    const addresses = await stillThere(wallets, known);
    const missing = wallets.filter((_, i) => addresses[i] === null);
    if (missing.length > 0) {
      const deployed = await deploy(missing, sender, (done) => onProgress('deploying counters', done, missing.length));
      for (let i = 0; i < wallets.length; i += 1) addresses[i] ??= deployed.get(wallets[i]) ?? null;
    }
    const all = /** @type {string[]} */ (addresses);
    if (contractsFile !== null) writeContracts(contractsFile, chain, known, wallets, all);

    const counts = await readCounts(all, 'latest', 'setup');
    // The first increment of a counter costs most, so the lowest count gives the estimate that suits them all.
    const lowest = counts.indexOf(Math.min(...counts));
    const gasLimit = await estimateGas(rpc, { from: wallets[lowest].address, to: all[lowest], data: INCREMENT });
    counters = all.map((address, i) => ({
      address,
      start: counts[i],
      call: { to: address, data: INCREMENT, value: 0n, gasLimit },
    }));
  }

  /** @param {import('../chain/wallets.js').Wallet[]} wallets @param {Map<string, string>} known @returns {Promise<Array<string | null>>} */
  async function stillThere(wallets, known) {
    const addresses = wallets.map(({ address }) => known.get(address) ?? null);
    const asked = wallets.map((_, i) => i).filter((i) => addresses[i] !== null);
    const codes = await rpc.batch(
      asked.map((i) => ({ method: 'eth_getCode', params: [addresses[i], 'latest'] })),
      'setup',
    );
    asked.forEach((i, k) => {
      if (codes[k].toLowerCase() !== runtimeCode(wallets[i].address)) addresses[i] = null;
    });
    return addresses;
  }

  /** What the chain holds as the code of a Counter that this wallet owns: the owner is an immutable inside it. @param {string} owner */
  function runtimeCode(owner) {
    const word = owner.slice(2).toLowerCase().padStart(64, '0');
    let code = artifact.deployedBytecode.slice(2);
    for (const { start, length } of artifact.immutables) {
      code = code.slice(0, start * 2) + word + code.slice((start + length) * 2);
    }
    return `0x${code}`;
  }

  /**
   * @param {import('../chain/wallets.js').Wallet[]} wallets
   * @param {import('../chain/send.js').Sender} sender
   * @param {(done: number) => void} onProgress
   */
  async function deploy(wallets, sender, onProgress) {
    const gasLimit = await estimateGas(rpc, { from: wallets[0].address, data: artifact.bytecode });
    const nonces = wallets.map(({ nonce }) => nonce);
    const orders = wallets.map((wallet) => ({ wallet, to: null, data: artifact.bytecode, value: 0n, gasLimit }));
    const receipts = await sendAll(sender, orders, onProgress);
    const failed = receipts.findIndex(({ status }) => toNumber(status) !== 1);
    if (failed !== -1) {
      throw new UnavailableError(
        `the deployment for wallet ${wallets[failed].index} was reverted (transaction ${receipts[failed].transactionHash})`,
      );
    }
    return new Map(wallets.map((wallet, i) => [wallet, getCreateAddress({ from: wallet.address, nonce: nonces[i] })]));
  }

  /**
   * @param {string[]} addresses
   * @param {string | {blockHash: string}} block
   * @param {import('../chain/rpc.js').Purpose} purpose
   */
  async function readCounts(addresses, block, purpose) {
    const answers = await rpc.batch(
      addresses.map((to) => ({ method: 'eth_call', params: [{ to, data: COUNT }, block] })),
      purpose,
    );
    return answers.map((answer) => Number(toBigInt(answer)));
  }

  /** @type {import('./index.js').Workload['verify']} */
  async function verify(position, ordinal, inclusion, attempt) {
    const { address, start } = counters[position];
    // Only the owner can increment, and it has nothing else under way, so where the node no longer has (or not
    // yet has) the state of that block, the latest state says the same.
    const block = attempt === 0 ? toHex(inclusion.number) : 'latest';
    let answer;
    try {
      answer = await rpc.call('eth_call', [{ to: address, data: COUNT }, block], 'readback');
    } catch (error) {
      if (error instanceof RpcError) return { state: 'behind', effect: null, target: address };
      throw error;
    }
    const count = Number(toBigInt(answer));
    const expected = start + ordinal;
    const state = count === expected ? 'ok' : count < expected ? 'behind' : 'wrong';
    return { state, effect: String(count), target: address };
  }

  /** @type {import('./index.js').Workload['audit']} */
  async function audit(blockHash, blockNumber) {
    const addresses = counters.map(({ address }) => address);
    let counts;
    try {
      counts = await readCounts(addresses, { blockHash }, 'audit');
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      counts = await readCounts(addresses, toHex(blockNumber), 'audit'); // a node without EIP-1898
    }
    return counters.map(({ address, start }, i) => ({ start: BigInt(start), now: BigInt(counts[i]), target: address }));
  }

  return {
    gas: { perWallet: 250_000n, perOperation: 50_000n },
    prepare,
    next: (position) => counters[position].call,
    verify,
    audit,
  };
}
