import { askAll, nonceOf } from '../chain/answers.js';
import { UnavailableError } from '../errors.js';
import { randomNumbers } from '../random.js';
import { optionOf, readCall, revertWords } from './contract-abi.js';
import { estimateCalls, isPrecompile, largest, positionsEstimated, refuseWithoutCode } from './first-calls.js';
import { checkOf } from './receipts.js';
import { NO_CALL } from './table.js';
import { picker } from './templates.js';

/**
 * The workload `contract`: each operation calls a function of any contract, one that is on the chain already (--contract-address)
 * or one that the set-up deploys (--deploy). The members of a mix that `workloads` names are such calls, too. An operation is
 * verified by the status of its receipt; the audit reads receipts and nonces, and with --check-event an event of each
 * operation.
 *
 * @import { ContractCall, Gas, TransactionWorkload as WholeWorkload } from '../contracts/load.d.ts'
 * @import { EventFragment } from 'ethers/abi'
 * @import { AuditSnapshot, Call, Kit, TransactionWorkload, Wallet } from '../contracts/workload.d.ts'
 * @import { TemplateValues } from './calls.js'
 * @import { Encoder, PlannedCall } from './contract-abi.js'
 * @import { BuiltInOptions } from './index.js'
 *
 * @typedef {{to: string, gasLimits: readonly bigint[], addresses: readonly string[], firstIndex: number, abi: readonly string[] | null}} State
 *   for a worker thread; firstIndex: of the wallets of the run
 */

/** Gas of a call that cannot be estimated before the set-up, and of a deployment. */
const CALL_GAS = 500_000n;
const CREATION_GAS = 3_000_000n;

/** @param {BuiltInOptions} options @returns {Promise<TransactionWorkload & Pick<WholeWorkload, 'measure' | 'revertWords'>>} */
export default async function create({ state, name = 'contract', ...options }) {
  /** @type {ContractCall} */
  const call = { ...NO_CALL, ...options.settings };
  const planned = await readCall(call, name, { known: state?.abi, artifacts: options.deployed?.artifacts });
  const caller = new Caller({ ...options, name }, call, planned, state);
  const { kit } = options;
  const { words, event, abi, before, creation } = planned;
  const valueWei = caller.valueWei;
  return {
    kind: 'transaction',
    subject: `wallets called ${words}:`,
    valueWei,
    get gas() {
      return { ...caller.gas, value: { perOperation: valueWei } };
    },
    measure: (wallets) => caller.measure(wallets),
    unprepared: async ({ wallets }) => (before !== null ? wallets.length : creation !== null ? 1 : 0),
    prepare: ({ wallets }) => caller.prepare(wallets),
    next: caller.next,
    verify: kit.verifyByReceipt(),
    revertWords: (data) => revertWords(abi, data),
    reconcile: event === null ? undefined : (snapshot) => countEvents(kit, snapshot, event),
    facts: () => ({ contract: caller.to, call: words, valueWei: String(valueWei), seed: kit.seed }),
    handOver: () => caller.toState(),
  };
}

/** The calls of the wallets, and their gas. */
class Caller {
  /** Address of the contract. */
  to = '';
  /** For the funding check; estimated before anything is sent, as far as the contract is there. @type {Gas} */
  gas;
  /** One for each line of calldata, or one. @type {readonly bigint[]} */
  #gasLimits = [];
  /** Addresses of the slice. @type {readonly string[]} */
  #addresses = [];
  #firstIndex = 0;
  /** Calls that do not depend on the nonce: of each line, or of each wallet. The same object is encoded once. @type {Call[]} */
  #known = [];
  #areConstant;
  #areOfWallets;
  #call;
  #planned;
  #options;

  /**
   * @param {Pick<BuiltInOptions, 'kit' | 'rpc' | 'deployed'> & {name: string}} options
   * @param {ContractCall} call
   * @param {PlannedCall} planned
   * @param {State} [state] in a worker thread
   */
  constructor(options, call, planned, state) {
    const { encoders, before } = planned;
    this.#options = options;
    this.#call = call;
    this.#planned = planned;
    this.valueWei = call.callValueWei ?? 0n;
    this.#areConstant = encoders.every(({ isConstant }) => isConstant);
    this.#areOfWallets = encoders.length === 1 && !needs(encoders, 'draw') && !needs(encoders, 'nonce');
    this.gas = gasFor({ creationGas: call.deploy && CREATION_GAS, beforeGas: before && CALL_GAS });
    if (state === undefined) return;
    this.to = state.to;
    this.#gasLimits = state.gasLimits;
    this.#addresses = state.addresses;
    this.#firstIndex = state.firstIndex;
  }

  /** For a worker thread. @returns {State} */
  toState() {
    const { encoders, fragments } = this.#planned;
    return {
      to: this.to,
      gasLimits: this.#gasLimits,
      addresses: needs(encoders, 'addresses') ? this.#addresses : [],
      firstIndex: this.#firstIndex,
      abi: fragments,
    };
  }

  /** @param {number} position @param {number} nonce @returns {Call} */
  next = (position, nonce) => {
    const { encoders } = this.#planned;
    const line = encoders.length === 1 ? 0 : (this.#options.kit.indexOf(position) + nonce) % encoders.length;
    if (this.#areConstant) return (this.#known[line] ??= this.#callOf(line, position, nonce));
    if (this.#areOfWallets) return (this.#known[position] ??= this.#callOf(line, position, nonce));
    return this.#callOf(line, position, nonce);
  };

  /** Before anything is sent. @param {readonly Wallet[]} wallets */
  async measure(wallets) {
    this.#begin(wallets);
    const { name, rpc, kit } = this.#options;
    const { creation, before, encoders, abi } = this.#planned;
    const { contractAddress } = this.#call;
    // The index of a wallet is in the values of templates.
    for (const { check } of before === null ? encoders : [...encoders, before])
      check(this.#valuesOf(wallets.length - 1, 0));
    if (creation !== null) {
      creation.check(this.#valuesOf(0, 0));
      const data = creation.dataOf(this.#valuesOf(0, 0));
      const first = { words: `the constructor of ${optionOf(name, 'deploy')}`, wallet: wallets[0], to: null, data };
      const [creationGas] = await estimateCalls(kit, [first], { abi, fallback: CREATION_GAS });
      this.gas = gasFor({ creationGas, beforeGas: before && CALL_GAS, threads: wallets.length });
    }
    if (!isAddress(contractAddress)) return;
    this.to = contractAddress;
    // A payment needs no code, and a precompile has none.
    const isPayment = encoders.every((one) => one.isConstant && one.dataOf(this.#valuesOf(0, 0)) === '0x');
    if (!isPayment && !isPrecompile(this.to)) await refuseWithoutCode(rpc, this.to, optionOf(name, 'contract-address'));
    const nonces = (/** @type {readonly Wallet[]} */ some) =>
      askAll(
        rpc,
        some.map(({ address }) => nonceOf(address, 'latest')),
        'setup',
      );
    const beforeGas = before && largest(await this.#estimateAll(wallets, nonces, [before]));
    const found = await this.#estimateAll(wallets, nonces, encoders, this.valueWei).catch((error) => {
      // What the calls before the load change may let it succeed.
      if (before === null || !(error instanceof UnavailableError)) throw error;
      return [CALL_GAS];
    });
    this.gas = gasFor({ beforeGas, callGas: largest(found) });
  }

  /** Deploys, calls what comes before the load, and estimates the operations anew. @param {readonly Wallet[]} wallets */
  async prepare(wallets) {
    this.#begin(wallets);
    const { kit, name, deployed } = this.#options;
    const { creation, before, encoders } = this.#planned;
    const { contractAddress } = this.#call;
    const [first] = wallets;
    if (creation !== null) {
      const data = `${creation.dataOf(this.#valuesOf(0, first.nonce))}${kit.tag}`;
      this.to = kit.createAddress(first.address, first.nonce);
      await kit.sendAll([{ position: 0, to: null, data }], 'deploying the contract');
      deployed?.addresses.set(name, this.to);
    } else
      this.to = isAddress(contractAddress) ? contractAddress : (deployed?.addresses.get(String(contractAddress)) ?? '');
    const nonces = async (/** @type {readonly Wallet[]} */ some) => some.map(({ nonce }) => nonce);
    if (before !== null) {
      const gasLimit = largest(await this.#estimateAll(wallets, nonces, [before]));
      const calls = wallets.map(({ nonce }, position) => {
        return { position, to: this.to, data: before.dataOf(this.#valuesOf(position, nonce)), gasLimit };
      });
      await kit.sendAll(calls, `calling ${before.words}`);
    }
    const found = await this.#estimateAll(wallets, nonces, encoders, this.valueWei);
    this.#gasLimits = encoders.length > 1 ? found : [largest(found)];
  }

  /** @param {readonly Wallet[]} wallets */
  #begin(wallets) {
    this.#addresses = wallets.map(({ address }) => address);
    this.#firstIndex = wallets[0].index;
    this.#known = [];
  }

  /** @param {number} position @param {number} nonce @returns {TemplateValues} */
  #valuesOf(position, nonce) {
    const { kit } = this.#options;
    const index = kit.indexOf(position);
    const pick = picker({ random: randomNumbers(kit.draw(position, nonce)) });
    const own = { walletIndex: this.#firstIndex + index, nonce };
    return /** @type {any} */ ({ user: { index }, addresses: this.#addresses, pick, ...own });
  }

  /** @param {number} line @param {number} position @param {number} nonce @returns {Call} */
  #callOf(line, position, nonce) {
    const data = this.#planned.encoders[line].dataOf(this.#valuesOf(position, nonce));
    return { to: this.to, data, value: this.valueWei, gasLimit: this.#gasLimits[line] };
  }

  /**
   * The gas of each line, or of the first operation of some wallets.
   * @param {readonly Wallet[]} wallets
   * @param {(some: readonly Wallet[]) => Promise<readonly number[]>} noncesOf
   * @param {readonly Encoder[]} encoders
   * @param {bigint} [value]
   * @returns {Promise<bigint[]>}
   * @throws {UnavailableError} one of them would fail
   */
  async #estimateAll(wallets, noncesOf, encoders, value = 0n) {
    const isFile = encoders.length > 1;
    const positions = isFile ? encoders.map((_, line) => line % wallets.length) : positionsEstimated(wallets.length);
    const nonces = await noncesOf(positions.map((position) => wallets[position]));
    const calls = positions.map((position, i) => {
      const { words, dataOf } = encoders[isFile ? i : 0];
      const data = dataOf(this.#valuesOf(position, nonces[i]));
      return { words, wallet: wallets[position], to: this.to, data, value };
    });
    return estimateCalls(this.#options.kit, calls, { abi: this.#planned.abi, fallback: CALL_GAS });
  }
}

/**
 * Each operation that succeeded has emitted the event.
 * @param {Kit} kit
 * @param {AuditSnapshot} snapshot
 * @param {EventFragment} event
 */
async function countEvents(kit, snapshot, event) {
  let [succeeded, found, lacking] = [0, 0, ''];
  const { check, why } = await kit.checkReceipts(snapshot, (_position, _nonce, receipt) => {
    if (!receipt.succeeded) return;
    succeeded += 1;
    if (receipt.logs.some(({ topics }) => topics[0] === event.topicHash)) found += 1;
    else lacking ||= ` (${receipt.transactionHash} has none)`;
  });
  const words = `operations with an event ${event.format('sighash')}`;
  return [check, checkOf('events', words, succeeded, `${found}${lacking}`, why)];
}

/** @param {readonly Encoder[]} encoders @param {'draw' | 'nonce' | 'addresses'} need */
function needs(encoders, need) {
  return encoders.some((encoder) => encoder.needs.has(need));
}

/**
 * The first wallet deploys for all.
 * @param {{creationGas?: bigint | '' | null, beforeGas?: bigint | null, callGas?: bigint, threads?: number}} measured
 * @returns {Gas}
 */
function gasFor({ creationGas, beforeGas, callGas = CALL_GAS, threads = 1 }) {
  const [creation, before] = [creationGas || 0n, beforeGas || 0n];
  const likely = before === 0n ? creation : before + creation / BigInt(threads);
  return {
    perWallet: creation + before,
    perOperation: callGas,
    likely: { perWallet: likely, perOperation: callGas },
  };
}

/** Otherwise it is the name of another call of the mix, whose contract is called. @param {string | null} text @returns {text is string} */
function isAddress(text) {
  return text !== null && text.startsWith('0x');
}
