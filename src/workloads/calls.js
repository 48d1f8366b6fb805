import { createHash, randomInt } from 'node:crypto';
import { CheckError, InternalError, UsageError } from '../errors.js';
import { Head, Reference, faultOf, genesisOf, tryCalls } from './call-checks.js';
import { planOf, readCalls } from './calls-file.js';
import { checkSameChain, readDataSet } from './logs.js';

/**
 * @import { CallPreparation, CallWorkload, DataSet, Request, Rpc, Settings } from '../types.d.ts'
 * @import { InputError } from '../errors.js'
 * @import { HeadState } from './call-checks.js'
 * @import { CallKind, CallPlan, CallSource } from './calls-file.js'
 * @import { WorkloadOptions } from './index.js'
 */

/**
 * The workload `rpc`: plain calls, either the same one each time (--method) or a mix of several kinds by weight
 * (--calls). An answer counts if it is JSON-RPC, has the id of its request, and a result.
 *
 * Random values come from a seed, with a separate sequence for each user, so that users with the same seed make the same
 * calls in the same order in every process.
 *
 * @typedef {object} Sources of template values
 * @property {HeadState | null} head null if no template needs it
 * @property {readonly string[]} addresses of the whole slice, by position
 * @property {DataSet | null} data
 *
 * @typedef {object} User
 * @property {number} position in the slice
 * @property {number} random state of its sequence
 * @property {number} page the next one, from 0
 */
/** @param {number} seed @param {number} position @returns {User} */
export function newUser(seed, position) {
  return { position, random: scramble(seed ^ Math.imul(position + 1, 0x9e3779b9)), page: 0 };
}

/** The next random number of a user, from 0 to below 1 (mulberry32). @param {User} user */
export function random(user) {
  user.random = (user.random + 0x6d2b79f5) | 0;
  return scramble(user.random) / 2 ** 32;
}

/** @param {number} value @returns {number} a hash of 32 bits */
function scramble(value) {
  let mixed = Math.imul(value ^ (value >>> 15), value | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return (mixed ^ (mixed >>> 14)) >>> 0;
}

/** Template values of one call. A value that was chosen at random stays the same within the call. */
export class TemplateValues {
  /** @type {Map<string, number> | null} */
  #picked = null;

  /** @param {User} user @param {Sources} sources */
  constructor(user, { head, addresses, data }) {
    this.user = user;
    this.pageNumber = user.page;
    this.head = /** @type {HeadState} */ (head);
    this.addresses = addresses;
    this.data = /** @type {DataSet} */ (data);
  }

  /** The same number for the same key. @param {string} key @param {number} below */
  pick(key, below) {
    this.#picked ??= new Map();
    const known = this.#picked.get(key);
    if (known !== undefined) return known;
    const picked = Math.floor(random(this.user) * below);
    this.#picked.set(key, picked);
    return picked;
  }
}

/**
 * Reads and checks --calls, --data and --check-rpc before a run.
 * @param {Pick<Settings, 'data' | 'checkRpc'> & {calls: string}} settings
 * @returns {Promise<{plan: CallPlan, data: DataSet | null}>}
 * @throws {UsageError | InputError}
 */
export async function readCallSettings({ calls, data = null, checkRpc = null }) {
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

/**
 * @typedef {object} PreparedCall
 * @property {string} name
 * @property {string} method
 * @property {unknown[]} params
 * @property {CallKind} kind
 * @property {unknown} expected for the check of this call
 *
 * @typedef {object} CallsState for a worker thread
 * @property {CallSource} source
 * @property {number} seed
 * @property {number} first position of its first user in the slice
 * @property {number} users
 * @property {readonly string[]} addresses
 * @property {DataSet | null} data
 * @property {HeadState | null} head
 * @property {string | null} checkUrl
 */

export class Calls {
  kind = /** @type {const} */ ('call');
  /** Calls of a user that belong together: all pages of a data set, or one. */
  callsPerIteration;
  #plan;
  #options;
  #state;
  /** @type {Sources} */
  #sources;
  #head;
  #users;
  #weights;
  #reference;
  /** Calls without templates. @type {Map<CallKind, PreparedCall>} */
  #constant = new Map();

  /** @param {CallPlan} plan @param {WorkloadOptions} options @param {CallsState} state */
  constructor(plan, options, state) {
    const { rpc, connect = missing } = options;
    const clock = options.clock ?? missing();
    const { head, addresses, data, first, users, seed, checkUrl } = state;
    this.#plan = plan;
    this.#options = options;
    this.#state = state;
    const wantsBlocks = plan.needs.has('blocks') || plan.needs.has('transactions');
    this.#head = plan.needs.has('head') ? new Head(rpc, clock, wantsBlocks, head) : null;
    this.#sources = { head: this.#head?.state ?? null, addresses, data };
    this.#users = Array.from({ length: users }, (_, i) => newUser(seed, first + i));
    this.#weights = runningSums(plan.kinds.map(({ weight }) => weight));
    const isCompared = checkUrl !== null && plan.kinds.some(({ check }) => check === 'same');
    this.#reference = isCompared ? new Reference(connect(new URL(checkUrl)), clock) : null;
    this.callsPerIteration = plan.isPaged ? (data?.pages.length ?? 1) : 1;
  }

  /** Finds errors of the set-up before the load. @param {CallPreparation} preparation */
  async prepare({ chain, addresses, notice }) {
    const { rpc } = this.#options;
    const { needs } = this.#plan;
    const { data } = this.#sources;
    const genesisHash = data === null && this.#reference === null ? null : await genesisOf(rpc, 'setup');
    if (data !== null) checkSameChain(data, { chainId: chain.chainId, genesisHash }, this.#options.settings.data ?? '');
    await this.#reference?.checkChain({ ...chain, genesisHash, display: rpc.display });
    if (needs.has('addresses')) this.#sources.addresses = await addresses();
    await this.#head?.prepare(needs.has('transactions'));
    // A separate user, so that the calls of the load do not depend on this one.
    const trial = newUser(this.#state.seed, -2);
    await tryCalls(rpc, this.#plan.kinds, (kind) => this.#make(kind, { ...trial, position: 0 }), notice);
  }

  /** @param {number} position @returns {PreparedCall} */
  next(position) {
    this.#head?.refresh();
    const user = this.#users[position];
    const kind = this.#choose(user);
    const call = this.#make(kind, user);
    if (kind.params.needs.has('page')) user.page = (user.page + 1) % (this.#sources.data?.pages.length ?? 1);
    return call;
  }

  /** @param {number} _position @param {unknown} result @param {Request} request the result of next() */
  check(_position, result, request) {
    const { kind, name, method, params, expected } = /** @type {PreparedCall} */ (request);
    if (kind.check === null) return null;
    if (kind.check === 'same') return this.#reference?.compare({ name, method, params }, result) ?? null;
    const fault = faultOf(kind.check, result, expected);
    if (fault !== null) throw new CheckError(`${name}: ${fault}`);
    return null;
  }

  /** @param {number} first @param {number} count @returns {CallsState} */
  handOver(first, count) {
    const { addresses, head } = this.#sources;
    return { ...this.#state, first: this.#state.first + first, users: count, addresses, head };
  }

  /** For the run file. */
  facts() {
    const { rules, name } = this.#plan.source;
    const { data } = this.#sources;
    return {
      calls: name,
      // Identifies the calls independently of the file's name.
      callsHash: createHash('sha256').update(JSON.stringify(rules)).digest('hex'),
      seed: this.#state.seed,
      callsPerIteration: this.callsPerIteration,
      data: data === null ? null : { count: data.count, bytes: data.bytes, pageSize: data.pageSize },
    };
  }

  /** @param {User} user @returns {CallKind} */
  #choose(user) {
    const { kinds } = this.#plan;
    if (kinds.length === 1) return kinds[0];
    const at = random(user) * this.#weights[kinds.length - 1];
    return kinds[this.#weights.findIndex((sum) => at < sum)];
  }

  /** @param {CallKind} kind @param {User} user @returns {PreparedCall} */
  #make(kind, user) {
    const known = this.#constant.get(kind);
    if (known !== undefined) return known;
    const { name, method, params, check } = kind;
    const expected = check === null || check === 'same' ? null : check.expected;
    const values = new TemplateValues(user, this.#sources);
    // The same object each time is encoded once.
    const call = {
      name,
      method,
      kind,
      params: /** @type {unknown[]} */ (params.make(values)),
      expected: expected?.make(values),
    };
    if (params.isConstant && expected?.isConstant !== false) this.#constant.set(kind, call);
    return call;
  }
}

/** The sum of all values up to each one. @param {readonly number[]} values */
function runningSums(values) {
  let sum = 0;
  return values.map((value) => (sum += value));
}

/** @returns {never} */
function missing() {
  throw new InternalError('calls need a clock and a way to connect');
}

/** @param {WorkloadOptions} options @returns {Promise<CallWorkload>} @throws {InputError | UsageError} */
export async function createRpcWorkload(options) {
  const { settings } = options;
  const { calls, threads = 1, checkRpc = null } = settings;
  const state = /** @type {CallsState | {request: Request} | undefined} */ (options.state);
  if (state !== undefined && 'source' in state) return new Calls(planOf(state.source), options, state);
  if (state === undefined && calls) {
    const { plan, data } = await readCallSettings({ ...settings, calls });
    const own = {
      source: plan.source,
      seed: randomInt(1, 2 ** 32),
      first: 0,
      users: threads,
      addresses: [],
      head: null,
    };
    return new Calls(plan, options, { ...own, data, checkUrl: checkRpc?.href ?? null });
  }
  const { method, params, mix = [] } = settings;
  // Beside transactions the calls have figures of their own.
  const name = mix.length > 0 ? String(method) : undefined;
  const request = state?.request ?? { name, method: String(method), params: params ?? [] };
  return { kind: 'call', next: () => request, check: () => null, handOver: () => ({ request }) };
}
