import { Interface, concat, getCreateAddress, isHexString } from 'ethers';
import { toHex, toNumber } from '../chain/rpc.js';
import { estimateGas, sendAll } from '../chain/send.js';
import { RpcError, WorkloadError } from '../errors.js';
import { placeOf } from './blame.js';
import { Nonsense, checkedCall, whatItIs } from './nonsense.js';

/**
 * @import { Rpc } from '../chain/rpc.js'
 * @import { Artifact, Call, Kit } from './contract.d.ts'
 * @import { Preparation } from './index.js'
 */

/**
 * The part of the kit that sends: contracts and other transactions of a set-up.
 */

export class Yard {
  /** Null but while prepare() runs. @type {Preparation | null} */
  preparation = null;
  #file;
  #rpc;
  #tag;

  /** @param {string} file @param {Rpc} rpc @param {string} tag behind each deployment */
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

  /** The same, whose errors are those of the node. @type {Kit['estimateGas']} */
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
        `the artifact must be { abi, bytecode }, and its bytecode a text of 0x and pairs of hexadecimal digits, not ${whatItIs(bytecode)}`,
      );
    if (typeof abi !== 'object' && typeof abi !== 'string')
      throw new TypeError(`the artifact must be { abi, bytecode }; its abi is ${whatItIs(abi)}`);
    const data = concat([bytecode, Interface.from(abi).encodeDeploy(args), `0x${this.#tag}`]);
    return { position, to: null, data };
  }

  /** @param {readonly (Call & {position: number})[]} calls @param {string} label */
  async #send(calls, label) {
    const { wallets, sender, onProgress } = this.#prepared();
    if (!Array.isArray(calls)) throw new TypeError(`it takes an array of calls, not ${whatItIs(calls)}`);
    if (calls.length === 0) return;
    for (const call of calls) {
      checkedCall(call, 1n); // of which the gas limit is found out below
      if (wallets[call.position] === undefined)
        throw new TypeError(`there is no wallet at position ${whatItIs(call.position)}`);
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

  /** What goes wrong with what was asked for points to whoever asked. @template T @param {string} name @param {() => Promise<T>} action @returns {Promise<T>} */
  async #pointed(name, action) {
    const asked = new Error();
    try {
      return await action();
    } catch (error) {
      if (error instanceof Nonsense) {
        const words = error.message.replace(/^returned/, 'was given').replace('must return', 'takes');
        throw new WorkloadError(`${placeOf(asked, this.#file)}: kit.${name} ${words}`);
      }
      const isRefused = error instanceof RpcError && error.method !== 'eth_sendRawTransaction';
      if (!isRefused && !(error instanceof TypeError)) throw error;
      throw new WorkloadError(`${placeOf(asked, this.#file)}: kit.${name}: ${error.message}`);
    }
  }
}
