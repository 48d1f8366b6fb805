import { createRequire } from 'node:module';
import { SigningKey } from 'ethers';

/**
 * A signer turns a digest into a recoverable secp256k1 signature: deterministic (RFC 6979) and with a low s
 * (EIP-2), so every implementation gives the same bytes.
 *
 * @typedef {object} Signature
 * @property {bigint} r
 * @property {bigint} s
 * @property {number} yParity 0 or 1
 *
 * @typedef {object} Signer
 * @property {string} name as the run file states it
 * @property {(digest: Uint8Array, privateKey: Uint8Array) => Signature} sign
 */

/**
 * The native signer costs a seventh of what ethers' costs, but its package is optional: where it has no binary
 * for this platform, ethers signs.
 * @returns {Signer}
 */
export function createSigner() {
  return createNativeSigner() ?? createEthersSigner();
}

/** @returns {Signer | null} null where there is no binary for this platform */
export function createNativeSigner() {
  let secp256k1;
  try {
    // The package's main module would silently fall back to a slow one in JavaScript; its bindings do not.
    secp256k1 = createRequire(import.meta.url)('secp256k1/bindings.js');
  } catch {
    return null;
  }
  return {
    name: 'secp256k1',
    sign: (digest, privateKey) => {
      const { signature, recid } = secp256k1.ecdsaSign(digest, privateKey);
      const hex = Buffer.from(signature.buffer, signature.byteOffset, 64).toString('hex');
      return { r: BigInt(`0x${hex.slice(0, 64)}`), s: BigInt(`0x${hex.slice(64)}`), yParity: recid };
    },
  };
}

/** @returns {Signer} */
export function createEthersSigner() {
  return {
    name: 'ethers',
    sign: (digest, privateKey) => {
      const { r, s, yParity } = new SigningKey(privateKey).sign(digest);
      return { r: BigInt(r), s: BigInt(s), yParity };
    },
  };
}
