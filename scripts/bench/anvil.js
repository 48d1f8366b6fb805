/** The embedded chain with an account that has funds, as a node like the others in scripts/nodes/. */
import { id, computeAddress } from 'ethers';
import { startDevChain } from '../../src/chain/devchain.js';
import { createClock } from '../../src/clock.js';
import { call } from '../nodes/build.js';

/** @import { Node } from './lib.js' */

/** Not a wallet of the test mnemonic: those are what is loaded. */
const FUNDER_KEY = id('evm-stress benchmark funder');
const FUNDS_WEI = 10n ** 27n;

/** @returns {Promise<Node & {stop: () => Promise<void>}>} */
export async function startAnvil() {
  const chain = await startDevChain(createClock());
  const url = chain.url.href;
  try {
    await call(url, 'anvil_setBalance', [computeAddress(FUNDER_KEY), `0x${FUNDS_WEI.toString(16)}`]);
  } catch (error) {
    await chain.stop();
    throw error;
  }
  return { url, funderKey: FUNDER_KEY, stop: chain.stop };
}
