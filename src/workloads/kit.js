import { Interface } from 'ethers/abi';
import { getCreateAddress } from 'ethers/address';
import { keccak256 } from 'ethers/crypto';
import { id } from 'ethers/hash';
import { concat, getBytes, isHexString } from 'ethers/utils';
import { MAX_BLOBS, MAX_SIDECARS, takesCellProofs } from '../chain/blobs.js';
import { createCurve } from '../chain/keys.js';
import { PAYMENT_GAS } from '../chain/funding.js';
import { isAbsent, isBusy } from '../chain/refusals.js';
import { readAtBlock } from '../chain/retries.js';
import {
  ask,
  askAll,
  countOf,
  gasOf,
  gatherThen,
  headerAt,
  nullIfRefused,
  resultOf,
  toBigInt,
  toHex,
} from '../chain/answers.js';
import { revertReason, sendAll } from '../chain/send.js';
import { signAuthorization } from '../chain/transaction.js';
import { CheckError, RpcError, UnavailableError, WorkloadError, displayName, oneLine } from '../errors.js';
import { drawBits } from '../random.js';
import { stateCheck } from './contract-state.js';
import { codesOf, isPrecompile } from './first-calls.js';
import { MAX_AUDIT_MS, Receipts, UNSURE, areOurs, successCheck } from './receipts.js';
import { proveSidecars } from './sidecars.js';
import { compile } from './solidity.js';
import { describeValue } from './user-code.js';
import { CALL_WORDS, isCall } from './user-file.js';

/**
 * The kit that workloads are written on: RPC access, deployment and other transactions of the set-up, and ready-made
 * verification and audits.
 *
 * @import { Rpc, Sender } from '../contracts/chain.d.ts'
 * @import { Check, KitState, Preparation, Verdict } from '../contracts/load.d.ts'
 * @import { Artifact, AuditSnapshot, Call, Counted, Executed, Kit, ReceiptsCheck, Rpc as KitRpc, TransactionWorkload, Wallet } from '../contracts/workload.d.ts'
 * @import { WorkloadOptions } from './index.js'
 *
 * @typedef {object} Membership in a mix of workloads
 * @property {(position: number, nonce: number) => boolean} isOwn whether an operation is of this member
 * @property {(position: number, nonce: number) => bigint} valueOf what an operation of any member sends, in wei
 */

/** The kit, and what the program does with it around the functions of a workload. */
export class WorkloadHost {
  /** Set while prepare() runs. @type {Preparation | null} */
  #preparation = null;
  /** Each reads what an audit starts from. @type {Array<(preparation: Preparation) => Promise<void>>} */
  #readings = [];
  /** Counts of the wallets before the load, by call of kit.countedBy(). @type {bigint[][]} */
  #starts = [];
  /** Addresses of the wallets, by position. @type {readonly string[]} */
  #addresses;
  /** Whether each operation is verified by its receipt. */
  isByReceipt = false;
  /** Null outside of a mix. @type {Membership | null} */
  #membership = null;
  /** Functions made by verifyByReceipt(). @type {WeakSet<object>} */
  #byReceipt = new WeakSet();
  /** Calls of the functions made by countedBy(). @type {WeakMap<object, Parameters<Kit['countedBy']>[0]>} */
  #counts = new WeakMap();
  /** Reads the number that verifies the operations, which only grows. @type {Parameters<Kit['countedBy']>[0] | undefined} */
  countCall;
  /** Why a transaction was reverted. @type {((data: unknown) => string | null) | undefined} */
  #revertWords;
  #isPrepared;
  /** Tools of the set-up. @type {Pick<Sender, 'clock' | 'signal' | 'notice'> | null} */
  #sender = null;
  /** The last block with a transaction of the set-up; null: there is none. @type {number | null} */
  #setUpBlock = null;
  #isLagTold = false;
  /** Gas limit of an operation that states none. */
  #gasLimit;
  #rpc;
  #receipts;
  #state;

  /** @param {string | null} file of the user's workload @param {Pick<WorkloadOptions, 'rpc' | 'state' | 'addresses' | 'random'>} options */
  constructor(file, { rpc, state, addresses = [], random = Math.random }) {
    this.file = file;
    /** For messages. */
    this.name = file === null ? 'the workload' : displayName(file);
    this.#rpc = rpc;
    this.#state = state?.kit;
    this.#addresses = addresses;
    this.#gasLimit = this.#state?.gasLimit;
    this.#isPrepared = state !== undefined;
    this.#receipts = new Receipts(rpc);
    const { tag = newTag(random), first = 0 } = this.#state ?? {};
    const seed = Number.parseInt(tag, 16);
    /** @type {Kit} */
    const kit = {
      tag,
      seed,
      abi: (abi) => Interface.from(abi),
      addresses: () => this.#addresses,
      indexOf: (position) => first + position,
      draw: (position, nonce) => drawBits(seed, first + position, nonce),
      compile: (source, options = {}) => compile(source, { ...options, place: this.name }),
      deployEach: async (artifact, argumentsOf = () => [], positions) => {
        const { wallets } = this.#prepared();
        const chosen = positions ?? [...wallets.keys()];
        const addresses = chosen.map((position) => createAddress(wallets[position].address, wallets[position].nonce));
        const dataOf = this.#deploymentOf(artifact);
        const calls = chosen.map((position) => ({ position, to: null, data: dataOf(argumentsOf(position)) }));
        await this.#send(calls, 'deploying contracts');
        return addresses;
      },
      deployOnce: async (artifact, ...args) => (await kit.deployEach(artifact, () => args, [0]))[0],
      sendAll: (calls, label = 'preparing') => this.#send(calls, label),
      sidecars: (count, blobs) => this.#sidecars(count, blobs),
      estimateGas: (call) => this.measure(call),
      createAddress,
      authority: (seed) => authorityOf(`${tag} ${seed}`),
      verifyByReceipt: (targetOf, codeOf) => this.#verifyByReceipt(targetOf, codeOf),
      auditByNonce: () => undefined,
      countedBy: (...given) => this.#countedBy(...given),
      auditByCall: (callOf) => this.#countedBy(callOf).audit,
      checkReceipts: (...given) => this.#checkReceipts(...given),
      wrong: (words) => new CheckError(words),
    };
    this.kit = Object.freeze(kit);
  }

  /** The endpoint for the user's calls. */
  get rpc() {
    const usual = () => (this.#isPrepared ? 'readback' : 'setup');
    /** @type {KitRpc} */
    const rpc = {
      call: async (method, params = [], purpose = usual()) => this.#rpc.call(method, params, purpose),
      gather: async (method, params = [], purpose = usual()) => this.#rpc.gather(method, params, purpose),
      batch: async (requests, purpose = usual()) => {
        const whole = requests.map(({ method, params = [] }) => ({ method, params }));
        return this.#rpc.batch(whole, purpose);
      },
    };
    return Object.freeze(rpc);
  }

  /** Allows wallets to send. @param {Preparation} preparation */
  begin(preparation) {
    this.#preparation = preparation;
    this.#sender = preparation.sender;
    this.#addresses = preparation.wallets.map(({ address }) => address);
  }

  /** Becomes a member of a mix, whose operations are verified by their receipts. @param {Membership} membership */
  join(membership) {
    this.#membership = membership;
    this.isByReceipt = true;
  }

  /** Notes how operations are verified. @param {object | undefined} verify as the workload has made it */
  verifiesBy(verify) {
    this.isByReceipt = verify === undefined || this.#byReceipt.has(verify);
    this.countCall = verify && this.#counts.get(verify);
  }

  /** Notes how the data of errors is decoded. @param {((data: unknown) => string | null) | undefined} revertWords */
  explainsBy(revertWords) {
    this.#revertWords = revertWords;
  }

  /** Ends that, and reads what the audits start from. */
  async finish() {
    const preparation = this.#preparation;
    this.#preparation = null;
    if (preparation !== null) await Promise.all(this.#readings.map((read) => read(preparation)));
    this.#isPrepared = true;
  }

  /** Estimates the first operation of the wallet with the lowest count, because the first of a contract costs most. @param {TransactionWorkload} workload @param {readonly Wallet[]} wallets */
  async measureFirst(workload, wallets) {
    const [starts = [0n]] = this.#starts;
    const position = starts.reduce((least, start, i) => (start < starts[least] ? i : least), 0);
    const { address, nonce } = wallets[position];
    const call = workload.next(position, nonce);
    if (call.gasLimit === undefined) this.#gasLimit = await this.measure({ ...call, from: address });
  }

  /**
   * A call to an address without code succeeds and does nothing, so that it would be verified.
   * @param {TransactionWorkload} workload
   * @param {Pick<Preparation, 'wallets' | 'sender'>} preparation
   */
  async refuseWithoutCode(workload, { wallets, sender: { clock, signal } }) {
    if (workload.mayLackCode) return;
    const first = wallets.map(({ nonce }, position) => workload.next(position, nonce));
    const later = Array.from({ length: CALLS_CHECKED }, (_, i) => workload.next(0, wallets[0].nonce + i));
    const called = [...new Set([...first, ...later].filter(needsCode).map(({ to }) => String(to)))];
    let lacking = called.slice(0, ADDRESSES_CHECKED);
    for (let looks = LOOKS_FOR_CODE; lacking.length > 0; looks -= 1) {
      const codesAt = (/** @type {number | 'latest'} */ at) => codesOf(this.#rpc, lacking, at);
      const codes = await nullIfRefused(this.#afterSetUp(codesAt));
      lacking = lacking.filter((_, i) => codes?.[i] === '0x');
      if (lacking.length === 0) return;
      if (looks === 1 || signal.aborted) break;
      // Another node behind the same URL may not have the block of the deployment yet.
      await clock.sleep(CODE_PAUSE_MS, signal);
    }
    const [address] = lacking;
    if (address !== undefined)
      throw this.#error(
        `next() sends data to ${address}, where this chain has no code: such a call does nothing and succeeds; check the address and the chain, or say mayLackCode: true in the workload`,
      );
  }

  /** Fills in what a call leaves out. In the object itself, because the same object is encoded once. @param {Call} given */
  filled(given) {
    const call = Object.isExtensible(given) || isFilled(given) ? given : { ...given };
    call.data ??= '0x';
    call.value ??= 0n;
    call.gasLimit ??= this.#gasLimit;
    if (call.gasLimit !== undefined)
      return /** @type {Required<Pick<Call, 'data' | 'value' | 'gasLimit'>> & Call} */ (call);
    throw new WorkloadError(`${this.name}: next() must give a gasLimit in all of its calls, or in none`);
  }

  /** An estimate with a margin of a tenth, and the node's own errors. @type {Kit['estimateGas']} */
  async measure({ from, to, data = '0x', value = 0n, accessList, authorizationList, label = '' }) {
    const call = {
      from,
      data,
      ...(to === null ? {} : { to }),
      ...(value === 0n ? {} : { value: toHex(value) }),
      accessList,
      // Numbers of a signature are quantities as well: geth refuses those that begin with a zero.
      authorizationList: authorizationList?.map(({ address, r, s, ...numbers }) => {
        const words = Object.entries({ ...numbers, r: BigInt(r), s: BigInt(s) });
        return { address, ...Object.fromEntries(words.map(([name, value]) => [name, toHex(value)])) };
      }),
    };
    const gas = await this.#afterSetUp((at) => ask(this.#rpc, gasOf(call, at), 'setup')).catch((error) => {
      if (label !== '' && error instanceof RpcError) error.message = `${label}: ${error.message}`;
      throw error;
    });
    // A payment without data takes exactly this.
    return BigInt(gas === PAYMENT_GAS ? gas : Math.ceil(gas * 1.1));
  }

  /**
   * Asks for the state after the transactions of the set-up, which another node behind the same URL may not have yet: it
   * would estimate the gas of a call of no contract.
   * @template T
   * @param {(at: number | 'latest') => Promise<T>} request
   * @returns {Promise<T>}
   */
  async #afterSetUp(request) {
    const number = this.#setUpBlock;
    if (number === null || this.#sender === null) return request('latest');
    const { clock, signal, notice } = this.#sender;
    const endUs = clock.nowUs() + LAG_MS * 1000;
    const cancel = clock.after(() => {
      if (!this.#isLagTold)
        notice?.(`waiting up to ${LAG_MS / 1000} s for ${this.#rpc.display} to have block ${number} of the set-up`);
      this.#isLagTold = true;
    }, LAG_TOLD_MS);
    try {
      for (;;) {
        try {
          return await request(number);
        } catch (error) {
          // Some nodes take no block here, and those that have pruned its state say the same.
          if (!isAbsent(error) || signal.aborted || clock.nowUs() > endUs) return await request('latest');
        }
        await clock.sleep(CODE_PAUSE_MS, signal);
      }
    } finally {
      cancel();
    }
  }

  /** A disagreement is proven only if the block of the audit is still on the chain. @param {AuditSnapshot} snapshot @param {Check[]} checks */
  async proven({ blockHash, blockNumber }, checks) {
    if (checks.every(({ holds }) => holds !== false)) return checks;
    const header = await ask(this.#rpc, headerAt(blockNumber), 'audit');
    if (header?.hash === blockHash) return checks;
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
      else onOther?.(position, receipt, receipt.succeeded ? mix.valueOf(position, nonce) : 0n);
    };
    const outcomes = await this.#receipts.ofRun(this.#addresses, snapshot, limited(snapshot.signal), take);
    const why = 'why' in outcomes ? outcomes.why : areOurs(outcomes, snapshot) ? null : UNSURE;
    const signal = limited(snapshot.signal);
    return {
      check: successCheck(this.#addresses, snapshot, outcomes),
      why,
      signal,
      compare: (values) => stateCheck({ rpc: this.#rpc, snapshot, signal, why }, values),
    };
  }

  /** @param {number} first @param {number} count @returns {KitState} */
  toState(first, count) {
    const starts = this.#starts.map((all) => all.slice(first, first + count));
    return { tag: this.kit.tag, first, starts, gasLimit: this.#gasLimit };
  }

  /** @param {string} words */
  #error(words) {
    if (this.file === null) return new UnavailableError(`the set-up failed: ${words}`);
    return new WorkloadError(`${this.name}: ${words}`);
  }

  #prepared() {
    if (this.#preparation === null) throw this.#error('wallets can send in prepare() only');
    return this.#preparation;
  }

  /**
   * Equal arguments share one text, because 100,000 wallets with a text each take hundreds of megabytes.
   * @param {Artifact} artifact
   * @returns {(args: readonly unknown[]) => string} the data of a deployment
   */
  #deploymentOf(artifact) {
    const { abi, bytecode } = artifact ?? {};
    if (!isHexString(bytecode, true) || bytecode.length < 4 || abi === undefined)
      throw this.#error('the artifact must be { abi, bytecode }, bytecode 0x and pairs of hexadecimal digits');
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

  /** @param {readonly (Call & {position: number})[]} calls @param {string} label */
  async #send(calls, label) {
    const { wallets, sender, onProgress } = this.#prepared();
    if (calls.length === 0) return;
    for (const call of calls) {
      if (!isCall(call)) throw this.#error(`it was given ${describeValue(call)}, and takes ${CALL_WORDS}`);
      if (call.sidecar !== undefined) throw this.#error('kit.sendAll takes no sidecar');
      if (wallets[call.position] === undefined)
        throw this.#error(`there is no wallet at position ${describeValue(call.position)}`);
    }
    const [first] = calls;
    const likely = first.gasLimit ?? (await this.measure({ ...first, from: wallets[first.position].address }));
    const orders = calls.map(({ position, data = '0x', value = 0n, gasLimit = likely, ...lists }) => {
      return { wallet: wallets[position], ...lists, data, value, gasLimit };
    });
    const receipts = await sendAll(sender, orders, (done) => onProgress(label, done, calls.length));
    this.#setUpBlock = receipts.reduce((last, { blockNumber }) => Math.max(last, blockNumber), this.#setUpBlock ?? 0);
    const failed = receipts.findIndex(({ isSuccess }) => !isSuccess);
    if (failed < 0) return;
    const { index } = orders[failed].wallet;
    const { hash } = receipts[failed];
    const reason = await revertReason(sender.rpc, hash, 'setup', this.#revertWords);
    const why = reason === null ? '' : `: ${reason}`;
    throw this.#error(`the transaction of wallet ${index} was reverted (${hash})${why}`);
  }

  /** @type {Kit['sidecars']} */
  async #sidecars(count, blobs) {
    const { sender, onProgress } = this.#prepared();
    if (!isFrom1To(MAX_SIDECARS, count) || !isFrom1To(MAX_BLOBS, blobs))
      throw this.#error(
        `kit.sidecars(count, blobs): give a count from 1 to ${MAX_SIDECARS}, and 1 to ${MAX_BLOBS} blobs each`,
      );
    if (sender.fees.blobPriceWei() === 0n)
      throw this.#error('kit.sidecars: state gas.blobs, the blobs of an operation');
    onProgress('proving blobs', 0, count);
    const sidecars = await proveSidecars({ count, blobs, hasCellProofs: await takesCellProofs(sender.rpc) });
    onProgress('proving blobs', count, count);
    return sidecars;
  }

  /** @type {Kit['verifyByReceipt']} */
  #verifyByReceipt(targetOf, codeOf) {
    /** @type {ReturnType<Kit['verifyByReceipt']>} */
    const verify = (position, _executed, inclusion, _attempt, operation) =>
      this.#receipts.verdict(operation.hash, inclusion, targetOf?.(position, operation) ?? null, codeOf);
    this.#byReceipt.add(verify);
    return verify;
  }

  /** @type {Kit['countedBy']} */
  #countedBy(callOf, onCount) {
    const at = this.#starts.length;
    this.#starts.push(this.#state?.starts[at] ?? []);
    this.#readings.push(async ({ wallets }) => {
      const questionsAt = (/** @type {number | 'latest'} */ at) =>
        wallets.map((_, position) => resultOf(callOf(position), at));
      const answers = await this.#afterSetUp((at) => askAll(this.#rpc, questionsAt(at), 'setup'));
      this.#starts[at] = answers.map((answer, position) => {
        if (/^0x[0-9a-f]{1,64}$/i.test(answer)) return toBigInt(answer);
        const words = `the call to ${oneLine(callOf(position).to, 60)} answered ${oneLine(answer, 60)}, which is not a number`;
        throw this.#error(`${words}: check that a contract is there`);
      });
    });
    /** @type {Counted['verify']} */
    const verify = (position, executed, inclusion, attempt) => {
      const counter = { call: callOf(position), start: Number(this.#starts[at][position]), position, onCount };
      return verdictAt(this.#rpc, counter, executed, inclusion, attempt);
    };
    this.#counts.set(verify, callOf);
    return {
      verify,
      audit: async (blockHash, blockNumber) => {
        const starts = this.#starts[at];
        const block = { hash: blockHash, number: blockNumber };
        const counts = await readAtBlock(this.#rpc, block, (at) => starts.map((_, i) => countOf(callOf(i), at)));
        return starts.map((start, i) => ({ start, now: counts[i], target: callOf(i).to }));
      },
    };
  }
}

/** No byte is zero, because zeros cost less gas and one estimate is used for all. @param {() => number} random */
function newTag(random) {
  const bytes = Array.from({ length: 4 }, () => 1 + Math.floor(255 * random()));
  return Buffer.from(bytes).toString('hex');
}

/** Calls of the first wallet whose addresses are checked; of the others that of its first call. */
const CALLS_CHECKED = 8;
const ADDRESSES_CHECKED = 1000;
const LOOKS_FOR_CODE = 4;
const CODE_PAUSE_MS = 1000;

/** Longest wait for a node that lags behind the one that had the receipts of the set-up, and after what it is told. */
const LAG_MS = 30_000;
const LAG_TOLD_MS = 5000;

/** A payment may have no data; an authorization gives the address code. @param {Call} call */
function needsCode({ to, data = '0x', authorizationList = [] }) {
  return to !== null && data !== '0x' && authorizationList.length === 0 && !isPrecompile(to);
}

/** @param {Call} call */
function isFilled({ data, value, gasLimit }) {
  return data !== undefined && value !== undefined && gasLimit !== undefined;
}

/** @param {AbortSignal} signal */
function limited(signal) {
  return AbortSignal.any([signal, AbortSignal.timeout(MAX_AUDIT_MS)]);
}

/** @param {number} most @param {number} value */
function isFrom1To(most, value) {
  return Number.isInteger(value) && value >= 1 && value <= most;
}

/** @param {string} seed @returns {ReturnType<Kit['authority']>} */
function authorityOf(seed) {
  const { sign, addressOf } = createCurve();
  const key = getBytes(id(seed));
  const signer = { sign, keccak256: (/** @type {Uint8Array} */ bytes) => getBytes(keccak256(bytes)) };
  return { address: addressOf(key), authorize: (authorization) => signAuthorization(authorization, key, signer) };
}

/** @param {string} from @param {number} nonce */
function createAddress(from, nonce) {
  return getCreateAddress({ from, nonce });
}

/**
 * Reads what a wallet has done as of a block, from a count that only the wallet itself can raise. Nodes may have pruned
 * the state of the block, or not have it yet. Therefore attempts alternate between this block and the latest one, which
 * says nearly the same because only the wallet changes the count.
 * @param {Rpc} rpc
 * @param {{call: {to: string, data: string}, start: number, position: number, onCount?: (position: number, isThere: boolean) => void}} counter call: for
 *   the wallet's count; start: the count before this run
 * @param {Executed} bounds
 * @param {{number: number}} inclusion
 * @param {number} attempt
 * @returns {Promise<Verdict>}
 */
function verdictAt(rpc, { call, start, position, onCount }, { least, most, latest }, inclusion, attempt) {
  const isExact = attempt % 2 === 0;
  const bound = isExact ? most : latest;
  const { to: target } = call;
  return gatherThen(
    rpc,
    countOf(call, isExact ? inclusion.number : 'latest'),
    'readback',
    /** @returns {Verdict} */
    (answer) => {
      const count = Number(answer);
      const executed = count - start;
      onCount?.(position, count > 0 && executed >= least);
      const effect = String(count);
      if (executed === bound) return { state: 'ok', effect, target };
      if (executed >= least && executed < bound) return { state: 'likely', effect, target };
      if (executed > bound) return { state: 'wrong', effect, target };
      return { state: isExact ? 'missing' : 'behind', effect, target };
    },
    (error) => {
      if (error instanceof RpcError && !isBusy(error)) return { state: 'behind', effect: null, target };
      throw error;
    },
  );
}
