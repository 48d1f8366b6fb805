/** WebSockets that break, and subscriptions that say nothing. */
import { byProxy, testRows } from './row.js';

testRows(
  [
    { fault: 'all connections reset every 2 s', ...byProxy({ kind: 'drop', everyMs: 2000 }, 3), faultMs: 9000 },
    { fault: '70 % of new heads are not told', ...byProxy({ kind: 'missHeads', p: 0.7 }, 10) },
    { fault: 'no new head is told', ...byProxy({ kind: 'missHeads' }, 5) },
    {
      fault: 'a black hole for 10 s',
      ...byProxy({ kind: 'blackhole' }, 1),
      faultMs: 10_000,
      args: ['--request-timeout', '3s'],
    },
  ].map((row) => ({ group: 'WebSocket', path: /** @type {const} */ ('ws'), ...row })),
);
