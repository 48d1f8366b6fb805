import { existsSync } from 'node:fs';
import { HEAD, ask, headerAt, nullIfOdd } from '../chain/answers.js';
import { chainIdOf, clientVersionOf } from '../chain/chain-identity.js';
import { waitForEndpoints } from '../chain/wait-for.js';
import { openNetwork } from '../core/connect.js';
import {
  EXIT,
  InterruptedError,
  OutputError,
  StressError,
  UnavailableError,
  displayName,
  worstExit,
} from '../errors.js';
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
 * @property {boolean} isEnough older blocks were not read, because there are as many transactions as fit into memory
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
    throw new InterruptedError(
      'interrupted before there was anything to learn',
      worstExit([...stop.exitCodes, EXIT.interrupted]),
    );
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
  const found = { endpoint: rpc.display, client, chainId, genesisHash: genesis?.hash ?? null };
  return { ...found, wanted, isInterrupted: false, isEnough: false };
}

/**
 * @param {Rpc} rpc
 * @param {{source: Source, file: string | null, context: Context}} options
 * @returns {Promise<{blocks: SeenBlock[], part: PartFile | null}>} without gaps, the newest one last
 */
async function readBlocks(rpc, { source, file, context: { clock, stop, onProgress, say } }) {
  const { chainId, genesisHash, wanted } = source;
  const part = file === null ? null : new PartFile(file, { chainId, genesisHash }, clock);
  await part?.open(rpc);
  const to = part?.to ?? (await ask(rpc, HEAD, 'setup'));
  // The genesis block has no transactions, and often no time.
  const from = Math.max(1, to - wanted + 1);
  if (to < from) throw new UnavailableError(`${rpc.display} has no blocks yet: there is nothing to learn`);
  part?.keep(from, to);
  /** @type {Map<number, SeenBlock>} */
  const blocks = part?.blocks ?? new Map();
  const [had, all] = [blocks.size, to - from + 1];
  if (had > 0) say(`${partOf(had, all, 'block')} kept, already in ${part?.name}; the newest one is ${to}`);
  const reader = new BlockReader(rpc);
  const onBlock = () => {
    onProgress('reading blocks', blocks.size + reader.gaps.size, all);
    return part?.save();
  };
  try {
    await reader.read({ from, to }, blocks, { signal: stop.drain, onBlock });
  } catch (error) {
    if (part !== null && blocks.size > had && error instanceof StressError)
      error.message += `; ${counted(blocks.size, 'block')} are kept in ${part.name}: the same command goes on`;
    throw error;
  } finally {
    if (blocks.size > had && blocks.size < all) await part?.write();
    onProgress('reading blocks', all, all);
  }
  /** @type {SeenBlock[]} */
  const seen = [];
  let number = to;
  for (; number >= from && (blocks.has(number) || reader.gaps.has(number)); number -= 1)
    seen.push(...[blocks.get(number) ?? []].flat());
  source.isInterrupted = stop.drain.aborted && number >= from;
  source.isEnough = !stop.drain.aborted && number >= from;
  if (seen.some(({ transactions }) => transactions.length > 0)) return { blocks: seen.reverse(), part };
  const they = `the last ${counted(seen.length, 'block')} (to ${to})`;
  const words = `${they} ${seen.length === 1 ? 'has' : 'have'} no transactions: there is nothing to learn; give more --blocks`;
  throw new UnavailableError(`${rpc.display}: ${words}`);
}
