import { randomBytes } from 'node:crypto';
import { Interface, concat, getCreateAddress, isHexString } from 'ethers';
import { toBigInt, toHex, toNumber } from '../chain/rpc.js';
import { estimateGas, sendAll } from '../chain/send.js';
import { CheckError, RpcError, WorkloadError, oneLine } from '../errors.js';
import { readAtHash } from './at-block.js';
import { ContractError, checkedCall, placeOf, describeValue } from './contract-errors.js';
import { MAX_AUDIT_MS, Receipts, successCheck } from './receipts.js';
import { compile } from './solidity.js';

/**
 * @import { Check, Rpc, Rpc as RpcRpc } from '../types.d.ts'
 * @import { Artifact, Call, Kit, Rpc as KitRpc, Purpose } from './contract.d.ts'
 * @import { AuditSnapshot, Preparation } from './index.js'
 */

/**
 * The kit for a user's workload file: RPC access with checked parameters, deployment and other transactions of the
 * set-up, and ready-made verification and audits.
 *
 * @typedef {(wallets: readonly {address: string, nonce: number}[]) => Promise<void>} Reading
 *
 * @typedef {object} WorkloadHost
 * @property {Kit} kit
 * @property {KitRpc} rpc
 * @property {Kit['estimateGas']} measure the same, with the node's own errors
 * @property {(preparation: Preparation) => void} begin allows wallets to send
 * @property {() => Promise<void>} finish ends that, and reads the start values of the audit
 * @property {(snapshot: AuditSnapshot, verify: object) => Promise<Check[]>} checkNonces
 *   an audit by nonces reads receipts too, unless verify() does, because reverted transactions raise nonces
 */

const PURPOSES = Object.freeze(['setup', 'readback', 'audit']);

/**
 * @param {Rpc} rpc
 * @param {string} file
 * @param {() => Purpose} purposeNow the default purpose of calls
 * @returns {KitRpc}
 */
export function createWorkloadRpc(rpc, file, purposeNow) {
  /** @param {string} name @param {string} words */
  const refused = (name, words) =>
    Promise.reject(new WorkloadError(`${placeOf(new Error(), file)}: rpc.${name}: ${words}`));

  /** @param {'call' | 'gather'} name */
  const checkedMethod =
    (name) =>
    /** @param {string} method @param {unknown[]} [params] @param {Purpose} [purpose] */
    (method, params = [], purpose = purposeNow()) => {
      const wrong = wrongIn({ method, params, purpose });
      return wrong === null ? rpc[name](method, params, purpose) : refused(name, wrong);
    };

  return Object.freeze({
    call: checkedMethod('call'),
    gather: checkedMethod('gather'),
    batch: (/** @type {{method: string, params?: unknown[]}[]} */ requests, purpose = purposeNow()) => {
      if (!Array.isArray(requests))
        return refused('batch', `it takes an array of requests, not ${describeValue(requests)}`);
      const whole = requests.map((request) => ({ method: request?.method, params: request?.params ?? [] }));
      const wrong = whole.map((request) => wrongIn({ ...request, purpose })).find((words) => words !== null) ?? null;
      return wrong === null ? rpc.batch(whole, purpose) : refused('batch', wrong);
    },
  });
}

/** @param {{method: unknown, params: unknown, purpose: unknown}} given @returns {string | null} */
function wrongIn({ method, params, purpose }) {
  if (typeof method !== 'string') return `the method must be a text, not ${describeValue(method)}`;
  if (!Array.isArray(params)) return `the params of ${method} must be an array, not ${describeValue(params)}`;
  if (!PURPOSES.includes(/** @type {string} */ (purpose)))
    return `the purpose must be one of ${PURPOSES.map((one) => `'${one}'`).join(', ')}, not ${describeValue(purpose)}`;
  return null;
}

/** The part of the kit that sends transactions, in prepare() only. */
export class SetupSender {
  /** Set while prepare() runs. @type {Preparation | null} */
  preparation = null;
  #file;
  #rpc;
  #tag;

  /** @param {string} file @param {Rpc} rpc @param {string} tag appended to each deployment */
  constructor(file, rpc, tag) {
    this.#file = file;
    this.#rpc = rpc;
    this.#tag = tag;
  }

  /** @type {Kit['deployEach']} */
  deployEach = (artifact, argumentsOf = () => []) =>
    this.#pointed('deployEach', async () => {
      const { wallets } = this.#prepared();
      const nonces = wallets.map(({ nonce }) => nonce);
      const calls = wallets.map((_, position) => this.#deployment(position, artifact, argumentsOf(position)));
      await this.#send(calls, 'deploying contracts');
      return wallets.map(({ address }, i) => getCreateAddress({ from: address, nonce: nonces[i] }));
    });

  /** @type {Kit['deployOnce']} */
  deployOnce = (artifact, ...args) =>
    this.#pointed('deployOnce', async () => {
      const { address, nonce } = this.#prepared().wallets[0];
      await this.#send([this.#deployment(0, artifact, args)], 'deploying the contract');
      return getCreateAddress({ from: address, nonce });
    });

  /** @type {Kit['sendAll']} */
  sendAll = (calls, label = 'preparing') => this.#pointed('sendAll', () => this.#send(calls, label));

  /** @type {Kit['estimateGas']} */
  estimateGas = (call) => this.#pointed('estimateGas', () => this.measure(call));

  /** estimateGas with the node's own errors. @type {Kit['estimateGas']} */
  measure({ from, to, data = '0x', value = 0n }) {
    return estimateGas(this.#rpc, {
      from,
      data,
      ...(to === null ? {} : { to }),
      ...(value === 0n ? {} : { value: toHex(value) }),
    });
  }

  /** @param {number} position @param {Artifact} artifact @param {readonly unknown[]} args */
  #deployment(position, artifact, args) {
    const { abi, bytecode } = artifact ?? {};
    if (!isHexString(bytecode) || bytecode.length < 4 || bytecode.length % 2 !== 0)
      throw new TypeError(
        `the artifact must be { abi, bytecode }, and its bytecode a text of 0x and pairs of hexadecimal digits, not ${describeValue(bytecode)}`,
      );
    if (typeof abi !== 'object' && typeof abi !== 'string')
      throw new TypeError(`the artifact must be { abi, bytecode }; its abi is ${describeValue(abi)}`);
    const data = concat([bytecode, Interface.from(abi).encodeDeploy(args), `0x${this.#tag}`]);
    return { position, to: null, data };
  }

  /** @param {readonly (Call & {position: number})[]} calls @param {string} label */
  async #send(calls, label) {
    const { wallets, sender, onProgress } = this.#prepared();
    if (!Array.isArray(calls)) throw new TypeError(`it takes an array of calls, not ${describeValue(calls)}`);
    if (calls.length === 0) return;
    for (const call of calls) {
      checkedCall(call, 1n); // the gas limit is estimated below
      if (wallets[call.position] === undefined)
        throw new TypeError(`there is no wallet at position ${describeValue(call.position)}`);
    }
    const [first] = calls;
    const likely = first.gasLimit ?? (await this.measure({ ...first, from: wallets[first.position].address }));
    const orders = calls.map(({ position, to, data = '0x', value = 0n, gasLimit = likely }) => {
      return { wallet: wallets[position], to, data, value, gasLimit };
    });
    const receipts = await sendAll(sender, orders, (done) => onProgress(label, done, calls.length));
    const failed = receipts.findIndex(({ status }) => toNumber(status) !== 1);
    if (failed < 0) return;
    const { index } = orders[failed].wallet;
    throw new TypeError(`the transaction of wallet ${index} was reverted (${receipts[failed].transactionHash})`);
  }

  #prepared() {
    if (this.preparation === null) throw new TypeError('wallets can send in prepare() only');
    return this.preparation;
  }

  /** Adds the position in the user's file to errors. @template T @param {string} name @param {() => Promise<T>} action @returns {Promise<T>} */
  async #pointed(name, action) {
    const origin = new Error();
    try {
      return await action();
    } catch (error) {
      if (error instanceof ContractError) {
        const words = error.message.replace(/^returned/, 'was given').replace('must return', 'takes');
        throw new WorkloadError(`${placeOf(origin, this.#file)}: kit.${name} ${words}`);
      }
      const isRefused = error instanceof RpcError && error.method !== 'eth_sendRawTransaction';
      if (!isRefused && !(error instanceof TypeError)) throw error;
      throw new WorkloadError(`${placeOf(origin, this.#file)}: kit.${name}: ${error.message}`);
    }
  }
}

/**
 * @param {string} file of the workload, for messages
 * @param {RpcRpc} rpc
 * @param {boolean} [isPrepared] true in a worker thread
 * @returns {WorkloadHost}
 */
export function createWorkloadHost(file, rpc, isPrepared = false) {
  /** Readings before the load. @type {Reading[]} */
  const readings = [];
  // Makes the transactions of this instance differ from those of another one with the same wallets.
  const tag = randomBytes(4).toString('hex');
  const receipts = new Receipts(rpc);
  /** Wallets with an audit by nonces. @type {string[]} */
  let byNonce = [];
  /** Functions made by verifyByReceipt(). @type {WeakSet<object>} */
  const byReceipt = new WeakSet();
  const setupSender = new SetupSender(file, rpc, tag);
  const { deployEach, deployOnce, sendAll, estimateGas } = setupSender;
  /** @type {Kit} */
  const kit = {
    tag,
    abi: (abi) => Interface.from(abi),
    compile: (source, options) => compile(source, { ...options, place: placeOf(new Error(), file) }),
    deployEach,
    deployOnce,
    sendAll,
    estimateGas,
    createAddress: (from, nonce) => getCreateAddress({ from, nonce }),
    verifyByReceipt: (targetOf = () => null) => {
      /** @type {ReturnType<Kit['verifyByReceipt']>} */
      const verify = (position, _executed, inclusion, _attempt, { hash }) =>
        receipts.verdict(hash, inclusion, targetOf(position));
      byReceipt.add(verify);
      return verify;
    },
    auditByNonce: () => {
      readings.push(async (wallets) => void (byNonce = wallets.map(({ address }) => address)));
      return auditByNonce(rpc, readings);
    },
    auditByCall: (callOf) => auditByCall(rpc, readings, callOf, placeOf(new Error(), file)),
    wrong: (words) => new CheckError(words),
  };
  return {
    kit: Object.freeze(kit),
    rpc: createWorkloadRpc(rpc, file, () => (isPrepared ? 'readback' : 'setup')),
    measure: (call) => setupSender.measure(call),
    begin: (preparation) => void (setupSender.preparation = preparation),
    finish: async () => {
      const wallets = setupSender.preparation?.wallets ?? [];
      setupSender.preparation = null;
      await Promise.all(readings.map((read) => read(wallets)));
      isPrepared = true;
    },
    checkNonces: async (snapshot, verify) => {
      if (byNonce.length === 0 || byReceipt.has(verify)) return [];
      const signal = AbortSignal.any([snapshot.signal, AbortSignal.timeout(MAX_AUDIT_MS)]);
      return [successCheck(byNonce, snapshot, await receipts.ofRun(byNonce, snapshot, signal))];
    },
  };
}

/**
 * @param {RpcRpc} rpc
 * @param {Reading[]} readings
 * @returns {ReturnType<Kit['auditByNonce']>}
 */
function auditByNonce(rpc, readings) {
  /** @type {Array<{address: string, nonce: number}>} */
  let starts = [];
  readings.push(async (wallets) => {
    starts = wallets.map(({ address, nonce }) => ({ address, nonce }));
  });
  return async (blockHash, blockNumber, reverted) => {
    const requestsAt = (/** @type {unknown} */ block) =>
      starts.map(({ address }) => ({ method: 'eth_getTransactionCount', params: [address, block] }));
    const nonces = (await readAtHash((block) => rpc.batch(requestsAt(block), 'audit'), blockHash, blockNumber)).map(
      toBigInt,
    );
    return starts.map(({ address, nonce }, i) => {
      return { start: BigInt(nonce), now: nonces[i] - BigInt(reverted?.[i] ?? 0), target: address };
    });
  };
}

/**
 * @param {RpcRpc} rpc
 * @param {Reading[]} readings
 * @param {(position: number) => {to: string, data: string}} callOf
 * @param {string} place of the call in the user's file
 * @returns {ReturnType<Kit['auditByCall']>}
 */
function auditByCall(rpc, readings, callOf, place) {
  /** @type {bigint[]} */
  let starts = [];
  const requestsAt = (/** @type {unknown} */ block) =>
    starts.map((_, position) => ({ method: 'eth_call', params: [callOf(position), block] }));
  readings.push(async (wallets) => {
    starts = wallets.map(() => 0n);
    const answers = await rpc.batch(requestsAt('latest'), 'setup');
    starts = answers.map((answer, position) => {
      if (/^0x[0-9a-f]{1,64}$/i.test(answer)) return toBigInt(answer);
      const { to } = callOf(position);
      const words = `the call to ${oneLine(to, 60)} answered ${oneLine(answer, 60)}, which is not a number: check that a contract is there`;
      throw new WorkloadError(`${place}: kit.auditByCall: ${words}`);
    });
  });
  return async (blockHash, blockNumber) => {
    const counts = (await readAtHash((block) => rpc.batch(requestsAt(block), 'audit'), blockHash, blockNumber)).map(
      toBigInt,
    );
    return starts.map((start, position) => ({ start, now: counts[position], target: callOf(position).to }));
  };
}
