/** Several operations of one wallet in flight, and operations at a rate: all of it is audited on a real chain. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { anvilFor, startMiner } from '../helpers/anvil.js';
import { passOn, serve } from '../helpers/endpoint.js';
import { runOf } from '../helpers/run-of.js';

/**
 * @import { Anvil } from '../helpers/anvil.js'
 * @import { TestContext } from 'node:test'
 */

const WALLETS = 5;
const IN_FLIGHT = 4;

/** @type {ReturnType<typeof startMiner>} */
let nudge;
/** A chain with a block for each transaction, and one with a block every half second. @type {Record<string, Anvil>} */
const chains = {
  // anvil does not always notice that what it has queued can be mined now: without another block it never is.
  automine: anvilFor('--accounts 60', (anvil) => (nudge = startMiner(anvil, 250))),
  paced: anvilFor('--accounts 60 --block-time 0.5'),
};
after(() => nudge.pause());

/** @param {TestContext} t @param {string} name of the chain @param {string} words @param {string} [rpc] */
async function pipelined(t, name, words, rpc) {
  const more = `--in-flight ${IN_FLIGHT} --drain-timeout 10m ${words}`;
  const { run } = await runOf(t, more, { chain: chains[name], rpc, threads: WALLETS });
  assert.equal(run.audit.exact, true, JSON.stringify(run.audit));
  for (const row of run.intervals) assert.ok(row.inFlight <= WALLETS * IN_FLIGHT);
  return run;
}

// They wait for blocks and time-outs, most of the time.
describe('pipelining', { concurrency: 3 }, () => {
  for (const [name, workers] of /** @type {const} */ ([
    ['automine', '1'],
    ['paced', '2'],
  ]))
    test(`closed loop (${name}, workers ${workers}): each wallet has four in flight, and all that they did is on the chain`, async (t) => {
      const { counts, failures, intervals } = await pipelined(t, name, `-d 2s --workers ${workers}`);
      assert.deepEqual([failures, counts.verified, counts.dropped], [{}, counts.started, 0]);
      const most = Math.max(...intervals.map((/** @type {any} */ row) => row.inFlight));
      if (name === 'paced') assert.ok(most > WALLETS, `${most} in flight at most: one for each wallet`);
    });

  for (const name of ['automine', 'paced'])
    test(`at a rate (${name}): exactly what was asked for is scheduled`, async (t) => {
      // Four for each of five wallets suffice for four seconds: a block is waited for half a second, and a little.
      const { counts, failures, rates, window } = await pipelined(t, name, '-d 2s --rate 5 --warmup 1s');
      assert.deepEqual([failures, counts.scheduled, counts.dropped], [{}, 15, 0]);
      assert.deepEqual([window.counts.scheduled, window.durationMs, rates.askedPerSecond], [10, 2000, 5]);
    });

  test('a rate beyond what may be in flight: the rest is dropped, and the schedule is kept', async (t) => {
    const { counts, window } = await pipelined(t, 'paced', '-d 2s --rate 400');
    assert.equal(window.counts.scheduled, 800);
    assert.ok(counts.dropped > 600, `${counts.dropped} dropped`);
    assert.ok(counts.started >= WALLETS * IN_FLIGHT && counts.started <= 120, `${counts.started} started`);
  });

  test('random arrivals over two threads, by stages: the audit is exact', async (t) => {
    const words = '--stages 0:80/1s,80/500ms,80:0/500ms --arrival poisson --workers 2';
    const { window } = await pipelined(t, 'automine', words);
    // 100 on average: five standard deviations.
    assert.ok(Math.abs(window.counts.scheduled - 100) < 50, `${window.counts.scheduled} scheduled`);
    assert.equal(window.durationMs, 2000);
  });

  describe('submissions that get lost', () => {
    /** All of these are sent at once, however slow the machine is. */
    const FIRST = WALLETS * IN_FLIGHT;
    const ITERATIONS = 3 * IN_FLIGHT;

    /** @type {Array<[string, string, string, (n: number) => string]>} */
    const FAULTS = [
      ['arrive, but their answers do not', 'automine', '1', () => 'hide'],
      ['never arrive, or so, over two threads', 'paced', '2', (n) => (n % 2 === 0 ? 'lose' : 'hide')],
    ];
    for (const [what, name, workers, faultOf] of FAULTS)
      test(`that ${what} (${name}): they are sent again, the run goes on, the audit is exact`, async (t) => {
        let sent = 0;
        /** @type {Record<string, number>} */
        const faults = { lose: 0, hide: 0 };
        const { url } = await serve(async (body) => {
          // The first five are the deployments.
          const number = body.includes('eth_sendRawTransaction') ? (sent += 1) - WALLETS : 0;
          const fault = number > 0 && number <= FIRST && number % 3 === 2 ? faultOf(number) : 'none';
          if (fault !== 'none') faults[fault] += 1;
          if (fault === 'lose') throw new Error('it hangs up');
          const answer = await passOn(chains[name].url, body);
          if (fault === 'hide') throw new Error('it hangs up');
          return answer;
        });
        const words = `--iterations ${ITERATIONS} --workers ${workers} --request-timeout 1m --tx-timeout 2m`;
        const { counts, failures, audit, generator } = await pipelined(t, name, words, url);
        assert.ok(faults.lose + faults.hide >= 6, 'the fault happened');
        assert.deepEqual(failures, {}, 'they are sent again');
        // Others that a busy machine keeps waiting are sent again, too.
        assert.ok(generator.resubmissions.repeated >= faults.lose, `${generator.resubmissions.repeated} repeated`);
        assert.equal(counts.timedOut, 0, 'no operation waits for a nonce that is not sent');
        assert.deepEqual([audit.neverSent, audit.includedLate], [0, 0], 'none is counted twice');
        assert.equal(generator.retiredWallets, 0);
        assert.equal(counts.verified, WALLETS * ITERATIONS, 'all wallets work to the end');
      });
  });
});
