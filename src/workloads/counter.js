import { existsSync } from 'node:fs';
import { isHexString } from 'ethers/utils';
import { gather, nullIfRefused, resultOf } from '../chain/answers.js';
import { InputError, displayName } from '../errors.js';
import { writeFileAtomically } from '../files.js';
import { readJsonFile } from '../json-file.js';
import { readArtifact, selectorOf, word } from './contract-state.js';
import { createPayloads, payloadGas } from './payload.js';

/**
 * The workload `counter`: one Counter contract per wallet, one increment per operation. The count is read back after each
 * operation, and again by the audit. Also the file of `--contracts`, which keeps the addresses for later runs. A chain is
 * identified by its genesis hash, because development chains share chain ids and are often reset.
 *
 * @import { Call, Preparation, TransactionWorkload } from '../contracts/workload.d.ts'
 * @import { BuiltInOptions } from './index.js'
 */

const SCHEMA = 'evm-stress/contracts@1';

const ADVICE = 'give --contracts a file that stress wrote, or a new name';

/** Functions of contracts/Counter.sol. */
const INCREMENT = selectorOf('increment()');
const COUNT = selectorOf('count()');
const OWNER = selectorOf('owner()');
const SELECTOR_BYTES = 4;

/**
 * Also checks a file before the run.
 * @param {string} file
 * @returns {{genesisHash: string | null, contracts: Record<string, string>} | null} null: no such file
 * @throws {InputError}
 */
export function readContractsFile(file) {
  if (!existsSync(file)) return null;
  const json = readJsonFile(file, { what: 'contracts file', advice: ADVICE });
  const pairs = json?.schema === SCHEMA && json.contracts ? Object.entries(json.contracts) : null;
  // Without their checksums, which take a tenth of a run of 20,000 wallets: the chain tells the owner of each contract.
  if (pairs?.flat().every((address) => isHexString(address, 20))) return json;
  throw new InputError(
    `${displayName(file)} is not a contracts file (schema ${SCHEMA}, pairs of addresses): ${ADVICE}`,
  );
}

/** @param {BuiltInOptions} options @returns {TransactionWorkload} */
export default function create({ kit, rpc, settings: { contracts: file = null, payload = null }, state }) {
  const payloadOf = payload === null ? null : createPayloads(kit, payload - SELECTOR_BYTES);
  const { most, likely } = payloadGas(payload);
  // One text for all wallets. The contract ignores the tag. Without it, two instances that use the same wallets by mistake
  // would send identical transactions, and each would count those of the other as its own.
  const data = INCREMENT + kit.tag;
  const incrementOf = (/** @type {string} */ to) => ({ to, data });
  let increments = /** @type {string[]} */ (state ?? []).map(incrementOf);
  /** Whether the increments of a wallet take less gas than its first one, by position. @type {boolean[]} */
  const isCheaper = [];
  /** Gas limit of increments that are not the first: some chains fill their blocks by gas limits. @type {bigint | undefined} */
  let laterGas;
  let isAsked = false;
  const onCount = (/** @type {number} */ position, /** @type {boolean} */ isThere) => {
    // An effect that is missing may be a reorg of the first increment, or gas that has become dearer.
    if (!isThere || isCheaper[position] === undefined) isCheaper[position] = isThere;
    if (!isThere || isAsked) return;
    isAsked = true;
    const call = { to: increments[position].to, data: payloadOf === null ? data : INCREMENT + payloadOf(position, 0) };
    // Without an answer the gas limit stays that of a first increment.
    kit.estimateGas({ from: kit.addresses()[position], ...call }).then(
      (gas) => (laterGas = gas),
      () => {},
    );
  };
  /** Increments with this gas limit, by position. @type {Call[]} */
  const later = [];

  /**
   * The contracts of the file on this chain, and those of them that the wallets own.
   * @param {Pick<Preparation, 'wallets' | 'chain'>} preparation
   * @returns {Promise<{known: Record<string, string>, found: Array<string | null>}>} found: by position
   */
  async function findDeployed({ wallets, chain: { genesisHash } }) {
    const json = file === null ? null : readContractsFile(file);
    const known = genesisHash !== null && json?.genesisHash === genesisHash ? json.contracts : {};
    const found = wallets.map(async ({ address }) => {
      const to = known[address];
      if (to === undefined) return null;
      const owner = await nullIfRefused(gather(rpc, resultOf({ to, data: OWNER }, 'latest'), 'setup'));
      return owner === `0x${word(address)}` ? to : null;
    });
    return { known, found: await Promise.all(found) };
  }

  return {
    kind: 'transaction',
    // The contracts were deployed by this run, or have named their owner.
    mayLackCode: true,
    subject: 'counters grew by',
    valueWei: 0n,
    // A deployment takes about 140,000 gas, the first increment of a counter 43,500; these are upper bounds.
    gas: {
      perWallet: 250_000n,
      perOperation: 50_000n + most,
      likely: { perWallet: 150_000n, perOperation: 27_000n + likely },
    },
    unprepared: async (preparation) => {
      const { found } = await findDeployed(preparation);
      return found.filter((address) => address === null).length;
    },
    prepare: async (preparation) => {
      const { wallets, chain } = preparation;
      const { chainId, genesisHash } = chain;
      const { known, found } = await findDeployed(preparation);
      const missing = [...wallets.keys()].filter((position) => found[position] === null);
      const deployed = await kit.deployEach(readArtifact('Counter'), () => [], missing);
      missing.forEach((position, i) => (found[position] = deployed[i]));
      increments = found.map((address) => incrementOf(String(address)));
      if (file === null) return;
      const contracts = { ...known, ...Object.fromEntries(wallets.map(({ address }, i) => [address, found[i]])) };
      const json = { schema: SCHEMA, chainId, genesisHash, contracts };
      await writeFileAtomically(file, `${JSON.stringify(json, null, 2)}\n`);
    },
    next: (position, nonce) => {
      const { to } = increments[position];
      const gasLimit = isCheaper[position] ? laterGas : undefined;
      if (payloadOf !== null) return { to, data: INCREMENT + payloadOf(position, nonce), gasLimit };
      // The same object is encoded once.
      return gasLimit === undefined ? increments[position] : (later[position] ??= { to, data, gasLimit });
    },
    ...kit.countedBy((position) => ({ to: increments[position].to, data: COUNT }), onCount),
    handOver: (first, count) => increments.slice(first, first + count).map(({ to }) => to),
  };
}
