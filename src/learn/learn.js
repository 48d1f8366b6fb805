import { existsSync } from 'node:fs';
import { HEAD, ask, headerAt, nullIfOdd } from '../chain/answers.js';
import { chainIdOf, clientVersionOf } from '../chain/chain-identity.js';
import { waitForEndpoints } from '../chain/wait-for.js';
import { openNetwork } from '../core/connect.js';
import { EXIT, InterruptedError, OutputError, UnavailableError, displayName, worstExit } from '../errors.js';
import { checkWritable, isDevice, writeFileAtomically } from '../files.js';
import { readJsonFile } from '../json-file.js';
import { counted, partOf, percent } from '../text.js';
import { MAX_CALL_BODY_BYTES } from '../transport/http.js';
import { BlockReader } from './blocks.js';
import { configOf } from './config.js';
import { factsOf } from './facts.js';
import { fit } from './fit.js';
import { groupsOf } from './groups.js';
import { PartFile } from './part-file.js';
import { resultOf } from './result.js';

/**
 * The command stress learn: reads the newest blocks of a chain, fits a mix of workloads to their transactions, and writes it
 * as a config file.
 *
 * @import { ChainInfo, Rpc } from '../contracts/chain.d.ts'
 * @import { Config, RunContext } from '../contracts/config.d.ts'
 * @import { Result } from '../outputs/table.js'
 * @import { SeenBlock } from './blocks.js'
 * @import { Rest } from './groups.js'
 *
 * @typedef {Omit<RunContext, 'outputs'> & {say: (line: string) => void}} Context
 *
 * @typedef {object} Source where the blocks are from
 * @property {string} endpoint
 * @property {string | null} client
 * @property {number} chainId
 * @property {string | null} genesisHash
 * @property {number} wanted blocks
 * @property {boolean} isInterrupted
 */

/** In the file that is written: who wrote it, and what was read. */
export const LEARNED = '$learned';

/**
 * @param {Config} config
 * @param {Context} context
 * @returns {Promise<{exitCode: number, result: Result, json: string}>} json: the config file, for standard output
 */
export async function learn({ chain, network, outputs }, context) {
  const { clock, random, transports, stop, say, version } = context;
  const file = outputs.out === '-' ? null : outputs.out;
  if (file !== null) await checkWritable(file);
  if (file !== null) refuseForeign(file);
  const { rpc: urls } = chain;
  const asked = { ...network, transport: 'auto', noKeepAlive: false, maxBodyBytes: MAX_CALL_BODY_BYTES };
  const retryOptions = { clock, random, signals: { setup: stop.drain } };
  const endpoints = openNetwork(transports, asked, { urls: [...urls], sendUrl: null, clock, home: 0, retryOptions });
  const close = () => void endpoints.close();
  stop.drain.addEventListener('abort', close);
  try {
    await waitForEndpoints(chain, { urls, endpoints, clock, signal: stop.drain, notice: say });
    const source = await sourceOf(endpoints.rpc, chain.lastBlocks);
    const { blocks, part } = await readBlocks(endpoints.rpc, { source, file, context });
    const { groups, rest } = groupsOf(blocks);
    const { members, rest: others } = fit(groups);
    if (members.length === 0) throw nothingFitted(source, [...rest, ...others]);
    const facts = factsOf({ blocks, source, version, members, rest: [...rest, ...others] });
    const json = `${JSON.stringify({ ...configOf(members, facts), [LEARNED]: facts }, null, 2)}\n`;
    if (file !== null) await writeFileAtomically(file, json);
    if (!source.isInterrupted) await part?.remove();
    return { exitCode: worstExit([EXIT.ok, ...stop.exitCodes]), result: resultOf(facts, file), json };
  } catch (error) {
    if (!stop.drain.aborted || error instanceof OutputError) throw error;
    throw new InterruptedError('interrupted before a block was read', worstExit([...stop.exitCodes, EXIT.interrupted]));
  } finally {
    stop.drain.removeEventListener('abort', close);
    await endpoints.close();
  }
}

/** A file of the user is not lost. @param {string} file @throws {OutputError} */
function refuseForeign(file) {
  if (!existsSync(file) || isDevice(file)) return;
  try {
    if (LEARNED in readJsonFile(file)) return;
  } catch {
    // It is of another kind.
  }
  throw new OutputError(
    `${displayName(file)} is there already, and stress learn has not written it: give --out another name`,
  );
}

/** @param {Source} source @param {readonly Rest[]} rest */
function nothingFitted({ endpoint }, rest) {
  const reasons = rest.map(({ words, share }) => `${words} (${percent(share)})`);
  return new UnavailableError(`${endpoint}: no transaction can be fitted: ${reasons.join(', ')}; give more --blocks`);
}

/** @param {Rpc} rpc @param {number} wanted @returns {Promise<Source>} */
async function sourceOf(rpc, wanted) {
  const chainId = await chainIdOf(rpc);
  const client = await clientVersionOf(rpc);
  // Some nodes have pruned it.
  const genesis = await nullIfOdd(ask(rpc, headerAt(0), 'setup'));
  return { endpoint: rpc.display, client, chainId, genesisHash: genesis?.hash ?? null, wanted, isInterrupted: false };
}

/**
 * @param {Rpc} rpc
 * @param {{source: Source, file: string | null, context: Context}} options
 * @returns {Promise<{blocks: SeenBlock[], part: PartFile | null}>} without gaps, the newest one last
 */
async function readBlocks(rpc, { source, file, context: { clock, stop, onProgress, say } }) {
  const { chainId, genesisHash, wanted } = source;
  const part = file === null ? null : new PartFile(file, { chainId, genesisHash }, clock);
  const kept = (await part?.open(rpc)) ?? null;
  const to = kept ?? (await ask(rpc, HEAD, 'setup'));
  // The genesis block has no transactions, and often no time.
  const from = Math.max(1, to - wanted + 1);
  if (to < from) throw new UnavailableError(`${rpc.display} has no blocks yet: there is nothing to learn`);
  const blocks = part?.blocks ?? new Map();
  const all = to - from + 1;
  const had = blocks.size;
  if (had > 0) say(`${partOf(had, all, 'block')} kept, already in ${part?.name}; the newest one is ${to}`);
  const onBlock = () => {
    onProgress('reading blocks', Math.min(blocks.size, all), all);
    return part?.save();
  };
  try {
    await new BlockReader(rpc).read({ from, to }, blocks, { signal: stop.drain, onBlock });
  } finally {
    if (blocks.size > had && blocks.size < all) await part?.write();
  }
  onProgress('reading blocks', all, all);
  /** @type {SeenBlock[]} */
  const seen = [];
  for (let number = to; number >= from && blocks.has(number); number -= 1) seen.push(blocks.get(number));
  source.isInterrupted = stop.drain.aborted && seen.length < all;
  if (seen.length > 0 && seen.some(({ transactions }) => transactions.length > 0))
    return { blocks: seen.reverse(), part };
  throw new UnavailableError(
    `${rpc.display}: the last ${counted(seen.length, 'block')} (to ${to}) ${seen.length === 1 ? 'has' : 'have'} no transactions: there is nothing to learn; give more --blocks`,
  );
}
