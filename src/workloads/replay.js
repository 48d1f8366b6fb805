import { assertOneChain } from '../chain/chain-identity.js';
import { toHex } from '../chain/answers.js';
import { BATCH } from '../chain/rpc.js';
import { CheckError, displayName } from '../errors.js';
import { drawBits, randomNumbers } from '../random.js';
import { Head, Reference } from './call-checks.js';
import { atBlock, isComparable } from './call-methods.js';
import { curlOf } from '../text.js';
import { openReplay } from './replay-file.js';

/**
 * The workload `rpc` with a file of recorded requests (--calls), which are sent in their order or in random order. With
 * --check-rpc the answers of two endpoints are compared, as of one block.
 *
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { CallWorkload } from '../contracts/workload.d.ts'
 * @import { BuiltInOptions } from './index.js'
 * @import { RecordedCall } from './replay-file.js'
 */

/** Requests that differ are told apart up to this number. */
const MAX_DIFFERENT = 100;
/** The commands of so many methods are shown. */
const MAX_SHOWN = 20;
/** A longer request is not shown. */
const MAX_CURL_CHARS = 5000;

/** @param {BuiltInOptions} options @returns {Promise<CallWorkload>} @throws {InputError} */
export async function createReplay({ kit, rpc, settings, state, threads = 1, ...options }) {
  const { calls, callsOrder, allowWrites = false, checkRpc = null } = settings;
  const clock = /** @type {Clock} */ (options.clock);
  const connect = /** @type {(url: URL) => Rpc} */ (options.connect);
  const order = callsOrder ?? 'file';
  const part = state?.part;
  const random = order === 'random' ? randomNumbers(drawBits(kit.seed, part?.first ?? 0, 2)) : null;
  const replay = await openReplay(String(calls), { allowWrites, random, part });
  const other = checkRpc === null ? null : connect(new URL(checkRpc));
  const heads = other === null ? null : [rpc, other].map((one, i) => new Head(one, clock, state?.heads[i]));
  const comparison = other && new Comparison(rpc, other, clock);

  return {
    kind: 'call',
    prepare: async ({ chain: { chainId } }) => {
      if (other !== null) await assertOneChain({ other, option: '--check-rpc', reading: rpc, chainId });
      for (const head of heads ?? []) await head.prepare(false);
    },
    next: () => {
      const call = replay.next();
      if (heads === null) return call;
      for (const head of heads) head.refresh();
      // A block that both have.
      const block = toHex(Math.min(...heads.map(({ state: { number } }) => number)));
      const { name, method, params, where } = call;
      const pinned = method === BATCH ? params.map(at) : at(call).params;
      return { name, method, params: pinned, where };

      /** @param {{method: string, params: unknown}} request */
      function at(request) {
        return { method: request.method, params: atBlock(request.method, request.params, block) };
      }
    },
    check: (_, result, request) =>
      comparison === null ? null : comparison.compare(/** @type {RecordedCall} */ (request), result),
    facts: () => ({
      calls: displayName(String(calls)),
      callsHash: replay.hash,
      seed: kit.seed,
      requests: replay.count,
      order,
    }),
    handOver: (first, count) => ({ part: { first, count, of: threads }, heads: heads?.map((head) => head.state) }),
  };
}

/** Compares answers of two endpoints, outside of the latency. */
class Comparison {
  #rpc;
  #other;
  #reference;
  /** @type {Set<string>} */
  #requests = new Set();
  /** Methods whose commands were given. @type {Set<string>} */
  #shown = new Set();

  /** @param {Rpc} rpc @param {Rpc} other @param {Clock} clock */
  constructor(rpc, other, clock) {
    this.#rpc = rpc;
    this.#other = other;
    this.#reference = new Reference({ first: rpc, other, clock });
  }

  /** Compares the answer with the recorded one; each item of a batch. @param {RecordedCall} call @param {any} result @returns {Promise<null>} @throws {CheckError} */
  async compare({ method, params, where }, result) {
    const requests = method === BATCH ? params : [{ method, params }];
    const answers = method === BATCH ? result : [result];
    for (const [i, request] of requests.entries()) {
      if (!isComparable(request.method)) continue;
      try {
        await this.#reference.compare({ name: where, ...request }, answers[i]);
      } catch (error) {
        throw error instanceof CheckError && error.code === 'check_failed'
          ? this.#difference(error, request, where)
          : error;
      }
    }
    return null;
  }

  /** @param {CheckError} error @param {{method: string, params: unknown}} request @param {string} where */
  #difference({ message }, { method, params }, where) {
    const request = `${method}, ${where}`;
    if (this.#requests.size < MAX_DIFFERENT) this.#requests.add(request);
    const known = this.#requests.has(request) ? request : null;
    if (this.#shown.has(method) || this.#shown.size === MAX_SHOWN)
      return new CheckError(message, 'answers_differ', known);
    this.#shown.add(method);
    // Without its credentials the URL of a gateway may have to be completed.
    const commands = [this.#rpc, this.#other].map(({ display }) => `; ${curlOf(display, { method, params })}`);
    const isLong = commands[0].length > MAX_CURL_CHARS;
    const words = isLong ? '; its request is too long to be shown' : commands.join('');
    return new CheckError(message + words, 'answers_differ', known);
  }
}
