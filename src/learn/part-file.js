import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { ask, headerAt, nullIfAbsent } from '../chain/answers.js';
import { InputError, displayName } from '../errors.js';
import { writeFileAtomically } from '../files.js';
import { readJsonFile } from '../json-file.js';

/**
 * The blocks that stress learn has read so far, beside the file that it writes (FILE.part): an interrupted command goes on
 * from there.
 *
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { SeenBlock } from './blocks.js'
 *
 * @typedef {{chainId: number, genesisHash: string | null}} ChainId
 */

const SCHEMA = 'evm-stress/learn-part@1';

/** Time between two writes, and at least so many times that of a write. */
const WRITE_EVERY_MS = 5000;
const WRITE_SHARE = 20;

export class PartFile {
  /** @type {Map<number, SeenBlock>} */
  blocks = new Map();
  /** Number of the newest block that is wanted; null: not known yet. @type {number | null} */
  to = null;
  #file;
  #clock;
  #chain;
  #dueUs;

  /** @param {string} file @param {ChainId} chain @param {Clock} clock */
  constructor(file, chain, clock) {
    this.#file = `${file}.part`;
    this.#chain = chain;
    this.#clock = clock;
    this.#dueUs = clock.nowUs() + WRITE_EVERY_MS * 1000;
  }

  /** The name, for messages. */
  get name() {
    return displayName(this.#file);
  }

  /** Takes over the blocks of an interrupted command. @param {Rpc} rpc @throws {InputError} */
  async open(rpc) {
    if (!existsSync(this.#file)) return;
    const advice = 'remove it to read all blocks anew';
    const json = readJsonFile(this.#file, { advice });
    const isWhole = Number.isSafeInteger(json?.to) && Array.isArray(json.blocks) && json.blocks.every(isBlock);
    if (json?.schema !== SCHEMA || !isWhole)
      throw new InputError(`${this.name} has no blocks of stress learn; ${advice}`);
    const { chainId, genesisHash } = this.#chain;
    const isOther = json.genesisHash !== null && genesisHash !== null && json.genesisHash !== genesisHash;
    if (json.chainId !== chainId || isOther)
      throw new InputError(
        `${this.name} is of ${json.chainId === chainId ? 'another chain with the id' : 'chain'} ${json.chainId}, and ${rpc.display} has chain ${chainId}; ${advice}`,
      );
    for (const block of json.blocks) this.blocks.set(block.number, block);
    this.to = json.to;
    const newest = json.blocks.at(-1);
    if (newest === undefined) return;
    const found = await nullIfAbsent(ask(rpc, headerAt(newest.number), 'setup'));
    if (found?.hash === newest.hash) return;
    throw new InputError(
      `${this.name} has a block ${newest.number} that ${rpc.display} does not have, as after a reorg; ${advice}`,
    );
  }

  /** Only these blocks. @param {number} from @param {number} to */
  keep(from, to) {
    this.to = to;
    for (const number of this.blocks.keys()) if (number < from || number > to) this.blocks.delete(number);
  }

  /** Now and then. */
  async save() {
    if (this.#clock.nowUs() >= this.#dueUs) await this.write();
  }

  async write() {
    const startUs = this.#clock.nowUs();
    this.#dueUs = Infinity;
    const blocks = [...this.blocks.values()].sort((a, b) => a.number - b.number);
    await writeFileAtomically(
      this.#file,
      `${JSON.stringify({ schema: SCHEMA, ...this.#chain, to: this.to, blocks })}\n`,
    );
    const endUs = this.#clock.nowUs();
    this.#dueUs = endUs + Math.max(WRITE_EVERY_MS * 1000, WRITE_SHARE * (endUs - startUs));
  }

  /** The command is done. */
  async remove() {
    await rm(this.#file, { force: true });
  }
}

/** @param {any} block */
function isBlock(block) {
  const isNumber = (/** @type {unknown} */ value) => value === null || Number.isSafeInteger(value);
  return (
    Number.isSafeInteger(block?.number) &&
    typeof block.hash === 'string' &&
    [block.timestampS, block.gasUsed, block.gasLimit, block.senders].every(isNumber) &&
    Array.isArray(block.transactions) &&
    block.transactions.every(isSeen)
  );
}

/** @param {any} seen */
function isSeen(seen) {
  if (!Array.isArray(seen) || seen.length !== 5 || typeof seen[0] !== 'string') return false;
  return seen.slice(1).every((value) => value === null || Number.isSafeInteger(value));
}
