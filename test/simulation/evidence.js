/** The laws of an evidence file: it adds up with itself, with its run file, and with what the chain in memory knows. */
import { checkFile } from '../../src/evidence/check-file.js';
import { Claims } from '../../src/evidence/claims.js';
import { FIGURES, isNear, valuesOf } from '../../src/evidence/figures.js';
import { judgeRates } from '../../src/evidence/throughput.js';
import { runFileText } from '../../src/stats/run-file.js';

/**
 * @import { RunFile } from '../../src/contracts/run-file.d.ts'
 * @import { Law } from './laws.js'
 * @import { Observed } from './run.js'
 */

/** Bytes: of an operation, of a wallet, of a block, and of the first and the last lines. */
const MOST_BYTES = Object.freeze({ operation: 40, wallet: 60, signature: 95, block: 140, proof: 65_536, rest: 8192 });

/** @type {Readonly<Record<string, Law>>} */
export const OF_EVIDENCE = {
  *'evidence follows from itself and is of its run file'({ evidence }, run) {
    if (evidence === null) return;
    if (evidence.end === null) return yield 'it has no end';
    const claims = new Claims();
    checkFile(evidence, claims, { name: 'run.json', text: runFileText(run), run });
    for (const { name, state, words } of claims.all) if (state === 'contradicted') yield `${name}: ${words}`;
    const values = valuesOf(evidence.end);
    for (const [name, { read }] of Object.entries(FIGURES)) {
      const [own, value] = [values[name], read(run) ?? null];
      if (own === null ? value !== null : !isNear(own, Number(value)))
        yield `${name} is ${own}, in the run file ${value}`;
    }
  },

  *'evidence is what the chain has'({ evidence, chain, stopsUs }, { audit }) {
    if (evidence === null || audit === null || evidence.end === null) return;
    const addresses = new Set(evidence.addresses);
    const isOwn = (/** @type {any} */ { from, transactionHash }) =>
      addresses.has(from) && !chain.foreign.has(transactionHash);
    const stated = evidence.end.audit;
    // After a second Ctrl-C the blocks up to that of the audit are not read.
    const isCut = stopsUs.length > 1 && stated === null;
    if (!isCut && (stated?.block !== audit.blockNumber || stated.hash !== audit.blockHash))
      yield `the audit is at ${stated?.block}`;
    let next = evidence.rows[0]?.number;
    for (const row of evidence.rows) {
      if (row.number !== next) yield `block ${next} is not there`;
      next = row.number + 1;
      const { block } = chain.blockAt(row.number);
      // The chain may have replaced it after the audit.
      if (block?.hash !== row.hash) continue;
      const own = [...block.receipts.values()].filter(isOwn);
      const counts = ['0x1', '0x0'].map((status) => own.filter((one) => one.status === status).length);
      const isWrong = audit.exact
        ? counts[0] !== row.succeeded || counts[1] !== row.reverted
        : counts[0] < row.succeeded || counts[1] < row.reverted;
      if (isWrong) yield `block ${row.number} has ${counts}, and ${[row.succeeded, row.reverted]} in the file`;
      if (block.transactions.length !== row.transactions) yield `block ${row.number}: transactions ${row.transactions}`;
      if (Number(block.timestamp) !== row.timestampS) yield `block ${row.number}: timestamp ${row.timestampS}`;
    }
    if (!audit.exact) return;
    const { state } = chain.blockAt(audit.blockNumber);
    for (const [i, address] of evidence.addresses.entries())
      if ((state.nonces.get(address) ?? 0) !== evidence.nextNonces[i])
        yield `${address}: nonce ${state.nonces.get(address)}, and ${evidence.nextNonces[i]} in the file`;
  },

  *'evidence of an honest rate is not contradicted'({ evidence }) {
    if (evidence?.end == null) return;
    for (const { name, state, words } of judgeRates(evidence.rows, evidence.end))
      if (state === 'contradicted') yield `${name}: ${words}`;
  },

  *'evidence is small'({ evidence, evidenceText }, { counts }) {
    if (evidence === null) return;
    const { addresses, rows, removed, proofs, end } = evidence;
    const { operation, wallet, signature, block, proof, rest } = MOST_BYTES;
    const perWallet = wallet + (end?.isSigned === true ? signature : 0);
    const most =
      operation * counts.started +
      perWallet * addresses.length +
      block * (rows.length + removed) +
      proof * proofs.length;
    if (evidenceText.length > most + rest) yield `${evidenceText.length} bytes, not ${most + rest}`;
  },
};
