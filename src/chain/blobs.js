import { UnavailableError } from '../errors.js';
import { BLOB_PRICE, BLOB_UPDATE_FRACTION, ask, headerAt, nullIfOdd, nullIfRefused, resultOf } from './answers.js';

/**
 * Blobs (EIP-4844): what they cost, and what their chain takes.
 *
 * @import { BlobFeeState, Call, Rpc } from '../contracts/chain.d.ts'
 */

export const GAS_PER_BLOB = 131_072n;

/** Most blobs of a transaction, since the Osaka fork (EIP-7594). */
export const MAX_BLOBS = 6;

/** Most sidecars that are proved: each blob takes a quarter of a megabyte in each thread. */
export const MAX_SIDECARS = 32;

/** The steepest rise of the price that a public chain has had: Gnosis. */
const LEAST_UPDATE_FRACTION = 1_112_826;

/** CLZ, which the Osaka fork has added (EIP-7939), in code that returns the leading zeros of 0. */
const CLZ_OF_0 = '0x60001e60005260206000f3';

/** @param {Pick<Call, 'sidecar'>} call */
export function blobGasOf({ sidecar }) {
  return sidecar === undefined ? 0n : BigInt(sidecar.hashes.length) * GAS_PER_BLOB;
}

/** @param {Rpc} rpc @returns {Promise<BlobFeeState>} @throws {UnavailableError} the chain has no blobs */
export async function readBlobFees(rpc) {
  const { excessBlobGas = null } = (await ask(rpc, headerAt('latest'), 'setup')) ?? {};
  if (excessBlobGas === null)
    throw new UnavailableError(
      `${rpc.display}: eth_getBlockByNumber: excessBlobGas is not there: the chain takes no blob transactions (EIP-4844); use another workload`,
    );
  const stated = await nullIfOdd(ask(rpc, BLOB_UPDATE_FRACTION, 'setup'));
  if (stated !== null) return { excessBlobGas, updateFraction: stated };
  const priceWei = Number(await ask(rpc, BLOB_PRICE, 'setup'));
  return { excessBlobGas, updateFraction: Math.max(LEAST_UPDATE_FRACTION, excessBlobGas / Math.log(priceWei + 1)) };
}

/** Whether sidecars have cell proofs: since the Osaka fork. @param {Rpc} rpc */
export async function takesCellProofs(rpc) {
  return (await nullIfRefused(ask(rpc, resultOf({ data: CLZ_OF_0 }, 'latest'), 'setup'))) !== null;
}
