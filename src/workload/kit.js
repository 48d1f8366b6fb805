import { randomBytes } from 'node:crypto';
import { Interface, getCreateAddress } from 'ethers';
import { toBigInt } from '../chain/rpc.js';
import { CheckError, WorkloadError, oneLine } from '../errors.js';
import { readAtHash } from './at-block.js';
import { placeOf } from './blame.js';
import { createOwnRpc } from './kit-rpc.js';
import { Yard } from './kit-sending.js';
import { MOST_MS, Receipts, successCheck } from './receipts.js';
import { compile } from './solidity.js';

/**
 * @import { Rpc as RpcRpc } from '../chain/rpc.js'
 * @import { Kit, Rpc as KitRpc } from './contract.d.ts'
 * @import { Books, Check, Preparation } from './index.js'
 */

/**
 * What a workload of the user's own is given to work with: what he would otherwise have to write himself.
 *
 * @typedef {(wallets: readonly {address: string, nonce: number}[]) => Promise<void>} Reading
 *
 * @typedef {object} Bench the kit, and what the guard does with it
 * @property {Kit} kit
 * @property {KitRpc} rpc
 * @property {Kit['estimateGas']} measure the gas of a call; its errors are those of the node
 * @property {(preparation: Preparation) => void} begin wallets can send from now on
 * @property {() => Promise<void>} finish they no longer can; what has to be read before the load is read
 * @property {(books: Books, verify: object) => Promise<Check[]>} checkNonces
 *   reverted transactions raise nonces too: where verify() has not looked at receipts, an audit by nonces does
 */

/**
 * @param {string} file of the workload, for messages
 * @param {RpcRpc} rpc
 * @param {boolean} [isPrepared] as it is in a worker thread
 * @returns {Bench}
 */
export function createBench(file, rpc, isPrepared = false) {
  /** What is to be read before the load. @type {Reading[]} */
  const readings = [];
  // Behind the data it tells the transactions of this instance from those of another one with the same wallets.
  const tag = randomBytes(4).toString('hex');
  const receipts = new Receipts(rpc);
  /** Wallets that are audited by their nonces. @type {string[]} */
  let byNonce = [];
  /** What verifyByReceipt() has made. @type {WeakSet<object>} */
  const byReceipt = new WeakSet();
  const yard = new Yard(file, rpc, tag);
  const { deployEach, deployOnce, sendAll, estimateGas } = yard;
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
    rpc: createOwnRpc(rpc, file, () => (isPrepared ? 'readback' : 'setup')),
    measure: (call) => yard.measure(call),
    begin: (preparation) => void (yard.preparation = preparation),
    finish: async () => {
      const wallets = yard.preparation?.wallets ?? [];
      yard.preparation = null;
      await Promise.all(readings.map((read) => read(wallets)));
      isPrepared = true;
    },
    checkNonces: async (books, verify) => {
      if (byNonce.length === 0 || byReceipt.has(verify)) return [];
      const signal = AbortSignal.any([books.signal, AbortSignal.timeout(MOST_MS)]);
      return [successCheck(byNonce, books, await receipts.ofRun(byNonce, books, signal))];
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
 * @param {string} place where it is asked for
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
      const words = `the call to ${oneLine(to, 60)} answered ${oneLine(answer, 60)}, no number: is there code?`;
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
