/** How many calls a node answers in a second: those that watching it is made of, and those of a set-up. */
import { DEV_MNEMONIC, mnemonicSource } from '../../src/chain/keys.js';
import { runStress } from './lib.js';
import { FUNDED_FROM } from './scale-out-measure.js';

/** As a set-up has it: calls in a batch. */
const BATCH = 100;

/** Batches at once. */
const AT_ONCE = 8;

const SECONDS = 4;

/** The cheapest call there is, each a request of its own. @param {string} url */
export async function headsPerSecond(url) {
  const args = ['--workload', 'rpc', '--rpc', url, '-t', '64', '--method', 'eth_blockNumber'];
  const { run } = await runStress(args, SECONDS);
  return /** @type {any} */ (run).rates.verifiedPerSecond;
}

/**
 * What a set-up reads of each wallet, in batches as it asks for it. Its sending is not in it.
 * @param {string} url
 * @param {{wallets: number, hash: string}} options hash: of a transaction that has a receipt
 */
export async function setUpCallsPerSecond(url, { wallets, hash }) {
  const source = mnemonicSource(DEV_MNEMONIC);
  const calls = Array.from({ length: wallets }, (_, i) => {
    const { address } = source.wallet(FUNDED_FROM + i);
    return [
      { method: 'eth_getBalance', params: [address, 'latest'] },
      { method: 'eth_getTransactionCount', params: [address, 'latest'] },
      { method: 'eth_getTransactionCount', params: [address, 'pending'] },
      { method: 'eth_getTransactionReceipt', params: [hash] },
    ];
  }).flat();
  const startMs = performance.now();
  let [answered, next] = [0, 0];
  const ask = async () => {
    while (performance.now() - startMs < SECONDS * 1000) {
      const batch = calls.slice(next, next + BATCH).map((call, id) => ({ jsonrpc: '2.0', id, ...call }));
      next = (next + BATCH) % calls.length;
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(batch) });
      const answers = /** @type {any[]} */ (await response.json());
      answered += answers.filter(({ result }) => result !== undefined && result !== null).length;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  return answered / ((performance.now() - startMs) / 1000);
}
