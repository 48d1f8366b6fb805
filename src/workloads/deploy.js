import { keccak256 } from 'ethers/crypto';
import { toBeArray } from 'ethers/utils';
import { noise } from '../random.js';
import { MAX_OF_OPERATIONS } from './contract-state.js';

/**
 * The workload `deploy`: each operation deploys a contract of a given size. The audit reads the code of the first 10,000.
 *
 * @import { TransactionWorkload } from '../contracts/workload.d.ts'
 * @import { BuiltInOptions } from './index.js'
 */

/** Gas of a deployment without code, and of a byte of code: upper bounds. */
const GAS = Object.freeze({ base: 80_000n, perByte: 300n });

/** Most bytes of code that the audit reads. */
const MAX_BYTES = 20_000_000;

/** Code of a size, which fails at its first byte (INVALID). @param {number} bytes @returns {string} hexadecimal, without 0x */
export function runtimeCode(bytes) {
  return `fe${noise('code', bytes - 1)}`;
}

/** Copies the code behind it: PUSH2 size, DUP1, PUSH1 12, PUSH1 0, CODECOPY, PUSH1 0, RETURN. @param {number} bytes */
function constructorOf(bytes) {
  return `0x61${bytes.toString(16).padStart(4, '0')}80600c6000396000f3`;
}

/** @param {BuiltInOptions} options @returns {TransactionWorkload} */
export default function create({ kit, set: { bytes } }) {
  const code = runtimeCode(bytes);
  const mustBe = BigInt(`0x${code}`);
  // The tag is not part of the code.
  const call = { to: null, data: constructorOf(bytes) + code + kit.tag };
  return {
    kind: 'transaction',
    subject: 'wallets deployed contracts:',
    valueWei: 0n,
    gas: { perWallet: 0n, perOperation: GAS.base + GAS.perByte * BigInt(bytes) },
    next: () => call,
    reconcile: async (snapshot) => {
      const wallets = kit.addresses();
      const limit = Math.min(MAX_OF_OPERATIONS, Math.ceil(MAX_BYTES / bytes));
      /** @type {string[]} */
      const deployed = [];
      const { check, compare } = await kit.checkReceipts(snapshot, (position, nonce, receipt) => {
        if (receipt.succeeded && deployed.length < limit) deployed.push(kit.createAddress(wallets[position], nonce));
      });
      const codes = await compare({
        name: 'code',
        words: 'contracts that have the code that was deployed',
        count: deployed.length,
        entryOf: (i) => ({ of: `${deployed[i]} has the code hash`, read: ['eth_getCode', deployed[i]], mustBe }),
        show: (found) => keccak256(toBeArray(found)),
      });
      return [check, codes];
    },
    facts: () => ({ bytes, codeHash: keccak256(`0x${code}`) }),
  };
}
