/**
 * However a run ends, it ends in good order: nothing of it is left, and what is known of it is said. Each run
 * has a TMPDIR of its own, so that the smallest leftover is found.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pending, startAnvil, startMinedChain } from '../helpers/anvil.js';
import { readJson, spawnStress } from '../helpers/cli.js';
import { assertNothingLeft, chainProcesses } from '../helpers/leftovers.js';
import { mutant } from '../helpers/mutant.js';
import { CTRL_C, spawnOnTerminal } from '../helpers/pty.js';
import { serveBehind } from '../helpers/endpoint.js';
import { EXACT, INTERVAL_LINE, SECOND_WISH_MS, STACK_TRACE, startOf } from '../helpers/run-of.js';

/**
 * @import { TestContext } from 'node:test'
 * @import { RunOptions, Running } from '../helpers/run-of.js'
 */

/** How long the keeper and the chain may take to follow a run that was killed, on a busy machine. */
const FOLLOW_MS = 60_000;

/** What does not end at once does not end at all: a drain lasts longer than a test may. */
const FOR_EVER = '--drain-timeout 1h --tx-timeout 1h';

const SLICE = Object.freeze({ threads: 5, offset: 0, isAlone: true });

/** @param {TestContext} t @param {string} [words] @param {RunOptions} [options] */
const start = (t, words = '', options = {}) => startOf(t, `--interval 300ms ${words}`, { ...SLICE, ...options });

/** @param {Running} stress @param {'keeper' | 'chain'} victim */
function killOf({ TMPDIR }, victim) {
  process.kill(chainProcesses(TMPDIR)[victim] ?? assert.fail(`there is no ${victim}`), 'SIGKILL');
}

test('Ctrl-C on a terminal: the chain lives until the drain is over, the audit is exact, exit 130', async (t) => {
  const stress = start(t, '', { start: spawnOnTerminal });
  await stress.waitFor(INTERVAL_LINE);
  /** @type {any} */ (stress).type(CTRL_C);
  process.kill(stress.pid, 'SIGINT'); // npm passes on what the terminal has sent already: both are one Ctrl-C
  const { output, run } = await stress.end(130);
  assert.match(output, /Summary: interrupted/);
  assert.match(output, EXACT);
  assert.doesNotMatch(output, STACK_TRACE);
  assert.deepEqual([run.end, run.exitCode, run.audit.exact], ['interrupted', 130, true]);
  assert.equal(run.counts.verified, run.counts.started, 'what was in flight was drained');
});

test('the terminal is closed: the run file is whole, nothing is left', async (t) => {
  const stress = start(t, '', { start: spawnOnTerminal });
  await stress.waitFor(INTERVAL_LINE);
  // Two hangups within a millisecond, as from an interactive bash: one of the kernel's, one of the shell's.
  /** @type {any} */ (stress).close();
  // How it exits is not asserted: Node before 24.1 aborts at its very end when its terminal is gone
  // (github.com/nodejs/node/issues/51519).
  const { run } = await stress.end(null);
  assert.deepEqual([run.end, run.exitCode, run.audit.exact], ['hangup', 129, true]);
  assert.equal(run.counts.verified, run.counts.started);
});

test('a second Ctrl-C during a drain ends at once with what is known; a later run starts cleanly', async (t) => {
  const { anvil, miner } = await startMinedChain(t);
  const stress = startOf(t, `-v --interval 1m ${FOR_EVER}`, { ...SLICE, chain: anvil, start: spawnOnTerminal });
  await stress.waitFor(/^\d 0x\w{40} 2\r$/m);
  await miner.pause();
  await pending(anvil, 5);
  // A load of less than a tenth of a second has no line in the report.
  await sleep(SECOND_WISH_MS);
  /** @type {any} */ (stress).type(CTRL_C);
  // The only interval ends when the load does; without a block the drain cannot end by itself.
  await stress.waitFor(/\d s +[\d,]+ +\d/);
  await sleep(SECOND_WISH_MS);
  /** @type {any} */ (stress).type(CTRL_C);
  const { output, run } = await stress.end(130);
  assert.match(output, /Summary: interrupted/);
  assert.match(output, /^ {2}abandoned +5 /m);
  assert.match(output, /audit +INCOMPLETE: .*aborted by the user/);
  assert.doesNotMatch(output, STACK_TRACE);
  assert.deepEqual([run.end, run.counts.abandoned, run.audit], ['interrupted', 5, null]);
  assert.equal(run.counts.verified + 5, run.counts.started);
  assert.equal(run.unmeasured['/audit'], 'aborted by the user');

  await t.test('a later run waits for what the first one left in the pool', async (t) => {
    const later = start(t, '-d 500ms', { chain: anvil });
    await later.waitFor(/^5 wallets \(0\.\.4 of/m);
    miner.resume();
    const { stdout, run } = await later.end();
    assert.match(stdout, EXACT);
    assert.equal(run.counts.failed, 0);
  });
});

for (const victim of /** @type {const} */ (['keeper', 'chain']))
  test(`kill -9 of the ${victim}: the run ends by itself with exit 69 and a summary`, async (t) => {
    const stress = start(t, FOR_EVER);
    await stress.waitFor(INTERVAL_LINE);
    killOf(stress, victim);
    const { stdout, stderr } = await stress.done;
    await assertNothingLeft(stress.TMPDIR, FOLLOW_MS);
    const { run } = await stress.end(69);
    assert.match(stderr, /the embedded chain ended: killed by SIGKILL/);
    assert.doesNotMatch(stderr, STACK_TRACE);
    assert.match(stdout, /^Summary: ended because the embedded chain ended[^]*^ {2}audit +INCOMPLETE: /m);
    assert.deepEqual([run.end, run.exitCode, run.audit], ['chain_ended', 69, null]);
    assert.ok(run.counts.verified > 0);
  });

test('a keeper that does not end is killed, and the chain with it', async (t) => {
  const stress = start(t, '-d 500ms');
  await stress.waitFor(INTERVAL_LINE);
  process.kill(chainProcesses(stress.TMPDIR).keeper ?? assert.fail('there is no keeper'), 'SIGSTOP');
  await stress.done;
  await assertNothingLeft(stress.TMPDIR, FOLLOW_MS);
  await stress.end(0);
});

test('kill -9 of the chain during the set-up: exit 69, nothing left', async (t) => {
  const stress = start(t, '-d 1s', { threads: 400 });
  await stress.waitFor(/its 400 wallets funded/);
  killOf(stress, 'chain');
  const { stdout, stderr } = await stress.done;
  await assertNothingLeft(stress.TMPDIR, FOLLOW_MS);
  await stress.end(69);
  assert.match(stderr, /^stress: .*(the embedded chain ended|connection lost|connection refused).*\n$/);
  assert.doesNotMatch(stdout, /Summary/);
});

test('SIGINT while the set-up waits for blocks that do not come: exit 130, nothing left', async (t) => {
  const chain = await startAnvil({ args: ['--no-mining'] });
  t.after(chain.stop);
  const stress = start(t, FOR_EVER, { chain });
  await pending(chain, 5);
  stress.child.kill('SIGINT');
  const { stdout, stderr } = await stress.end(130);
  assert.equal(stderr, 'stress: interrupted during set-up\n');
  assert.doesNotMatch(stdout, /Summary/);
});

test('a second SIGINT ends a set-up whose endpoint does not answer', async (t) => {
  const chain = await startAnvil();
  t.after(chain.stop);
  let asked = () => {};
  const waiting = new Promise((/** @type {(value: void) => void} */ resolve) => (asked = resolve));
  const { url } = await serveBehind(chain.url, () => {
    asked();
    return new Promise(() => {});
  });
  const stress = start(t, '--request-timeout 1h', { rpc: url });
  await waiting;
  let ended = false;
  const done = stress.done.finally(() => (ended = true));
  while (!ended) {
    stress.child.kill('SIGINT');
    await Promise.race([done, sleep(SECOND_WISH_MS, undefined, { ref: false })]);
  }
  assert.equal((await stress.end(130)).stderr, 'stress: interrupted during set-up\n');
});

const TAKE = { file: 'src/stats/recorder.js', behind: '  take(nowUs) {\n' };
const CRASHES = {
  'an uncaught exception': { ...TAKE, code: "setTimeout(() => { throw new Error('planted'); });" },
  'an exception in the report': { ...TAKE, code: "throw new Error('planted');" },
};
const script = mutant({ after }, CRASHES);

for (const PLANTED of Object.keys(CRASHES))
  test(`${PLANTED} ends the run with exit 70, one line and nothing left`, async (t) => {
    const stress = start(t, '--drain-timeout 1s', { start: spawnStress, script, env: { PLANTED } });
    const { stdout, stderr } = await stress.end(70);
    assert.match(stderr, /planted/);
    assert.doesNotMatch(stderr, STACK_TRACE);
    assert.match(stdout, /^Summary: ended by a bug of stress/m);
  });

for (const [lines, when] of /** @type {const} */ ([
  [1, 'the set-up'],
  [4, 'the load'],
]))
  test(`| head -n ${lines} closes standard output during ${when}: no stack trace, nothing left`, async (t) => {
    const via = ['sh', '-c', `{ "$0" "$@"; echo "exit $?" >&2; } | head -n ${lines}`];
    const { stdout, stderr, out } = await start(t, '', { start: spawnStress, via }).end();
    assert.equal(stdout.split('\n').length - 1, lines);
    assert.doesNotMatch(stderr, STACK_TRACE);
    assert.doesNotMatch(stderr, /EPIPE|bug/);
    // A head that is slow to leave is gone only when the load has begun.
    if (lines === 1 && !existsSync(out)) {
      assert.doesNotMatch(stderr, /^exit 0$/m, 'nothing was done, which is no success');
    } else {
      assert.match(stderr, /^exit 0\n$/);
      const run = readJson(out);
      assert.deepEqual([run.end, run.audit.exact], ['output_closed', true]);
    }
  });
