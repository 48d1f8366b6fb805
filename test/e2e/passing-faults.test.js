/** Faults that pass, where nothing is measured: in the set-up and in the audit. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startAnvil } from '../helpers/anvil.js';
import { HANG_UP, passOn, serve } from '../helpers/endpoint.js';
import { runOf } from '../helpers/run-of.js';

/**
 * @import { Anvil } from '../helpers/anvil.js'
 * @import { Answer } from '../helpers/endpoint.js'
 */

const BUSY = { status: 429, headers: { 'retry-after': '1' }, body: 'too many requests' };

/** @param {string} body @param {string} message @param {number} code */
function refusal(body, message, code = -32000) {
  const { id } = JSON.parse(body);
  return { body: JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }) };
}

/** @typedef {{what: string, of: (body: string) => boolean, spoil: (body: string) => Answer | typeof HANG_UP, times: number}} Fault */

/** @param {string} method @returns {(body: string) => boolean} */
const to = (method) => (body) => body.includes(`"${method}"`);
const isSubmission = to('eth_sendRawTransaction');
/** Only the audit reads as of a block hash. @param {string} body */
const isAudit = (body) => body.includes('blockHash');

/** The faults of each run, which come in this order where they concern the same requests. @type {Fault[][]} */
const RUNS = [
  [
    ...['eth_getBlockByNumber', 'eth_estimateGas', 'eth_call', 'eth_getTransactionReceipt'].map((method) => {
      return { what: `429 to ${method}`, of: to(method), spoil: () => BUSY, times: 1 };
    }),
    { what: '429 to submissions', of: isSubmission, spoil: () => BUSY, times: 3 },
  ],
  [
    { what: 'submissions whose connection is lost', of: isSubmission, spoil: () => HANG_UP, times: 3 },
    { what: '429 to the audit', of: isAudit, spoil: () => BUSY, times: 1 },
  ],
  [
    { what: 'a full pool', of: isSubmission, spoil: (body) => refusal(body, 'txpool is full'), times: 3 },
    { what: 'an audit by a gateway without a node', of: isAudit, spoil: () => ({ status: 503, body: '' }), times: 2 },
  ],
  [
    { what: 'an exceeded limit', of: isSubmission, spoil: (body) => refusal(body, 'limit exceeded', -32005), times: 2 },
    { what: 'lost connections in the audit', of: isAudit, spoil: () => HANG_UP, times: 5 },
  ],
];

describe('set-up and audit outlive', { concurrency: 2 }, () => {
  for (const faults of RUNS)
    test(faults.map(({ what }) => what).join(', '), async (t) => {
      const chain = await startAnvil({ args: ['--block-time', '0.1'] });
      t.after(chain.stop);
      const left = new Map(faults.map((fault) => [fault, fault.times]));
      const { url } = await serve(async (body) => {
        const fault = faults.find((one) => Number(left.get(one)) > 0 && one.of(body));
        if (fault !== undefined) {
          left.set(fault, Number(left.get(fault)) - 1);
          return /** @type {any} */ (fault.spoil(body));
        }
        return passOn(chain.url, body);
      });
      const { run, stderr } = await runOf(t, '-d 300ms', { chain, rpc: url, threads: 5 });
      for (const [{ what }, times] of left)
        assert.equal(times, 0, `${what}: ${times} times less than planned; ${stderr}`);
      assert.equal(stderr, '');
      assert.deepEqual([run.audit.exact, run.counts.verified], [true, run.counts.started]);
    });
});
