/** Four real instances on one chain become one run file: exactly, or not at all. */
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { anvilFor } from '../helpers/anvil.js';
import { exited, readJson, runStress } from '../helpers/cli.js';
import { readRows } from '../helpers/rows.js';
import { schemaErrors } from '../helpers/run-file.js';
import { sumOf } from '../helpers/run-of.js';
import { assertMergedExactly } from '../helpers/scale-out.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { TestContext } from 'node:test'
 */

const INSTANCES = 4;
const THREADS = 5;
const MARKER = 'STRESS_RESULT ';

/** Where the instances have left their run files, their samples and their logs. */
const made = temporaryFolder({ after });
/** @type {any[]} */
let runs = [];

anvilFor('--accounts 20 --block-time 0.1', async ({ url }) => {
  const load = `--rpc ${url} --chain-id 31337 -t ${THREADS} -d 3s --interval 1s --warmup 500ms`;
  const together = `--instances ${INSTANCES} --run-id night --barrier ${made}/barrier --results ${made}/results`;
  await Promise.all(
    Array.from({ length: INSTANCES }, async (_, index) => {
      const args = `${load} ${together} --index ${index} --samples ${made}/${index}.csv`.split(' ');
      const { stdout } = await exited(0, args);
      writeFileSync(join(made, `${index}.log`), stdout);
    }),
  );
  runs = filesIn(join(made, 'results')).map(readJson);
});

/** @param {string} folder */
function filesIn(folder) {
  return readdirSync(folder)
    .sort()
    .map((name) => join(folder, name));
}

/** A folder with the run files as they are, but for one. @param {TestContext} t @param {number} index @param {(run: any) => void} change */
function folderWith(t, index, change) {
  const folder = temporaryFolder(t);
  for (const file of filesIn(join(made, 'results'))) copyFileSync(file, join(folder, basename(file)));
  const file = filesIn(folder)[index];
  const run = readJson(file);
  change(run);
  writeFileSync(file, JSON.stringify(run));
  return folder;
}

/** @param {string[]} args @param {string} input */
function mergeFrom(args, input) {
  return runStress(['merge', '-', ...args], { input });
}

/** What a run file is after kill -9: the last that was written in mid-run. @param {any} run */
function killed(run) {
  Object.assign(run, { end: 'running', partial: true, exitCode: null, audit: null, verdict: null });
  run.generator.samplesDropped = null;
  run.counts.started += 2;
  run.counts.scheduled += 2;
  run.inFlight = 2;
}

describe('stress merge', { concurrency: 2 }, () => {
  test('prints the warnings of the instances, as stress report does those of a run', async (t) => {
    const folder = folderWith(t, 1, (run) => (run.warnings = ['the clock was set back']));
    const { stderr } = await exited(0, ['merge', folder]);
    assert.match(stderr, /^WARN: 1 of 4 instances: the clock was set back$/m);
    const reported = await exited(0, ['report', filesIn(folder)[1]]);
    assert.match(reported.stderr, /^WARN: the clock was set back$/m);
  });

  test('adds up exactly what all instances did', async (t) => {
    const out = join(temporaryFolder(t), 'merged.json');
    const { stdout } = await exited(0, ['merge', join(made, 'results'), '--expect', '4', '--out', out]);
    const merged = readJson(out);
    assert.deepEqual(schemaErrors(merged), []);
    assertSums(merged);
    assert.match(stdout, /4 instances as one/);
    assert.match(stdout, /audit +exact: 20 counters/);
    assert.deepEqual([merged.partial, merged.end, merged.exitCode, merged.audit.exact], [false, 'duration', 0, true]);
    assert.deepEqual([merged.config.threads, merged.merged.runId, merged.merged.missing], [20, 'night', []]);
    const starts = runs.map(({ window }) => Date.parse(window.startedAt));
    assert.equal(merged.merged.rawStartSkewMs, Math.max(...starts) - Math.min(...starts));
    assert.equal(merged.merged.clockSkewMs, 0, 'it is one machine');
  });

  test('is read by everything that reads run files', async (t) => {
    const folder = temporaryFolder(t);
    const [out, html] = [join(folder, 'merged.json'), join(folder, 'merged.html')];
    const limits = ['--threshold', 'verified>0', '--threshold', 'tps>100000'];
    await exited(99, ['merge', join(made, 'results'), '--out', out, '--html', html, ...limits]);
    const [first, second] = readJson(out).thresholds;
    assert.deepEqual([first.passed, second.passed], [true, false]);
    assert.match(readFileSync(html, 'utf8'), /^<!doctype html>/i);
    const report = await runStress(['report', out]);
    assert.match(report.stdout, /^ {2}start +all within [\d,]+ ms, by the clock of \S+$/m);
    const other = join(folder, 'other.json');
    writeFileSync(other, JSON.stringify({ ...readJson(out), id: runs[0].id }));
    await exited(0, ['compare', out, '--with', other]);
    const nested = await exited(65, ['merge', out]);
    assert.match(nested.stderr, /is a merge itself: give the run files/);
  });

  test('reads logs, with other lines in between, and takes each run once', async () => {
    const logs = Array.from({ length: INSTANCES }, (_, i) => readFileSync(join(made, `${i}.log`), 'utf8'));
    const noisy = logs
      .map((text, i) => text.replace(MARKER, `[pod/stress-${i}/stress] 2026-01-01T00:00:00Z ${MARKER}`))
      .join('a line of another\n');
    const [piped, both] = await Promise.all([
      mergeFrom(['--out', '-'], noisy),
      runStress(['merge', join(made, 'results'), ...logs.map((_, i) => join(made, `${i}.log`)), '--out', '-']),
    ]);
    assert.deepEqual([piped.code, both.code], [0, 0], piped.stderr + both.stderr);
    assertSums(JSON.parse(piped.stdout));
    assert.deepEqual(JSON.parse(both.stdout), JSON.parse(piped.stdout));
    assert.match(both.stderr, /run files that were given twice, and count once: 4$/m);
  });

  test('a killed instance is named, and what is unresolved of it', async (t) => {
    const folder = folderWith(t, 1, killed);
    const out = join(temporaryFolder(t), 'merged.json');
    const refused = await exited(75, ['merge', folder, '--out', out]);
    const lacks = /^stress: 3 of 4 instances are whole; ended before their runs did: instance 1 \(--partial/m;
    assert.match(refused.stderr, lacks);
    assert.throws(() => readFileSync(out), 'nothing was written');
    const { stdout, stderr } = await exited(0, ['merge', folder, '--partial', '--out', out]);
    const merged = readJson(out);
    assert.deepEqual(schemaErrors(merged), []);
    assert.deepEqual([merged.partial, merged.inFlight, merged.audit.exact], [true, 2, false]);
    const { endedAt } = runs[1];
    assert.deepEqual(merged.merged.unresolved, [
      { index: 1, offset: 5, threads: 5, inFlight: 2, lastKnownAt: endedAt },
    ]);
    assert.match(stdout, /unresolved {2}instance 1, wallets 5\.\.9: PARTIAL: 2 operations in flight at /);
    assert.match(stdout, /audit +INCOMPLETE: 15 counters grew by /);
    assert.match(stdout, /^ {4}not checked: instance 1 \(wallets 5\.\.9\): /m);
    assert.match(stderr, /the audit is incomplete: instance 1/);
  });

  test('an instance that is missing: named, and the audit is exact for those present, and incomplete', async (t) => {
    const folder = folderWith(t, 3, () => {});
    // One that was killed before its load leaves the name that it claimed.
    writeFileSync(filesIn(folder)[3], '');
    const refused = await exited(75, ['merge', folder]);
    assert.match(refused.stderr, /3 of 4 instances are whole; missing: 3 \(--partial/);
    assert.match(refused.stderr, /-00003-0\.json is no run file/);
    const out = join(temporaryFolder(t), 'merged.json');
    const partial = ['merge', folder, '--partial', '--out', out, '--threshold', 'audit=exact'];
    const { stdout, stderr } = await exited(99, partial);
    const { audit, merged } = readJson(out);
    assert.deepEqual(schemaErrors(readJson(out)), []);
    assert.deepEqual([audit.exact, audit.result], [false, 'incomplete']);
    assert.deepEqual(audit.incomplete, ['instance 3 is missing (wallets 15..19)']);
    for (const { auditResult } of merged.instances) assert.equal(auditResult, 'exact');
    assert.match(stdout, /3 of 4 instances as one/);
    assert.match(stdout, /unresolved {2}instance 3, wallets 15\.\.19: MISSING/);
    assert.match(stdout, /audit +INCOMPLETE: 15 counters grew by /);
    assert.match(stdout, /audit=exact +FAILED +incomplete/);
    assert.match(stderr, /the audit is incomplete: instance 3 is missing \(wallets 15\.\.19\)/);
  });

  test('an instance that is not exact: so is the merge, and its exit code is 76, whatever is missing', async (t) => {
    const folder = folderWith(t, 1, (run) => {
      run.exitCode = 76;
      Object.assign(run.audit, { exact: false, result: 'not_exact', mismatchCount: 1 });
    });
    const files = filesIn(folder).slice(0, 3);
    for (const args of [[folder], [...files, '--partial']]) {
      const { stdout } = await exited(76, ['merge', ...args]);
      assert.match(stdout, /audit +NOT EXACT/);
    }
  });
});

/** Beside the counts: the rows, what the generators used, and the audit. @param {any} merged */
function assertSums(merged) {
  const instances = runs.map((run, i) => ({ run, rows: readRows(join(made, `${i}.csv`)) }));
  assertMergedExactly(merged, instances);
  const sum = (/** @type {(run: any) => number} */ of) => sumOf(runs.map(of));
  for (const [name, count] of Object.entries(merged.counts))
    assert.equal(
      sumOf(merged.intervals.map((/** @type {any} */ row) => row.counts[name])),
      count,
      `${name} of the rows`,
    );
  for (const name of ['cpuUs', 'readBackRetries'])
    assert.equal(
      merged.generator[name],
      sum(({ generator }) => generator[name]),
    );
  assert.equal(merged.audit.effectsOnChain, String(sum(({ audit }) => Number(audit.effectsOnChain))));
  assert.equal(merged.audit.wallets, INSTANCES * THREADS);
}
