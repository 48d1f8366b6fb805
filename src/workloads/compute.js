import { RpcError, UnavailableError } from '../errors.js';
import { readArtifact, selectorOf, word } from './contract-state.js';

/**
 * The workload `compute`: each operation uses a given amount of gas for rounds of keccak and arithmetic, and raises a
 * counter of its wallet.
 *
 * @import { TransactionWorkload } from '../contracts/workload.d.ts'
 * @import { BuiltInOptions } from './index.js'
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
export default function create({ kit, set: { gas }, state }) {
  let call = state ?? { to: '' };
  let rounds = 0;
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
    prepare: async ({ wallets: [{ address: from }] }) => {
      const to = await kit.deployOnce(readArtifact('Compute'));
      const dataOf = (/** @type {number} */ count) => RUN + word(count) + kit.tag;
      const measure = async (/** @type {number} */ count) => {
        return kit.estimateGas({ from, to, data: dataOf(count) }).catch((error) => {
          if (!(error instanceof RpcError)) throw error;
          const words = `the node does not let a transaction use ${gas} gas (${error.message})`;
          throw new UnavailableError(`${words}: give a smaller --set gas`, error);
        });
      };
      const guess = Math.ceil(gas / ROUND_GAS);
      const [least, most] = [Number(await measure(0)) / MARGIN, Number(await measure(guess)) / MARGIN];
      rounds = Math.max(0, Math.round((guess * (gas + CREATION_GAS - least)) / (most - least)));
      call = { to, data: dataOf(rounds), gasLimit: await measure(rounds) };
    },
    next: () => call,
    ...kit.countedBy((position) => ({ to: call.to, data: COUNT + word(kit.addresses()[position]) })),
    facts: () => ({ contract: call.to, gas, rounds }),
    handOver: () => call,
  };
}
