import { createHash } from 'node:crypto';
import { assertOneChain, hashOf } from '../chain/chain-identity.js';
import { nullIfRefused } from '../chain/answers.js';
import { CheckError, UsageError, displayName } from '../errors.js';
import { drawBits, randomNumbers } from '../random.js';
import { Head, Reference, faultOf, tryCalls } from './call-checks.js';
import { CALL_PRESETS, readCalls } from './calls-file.js';
import { checkSameChain, readDataSet } from './logs.js';
import { checkReplayFile, isReplayFile } from './replay-file.js';
import { createReplay } from './replay.js';
import { picker } from './templates.js';

/**
 * The workload `rpc`: plain calls, either the same one each time (--method), or a mix of several kinds by weight or
 * recorded requests (--calls). An answer counts if it is JSON-RPC, has the id of its request, and a result.
 *
 * Random values come from the tag of the run, with a separate sequence for each user.
 *
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { CallPreparation } from '../contracts/load.d.ts'
 * @import { CallWorkload } from '../contracts/workload.d.ts'
 * @import { InputError, RefusedError } from '../errors.js'
 * @import { Random } from '../random.js'
 * @import { HeadState } from './call-checks.js'
 * @import { CallKind, CallPlan } from './calls-file.js'
 * @import { BuiltInOptions } from './index.js'
 * @import { DataSet } from './logs.js'
 * @import { Settings } from './table.js'
 *
 * @typedef {Pick<Settings, 'data' | 'checkRpc' | 'callsOrder' | 'allowWrites'> & {calls: string}} CallSettings
 *
 * @typedef {object} User
 * @property {number} index among all users
 * @property {Random} random
 * @property {number} page the next one, from 0
 *
 * @typedef {object} TemplateValues of one call
 * @property {User} user
 * @property {HeadState} head
 * @property {readonly string[]} addresses of the whole slice, by position
 * @property {DataSet} data
 * @property {(key: string, below: number) => number} pick a random number, the same for the same key
 * @property {number} [walletIndex] of an operation
 * @property {number} [nonce] of an operation
 *
 * @typedef {object} PreparedCall
 * @property {string} name
 * @property {string} method
 * @property {unknown[]} params
 * @property {CallKind} kind
 * @property {unknown} expected for the check of this call
 */

/**
 * Checks --calls and the options that depend on what is in its file, before a run.
 * @param {CallSettings} settings
 * @returns {Promise<readonly string[]>} names that the calls have figures under
 * @throws {UsageError | InputError | RefusedError}
 */
export async function checkCallSettings(settings) {
  const { calls, callsOrder = null, allowWrites = false, data = null } = settings;
  if (!hasRecorded(calls)) {
    if (callsOrder !== null || allowWrites)
      throw new UsageError(
        `--${allowWrites ? 'allow-writes' : 'calls-order'} is for recorded requests, one a line, and ${displayName(calls)} has none`,
      );
    return (await readCallSettings(settings)).plan.kinds.map(({ name }) => name);
  }
  if (data !== null)
    throw new UsageError(`--data is for the templates of a calls file, and ${displayName(calls)} has none`);
  return checkReplayFile(calls, allowWrites);
}

/** @param {string} calls */
function hasRecorded(calls) {
  return !CALL_PRESETS.includes(calls) && isReplayFile(calls);
}

/**
 * Reads a calls file or a preset, --data and --check-rpc.
 * @param {Pick<Settings, 'data' | 'checkRpc'> & {calls: string}} settings
 * @returns {Promise<{plan: CallPlan, data: DataSet | null}>}
 * @throws {UsageError | InputError}
 */
async function readCallSettings({ calls, data = null, checkRpc = null }) {
  const plan = await readCalls(calls);
  const { source, kinds, needs } = plan;
  if (needs.has('data') && data === null)
    throw new UsageError(`${source.name} lists a data set: give --data FILE, written by --workload logs`);
  if (!needs.has('data') && data !== null)
    throw new UsageError(`--data is for calls with {{data...}} or {{page...}} in them, and ${source.name} has none`);
  const isCompared = kinds.some(({ check }) => check === 'same');
  if (isCompared && checkRpc === null && !source.isPreset)
    throw new UsageError(
      `${source.name} compares answers with a second endpoint ("check": "same"): give --check-rpc URL`,
    );
  if (!isCompared && checkRpc !== null)
    throw new UsageError(`--check-rpc is for calls with "check": "same", and ${source.name} has none`);
  return { plan, data: data === null ? null : readDataSet(data) };
}

/** @param {BuiltInOptions} options @returns {Promise<CallWorkload>} @throws {InputError | UsageError} */
export default async function create({ settings, state, ...options }) {
  const { calls, method, params, mix = [] } = settings;
  if (calls && hasRecorded(calls)) return createReplay({ ...options, state, settings });
  if (calls) return createCalls({ ...options, state, settings }, await readCallSettings({ ...settings, calls }));
  // Beside transactions the calls have figures of their own.
  const name = mix.length > 0 ? String(method) : undefined;
  const request = { name, method: String(method), params: params ?? [] };
  return {
    kind: 'call',
    prepare: async (preparation) => {
      // Most methods need parameters.
      const where = params === null ? '--method without --params' : '--method';
      await tryCalls(options.rpc, [{ where, check: null }], () => request, preparation);
    },
    next: () => request,
  };
}

/** @param {BuiltInOptions} options @param {{plan: CallPlan, data: DataSet | null}} read @returns {CallWorkload} */
function createCalls({ kit, rpc, settings, state, ...options }, { plan, data }) {
  const { kinds, needs, source, isPaged } = plan;
  const clock = /** @type {Clock} */ (options.clock);
  const connect = /** @type {(url: URL) => Rpc} */ (options.connect);
  const { checkRpc = null } = settings;
  const head = needs.has('head') ? new Head(rpc, clock, state?.head) : null;
  const other = checkRpc === null ? null : connect(new URL(checkRpc));
  const reference = other && new Reference({ first: rpc, other, clock });
  const pages = data?.blocks.length ?? 1;
  const callsPerIteration = isPaged ? pages : 1;
  const { seed } = kit;
  /** @type {readonly string[]} */
  let addresses = state?.addresses ?? [];
  /** By position, from its first call on. @type {User[]} */
  const users = [];
  /** @param {number} index @param {number} [sequence] @returns {User} */
  const newUser = (index, sequence = 0) => ({ index, random: randomNumbers(drawBits(seed, index, sequence)), page: 0 });
  const choose = chooser(kinds);
  /** Calls without templates: the same object each time is encoded once. @type {Map<CallKind, PreparedCall>} */
  const constant = new Map();

  /** @param {CallKind} kind @param {User} user @returns {PreparedCall} */
  const make = (kind, user) => {
    const known = constant.get(kind);
    if (known !== undefined) return known;
    const { name, method, params, check } = kind;
    const expected = check === null || check === 'same' ? null : check.expected;
    const values = /** @type {TemplateValues} */ ({ user, head: head?.state, addresses, data, pick: picker(user) });
    const made = /** @type {unknown[]} */ (params.make(values));
    const call = { name, method, kind, params: made, expected: expected?.make(values) };
    if (params.isConstant && expected?.isConstant !== false) constant.set(kind, call);
    return call;
  };

  return {
    kind: 'call',
    callsPerIteration,
    prepare: async (preparation) => {
      const { chain, addresses: ofSlice, isBeforeSetUp } = /** @type {CallPreparation} */ (preparation);
      const { chainId } = chain;
      const genesisHash = data && (await nullIfRefused(hashOf(rpc, 0, 'setup')));
      if (data !== null) checkSameChain(data, { chainId, genesisHash }, settings.data ?? '');
      if (other !== null) await assertOneChain({ other, option: '--check-rpc', reading: rpc, chainId });
      if (needs.has('addresses')) addresses = await ofSlice();
      await head?.prepare(needs.has('transactions') && !isBeforeSetUp);
      // Another sequence, so that the calls of the load do not depend on these.
      // The set-up sends transactions where the chain has none yet.
      const tried = isBeforeSetUp ? kinds.filter(({ params: { needs } }) => !needs.has('transactions')) : kinds;
      await tryCalls(rpc, tried, (kind) => make(kind, newUser(0, 1)), preparation);
    },
    next: (position) => {
      head?.refresh();
      const user = (users[position] ??= newUser(kit.indexOf(position)));
      const kind = choose(user.random);
      const call = make(kind, user);
      if (kind.params.needs.has('page')) user.page = (user.page + 1) % pages;
      return call;
    },
    check: (_, result, request) => {
      const { kind, name, method, params, expected } = /** @type {PreparedCall} */ (request);
      if (kind.check === null) return null;
      if (kind.check === 'same') return reference?.compare({ name, method, params }, result) ?? null;
      const fault = faultOf(kind.check, result, expected);
      if (fault !== null) throw new CheckError(`${name}: ${fault}`);
      return null;
    },
    facts: () => ({
      calls: source.name,
      // Identifies the calls independently of the file's name.
      callsHash: createHash('sha256').update(JSON.stringify(source.rules)).digest('hex'),
      seed,
      callsPerIteration,
      data: data && { count: pages * data.pageSize, bytes: data.bytes, pageSize: data.pageSize },
    }),
    handOver: () => ({ head: head?.state, addresses }),
  };
}

/** By weight. @param {readonly CallKind[]} kinds @returns {(random: Random) => CallKind} */
function chooser(kinds) {
  if (kinds.length === 1) return () => kinds[0];
  let sum = 0;
  const ends = kinds.map(({ weight }) => (sum += weight));
  return (random) => {
    const at = random() * sum;
    return kinds[ends.findIndex((end) => at < end)];
  };
}
