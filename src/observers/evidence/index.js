import { createHash } from 'node:crypto';
import { BoundedFile } from '../../bounded-file.js';
import { askAll, blockAt, printedBlockAt, receiptsAt } from '../../chain/answers.js';
import { createSigner } from '../../chain/keys.js';
import { proveTransaction } from '../../evidence/block-proof.js';
import { figuresOf } from '../../evidence/figures.js';
import { headerLine, lineOf, signedText, walletLine, walletLines } from '../../evidence/format.js';
import { StressError, UsageError } from '../../errors.js';
import { runFileText } from '../../stats/run-file.js';
import { BlockLines } from './blocks.js';
import { EvidenceThread } from './thread.js';

/**
 * --evidence: what a stranger needs to check the run on the chain (stress verify), written while the load runs. It has numbers,
 * hashes and addresses only, and no text of the user or of a node.
 *
 * @import { Rpc, SeenBlock, Wallet } from '../../contracts/chain.d.ts'
 * @import { OperationIdentity, TransactionStatus } from '../../contracts/load.d.ts'
 * @import { RunFile } from '../../contracts/run-file.d.ts'
 * @import { BlockRow } from '../../evidence/format.js'
 * @import { ObserverRow } from '../index.js'
 * @import { OpenOptions, RunEnd, RunObserver, StatusBlock } from '../observer.d.ts'
 * @import { ReadBlock } from './blocks.js'
 * @import { BlockCounts } from './thread.js'
 */

/** Blocks of the drain and the audit that are read at the end, and how many of them at once. */
const MOST_LATE_BLOCKS = 20_000;
const BLOCKS_AT_ONCE = 50;

/** The last blocks of a run, of which a reorg may have replaced some without a reading. */
const MOST_CORRECTED = 256;
const COMPARED_AT_ONCE = 8;

/** Wallets whose lines are made together. */
const WALLETS_AT_ONCE = 1000;

/** Wallets that sign in a turn of the event loop. */
const SIGNED_AT_ONCE = 100;

/** @typedef {{file: string, isSigned: boolean, version: string}} EvidenceOptions */

/** @implements {RunObserver} */
class Evidence {
  /** For the threads. */
  plan = {};
  #options;
  #given;
  #file;
  #blocks = new BlockLines((line) => this.#add(line));
  #body = createHash('sha256');
  #signed = createHash('sha256');
  /** Null: the body is not complete. @type {string | null} */
  #bodySha256 = null;
  /** What is written when the load begins, so that nothing for each wallet is done then; null: it has begun. @type {string[] | null} */
  #early = [];

  /** @param {OpenOptions} given @param {EvidenceOptions} options */
  constructor(given, options) {
    const { wallets, chain } = given;
    this.#given = given;
    this.#options = options;
    this.#file = new BoundedFile(options.file, { isLossAnError: true });
    this.#add(headerLine(options.version, { id: chain.chainId, genesis: chain.genesisHash }));
    for (let at = 0; at < wallets.length; at += WALLETS_AT_ONCE)
      this.#add(
        wallets
          .slice(at, at + WALLETS_AT_ONCE)
          .map(walletLine)
          .join(''),
      );
  }

  /** A load that does not begin leaves no file. */
  begin() {
    this.#file.begin('');
    const early = this.#early ?? [];
    this.#early = null;
    for (const lines of early) this.#file.add(lines);
    this.#file.cut();
  }

  /** @param {string} lines */
  #add(lines) {
    if (this.#bodySha256 === null) this.#body.update(lines);
    this.#signed.update(lines);
    if (this.#early === null) this.#file.add(lines);
    else this.#early.push(lines);
  }

  /** @param {SeenBlock} block */
  block({ number, hash, timestampS, gasUsed, gasLimit, transactions }) {
    this.#blocks.add({ number, hash, timestampS, gasUsed, gasLimit, transactions });
  }

  /** @param {unknown} message of a thread */
  message(message) {
    for (const counts of /** @type {BlockCounts[]} */ (message)) this.#blocks.count(counts);
  }

  /** What the audit found. @param {OperationIdentity} _ @param {TransactionStatus} status @param {StatusBlock | null} [block] */
  status(_, status, block = null) {
    if (block === null || (status !== 'included' && status !== 'reverted')) return;
    this.#blocks.count([block.number, block.hash, status === 'included' ? 1 : 0, status === 'reverted' ? 1 : 0]);
  }

  row() {
    this.#blocks.interval();
    this.#file.cut();
    return {};
  }

  /** @param {RunEnd} ended */
  async finish({ rpc, audit, isAborted }) {
    if (audit !== null && !isAborted) {
      const end = audit.blockNumber;
      for await (const block of this.#read(rpc, this.#blocks.missingFrom(end), end)) this.#blocks.add(block);
      await this.#correct(rpc, end);
    }
    this.#blocks.end();
    if (audit !== null && !isAborted) await this.#prove(rpc);
    for (const line of walletLines(
      'next',
      this.#given.wallets.map(({ nonce }) => nonce),
    ))
      this.#add(line);
    this.#bodySha256 = this.#body.digest('hex');
  }

  /**
   * Blocks of the chain. Without some of them stress verify says which blocks are missing.
   * @param {Rpc} rpc
   * @param {number} first
   * @param {number} end
   * @returns {AsyncGenerator<ReadBlock>}
   */
  async *#read(rpc, first, end) {
    const count = Math.min(MOST_LATE_BLOCKS, end - first + 1);
    for (let at = 0; at < count; at += BLOCKS_AT_ONCE) {
      const size = Math.min(BLOCKS_AT_ONCE, count - at);
      const asked = Array.from({ length: size }, (_, i) => blockAt(first + at + i));
      const blocks = await unlessFailed(askAll(rpc, asked, 'audit'), null);
      if (blocks === null) return;
      for (const block of blocks) {
        if (block === null) continue;
        const {
          number,
          hash,
          timestampS,
          transactions: { length: transactions },
        } = block;
        const gas = { gasUsed: block.gasUsed ?? 0, gasLimit: block.gasLimit ?? 0 };
        yield { number, hash, timestampS, transactions, ...gas };
      }
    }
  }

  /**
   * The load may not have seen a reorg at its end, or only the newest of its blocks. So the last blocks of the file are compared
   * with the chain, back to one that the chain still has.
   * @param {Rpc} rpc
   * @param {number} end
   */
  async #correct(rpc, end) {
    const lowest = Math.max(this.#blocks.first, end - MOST_CORRECTED + 1);
    /** @type {ReadBlock[]} */
    const blocks = [];
    for (let from = end + 1; from > lowest && !this.#blocks.has(blocks[0]);) {
      const to = from - 1;
      from = Math.max(lowest, from - COMPARED_AT_ONCE);
      /** @type {ReadBlock[]} */
      const read = [];
      for await (const block of this.#read(rpc, from, to)) read.push(block);
      if (read.length < to - from + 1) return;
      blocks.unshift(...read);
    }
    this.#blocks.correct(blocks);
  }

  /** @param {Rpc} rpc */
  async #prove(rpc) {
    const own = new Set(this.#given.wallets.map(({ address }) => address.toLowerCase()));
    for (const { number, hash } of this.#blocks.sample) {
      const [block, receipts] = await unlessFailed(
        Promise.all([askAll(rpc, [printedBlockAt(number)], 'audit'), askAll(rpc, [receiptsAt(number)], 'audit')]).then(
          ([[one], [all]]) => [one, all],
        ),
        [null, null],
      );
      if (block === null || receipts === null || block.hash !== hash) continue;
      const [lowest] = receipts.filter(({ from }) => own.has(from ?? '')).sort((a, b) => (a.hash < b.hash ? -1 : 1));
      const printed = receipts.map((/** @type {any} */ one) => one.printed);
      const proof = lowest === undefined ? null : proveTransaction(block, printed, lowest.hash);
      if (proof !== null) this.#add(lineOf({ proof }));
    }
  }

  /** @param {RunFile} run */
  async concluded(run) {
    const { audit } = run;
    const position = new Map(this.#given.wallets.map(({ index }, i) => [index, i]));
    const end = {
      run: run.id,
      bodySha256: this.#bodySha256,
      runFileSha256: createHash('sha256').update(runFileText(run)).digest('hex'),
      // After a second Ctrl-C the file may lack blocks before that of the audit, so that it does not show what the audit has read.
      audit:
        audit === null || this.#blocks.last < audit.blockNumber
          ? null
          : { block: audit.blockNumber, hash: audit.blockHash, result: audit.result },
      foreign: (audit?.foreign ?? []).map(({ walletIndex, nonce, hash }) => {
        return { hash, wallet: position.get(walletIndex) ?? -1, nonce };
      }),
      isSigned: this.#options.isSigned,
      figures: figuresOf(run),
    };
    this.#add(lineOf({ end }));
    if (this.#options.isSigned) await this.#sign(signedText(run.id, this.#signed.digest('hex')));
    const { error = null } = await this.#file.close();
    if (error !== null) this.#given.stop.request('output_failed', error.exitCode, error);
  }

  /** @param {string} text */
  async #sign(text) {
    const signer = await createSigner();
    /** @type {string[]} */
    const signatures = [];
    for (const wallet of this.#given.wallets) {
      signatures.push(wallet.signText(text, signer));
      if (signatures.length % SIGNED_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve));
      // A second Ctrl-C: the file then has none.
      if (this.#given.stop.now.aborted) return;
    }
    for (const line of walletLines('signatures', signatures)) this.#file.add(line);
  }

  describe() {
    if (this.#bodySha256 === null) return { members: {} };
    const { isSigned } = this.#options;
    return { members: { evidence: { sha256: [this.#bodySha256], isSigned } } };
  }
}

/** @template T @param {Promise<T>} answer @param {T} otherwise @returns {Promise<T>} */
function unlessFailed(answer, otherwise) {
  return answer.catch((error) => {
    if (!(error instanceof StressError)) throw error;
    return otherwise;
  });
}

const NO_TRANSACTIONS =
  '--evidence shows transactions of the run on the chain, and this load sends none: leave out --evidence';

/** @type {ObserverRow} */
export const evidence = {
  check: async ({ outputs }, { gasPerOperation }) => {
    if (outputs.evidence !== null && gasPerOperation === null) throw new UsageError(NO_TRANSACTIONS);
  },
  open: async ({ outputs: { evidence: file, sign } }, given) => {
    if (file === null || given.inclusion === null) return null;
    return new Evidence(given, { file, isSigned: sign, version: given.version });
  },
  observe: (_, tools) => new EvidenceThread(tools),
};
