/** Gateways and nodes that answer, and do not answer what was asked. */
import { byProxy, ofSubmissions, testRows } from './row.js';

/** @import { Scene } from './row.js' */

/** What the set-up asks for and can do without. */
const OPTIONAL = ['web3_clientVersion', 'txpool_status', 'eth_maxPriorityFeePerGas'];

testRows(
  [
    {
      fault: 'HTTP 429 with Retry-After: 30 % of submissions',
      ...ofSubmissions({ kind: 'status', status: '429 Too Many Requests', headers: ['retry-after: 1'] }),
    },
    { fault: 'HTTP 502: 50 %', ...byProxy({ kind: 'status', status: '502 Bad Gateway', p: 0.5 }, 10) },
    {
      fault: 'HTTP 503 with Retry-After: every submission',
      ...ofSubmissions({ kind: 'status', status: '503 Service Unavailable', headers: ['retry-after: 2'], p: 1 }),
    },
    { fault: 'a page in HTML with status 200: 30 %', ...byProxy({ kind: 'html', p: 0.3 }, 10) },
    { fault: 'wrong ids: 30 %', ...byProxy({ kind: 'wrongId', p: 0.3 }, 10) },
    {
      fault: 'method not found: what a node need not have, from the set-up on',
      ...byProxy({ kind: 'noMethod', methods: [...OPTIONAL, 'eth_getTransactionReceipt'] }, 2),
      setUp: (/** @type {Scene} */ { proxy }) => proxy.set({ kind: 'noMethod', methods: OPTIONAL }),
    },
    {
      fault: 'method not found: eth_sendRawTransaction',
      ...byProxy({ kind: 'noMethod', methods: ['eth_sendRawTransaction'] }, 5),
    },
    { fault: 'batches are refused', ...byProxy({ kind: 'noBatches' }, 1) },
    {
      fault: 'two nodes behind one address, one of them 5 blocks behind',
      ...byProxy({ kind: 'lag', blocks: 5, p: 0.5 }, 20),
    },
    {
      fault: 'two nodes behind one address, one of them 20 blocks behind',
      ...byProxy({ kind: 'lag', blocks: 20, p: 0.5 }, 20),
    },
    { fault: '20 % of transactions accepted and forgotten', ...byProxy({ kind: 'swallow', p: 0.2 }, 10) },
    { fault: 'every transaction accepted and forgotten', ...byProxy({ kind: 'swallow' }, 10) },
  ].map((row) => ({ group: 'Answers', ...row })),
);
