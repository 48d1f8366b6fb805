import { randomBytes } from 'node:crypto';
import { Interface, concat, getBytes, getCreateAddress, id, isHexString, keccak256 } from 'ethers';
import { createCurve } from '../chain/keys.js';
import { isUnknownBlock } from '../chain/retries.js';
import { toBigInt, toHex, toNumber } from '../chain/rpc.js';
import { revertReason, sendAll } from '../chain/send.js';
import { signAuthorization } from '../chain/transaction.js';
import { CheckError, RpcError, UnavailableError, WorkloadError, oneLine } from '../errors.js';
import { MAX_AUDIT_MS, Receipts, UNSURE, isSuccess, successCheck } from './receipts.js';
import { compile } from './solidity.js';
import { describeValue, placeOf } from './user-code.js';
import { CALL_WORDS, isCall } from './user-file.js';

/**
 * The kit that workloads are written on: RPC access, deployment and other transactions of the set-up, and ready-made
 * verification and audits.
 *
 * @import { Check, Preparation, Rpc, Verdict } from '../types.d.ts'
 * @import { Artifact, AuditReading, AuditSnapshot, Call, Counted, Executed, Kit, Purpose, ReceiptsCheck, Rpc as KitRpc } from './contract.d.ts'
 * @import { Outcomes } from './receipts.js'
 *
 * @typedef {object} Membership in a mix of workloads
 * @property {(position: number, nonce: number) => boolean} isOwn whether an operation is of this member
 * @property {(position: number, nonce: number) => bigint} valueOf what an operation of any member sends, in wei
 *
 * @typedef {object} KitState of a worker thread
 * @property {string} tag
 * @property {bigint[][]} starts counts before the load, of its wallets
 */

const PURPOSES = Object.freeze(['setup', 'readback', 'audit']);

/** A payment without data takes exactly this (Ethereum Yellow Paper, appendix G): its estimate needs no margin. */
const PAYMENT_GAS = 21_000;

/** The kit, and what the program does with it around the functions of a workload. */
export class WorkloadHost {
  /** Set while prepare() runs. @type {Preparation | null} */
  #preparation = null;
  /** Each reads what an audit starts from. @type {Array<(preparation: Preparation) => Promise<void>>} */
  #readings = [];
  /** Counts of the wallets before the load, by call of kit.countedBy(). @type {bigint[][]} */
  #starts = [];
  /** Of the wallets, by position. @type {string[]} */
  #addresses = [];
  /** Whether the audit is by nonces. */
  isByNonce = false;
  /** Null outside of a mix. @type {Membership | null} */
  #membership = null;
  /** Functions made by verifyByReceipt(). @type {WeakSet<object>} */
  #byReceipt = new WeakSet();
  /** Functions made by countedBy(). @type {WeakSet<object>} */
  #byCount = new WeakSet();
  #isPrepared;
  #file;
  #rpc;
  #receipts;
  #state;

  /** @param {string | null} file of the user's workload @param {Rpc} rpc @param {KitState} [state] in a worker thread */
  constructor(file, rpc, state) {
    this.#file = file;
    this.#rpc = rpc;
    this.#state = state;
    this.#isPrepared = state !== undefined;
    this.#receipts = new Receipts(rpc);
    const tag = state?.tag ?? randomBytes(4).toString('hex');
    /** @type {Kit} */
    const kit = {
      tag,
      abi: (abi) => Interface.from(abi),
      compile: (source, options) => compile(source, { ...options, place: this.#place(new Error()) }),
      deployEach: async (artifact, argumentsOf = () => [], positions) => {
        const { wallets } = this.#prepared('deployEach');
        const chosen = positions ?? wallets.map((_, position) => position);
        const addresses = chosen.map((position) => nextContractOf(wallets[position]));
        const dataOf = this.#deploymentOf('deployEach', artifact);
        const calls = chosen.map((position) => ({ position, to: null, data: dataOf(argumentsOf(position)) }));
        await this.#send('deployEach', calls, 'deploying contracts');
        return addresses;
      },
      deployOnce: async (artifact, ...args) => {
        const address = nextContractOf(this.#prepared('deployOnce').wallets[0]);
        const data = this.#deploymentOf('deployOnce', artifact)(args);
        await this.#send('deployOnce', [{ position: 0, to: null, data }], 'deploying the contract');
        return address;
      },
      sendAll: (calls, label = 'preparing') => this.#send('sendAll', calls, label),
      estimateGas: (call) => this.measure(call),
      createAddress: (from, nonce) => getCreateAddress({ from, nonce }),
      authority: (seed) => authorityOf(`${tag} ${seed}`),
      verifyByReceipt: (targetOf, codeOf) => this.#verifyByReceipt(targetOf, codeOf),
      auditByNonce: () => this.#auditByNonce(),
      countedBy: (callOf) => this.#countedBy(callOf, this.#place(new Error())),
      auditByCall: (callOf) => this.#countedBy(callOf, this.#place(new Error())).audit,
      checkReceipts: (...given) => this.#checkReceipts(...given),
      wrong: (words) => new CheckError(words),
    };
    this.kit = Object.freeze(kit);
  }

  /** The endpoint for the user's calls. @returns {KitRpc} */
  get rpc() {
    /** @param {Purpose} [purpose] */
    const checked = (purpose = this.#isPrepared ? 'readback' : 'setup') => {
      if (PURPOSES.includes(purpose)) return purpose;
      throw new TypeError(`the purpose must be one of ${PURPOSES.join(', ')}, not ${describeValue(purpose)}`);
    };
    /** @type {KitRpc} */
    const rpc = {
      call: async (method, params = [], purpose) => this.#rpc.call(method, params, checked(purpose)),
      gather: async (method, params = [], purpose) => this.#rpc.gather(method, params, checked(purpose)),
      batch: async (requests, purpose) => {
        const whole = requests.map(({ method, params = [] }) => ({ method, params }));
        return this.#rpc.batch(whole, checked(purpose));
      },
    };
    return Object.freeze(rpc);
  }

  /** Allows wallets to send. @param {Preparation} preparation */
  begin(preparation) {
    this.#preparation = preparation;
    this.#addresses = preparation.wallets.map(({ address }) => address);
  }

  /** Becomes a member of a mix. @param {Membership} membership */
  join(membership) {
    this.#membership = membership;
  }

  /** Whether it was made by countedBy(). @param {object | undefined} verify */
  isByCount(verify) {
    return verify !== undefined && this.#byCount.has(verify);
  }

  /** Ends that, and reads what the audits start from. */
  async finish() {
    const preparation = this.#preparation;
    this.#preparation = null;
    if (preparation !== null) await Promise.all(this.#readings.map((read) => read(preparation)));
    this.#isPrepared = true;
  }

  /** The wallet with the lowest count: the first operation of a contract costs most. */
  leastCounted() {
    const [starts = [0n]] = this.#starts;
    return starts.reduce((least, start, position) => (start < starts[least] ? position : least), 0);
  }

  /** An estimate with a margin of a tenth, and the node's own errors. @type {Kit['estimateGas']} */
  async measure({ from, to, data = '0x', value = 0n, accessList, authorizationList }) {
    const call = {
      from,
      data,
      ...(to === null ? {} : { to }),
      ...(value === 0n ? {} : { value: toHex(value) }),
      accessList,
      authorizationList: authorizationList?.map(({ chainId, nonce, yParity, ...others }) => {
        return { ...others, chainId: toHex(chainId), nonce: toHex(nonce), yParity: toHex(yParity) };
      }),
    };
    const gas = toNumber(await this.#rpc.call('eth_estimateGas', [call], 'setup'));
    return BigInt(gas === PAYMENT_GAS ? gas : Math.ceil(gas * 1.1));
  }

  /**
   * An audit by nonces reads receipts too, unless each operation was verified by its receipt: a reverted transaction
   * raises the nonce.
   * @param {AuditSnapshot} snapshot
   * @param {object} verify
   * @returns {Promise<Check[]>}
   */
  async checkNonces(snapshot, verify) {
    if (!this.isByNonce || this.#byReceipt.has(verify)) return [];
    return [(await this.#checkReceipts(snapshot)).check];
  }

  /** A disagreement is proven only if the block of the audit is still on the chain. @param {AuditSnapshot} snapshot @param {Check[]} checks */
  async proven({ blockHash, blockNumber }, checks) {
    if (checks.every(({ holds }) => holds !== false)) return checks;
    const block = await this.#rpc.call('eth_getBlockByNumber', [toHex(blockNumber), false], 'audit');
    if (block?.hash === blockHash) return checks;
    const why = `block ${blockNumber} left the chain during the audit`;
    return checks.map((check) => ({ ...check, holds: null, why }));
  }

  /**
   * @param {AuditSnapshot} snapshot
   * @param {Parameters<Kit['checkReceipts']>[1]} [onReceipt]
   * @param {Parameters<Kit['checkReceipts']>[2]} [onOther] of other members of a mix
   * @returns {Promise<ReceiptsCheck>}
   */
  async #checkReceipts(snapshot, onReceipt, onOther) {
    const mix = this.#membership;
    /** @type {typeof onReceipt} */
    const take = (position, nonce, receipt) => {
      if (mix === null || mix.isOwn(position, nonce)) onReceipt?.(position, nonce, receipt);
      else onOther?.(position, receipt, isSuccess(receipt) ? mix.valueOf(position, nonce) : 0n);
    };
    const outcomes = await this.#receipts.ofRun(this.#addresses, snapshot, limited(snapshot.signal), take);
    return {
      check: successCheck(this.#addresses, snapshot, outcomes),
      why: 'why' in outcomes ? outcomes.why : areOurs(outcomes, snapshot) ? null : UNSURE,
      signal: limited(snapshot.signal),
    };
  }

  /** @param {number} first @param {number} count @returns {KitState} */
  toState(first, count) {
    return { tag: this.kit.tag, starts: this.#starts.map((starts) => starts.slice(first, first + count)) };
  }

  /** @param {Error} origin made in a function that the user called */
  #place(origin) {
    return this.#file === null ? 'the workload' : placeOf(origin, this.#file);
  }

  /** @param {string} name of the function of the kit @param {string} words */
  #error(name, words) {
    if (this.#file === null) return new UnavailableError(`the set-up failed: ${words}`);
    return new WorkloadError(`${placeOf(new Error(), this.#file)}: kit.${name}: ${words}`);
  }

  /** @param {string} name of the function of the kit */
  #prepared(name) {
    if (this.#preparation === null) throw this.#error(name, 'wallets can send in prepare() only');
    return this.#preparation;
  }

  /**
   * Equal arguments share one text, because 100,000 wallets with a text each take hundreds of megabytes.
   * @param {string} name of the function of the kit
   * @param {Artifact} artifact
   * @returns {(args: readonly unknown[]) => string} the data of a deployment
   */
  #deploymentOf(name, artifact) {
    const { abi, bytecode } = artifact ?? {};
    if (!isHexString(bytecode, true) || bytecode.length < 4 || abi === undefined)
      throw this.#error(name, 'the artifact must be { abi, bytecode }, bytecode 0x and pairs of hexadecimal digits');
    const contract = Interface.from(abi);
    /** @type {Map<string, string>} */
    const known = new Map();
    return (args) => {
      const encoded = contract.encodeDeploy(args);
      const data = known.get(encoded) ?? concat([bytecode, encoded, `0x${this.kit.tag}`]);
      known.set(encoded, data);
      return data;
    };
  }

  /** @param {string} name of the function of the kit @param {readonly (Call & {position: number})[]} calls @param {string} label */
  async #send(name, calls, label) {
    const { wallets, sender, onProgress } = this.#prepared(name);
    if (calls.length === 0) return;
    for (const call of calls) {
      if (!isCall(call)) throw this.#error(name, `it was given ${describeValue(call)}, and takes ${CALL_WORDS}`);
      if (wallets[call.position] === undefined)
        throw this.#error(name, `there is no wallet at position ${describeValue(call.position)}`);
    }
    const [first] = calls;
    const likely = first.gasLimit ?? (await this.measure({ ...first, from: wallets[first.position].address }));
    const orders = calls.map(({ position, data = '0x', value = 0n, gasLimit = likely, ...lists }) => {
      return { wallet: wallets[position], ...lists, data, value, gasLimit };
    });
    const receipts = await sendAll(sender, orders, (done) => onProgress(label, done, calls.length));
    const failed = receipts.findIndex(({ status }) => toNumber(status) !== 1);
    if (failed < 0) return;
    const { index } = orders[failed].wallet;
    const { transactionHash } = receipts[failed];
    const reason = await revertReason(sender.rpc, transactionHash, 'setup');
    const why = reason === null ? '' : `: ${reason}`;
    throw this.#error(name, `the transaction of wallet ${index} was reverted (${transactionHash})${why}`);
  }

  /** @type {Kit['verifyByReceipt']} */
  #verifyByReceipt(targetOf, codeOf) {
    /** @type {ReturnType<Kit['verifyByReceipt']>} */
    const verify = (position, _executed, inclusion, _attempt, operation) =>
      this.#receipts.verdict(operation.hash, inclusion, targetOf?.(position, operation) ?? null, codeOf);
    this.#byReceipt.add(verify);
    return verify;
  }

  /** @type {Kit['auditByNonce']} */
  #auditByNonce() {
    /** @type {number[]} */
    let starts = [];
    this.#readings.push(async ({ wallets }) => {
      this.isByNonce = true;
      starts = wallets.map(({ nonce }) => nonce);
    });
    return async (blockHash, blockNumber, reverted) => {
      const nonces = await this.#readAtHash(blockHash, blockNumber, (block) =>
        this.#addresses.map((address) => ({ method: 'eth_getTransactionCount', params: [address, block] })),
      );
      return this.#addresses.map((target, i) => {
        return { start: BigInt(starts[i]), now: nonces[i] - BigInt(reverted?.[i] ?? 0), target };
      });
    };
  }

  /** @param {Parameters<Kit['countedBy']>[0]} callOf @param {string} place of the call in the user's file @returns {Counted} */
  #countedBy(callOf, place) {
    const at = this.#starts.length;
    this.#starts.push(this.#state?.starts[at] ?? []);
    /** @param {number} count @param {unknown} block */
    const requestsAt = (count, block) =>
      Array.from({ length: count }, (_, position) => ({ method: 'eth_call', params: [callOf(position), block] }));
    this.#readings.push(async ({ wallets }) => {
      const answers = await this.#rpc.batch(requestsAt(wallets.length, 'latest'), 'setup');
      this.#starts[at] = answers.map((answer, position) => {
        if (/^0x[0-9a-f]{1,64}$/i.test(answer)) return toBigInt(answer);
        const words = `the call to ${oneLine(callOf(position).to, 60)} answered ${oneLine(answer, 60)}, which is not a number`;
        throw new WorkloadError(`${place}: kit.auditByCall: ${words}: check that a contract is there`);
      });
    });
    /** @type {Counted} */
    const counted = {
      verify: (position, executed, inclusion, attempt) => {
        const call = callOf(position);
        const counter = { start: Number(this.#starts[at][position]), target: call.to };
        const read = (/** @type {string} */ block) => this.#rpc.gather('eth_call', [call, block], 'readback');
        return verdictAt(read, counter, executed, inclusion, attempt);
      },
      audit: async (blockHash, blockNumber) => {
        const starts = this.#starts[at];
        const counts = await this.#readAtHash(blockHash, blockNumber, (block) => requestsAt(starts.length, block));
        return starts.map((start, position) => ({ start, now: counts[position], target: callOf(position).to }));
      },
    };
    this.#byCount.add(counted.verify);
    return counted;
  }

  /** @param {string} blockHash @param {number} blockNumber @param {(block: unknown) => {method: string, params: unknown[]}[]} requestsAt */
  async #readAtHash(blockHash, blockNumber, requestsAt) {
    try {
      return (await this.#rpc.batch(requestsAt({ blockHash }), 'audit')).map(toBigInt);
    } catch (error) {
      if (!(error instanceof RpcError) || isUnknownBlock(error)) throw error;
      // A node without EIP-1898.
      return (await this.#rpc.batch(requestsAt(toHex(blockNumber)), 'audit')).map(toBigInt);
    }
  }
}

/** @param {AbortSignal} signal */
function limited(signal) {
  return AbortSignal.any([signal, AbortSignal.timeout(MAX_AUDIT_MS)]);
}

/** Whether the ledger has the same outcomes. @param {Outcomes} outcomes @param {AuditSnapshot} snapshot */
function areOurs({ succeeded, reverted }, snapshot) {
  return snapshot.executed.every((count, i) => count === succeeded[i] && snapshot.reverted[i] === reverted[i]);
}

/** @param {string} seed @returns {ReturnType<Kit['authority']>} */
function authorityOf(seed) {
  const { sign, addressOf } = createCurve();
  const key = getBytes(id(seed));
  const signer = { sign, keccak256: (/** @type {Uint8Array} */ bytes) => getBytes(keccak256(bytes)) };
  return { address: addressOf(key), authorize: (authorization) => signAuthorization(authorization, key, signer) };
}

/** @param {{address: string, nonce: number}} wallet */
function nextContractOf({ address, nonce }) {
  return getCreateAddress({ from: address, nonce });
}

/**
 * Reads what a wallet has done as of a block, from a count that only the wallet itself can raise. Nodes may have pruned
 * the state of the block, or not have it yet. Therefore attempts alternate between this block and the latest one, which
 * says nearly the same because only the wallet changes the count.
 * @param {(block: string) => Promise<unknown>} readCount the wallet's count as of a block
 * @param {{start: number, target: string}} counter start: the count before this run
 * @param {Executed} bounds
 * @param {{number: number}} inclusion
 * @param {number} attempt
 * @returns {Promise<Verdict>}
 */
function verdictAt(readCount, { start, target }, { least, most, latest }, inclusion, attempt) {
  const isExact = attempt % 2 === 0;
  const bound = isExact ? most : latest;
  return readCount(isExact ? toHex(inclusion.number) : 'latest').then(
    (answer) => {
      const count = Number(toBigInt(answer));
      const executed = count - start;
      const effect = String(count);
      if (executed === bound) return { state: 'ok', effect, target };
      if (executed >= least && executed < bound) return { state: 'likely', effect, target };
      if (executed > bound) return { state: 'wrong', effect, target };
      return { state: isExact ? 'missing' : 'behind', effect, target };
    },
    (error) => {
      if (error instanceof RpcError) return { state: 'behind', effect: null, target };
      throw error;
    },
  );
}
