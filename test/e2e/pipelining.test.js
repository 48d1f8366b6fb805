/** Several operations of one wallet in flight, and operations at a rate: all of it is audited on a real chain. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startAnvil, startMiner } from '../helpers/anvil.js';
import { readJson, runStress } from '../helpers/cli.js';
import { passOn, serve } from '../helpers/endpoint.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { Anvil } from '../helpers/anvil.js'
 * @import { TestContext } from 'node:test'
 */

const WALLETS = 5;
const IN_FLIGHT = 4;

/** A chain with a block for each transaction, and one with a block every half second. @type {Record<string, Anvil>} */
const chains = {};

/** @type {ReturnType<typeof startMiner>} */
let nudge;

before(async () => {
  [chains.automine, chains.paced] = await Promise.all([
    startAnvil({ args: ['--accounts', '150'] }),
    startAnvil({ args: ['--accounts', '150', '--block-time', '0.5'] }),
  ]);
  // anvil does not always notice that what it has queued can be mined now: without another block it never is.
  nudge = startMiner(chains.automine, 250);
});

after(() => nudge.pause());

let nextIndex = 10;

/**
 * @param {TestContext} t
 * @param {string} rpc
 * @param {string[]} more
 */
async function pipelined(t, rpc, more) {
  const out = join(temporaryFolder(t), 'run.json');
  const offset = String((nextIndex += WALLETS));
  const args = ['--rpc', rpc, '-t', String(WALLETS), '-o', offset, '--in-flight', String(IN_FLIGHT), '--out', out];
  const result = await runStress([...args, '--interval', '500ms', '--drain-timeout', '10s', ...more]);
  if (result.code !== 0) assert.fail(`exit ${result.code}\n${result.stdout}\n${result.stderr}`);
  return { ...result, run: readJson(out) };
}

/** What holds for all of them. @param {any} run */
function assertSound(run) {
  assertRunFile(run);
  assert.equal(run.audit.exact, true, JSON.stringify(run.audit));
  for (const row of run.intervals) assert.ok(row.inFlight <= WALLETS * IN_FLIGHT);
}

// They wait for blocks and time-outs, most of the time.
describe('pipelining', { concurrency: 3 }, () => {
  for (const [name, workers] of /** @type {const} */ ([
    ['automine', '1'],
    ['paced', '2'],
  ]))
    test(`closed loop (${name}, workers ${workers}): each wallet has four in flight, and all that they did is on the chain`, async (t) => {
      const { run } = await pipelined(t, chains[name].url, ['-d', '2s', '--workers', workers]);
      assertSound(run);
      assert.deepEqual(run.failures, {});
      assert.equal(run.counts.verified, run.counts.started);
      assert.equal(run.counts.dropped, 0);
      if (name === 'paced') {
        const most = Math.max(...run.intervals.map((/** @type {any} */ row) => row.inFlight));
        assert.ok(most > WALLETS, `${most} in flight at most: one for each wallet`);
      }
    });

  for (const [name, workers] of /** @type {const} */ ([
    ['automine', '2'],
    ['paced', '1'],
  ]))
    test(`at a rate (${name}, workers ${workers}): exactly what was asked for is scheduled`, async (t) => {
      // Four for each of five wallets suffice for four seconds: a block is waited for half a second, and a little.
      const rate = 5;
      const { run } = await pipelined(t, chains[name].url, [
        ...['-d', '2s', '--workers', workers, '--rate', String(rate), '--warmup', '1s'],
      ]);
      assertSound(run);
      assert.deepEqual(run.failures, {});
      assert.equal(run.window.counts.scheduled, 2 * rate);
      assert.equal(run.counts.scheduled, 3 * rate);
      assert.equal(run.counts.dropped, 0);
      assert.equal(run.rates.askedPerSecond, rate);
      assert.equal(run.window.durationMs, 2000);
    });

  test('a rate beyond what may be in flight: the rest is dropped, and the schedule is kept', async (t) => {
    const { run } = await pipelined(t, chains.paced.url, ['-d', '2s', '--rate', '400']);
    assertSound(run);
    assert.equal(run.window.counts.scheduled, 800);
    assert.ok(run.counts.dropped > 600, String(run.counts.dropped));
    assert.ok(run.counts.started >= WALLETS * IN_FLIGHT && run.counts.started <= 120, String(run.counts.started));
  });

  test('random arrivals over two threads, by stages: the audit is exact', async (t) => {
    const { run } = await pipelined(t, chains.automine.url, [
      ...['--stages', '0:80/1s,80/500ms,80:0/500ms', '--arrival', 'poisson', '--workers', '2'],
    ]);
    assertSound(run);
    // 100 on average: five standard deviations.
    assert.ok(Math.abs(run.window.counts.scheduled - 100) < 50, String(run.window.counts.scheduled));
    assert.equal(run.window.durationMs, 2000);
  });

  describe('submissions that get lost', () => {
    /** All of these are sent at once, however slow the machine is. */
    const FIRST = WALLETS * IN_FLIGHT;
    const ITERATIONS = 5 * IN_FLIGHT;

    /**
     * Before a chain: what becomes of submissions of the load, by their number. The deployments are the first five.
     * @param {Anvil} chain
     * @param {(number: number) => 'pass' | 'lose' | 'hide'} faultOf lose: it never arrives; hide: its answer does not
     */
    async function faulty(chain, faultOf) {
      let sent = 0;
      const faults = { lose: 0, hide: 0 };
      const { url } = await serve(async (body) => {
        const isLoad = body.includes('eth_sendRawTransaction') && (sent += 1) > WALLETS;
        const fault = isLoad ? faultOf(sent - WALLETS) : 'pass';
        if (fault !== 'pass') faults[fault] += 1;
        if (fault === 'lose') throw new Error('it hangs up');
        const answer = await passOn(chain.url, body);
        if (fault === 'hide') throw new Error('it hangs up');
        return answer;
      });
      return { url, faults };
    }

    for (const [
      what,
      name,
      workers,
      faultOf,
    ] of /** @type {Array<[string, string, string, (n: number) => 'lose' | 'hide']>} */ ([
      ['never arrive', 'paced', '1', () => 'lose'],
      ['arrive, but their answers do not', 'automine', '1', () => 'hide'],
      ['do either, over two threads', 'paced', '2', (n) => (n % 2 === 0 ? 'lose' : 'hide')],
    ]))
      test(`that ${what} (${name}): they are sent again, the run goes on, the audit is exact`, async (t) => {
        const { url, faults } = await faulty(chains[name], (n) => (n <= FIRST && n % 3 === 2 ? faultOf(n) : 'pass'));
        const { code, run, stderr } = await pipelined(t, url, [
          ...['--iterations', String(ITERATIONS), '--workers', workers],
          ...['--request-timeout', '30s', '--tx-timeout', '60s'],
        ]);
        assert.equal(code, 0, stderr);
        assert.ok(faults.lose + faults.hide >= 6, 'the fault happened');
        assertSound(run);
        assert.deepEqual(run.failures, {}, 'they are sent again');
        const { repeated } = run.generator.resubmissions;
        // One that is in a block before it would be sent again is not.
        assert.ok(repeated >= faults.lose && repeated <= faults.lose + faults.hide, String(repeated));
        assert.equal(run.counts.timedOut, 0, 'no operation waits for a nonce that is not sent');
        assert.equal(run.audit.neverSent, 0);
        assert.equal(run.audit.includedLate, 0, 'none is counted twice');
        assert.equal(run.generator.retiredWallets, 0);
        assert.equal(run.counts.verified, WALLETS * ITERATIONS, 'all wallets work to the end');
      });
  });
});
