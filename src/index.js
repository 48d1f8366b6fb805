import { readFileSync } from 'node:fs';
import { readOptions } from './cli/config.js';
import { isOfCommandLine, optionsOf } from './cli/options.js';
import { createPlatform } from './core/platform.js';
import { run as runLoad, unexpected } from './core/run.js';
import { Stop } from './core/stop.js';
import { EXIT, InternalError, StressError, UsageError, oneLine } from './errors.js';
import { CONTRACT } from './workloads/user-file.js';

export {
  CheckError,
  ForeignSenderError,
  FundsError,
  IncompleteError,
  InputError,
  InternalError,
  InterruptedError,
  OutputError,
  ProtocolError,
  RefusedError,
  RpcError,
  StressError,
  TransportError,
  UnavailableError,
  UsageError,
  WorkloadError,
} from './errors.js';

/**
 * The library: a run inside of another program. It prints nothing, installs no handlers of the process, and leaves
 * nothing open. docs/outputs.md describes it, index.d.ts has its types.
 *
 * @import { Log } from './contracts/common.d.ts'
 * @import { Config } from './contracts/config.d.ts'
 * @import { Output } from './contracts/output.d.ts'
 * @import { IntervalRow, RunFile } from './contracts/run-file.d.ts'
 * @import { Create, Workload } from './contracts/workload.d.ts'
 * @import { DefinedWorkload, RunCallbacks, RunOptions } from './index.d.ts'
 */

const OPTIONS = Object.freeze(optionsOf('run').filter((option) => !isOfCommandLine(option)));

/** The name of an option in the library, by its name on the command line. @param {string} name */
function libraryName(name) {
  return name === 'threads' ? 'wallets' : name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase());
}

/** A workload made by defineWorkload() has no file: messages and the run file show this name. */
const OBJECT_NAME = './object';

/** Two runs in one process would measure each other. */
const running = new Set();

/** @type {Log} */
const SILENT_LOG = Object.freeze({ info() {}, warn() {}, error() {}, fatal() {} });

/** @param {Create | Workload} workload @returns {DefinedWorkload} */
export function defineWorkload(workload) {
  const create = typeof workload === 'function' ? workload : () => workload;
  return Object.freeze({ contract: CONTRACT, default: create });
}

/**
 * @param {RunOptions} options
 * @param {RunCallbacks} [callbacks]
 * @returns {Promise<RunFile>}
 * @throws {StressError} the load did not begin; otherwise the run file has what happened
 */
export async function run(options, { onInterval, signal } = {}) {
  if (!isObject(options))
    throw new UsageError("run(): options must be an object: give { wallets: 5, duration: '15s' }");
  const create = createOf(options.workload);
  const parsed = textsOf({ ...options, workload: create === undefined ? options.workload : OBJECT_NAME });
  if (running.size > 0) throw new UsageError('run(): another run of this process has not ended; wait for it');
  const stop = new Stop();
  const interrupt = () => stop.request('interrupted', EXIT.interrupted);
  signal?.addEventListener('abort', interrupt);
  if (signal?.aborted) interrupt();
  try {
    running.add(stop);
    return await carryOut(parsed, create, stop, onInterval);
  } catch (error) {
    // Pending retries would keep the process alive.
    stop.request('failed');
    stop.abort();
    throw error instanceof StressError ? error : new InternalError(unexpected(error), error);
  } finally {
    signal?.removeEventListener('abort', interrupt);
    running.delete(stop);
  }
}

/** @param {unknown} value */
function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @param {Record<string, unknown>} parsed @param {Create | undefined} create @param {Stop} stop @param {RunCallbacks['onInterval']} onInterval */
async function carryOut(parsed, create, stop, onInterval) {
  const { config } = await readOptions({ command: 'run', parsed });
  if (create !== undefined) checkThreads(config);
  /** @type {RunFile | null} */
  let runFile = null;
  /** @type {unknown[]} */
  const thrown = [];
  /** @type {Promise<void>[]} */
  const calls = [];
  /** Calls it at once; it may be asynchronous. @param {IntervalRow} row */
  const callOnInterval = async (row) => {
    try {
      await onInterval?.(row);
    } catch (error) {
      thrown.push(error);
      stop.request('failed');
    }
  };
  /** @type {Output} */
  const output = {
    finish: (run) => void (runFile = run),
    interval: (row) => void calls.push(callOnInterval(row)),
  };
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  await runLoad(config, {
    ...createPlatform(),
    log: SILENT_LOG,
    stop,
    version,
    create,
    outputs: [output],
    onProgress: () => {},
  });
  // The last ones may reject after the end of the load.
  await Promise.all(calls);
  if (thrown.length > 0) throw new UsageError(`onInterval() threw: ${oneLine(thrown[0])}`);
  if (runFile === null) throw new InternalError('the run ended without a run file');
  return runFile;
}

/** Functions cannot be sent to threads. @param {Config} config */
function checkThreads({ load, chain }) {
  if (chain.rpc.length > 1)
    throw new UsageError(
      'a workload object runs in one thread, and several endpoints need several threads: give the path of a workload file',
    );
  if (load.workers > 1)
    throw new UsageError('a workload object cannot be sent to worker threads: give workers: 1, or the path of a file');
}

/** @param {unknown} workload @returns {Create | undefined} undefined: a name, or the path of a file */
function createOf(workload) {
  if ((workload ?? null) === null || typeof workload === 'string') return undefined;
  const { contract, default: create } = /** @type {Partial<DefinedWorkload>} */ (workload);
  if (contract === CONTRACT && typeof create === 'function') return create;
  throw new UsageError('workload must be a name, the path of a file, or the result of defineWorkload()');
}

/** Options as the command line would have them. @param {Record<string, unknown>} options */
function textsOf(options) {
  const byName = new Map(OPTIONS.map((option) => [libraryName(option.name), option]));
  /** @type {Record<string, unknown>} */
  const texts = {};
  for (const [name, value] of Object.entries(options)) {
    const option = byName.get(name);
    if (option === undefined)
      throw new UsageError(
        `run(): unknown option "${oneLine(name, 60)}": the names are those of stress --help-all in camelCase, and wallets for --threads`,
      );
    if ((value ?? null) === null) continue;
    const text = textOf(option, name, value);
    // No settings at all are as good as an empty object.
    if (name !== 'set' || text.length > 0) texts[option.name] = text;
  }
  return texts;
}

/** @param {{isJson?: boolean}} option @param {string} name @param {unknown} value @returns {string | string[]} */
function textOf({ isJson = false }, name, value) {
  if (isJson && typeof value === 'object')
    return JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? String(one) : one));
  if (name === 'set' && isObject(value))
    return Object.entries(/** @type {object} */ (value)).map(([key, one]) => `${key}=${plainText(`set.${key}`, one)}`);
  return Array.isArray(value) ? value.map((one) => plainText(name, one)) : plainText(name, value);
}

/** @param {string} name @param {unknown} value */
function plainText(name, value) {
  if (['string', 'number', 'bigint', 'boolean'].includes(typeof value) || value instanceof URL) return String(value);
  throw new UsageError(`run(): ${oneLine(name, 60)} has a wrong value: give a text, a number, a boolean or a URL`);
}
