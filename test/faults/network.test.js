/** Networks that are slow, silent, or hand over something else than the node has said. */
import { byProxy, ofSubmissions, testRows } from './row.js';

/** What waits for an answer that never comes must not wait longer than the fault lasts. */
const IMPATIENT = ['--request-timeout', '3s'];
const TCP = ['--transport', 'tcp'];

testRows(
  [
    {
      fault: 'latency of 100 ms and up to 200 ms of jitter',
      ...byProxy({ kind: 'latency', ms: 100, jitterMs: 200 }, 20),
    },
    {
      fault: '30 % of submissions reach the node 1 to 5 s late, requests given up after 3 s',
      ...ofSubmissions({ kind: 'latency', ms: 1000, jitterMs: 4000 }, IMPATIENT),
    },
    { fault: 'a black hole for 10 s', ...byProxy({ kind: 'blackhole' }, 5), faultMs: 10_000 },
    {
      fault: 'a black hole for 10 s, requests given up after 3 s, 150 operations a second',
      ...byProxy({ kind: 'blackhole' }, 5),
      faultMs: 10_000,
      args: [...IMPATIENT, '--rate', '150'],
    },
    {
      fault: 'a black hole for 30 % of submissions, requests given up after 3 s',
      ...ofSubmissions({ kind: 'halfOpen' }, IMPATIENT),
    },
    {
      fault: 'lost answers: the node gets 30 % of submissions and its answer never comes, requests given up after 3 s',
      ...ofSubmissions({ kind: 'halfOpen', when: 'reached' }, IMPATIENT),
    },
    {
      fault: 'lost answers: 10 % of submissions, the connection is reset after the node has answered',
      ...ofSubmissions({ kind: 'reset', when: 'reached', p: 0.1 }),
    },
    {
      fault: 'half-open connections: 5 % of requests get no response',
      ...byProxy({ kind: 'halfOpen', p: 0.05 }, 5),
      args: IMPATIENT,
    },
    {
      fault: 'half-open connections, raw TCP transport',
      ...byProxy({ kind: 'halfOpen', p: 0.05 }, 5),
      args: [...IMPATIENT, ...TCP],
    },
    { fault: 'truncated: 20 %', ...byProxy({ kind: 'truncate', p: 0.2 }, 20) },
    { fault: 'truncated: 20 %, raw TCP transport', ...byProxy({ kind: 'truncate', p: 0.2 }, 20), args: TCP },
    { fault: 'sent twice: 20 %', ...byProxy({ kind: 'duplicate', p: 0.2 }, 20) },
    { fault: 'sent twice: 20 %, raw TCP transport', ...byProxy({ kind: 'duplicate', p: 0.2 }, 20), args: TCP },
    { fault: 'answers overtake each other: 30 %', ...byProxy({ kind: 'reorder', p: 0.3 }, 20) },
    { fault: 'answers of a batch in another order', ...byProxy({ kind: 'shuffle' }, 5) },
    {
      fault: '10 % of connections reset before the answer, two threads, four in flight',
      ...byProxy({ kind: 'reset', when: 'reached', p: 0.1 }, 20),
      args: ['--workers', '2', '--in-flight', '4'],
    },
  ].map((row) => ({ group: 'Networks', ...row })),
);
