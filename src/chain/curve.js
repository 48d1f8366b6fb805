import { createHmac } from 'node:crypto';
import { computeAddress, getAddress, keccak256 } from 'ethers';
import { loadSecp256k1 } from './signer.js';

/**
 * From a private key to its address, and from an extended key to its children. In native code this takes a tenth of
 * the time that ethers takes, which is most of what ten thousand wallets wait for.
 *
 * @typedef {object} Curve
 * @property {(privateKey: Uint8Array) => string} addressOf with its checksum (EIP-55)
 * @property {(parent: import('ethers').HDNodeWallet, index: number) => {privateKey: Uint8Array, address: string}} child a normal one
 *   (BIP-32), not a hardened one
 */

/** @returns {Curve} */
export function createCurve() {
  return createNativeCurve() ?? ethersCurve;
}

/** @returns {Curve | null} null where there is no binary for this platform */
export function createNativeCurve() {
  const secp256k1 = loadSecp256k1();
  if (secp256k1 === null) return null;
  /** @param {Uint8Array} privateKey */
  const addressOf = (privateKey) => {
    // The last 20 bytes of the hash of the point without its prefix byte (Ethereum Yellow Paper, appendix F).
    const point = secp256k1.publicKeyCreate(privateKey, false).subarray(1);
    return getAddress(`0x${keccak256(point).slice(-40)}`);
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
      const key = Buffer.from(parent.privateKey.slice(2), 'hex');
      // It throws for the one key in 2^127 that BIP-32 has no child for.
      const privateKey = secp256k1.privateKeyTweakAdd(key, mac.subarray(0, 32));
      return { privateKey, address: addressOf(privateKey) };
    },
  };
}

/** @type {Curve} */
export const ethersCurve = {
  addressOf: (privateKey) => computeAddress(hex(privateKey)),
  child: (parent, index) => {
    const { privateKey, address } = parent.deriveChild(index);
    return { privateKey: Buffer.from(privateKey.slice(2), 'hex'), address };
  },
};

/** @param {Uint8Array} bytes */
function hex(bytes) {
  return `0x${Buffer.from(bytes).toString('hex')}`;
}
