import { readFileSync } from 'node:fs';
import { readOptions } from './cli/config.js';
import { optionsOf } from './cli/options.js';
import { createClock } from './clock.js';
import { workersOf } from './core/config.js';
import { run as runLoad, unexpected } from './core/run.js';
import { Stop } from './core/stop.js';
import { EXIT, InternalError, StressError, UsageError, oneLine } from './errors.js';
import { Output } from './outputs/output.js';
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
 * nothing open. docs/library.md describes it, index.d.ts has its types.
 *
 * @import { Logger } from 'pino'
 * @import { Option } from './cli/options.js'
 * @import { DefinedWorkload, IntervalRow as PublicRow, RunCallbacks, RunFile as PublicRunFile, RunOptions } from './index.d.ts'
 * @import { RunFile } from './types.d.ts'
 * @import { Create, Workload } from './workloads/contract.d.ts'
 */

/** What is printed or written, and the place among several instances, belong to the command line. */
const OPTIONS = Object.freeze(optionsOf('run').filter(({ role }) => role !== 'output' && role !== 'instance'));

/** The name of an option in the library, by its name on the command line. @param {string} name */
function libraryName(name) {
  return name === 'threads' ? 'wallets' : name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase());
}

/** A workload made by defineWorkload() has no file: messages and the run file show this name. */
const OBJECT_NAME = './object';

/** Two runs in one process would measure each other. */
const running = new Set();

/** @type {Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'fatal'>} */
const SILENT_LOG = Object.freeze({ debug() {}, info() {}, warn() {}, error() {}, fatal() {} });

/** @param {Create | Workload} workload @returns {DefinedWorkload} */
export function defineWorkload(workload) {
  const create = typeof workload === 'function' ? workload : () => workload;
  return Object.freeze({ contract: CONTRACT, default: create });
}

/**
 * @param {RunOptions} options
 * @param {RunCallbacks} [callbacks]
 * @returns {Promise<PublicRunFile>}
 * @throws {StressError} the load did not begin; otherwise the run file has what happened
 */
export async function run(options, { onInterval, signal } = {}) {
  if (running.size > 0) throw new UsageError('run(): another run of this process has not ended; wait for it');
  const stop = new Stop();
  running.add(stop);
  const interrupt = () => stop.request('interrupted', EXIT.interrupted);
  signal?.addEventListener('abort', interrupt);
  if (signal?.aborted) interrupt();
  try {
    return await carryOut(options, stop, onInterval);
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

/** @param {RunOptions} options @param {Stop} stop @param {RunCallbacks['onInterval']} onInterval */
async function carryOut({ workload, ...options }, stop, onInterval) {
  const create = workload !== null && typeof workload === 'object' ? createOf(workload) : undefined;
  const name = create === undefined ? workload : OBJECT_NAME;
  const { config } = await readOptions({ command: 'run', parsed: textsOf({ ...options, workload: name }) });
  if (create !== undefined && workersOf(config) > 1)
    throw new UsageError('a workload object cannot be sent to worker threads: give workers: 1, or the path of a file');
  /** @type {RunFile | null} */
  let runFile = null;
  /** @type {unknown[]} */
  const thrown = [];
  const output = new Output({
    finish: (run) => void (runFile = run),
    interval: (row) => {
      try {
        onInterval?.(/** @type {PublicRow} */ (row));
      } catch (error) {
        thrown.push(error);
        stop.request('failed');
      }
    },
  });
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const log = /** @type {Logger} */ (SILENT_LOG);
  await runLoad(config, { clock: createClock(), log, stop, version, create, outputs: [output], onProgress: () => {} });
  if (thrown.length > 0) throw new UsageError(`onInterval() threw: ${oneLine(thrown[0])}`);
  if (runFile === null) throw new InternalError('the run ended without a run file');
  return runFile;
}

/** @param {object} workload @returns {Create} */
function createOf(workload) {
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
      throw new UsageError(`run(): unknown option "${oneLine(name, 60)}": see docs/library.md for the names`);
    if (value !== undefined && value !== null) texts[option.name] = textOf(option, value);
  }
  return texts;
}

/** @param {Option} option @param {unknown} value @returns {string | string[]} */
function textOf({ name }, value) {
  if (name === 'params' && typeof value === 'object') return JSON.stringify(value);
  if (name === 'set' && typeof value === 'object' && !Array.isArray(value))
    return Object.entries(/** @type {object} */ (value)).map(([key, given]) => `${key}=${given}`);
  return Array.isArray(value) ? value.map(String) : String(value);
}
