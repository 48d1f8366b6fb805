import { existsSync, readFileSync } from 'node:fs';
import { id } from 'ethers/hash';
import { askAll, toHex, valueOf } from '../chain/answers.js';
import { RpcError, StressError } from '../errors.js';
import { checkOf } from './receipts.js';

/**
 * Compares values on the chain with what must be there, as of the block of the audit.
 *
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { Check } from '../contracts/load.d.ts'
 * @import { AuditSnapshot, ReceiptsCheck, Values } from '../contracts/workload.d.ts'
 *
 * @typedef {Pick<ReceiptsCheck, 'why' | 'signal'> & {rpc: Rpc, snapshot: AuditSnapshot}} Reading
 */

/** Values read in one batch. */
const READ_AT_ONCE = 8000;

/** Most values that are read, because that takes minutes. */
export const MAX_READ = 100_000;

/** The same for values of single operations. */
export const MAX_OF_OPERATIONS = 10_000;

/**
 * @param {Reading} reading
 * @param {Values} values
 * @returns {Promise<Check>} which names the first wrong value
 */
export async function stateCheck(
  { rpc, snapshot, signal, why },
  { name, words, count, entryOf, show = String, ...values },
) {
  const unsure = (/** @type {string} */ reason) => checkOf(name, words, 0, 0, reason);
  const reason = why ?? values.why ?? null;
  if (reason !== null) return unsure(reason);
  let right = 0;
  let fault = '';
  const blocks = [{ blockHash: snapshot.blockHash }, toHex(snapshot.blockNumber), 'latest'];
  for (let at = 0; at < count;) {
    if (signal.aborted) return unsure(`there was time for ${at} of ${count} values`);
    const part = Array.from({ length: Math.min(READ_AT_ONCE, count - at) }, (_, i) => entryOf(at + i));
    try {
      const questions = part.map(({ read: [method, ...params] }) => valueOf(method, [...params, blocks[0]]));
      (await askAll(rpc, questions, 'audit')).forEach((found, i) => {
        const { of, mustBe } = part[i];
        if (found === mustBe) right += 1;
        else fault ||= ` (${of} ${show(found)}, not ${show(mustBe)})`;
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

/** A call of a contract, for an entry. @param {string} to @param {string} data @returns {[string, ...unknown[]]} */
export function callOf(to, data) {
  return ['eth_call', { to, data }];
}

/** 32 bytes of calldata. @param {string | bigint | number} value an address, or a number */
export function word(value) {
  const digits = typeof value === 'string' ? value.slice(2).toLowerCase() : value.toString(16);
  return digits.padStart(64, '0');
}

/** @param {string} signature of a function */
export function selectorOf(signature) {
  return id(signature).slice(0, 10);
}

/** @param {string} name of a contract of this program */
export function readArtifact(name) {
  return JSON.parse(readFileSync(artifactOf(name), 'utf8'));
}

/** Whether there is a contract of this program with that name. @param {string} name */
export function hasArtifact(name) {
  return existsSync(artifactOf(name));
}

/** @param {string} name */
function artifactOf(name) {
  return new URL(`../../contracts/artifacts/${name}.json`, import.meta.url);
}
