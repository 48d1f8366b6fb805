/** Evidence files that a test changes, and what stress verify says of them. */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ChainCheck } from '../../src/evidence/check-chain.js';
import { checkFile, concludeReported } from '../../src/evidence/check-file.js';
import { Claims } from '../../src/evidence/claims.js';
import { readEvidence } from '../../src/evidence/format.js';

/**
 * @import { Rpc } from '../../src/contracts/chain.d.ts'
 * @import { State } from '../../src/evidence/check-chain.js'
 * @import { GivenRunFile } from '../../src/evidence/check-file.js'
 *
 * @typedef {any[]} Lines parsed
 */

/** @param {string} file @returns {Lines} */
export function linesOf(file) {
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** @param {Lines} lines */
export const endOf = (lines) => lines.find((line) => line.end !== undefined).end;

/** Rows of blocks. @param {Lines} lines @returns {any[][]} */
export const blocksOf = (lines) => lines.filter((line) => typeof line[0] === 'number');

/** Rows of wallets. @param {Lines} lines @returns {any[][]} */
export const walletsOf = (lines) => lines.filter((line) => typeof line[0] === 'string');

/** With the counts that came late in the rows of their blocks: the same file, as a faster machine would have written it. @param {Lines} lines */
export function withLateCounts(lines) {
  const rows = new Map(blocksOf(lines).map((row) => [row[0], row]));
  for (const { add } of lines.filter((line) => line.add !== undefined)) {
    const row = /** @type {any[]} */ (rows.get(add[0]));
    row[6] += add[1];
    row[7] += add[2];
  }
  const whole = lines.filter((line) => line.add === undefined);
  seal(whole);
  return whole;
}

/** @param {Lines} lines @param {string} name @param {(value: any) => any} change */
export function changeFigure(lines, name, change) {
  const figure = endOf(lines).figures.find((/** @type {any[]} */ one) => one[0] === name);
  figure[1] = change(figure[1]);
}

/** The digest that belongs to the lines, as a forger would write it. @param {Lines} lines */
export function seal(lines) {
  const body = createHash('sha256');
  for (const line of lines) {
    if (line.end !== undefined) break;
    body.update(`${JSON.stringify(line)}\n`);
  }
  endOf(lines).bodySha256 = body.digest('hex');
}

/**
 * @param {string} folder
 * @param {Lines} lines
 * @param {{rpc?: Rpc | null, given?: GivenRunFile | null, known?: State | null, keep?: (state: State) => void}} [against]
 * @returns {Promise<Claims>}
 */
export async function verified(folder, lines, { rpc = null, given = null, known = null, keep = () => {} } = {}) {
  const file = join(folder, 'changed.evidence');
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const evidence = await readEvidence(file);
  const claims = new Claims();
  checkFile(evidence, claims, given);
  if (rpc !== null) {
    // Nothing is waited for between two answers.
    const clock = /** @type {any} */ ({ sleep: async () => {} });
    const { signal } = new AbortController();
    const tools = { rpc, clock, signal, onProgress: () => {}, keep: async (/** @type {State} */ state) => keep(state) };
    await new ChainCheck(evidence, claims, tools, known).run();
  }
  concludeReported(evidence, claims);
  return claims;
}

/** @param {Claims} claims @param {string} state @returns {string[]} */
export function claimsIn(claims, state) {
  return claims.all.filter((claim) => claim.state === state).map(({ name, words }) => `${name}: ${words}`);
}
