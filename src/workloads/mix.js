import { WorkloadError, displayName } from '../errors.js';
import { isWorkloadFile } from '../files.js';
import { checkOf, sum } from './receipts.js';
import { labelOf, setOfMember } from './table.js';

/**
 * A mix of workloads (--mix counter:50,erc20:30). Which member an operation is of follows from the run's tag, the wallet
 * and the nonce, so that the audit can compute it again. Operations are verified by their receipts.
 *
 * @import { Check, Member, TransactionWorkload } from '../contracts/load.d.ts'
 * @import { AuditSnapshot, Kit, TransactionWorkload as OwnTransactions } from '../contracts/workload.d.ts'
 * @import { Outcomes } from './receipts.js'
 * @import { BuiltInOptions } from './index.js'
 * @import { WorkloadHost } from './kit.js'
 *
 * @typedef {Member & {isFile: boolean, workload: TransactionWorkload, host: WorkloadHost}} MixMember
 */

/** @type {string | null} */
const NO_WORDS = null;

/** @param {BuiltInOptions} options @returns {Promise<OwnTransactions & Pick<TransactionWorkload, 'nameOf' | 'check' | 'measure' | 'revertWords'>>} */
export default async function create({ createMember, kit, state, settings, ...options }) {
  const members = settings.mix ?? [];
  const deployed = { addresses: new Map(), artifacts: new Map() };
  const parts = await Promise.all(
    members.map(async ({ name, weight }, i) => {
      const own = { ...settings, set: setOfMember(name, settings.set ?? []) };
      const { workload, host, isAlone } = await createMember(name, {
        ...options,
        deployed,
        settings: own,
        state: state?.[i],
      });
      if (workload.kind !== 'transaction')
        throw new WorkloadError(`${displayName(name)} makes calls: a mix takes them with calls:WEIGHT and --calls`);
      if (isAlone)
        throw new WorkloadError(
          `${displayName(name)} cannot be a member of a mix: its operations depend on all nonces`,
        );
      // The bounds of a wallet's count cover all members.
      if (!host.isByReceipt) workload.verify = /** @type {any} */ (host.kit.verifyByReceipt());
      return { name: labelOf(name), weight, isFile: isWorkloadFile(name), workload, host };
    }),
  );
  const draw = createDraw(members, kit);
  const partOf = (/** @type {number} */ position, /** @type {number} */ nonce) => parts[draw(position, nonce)];
  const next = (/** @type {number} */ position, /** @type {number} */ nonce) =>
    partOf(position, nonce).workload.next(position, nonce);
  for (const part of parts) {
    const isOwn = (/** @type {number} */ position, /** @type {number} */ nonce) => partOf(position, nonce) === part;
    part.host.join({ isOwn, valueOf: (position, nonce) => next(position, nonce).value });
  }
  return {
    kind: 'transaction',
    // The calls of each member were looked at in its own prepare().
    mayLackCode: true,
    get gas() {
      return gasOf(parts);
    },
    valueWei: parts.every(({ workload }) => workload.valueWei === 0n) ? 0n : undefined,
    check: async (wallets) => {
      for (const { workload } of parts) await workload.check?.(wallets);
    },
    measure: async (wallets) => {
      for (const { workload } of parts) await workload.measure?.(wallets);
    },
    revertWords: (data) =>
      parts.reduce((words, { workload }) => words ?? workload.revertWords?.(data) ?? null, NO_WORDS),
    unprepared: async (preparation) =>
      sum(await Promise.all(parts.map(({ workload }) => workload.unprepared(/** @type {any} */ (preparation))))),
    prepare: async (preparation) => {
      // Payments read the balances of the wallets, from which the set-up of other members pays its fees.
      const last = parts.filter(({ name }) => name === 'transfer');
      for (const { workload } of [...parts.filter((part) => !last.includes(part)), ...last])
        await workload.prepare(/** @type {any} */ (preparation));
    },
    nameOf: (position, nonce) => partOf(position, nonce).name,
    next,
    verify: (position, executed, inclusion, attempt, operation) =>
      partOf(position, operation.nonce).workload.verify(position, executed, inclusion, attempt, operation),
    reconcile: (snapshot) => reconcile(kit, parts, draw, snapshot),
    facts: () => ({
      seed: kit.seed,
      mix: parts.map(({ name, weight, workload }) => ({ name, weight, ...workload.facts?.() })),
    }),
    handOver: (from, count) => parts.map(({ workload }) => workload.handOver(from, count)),
  };
}

/**
 * @param {readonly Member[]} members
 * @param {Pick<Kit, 'draw'>} kit
 * @returns {(position: number, nonce: number) => number} index of a member
 */
export function createDraw(members, kit) {
  const all = sum(members.map(({ weight }) => weight));
  let upTo = 0;
  const ends = members.map(({ weight }) => ((upTo += weight) / all) * 2 ** 32);
  ends[ends.length - 1] = Infinity;
  return (position, nonce) => {
    const bits = kit.draw(position, nonce);
    let i = 0;
    while (bits >= ends[i]) i += 1;
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
    blobs: Math.max(...parts.map(({ workload }) => workload.gas.blobs ?? 0)),
    created: {
      perWallet: added(({ created }) => created?.perWallet ?? 0n),
      perOperation: most(({ created }) => created?.perOperation ?? 0n),
    },
  };
}

/**
 * Each member has, of each wallet, the effects of as many operations as succeeded by their receipts; and what else the
 * member compares agrees.
 * @param {Kit} kit
 * @param {readonly MixMember[]} parts
 * @param {(position: number, nonce: number) => number} draw
 * @param {AuditSnapshot} snapshot
 * @returns {Promise<Check[]>}
 */
async function reconcile(kit, parts, draw, snapshot) {
  const succeeded = parts.map(() => snapshot.nonces.map(() => 0));
  const reverted = parts.map(() => snapshot.nonces.map(() => 0));
  const { check, why } = await kit.checkReceipts(snapshot, (position, nonce, receipt) => {
    (receipt.succeeded ? succeeded : reverted)[draw(position, nonce)][position] += 1;
  });
  const checks = [check];
  const isBesideFile = parts.some(({ isFile }) => isFile);
  for (const [i, part] of parts.entries()) {
    const { name, workload } = part;
    if (workload.audit !== undefined)
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
  return checks;
}

/** @param {MixMember} part @param {Outcomes} outcomes by position @param {AuditSnapshot} snapshot @param {string | null} why */
async function effectsCheck({ name, workload }, { succeeded, reverted }, { blockHash, blockNumber }, why) {
  const words = `effects of ${name}, against its transactions that succeeded`;
  if (why !== null) return checkOf(name, words, 0, 0, why);
  const readings = (await workload.audit?.(blockHash, blockNumber, reverted)) ?? [];
  const grown = readings.map(({ start, now }) => Number(now - start));
  const wrong = grown.findIndex((count, i) => count !== succeeded[i]);
  const { target } = readings[wrong] ?? {};
  const fault =
    wrong < 0
      ? ''
      : ` (wallet at position ${wrong}${target ? `, ${target}` : ''}: ${grown[wrong]}, not ${succeeded[wrong]})`;
  return checkOf(name, words, sum(succeeded), `${sum(grown)}${fault}`, null);
}
