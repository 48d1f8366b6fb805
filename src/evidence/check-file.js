import { createHash } from 'node:crypto';
import { signersOf } from '../chain/keys.js';
import { counted, count, digits } from '../text.js';
import { shownBy } from './block-proof.js';
import { FIGURES, isNear, valuesOf, wrongFigures } from './figures.js';
import { overBlocks } from './throughput.js';
import { signedText } from './format.js';

/**
 * What an evidence file shows without an endpoint: that it adds up, that it is of a run file, who signed it, and proofs of some
 * transactions.
 *
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { Claims } from './claims.js'
 * @import { BlockRow, End, Evidence } from './format.js'
 *
 * @typedef {{name: string, text: string, run: RunFile}} GivenRunFile text: its bytes
 */

/** @param {Evidence} evidence @param {Claims} claims @param {GivenRunFile | null} given null: none was given, or that of a merge */
export function checkFile(evidence, claims, given) {
  const { end } = evidence;
  if (end === null) {
    const why = 'the file has no end: the run was killed, or the end was removed';
    claims.conclude('sums', 'not checkable', why, { isOpen: true });
    return;
  }
  checkEnd(evidence, end, claims);
  checkSums(evidence, end, claims);
  checkRunFile(end, evidence, claims, given);
  checkSignatures(evidence, end, claims);
  checkProofs(evidence, end, claims);
}

/** The lines before the end are those that it has the digest of, and there are as many as it needs. @param {Evidence} evidence @param {End} end @param {Claims} claims */
function checkEnd({ bodySha256, addresses, nextNonces, rows, firstNonces }, end, claims) {
  if (bodySha256 !== end.bodySha256)
    claims.contradict(
      'digest',
      `the lines before the end have the SHA-256 ${bodySha256}, and the end says ${end.bodySha256}`,
    );
  if (addresses.length !== nextNonces.length)
    claims.contradict(
      'sums',
      `${counted(addresses.length, 'wallet')}, and ${counted(nextNonces.length, 'next nonce')}`,
    );
  if (new Set(addresses).size < addresses.length) claims.contradict('sums', 'a wallet is there twice');
  const low = nextNonces.findIndex((nonce, i) => nonce < firstNonces[i]);
  if (low !== -1)
    claims.contradict(
      'sums',
      `wallet ${addresses[low]}: its next nonce ${nextNonces[low]} is below its first ${firstNonces[low]}`,
    );
  if (end.foreign.length > 0 && end.audit?.result === 'exact')
    claims.contradict('sums', `an exact audit with a transaction that is not of the run: ${end.foreign[0].hash}`);
  const last = rows.at(-1);
  if (end.audit !== null && (last?.number !== end.audit.block || last.hash !== end.audit.hash))
    claims.contradict(
      'sums',
      `the last block is ${last === undefined ? 'none' : `${last.number} (${last.hash})`}, and the audit was at ${end.audit.block} (${end.audit.hash})`,
    );
  claims.conclude('digest', 'confirmed', 'of the lines before the end');
}

/** @param {Evidence} evidence @param {End} end @param {Claims} claims */
function checkSums(evidence, end, claims) {
  for (const { number, succeeded, reverted, transactions, gasUsed, gasLimit } of evidence.rows) {
    if (succeeded + reverted > transactions)
      claims.contradict(
        'sums',
        `block ${number}: ${succeeded + reverted} operations in ${counted(transactions, 'transaction')}`,
      );
    if (succeeded < 0 || reverted < 0) claims.contradict('sums', `block ${number}: a count is negative`);
    if (gasLimit > 0 && gasUsed > gasLimit)
      claims.contradict('sums', `block ${number}: gas used ${gasUsed} of ${gasLimit}`);
  }
  const { wrong, checked } = wrongFigures(evidence, end);
  const values = valuesOf(end);
  const { reorgedOut, reorgs } = values;
  // Plain calls are in no block.
  const over = values.calls === 0 ? overBlocks(evidence.rows, values) : null;
  if (over !== null) claims.contradict('sums', `throughput: ${over}`);
  for (const { name, words } of wrong) claims.contradict('sums', `${name}: ${words}`);
  const open = end.audit?.result === 'exact' ? '' : '; the audit of the run was not exact: operations are bounds';
  // Operations may only be counted as removed where blocks were removed.
  const isUnseen = Number(reorgedOut ?? 0) > 0 && reorgs === 0 && evidence.removed === 0;
  claims.conclude(
    'sums',
    isUnseen ? 'not checkable' : 'confirmed',
    `${counted(checked, 'figure')} follow from ${counted(evidence.rows.length, 'block')} and ${counted(evidence.addresses.length, 'wallet')}${isUnseen ? `, but ${counted(Number(reorgedOut), 'operation')} of removed blocks are stated, and the file shows no reorg` : ''}${open}`,
  );
}

/** @param {End} end @param {Evidence} evidence @param {Claims} claims @param {GivenRunFile | null} given */
function checkRunFile(end, evidence, claims, given) {
  if (given === null) {
    claims.conclude('run file', 'not checkable', `no run file was given; its SHA-256 is ${end.runFileSha256}`);
    return;
  }
  const { run, text, name } = given;
  const sha256 = createHash('sha256').update(text).digest('hex');
  if (sha256 !== end.runFileSha256)
    claims.contradict(
      'run file',
      `${name} has the SHA-256 ${sha256}, and the evidence is of one with ${end.runFileSha256}`,
    );
  if (run.id !== end.run) claims.contradict('run file', `${name} is of run ${run.id}, and the evidence of ${end.run}`);
  const own = run.evidence?.sha256 ?? [];
  if (!own.includes(evidence.bodySha256)) claims.contradict('run file', `${name} is of another evidence file`);
  const values = valuesOf(end);
  for (const [figure, { read }] of Object.entries(FIGURES)) {
    const [stated, value] = [values[figure] ?? null, read(run) ?? null];
    const isSame = stated === null || value === null ? stated === value : isNear(stated, value);
    if (!isSame) claims.contradict('run file', `${figure} is ${value} in ${name}, and ${stated} in the evidence`);
  }
  /** @type {Array<[string, unknown, unknown]>} */
  const members = [
    ['chain id', run.environment.chainId ?? null, evidence.header.chain.id],
    ['genesis', run.environment.genesisHash ?? null, evidence.header.chain.genesis],
    ['block of the audit', run.audit?.blockNumber ?? null, end.audit?.block ?? null],
    ['hash of the audit', run.audit?.blockHash ?? null, end.audit?.hash ?? null],
    ['result of the audit', run.audit?.result ?? null, end.audit?.result ?? null],
  ];
  for (const [what, value, stated] of members)
    if (value !== null && stated !== null && value !== stated)
      claims.contradict('run file', `its ${what} is ${value} in ${name}, and ${stated} in the evidence`);
  claims.conclude('run file', 'confirmed', `${name} is the run file of this evidence, with the same figures`);
}

/** @param {Evidence} evidence @param {End} end @param {Claims} claims */
function checkSignatures({ addresses, signatures, signedSha256 }, end, claims) {
  if (!end.isSigned) {
    if (signatures.length > 0) claims.contradict('signatures', 'the file has signatures, and says that it has none');
    claims.conclude(
      'signatures',
      'not checkable',
      'who made the run is not shown: the wallets have signed nothing (--sign)',
    );
    return;
  }
  if (signatures.length === 0) {
    const why = 'the file has no signatures: the run was ended at once, or they were removed';
    claims.conclude('signatures', 'not checkable', why, { isOpen: true });
    return;
  }
  if (signatures.length !== addresses.length)
    claims.contradict('signatures', `${signatures.length} of ${counted(addresses.length, 'wallet')}`);
  const signerOf = signersOf(signedText(end.run, signedSha256));
  addresses.slice(0, signatures.length).forEach((address, i) => {
    if (signerOf(signatures[i]) !== address)
      claims.contradict('signatures', `that of wallet ${address} is not of it, or of another file`);
  });
  claims.conclude(
    'signatures',
    'confirmed',
    `${counted(signatures.length, 'wallet')} signed this file: who has their keys made the run`,
  );
}

/** @param {Evidence} evidence @param {End} end @param {Claims} claims */
function checkProofs({ proofs, addresses, firstNonces, nextNonces, rows }, end, claims) {
  const position = new Map(addresses.map((address, i) => [address, i]));
  const byNumber = new Map(rows.map((row) => [row.number, row]));
  for (const proof of proofs) {
    const words = wrongProof(proof, byNumber.get(proof.block));
    if (words !== null) claims.contradict('proofs', `block ${proof.block}: ${words}`);
  }
  const none = 'the file has no proofs: the form of the headers was not known, or the node did not give the blocks';
  const shown = `${counted(proofs.length, 'transaction')} with outcome, sender and nonce, in headers of these hashes; that the chain has the headers needs --rpc`;
  claims.conclude('proofs', proofs.length === 0 ? 'not checkable' : 'confirmed', proofs.length === 0 ? none : shown);

  /** @param {Evidence['proofs'][number]} proof @param {BlockRow | undefined} row @returns {string | null} */
  function wrongProof(proof, row) {
    const shows = shownBy(proof);
    if ('why' in shows) return shows.why;
    if (row === undefined) return 'the file does not have this block';
    if (shows.hash !== row.hash) return `the header has the hash ${shows.hash}, and the block ${row.hash}`;
    for (const name of /** @type {const} */ (['number', 'timestampS', 'gasUsed', 'gasLimit']))
      if (row[name] !== null && shows[name] !== row[name])
        return `${name} is ${shows[name]} in the header, and ${row[name]} in the file`;
    const wallet = position.get(shows.from);
    if (wallet === undefined)
      return `transaction ${shows.transaction} is of ${shows.from}, which is no wallet of the run`;
    if (shows.nonce < firstNonces[wallet] || (end.audit?.result === 'exact' && shows.nonce >= nextNonces[wallet]))
      return `transaction ${shows.transaction} of ${shows.from} has the nonce ${shows.nonce}, which is not of the run`;
    const isCounted = shows.isSuccess ? row.succeeded > 0 : row.reverted > 0;
    return isCounted
      ? null
      : `transaction ${shows.transaction} ${shows.isSuccess ? 'succeeded' : 'was reverted'}, and the file counts none`;
  }
}

/** What only the reporter knows. @param {Evidence} evidence @param {Claims} claims */
export function concludeReported({ end }, claims) {
  if (end === null) return;
  const { p50Us, p99Us, failed = 0, timedOut = 0, abandoned = 0, calls = 0, reverted = 0 } = valuesOf(end);
  const ms = (/** @type {number | null} */ us) => (us === null ? 'unknown' : `${digits(us / 1000)} ms`);
  claims.conclude('latency', 'not checkable', `p50 ${ms(p50Us)}, p99 ${ms(p99Us)} by the clock of the reporter`);
  const lost = Number(failed) + Number(timedOut) + Number(abandoned) - Number(reverted);
  if (lost > 0)
    claims.conclude(
      'failures',
      'not checkable',
      `${counted(lost, 'operation')} that did not succeed in time: blocks do not show them`,
    );
  if (Number(calls) > 0)
    claims.conclude(
      'calls',
      'not checkable',
      `${count(Number(calls))} verified operations are plain calls: they are in no block`,
    );
}
