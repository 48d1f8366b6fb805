import { keccak256 } from 'ethers';

/**
 * Encodes and signs transactions: legacy with replay protection (EIP-155) and dynamic fee (EIP-1559).
 *
 * The encoder is our own because it is on the hot path: building RLP as one hex string costs a tenth of what
 * a general encoder does. test/unit/chain/transaction.test.js holds it to ethers' bytes.
 *
 * @typedef {object} Fee
 * @property {bigint} [gasPriceWei] for a legacy transaction
 * @property {bigint} [maxFeePerGasWei] for a dynamic fee transaction
 * @property {bigint} [maxPriorityFeePerGasWei] for a dynamic fee transaction
 *
 * @typedef {object} Transaction
 * @property {number} chainId
 * @property {number} nonce
 * @property {bigint} gasLimit
 * @property {string | null} to null deploys a contract
 * @property {bigint} value in wei
 * @property {string} data
 * @property {Fee} fee
 *
 * @typedef {object} SignedTransaction
 * @property {string} raw what eth_sendRawTransaction takes
 * @property {string} hash
 */

/** The prefix of an RLP string or list (Ethereum Yellow Paper, appendix B). @param {number} bytes @param {number} base 0x80 or 0xc0 */
function prefix(bytes, base) {
  if (bytes < 56) return (base + bytes).toString(16);
  const length = evenHex(bytes);
  return (base + 55 + length.length / 2).toString(16) + length;
}

/** @param {number | bigint} value */
function evenHex(value) {
  const digits = value.toString(16);
  return digits.length % 2 === 0 ? digits : `0${digits}`;
}

/** @param {string} hex without 0x */
function rlpString(hex) {
  if (hex.length === 2 && hex < '80') return hex;
  return prefix(hex.length / 2, 0x80) + hex;
}

/** RLP knows an integer as its big-endian bytes without leading zeros, zero as none. @param {number | bigint} value */
function rlpInteger(value) {
  return value === 0 || value === 0n ? '80' : rlpString(evenHex(value));
}

/** @param {string} payload the encoded members, one after another */
function rlpList(payload) {
  return prefix(payload.length / 2, 0xc0) + payload;
}

/**
 * @param {Transaction} transaction
 * @param {Uint8Array} privateKey 32 bytes
 * @param {import('./signer.js').Signer} signer
 * @returns {SignedTransaction}
 */
export function signTransaction({ chainId, nonce, gasLimit, to, value, data, fee }, privateKey, signer) {
  const call =
    rlpInteger(gasLimit) + rlpString(to === null ? '' : to.slice(2)) + rlpInteger(value) + rlpString(data.slice(2));
  if (fee.gasPriceWei !== undefined) {
    const fields = rlpInteger(nonce) + rlpInteger(fee.gasPriceWei) + call;
    const { r, s, yParity } = signer.sign(keccak(rlpList(`${fields + rlpInteger(chainId)}8080`)), privateKey);
    const v = BigInt(chainId) * 2n + 35n + BigInt(yParity);
    return finish(rlpList(fields + rlpInteger(v) + rlpInteger(r) + rlpInteger(s)));
  }
  const fees = rlpInteger(fee.maxPriorityFeePerGasWei ?? 0n) + rlpInteger(fee.maxFeePerGasWei ?? 0n);
  const fields = `${rlpInteger(chainId) + rlpInteger(nonce) + fees + call}c0`;
  const { r, s, yParity } = signer.sign(keccak(`02${rlpList(fields)}`), privateKey);
  return finish(`02${rlpList(fields + rlpInteger(yParity) + rlpInteger(r) + rlpInteger(s))}`);
}

/** @param {string} hex without 0x */
function keccak(hex) {
  return Buffer.from(keccak256(Buffer.from(hex, 'hex')).slice(2), 'hex');
}

/** @param {string} hex without 0x */
function finish(hex) {
  return { raw: `0x${hex}`, hash: keccak256(Buffer.from(hex, 'hex')) };
}
