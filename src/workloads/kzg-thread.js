/** A thread that proves blobs of random data once. */
import { createHash, randomBytes } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { loadKZG } from 'kzg-wasm';
import { encodeSidecar } from '../chain/transaction.js';

/** Field elements of a blob. */
const FIELD_ELEMENTS = 4096;

const { count, blobs: size, hasCellProofs } = workerData;
const kzg = await loadKZG();

/** @param {string} text hex as the library gives it */
const plain = (text) => text.slice(2).toLowerCase();

function randomBlob() {
  const blob = randomBytes(32 * FIELD_ELEMENTS);
  // Field elements are below a number that begins with 0x73.
  for (let i = 0; i < blob.length; i += 32) blob[i] = 0;
  return `0x${blob.toString('hex')}`;
}

function sidecar() {
  const blobs = Array.from({ length: size }, randomBlob);
  const commitments = blobs.map((blob) => kzg.blobToKZGCommitment(blob));
  const proofs = blobs.flatMap((blob, i) =>
    hasCellProofs ? kzg.computeCellsAndProofs(blob)[1] : [kzg.computeBlobKZGProof(blob, commitments[i])],
  );
  // The hash of the bytes, with the version in place of the first one (EIP-4844).
  const hashOf = (/** @type {string} */ text) => createHash('sha256').update(text.slice(2), 'hex').digest('hex');
  const hashes = commitments.map((one) => `0x01${hashOf(one).slice(2)}`);
  const parts = { blobs: blobs.map(plain), commitments: commitments.map(plain), proofs: proofs.map(plain) };
  return { hashes, rlp: encodeSidecar({ ...parts, hasCellProofs }) };
}

parentPort?.postMessage(Array.from({ length: count }, sidecar));
