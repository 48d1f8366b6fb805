import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { InputError, ProtocolError, RpcError, TransportError, WorkloadError, displayName } from '../errors.js';
import { blame, isThroughUs, otherPlaceOf, placeOf, seenFrom, within, wordsOf } from './blame.js';
import { guard } from './guard.js';
import { createBench } from './kit.js';
import { whatItIs } from './nonsense.js';

/**
 * @import { Create } from './contract.d.ts'
 * @import { Handed } from './guarded.js'
 * @import { Workload, WorkloadOptions } from './index.js'
 */

/** Workloads of the user's own, each in a file: `--workload ./mine.js`. */

/** The contract that this version speaks. */
export const CONTRACT = 'evm-stress/workload@1';

const CONTRACT_NAME = 'evm-stress/workload@';

/** What our own calls end with is waited for; those of the file may not be. */
const ANSWERS = Object.freeze([RpcError, TransportError, ProtocolError]);

/** How long the compiler may take to find the line of a syntax error, in milliseconds. */
const CHECK_MS = 10_000;

/** Whether the value of --workload means a file. @param {string} value */
export function isWorkloadFile(value) {
  return /[\\/]|\.[cm]?js$/.test(value);
}

/**
 * @param {string} file
 * @param {Pick<WorkloadOptions, 'rpc' | 'state'> & {settings: {set?: ReadonlyArray<readonly [string, string]>}}} options
 * @returns {Promise<Workload>}
 * @throws {WorkloadError}
 */
export async function createFileWorkload(file, { rpc, settings, state }) {
  const create = await loadWorkloadFile(file);
  const handed = /** @type {Handed | undefined} */ (state);
  const set = handed?.set ?? Object.freeze(Object.fromEntries(settings.set ?? []));
  const bench = createBench(file, rpc, handed !== undefined);
  let made;
  try {
    const options = { kit: bench.kit, rpc: bench.rpc, settings: { set }, state: handed?.own };
    made = await within(create(options), `${displayName(file)}: create()`);
  } catch (error) {
    throw blame(error, file, 'create()');
  }
  return guard(made, { file, bench, set, gasLimit: handed?.gasLimit ?? null });
}

/**
 * Finds out whether a file holds a workload.
 * @param {string} file
 * @returns {Promise<Create>} what makes it
 * @throws {InputError | WorkloadError}
 */
export async function loadWorkloadFile(file) {
  const name = displayName(file);
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined)
    throw new InputError(`there is no workload file ${name}; stress new-workload ${name} makes one`);
  if (!found.isFile()) throw new InputError(`the workload ${name} is no file`);
  const exported = await importFile(file);
  // What a CommonJS module exports is the default of the whole.
  const { contract, default: create } = typeof exported.default === 'object' ? (exported.default ?? {}) : exported;
  if (typeof contract === 'string' && contract.startsWith(CONTRACT_NAME) && contract !== CONTRACT)
    throw new WorkloadError(`${name} is written for ${whatItIs(contract)}: this stress speaks ${CONTRACT}`);
  if (contract !== CONTRACT)
    throw new WorkloadError(
      `${name} does not say which contract it keeps: it needs export const contract = '${CONTRACT}'`,
    );
  if (typeof create !== 'function')
    throw new WorkloadError(`${name} lacks its default export, the function that creates the workload`);
  return create;
}

/** @param {string} file @returns {Promise<any>} */
async function importFile(file) {
  try {
    return await within(import(pathToFileURL(resolve(file)).href), `${displayName(file)}: its import`);
  } catch (error) {
    if (error instanceof WorkloadError) throw error;
    const name = displayName(file);
    const own = placeOf(error, file);
    const other = own === name ? otherPlaceOf(error, file) : null;
    const isSyntax = error instanceof SyntaxError;
    const place = isSyntax && own === name && other === null ? placeOfSyntaxError(file) : (other ?? own);
    const from = place.startsWith(name) ? '' : ` (which ${name} imports)`;
    throw new WorkloadError(`${place}${from}: ${isSyntax ? error.name : 'its import failed'}: ${wordsOf(error)}`);
  }
}

/**
 * The loader does not tell where a module has its syntax error. Of the file itself node --check does; of one that it
 * imports the loader of another process does, which runs none of them: all are read before the first is run.
 * @param {string} file
 */
function placeOfSyntaxError(file) {
  const input = readFileSync(file, 'utf8');
  const own = saidOf(['--check', '-'], input, /^\[stdin\](:\d+)\n.*\n( *)\^/m);
  if (own !== null) return `${displayName(file)}${own[1]}:${own[2].length + 1}`;
  const importing = `import ${JSON.stringify(pathToFileURL(resolve(file)).href)};`;
  const other = saidOf(['-'], importing, /^(file:\/\/.*?)(:\d+)\n(?:.*\n( *)\^)?/m);
  if (other === null) return displayName(file);
  return `${seenFrom(file, other[1])}${other[2]}${other[3] === undefined ? '' : `:${other[3].length + 1}`}`;
}

/** @param {string[]} args @param {string} input @param {RegExp} pattern */
function saidOf(args, input, pattern) {
  const options = /** @type {const} */ ({ input, encoding: 'utf8', timeout: CHECK_MS });
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', ...args], options);
  return pattern.exec(stderr ?? '');
}

/**
 * What a file does beside its functions, in a timer or in a promise that nobody waits for, may throw, too.
 * @param {string} workload name or file
 * @param {unknown} thrown by whomever
 * @returns {WorkloadError | null} null: it came through files of ours only
 */
export function strayErrorOf(workload, thrown) {
  if (!isWorkloadFile(workload)) return null;
  if (thrown instanceof WorkloadError) return thrown;
  const place = placeOf(thrown, workload);
  const isIts =
    place !== displayName(workload) || !isThroughUs(thrown) || ANSWERS.some((kind) => thrown instanceof kind);
  return isIts ? new WorkloadError(`${place}: something that runs by itself threw: ${wordsOf(thrown)}`) : null;
}
