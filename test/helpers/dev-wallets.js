/** The wallets of the public test mnemonic, which has funds on a chain of anvil's. */
import { HDNodeWallet } from 'ethers';

export const DEV_MNEMONIC = 'test test test test test test test test test test test junk';
export const DEV_WALLETS = HDNodeWallet.fromPhrase(DEV_MNEMONIC, '', "m/44'/60'/0'/0");
