/** @import { CallRule } from './calls-file.js' */

/**
 * Calls files that come with the program, by the names that --calls takes. A check against a second endpoint is made
 * where there is one (--check-rpc).
 *
 * @type {Readonly<Record<string, readonly CallRule[]>>}
 */
export const CALL_PRESETS = Object.freeze({
  /** What costs a node next to nothing: how fast the way to it is. */
  light: [
    { method: 'eth_blockNumber', params: [], weight: 4 },
    { method: 'eth_gasPrice', params: [], weight: 2 },
    { method: 'eth_chainId', params: [], check: 'same' },
    { method: 'net_version', params: [], check: 'same' },
  ],

  /** What a wallet asks for while its owner looks at it, and before it sends something. */
  wallet: [
    { method: 'eth_blockNumber', params: [], weight: 4 },
    { method: 'eth_getBalance', params: ['{{address}}', 'latest'], weight: 4 },
    { method: 'eth_getTransactionCount', params: ['{{address}}', 'latest'], weight: 2 },
    {
      // The contract of every chain that gives back what it is given.
      method: 'eth_call',
      weight: 3,
      check: { path: '$', equals: '0x{{address.word}}' },
      params: [{ to: '0x0000000000000000000000000000000000000004', data: '0x{{address.word}}' }, 'latest'],
    },
    { method: 'eth_estimateGas', params: [{ from: '{{address}}', to: '{{address.own}}', value: '0x0' }] },
    { method: 'eth_feeHistory', params: ['0x5', 'latest', [25, 75]] },
    { method: 'eth_gasPrice', params: [] },
  ],

  /** What a service asks for that follows a chain: whole blocks, their receipts, the logs of ranges. */
  indexer: [
    { method: 'eth_blockNumber', params: [], weight: 2 },
    {
      method: 'eth_getBlockByNumber',
      params: ['{{block.recent}}', true],
      weight: 4,
      check: { path: 'number', equals: '{{block.recent}}' },
    },
    { method: 'eth_getBlockReceipts', params: ['{{block.recent}}'], weight: 3 },
    { method: 'eth_getLogs', params: [{ fromBlock: '{{range.from 100}}', toBlock: '{{range.to 100}}' }], weight: 2 },
  ],

  /** The logs of a data set, page by page (--data). */
  pages: [
    {
      name: 'page',
      method: 'eth_getLogs',
      params: [
        {
          address: '{{data.address}}',
          fromBlock: '{{page.from}}',
          toBlock: '{{page.to}}',
          topics: ['{{data.topic}}', '{{page.topic}}'],
        },
      ],
      check: { path: '$', length: '{{page.count}}' },
    },
  ],
});
