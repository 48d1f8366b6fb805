import { existsSync } from 'node:fs';
import { isAddress } from 'ethers';
import { InputError, displayName } from '../errors.js';
import { writeFileAtomically } from '../files.js';
import { readJsonFile } from '../json-file.js';
import { readArtifact } from './contract-state.js';
import { createPayloads, drawPayloads, payloadGas } from './payload.js';

/**
 * The workload `counter`: one Counter contract per wallet, one increment per operation. The count is read back after each
 * operation, and again by the audit. Also the file of `--contracts`, which keeps the addresses for later runs. A chain is
 * identified by its genesis hash, because development chains share chain ids and are often reset.
 *
 * @import { Rpc } from '../types.d.ts'
 * @import { Preparation, TransactionWorkload, Wallet } from './contract.d.ts'
 * @import { BuiltInOptions } from './index.js'
 * @import { PayloadState } from './payload.js'
 *
 * @typedef {Preparation['chain']} Chain
 *
 * @typedef {object} CounterState for a worker thread
 * @property {number} first position of its first wallet in the slice
 * @property {string[]} addresses of its contracts
 * @property {PayloadState | null} payloads
 */

const SCHEMA = 'evm-stress/contracts@1';

const ADVICE = 'give --contracts a file that stress wrote, or a new name';

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
  if (!existsSync(file)) return null;
  const json = readJsonFile(file, { what: 'contracts file', advice: ADVICE });
  if (json?.schema !== SCHEMA || typeof json.contracts !== 'object' || json.contracts === null) {
    throw new InputError(`${displayName(file)} is not a contracts file (schema ${SCHEMA}): ${ADVICE}`);
  }
  const bad = Object.entries(json.contracts).findIndex((pair) => !pair.every((address) => isAddress(address)));
  if (bad >= 0)
    throw new InputError(`${displayName(file)}: entry ${bad + 1} of "contracts" is not a pair of addresses: ${ADVICE}`);
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
 * @param {readonly Wallet[]} wallets
 * @param {string[]} addresses by position
 */
export async function writeContracts(file, { chainId, genesisHash }, known, wallets, addresses) {
  const contracts = {
    ...Object.fromEntries(known),
    ...Object.fromEntries(wallets.map(({ address }, i) => [address, addresses[i]])),
  };
  await writeFileAtomically(file, `${JSON.stringify({ schema: SCHEMA, chainId, genesisHash, contracts }, null, 2)}\n`);
}

/** @param {BuiltInOptions} options @returns {TransactionWorkload} */
export function createCounter({ kit, rpc, settings: { contracts: file = null, payload = null }, state: given }) {
  const state = /** @type {CounterState | undefined} */ (given);
  const artifact = readArtifact('Counter');
  // The selector is part of the calldata.
  const payloads = state?.payloads ?? (payload === null ? null : drawPayloads(payload - SELECTOR_BYTES));
  const payloadOf = payloads === null ? null : createPayloads(payloads);
  const ownFirst = state?.first ?? 0;
  // One text for all wallets.
  const data = INCREMENT + kit.tag;
  /**
   * The contract ignores the tag. Without it, two instances that use the same wallets by mistake would send identical
   * transactions, and each would count those of the other as its own.
   * @param {string} to
   */
  const incrementOf = (to) => ({ to, data });
  let increments = (state?.addresses ?? []).map(incrementOf);
  const { verify, audit } = kit.countedBy((position) => ({ to: increments[position].to, data: COUNT }));
  const { most, likely } = payloadGas(payload);

  /** The known contract of each wallet that is on the chain, or null. @param {Pick<Preparation, 'wallets' | 'chain'>} preparation */
  async function findDeployed({ wallets, chain }) {
    const known = file === null ? new Map() : readContracts(file, chain);
    return { known, found: await deployedOf(rpc, artifact, wallets, known) };
  }

  return {
    kind: 'transaction',
    subject: 'counters grew by',
    valueWei: 0n,
    // A deployment takes about 140,000 gas, the first increment of a counter 43,500; these are upper bounds.
    gas: {
      perWallet: 250_000n,
      perOperation: 50_000n + most,
      likely: { perWallet: 150_000n, perOperation: 27_000n + likely },
    },
    unprepared: async (preparation) => {
      const { found } = await findDeployed(preparation);
      return found.filter((address) => address === null).length;
    },
    prepare: async (preparation) => {
      const { wallets, chain } = preparation;
      const { known, found } = await findDeployed(preparation);
      const missing = wallets.map((_, position) => position).filter((position) => found[position] === null);
      const deployed = await kit.deployEach(artifact, () => [], missing);
      const byPosition = new Map(missing.map((position, i) => [position, deployed[i]]));
      const addresses = found.map((address, position) => address ?? String(byPosition.get(position)));
      if (file !== null) await writeContracts(file, chain, known, wallets, addresses);
      increments = addresses.map(incrementOf);
    },
    next: (position, nonce) => {
      if (payloadOf === null) return increments[position];
      return { to: increments[position].to, data: INCREMENT + payloadOf(ownFirst + position, nonce) };
    },
    verify,
    audit,
    handOver: (first, count) => {
      return { first, addresses: increments.slice(first, first + count).map(({ to }) => to), payloads };
    },
  };
}

/**
 * @param {Rpc} rpc
 * @param {any} artifact
 * @param {readonly Wallet[]} wallets
 * @param {Map<string, string>} known contract by wallet
 * @returns {Promise<Array<string | null>>} by position, the known contracts that are on the chain
 */
async function deployedOf(rpc, artifact, wallets, known) {
  const addresses = wallets.map(({ address }) => known.get(address) ?? null);
  const listed = wallets.map((_, i) => i).filter((i) => addresses[i] !== null);
  const requests = listed.map((i) => ({ method: 'eth_getCode', params: [addresses[i], 'latest'] }));
  const codes = await rpc.batch(requests, 'setup');
  listed.forEach((i, k) => {
    if (String(codes[k]).toLowerCase() !== runtimeCode(artifact, wallets[i].address)) addresses[i] = null;
  });
  return addresses;
}

/** The code of a Counter contains its owner as an immutable. @param {any} artifact @param {string} owner */
function runtimeCode({ deployedBytecode, immutables }, owner) {
  const word = owner.slice(2).toLowerCase().padStart(64, '0');
  let code = deployedBytecode.slice(2);
  for (const { start, length } of immutables) {
    code = code.slice(0, start * 2) + word + code.slice((start + length) * 2);
  }
  return `0x${code}`;
}
