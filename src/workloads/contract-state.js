import { readFileSync } from 'node:fs';
import { id } from 'ethers';
import { toBigInt, toHex } from '../chain/rpc.js';
import { RpcError, StressError } from '../errors.js';
import { checkOf } from './receipts.js';

/**
 * Compares values on the chain with what must be there, as of the block of the audit.
 *
 * @import { AuditSnapshot, Check, Rpc } from '../types.d.ts'
 * @import { ReceiptsCheck } from './contract.d.ts'
 *
 * @typedef {Pick<ReceiptsCheck, 'why' | 'signal'> & {rpc: Rpc, snapshot: AuditSnapshot}} Reading
 *
 * @typedef {object} Entry a value on the chain
 * @property {string} key in a request: an address, or a word of calldata
 * @property {bigint} mustBe
 * @property {string} [of] for messages: the token or the wallet it belongs to
 */

/**
 * @template {Entry} E
 * @typedef {object} Values
 * @property {string} name of the check
 * @property {string} words
 * @property {number} count
 * @property {(i: number) => E} entryOf
 * @property {(part: E[], block: unknown) => {method: string, params: unknown[]}} requestOf
 * @property {number} [perCall] values of one call, which are the last words of its answer; 1 unless given
 * @property {(entry: E, found: bigint) => string} [faultOf] not given for a single value: its check shows the value
 * @property {(found: bigint, mustBe: bigint) => boolean} [agrees] whether they are equal unless given
 */

/** Values read in one batch. */
const READ_AT_ONCE = 8000;

/** Of more values only the first are read, because that takes minutes. */
export const MAX_READ = 100_000;

/** Values that a contract returns in one call: 2,600 gas each, of the 30 million that nodes allow. */
export const PER_CALL = 400;

const WORD_DIGITS = 64;

/**
 * @template {Entry} E
 * @param {Reading} reading
 * @param {Values<E>} values
 * @returns {Promise<Check>} which names the first wrong value
 */
export async function stateCheck({ rpc, snapshot, signal, why }, values) {
  const { name, words, count, entryOf, requestOf, perCall = 1, faultOf, agrees = isEqual } = values;
  const unsure = (/** @type {string} */ reason) => checkOf(name, words, 0, 0, reason);
  if (why !== null) return unsure(why);
  let right = 0;
  let fault = '';
  const blocks = [{ blockHash: snapshot.blockHash }, toHex(snapshot.blockNumber), 'latest'];
  for (let at = 0; at < count;) {
    if (signal.aborted) return unsure(`there was time for ${at} of ${count} values`);
    const part = Array.from({ length: Math.min(READ_AT_ONCE, count - at) }, (_, i) => entryOf(at + i));
    const calls = Array.from({ length: Math.ceil(part.length / perCall) }, (_, i) =>
      part.slice(i * perCall, (i + 1) * perCall),
    );
    try {
      const answers = await rpc.batch(
        calls.map((entries) => requestOf(entries, blocks[0])),
        'audit',
      );
      const found = answers.flatMap((answer, i) => lastWords(answer, calls[i].length));
      if (faultOf === undefined) return checkOf(name, words, part[0].mustBe, found[0], null);
      part.forEach((entry, i) => {
        if (agrees(found[i], entry.mustBe)) right += 1;
        else fault ||= ` (${faultOf(entry, found[i])})`;
      });
      at += part.length;
    } catch (error) {
      if (!(error instanceof StressError)) throw error;
      // The node lacks EIP-1898 or has pruned the block. In later blocks values change only by a foreign sender.
      if (!(error instanceof RpcError) || blocks.length === 1) return unsure(error.message);
      blocks.shift();
    }
  }
  return checkOf(name, words, count, `${right}${fault}`, null);
}

/** @param {bigint} found @param {bigint} mustBe */
function isEqual(found, mustBe) {
  return found === mustBe;
}

/** An answer without words, as of an address without code, is zeros. @param {string} answer @param {number} count @returns {bigint[]} */
function lastWords(answer, count) {
  const digits = answer
    .slice(2)
    .padStart(count * WORD_DIGITS, '0')
    .slice(-count * WORD_DIGITS);
  return Array.from({ length: count }, (_, i) => toBigInt(`0x${digits.slice(i * WORD_DIGITS, (i + 1) * WORD_DIGITS)}`));
}

/** @param {string} to @param {string} data @param {unknown} block */
export function callOf(to, data, block) {
  return { method: 'eth_call', params: [{ to, data }, block] };
}

/** A call of a function that takes an array of words. @param {string} to @param {string} selector @param {readonly Entry[]} part @param {unknown} block */
export function callOfKeys(to, selector, part, block) {
  return callOf(to, selector + word(32) + word(part.length) + part.map(({ key }) => key).join(''), block);
}

/** 32 bytes of calldata. @param {string | bigint | number} value an address, or a number */
export function word(value) {
  const digits = typeof value === 'string' ? value.slice(2).toLowerCase() : value.toString(16);
  return digits.padStart(WORD_DIGITS, '0');
}

/** @param {string} signature of a function */
export function selectorOf(signature) {
  return id(signature).slice(0, 10);
}

/** @param {string} name of a contract of this program */
export function readArtifact(name) {
  return JSON.parse(readFileSync(new URL(`../../contracts/artifacts/${name}.json`, import.meta.url), 'utf8'));
}
