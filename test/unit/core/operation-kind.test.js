import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Wallet } from '../../../src/chain/keys.js';
import { callKind } from '../../../src/core/recovery.js';
import { Account } from '../../../src/core/nonces.js';
import { RetryPolicy } from '../../../src/core/submit.js';
import { createFakeClock } from '../../helpers/clock.js';

/** The pause after each failure, in milliseconds. */
function harness() {
  const clock = createFakeClock({ startUs: 0 });
  const account = new Account(0, Wallet.withoutKey(0));
  const retryPolicy = new RetryPolicy(() => 0);
  const kind = callKind(/** @type {any} */ ({ clock, retryPolicy }));
  const operation = /** @type {any} */ ({ account, nonce: 0 });
  /** @param {string} code */
  const pauseAfter = async (code) => {
    const fromUs = clock.nowUs();
    let isOver = false;
    void kind
      .recover(operation, /** @type {any} */ ({ code }), new AbortController().signal)
      .then(() => (isOver = true));
    await turn();
    while (!isOver) {
      await clock.advance(50);
      await turn();
    }
    return (clock.nowUs() - fromUs) / 1000;
  };
  return { account, retryPolicy, operation, pauseAfter, verify: () => kind.recordInclusion(operation) };
}

describe('callKind().recover()', () => {
  it('does not wait after an error response or a failed check', async () => {
    const { retryPolicy, pauseAfter } = harness();
    for (let i = 0; i < 20; i += 1) {
      assert.equal(await pauseAfter('check_failed'), 0);
      assert.equal(await pauseAfter('rpc_error'), 0);
    }
    assert.equal(retryPolicy.pausedMs, 0);
  });

  it('without a response it waits, longer each time, until there is one', async () => {
    const { retryPolicy, pauseAfter, verify } = harness();
    const pauses = [];
    for (const code of ['transport_refused', 'protocol', 'unavailable', 'transport_reset'])
      pauses.push(await pauseAfter(code));
    assert.deepEqual(pauses, [50, 100, 200, 400]);
    assert.equal(retryPolicy.pausedMs, 750);
    assert.equal(await pauseAfter('rpc_error'), 0);
    assert.equal(await pauseAfter('transport_reset'), 50, 'it had answered');
    verify();
    assert.equal(await pauseAfter('transport_reset'), 50, 'and again');
    for (let i = 0; i < 10; i += 1) await pauseAfter('transport_reset');
    assert.equal(await pauseAfter('transport_reset'), 5000, 'no pause is longer');
  });

  it('a busy response counts as no response', async () => {
    const { operation, pauseAfter } = harness();
    operation.isBusyError = true;
    assert.equal(await pauseAfter('rpc_error'), 50);
  });

  it('failures at the same time count once per wallet', async () => {
    const { account, pauseAfter } = harness();
    await pauseAfter('transport_reset');
    account.recovering = 1;
    assert.equal(await pauseAfter('transport_reset'), 50);
  });
});
