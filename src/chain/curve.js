import { createHmac } from 'node:crypto';
import { createRequire } from 'node:module';
import { getAddress, keccak256 } from 'ethers';

/**
 * @import { HDNodeWallet } from 'ethers'
 * @typedef {typeof import('secp256k1')} NativeLibrary
 * @typedef {typeof import('tiny-secp256k1')} WasmLibrary
 */

/**
 * The secp256k1 curve: signatures, addresses, child keys. libsecp256k1 does it, as native code or, where its package
 * has no binary for this platform, as WebAssembly, which takes twice as long to sign; ethers takes seven times as long.
 *
 * @typedef {object} Signature deterministic (RFC 6979) and with a low s (EIP-2), so every library gives the same bytes
 * @property {string} r 64 hexadecimal digits
 * @property {string} s 64 hexadecimal digits
 * @property {number} yParity 0 or 1
 *
 * @typedef {object} Curve
 * @property {string} name the package, as the run file states it
 * @property {(digest: Uint8Array, privateKey: Uint8Array) => Signature} sign
 * @property {(privateKey: Uint8Array) => string} addressOf with its checksum (EIP-55)
 * @property {(parent: HDNodeWallet, index: number) => {privateKey: Uint8Array, address: string}} child a normal one
 *   (BIP-32), not a hardened one
 */

/** The libraries are loaded when they are needed: WebAssembly takes 30 ms. */
const require = createRequire(import.meta.url);

/** @returns {Curve} */
export function createCurve() {
  return createNativeCurve() ?? createWasmCurve();
}

/** @returns {Curve | null} null where there is no binary for this platform */
export function createNativeCurve() {
  /** @type {NativeLibrary} */
  let library;
  try {
    // The package's main module would silently fall back to a slow one in JavaScript; its bindings do not.
    library = require('secp256k1/bindings.js');
  } catch {
    return null;
  }
  return {
    name: 'secp256k1',
    sign: (digest, privateKey) => {
      const { signature, recid } = library.ecdsaSign(digest, privateKey);
      return toSignature(signature, recid);
    },
    ...keysOf(
      (privateKey) => library.publicKeyCreate(privateKey, false),
      (privateKey, tweak) => library.privateKeyTweakAdd(privateKey, tweak),
    ),
  };
}

/** @returns {Curve} */
export function createWasmCurve() {
  /** @type {WasmLibrary} */
  const library = require('tiny-secp256k1');
  return {
    name: 'tiny-secp256k1',
    sign: (digest, privateKey) => {
      const { signature, recoveryId } = library.signRecoverable(digest, privateKey);
      return toSignature(signature, recoveryId);
    },
    ...keysOf(
      (privateKey) => library.pointFromScalar(privateKey, false),
      (privateKey, tweak) => library.privateAdd(privateKey, tweak),
    ),
  };
}

/** @param {Uint8Array} bytes r and s @param {number} yParity @returns {Signature} */
function toSignature(bytes, yParity) {
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, 64).toString('hex');
  return { r: hex.slice(0, 64), s: hex.slice(64), yParity };
}

/**
 * @param {(privateKey: Uint8Array) => Uint8Array | null} publicKeyOf uncompressed
 * @param {(privateKey: Uint8Array, tweak: Uint8Array) => Uint8Array | null} add modulo the order of the curve; it may
 *   overwrite the key
 * @returns {Pick<Curve, 'addressOf' | 'child'>}
 */
function keysOf(publicKeyOf, add) {
  /** @param {Uint8Array} privateKey */
  const addressOf = (privateKey) => {
    const point = publicKeyOf(privateKey);
    if (point === null) throw new Error('not a private key');
    // The last 20 bytes of the hash of the point without its prefix byte (Ethereum Yellow Paper, appendix F).
    return getAddress(`0x${keccak256(point.subarray(1)).slice(-40)}`);
  };
  return {
    addressOf,
    child: (parent, index) => {
      // CKDpriv of BIP-32: the left half of the HMAC is added to the parent's key.
      const data = Buffer.alloc(37);
      data.write(parent.publicKey.slice(2), 'hex');
      data.writeUInt32BE(index, 33);
      const mac = createHmac('sha512', Buffer.from(parent.chainCode.slice(2), 'hex'))
        .update(data)
        .digest();
      const privateKey = add(Buffer.from(parent.privateKey.slice(2), 'hex'), mac.subarray(0, 32));
      // One index in 2^127 has no child.
      if (privateKey === null) throw new Error(`the extended key has no child ${index}`);
      return { privateKey, address: addressOf(privateKey) };
    },
  };
}
