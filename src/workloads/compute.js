import { RpcError, UnavailableError } from '../errors.js';
import { readArtifact, selectorOf, word } from './contract-state.js';

/**
 * The workload `compute`: each operation uses a given amount of gas for rounds of keccak and arithmetic, and raises a
 * counter of its wallet.
 *
 * @import { Call, Kit, TransactionWorkload } from './contract.d.ts'
 * @import { BuiltInOptions } from './index.js'
 *
 * @typedef {{call: Call, addresses: string[]}} ComputeState for a worker thread; addresses: of its wallets
 */

/** Functions of contracts/Compute.sol. */
const RUN = selectorOf('run(uint256)');
const COUNT = selectorOf('count(address)');

/** The first operation of a wallet creates its counter: 22,100 gas instead of 5,000 (EIP-2929). */
const CREATION_GAS = 17_100;

/** Gas of a round, roughly. The real figure is estimated with as many rounds as take about the wanted gas. */
const ROUND_GAS = 160;

/** kit.estimateGas adds a tenth. */
const MARGIN = 1.1;

/** @param {BuiltInOptions} options @returns {TransactionWorkload} */
export function createCompute({ kit, set: { gas }, state: given }) {
  const state = /** @type {ComputeState | undefined} */ (given);
  let call = state?.call ?? { to: '' };
  let addresses = state?.addresses ?? [];
  let rounds = 0;
  const { verify, audit } = kit.countedBy((position) => {
    return { to: String(call.to), data: COUNT + word(addresses[position]) };
  });
  return {
    kind: 'transaction',
    subject: 'wallets computed:',
    valueWei: 0n,
    // The first wallet deploys the contract.
    gas: {
      perWallet: 400_000n,
      perOperation: (BigInt(gas + CREATION_GAS) * 12n) / 10n,
      likely: { perWallet: 400_000n, perOperation: BigInt(gas) },
    },
    unprepared: async () => 1,
    prepare: async ({ wallets }) => {
      addresses = wallets.map(({ address }) => address);
      const to = await kit.deployOnce(readArtifact('Compute'));
      const dataOf = (/** @type {number} */ count) => RUN + word(count) + kit.tag;
      const measure = async (/** @type {number} */ count) => {
        return kit.estimateGas({ from: addresses[0], to, data: dataOf(count) }).catch((error) => {
          if (!(error instanceof RpcError)) throw error;
          const words = `the node does not let a transaction use ${gas} gas (${error.message})`;
          throw new UnavailableError(`${words}: give a smaller --set gas`, error);
        });
      };
      const guess = Math.ceil(gas / ROUND_GAS);
      const [least, most] = [Number(await measure(0)) / MARGIN, Number(await measure(guess)) / MARGIN];
      rounds = Math.max(0, Math.round((guess * (gas + CREATION_GAS - least)) / (most - least)));
      call = { to, data: dataOf(rounds), value: 0n, gasLimit: await measure(rounds) };
    },
    next: () => call,
    verify,
    audit,
    facts: () => ({ contract: call.to, gas, rounds }),
    handOver: (first, count) => ({ call, addresses: addresses.slice(first, first + count) }),
  };
}
