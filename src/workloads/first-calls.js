import { askAll, codeOf } from '../chain/answers.js';
import { classOf } from '../chain/refusals.js';
import { RpcError, UnavailableError } from '../errors.js';
import { refusalWords } from './contract-abi.js';

/**
 * What is asked about the first calls of a load before anything is paid: whether there is a contract, and what the calls
 * take, or why they fail.
 *
 * @import { Interface } from 'ethers/abi'
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { Call, Kit, Wallet } from '../contracts/workload.d.ts'
 *
 * @typedef {Call & {words: string, wallet: Pick<Wallet, 'index' | 'address'>}} FirstCall words: what is called
 */

/** Wallets whose first operation is estimated: some may lack what it needs, such as tokens. */
const WALLETS_ESTIMATED = 100;

/** Below are precompiles, which have no code. */
const FIRST_OF_CONTRACTS = 0x10000n;

/** Code of an account that delegates to a contract (EIP-7702). */
export const DELEGATION = '0xef0100';

/** @param {string} address */
export function isPrecompile(address) {
  return BigInt(address) < FIRST_OF_CONTRACTS;
}

/**
 * The code that a call of each address executes.
 * @param {Rpc} rpc
 * @param {readonly string[]} addresses
 * @param {number | 'latest'} [at] a block
 * @returns {Promise<string[]>}
 */
export async function codesOf(rpc, addresses, at = 'latest') {
  const ask = (/** @type {readonly string[]} */ some) =>
    askAll(
      rpc,
      some.map((address) => codeOf(address, at)),
      'setup',
    );
  const codes = await ask(addresses);
  const isDelegated = (/** @type {string} */ code) => code.toLowerCase().startsWith(DELEGATION);
  const contracts = await ask(codes.filter(isDelegated).map((code) => `0x${code.slice(DELEGATION.length)}`));
  return codes.map((code) => (isDelegated(code) ? (contracts.shift() ?? '0x') : code));
}

/** @param {Rpc} rpc @param {string} address @param {string} option that gives it @throws {UnavailableError} */
export async function refuseWithoutCode(rpc, address, option) {
  const [code] = await codesOf(rpc, [address]);
  if (code !== '0x') return;
  throw new UnavailableError(
    `${option} ${address} has no code on this chain: a call of it does nothing and succeeds; check the address and the chain`,
  );
}

/** Some positions of all, the first one among them. @param {number} count */
export function positionsEstimated(count) {
  const some = Math.min(count, WALLETS_ESTIMATED);
  return Array.from({ length: some }, (_, i) => Math.floor((i * count) / some));
}

/**
 * The gas of each call.
 * @param {Pick<Kit, 'estimateGas'>} kit
 * @param {readonly FirstCall[]} calls
 * @param {{abi: Interface, fallback: bigint}} about abi: of its errors; fallback: for a wallet that has no funds yet
 * @returns {Promise<bigint[]>}
 * @throws {UnavailableError} one of them would fail
 */
export async function estimateCalls(kit, calls, { abi, fallback }) {
  const settled = await Promise.allSettled(
    calls.map(async ({ words, wallet: { index, address }, ...call }) => {
      try {
        return await kit.estimateGas({ ...call, from: address });
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        if (classOf(error) === 'funds') return fallback;
        const why = refusalWords(abi, error, (call.value ?? 0n) > 0n);
        throw new UnavailableError(`${words} fails for wallet ${index} (${address}): ${why}`);
      }
    }),
  );
  const errors = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  const [error] = errors;
  if (error instanceof UnavailableError && settled.length > 1)
    throw new UnavailableError(`${error.message}; ${errors.length} of ${settled.length} calls that were tried fail`);
  if (error !== undefined) throw error;
  return settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
}

/** @param {readonly bigint[]} amounts */
export function largest(amounts) {
  return amounts.reduce((most, one) => (one > most ? one : most));
}
