/** Connections that are reset, at every point of an exchange. */
import { byProxy, testRows } from './row.js';

const WHEN = /** @type {const} */ ({
  before: 'before the node has the request',
  reached: 'after the node has the request, before its answer',
  during: 'in the middle of the answer',
  after: 'after the answer',
});

testRows(
  Object.entries(WHEN).flatMap(([when, words]) =>
    [0.01, 0.1, 0.5].map((p) => ({
      group: 'Connections reset',
      fault: `${p * 100} % ${words}`,
      ...byProxy({ kind: 'reset', when: /** @type {keyof typeof WHEN} */ (when), p }, 5),
    })),
  ),
);
