import { createRequire } from 'node:module';
import { SigningKey } from 'ethers';
import { createKeccak } from 'hash-wasm';

/**
 * A signer hashes (Keccak-256) and turns a digest into a recoverable secp256k1 signature: deterministic (RFC 6979)
 * and with a low s (EIP-2), so every implementation gives the same bytes.
 *
 * @typedef {object} Signature
 * @property {string} r 64 hexadecimal digits
 * @property {string} s 64 hexadecimal digits
 * @property {number} yParity 0 or 1
 *
 * @typedef {object} Signer
 * @property {string} name as the run file states it
 * @property {(digest: Uint8Array, privateKey: Uint8Array) => Signature} sign
 * @property {(bytes: Uint8Array) => Uint8Array} keccak256
 * @property {(bytes: Uint8Array) => string} keccak256Hex 64 hexadecimal digits
 */

/**
 * The native signer costs a seventh of what ethers' costs, but its package is optional: where it has no binary
 * for this platform, ethers signs.
 * @returns {Promise<Signer>}
 */
export async function createSigner() {
  return (await createNativeSigner()) ?? createEthersSigner();
}

/** @returns {Promise<Signer | null>} null where there is no binary for this platform */
export async function createNativeSigner() {
  const secp256k1 = loadSecp256k1();
  if (secp256k1 === null) return null;
  return {
    name: 'secp256k1',
    ...(await createHasher()),
    sign: (digest, privateKey) => {
      const { signature, recid } = secp256k1.ecdsaSign(digest, privateKey);
      const hex = Buffer.from(signature.buffer, signature.byteOffset, 64).toString('hex');
      return { r: hex.slice(0, 64), s: hex.slice(64), yParity: recid };
    },
  };
}

/** @returns {Promise<Signer>} */
export async function createEthersSigner() {
  return {
    name: 'ethers',
    ...(await createHasher()),
    sign: (digest, privateKey) => {
      const { r, s, yParity } = new SigningKey(privateKey).sign(digest);
      return { r: r.slice(2), s: s.slice(2), yParity };
    },
  };
}

/** Keccak-256 in WebAssembly takes a twelfth of the time that ethers' takes. */
async function createHasher() {
  const hasher = await createKeccak(256);
  return {
    keccak256: (/** @type {Uint8Array} */ bytes) => hasher.init().update(bytes).digest('binary'),
    keccak256Hex: (/** @type {Uint8Array} */ bytes) => hasher.init().update(bytes).digest('hex'),
  };
}

/**
 * The curve in native code.
 * @returns {typeof import('secp256k1') | null} null where there is no binary for this platform
 */
export function loadSecp256k1() {
  try {
    // The package's main module would silently fall back to a slow one in JavaScript; its bindings do not.
    return createRequire(import.meta.url)('secp256k1/bindings.js');
  } catch {
    return null;
  }
}
