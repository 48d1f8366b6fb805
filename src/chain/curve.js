import { createHmac } from 'node:crypto';
import { createRequire } from 'node:module';
import { getAddress, keccak256 } from 'ethers';

/**
 * @typedef {typeof import('secp256k1')} NativeLibrary
 * @typedef {typeof import('tiny-secp256k1')} WasmLibrary
 */

/**
 * The secp256k1 curve: signatures, addresses, child keys. libsecp256k1 does it, as native code or, where its package
 * has no binary for this platform, as WebAssembly, which takes twice as long to sign; ethers takes seven times as long.
 * BIP-32 is here, too, because ethers needs 0.1 s for the first key.
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
 * @property {(parent: ExtendedKey) => (index: number) => ExtendedKey} childrenOf from index 2^31 on they are hardened
 *
 * @typedef {object} ExtendedKey of BIP-32
 * @property {Uint8Array} privateKey
 * @property {Uint8Array} chainCode
 */

const HARDENED = 2 ** 31;

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
      (privateKey, isCompressed) => library.publicKeyCreate(privateKey, isCompressed),
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
      (privateKey, isCompressed) => library.pointFromScalar(privateKey, isCompressed),
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
 * @param {(privateKey: Uint8Array, isCompressed: boolean) => Uint8Array | null} publicKeyOf
 * @param {(privateKey: Uint8Array, tweak: Uint8Array) => Uint8Array | null} add modulo the order of the curve; it may
 *   overwrite the key
 * @returns {Pick<Curve, 'addressOf' | 'childrenOf'>}
 */
function keysOf(publicKeyOf, add) {
  /** @param {Uint8Array} privateKey @param {boolean} isCompressed */
  const pointOf = (privateKey, isCompressed) => {
    const point = publicKeyOf(privateKey, isCompressed);
    if (point === null) throw new Error('not a private key');
    return point;
  };
  return {
    // The last 20 bytes of the hash of the point without its prefix byte (Ethereum Yellow Paper, appendix F).
    addressOf: (privateKey) => getAddress(`0x${keccak256(pointOf(privateKey, false).subarray(1)).slice(-40)}`),
    childrenOf: ({ privateKey, chainCode }) => {
      const point = pointOf(privateKey, true);
      const secret = Buffer.concat([Buffer.alloc(1), privateKey]);
      // CKDpriv of BIP-32: the left half of the HMAC is added to the parent's key.
      return (index) => {
        const number = Buffer.alloc(4);
        number.writeUInt32BE(index);
        const hmac = createHmac('sha512', chainCode).update(index < HARDENED ? point : secret);
        const mac = hmac.update(number).digest();
        const child = add(Buffer.from(privateKey), mac.subarray(0, 32));
        // One index in 2^127 has no child.
        if (child === null) throw new Error(`the extended key has no child ${index}`);
        return { privateKey: child, chainCode: mac.subarray(32) };
      };
    },
  };
}

/**
 * @param {Curve} curve
 * @param {Uint8Array} seed of BIP-39
 * @param {string} path such as m/44'/60'/0'/0
 * @returns {ExtendedKey}
 */
export function extendedKeyOf(curve, seed, path) {
  const mac = createHmac('sha512', 'Bitcoin seed').update(seed).digest();
  /** @type {ExtendedKey} */
  let key = { privateKey: mac.subarray(0, 32), chainCode: mac.subarray(32) };
  for (const part of path.split('/').slice(1))
    key = curve.childrenOf(key)(Number.parseInt(part, 10) + (part.endsWith("'") ? HARDENED : 0));
  return key;
}
