import { randomInt } from 'node:crypto';
import { WorkloadError, displayName } from '../errors.js';
import { isWorkloadFile } from '../files.js';
import { drawBits, mixBits } from './payments.js';
import { checkOf, isSuccess, sum } from './receipts.js';
import { labelOf, setOfMember } from './table.js';
import { WorkloadHost } from './kit.js';

/**
 * A mix of workloads (--mix counter:50,erc20:30). Which member an operation is of follows from the run's seed, the wallet
 * and the nonce, so that the audit can compute it again. Operations of members that count are verified by their receipts.
 *
 * @import { Outcomes } from './receipts.js'
 * @import { AuditSnapshot, Check, Member, TransactionWorkload } from '../types.d.ts'
 * @import { Hosted, WorkloadOptions, WorkloadState } from './index.js'
 * @import { KitState } from './kit.js'
 *
 * @typedef {Pick<TransactionWorkload, 'next' | 'verify'> & {name: string, weight: number, isFile: boolean, workload: TransactionWorkload, host: WorkloadHost}} MixMember
 *
 * @typedef {object} MixState for a worker thread
 * @property {readonly Member[]} members
 * @property {number} seed
 * @property {number} first position of its first wallet in the slice
 * @property {KitState} kit
 * @property {WorkloadState[]} states of the members
 */

/**
 * @param {WorkloadOptions} options
 * @param {(name: string, options: WorkloadOptions) => Promise<Hosted>} createMember
 * @returns {Promise<TransactionWorkload>}
 */
export async function createMix(options, createMember) {
  const { rpc, settings } = options;
  const state = /** @type {MixState | undefined} */ (options.state);
  const members = state?.members ?? settings.mix ?? [];
  const seed = state?.seed ?? randomInt(2 ** 32);
  const first = state?.first ?? 0;
  const host = new WorkloadHost(null, rpc, state?.kit);
  const audit = host.kit.auditByNonce();
  const parts = await Promise.all(
    members.map(async ({ name, weight }, i) => {
      const own = { ...settings, set: setOfMember(name, settings.set ?? []) };
      const made = await createMember(name, { ...options, settings: own, state: state?.states[i] });
      const { workload, host: its } = made;
      if (workload.kind !== 'transaction')
        throw new WorkloadError(`${displayName(name)} makes calls: a mix takes them with calls:WEIGHT and --calls`);
      if (made.isAlone)
        throw new WorkloadError(
          `${displayName(name)} cannot be a member of a mix: its operations depend on all nonces`,
        );
      // The bounds of a wallet's count cover all members.
      const verify = its.isByCount(made.verify) ? its.kit.verifyByReceipt() : workload.verify;
      return /** @type {MixMember} */ ({
        name: labelOf(name),
        weight,
        isFile: isWorkloadFile(name),
        workload,
        host: its,
        next: workload.next,
        verify,
      });
    }),
  );
  const draw = createDraw(members, seed, first);
  const partOf = (/** @type {number} */ position, /** @type {number} */ nonce) => parts[draw(position, nonce)];
  const valueOf = (/** @type {number} */ position, /** @type {number} */ nonce) =>
    partOf(position, nonce).next(position, nonce).value;
  for (const part of parts) part.host.join({ isOwn: (position, nonce) => partOf(position, nonce) === part, valueOf });
  return {
    kind: 'transaction',
    subject: 'wallets executed',
    gas: gasOf(parts),
    valueWei: parts.every(({ workload }) => workload.valueWei === 0n) ? 0n : undefined,
    unprepared: async (preparation) => {
      const counts = await Promise.all(parts.map(({ workload }) => workload.unprepared(preparation)));
      return sum(counts);
    },
    prepare: async (preparation) => {
      host.begin(preparation);
      // Payments read the balances of the wallets, from which the set-up of other members pays its fees.
      const isPaying = (/** @type {MixMember} */ { name }) => name === 'transfer';
      for (const { workload } of [...parts.filter((part) => !isPaying(part)), ...parts.filter(isPaying)])
        await workload.prepare(preparation);
      await host.finish();
    },
    nameOf: (position, nonce) => partOf(position, nonce).name,
    next: (position, nonce) => partOf(position, nonce).next(position, nonce),
    verify: (position, executed, inclusion, attempt, operation) =>
      partOf(position, operation.nonce).verify(position, executed, inclusion, attempt, operation),
    audit: async (...given) => (await audit(...given)).map(({ start, now, target = null }) => ({ start, now, target })),
    reconcile: (snapshot) => reconcile(host, parts, draw, snapshot),
    facts: () => ({ seed, mix: parts.map(({ name, weight, workload }) => ({ name, weight, ...workload.facts?.() })) }),
    handOver: (from, count) => {
      const states = parts.map(({ workload }) => workload.handOver(from, count));
      return { members, seed, first: from, kit: host.toState(from, count), states };
    },
  };
}

/**
 * @param {readonly Member[]} members
 * @param {number} seed
 * @param {number} first
 * @returns {(position: number, nonce: number) => number} index of a member
 */
export function createDraw(members, seed, first) {
  const all = members.reduce((total, { weight }) => total + weight, 0);
  let upTo = 0;
  const ends = members.map(({ weight }) => ((upTo += weight) / all) * 2 ** 32);
  const last = members.length - 1;
  return (position, nonce) => {
    const hash = drawBits(mixBits(seed) + first, position, nonce);
    let i = 0;
    while (i < last && hash >= ends[i]) i += 1;
    return i;
  };
}

/** Each wallet makes the set-up of all members; an operation may be the dearest one. @param {readonly MixMember[]} parts @returns {TransactionWorkload['gas']} */
function gasOf(parts) {
  const added = (/** @type {(gas: any) => bigint} */ of) =>
    parts.reduce((total, { workload }) => total + of(workload.gas), 0n);
  const most = (/** @type {(gas: any) => bigint} */ of) =>
    parts.map(({ workload }) => of(workload.gas)).reduce((a, b) => (a > b ? a : b));
  const weights = parts.reduce((total, { weight }) => total + weight, 0);
  const mean = parts.reduce(
    (total, { weight, workload }) => total + (weight / weights) * Number(workload.gas.likely.perOperation),
    0,
  );
  return {
    perWallet: added(({ perWallet }) => perWallet),
    perOperation: most(({ perOperation }) => perOperation),
    likely: { perWallet: added(({ likely }) => likely.perWallet), perOperation: BigInt(Math.round(mean)) },
    value: { perWallet: added(({ value }) => value.perWallet), perOperation: most(({ value }) => value.perOperation) },
  };
}

/**
 * Each member has, of each wallet, the effects of as many operations as succeeded by their receipts; and what else the
 * member compares agrees.
 * @param {WorkloadHost} host
 * @param {readonly MixMember[]} parts
 * @param {(position: number, nonce: number) => number} draw
 * @param {AuditSnapshot} snapshot
 * @returns {Promise<Check[]>}
 */
async function reconcile(host, parts, draw, snapshot) {
  const succeeded = parts.map(() => snapshot.nonces.map(() => 0));
  const reverted = parts.map(() => snapshot.nonces.map(() => 0));
  const { check, why } = await host.kit.checkReceipts(snapshot, (position, nonce, receipt) => {
    (isSuccess(receipt) ? succeeded : reverted)[draw(position, nonce)][position] += 1;
  });
  const checks = [check];
  const isBesideFile = parts.some(({ isFile }) => isFile);
  for (const [i, part] of parts.entries()) {
    const { name, workload } = part;
    if (!part.host.isByNonce)
      checks.push(await effectsCheck(part, { succeeded: succeeded[i], reverted: reverted[i] }, snapshot, why));
    const own = (await workload.reconcile?.(snapshot)) ?? [];
    // The receipts of all members are checked together.
    for (const one of own.filter((its) => its.name !== check.name)) {
      // A contract of a file may have paid the wallets, whose balances then differ.
      const isUnsure = one.holds === false && name === 'transfer' && isBesideFile;
      const doubt = isUnsure ? { holds: null, why: 'a contract of another member may have paid the wallets' } : {};
      checks.push({ ...one, ...doubt, name: `${name} ${one.name}`, words: `${name}: ${one.words}` });
    }
  }
  return host.proven(snapshot, checks);
}

/** @param {MixMember} part @param {Outcomes} outcomes by position @param {AuditSnapshot} snapshot @param {string | null} why */
async function effectsCheck({ name, workload }, { succeeded, reverted }, { blockHash, blockNumber }, why) {
  const words = `effects of ${name}, against its transactions that succeeded`;
  if (why !== null) return checkOf(name, words, 0, 0, why);
  const readings = await workload.audit(blockHash, blockNumber, reverted);
  const grown = readings.map(({ start, now }) => Number(now - start));
  const wrong = grown.findIndex((count, i) => count !== succeeded[i]);
  const { target } = readings[wrong] ?? {};
  const fault =
    wrong < 0
      ? ''
      : ` (wallet at position ${wrong}${target ? `, ${target}` : ''}: ${grown[wrong]}, not ${succeeded[wrong]})`;
  return checkOf(name, words, sum(succeeded), `${sum(grown)}${fault}`, null);
}
