import { keccak256 } from 'ethers/crypto';
import { Transaction } from 'ethers/transaction';
import { decodeRlp, encodeRlp } from 'ethers/utils';
import { provenValue, trieOf } from './trie.js';

/**
 * Shows without an endpoint that a block has a transaction with its outcome: the header in RLP, whose hash is that of the block,
 * and proofs against its roots of transactions and receipts. Whether the chain has this block is not shown.
 *
 * @typedef {object} BlockProof
 * @property {number} block
 * @property {number} index of the transaction
 * @property {string} header in RLP
 * @property {string[]} transaction nodes of the trie
 * @property {string[]} receipt
 */

/** Fields of a header, in the order of RLP. Those behind the first ones are there from some fork on. */
const FIRST =
  'parentHash sha3Uncles miner stateRoot transactionsRoot receiptsRoot logsBloom difficulty number gasLimit gasUsed timestamp extraData mixHash nonce';
const LATER = Object.freeze([
  'baseFeePerGas withdrawalsRoot blobGasUsed excessBlobGas parentBeaconBlockRoot requestsHash blockAccessListHash slotNumber',
  // Avalanche.
  'extDataHash baseFeePerGas extDataGasUsed blockGasCost blobGasUsed excessBlobGas parentBeaconBlockRoot timestampMilliseconds minDelayExcess',
]);
const QUANTITIES = new Set(
  'difficulty number gasLimit gasUsed timestamp baseFeePerGas blobGasUsed excessBlobGas extDataGasUsed blockGasCost slotNumber timestampMilliseconds minDelayExcess'.split(
    ' ',
  ),
);
/** Places in RLP that both forms share. */
const AT = Object.freeze({ transactionsRoot: 4, receiptsRoot: 5, number: 8, gasLimit: 9, gasUsed: 10, timestamp: 11 });

/** Length of the line of a proof. */
const MOST_CHARS = 64 * 1024;

/** @param {unknown} quantity @returns {string} as RLP has it */
function whole(quantity) {
  const digits = BigInt(/** @type {string} */ (quantity)).toString(16);
  return digits === '0' ? '0x' : `0x${digits.length % 2 === 0 ? '' : '0'}${digits}`;
}

/** @param {any} printed a block as a node prints it @returns {string | null} null: the form of its header is not known */
export function headerRlp(printed) {
  for (const later of LATER) {
    const names = [...FIRST.split(' '), ...later.split(' ')];
    const end = names.findIndex((name, i) => i >= FIRST.split(' ').length && (printed[name] ?? null) === null);
    const own = end === -1 ? names : names.slice(0, end);
    if (own.some((name) => (printed[name] ?? null) === null)) return null;
    const rlp = encodeRlp(own.map((name) => (QUANTITIES.has(name) ? whole(printed[name]) : printed[name])));
    if (keccak256(rlp) === printed.hash) return rlp;
  }
  return null;
}

/** @param {any} printed a transaction of a block @returns {string | null} its bytes; null: its form is not known */
function transactionBytes(printed) {
  const { input, gas, gasPrice, maxFeePerGas = null, type, nonce, r, s, v, yParity, hash, ...more } = printed;
  const kind = Number(type ?? 0);
  const price = maxFeePerGas !== null && kind >= 2 ? { maxFeePerGas } : { gasPrice };
  const list = { ...(kind > 0 && { accessList: more.accessList ?? [] }) };
  const tips = kind >= 2 ? { maxPriorityFeePerGas: more.maxPriorityFeePerGas } : {};
  const blobs =
    kind === 3
      ? { maxFeePerBlobGas: more.maxFeePerBlobGas, blobVersionedHashes: more.blobVersionedHashes, blobs: null }
      : {};
  const signed = Transaction.from({
    ...{ type: kind, to: more.to, nonce: Number(nonce), gasLimit: gas, data: input ?? more.data, value: more.value },
    ...(more.chainId && { chainId: BigInt(more.chainId) }),
    ...{ ...price, ...tips, ...list, ...blobs },
    ...(kind === 4 && { authorizationList: authorizations(more.authorizationList) }),
    signature: { r: padded(r), s: padded(s), ...(kind === 0 ? { v } : { yParity: Number(yParity ?? v) }) },
  });
  return signed.hash === hash ? signed.serialized : null;
}

/** Nodes print numbers without leading zeros. @param {string} hex */
function padded(hex) {
  return `0x${hex.slice(2).padStart(64, '0')}`;
}

/** @param {any[]} list */
function authorizations(list = []) {
  return list.map(({ address, nonce, chainId, r, s, yParity, v }) => {
    const signature = { r: padded(r), s: padded(s), yParity: Number(yParity ?? v) };
    return /** @type {any} */ ({ address, nonce: BigInt(nonce), chainId: BigInt(chainId), signature });
  });
}

/** @param {any} printed @returns {string} its bytes */
function receiptBytes({ type, status, cumulativeGasUsed, logsBloom, logs }) {
  const list = logs.map((/** @type {any} */ { address, topics, data }) => [address, topics, data]);
  const rlp = encodeRlp([whole(status), whole(cumulativeGasUsed), logsBloom, list]);
  const kind = Number(type ?? 0);
  return kind === 0 ? rlp : `0x${kind.toString(16).padStart(2, '0')}${rlp.slice(2)}`;
}

/**
 * @param {any} block as a node prints it, with whole transactions
 * @param {readonly any[]} receipts of the block, as printed
 * @param {string} hash of the transaction
 * @returns {BlockProof | null} null: the form of the header, of a transaction or of a receipt is not known, or it is too large
 */
export function proveTransaction(block, receipts, hash) {
  try {
    const index = block.transactions.findIndex((/** @type {any} */ one) => one.hash === hash);
    const header = headerRlp(block);
    if (header === null || index === -1 || receipts.length !== block.transactions.length) return null;
    const bytes = block.transactions.map(transactionBytes);
    if (bytes.includes(null)) return null;
    const [transactions, outcomes] = [trieOf(bytes), trieOf(receipts.map(receiptBytes))];
    if (transactions.root !== block.transactionsRoot || outcomes.root !== block.receiptsRoot) return null;
    const proofs = { transaction: transactions.proofOf(index), receipt: outcomes.proofOf(index) };
    const proof = { block: Number(block.number), index, header, ...proofs };
    return JSON.stringify(proof).length > MOST_CHARS ? null : proof;
  } catch {
    // A field has another form.
    return null;
  }
}

/**
 * What a proof shows.
 * @param {BlockProof} proof
 * @returns {{hash: string, number: number, timestampS: number, gasUsed: number, gasLimit: number, transaction: string, from: string, nonce: number, isSuccess: boolean} | {why: string}}
 */
export function shownBy({ header, index, transaction, receipt }) {
  try {
    const fields = /** @type {string[]} */ (decodeRlp(header));
    const number = (/** @type {keyof typeof AT} */ name) => Number(fields[AT[name]] === '0x' ? 0 : fields[AT[name]]);
    const [bytes, outcome] = [
      provenValue(fields[AT.transactionsRoot], index, transaction),
      provenValue(fields[AT.receiptsRoot], index, receipt),
    ];
    if (bytes === null) return { why: 'the proof of the transaction does not lead to the root of the header' };
    if (outcome === null) return { why: 'the proof of the receipt does not lead to the root of the header' };
    const signed = Transaction.from(bytes);
    const list = outcome.startsWith('0x0') ? `0x${outcome.slice(4)}` : outcome;
    const [status] = /** @type {string[]} */ (decodeRlp(list));
    if (signed.from === null || signed.hash === null) return { why: 'the transaction has no signature' };
    return {
      hash: keccak256(header),
      ...{ number: number('number'), timestampS: number('timestamp') },
      ...{ gasUsed: number('gasUsed'), gasLimit: number('gasLimit') },
      ...{ transaction: signed.hash, from: signed.from.toLowerCase(), nonce: signed.nonce },
      isSuccess: status === '0x01',
    };
  } catch (error) {
    return { why: `it cannot be read: ${/** @type {Error} */ (error).message.slice(0, 80)}` };
  }
}
