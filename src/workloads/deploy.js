import { createHash } from 'node:crypto';
import { keccak256 } from 'ethers';
import { MAX_READ, PER_CALL, callOfKeys, readArtifact, selectorOf, stateCheck, word } from './contract-state.js';
import { isSuccess } from './receipts.js';

/**
 * The workload `deploy`: each operation deploys a contract of a given size. The audit reads the code hash of each.
 *
 * @import { TransactionWorkload } from './contract.d.ts'
 * @import { Entry } from './contract-state.js'
 * @import { BuiltInOptions } from './index.js'
 */

const CODE_HASHES_OF = selectorOf('codeHashesOf(address[])');

/** Gas of a deployment without code, and of a byte of code: upper bounds. */
const GAS = Object.freeze({ base: 80_000n, perByte: 300n });

/** Code of a size, which stops at its first byte. @param {number} bytes @returns {string} hexadecimal, without 0x */
export function runtimeCode(bytes) {
  let code = '00';
  // Without zeros, so that it costs the same at any place.
  for (let i = 0; code.length < 2 * bytes; i += 1)
    code += createHash('sha256').update(String(i)).digest('hex').replaceAll('00', '01');
  return code.slice(0, 2 * bytes);
}

/** Copies the code behind it: PUSH2 size, DUP1, PUSH1 12, PUSH1 0, CODECOPY, PUSH1 0, RETURN. @param {number} bytes */
function constructorOf(bytes) {
  return `0x61${bytes.toString(16).padStart(4, '0')}80600c6000396000f3`;
}

/** @param {BuiltInOptions} options @returns {TransactionWorkload} */
export function createDeploy({ kit, rpc, set: { bytes }, state: given }) {
  const code = runtimeCode(bytes);
  const hash = BigInt(keccak256(`0x${code}`));
  // The tag is not part of the code.
  const call = { to: null, data: constructorOf(bytes) + code + kit.tag, value: 0n, gasLimit: given?.gasLimit ?? 0n };
  let reader = '';
  /** @type {string[]} */
  let addresses = [];
  const perOperation = GAS.base + GAS.perByte * BigInt(bytes);
  return {
    kind: 'transaction',
    subject: 'wallets deployed contracts:',
    valueWei: 0n,
    // The first wallet deploys the contract that reads code hashes.
    gas: { perWallet: 400_000n, perOperation },
    unprepared: async () => 1,
    prepare: async ({ wallets }) => {
      addresses = wallets.map(({ address }) => address);
      reader = await kit.deployOnce(readArtifact('CodeHashes'));
      call.gasLimit = await kit.estimateGas({ from: addresses[0], to: null, data: call.data });
    },
    next: () => call,
    reconcile: async (snapshot) => {
      /** @type {{position: number, nonce: number}[]} */
      const deployed = [];
      const { check, ...receipts } = await kit.checkReceipts(snapshot, (position, nonce, receipt) => {
        if (isSuccess(receipt) && deployed.length < MAX_READ) deployed.push({ position, nonce });
      });
      /** @param {number} i @returns {Entry} */
      const entryOf = (i) => {
        const of = kit.createAddress(addresses[deployed[i].position], deployed[i].nonce);
        return { key: word(of), mustBe: hash, of };
      };
      const hashes = await stateCheck(
        { ...receipts, rpc, snapshot },
        {
          name: 'code',
          words: `of ${deployed.length} contracts, those that have the code that was deployed`,
          count: deployed.length,
          perCall: PER_CALL,
          entryOf,
          requestOf: (part, block) => callOfKeys(reader, CODE_HASHES_OF, part, block),
          faultOf: ({ of, mustBe }, found) => `${of} has the code hash 0x${word(found)}, not 0x${word(mustBe)}`,
        },
      );
      return [check, hashes];
    },
    facts: () => ({ bytes, codeHash: `0x${word(hash)}` }),
    handOver: () => ({ gasLimit: call.gasLimit }),
  };
}
