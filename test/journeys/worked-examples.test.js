/** The examples of docs/contributing.md: each is applied to a copy of the tree, and the result runs. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { freePort } from '../helpers/anvil.js';
import { ROOT, exited, runStress } from '../helpers/cli.js';
import { schemaErrors } from '../helpers/run-file.js';
import { startOf, sumOf } from '../helpers/run-of.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { RunOptions } from '../helpers/run-of.js'
 * @import { TestContext } from 'node:test'
 */

const PAGE = readFileSync(join(ROOT, 'docs/contributing.md'), 'utf8');

/**
 * @param {TestContext} t
 * @param {string} title of a section that links to one patch
 * @returns {string} bin/stress.js of a copy to which the patch is applied
 */
function copyWith(t, title) {
  const [, section = ''] = PAGE.split(`## ${title}\n`);
  const [, patch] = /\((examples\/extend\/[\w-]+\.diff)\)/.exec(section.split('\n## ')[0]) ?? [];
  assert.ok(patch !== undefined, `no patch below ${title}`);
  const copy = temporaryFolder(t);
  for (const name of ['src', 'bin', 'docs', 'contracts', 'scripts', '.prettierrc.json', 'package.json'])
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const { status, stderr } = spawnSync('git', ['apply', join(ROOT, 'docs', patch)], { cwd: copy, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return join(copy, 'bin/stress.js');
}

/** A run with all that shows a figure; PLANTED: some figures are not those of this program. @param {TestContext} t @param {string} script @param {string} words */
async function shown(t, script, words) {
  const port = await freePort();
  const outputs = `--html DIR/run.html --prometheus 127.0.0.1:${port} --explain`;
  /** @type {RunOptions} */
  const options = { threads: 4, offset: 0, script, timeoutMs: 60_000, env: { PLANTED: 'an example' } };
  const stress = startOf(t, `-d 3s --workers 2 ${words} ${outputs}`, options);
  await stress.waitFor(/^ +[1-9]\.\d s /m);
  const prometheus = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return { prometheus, ...(await stress.end()) };
}

describe('docs/contributing.md', () => {
  it('adds an option', async (t) => {
    const script = copyWith(t, 'How to add an option');
    const { stdout: help } = await runStress(['--help-all'], { script });
    assert.match(help, /^ +--title TEXT +a name for the run, which is printed first$/m);
    const { stdout } = await exited(0, ['-t', '2', '-d', '500ms', '--title', 'nightly'], { script });
    assert.match(stdout, /^run nightly\n/);
  });

  it('adds a workload', async (t) => {
    const script = copyWith(t, 'How to add a workload');
    const { stdout: help } = await runStress(['fund', '--help-all'], { script });
    assert.match(help, /--workload NAME[^]*values:\s+empty,\s+counter,/);
    const { stdout } = await exited(0, ['-t', '2', '-d', '1s', '--workload', 'empty'], { script });
    assert.match(stdout, /^ {2}audit +exact: 2 wallets deployed [1-9]/m);
  });

  it('adds an output', async (t) => {
    const script = copyWith(t, 'How to add an output');
    const file = join(temporaryFolder(t), 'rates.csv');
    await exited(0, ['-t', '2', '-d', '2s', '--interval', '200ms', '--rates', file], { script });
    assert.match(readFileSync(file, 'utf8'), /^end_ms,tps\n([\d.]+,[\d.]*\n){4,}$/);
  });

  it('adds an observer', async (t) => {
    const script = copyWith(t, 'How to add an observer');
    const file = join(temporaryFolder(t), 'run.json');
    const load = ['-t', '4', '-d', '2s', '--workers', '2', '--out', file];
    const { stderr } = await runStress([...load, '--threshold', 'resent<=0'], { script });
    assert.match(stderr, /--threshold on resent needs the observer that counts them: --resent/);
    await exited(0, [...load, '--resent', '--threshold', 'resent<=0'], { script });
    const run = JSON.parse(readFileSync(file, 'utf8'));
    assert.deepEqual([run.resent, run.thresholds[0].value], [{ operations: 0 }, 0]);
  });

  it('adds a control', async (t) => {
    const script = copyWith(t, 'How to add a control');
    const file = join(temporaryFolder(t), 'run.json');
    const load = ['-t', '40', '-d', '3s', '--workers', '2', '--ease-above', '2', '--out', file];
    const { stderr } = await exited(64, load, { script });
    assert.match(stderr, /--ease-above needs a rate: give --rate/);
    await exited(0, [...load, '--rate', '200'], { script });
    const { window, audit } = JSON.parse(readFileSync(file, 'utf8'));
    const perSecond = (1000 * window.counts.scheduled) / window.durationMs;
    // Without the control 200 per second are scheduled exactly. On a busy machine many blocks have none of its transactions.
    assert.ok(perSecond > 90 && perSecond < 199, `${perSecond} per second`);
    assert.equal(audit.result, 'exact');
  });

  it('reads the value of a refusal', async (t) => {
    const script = copyWith(t, 'How to add a client that answers otherwise');
    const { refusalOf } = await import(join(dirname(script), '../src/chain/refusals.js'));
    const { is, stated } = refusalOf({ rpcCode: -32000, rpcMessage: 'fee floor of this network: 3 gwei' });
    assert.deepEqual({ is, stated }, { is: 'price', stated: { priceWei: 3_000_000_000n } });
  });

  it('adds a figure', async (t) => {
    const script = copyWith(t, 'How to add a figure');
    const { folder, prometheus, stdout, run } = await shown(t, script, '--rate 50 --threshold late<=1000');
    const help = 'operations that began more than 1 ms after they were due';
    assert.match(prometheus, new RegExp(`^# HELP stress_late_total ${help}`, 'm'));
    assert.match(prometheus, /^stress_late_total \d+$/m);
    assert.deepEqual(schemaErrors(run), []);
    const rows = run.intervals.map((/** @type {any} */ { counts }) => counts.late);
    assert.equal(sumOf(rows), run.counts.late);
    assert.equal(run.thresholds[0].value, run.counts.late);
    assert.match(stdout, new RegExp(`^  late +${run.counts.late} +${help}$`, 'm'));
    assert.match(stdout, new RegExp(`^  late +${help}$`, 'm'));
    assert.match(
      readFileSync(join(folder, 'run.html'), 'utf8'),
      new RegExp(`<dt>late</dt>\\s*<dd>${run.counts.late}</dd>`),
    );
    writeFileSync(join(folder, 'other.json'), JSON.stringify({ ...run, id: run.id.replace(/^.{8}/, '00000000') }));
    const sides = ['compare', join(folder, 'run.json'), '--with', join(folder, 'other.json')];
    const compared = await runStress([...sides, '--metric', 'late'], { script });
    assert.match(compared.stdout, /^ *late \* +\d/m, compared.stderr);
  });

  it('adds a distribution', async (t) => {
    const script = copyWith(t, 'How to add a distribution');
    const root = join(dirname(script), '..');
    const written = spawnSync(process.execPath, [join(root, 'scripts/make-run-schema.js')], { encoding: 'utf8' });
    assert.equal(written.status, 0, written.stderr);
    const words = '--threshold asking.p99<=1m --hlog DIR/run.hlog';
    const { folder, prometheus, stdout, run } = await shown(t, script, words);
    assert.match(prometheus, /^stress_stage_seconds_count\{stage="asking"\} [1-9]/m);
    assert.deepEqual(schemaErrors(run, JSON.parse(readFileSync(join(root, 'docs/run.schema.json'), 'utf8'))), []);
    const { total, censored, stages } = run.latency;
    assert.equal(sumOf(Object.values(stages).map(({ sumUs }) => sumUs)), total.sumUs - censored.sumUs);
    assert.deepEqual([stages.asking.count, run.thresholds[0].value], [stages.queued.count, stages.asking.p99Us]);
    assert.match(stdout, /^ {4}asking +\d/m);
    assert.match(
      stdout.replace(/\n {14,}/g, ' '),
      /^ {2}stages .* asking \(to the read sent that found the effect\), read-back /m,
    );
    assert.match(readFileSync(join(folder, 'run.html'), 'utf8'), />asking [\d.,]+ (us|ms) \(/);
    assert.match(readFileSync(join(folder, 'run.hlog'), 'utf8'), /^Tag=asking,/m);
    const earlier = await exited(0, ['report', join(ROOT, 'test/fixtures/runs-0.1/closed-loop.json')], { script });
    assert.doesNotMatch(earlier.stdout, /asking/);
  });
});
