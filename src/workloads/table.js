import { basename } from 'node:path';
import { MAX_BLOBS, MAX_SIDECARS } from '../chain/blobs.js';
import { oneLine, withoutKeys } from '../errors.js';
import { isWorkloadFile } from '../files.js';

/**
 * The table of workloads. Those that come with the program are written to the contract of contracts/workload.d.ts, as a user's file
 * is; their settings are options of the command line, or numbers of --set. The file of a workload has the name of its row,
 * and is loaded when the workload is chosen.
 *
 *
 * @import { ContractCall, WorkloadConfig } from '../contracts/load.d.ts'
 *
 * @typedef {Partial<WorkloadConfig>} Settings
 *
 * @typedef {object} WorkloadRow
 * @property {boolean} [isCall] it makes plain calls
 * @property {Readonly<Record<string, SetRow>>} [sets] values of --set
 * @property {(settings: Settings & {threads?: number}) => string | null} [lacks] what the settings lack, in words that follow the name
 *
 * @typedef {object} SetRow a number, or a text
 * @property {number} least
 * @property {number} most
 * @property {number} fallback
 * @property {string} words what is counted
 * @property {boolean} [isDecimal] it may have digits behind a point
 * @property {RegExp} [pattern] of a text, which the workload itself reads
 */

/** @param {Settings & {threads?: number}} settings */
const lacksReceivers = ({ threads, receivers = null }) => (receivers === null && threads === 1 ? NEEDS_TWO : null);

/** What payments between the wallets lack. */
export const NEEDS_TWO = 'pays from wallet to wallet and has only one: use at least two (-t 2), or --receivers N';

/** @param {Settings} settings */
const lacksCalls = ({ method = null, calls = null }) =>
  calls === '-'
    ? 'reads its calls several times: give --calls a file, not standard input (-)'
    : method === null && calls === null
      ? 'needs --calls, for instance the preset wallet, or --method, for instance eth_blockNumber'
      : null;

/** @param {Settings} settings */
function lacksSlots({ set }) {
  const { cold, clear } = setsOf('storage', set);
  if (clear <= cold && cold + clear <= 100) return null;
  return `clears slots that it has added: --set clear=${clear} must be at most cold=${cold}, and both together at most 100`;
}

/** A contract call with nothing in it. @type {ContractCall} */
export const NO_CALL = Object.freeze({
  contractAddress: null,
  function: null,
  args: null,
  abi: null,
  calldata: null,
  callValueWei: null,
  deploy: null,
  deployArgs: null,
  before: null,
  beforeArgs: null,
  checkEvent: null,
});

/** @param {Settings} settings */
function lacksContract({ contractAddress = null, deploy = null, function: called = null, calldata = null }) {
  if (contractAddress === null && deploy === null)
    return 'needs a contract: --contract-address ADDRESS of one on the chain, or --deploy FILE';
  return called === null && calldata === null
    ? "needs what to call: --function SIGNATURE, such as 'transfer(address,uint256)', or --calldata DATA"
    : null;
}

/** The workload of --mix, and its member of plain calls. */
export const MIX = 'mix';
export const CALLS = 'calls';

/** @param {number} least @param {number} most @param {number} fallback @param {string} words @returns {SetRow} */
const whole = (least, most, fallback, words) => ({ least, most, fallback, words });

/** @type {Readonly<Record<string, WorkloadRow>>} */
export const WORKLOADS = Object.freeze({
  counter: {},
  transfer: { lacks: lacksReceivers },
  erc20: {
    sets: {
      address: { ...whole(0, 0, 0, 'of a token that is on the chain'), pattern: /^0x[0-9a-f]{40}$/i },
    },
    lacks: lacksReceivers,
  },
  erc721: {},
  storage: {
    sets: {
      slots: whole(1, 500, 20, 'storage slots written per operation'),
      cold: whole(0, 100, 25, 'percent of them new'),
      clear: whole(0, 100, 25, 'percent of them set back to zero'),
    },
    lacks: lacksSlots,
  },
  deploy: { sets: { bytes: whole(1, 24_576, 1000, 'bytes of code per contract') } },
  compute: { sets: { gas: whole(50_000, 30_000_000, 500_000, 'gas per operation') } },
  swap: {
    sets: {
      amount: whole(1, 100_000, 100, 'millionths of the reserve paid in per operation'),
      slippage: whole(0, 10_000, 1000, 'hundredths of a percent below the first price'),
    },
  },
  contention: {
    sets: {
      slots: whole(1, 1_000_000, 64, 'slots that all wallets write'),
      theta: { ...whole(0, 10, 1, 'exponent of Zipf: 0 writes all slots alike, 2 mostly the first'), isDecimal: true },
    },
  },
  blobs: {
    sets: {
      blobs: whole(1, MAX_BLOBS, 1, 'blobs per operation'),
      sidecars: whole(1, MAX_SIDECARS, 3, 'transactions whose blobs are proved before the load'),
    },
  },
  'set-code': {},
  logs: {},
  contract: { lacks: lacksContract },
  rpc: { isCall: true, lacks: lacksCalls },
});

/**
 * A member of `workloads`. One that calls the contract of another one has its ABI.
 * @param {string} name
 * @param {Settings} settings
 * @returns {ContractCall | null} null: there is no member of that name
 */
export function contractCallOf(name, { workloads = null }) {
  if (workloads === null || !Object.hasOwn(workloads, name)) return null;
  const call = workloads[name];
  const { abi = null, deploy = null } = workloads[call.contractAddress ?? name] ?? {};
  return { ...call, abi: call.abi ?? abi ?? deploy };
}

/**
 * The contract calls of a load: that of --workload contract, or those of a mix.
 * @param {WorkloadConfig} config
 * @returns {Array<{name: string, call: ContractCall}>}
 */
export function contractCalls(config) {
  const names = config.mix.length > 0 ? config.mix.map(({ name }) => name) : [config.workload];
  return names.flatMap((name) => {
    const call = name === 'contract' ? config : contractCallOf(name, config);
    return call === null ? [] : [{ name, call }];
  });
}

/** The most that an operation of a load transfers by --call-value. @param {WorkloadConfig} config @returns {bigint} */
export function callValueOf(config) {
  const values = contractCalls(config).map(({ call }) => call.callValueWei ?? 0n);
  return values.reduce((most, value) => (value > most ? value : most), 0n);
}

/** Built-in members of a mix: not those that follow all operations of the run, or depend on all nonces of a wallet. */
export const MEMBERS = Object.freeze([
  ...Object.keys(WORKLOADS).filter((name) => !['contention', 'logs', 'set-code', 'rpc'].includes(name)),
  CALLS,
]);

/** The name of a member of a mix: of a file that without folder and extension. @param {string} name */
export const labelOf = (name) => (isWorkloadFile(name) ? basename(name).replace(/\.m?js$/, '') : name);

/**
 * The settings of a member: those of a built-in workload have its name before them, such as storage.slots=5; others are
 * for files.
 * @param {string} name
 * @param {ReadonlyArray<readonly [string, string]>} set
 */
export function setOfMember(name, set) {
  if (isWorkloadFile(name)) return set.filter(([key]) => !key.includes('.'));
  const start = `${name}.`;
  return set.flatMap(([key, value]) =>
    key.startsWith(start) ? [/** @type {const} */ ([key.slice(start.length), value])] : [],
  );
}

/** Whether a workload sends transactions; of a user's file that is not known. @param {string | null} name */
export function isCallWorkload(name) {
  return name !== null && Object.hasOwn(WORKLOADS, name) && WORKLOADS[name].isCall === true;
}

/** The numbers. @param {string} workload a built-in one @param {Settings['set']} [given] valid ones @returns {Readonly<Record<string, number>>} */
export function setsOf(workload, given = []) {
  const known = Object.entries(WORKLOADS[workload]?.sets ?? {}).filter(([, { pattern }]) => pattern === undefined);
  const texts = Object.fromEntries(given);
  return Object.freeze(
    Object.fromEntries(known.map(([name, { fallback }]) => [name, Number(texts[name] ?? fallback)])),
  );
}

/** What is wrong with --set of a built-in workload. @param {string} workload @param {NonNullable<Settings['set']>} given @param {string} [prefix] of the names, in a mix @returns {string | null} */
export function setProblem(workload, given, prefix = '') {
  const { sets = {} } = WORKLOADS[workload];
  const wrong = given.find(([name, text]) => {
    const { least, most, pattern, isDecimal = false } = Object.hasOwn(sets, name) ? sets[name] : whole(1, 0, 0, '');
    if (pattern !== undefined) return !pattern.test(text);
    return (
      !(isDecimal ? /^\d{1,9}(\.\d{1,6})?$/ : /^\d{1,9}$/).test(text) || Number(text) < least || Number(text) > most
    );
  });
  if (wrong === undefined) return null;
  const [name, text] = wrong;
  const settings = Object.entries(sets)
    .filter(([known]) => known === name || !Object.hasOwn(sets, name))
    .map(([known, { least, most, fallback, words, pattern }]) =>
      pattern === undefined
        ? `${known} from ${least} to ${most} (${words}; default ${fallback})`
        : `${known} (${words})`,
    );
  // A value that is no number of this program may be anything, such as a password.
  if (settings.length === 0)
    return `--set ${prefix}${name}=... is no setting of --workload ${workload}, which has none`;
  const start = `--set ${prefix}${name}=${oneLine(withoutKeys(text), 60)}`;
  if (Object.hasOwn(sets, name)) return `${start} is not valid: --workload ${workload} takes ${settings[0]}`;
  return `${start} is no setting of --workload ${workload}: it has ${settings.join(', ')}`;
}

/**
 * A mix with calls has two sides: its transactions, and its calls. Other mixes have one.
 * @param {number} all wallets, or connections
 * @param {readonly {name: string, weight: number}[]} mix
 * @returns {number[]} the part of each side, by weight, at least one
 */
export function sidesOf(all, mix) {
  const weightOf = (/** @type {typeof mix} */ members) => members.reduce((sum, { weight }) => sum + weight, 0);
  const calls = mix.filter(({ name }) => name === CALLS);
  if (calls.length === 0) return [all];
  const part = Math.round((1 - weightOf(calls) / weightOf(mix)) * all);
  const own = Math.min(all - 1, Math.max(1, part));
  return [own, all - own];
}

/** Threads that carry a load: each side has as many. @param {{workers: number, threads: number}} load @param {readonly {name: string, weight: number}[]} mix */
export function threadsOf({ workers, threads }, mix) {
  return workers === 1 ? 1 : workers * sidesOf(threads, mix).length;
}
