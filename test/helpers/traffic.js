import { writeFileSync } from 'node:fs';
import { randomNumbers } from '../../src/random.js';

/**
 * Writes what wallets ask for, as `tee` would have recorded it: a request or batch a line.
 * @param {string} file
 * @param {number} count of lines
 * @param {number} [accounts]
 */
export function writeTraffic(file, count, accounts = 500) {
  const random = randomNumbers(1);
  const address = () => `0x${(Math.floor(random() * accounts) + 1000).toString(16).padStart(40, '0')}`;
  const makers = [
    () => ({ method: 'eth_blockNumber', params: [] }),
    () => ({ method: 'eth_getBalance', params: [address(), 'latest'] }),
    () => ({ method: 'eth_getBalance', params: [address(), 'latest'] }),
    () => ({ method: 'eth_getTransactionCount', params: [address(), 'pending'] }),
    () => ({ method: 'eth_call', params: [{ to: address(), data: '0x70a08231' }] }),
    () => ({ method: 'eth_gasPrice' }),
    () => ({ method: 'eth_getBlockByNumber', params: ['latest', false] }),
    () => [
      { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] },
      { jsonrpc: '2.0', id: 2, method: 'eth_getCode', params: [address(), 'latest'] },
    ],
  ];
  const lines = Array.from({ length: count }, (_, i) => {
    const made = makers[Math.floor(random() * makers.length)]();
    return JSON.stringify(Array.isArray(made) ? made : { jsonrpc: '2.0', id: i, ...made });
  });
  writeFileSync(file, `# wallet traffic\n${lines.join('\n')}\n`);
  return lines;
}
