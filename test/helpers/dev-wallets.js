/** The wallets of the public test mnemonic, which has funds on a chain of anvil's. */
import { HDNodeWallet } from 'ethers';

/** @import { Anvil } from './anvil.js' */

export const DEV_MNEMONIC = 'test test test test test test test test test test test junk';
export const DEV_WALLETS = HDNodeWallet.fromPhrase(DEV_MNEMONIC, '', "m/44'/60'/0'/0");

/** @param {Anvil} chain @param {number[]} indexes */
export const balancesOf = (chain, indexes) =>
  Promise.all(
    indexes.map(async (index) =>
      BigInt(await chain.rpc('eth_getBalance', [DEV_WALLETS.deriveChild(index).address, 'latest'])),
    ),
  );

/** @param {Anvil} chain @param {number} first @param {number} count @returns {Promise<bigint>} what they and wallet 0, the funder, have */
export async function moneyOf(chain, first, count) {
  const balances = await balancesOf(chain, [0, ...Array.from({ length: count }, (_, i) => first + i)]);
  return balances.reduce((sum, wei) => sum + wei, 0n);
}
