/** Several threads share a slice: what they did adds up as if one had done it, and however they end it is in order. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { parseEther, toQuantity } from 'ethers';
import { anvilFor, startAnvil } from '../helpers/anvil.js';
import { DEV_WALLETS } from '../helpers/dev-wallets.js';
import { mutant } from '../helpers/mutant.js';
import { schemaErrors } from '../helpers/run-file.js';
import { EXACT, INTERVAL_LINE, STACK_TRACE, runOf, startOf, sumOf } from '../helpers/run-of.js';

/** @import { TestContext } from 'node:test' */

/** `-v`: wallet index, contract address, count. */
const VERIFIED_LINE = /^(\d+) (0x[0-9a-fA-F]{40}) (\d+)$/gm;

/** A chain with a block for each transaction. */
const instant = anvilFor('--accounts 60');
/** A chain with a block every 100 ms. */
const paced = anvilFor('--accounts 60 --block-time 0.1');

/** @param {string} stdout @returns {Map<number, number[]>} the counts that -v says, by wallet */
function countsSaid(stdout) {
  /** @type {Map<number, number[]>} */
  const said = new Map();
  for (const [, index, , count] of stdout.matchAll(VERIFIED_LINE))
    said.set(Number(index), [...(said.get(Number(index)) ?? []), Number(count)]);
  return said;
}

/** All figures of the run are those of its intervals, which leave out no time. @param {any} run */
function assertContiguous({ intervals, counts }) {
  let endMs = 0;
  for (const row of intervals) {
    assert.equal(row.startMs, endMs, 'each row starts at the end of the one before');
    endMs = row.endMs;
  }
  for (const name of ['started', 'verified', 'failed']) {
    const all = intervals.map((/** @type {any} */ row) => row.counts[name]);
    assert.equal(sumOf(all), counts[name], `${name} of all intervals`);
  }
}

/**
 * Every wallet of the slice worked, -v said each increment once and in order, and all figures add up.
 * @param {{run: any, stdout: string, offset: number}} result
 * @param {number} threads
 */
function assertWhole({ run, stdout, offset }, threads) {
  const { counts, blocks, audit } = run;
  assert.ok((blocks.gapMaxMs ?? 0) < 60_000, `no gap is longer than the run: ${blocks.gapMaxMs} ms`);
  assert.deepEqual([audit.exact, audit.effectsOnChain], [true, String(counts.verified)]);
  const said = countsSaid(stdout);
  const slice = Array.from({ length: threads }, (_, i) => offset + i);
  const wallets = [...said.keys()].sort((a, b) => a - b);
  assert.deepEqual(wallets, slice, 'every wallet of the slice, and no other');
  for (const [index, numbers] of said) {
    const ordinals = numbers.map((_, i) => i + 1);
    assert.deepEqual(numbers, ordinals, `each count of wallet ${index} is one more than the one before`);
  }
  const lines = [...said.values()].map(({ length }) => length);
  assert.equal(sumOf(lines), counts.verified, 'a line for each, once');
}

describe('workers share the slice', { concurrency: 2 }, () => {
  for (const [workers, threads, transport, inclusion, chain] of /** @type {const} */ ([
    [3, 7, 'tcp', 'auto', 'embedded'],
    [2, 10, 'undici', 'blocks', 'instant'],
  ]))
    test(`--workers ${workers} -t ${threads}, ${transport}, ${inclusion}, ${chain} blocks`, async (t) => {
      const words = `--workers ${workers} -d 3s --interval 1s -v --transport ${transport} --inclusion ${inclusion}`;
      const own = { chain: chain === 'instant' ? instant : null, threads, isAlone: true };
      const result = await runOf(t, words, own);
      const { run, stdout, stderr, offset } = result;
      assert.equal(stderr, '');
      assert.match(stdout, EXACT);
      assert.match(stdout, new RegExp(`^${threads} wallets \\(${offset}\\.\\.${offset + threads - 1} of `, 'm'));
      assertWhole(result, threads);
      const { generator, counts, environment, end, exitCode } = run;
      assert.deepEqual([exitCode, end, generator.workers], [0, 'duration', workers]);
      assert.equal(environment.embeddedChain, chain === 'embedded');
      assert.ok(generator.transport.connectionsOpened > workers, 'each worker has connections of its own');
      assert.ok(generator.presigned.used > 0, 'transactions are signed ahead in the workers');
      assert.ok(generator.presigned.used + generator.presigned.discarded <= counts.started);
      assert.ok(Number(generator.inclusionResolutionMs) > 0);
    });

  test('--workers auto: one for every two cores, and no more than there are wallets', async (t) => {
    const result = await runOf(t, '--workers auto -d 500ms -v', { chain: paced, threads: 2 });
    const { generator, environment } = result.run;
    assert.equal(generator.workers, Math.max(1, Math.min(2, Math.floor(environment.cores / 2))));
    assertWhole(result, 2);
  });
});

for (const mix of ['counter:80,calls:20', 'counter:20,calls:80'])
  test(`a mix in which one side has fewer wallets than there are workers: ${mix}`, async (t) => {
    const words = `--workers 2 --mix ${mix} --calls wallet --rate 12 -d 1s`;
    const { run } = await runOf(t, words, { chain: paced, threads: 6 });
    const { audit, end, generator } = run;
    assert.deepEqual([end, audit.exact, generator.workers], ['duration', true, 1]);
    assert.equal(generator.rpcCalls.submit, Number(audit.effectsOnChain), 'nothing counts twice');
  });

test('a worker whose wallet runs out of funds ends, and the others go on', async (t) => {
  const result = await runOf(t, '--workers 2 -d 6s', {
    chain: paced,
    threads: 2,
    exit: null,
    during: async ({ waitFor, offset }) => {
      await waitFor(INTERVAL_LINE);
      // Some operations more, so that those in flight are still paid.
      const [address, wei] = [DEV_WALLETS.deriveChild(offset).address, toQuantity(parseEther('0.0003'))];
      await paced.rpc('anvil_setBalance', [address, wei]);
    },
  });
  const { end, generator, failures, audit, intervals } = result.run;
  assert.deepEqual([end, generator.retiredWallets, audit.exact], ['duration', 1, true], result.stdout);
  assert.deepEqual(Object.keys(failures), ['insufficient_funds']);
  const last = intervals.filter((/** @type {any} */ { phase }) => phase === 'load').at(-1);
  assert.ok(last.counts.verified > 0, 'the other wallet worked to the end');
});

test('the endpoint of two workers ends: the run ends by itself with exit 69 and a summary', async (t) => {
  const anvil = await startAnvil({ args: ['--block-time', '0.1'] });
  const words = '--workers 2 -d 1h --tx-timeout 1s --drain-timeout 1s --request-timeout 1s';
  const stress = startOf(t, words, { chain: anvil, threads: 5, isAlone: true });
  await stress.waitFor(INTERVAL_LINE);
  await anvil.stop();
  const { run, stdout, stderr } = await stress.end(69);
  assert.match(stderr, /has not answered for \d+ s|connection refused/);
  assert.doesNotMatch(stderr, STACK_TRACE);
  // After --tx-timeout both are known at once: no response, and all wallets stuck.
  assert.match(stdout, /^Summary: ended because (the endpoint was lost|no wallet was left)/m);
  assert.ok(['endpoint_lost', 'no_wallets'].includes(run.end), run.end);
  assert.equal(run.exitCode, 69);
  assert.ok(run.counts.verified > 0 && run.counts.timedOut + run.counts.failed + run.counts.abandoned > 0);
});

const WORKER = 'src/core/worker-thread.js';
const ADD = { file: 'src/stats/recorder.js', behind: '  add(sample) {\n' };
const THROWS = "throw new Error('planted');";
const DIES = `setTimeout(() => { ${THROWS} }, 50);`;
/** The worker of the part that begins with wallet VICTIM, or that wallet. */
const IS_VICTIM = 'Number(process.env.VICTIM)';
const REPORT = { file: WORKER, behind: '      flushSamples();\n' };

const script = mutant(
  { after },
  {
    early: {
      ...{ file: WORKER, behind: '  const { clock, probes } = platform;\n' },
      code: `if (wallets[0].index === ${IS_VICTIM}) ${THROWS}`,
    },
    late: {
      ...REPORT,
      code: `if (endsInterval && task.wallets[0].index === ${IS_VICTIM} && (task.reports = (task.reports ?? 0) + 1) === 2) ${DIES}`,
    },
    silent: {
      ...{ file: WORKER, behind: '  const aborted = new AbortController();\n' },
      code: `if (task.wallets[0].index === ${IS_VICTIM}) setTimeout(() => { ${THROWS} }, 6000);`,
    },
    'all die': {
      ...{ file: WORKER, behind: '      aborted.abort();\n' },
      code: `setTimeout(() => { ${THROWS} }, 0); await new Promise(() => {});`,
    },
    forgotten: {
      ...ADD,
      code: `if (sample.walletIndex === ${IS_VICTIM} && !this.done) return void (this.done = true);`,
    },
    uncounted: { ...ADD, code: `if (sample.walletIndex === ${IS_VICTIM} && this.counts.verified >= 5) ${THROWS}` },
  },
);

let nextOffset = 24;

/** @param {TestContext} t @param {string} PLANTED @param {number} victim in the slice @param {string} [words] */
async function failing(t, PLANTED, victim, words = '') {
  const threads = 6;
  const offset = nextOffset;
  nextOffset += threads;
  const env = { PLANTED, VICTIM: String(offset + victim) };
  const own = { chain: paced, threads, offset, script, env, isAlone: true };
  const result = await runOf(t, `--workers 2 -d 10m ${words}`, { ...own, exit: 70 });
  // A sample that is not counted may look like one of another sender.
  if (PLANTED !== 'uncounted') assert.doesNotMatch(result.stderr + result.stdout, /not of this run|not ours/);
  assert.doesNotMatch(result.stderr + result.stdout, STACK_TRACE);
  if (result.run !== null) assert.deepEqual(schemaErrors(result.run), []);
  return result;
}

describe('a worker that fails', { concurrency: 2 }, () => {
  test('dies: exit 70 at once, its wallets are named, the figures are those of its last report', async (t) => {
    const { run, stdout, stderr, offset } = await failing(t, 'late', 3, '-v --interval 2s');
    const who = `the worker of wallets ${offset + 3}\\.\\.${offset + 5} died: planted`;
    assert.match(stderr, new RegExp(`^ERROR: ${who}; .*\n$`));
    assert.match(stdout, /^ {2}latency ms/m);
    assert.match(stdout, /audit +INCOMPLETE: .*the worker of wallets/);
    assert.deepEqual([run.exitCode, run.end, run.audit], [70, 'worker_died', null]);
    assertContiguous(run);
    const { counts, latency, inFlight } = run;
    assert.ok(inFlight >= 3, 'what it had in flight at its last report stays so');
    assert.equal(counts.started, counts.verified + counts.failed + counts.timedOut + counts.abandoned + inFlight);
    assert.equal(run.intervals.at(-1).inFlight, inFlight);
    // Operations after the last report of the dead worker are not in the figures.
    const living = [...countsSaid(stdout)].filter(([index]) => index < offset + 3);
    assert.ok(counts.verified >= sumOf(living.map(([, { length }]) => length)));
    const { total, halves } = latency;
    assert.equal(halves[0].count + halves[1].count, total.count);
    const load = run.intervals.filter((/** @type {any} */ { phase }) => phase === 'load');
    assert.equal(run.window.durationMs, load.at(-1).endMs, 'the window ends with the load');
  });

  test('dies after a checkpoint that has no report behind it: the intervals still add up', async (t) => {
    const { run } = await failing(t, 'silent', 3, '--interval 1m');
    assertContiguous(run);
    assert.ok(run.counts.verified > 0);
  });

  test('dies before it is ready: exit 70, and there is no load', async (t) => {
    const { stdout, stderr, offset } = await failing(t, 'early', 3);
    const says = new RegExp(`^stress: the worker of wallets ${offset + 3}\\.\\.${offset + 5} died: planted.*\n`);
    assert.match(stderr, says);
    assert.doesNotMatch(stdout, /^Summary: /m);
  });

  test('all of them die: exit 70, a line for each, a summary', async (t) => {
    // The death of one aborts the run: the other one dies of that, however late its thread started.
    const { run, stdout, stderr, offset } = await failing(t, 'late,all die', 0);
    for (const first of [offset, offset + 3])
      assert.match(stderr, new RegExp(`wallets ${first}\\.\\.${first + 2} died`));
    assert.match(stdout, /^Summary: /m);
    assert.equal(run.exitCode, 70);
    assertContiguous(run);
  });

  test('conservation is broken in it: exit 70 and the wallet', async (t) => {
    const { run, stdout, stderr, offset } = await failing(t, 'forgotten', 4);
    assert.match(stderr, new RegExp(`conservation is broken for wallet ${offset + 4}:`));
    assert.doesNotMatch(stderr, /died/);
    assert.match(stdout, /^Summary: ended by a bug of stress/m);
    assert.equal(run.inFlight, 1, 'the operation that was not counted');
    assert.deepEqual([run.end, run.exitCode], ['internal', 70]);
    assert.deepEqual([run.audit.mismatchCount, run.audit.mismatches[0].walletIndex], [1, offset + 4]);
  });

  test('an exception when a sample is counted: exit 70 with its words, and no interval is lost', async (t) => {
    const { run, stdout, stderr } = await failing(t, 'uncounted', 0, '--drain-timeout 1s');
    assert.match(stderr, /planted/);
    assert.match(stdout, /^Summary: ended by a bug of stress/m);
    assertContiguous(run);
  });
});
