import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { InputError, WorkloadError, displayName } from '../errors.js';
import { blame, placeOf, within, wordsOf } from './blame.js';
import { guard } from './guard.js';
import { createBench } from './kit.js';
import { whatItIs } from './nonsense.js';

/** Workloads of the user's own, each in a file: `--workload ./mine.js`. */

/** The contract that this version speaks. */
export const CONTRACT = 'evm-stress/workload@1';

const CONTRACT_NAME = 'evm-stress/workload@';

/** How long the compiler may take to find the line of a syntax error, in milliseconds. */
const CHECK_MS = 10_000;

/** Whether the value of --workload means a file. @param {string} value */
export function isWorkloadFile(value) {
  return /[\\/]|\.[cm]?js$/.test(value);
}

/**
 * @param {string} file
 * @param {Pick<import('./index.js').WorkloadOptions, 'rpc' | 'state'> & {settings: {set?: ReadonlyArray<readonly [string, string]>}}} options
 * @returns {Promise<import('./index.js').Workload>}
 * @throws {WorkloadError}
 */
export async function createFileWorkload(file, { rpc, settings, state }) {
  const create = await loadWorkloadFile(file);
  const handed = /** @type {import('./guard.js').Handed | undefined} */ (state);
  const set = handed?.set ?? Object.freeze(Object.fromEntries(settings.set ?? []));
  const bench = createBench(file, rpc);
  let made;
  try {
    const options = { kit: bench.kit, rpc, settings: { set }, state: handed?.own };
    made = await within(create(options), `${displayName(file)}: create()`);
  } catch (error) {
    throw blame(error, file, 'create()');
  }
  return guard(made, { file, bench, set, gasLimit: handed?.gasLimit ?? null });
}

/**
 * Finds out whether a file holds a workload.
 * @param {string} file
 * @returns {Promise<import('./contract.d.ts').Create>} what makes it
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
    const place = placeOf(error, file);
    if (!(error instanceof SyntaxError)) throw new WorkloadError(`${place}: its import failed: ${wordsOf(error)}`);
    const where = place === displayName(file) ? lineOfSyntaxError(file) : '';
    throw new WorkloadError(`${place}${where}: ${error.name}: ${wordsOf(error)}`);
  }
}

/** The loader does not tell where a module has its syntax error; node --check does. @param {string} file */
function lineOfSyntaxError(file) {
  const input = readFileSync(file, 'utf8');
  const args = ['--input-type=module', '--check', '-'];
  const { stderr } = spawnSync(process.execPath, args, { input, encoding: 'utf8', timeout: CHECK_MS });
  const match = /^\[stdin\]:(\d+)\n.*\n( *)\^/.exec(stderr ?? '');
  return match === null ? '' : `:${match[1]}:${match[2].length + 1}`;
}

/**
 * What a file does beside its functions, in a timer or in a promise that nobody waits for, may throw, too.
 * @param {string} workload name or file
 * @param {unknown} thrown by whomever
 * @returns {WorkloadError | null} null: it did not come through the file
 */
export function strayErrorOf(workload, thrown) {
  if (!isWorkloadFile(workload)) return null;
  const place = placeOf(thrown, workload);
  const isIts = place !== displayName(workload);
  return isIts ? new WorkloadError(`${place}: something that runs by itself threw: ${wordsOf(thrown)}`) : null;
}
