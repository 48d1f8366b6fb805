import { existsSync, readFileSync } from 'node:fs';
import { readEvidence } from '../evidence/format.js';
import { ChainCheck, isState } from '../evidence/check-chain.js';
import { checkFile, concludeReported } from '../evidence/check-file.js';
import { Claims } from '../evidence/claims.js';
import { checkMerge } from '../evidence/check-merge.js';
import { openNetwork } from '../core/connect.js';
import { InputError, displayName, errnoWords, worstExit } from '../errors.js';
import { checkWritable, writeFileAtomically } from '../files.js';
import { resultText, tableOf } from '../outputs/table.js';
import { columnsOf } from '../outputs/terminal.js';
import { say, streamForPeople } from '../outputs/streams.js';
import { reader } from '../studies/run-files.js';
import { counted, partOf } from '../text.js';

/**
 * stress verify: checks evidence files (--evidence), with --rpc on the chain.
 *
 * @import { Config } from '../contracts/config.d.ts'
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { State } from '../evidence/check-chain.js'
 * @import { GivenRunFile } from '../evidence/check-file.js'
 * @import { Claim } from '../evidence/claims.js'
 * @import { Evidence } from '../evidence/format.js'
 * @import { Table } from '../outputs/table.js'
 * @import { RunContext } from './commands.js'
 */

/** Time between two writes of --state. */
const KEEP_MS = 5000;

const RUN_SCHEMA = /"schema":\s*"evm-stress\/run@/;

/** @param {string} file @returns {boolean} whether it is a run file, by its beginning */
function isRunFile(file) {
  try {
    return RUN_SCHEMA.test(readFileSync(file, 'utf8').slice(0, 200));
  } catch (error) {
    throw new InputError(`cannot read ${displayName(file)}: ${errnoWords(error)}`);
  }
}

/** @param {Config} config @param {RunContext} context @returns {Promise<number>} the exit code */
export async function verify(config, context) {
  const { outputs, study, chain } = config;
  const isJson = (/** @type {string} */ file) => file.endsWith('.json') && isRunFile(file);
  const [runFiles, files] = [true, false].map((is) => study.files.filter((file) => isJson(file) === is));
  if (files.length === 0) throw new InputError('stress verify needs an evidence file: give a file of --evidence');
  if (runFiles.length > 1)
    throw new InputError('several run files are given: give that of the evidence, or the merged one');
  const [given = null] = await Promise.all(runFiles.map(readRunFile));
  if (outputs.state !== null) await checkWritable(outputs.state);
  /** @type {Array<{file: string, evidence: Evidence, claims: Claims}>} */
  const all = [];
  for (const file of files) {
    const evidence = await readEvidence(file);
    const claims = new Claims();
    const isMerged = (given?.run.merged ?? null) !== null;
    checkFile(evidence, claims, isMerged ? null : given);
    if (chain.rpc.length > 0) await onChain(config, context, evidence, claims);
    concludeReported(evidence, claims);
    all.push({ file, evidence, claims });
  }
  const merged =
    given !== null && given.run.merged
      ? checkMerge(
          given,
          all.map(({ evidence }) => evidence),
        )
      : null;
  const parts = [
    ...all.map(({ file, claims }) => ({ title: displayName(file), claims })),
    ...(merged === null ? [] : [{ title: displayName(/** @type {GivenRunFile} */ (given).name), claims: merged }]),
  ];
  const exitCodes = parts.map(({ claims }) => claims.exitCode);
  say(outputs, resultOf(parts, chain.rpc.length > 0, columnsOf(streamForPeople(outputs).stream)));
  return worstExit(exitCodes);
}

/** @param {string} file @returns {Promise<GivenRunFile>} */
async function readRunFile(file) {
  const read = await reader('run');
  return { name: displayName(file), text: readFileSync(file, 'utf8'), run: /** @type {RunFile} */ (read(file)) };
}

/** @param {Config} config @param {RunContext} context @param {Evidence} evidence @param {Claims} claims */
async function onChain(config, context, evidence, claims) {
  const { clock, random, transports, stop, onProgress } = context;
  const asked = { ...config.network, transport: 'auto', noKeepAlive: false };
  const retryOptions = { clock, random, signals: { audit: stop.drain } };
  const open = { urls: [config.chain.rpc[0]], sendUrl: null, clock, home: 0, retryOptions };
  const endpoints = openNetwork(transports, asked, open);
  const { state: file } = config.outputs;
  let keptUs = clock.nowUs();
  /** @param {State} state */
  const write = async (state) => {
    if (file !== null) await writeFileAtomically(file, JSON.stringify(state));
    keptUs = clock.nowUs();
  };
  const keep = async (/** @type {State} */ state) => {
    if (clock.nowUs() - keptUs >= KEEP_MS * 1000) await write(state);
  };
  const tools = { rpc: endpoints.rpc, clock, signal: stop.drain, onProgress, keep };
  const check = new ChainCheck(evidence, claims, tools, file === null ? null : stateIn(file));
  try {
    await check.run();
  } finally {
    if (check.isWhole) await write(check.state);
    await endpoints.close();
  }
}

/** @param {string} file @returns {State | null} null: there is none yet */
function stateIn(file) {
  if (!existsSync(file)) return null;
  try {
    const state = JSON.parse(readFileSync(file, 'utf8'));
    if (!isState(state)) throw new Error('no state');
    return state;
  } catch {
    throw new InputError(`${displayName(file)} has no state of stress verify: give another name to --state`);
  }
}

/** @param {Array<{title: string, claims: Claims}>} parts @param {boolean} hasEndpoint @param {number} width */
function resultOf(parts, hasEndpoint, width) {
  const all = parts.flatMap(({ claims }) => claims.all);
  const of = (/** @type {Claim['state']} */ state) => all.filter((claim) => claim.state === state).length;
  const wrong = of('contradicted');
  const verdict =
    wrong > 0
      ? `CONTRADICTED: ${counted(wrong, 'claim')}`
      : of('reorged') > 0
        ? 'reorged: blocks of the run are no longer on the chain'
        : `${partOf(of('confirmed'), all.length, 'claim')} confirmed, none contradicted`;
  const notes = hasEndpoint ? [] : ['without --rpc only the file was checked: give --rpc URL to check it on the chain'];
  return resultText({ title: 'Verification', verdict, tables: parts.map(claimsTable), notes }, width);
}

/** @param {{title: string, claims: Claims}} part @returns {Table} */
function claimsTable({ title, claims }) {
  const rows = claims.all.map(({ name, state, words }) => {
    return [name, `${state === 'contradicted' ? 'CONTRADICTED' : state}: ${words}`];
  });
  return tableOf('claims', title, [], rows);
}
