import { MAX_OF_OPERATIONS, callOf, readArtifact, selectorOf, word } from './contract-state.js';

/**
 * The workload `erc721`: each operation mints a token of a contract made for the run. The audit reads the balance of each
 * wallet, the total supply, and the owner of the first 10,000 tokens.
 *
 * @import { TransactionWorkload } from '../contracts/workload.d.ts'
 * @import { BuiltInOptions } from './index.js'
 */

/** Functions of contracts/Nft.sol. */
const MINT = selectorOf('mint(uint256)');
const OWNER_OF = selectorOf('ownerOf(uint256)');
const BALANCE_OF = selectorOf('balanceOf(address)');
const TOTAL_SUPPLY = selectorOf('totalSupply()');

/** @param {number} index of the wallet in the slice @param {number} nonce */
export function tokenId(index, nonce) {
  return (BigInt(index) << 64n) + BigInt(nonce);
}

/** @param {BuiltInOptions} options @returns {TransactionWorkload} */
export default function create({ kit, state }) {
  /** @type {string} */
  let to = state ?? '';
  return {
    kind: 'transaction',
    subject: 'wallets minted tokens:',
    valueWei: 0n,
    // The first wallet deploys the contract. The first token of a wallet costs most.
    gas: { perWallet: 600_000n, perOperation: 130_000n, likely: { perWallet: 600_000n, perOperation: 60_000n } },
    unprepared: async () => 1,
    prepare: async () => {
      to = await kit.deployOnce(readArtifact('Nft'));
    },
    next: (position, nonce) => ({ to, data: MINT + word(tokenId(kit.indexOf(position), nonce)) }),
    reconcile: async (snapshot) => {
      const owners = kit.addresses();
      const minted = owners.map(() => 0);
      /** @type {{id: bigint, owner: string}[]} */
      const tokens = [];
      const { check, compare } = await kit.checkReceipts(snapshot, (position, nonce, receipt) => {
        if (!receipt.succeeded) return;
        minted[position] += 1;
        if (tokens.length < MAX_OF_OPERATIONS) tokens.push({ id: tokenId(position, nonce), owner: owners[position] });
      });
      const total = minted.reduce((sum, count) => sum + count, 0);
      return [
        check,
        await compare({
          name: 'supply',
          words: 'total supply that is the number of minted tokens',
          count: 1,
          entryOf: () => ({ of: 'it is', read: callOf(to, TOTAL_SUPPLY), mustBe: BigInt(total) }),
        }),
        await compare({
          name: 'wallets',
          words: 'wallets that have as many tokens as they minted',
          count: minted.length,
          entryOf: (i) => {
            const read = callOf(to, BALANCE_OF + word(owners[i]));
            return { of: `${owners[i]} has`, read, mustBe: BigInt(minted[i]) };
          },
        }),
        await compare({
          name: 'owners',
          words: 'tokens that belong to the wallet that minted them',
          count: tokens.length,
          entryOf: (i) => {
            const { id, owner } = tokens[i];
            const read = callOf(to, OWNER_OF + word(id));
            return { of: `token 0x${id.toString(16)} belongs to`, read, mustBe: BigInt(owner) };
          },
          show: (value) => `0x${value.toString(16).padStart(40, '0')}`,
        }),
      ];
    },
    facts: () => ({ token: to }),
    handOver: () => to,
  };
}
