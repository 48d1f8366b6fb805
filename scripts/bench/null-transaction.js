/**
 * Just enough of a signed transaction to run the null chain: its nonce, its target, the selector it calls. The
 * sender costs a signature recovery, so it is worked out only where nothing else tells it.
 */
import { createRequire } from 'node:module';
import { Transaction } from 'ethers';

/**
 * @typedef {object} Fields
 * @property {number} nonce
 * @property {string} to in hex without 0x, empty for a deployment
 * @property {string} selector the first four bytes of the data, in hex
 * @property {string} word the 32 bytes after it
 */

/** Where nonce, to and data are among the members, by transaction type (EIP-2718, EIP-2930, EIP-1559). */
const MEMBERS = [
  { nonce: 0, to: 3, data: 5 },
  { nonce: 1, to: 4, data: 6 },
  { nonce: 1, to: 5, data: 7 },
];

/** Longest hash, address or integer that is read here; a nonce above 6 bytes would not fit a number. */
const SELECTOR_BYTES = 4;

/**
 * Decodes the RLP only as far as the data.
 * @param {Buffer} bytes the transaction, which may be followed by anything
 * @returns {Fields | null} null when it is of an unknown type
 */
export function readFields(bytes) {
  const isTyped = bytes[0] < 0x80;
  const wanted = MEMBERS[isTyped ? bytes[0] : 0];
  if (wanted === undefined) return null;
  const cursor = { at: isTyped ? 1 : 0, length: 0 };
  enter(bytes, cursor);
  const fields = { nonce: 0, to: '', selector: '', word: '' };
  for (let member = 0; member <= wanted.data; member += 1) {
    enter(bytes, cursor);
    const { at, length } = cursor;
    if (member === wanted.nonce) fields.nonce = length === 0 ? 0 : bytes.readUIntBE(at, length);
    else if (member === wanted.to) fields.to = bytes.toString('hex', at, at + length);
    else if (member === wanted.data) {
      fields.selector = bytes.toString('hex', at, at + Math.min(length, SELECTOR_BYTES));
      fields.word = bytes.toString('hex', at + SELECTOR_BYTES, at + Math.min(length, SELECTOR_BYTES + 32));
    }
    cursor.at += length;
  }
  return fields;
}

/**
 * Moves the cursor over the head of an RLP item to its content, and takes down how long that is.
 * @param {Buffer} bytes
 * @param {{at: number, length: number}} cursor
 */
function enter(bytes, cursor) {
  const first = bytes[cursor.at];
  if (first < 0x80) {
    cursor.length = 1; // the byte is its own content
    return;
  }
  const base = first < 0xc0 ? 0x80 : 0xc0;
  const short = first - base;
  if (short < 56) {
    cursor.at += 1;
    cursor.length = short;
    return;
  }
  const lengthBytes = short - 55;
  cursor.length = bytes.readUIntBE(cursor.at + 1, lengthBytes);
  cursor.at += 1 + lengthBytes;
}

/**
 * Gives the sender of a transaction, in lower case without 0x. The native library takes a twentieth of what ethers
 * does, which counts when ten thousand wallets deploy.
 * @param {(bytes: Uint8Array) => string} keccak in hex
 * @returns {(raw: string) => string}
 */
export function createSenderRecovery(keccak) {
  const native = loadNative();
  return (raw) => {
    const { unsignedHash, signature, from } = native === null ? Transaction.from(raw) : withoutSender(raw);
    if (signature === null) throw new Error('the transaction is not signed');
    if (native === null) return String(from).slice(2).toLowerCase();
    const compact = Buffer.from(signature.r.slice(2) + signature.s.slice(2), 'hex');
    const digest = Buffer.from(unsignedHash.slice(2), 'hex');
    const publicKey = native.ecdsaRecover(compact, signature.yParity, digest, false);
    return keccak(publicKey.subarray(1)).slice(-40);
  };
}

/** The getter `from` of ethers recovers at once, so that it must not be touched. @param {string} raw */
function withoutSender(raw) {
  const { unsignedHash, signature } = Transaction.from(raw);
  return { unsignedHash, signature, from: null };
}

/** @returns {any} null where secp256k1 has no binary for this platform */
function loadNative() {
  try {
    return createRequire(import.meta.url)('secp256k1/bindings.js');
  } catch {
    return null;
  }
}
