/** A thread that proves blobs of random data once. */
import { createHash, randomBytes } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import kzg from '@crate-crypto/node-eth-kzg';
import { encodeSidecar } from '../chain/transaction.js';

/** Of a blob. */
const FIELD_ELEMENTS = 4096;

const { count, blobs: size, hasCellProofs } = workerData;
const context = kzg.DasContextJs.create({ usePrecomp: false });

/** @param {Uint8Array} bytes */
const hex = (bytes) => Buffer.from(bytes).toString('hex');

function randomBlob() {
  const blob = randomBytes(32 * FIELD_ELEMENTS);
  // Field elements are below a number that begins with 0x73.
  for (let i = 0; i < blob.length; i += 32) blob[i] = 0;
  return blob;
}

function sidecar() {
  const blobs = Array.from({ length: size }, randomBlob);
  const commitments = blobs.map((blob) => context.blobToKzgCommitment(blob));
  const proofs = blobs.flatMap((blob, i) =>
    hasCellProofs ? context.computeCellsAndKzgProofs(blob).proofs : [context.computeBlobKzgProof(blob, commitments[i])],
  );
  const hashes = commitments.map((one) => `0x01${createHash('sha256').update(one).digest('hex').slice(2)}`);
  const parts = { blobs: blobs.map(hex), commitments: commitments.map(hex), proofs: proofs.map(hex) };
  return { hashes, rlp: encodeSidecar({ ...parts, hasCellProofs }) };
}

parentPort?.postMessage(Array.from({ length: count }, sidecar));
