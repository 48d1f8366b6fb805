/**
 * @import { Call, Fee, SignedTransaction, Signer, Transaction } from '../contracts/chain.d.ts'
 * @import { Authorization, Sidecar } from '../contracts/workload.d.ts'
 */

/**
 * Encodes and signs transactions: legacy with replay protection (EIP-155), access list (EIP-2930, type 1), dynamic fee
 * (EIP-1559, type 2), blobs (EIP-4844, type 3) and set code (EIP-7702, type 4). The fee and the call decide the type.
 * The encoder is on the hot path: building RLP as one hex string costs a tenth of what ethers' encoder does.
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

/** RLP integers are big-endian bytes without leading zeros; zero has no bytes. @param {number | bigint} value */
function rlpInteger(value) {
  return value === 0 || value === 0n ? '80' : rlpString(evenHex(value));
}

/** @param {string} payload the encoded members, one after another */
function rlpList(payload) {
  return prefix(payload.length / 2, 0xc0) + payload;
}

/**
 * The part of a transaction that does not change while a wallet repeats the same call.
 * @param {Call} call
 * @returns {string} RLP items as hex
 */
export function encodeCall({ to, data, value, gasLimit, accessList, authorizationList, sidecar }) {
  const receiver = rlpString(to === null ? '' : to.slice(2));
  const parts = [rlpInteger(gasLimit), receiver, rlpInteger(value), rlpString(data.slice(2))];
  if (accessList !== undefined || authorizationList !== undefined || sidecar !== undefined)
    parts.push(encodeAccessList(accessList ?? []));
  if (authorizationList !== undefined) parts.push(rlpList(authorizationList.map(encodeAuthorization).join('')));
  // Not +: V8 would keep the parts, which take several times the memory, and each wallet has such a text.
  return parts.join('');
}

/** @param {NonNullable<Call['accessList']>} list */
function encodeAccessList(list) {
  const entries = list.map(({ address, storageKeys }) => {
    const keys = storageKeys.map((key) => rlpString(key.slice(2))).join('');
    return rlpList(rlpString(address.slice(2)) + rlpList(keys));
  });
  return rlpList(entries.join(''));
}

/** @param {Authorization} authorization */
function encodeAuthorization({ yParity, r, s, ...authorization }) {
  return rlpList(authorizationFields(authorization) + rlpInteger(yParity) + rlpWord(r.slice(2)) + rlpWord(s.slice(2)));
}

/** @param {Pick<Authorization, 'chainId' | 'address' | 'nonce'>} authorization */
function authorizationFields({ chainId, address, nonce }) {
  return rlpInteger(chainId) + rlpString(address.slice(2)) + rlpInteger(nonce);
}

/**
 * @param {Pick<Authorization, 'chainId' | 'address' | 'nonce'>} authorization
 * @param {Uint8Array} privateKey of the authority, 32 bytes
 * @param {Pick<Signer, 'sign' | 'keccak256'>} signer
 * @returns {Authorization}
 */
export function signAuthorization(authorization, privateKey, signer) {
  const { r, s, yParity } = signer.sign(digest(`05${rlpList(authorizationFields(authorization))}`, signer), privateKey);
  return { ...authorization, yParity, r: `0x${r}`, s: `0x${s}` };
}

/**
 * @param {Transaction} transaction
 * @param {string} encodedCall the result of encodeCall
 * @param {Uint8Array} privateKey 32 bytes
 * @param {Signer} signer
 * @returns {SignedTransaction}
 */
export function signTransaction({ chainId, nonce, fee, call }, encodedCall, privateKey, signer) {
  const { gasPriceWei } = fee;
  const setsCode = call.authorizationList !== undefined;
  const { sidecar } = call;
  const hasLists = setsCode || sidecar !== undefined || call.accessList !== undefined;
  if (gasPriceWei !== undefined && !hasLists) {
    const fields = rlpInteger(nonce) + rlpInteger(gasPriceWei) + encodedCall;
    const { r, s, yParity } = signer.sign(digest(rlpList(`${fields + rlpInteger(chainId)}8080`), signer), privateKey);
    const v = BigInt(chainId) * 2n + 35n + BigInt(yParity);
    return finish(rlpList(fields + rlpInteger(v) + rlpWord(r) + rlpWord(s)), signer);
  }
  const hasOnePrice = gasPriceWei !== undefined && !setsCode && sidecar === undefined;
  const type = sidecar !== undefined ? '03' : setsCode ? '04' : hasOnePrice ? '01' : '02';
  // There is no type 3 or 4 with a gas price: it is both the highest fee and the priority fee.
  const maxFee = rlpInteger(gasPriceWei ?? fee.maxFeePerGasWei ?? 0n);
  const fees = hasOnePrice ? maxFee : rlpInteger(gasPriceWei ?? fee.maxPriorityFeePerGasWei ?? 0n) + maxFee;
  const blobs = sidecar === undefined ? '' : encodeBlobs(fee, sidecar);
  const fields = rlpInteger(chainId) + rlpInteger(nonce) + fees + encodedCall + (hasLists ? '' : 'c0') + blobs;
  const { r, s, yParity } = signer.sign(digest(type + rlpList(fields), signer), privateKey);
  const payload = rlpList(fields + rlpInteger(yParity) + rlpWord(r) + rlpWord(s));
  const signed = finish(type + payload, signer);
  // The hash does not cover the sidecar.
  if (sidecar !== undefined) signed.raw = `0x${type}${rlpList(payload + sidecar.rlp)}`;
  return signed;
}

/** @param {Fee} fee @param {Sidecar} sidecar */
function encodeBlobs({ maxFeePerBlobGasWei: maxFeeWei = 0n }, { hashes }) {
  return rlpInteger(maxFeeWei) + rlpList(hashes.map((hash) => rlpString(hash.slice(2))).join(''));
}

/**
 * What follows a blob transaction on its way to a node.
 * @param {{blobs: string[], commitments: string[], proofs: string[], hasCellProofs: boolean}} parts in hexadecimal, without 0x
 * @returns {string}
 */
export function encodeSidecar({ blobs, commitments, proofs, hasCellProofs }) {
  const lists = [blobs, commitments, proofs].map((all) => rlpList(all.map(rlpString).join('')));
  return (hasCellProofs ? rlpInteger(1) : '') + lists.join('');
}

/** Like all integers, parts of a signature have no leading zeros. @param {string} hex 64 digits */
function rlpWord(hex) {
  return rlpString(hex.startsWith('00') ? hex.replace(/^(?:00)+/, '') : hex);
}

/** @param {string} hex without 0x @param {Pick<Signer, 'keccak256'>} signer */
function digest(hex, signer) {
  return signer.keccak256(Buffer.from(hex, 'hex'));
}

/** @param {string} hex without 0x @param {Signer} signer @returns {SignedTransaction} */
function finish(hex, signer) {
  return { raw: `0x${hex}`, hash: `0x${signer.keccak256Hex(Buffer.from(hex, 'hex'))}` };
}
