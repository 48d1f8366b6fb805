import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { WorkloadError } from '../errors.js';

/** @import { Artifact } from '../contracts/workload.d.ts' */

/**
 * Compiles Solidity. solc takes 200 MB and changes how unhandled errors end the process, so it runs in a thread that ends
 * after the compilation.
 */

/** The name of the source in messages of the compiler. */
const SOURCE = 'workload.sol';

/**
 * @param {string} source
 * @param {{contract?: string, place: string, caller?: string, choose?: string}} options contract: needed if the source has several;
 *   for messages: place, caller, and choose: how to say which contract
 * @returns {Promise<Artifact>}
 * @throws {WorkloadError} with the compiler's messages
 */
export async function compile(
  source,
  { contract, place, caller = 'kit.compile: ', choose = 'name one of its contracts' },
) {
  if (typeof source !== 'string') throw new WorkloadError(`${place}: ${caller}the source must be a text`);
  const { [SOURCE]: compiled } = await compileAll({ [SOURCE]: source }, place);
  const names = Object.keys(compiled);
  const name = contract ?? (names.length === 1 ? names[0] : '');
  if (names.includes(name)) return compiled[name];
  const which = contract === undefined ? choose : `there is no contract "${contract}" to deploy`;
  throw new WorkloadError(`${place}: ${caller}${which}; the source has ${names.join(', ') || 'none'}`);
}

/**
 * @param {Record<string, string>} sources by file name
 * @param {string} place for messages
 * @returns {Promise<Record<string, Record<string, Artifact>>>} the contracts that can be deployed, by file and name
 * @throws {WorkloadError}
 */
export async function compileAll(sources, place) {
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(Object.entries(sources).map(([file, content]) => [file, { content }])),
    settings: {
      evmVersion: 'london', // later versions emit PUSH0, which older chains lack
      optimizer: { enabled: true, runs: 200 },
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
    },
  };
  const { errors = [], contracts = {} } = JSON.parse(await solc(JSON.stringify(input), place));
  const fatal = errors.filter((/** @type {any} */ error) => error.severity === 'error');
  if (fatal.length > 0) {
    const words = fatal.map((/** @type {any} */ error) => error.formattedMessage.trimEnd()).join('\n\n');
    throw new WorkloadError(`${place}: the Solidity source does not compile; solc says:`, words);
  }
  const deployable = (/** @type {string} */ file) =>
    Object.entries(/** @type {Record<string, any>} */ (contracts[file] ?? {}))
      .filter(([, { evm }]) => evm.bytecode.object !== '')
      .map(([name, { abi, evm }]) => [name, { abi, bytecode: `0x${evm.bytecode.object}` }]);
  return Object.fromEntries(Object.keys(sources).map((file) => [file, Object.fromEntries(deployable(file))]));
}

/** @param {string} input @param {string} place @returns {Promise<string>} output */
async function solc(input, place) {
  const thread = new Worker(new URL('./solc-thread.js', import.meta.url), { workerData: input });
  try {
    const [output] = await once(thread, 'message');
    return output;
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    const words = code === 'MODULE_NOT_FOUND' ? 'solc is not installed: npm install solc' : `solc: ${message}`;
    throw new WorkloadError(`${place}: ${words}`);
  } finally {
    await thread.terminate();
  }
}
