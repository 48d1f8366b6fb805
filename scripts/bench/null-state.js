/**
 * The state of the null chain: blocks, nonces and counts, all of which are known for the last KEPT_BLOCKS blocks.
 * There is no EVM: a deployment makes a Counter, an increment adds one, anything else only uses up its nonce.
 */
import { getCreateAddress } from 'ethers';
import { createKeccak } from 'hash-wasm';
import { takeBlock } from './null-lanes.js';
import { createSenderRecovery, readFields } from './null-transaction.js';

/**
 * @typedef {object} Account
 * @property {string} address in lower case without 0x, as all addresses in here
 * @property {number} next nonce, including what waits for the next block
 * @property {Series} nonces by block
 *
 * @typedef {object} Contract
 * @property {string} address
 * @property {Account} owner
 * @property {number} submitted count, including what waits for the next block
 * @property {Series} counts by block; without a value before its deployment
 *
 * @typedef {object} Transaction
 * @property {string} hash
 * @property {Account} from
 * @property {number} nonce
 * @property {string | null} to
 * @property {Contract | null} contract that it deploys or increments
 * @property {number} count of that contract after it
 * @property {string} slot what it writes: transactions of the same slot are serial
 * @property {Block | null} block null while it waits
 *
 * @typedef {object} Block
 * @property {number} number
 * @property {string} hash
 * @property {string} parentHash
 * @property {number} timestampS
 * @property {Transaction[]} transactions
 */

/** Some 30 seconds, and more than any node keeps states for by default. */
const KEPT_BLOCKS = 300;

/** The largest transaction that geth takes. */
const MAX_TRANSACTION_BYTES = 128 * 1024;

/** Selector of Counter.increment(). */
const INCREMENT = 'd09de08a';
/** Selector of Contention.write(slot, nonce). */
const WRITE = '9c0e3f7a';

const SLOTS = Object.freeze({
  slotOf: (/** @type {Transaction} */ { slot }) => slot,
  senderOf: (/** @type {Transaction} */ { from }) => from,
});

/** An error that the caller of a method is told. */
export class Fault extends Error {
  /** @param {number} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** A number that changes from block to block, known for the last KEPT_BLOCKS blocks. */
class Series {
  /** @type {number[]} */
  #blocks = [];
  /** @type {number[]} */
  #values = [];

  /** @param {number} block @param {number} value from this block on */
  set(block, value) {
    const last = this.#blocks.length - 1;
    if (this.#blocks[last] === block) this.#values[last] = value;
    else {
      this.#blocks.push(block);
      this.#values.push(value);
      // Each entry is of a block of its own, so what is left reaches back KEPT_BLOCKS at least.
      if (last > 2 * KEPT_BLOCKS) {
        this.#blocks.splice(0, KEPT_BLOCKS);
        this.#values.splice(0, KEPT_BLOCKS);
      }
    }
  }

  /** @param {number} block @returns {number | undefined} undefined before the first value */
  at(block) {
    for (let i = this.#blocks.length - 1; i >= 0; i -= 1) if (this.#blocks[i] <= block) return this.#values[i];
    return undefined;
  }
}

/** @param {number} chainId */
export async function createState(chainId) {
  const hasher = await createKeccak(256);
  return new State(chainId, (bytes) => hasher.init().update(bytes).digest('hex'));
}

export class State {
  /** @type {Map<number, Block>} */
  blocks = new Map();
  /** @type {Map<string, Block>} */
  blocksByHash = new Map();
  /** Those of the kept blocks, and those that wait. @type {Map<string, Transaction>} */
  transactions = new Map();
  /** @type {Map<string, Account>} */
  #accounts = new Map();
  /** @type {Map<string, Contract>} */
  #contracts = new Map();
  /** @type {Transaction[]} */
  #pool = [];
  /** How many there have been, by which the end of a set-up can be told. */
  deployments = 0;
  #bytes = Buffer.alloc(MAX_TRANSACTION_BYTES);
  #keccak;
  #senderOf;

  /** @param {number} chainId @param {(bytes: Uint8Array) => string} keccak in hex */
  constructor(chainId, keccak) {
    this.chainId = chainId;
    this.#keccak = keccak;
    this.#senderOf = createSenderRecovery(keccak);
    this.head = this.#append([]);
  }

  /**
   * Makes the next block.
   * @param {number} most transactions that it takes of those that wait, in the order in which they came
   * @param {number} [perSlot] those of them that write the same slot
   */
  mine(most, perSlot = Infinity) {
    // Benchmarks without lanes do not pay for them.
    const isFree = perSlot === Infinity;
    const transactions = isFree ? this.#pool.splice(0, most) : takeBlock(this.#pool, { most, perSlot }, SLOTS);
    this.head = this.#append(transactions);
    for (const transaction of transactions) {
      const { from, nonce, contract, count } = transaction;
      transaction.block = this.head;
      from.nonces.set(this.head.number, nonce + 1);
      contract?.counts.set(this.head.number, count);
    }
  }

  /** @param {Transaction[]} transactions @returns {Block} */
  #append(transactions) {
    const number = this.head === undefined ? 0 : this.head.number + 1;
    const parentHash = this.head === undefined ? `0x${'0'.repeat(64)}` : this.head.hash;
    const hash = `0x${this.#keccak(Buffer.from(`${parentHash}${number}`))}`;
    const block = { number, hash, parentHash, timestampS: Math.floor(Date.now() / 1000), transactions };
    this.blocks.set(number, block);
    this.blocksByHash.set(hash, block);
    const old = this.blocks.get(number - KEPT_BLOCKS);
    if (old !== undefined && old.number > 0) this.#forget(old); // the first block is what a chain is known by
    return block;
  }

  /** @param {Block} block */
  #forget(block) {
    this.blocks.delete(block.number);
    this.blocksByHash.delete(block.hash);
    for (const { hash } of block.transactions) this.transactions.delete(hash);
  }

  /** @param {string} raw a signed transaction, in hex with 0x @returns {string} its hash */
  submit(raw) {
    const size = (raw.length - 2) / 2;
    if (size > MAX_TRANSACTION_BYTES) throw new Fault(-32000, 'oversized data');
    if (this.#bytes.write(raw.slice(2), 'hex') !== size) throw new Fault(-32602, 'the transaction is not hex');
    const hash = `0x${this.#keccak(this.#bytes.subarray(0, size))}`;
    const { nonce, to, selector, word } = this.#read();
    const contract = (selector === INCREMENT && this.#contracts.get(to)) || null;
    // Only the owner can increment a Counter, so the sender is known.
    const from = contract?.owner ?? this.account(this.#senderOf(raw));
    this.#checkNonce(from, nonce, hash);
    from.next += 1;
    const target = contract ?? (to === '' ? this.#deploy(from, nonce) : null);
    if (contract !== null) contract.submitted += 1;
    const count = target === null ? 0 : target.submitted;
    // A write of contracts/Contention.sol; other transactions write something of their sender.
    const slot = selector === WRITE ? word : from.address;
    const transaction = { hash, from, nonce, to: to === '' ? null : to, contract: target, count, slot, block: null };
    this.#pool.push(transaction);
    this.transactions.set(hash, transaction);
    return hash;
  }

  #read() {
    const fields = readFields(this.#bytes);
    if (fields === null) throw new Fault(-32000, 'transaction type not supported');
    return fields;
  }

  /** @param {Account} account @param {number} nonce @param {string} hash */
  #checkNonce({ address, next }, nonce, hash) {
    if (nonce === next) return;
    if (this.transactions.has(hash)) throw new Fault(-32000, 'already known');
    const state = `address 0x${address}, tx: ${nonce} state: ${next}`;
    throw new Fault(-32000, nonce < next ? `nonce too low: ${state}` : `nonce too high: ${state}`);
  }

  /** @param {Account} owner @param {number} nonce @returns {Contract} */
  #deploy(owner, nonce) {
    this.deployments += 1;
    const address = getCreateAddress({ from: `0x${owner.address}`, nonce })
      .slice(2)
      .toLowerCase();
    const contract = { address, owner, submitted: 0, counts: new Series() };
    this.#contracts.set(address, contract);
    return contract;
  }

  /** @param {string} address @returns {Account} a new one if it is unknown */
  account(address) {
    let account = this.#accounts.get(address);
    if (account === undefined) {
      account = { address, next: 0, nonces: new Series() };
      this.#accounts.set(address, account);
    }
    return account;
  }

  /** @param {string} address @param {number} block @returns {number} */
  nonceAt(address, block) {
    return this.#accounts.get(address)?.nonces.at(block) ?? 0;
  }

  /** @param {string} address @returns {Contract | undefined} */
  contract(address) {
    return this.#contracts.get(address);
  }
}
