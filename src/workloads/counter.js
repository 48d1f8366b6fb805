import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { getCreateAddress, isAddress } from 'ethers';
import { toBigInt, toNumber } from '../chain/rpc.js';
import { estimateGas, sendAll } from '../chain/send.js';
import { InputError, UnavailableError, displayName, oneLine, withoutKeys } from '../errors.js';
import { writeFileAtomically } from '../files.js';
import { readAtHash, verdictAt } from './at-block.js';
import { createPayloads, drawPayloads, payloadGas } from './payload.js';

/**
 * The workload `counter`: one Counter contract per wallet, one increment per operation. The count is read back after each
 * operation, and again by the audit. Also the file of `--contracts`, which keeps the addresses for later runs. A chain is
 * identified by its genesis hash, because development chains share chain ids and are often reset.
 *
 * @import { Wallet } from '../chain/keys.js'
 * @import { Call, Purpose, Rpc, Sender, TransactionWorkload } from '../types.d.ts'
 * @import { Chain, Preparation, Settings, WorkloadOptions } from './index.js'
 * @import { PayloadState } from './payload.js'
 *
 * @typedef {object} Counter
 * @property {string} address
 * @property {number} start count before the first operation of this run
 * @property {Call} call the increment
 *
 * @typedef {object} CounterState for a worker thread
 * @property {number} first position of its first wallet in the slice
 * @property {Counter[]} counters
 * @property {PayloadState | null} payloads
 */

const SCHEMA = 'evm-stress/contracts@1';

const ARTIFACT = new URL('../../contracts/artifacts/Counter.json', import.meta.url);

/** Function selectors of contracts/Counter.sol: the first four bytes of keccak256 of each signature. */
const INCREMENT = '0xd09de08a';
const COUNT = '0x06661abd';
const SELECTOR_BYTES = 4;

/**
 * Also checks a file before the run.
 * @param {string} file
 * @returns {{genesisHash: string | null, chainId: number, contracts: Record<string, string>} | null} null: no such file
 * @throws {InputError}
 */
export function readContractsFile(file) {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return null;
    throw new InputError(
      `cannot read the contracts file ${displayName(file)}: ${oneLine(/** @type {Error} */ (error).message)}`,
    );
  }
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    throw new InputError(
      `${displayName(file)} is not valid JSON: give --contracts a file that stress wrote, or a new name`,
    );
  }
  if (json?.schema !== SCHEMA || typeof json.contracts !== 'object' || json.contracts === null) {
    throw new InputError(
      `${displayName(file)} is not a contracts file (schema ${SCHEMA}): give --contracts a file that stress wrote, or a new name`,
    );
  }
  const bad = Object.entries(json.contracts).find((pair) => !pair.every((address) => isAddress(address)));
  if (bad !== undefined)
    throw new InputError(
      `${displayName(file)}: the entry for ${oneLine(withoutKeys(bad[0]), 50)} is not a pair of addresses`,
    );
  return json;
}

/**
 * @param {string} file
 * @param {Chain} chain
 * @returns {Map<string, string>} contract by wallet; empty if there is no file, or it is of another chain
 * @throws {InputError}
 */
export function readContracts(file, { genesisHash }) {
  const json = readContractsFile(file);
  return new Map(genesisHash !== null && json?.genesisHash === genesisHash ? Object.entries(json.contracts) : []);
}

/**
 * @param {string} file
 * @param {Chain} chain
 * @param {Map<string, string>} known contracts of other wallets on the same chain, which are kept in the file
 * @param {Wallet[]} wallets
 * @param {string[]} addresses by position
 */
export async function writeContracts(file, { chainId, genesisHash }, known, wallets, addresses) {
  const contracts = {
    ...Object.fromEntries(known),
    ...Object.fromEntries(wallets.map(({ address }, i) => [address, addresses[i]])),
  };
  await writeFileAtomically(file, `${JSON.stringify({ schema: SCHEMA, chainId, genesisHash, contracts }, null, 2)}\n`);
}

/** @param {WorkloadOptions} options @returns {TransactionWorkload} */
export function createCounterWorkload({ rpc, settings, state }) {
  return new CounterWorkload(rpc, settings, /** @type {CounterState | undefined} */ (state));
}

class CounterWorkload {
  kind = /** @type {const} */ ('transaction');
  subject = 'counters grew by';
  valueWei = 0n;
  gas;
  #artifact = JSON.parse(readFileSync(ARTIFACT, 'utf8'));
  /** By position. @type {Counter[]} */
  #counters;
  #rpc;
  #contractsFile;
  /**
   * Appended to the data of every transaction, where the contract ignores it. Without it, two instances that use the same
   * wallets by mistake would send identical transactions, and each would count those of the other as its own.
   */
  #tag = randomBytes(4).toString('hex');
  #first;
  /** Replaces the tag with --payload. @type {PayloadState | null} */
  #payloads;
  /** @type {ReturnType<typeof createPayloads> | null} */
  #payloadOf;

  /** @param {Rpc} rpc @param {Settings} settings @param {CounterState} [state] */
  constructor(rpc, { contracts = null, payload = null }, state) {
    this.#counters = state?.counters ?? [];
    this.#first = state?.first ?? 0;
    // The selector is part of the calldata.
    this.#payloads = state?.payloads ?? (payload === null ? null : drawPayloads(payload - SELECTOR_BYTES));
    this.#payloadOf = this.#payloads === null ? null : createPayloads(this.#payloads);
    this.#rpc = rpc;
    this.#contractsFile = contracts;
    const { most, likely } = payloadGas(payload);
    // A deployment takes about 140,000 gas, the first increment of a counter 43,500; these are upper bounds.
    this.gas = {
      perWallet: 250_000n,
      perOperation: 50_000n + most,
      likely: { perWallet: 150_000n, perOperation: 27_000n + likely },
    };
  }

  /** @param {Pick<Preparation, 'wallets' | 'chain'>} preparation */
  async unprepared({ wallets, chain }) {
    const known = this.#contractsFile === null ? new Map() : readContracts(this.#contractsFile, chain);
    return (await this.#deployedCounters(wallets, known)).filter((address) => address === null).length;
  }

  /** @param {Preparation} preparation */
  async prepare({ wallets, sender, chain, onProgress }) {
    const known = this.#contractsFile === null ? new Map() : readContracts(this.#contractsFile, chain);
    const found = await this.#deployedCounters(wallets, known);
    const missing = wallets.filter((_, i) => found[i] === null);
    const deployed = await this.#deploy(missing, sender, (done) =>
      onProgress('deploying counters', done, missing.length),
    );
    const addresses = wallets.map((wallet, i) => found[i] ?? /** @type {string} */ (deployed.get(wallet)));
    if (this.#contractsFile !== null) await writeContracts(this.#contractsFile, chain, known, wallets, addresses);

    const counts = await this.#readCounts(addresses, 'latest', 'setup');
    // The first increment of a counter costs most, so the estimate for the lowest count is enough for all.
    const lowest = counts.indexOf(Math.min(...counts));
    const data = INCREMENT + (this.#payloadOf?.(lowest, wallets[lowest].nonce) ?? this.#tag);
    const gasLimit = await estimateGas(this.#rpc, { from: wallets[lowest].address, to: addresses[lowest], data });
    this.#counters = addresses.map((address, i) => ({
      address,
      start: counts[i],
      call: { to: address, data, value: 0n, gasLimit },
    }));
  }

  /** @param {number} first @param {number} count @returns {CounterState} */
  handOver(first, count) {
    return { first, counters: this.#counters.slice(first, first + count), payloads: this.#payloads };
  }

  /** @param {number} position @param {number} nonce @returns {Call} */
  next(position, nonce) {
    const { call } = this.#counters[position];
    if (this.#payloadOf === null) return call;
    return { ...call, data: INCREMENT + this.#payloadOf(this.#first + position, nonce) };
  }

  /** @type {TransactionWorkload['verify']} */
  verify(position, executed, inclusion, attempt) {
    const { address, start } = this.#counters[position];
    /** @param {string} block */
    const readCount = (block) => this.#rpc.gather('eth_call', [{ to: address, data: COUNT }, block], 'readback');
    return verdictAt(readCount, { start, shownFrom: 0, target: address }, executed, inclusion, attempt);
  }

  /** @type {TransactionWorkload['audit']} */
  async audit(blockHash, blockNumber) {
    const addresses = this.#counters.map(({ address }) => address);
    const counts = await readAtHash((block) => this.#readCounts(addresses, block, 'audit'), blockHash, blockNumber);
    return this.#counters.map(({ address, start }, i) => ({
      start: BigInt(start),
      now: BigInt(counts[i]),
      target: address,
    }));
  }

  /**
   * @param {Wallet[]} wallets
   * @param {Map<string, string>} known
   * @returns {Promise<Array<string | null>>} by position, the known contracts that are on the chain
   */
  async #deployedCounters(wallets, known) {
    const addresses = wallets.map(({ address }) => known.get(address) ?? null);
    const listed = wallets.map((_, i) => i).filter((i) => addresses[i] !== null);
    const codes = await this.#rpc.batch(
      listed.map((i) => ({ method: 'eth_getCode', params: [addresses[i], 'latest'] })),
      'setup',
    );
    listed.forEach((i, k) => {
      if (typeof codes[k] !== 'string' || codes[k].toLowerCase() !== this.#runtimeCode(wallets[i].address))
        addresses[i] = null;
    });
    return addresses;
  }

  /** The code of a Counter contains its owner as an immutable. @param {string} owner */
  #runtimeCode(owner) {
    const word = owner.slice(2).toLowerCase().padStart(64, '0');
    let code = this.#artifact.deployedBytecode.slice(2);
    for (const { start, length } of this.#artifact.immutables) {
      code = code.slice(0, start * 2) + word + code.slice((start + length) * 2);
    }
    return `0x${code}`;
  }

  /**
   * @param {Wallet[]} wallets
   * @param {Sender} sender
   * @param {(done: number) => void} onProgress
   * @returns {Promise<Map<Wallet, string>>} addresses
   */
  async #deploy(wallets, sender, onProgress) {
    if (wallets.length === 0) return new Map();
    const bytecode = this.#artifact.bytecode + this.#tag;
    const gasLimit = await estimateGas(this.#rpc, { from: wallets[0].address, data: bytecode });
    const nonces = wallets.map(({ nonce }) => nonce);
    const orders = wallets.map((wallet) => ({ wallet, to: null, data: bytecode, value: 0n, gasLimit }));
    const receipts = await sendAll(sender, orders, onProgress);
    const failed = receipts.findIndex(({ status }) => toNumber(status) !== 1);
    if (failed !== -1) {
      const { transactionHash } = receipts[failed];
      throw new UnavailableError(
        `the deployment for wallet ${wallets[failed].index} was reverted: see transaction ${transactionHash}`,
      );
    }
    return new Map(wallets.map((wallet, i) => [wallet, getCreateAddress({ from: wallet.address, nonce: nonces[i] })]));
  }

  /**
   * @param {string[]} addresses
   * @param {string | {blockHash: string}} block
   * @param {Purpose} purpose
   */
  async #readCounts(addresses, block, purpose) {
    const answers = await this.#rpc.batch(
      addresses.map((to) => ({ method: 'eth_call', params: [{ to, data: COUNT }, block] })),
      purpose,
    );
    return answers.map((answer) => Number(toBigInt(answer)));
  }
}
