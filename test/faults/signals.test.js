/** The generator's own end, at random instants. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { anvilFor, countersIn } from '../helpers/anvil.js';
import { readJson, spawnStress } from '../helpers/cli.js';
import { expectRows, keepResult } from './results.js';
import { assertNothingLeft, endProcessesOf } from '../helpers/leftovers.js';
import { assertPartialRunFile, assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { Anvil } from '../helpers/anvil.js'
 * @import { TestContext } from 'node:test'
 */

/** @typedef {'set-up' | 'load' | 'drain'} Phase */

const CODES = Object.freeze({ SIGINT: 130, SIGTERM: 143, SIGKILL: null });

/** Fifty in all. @type {Record<keyof typeof CODES, Record<Phase, number>>} */
const TIMES = {
  SIGINT: { 'set-up': 5, load: 7, drain: 5 },
  SIGTERM: { 'set-up': 5, load: 6, drain: 5 },
  SIGKILL: { 'set-up': 5, load: 7, drain: 5 },
};

const LOAD_MS = 3000;
const INTERVAL_MS = 300;
/** How long nodes, keepers and folders may take to go after a kill -9. */
const FOLLOW_MS = 5000;
const SET_UP_MS = 1000;
/** A block a second leaves something to wait for when the load is over. */
const DRAIN_MS = 700;
/** From the contracts file to the load. */
const BEGIN_MS = 150;
/** A run that has ended before its instant is no case; another one takes its place. */
const MOST_TRIES = 3;

const FIRST_INTERVAL = /^ +\d+\.\d s +[\d,]+ +/m;

const slow = anvilFor('--accounts 10 --block-time 1');

/** The instants: a low-discrepancy sequence, the same in every run of this file. @param {number} n @returns {number} in [0, 1) */
function instant(n) {
  return (n * 0.618033988749895) % 1;
}

/**
 * @param {TestContext} t
 * @param {keyof typeof CODES} signal
 * @param {Phase} phase
 * @param {number} n
 * @returns {Promise<{run: any, code: number | null, tookMs: number} | null>} null: it had ended before
 */
async function once(t, signal, phase, n) {
  const TMPDIR = temporaryFolder(t);
  t.after(() => endProcessesOf(TMPDIR));
  const folder = temporaryFolder(t);
  const files = { out: join(folder, 'run.json'), contracts: join(folder, 'contracts.json') };
  // Every second run has a chain that is given, and is still there afterwards; a drain that takes long has one, too.
  const rpc = phase === 'drain' || n % 2 === 0 ? slow : null;
  const given = rpc === null ? [] : ['--rpc', rpc.url, '--contracts', files.contracts];
  const args = ['-t', '10', '-o', '0', '-d', `${LOAD_MS}ms`, '--interval', `${INTERVAL_MS}ms`, '--out', files.out];
  const stress = spawnStress([...args, ...given], { env: { TMPDIR }, timeoutMs: 40_000 });
  if (phase === 'set-up') await sleep(instant(n) * SET_UP_MS);
  else if (phase === 'load') await stress.waitFor(FIRST_INTERVAL);
  // Rows come with the blocks, up to a second late. This file is written just before the load.
  else while (!existsSync(files.contracts) && stress.child.exitCode === null) await sleep(5);
  if (phase === 'load') await sleep(instant(n) * (LOAD_MS - 2 * INTERVAL_MS));
  if (phase === 'drain') await sleep(LOAD_MS + BEGIN_MS + instant(n) * DRAIN_MS);
  if (stress.child.exitCode !== null) return null;
  const wasWritten = existsSync(files.out) && readJson(files.out).partial === false;
  const killedMs = performance.now();
  stress.child.kill(signal);
  const ended = await stress.done;
  const tookMs = performance.now() - killedMs;
  const run = existsSync(files.out) ? readJson(files.out) : null;
  if (signal === 'SIGKILL') {
    await assertNothingLeft(TMPDIR, FOLLOW_MS);
    if (run !== null && !wasWritten) await assertCheckpoint(run, rpc, files.contracts);
    return { run, code: null, tookMs };
  }
  // Before it listens the kernel ends it, and there is nothing to say.
  if (ended.signal === signal && ended.stdout + ended.stderr === '') return { run, code: null, tookMs };
  // The signal came after the end of the run, which has the exit code that its file says.
  // Node takes its signal handlers away a moment before the process is gone: then the kernel ends it.
  const hasEnded = ended.code === 0 || ended.signal === signal;
  if (hasEnded && run?.partial === false && run.exitCode === 0) return null;
  assert.equal(ended.code, CODES[signal], `${ended.signal} ${ended.stderr}`);
  assert.doesNotMatch(ended.stderr + ended.stdout, /\n +at .*:\d+:\d+/, 'a stack trace');
  if (run === null || run.end === 'set_up_failed') assert.match(ended.stderr, /^stress: .*during set-up\n$/);
  else {
    assert.match(ended.stdout, /^Summary/m);
    assert.match(ended.stdout, /audit +exact/);
    assertRunFile(run);
    assert.equal(run.partial ?? false, false);
    assert.equal(run.audit.exact, true);
    if (rpc !== null) {
      const { verified } = run.counts;
      assert.equal(await countersIn(rpc.url, files.contracts), verified + run.audit.includedLate);
    }
  }
  await assertNothingLeft(TMPDIR, FOLLOW_MS);
  return { run, code: ended.code, tookMs };
}

/** @param {any} run @param {Anvil | null} chain @param {string} contracts */
async function assertCheckpoint(run, chain, contracts) {
  assertPartialRunFile(run);
  if (chain !== null) assert.ok((await countersIn(chain.url, contracts)) >= run.counts.verified);
}

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGKILL']);
const PHASES = /** @type {const} */ (['set-up', 'load', 'drain']);

/** @param {string} signal @param {Phase} phase */
function nameOf(signal, phase) {
  return { group: 'Signals', fault: `${signal} in the ${phase}` };
}

expectRows(SIGNALS.flatMap((signal) => PHASES.map((phase) => nameOf(signal, phase))));
for (const signal of SIGNALS) {
  for (const phase of PHASES) {
    const times = TIMES[signal][phase];
    test(`${signal} in the ${phase}, ${times} times`, async (t) => {
      /** @type {Array<{run: any, code: number | null, tookMs: number}>} */
      const all = [];
      /** @type {string[]} */
      const problems = [];
      for (let n = 1; n <= times * MOST_TRIES && all.length + problems.length < times; n += 1) {
        await once(t, signal, phase, n).then(
          (one) => one !== null && all.push(one),
          (error) => problems.push(`${n}: ${error.message}`),
        );
      }
      if (all.length + problems.length < times) problems.push(`${all.length} signals, not ${times}`);
      const files = all.filter(({ run }) => run !== null);
      const verified = files.reduce((sum, { run }) => sum + run.counts.verified, 0);
      const longestMs = Math.max(0, ...all.map(({ tookMs }) => tookMs));
      keepResult(t, {
        group: 'Signals',
        fault: `${signal} in the ${phase}`,
        proof: `${times} processes, each at another instant`,
        seconds: longestMs / 1000,
        verified,
        failures: {},
        timedOut: 0,
        resubmissions: null,
        pace: null,
        exitCode: CODES[signal],
        audit: said(
          signal,
          files.map(({ run }) => run),
        ),
        remark: 'seconds: the longest from the signal to the end',
        client: null,
        problems,
      });
      if (phase !== 'set-up') assert.ok(verified > 0, 'nothing was verified in any of them');
      assert.deepEqual(problems, []);
    });
  }
}

/** @param {string} signal @param {any[]} runs */
function said(signal, runs) {
  if (signal === 'SIGKILL') return `none: ${runs.filter((run) => run.partial).length} checkpoints, all valid`;
  return `exact in all ${runs.length} that had begun their load`;
}
