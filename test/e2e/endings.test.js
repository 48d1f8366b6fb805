/**
 * However a run ends, it ends in good order: nothing of it is left, and what is known of it is said. Each run
 * has a TMPDIR of its own, so that the smallest leftover is found.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAnvil, startMiner } from '../helpers/anvil.js';
import { STRESS, cleanEnvironment, readJson, spawnStress, startStress } from '../helpers/cli.js';
import { assertNothingLeft, chainProcesses, endProcessesOf } from '../helpers/leftovers.js';
import { mutant } from '../helpers/mutant.js';
import { CTRL_C, spawnOnTerminal } from '../helpers/pty.js';
import { serveBehind } from '../helpers/endpoint.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** @import { TestContext } from 'node:test' */

/** A line of the report, with something verified in it. */
const INTERVAL_LINE = /^ +\d+\.\d s +[\d,]+ +[1-9]/m;
const EXACT = /audit +exact: (\d+) counters grew by ([\d,]+) = \2 verified \+ 0 included late/;
const STACK_TRACE = /\n +at .*:\d+:\d+/;

/** A second signal means "at once" only when it comes after the first one was seen to do something. */
const SECOND_WISH_MS = 400;

/** How long the keeper and the chain may take to follow a run that was killed, on a busy machine. */
const FOLLOW_MS = 30_000;

/** "At once", on a busy machine: what is not ended so takes as long as a drain may, which is half a minute. */
const AT_ONCE_MS = 20_000;

/** @param {TestContext} t @param {string[]} [more] arguments */
function loadedRun(t, more = []) {
  const TMPDIR = temporaryFolder(t);
  t.after(() => endProcessesOf(TMPDIR));
  const out = join(temporaryFolder(t), 'run.json');
  const interval = more.includes('--interval') ? [] : ['--interval', '300ms'];
  const args = ['-t', '5', '-o', '0', ...interval, '--out', out, ...more];
  return { TMPDIR, out, args, options: { env: { TMPDIR } } };
}

/** @param {string} folder @returns {Promise<void>} when a run whose TMPDIR this is has started its keeper */
async function keeperStarted(folder) {
  while (!readdirSync(folder).some((name) => name.startsWith('stress-chain-'))) await sleep(5);
}

test('Ctrl-C on a terminal: the chain lives until the drain is over, the audit is exact, exit 130', async (t) => {
  const { TMPDIR, out, args, options } = loadedRun(t);
  const stress = spawnOnTerminal(args, options);
  await stress.waitFor(INTERVAL_LINE);
  stress.type(CTRL_C);
  process.kill(stress.pid, 'SIGINT'); // npm passes on what the terminal has sent already: both are one Ctrl-C
  const { code, output } = await stress.done;

  assert.equal(code, 130, output);
  assert.match(output, /Summary: interrupted/);
  assert.match(output, EXACT);
  assert.doesNotMatch(output, STACK_TRACE);
  const run = readJson(out);
  assert.equal(run.end, 'interrupted');
  assert.equal(run.exitCode, 130);
  assert.equal(run.audit.exact, true);
  assert.equal(run.counts.verified, run.counts.started, 'what was in flight was drained');
  await assertNothingLeft(TMPDIR);
});

for (const [signal, exit, end] of /** @type {const} */ ([
  ['SIGTERM', 143, 'terminated'],
  ['SIGHUP', 129, 'hangup'],
])) {
  test(`${signal}: a whole summary, an exact audit, exit ${exit}`, async (t) => {
    const { TMPDIR, out, args, options } = loadedRun(t);
    const stress = startStress(args, options);
    await stress.waitFor(INTERVAL_LINE);
    stress.child.kill(signal);
    const { code, stdout, stderr } = await stress.done;
    assert.deepEqual([code, stderr], [exit, '']);
    assert.match(stdout, /^Summary: /m);
    assert.match(stdout, /^ {2}latency ms/m);
    assert.match(stdout, EXACT);
    const run = readJson(out);
    assert.equal(run.end, end);
    assert.equal(run.counts.verified, run.counts.started);
    await assertNothingLeft(TMPDIR);
  });
}

test('the terminal is closed: the run file is whole, nothing is left', async (t) => {
  const { TMPDIR, out, args, options } = loadedRun(t);
  const stress = spawnOnTerminal(args, options);
  await stress.waitFor(INTERVAL_LINE);
  // Two hangups within a millisecond, as from an interactive bash: one of the kernel's, one of the shell's.
  stress.close();
  // How it exits is not asserted: Node before 24.1 aborts at its very end when its terminal is gone
  // (github.com/nodejs/node/issues/51519).
  await stress.done;
  const run = readJson(out);
  assert.equal(run.end, 'hangup');
  assert.equal(run.exitCode, 129);
  assert.equal(run.counts.verified, run.counts.started);
  assert.equal(run.audit.exact, true);
  await assertNothingLeft(TMPDIR);
});

test('a second Ctrl-C during a drain ends at once with what is known; a later run starts cleanly', async (t) => {
  const anvil = await startAnvil({ args: ['--no-mining'] });
  t.after(anvil.stop);
  const miner = startMiner(anvil);
  const { TMPDIR, out, args, options } = loadedRun(t, ['--rpc', anvil.url, '-v', '--interval', '1m']);
  const stress = spawnOnTerminal(args, options);
  await stress.waitFor(/^\d 0x\w{40} 2\r$/m);
  await miner.pause();
  while (Number((await anvil.rpc('txpool_status')).pending) < 5) await sleep(20);
  // A load of less than a tenth of a second has no line in the report.
  await sleep(SECOND_WISH_MS);
  stress.type(CTRL_C);
  // The only interval ends when the load does; without a block the drain cannot end by itself.
  await stress.waitFor(/\d s +[\d,]+ +\d/);
  await sleep(SECOND_WISH_MS);
  assert.doesNotMatch(stress.output(), /Summary/);
  const askedAtMs = Date.now();
  stress.type(CTRL_C);
  const { code, output } = await stress.done;

  assert.ok(Date.now() - askedAtMs < AT_ONCE_MS, 'at once');
  assert.equal(code, 130, output);
  assert.match(output, /Summary: interrupted/);
  assert.match(output, /^ {2}abandoned +5 /m);
  assert.match(output, /audit +INCOMPLETE: .*aborted by the user/);
  assert.doesNotMatch(output, STACK_TRACE);
  const run = readJson(out);
  assert.equal(run.end, 'interrupted');
  assert.equal(run.counts.abandoned, 5);
  assert.equal(run.counts.verified + 5, run.counts.started);
  assert.equal(run.audit, null);
  assert.equal(run.unmeasured['/audit'], 'aborted by the user');
  await assertNothingLeft(TMPDIR);

  await t.test('a later run waits for what the first one left in the pool', async (t) => {
    const next = loadedRun(t, ['--rpc', anvil.url, '-d', '500ms']);
    const later = startStress(next.args, next.options);
    await later.waitFor(/^5 wallets \(0\.\.4 of/m);
    miner.resume();
    const { code, stdout, stderr } = await later.done;
    assert.equal(code, 0, stderr);
    assert.match(stdout, EXACT);
    assert.equal(readJson(next.out).counts.failed, 0);
  });
  await miner.pause();
});

test('kill -9 of stress takes the keeper, the chain and its folder with it', async (t) => {
  const { TMPDIR, args, options } = loadedRun(t);
  const stress = spawnStress(args, options);
  await stress.waitFor(INTERVAL_LINE);
  const { keeper, chain } = chainProcesses(TMPDIR);
  assert.ok(keeper !== undefined && chain !== undefined);
  stress.child.kill('SIGKILL');
  assert.equal((await stress.done).signal, 'SIGKILL');
  await assertNothingLeft(TMPDIR, FOLLOW_MS);
});

test('kill -9 of stress while its chain is starting leaves nothing either', async (t) => {
  const { TMPDIR, args, options } = loadedRun(t);
  const stress = spawnStress(args, options);
  await keeperStarted(TMPDIR);
  stress.child.kill('SIGKILL');
  await stress.done;
  await assertNothingLeft(TMPDIR, FOLLOW_MS);
});

for (const victim of /** @type {const} */ (['keeper', 'chain'])) {
  test(`kill -9 of the ${victim}: the run ends by itself with exit 69 and a summary`, async (t) => {
    const { TMPDIR, out, args, options } = loadedRun(t);
    const stress = startStress(args, options);
    await stress.waitFor(INTERVAL_LINE);
    const killedAtMs = Date.now();
    process.kill(chainProcesses(TMPDIR)[victim] ?? assert.fail(`there is no ${victim}`), 'SIGKILL');
    const { code, stdout, stderr } = await stress.done;

    assert.equal(code, 69, stderr);
    assert.ok(Date.now() - killedAtMs < AT_ONCE_MS, 'there is nothing to wait for on a chain that is gone');
    assert.match(stderr, /the embedded chain ended/);
    assert.doesNotMatch(stderr, /code 0/, 'it did not end of its own will');
    assert.doesNotMatch(stderr, STACK_TRACE);
    assert.match(stdout, /^Summary: ended because the embedded chain ended/m);
    assert.match(stdout, /^ {2}audit +INCOMPLETE: /m);
    const run = readJson(out);
    assert.equal(run.end, 'chain_ended');
    assert.equal(run.exitCode, 69);
    assert.ok(run.counts.verified > 0);
    assert.equal(run.audit, null);
    await assertNothingLeft(TMPDIR, FOLLOW_MS);
  });
}

test('kill -9 of the chain during the set-up: exit 69, nothing left', async (t) => {
  const { TMPDIR, options } = loadedRun(t);
  const stress = startStress(['-t', '400', '-o', '0', '-d', '1s'], options);
  await stress.waitFor(/its 400 wallets funded/);
  process.kill(chainProcesses(TMPDIR).chain ?? assert.fail('there is no chain'), 'SIGKILL');
  const { code, stdout, stderr } = await stress.done;
  assert.equal(code, 69, stderr);
  assert.match(stderr, /^stress: .*(the embedded chain ended|connection lost|connection refused).*\n$/);
  assert.doesNotMatch(stdout, /Summary/);
  await assertNothingLeft(TMPDIR, FOLLOW_MS);
});

test('SIGINT while the chain is starting: exit 130, nothing left', async (t) => {
  const { TMPDIR, out, args, options } = loadedRun(t);
  const stress = startStress(args, options);
  await keeperStarted(TMPDIR);
  stress.child.kill('SIGINT');
  const { code, stdout, stderr } = await stress.done;
  assert.equal(code, 130, stderr);
  assert.match(stderr, /^stress: interrupted during set-up\n$/);
  assert.doesNotMatch(stdout, /Summary/);
  assert.ok(!existsSync(out), 'there was no run to write down');
  await assertNothingLeft(TMPDIR);
});

test('Ctrl-C while counters are being deployed: exit 130 within a moment, nothing left', async (t) => {
  const { TMPDIR, options } = loadedRun(t);
  const stress = spawnOnTerminal(['-t', '400', '-o', '0', '--interval', '300ms'], options);
  await stress.waitFor(/its 400 wallets funded/);
  const askedAtMs = Date.now();
  stress.type(CTRL_C);
  const { code, output } = await stress.done;
  assert.equal(code, 130, output);
  assert.ok(Date.now() - askedAtMs < AT_ONCE_MS);
  assert.match(output, /stress: interrupted during set-up/);
  assert.doesNotMatch(output, /Summary/);
  assert.doesNotMatch(output, STACK_TRACE);
  await assertNothingLeft(TMPDIR);
});

test('SIGINT while the set-up waits for blocks that do not come: exit 130', async (t) => {
  const anvil = await startAnvil({ args: ['--no-mining'] });
  t.after(anvil.stop);
  const { TMPDIR, args, options } = loadedRun(t, ['--rpc', anvil.url]);
  const stress = startStress(args, options);
  while (Number((await anvil.rpc('txpool_status')).pending) < 5) await sleep(20);
  const askedAtMs = Date.now();
  stress.child.kill('SIGINT');
  const { code, stderr } = await stress.done;
  assert.equal(code, 130);
  assert.equal(stderr, 'stress: interrupted during set-up\n');
  assert.ok(Date.now() - askedAtMs < AT_ONCE_MS);
  await assertNothingLeft(TMPDIR);
});

test('a second SIGINT ends a set-up whose endpoint does not answer', async (t) => {
  const anvil = await startAnvil();
  t.after(anvil.stop);
  let asked = () => {};
  const waiting = new Promise((/** @type {(value: void) => void} */ resolve) => (asked = resolve));
  const { url } = await serveBehind(anvil.url, () => {
    asked();
    return new Promise(() => {});
  });
  const { TMPDIR, args, options } = loadedRun(t, ['--rpc', url, '--request-timeout', '1m']);
  const stress = startStress(args, options);
  await waiting;
  let ended = false;
  const done = stress.done.finally(() => (ended = true));
  // A third signal, while the process is ending on a busy machine, would kill it.
  for (let pauseMs = SECOND_WISH_MS; !ended; pauseMs = 10_000) {
    stress.child.kill('SIGINT');
    await Promise.race([done, sleep(pauseMs, undefined, { ref: false })]);
  }
  const { code, stderr } = await done;
  assert.equal(code, 130);
  assert.equal(stderr, 'stress: interrupted during set-up\n');
  await assertNothingLeft(TMPDIR);
});

const CRASHES = {
  'an uncaught exception': {
    file: 'src/stats/recorder.js',
    find: '  take(nowUs) {\n',
    replace: "  take(nowUs) {\n    setTimeout(() => { throw new Error('planted'); });\n",
  },
  'an unhandled rejection': {
    file: 'src/stats/recorder.js',
    find: '  take(nowUs) {\n',
    replace: "  take(nowUs) {\n    void Promise.reject(new Error('planted'));\n",
  },
  'an exception in the report': {
    file: 'src/stats/recorder.js',
    find: '  take(nowUs) {\n',
    replace: "  take(nowUs) {\n    throw new Error('planted');\n",
  },
  'an exception when a sample is counted': {
    file: 'src/stats/recorder.js',
    find: '  add(sample) {\n',
    replace: "  add(sample) {\n    if (this.counts.verified === 7) throw new Error('planted');\n",
  },
};

for (const [name, patch] of Object.entries(CRASHES)) {
  test(`${name} ends the run with exit 70, one line and nothing left`, async (t) => {
    const { TMPDIR, args, options } = loadedRun(t, ['--drain-timeout', '1s']);
    const { code, stdout, stderr } = await spawnStress(args, { ...options, script: mutant(t, [patch]) }).done;
    assert.equal(code, 70, stderr);
    assert.match(stderr, /planted/);
    assert.doesNotMatch(stderr, STACK_TRACE);
    assert.match(stdout, /^Summary: ended by a bug of stress/m);
    await assertNothingLeft(TMPDIR);
  });
}

for (const [lines, when] of /** @type {const} */ ([
  [1, 'the set-up'],
  [4, 'the load'],
])) {
  test(`| head -n ${lines} closes standard output during ${when}: no stack trace, nothing left`, async (t) => {
    const { TMPDIR, out, args } = loadedRun(t);
    const command = '{ "$NODE" "$STRESS" "$@"; echo "exit $?" >&2; } | head -n "$LINES_READ"';
    const child = spawn('sh', ['-c', command, 'sh', ...args], {
      env: cleanEnvironment({ TMPDIR, STRESS, NODE: process.execPath, LINES_READ: String(lines) }),
      detached: true, // a group of its own, to be ended as one should the run not end by itself
    });
    const timer = setTimeout(() => process.kill(-(child.pid ?? assert.fail('sh did not start')), 'SIGKILL'), 60_000);
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => (stdout += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk) => (stderr += chunk));
    const [code] = await once(child, 'close');
    clearTimeout(timer);
    assert.equal(code, 0, 'sh has waited for both');
    assert.equal(stdout.split('\n').length - 1, lines);
    assert.doesNotMatch(stderr, STACK_TRACE);
    assert.doesNotMatch(stderr, /EPIPE|bug/);
    await assertNothingLeft(TMPDIR);
    // A head that is slow to leave is gone only when the load has begun.
    if (lines === 1 && !existsSync(out)) {
      assert.doesNotMatch(stderr, /^exit 0$/m, 'nothing was done, which is no success');
    } else {
      assert.match(stderr, /^exit 0\n$/);
      const run = readJson(out);
      assert.equal(run.end, 'output_closed');
      assert.equal(run.audit.exact, true);
    }
  });
}
