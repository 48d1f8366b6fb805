import { SigningKey } from 'ethers';

/**
 * A signer turns a digest into a recoverable secp256k1 signature with a low s (EIP-2).
 *
 * @typedef {object} Signature
 * @property {bigint} r
 * @property {bigint} s
 * @property {0 | 1} yParity
 *
 * @typedef {object} Signer
 * @property {string} name as the run file states it
 * @property {(digest: Uint8Array, privateKey: Uint8Array) => Signature} sign
 */

/** @returns {Signer} */
export function createSigner() {
  return {
    name: 'ethers',
    sign: (digest, privateKey) => {
      const { r, s, yParity } = new SigningKey(privateKey).sign(digest);
      return { r: BigInt(r), s: BigInt(s), yParity };
    },
  };
}
