import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { metricOf } from '../../src/studies/metrics.js';
import { equalBy } from '../helpers/equal-by.js';
import { anvilFor } from '../helpers/anvil.js';
import { exited, readJson, runStress, spawnStress, startStress } from '../helpers/cli.js';
import { DEV_MNEMONIC } from '../helpers/dev-wallets.js';
import { endProcessesOf, processesOf } from '../helpers/leftovers.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { SweepFile } from '../../src/contracts/study.d.ts'
 */

const SCHEMA = JSON.parse(readFileSync(new URL('../../docs/sweep.schema.json', import.meta.url), 'utf8'));
/** A sweep is several runs, each with a start of its own; on a busy machine all of that takes its time. */
const timeoutMs = 240_000;
const isDate = (/** @type {string} */ text) => new Date(text).toISOString() === text;
const validate = new Ajv2020({ strict: true, allowUnionTypes: true, formats: { 'date-time': isDate } }).compile(SCHEMA);

/** @param {string} folder @returns {SweepFile} */
function sweepIn(folder) {
  /** @type {any} */
  const sweep = readJson(join(folder, 'sweep.json'));
  const isWhole = validate(sweep);
  assert.ok(isWhole, JSON.stringify(validate.errors));
  return /** @type {any} */ (sweep);
}

/** @param {SweepFile} sweep @returns {Array<{file: string, startedAt: string}>} in the order in which they were made */
function runsOf({ cells }) {
  return cells.flatMap(({ runs }) => runs).sort((a, b) => a.startedAt.localeCompare(b.startedAt));
}

/** @param {string} folder */
function timesIn(folder) {
  return Object.fromEntries(
    readdirSync(join(folder, 'cells')).map((name) => [name, statSync(join(folder, 'cells', name)).mtimeMs]),
  );
}

/** What every sweep that is over has to be. @param {string} folder @param {SweepFile} sweep */
function assertSweep(folder, sweep) {
  for (const { settings, runs, metrics } of sweep.cells) {
    runs.forEach(({ file, exitCode, startedAt, complaint }, i) => {
      const run = readJson(join(folder, file));
      assertRunFile(run);
      assert.deepEqual([run.exitCode, run.startedAt, null], [exitCode, startedAt, complaint]);
      for (const name of ['tps', 'avg', 'p99', 'max', 'cpu', 'verified'])
        assert.equal(metrics[name][i], metricOf(name).read(run), `${name} of ${file}`);
      if (settings.threads !== undefined) assert.equal(run.config.threads, Number(settings.threads));
      if (settings.rate !== undefined) assert.equal(run.config.ratePerSecond, Number(settings.rate));
    });
  }
}

const anvil = anvilFor('-b 0.1');

/** A sweep on a chain that is there. @param {string} [duration] @returns {string[]} */
function quick(duration = '300ms') {
  return ['sweep', '-d', duration, '--warmup', '0s', '--rest', '0s', '--rpc', anvil.url];
}

// One after the other: they use the same wallets.
describe('stress sweep', () => {
  it('runs on a chain for each run, in turn, with options of stress.config.json', async (t) => {
    const cwd = temporaryFolder(t);
    const options = { duration: '300ms', warmup: '0s', rest: '0s', threshold: ['tps>1000000'], out: 'run.json' };
    writeFileSync(join(cwd, 'stress.config.json'), JSON.stringify(options));
    const args = 'sweep -t 5 --rate 20,40'.split(' ');
    const { code, stdout, stderr } = await runStress(args, { cwd, timeoutMs });
    assert.deepEqual([code, stderr], [99, 'stress: the options in stress.config.json are used\n']);
    assert.match(stdout, /^ {2}rate=20, run 1: exit code 99$/m);
    assert.equal(existsSync(join(cwd, 'run.json')), false, 'an option of stress, not of stress sweep');
    const folder = join(cwd, 'sweep');
    const sweep = sweepIn(folder);
    assert.deepEqual([sweep.end, sweep.cells.length, sweep.repeat], ['complete', 2, 1]);
    assertSweep(folder, sweep);
    equalBy(runsOf(sweep), ({ file }) => file, ['cells/rate-20_1.json', 'cells/rate-40_1.json']);
    const chains = runsOf(sweep).map(({ file }) => readJson(join(folder, file)).environment.genesisHash);
    assert.equal(new Set(chains).size, 2, 'each run has a chain of its own');
    for (const row of [/^2\/2 {2}rate=40 {2}TPS /m, /^Sweep: complete, 2 of 2 runs/m, /^ {2}rate +asked\/s +TPS /m])
      assert.match(stdout, row);
    const [head, ...rows] = readFileSync(join(folder, 'sweep.csv'), 'utf8').trim().split('\n');
    assert.doesNotMatch(head, /undefined/);
    assert.equal(rows.length, 2);
    assert.match(readFileSync(join(folder, 'sweep.md'), 'utf8'), /^\| 40 \|/m);

    const times = timesIn(folder);
    const again = await exited(99, args, { cwd, timeoutMs });
    assert.match(again.stdout, /^2 runs kept, already in sweep\n/);
    assert.deepEqual([timesIn(folder), sweepIn(folder)], [times, sweep], 'nothing was run');
    assert.ok(again.stdout.endsWith(stdout.slice(stdout.indexOf('\nSweep:'))), 'and the same is printed');

    const other = await exited(65, [...args, '--interval', '1s'], { cwd, timeoutMs });
    assert.match(other.stderr, /^stress: sweep holds another study: --interval was not given and is 1s; give --dir/m);
  });

  it('is interrupted in good order, and goes on where it was', async (t) => {
    const cwd = temporaryFolder(t);
    const args = [...quick('600ms'), '-t', '2,3', '--repeat', '2', '--dir', 'kept'];
    const first = startStress(args, { cwd, timeoutMs });
    await first.waitFor(/^1\/4 .*\n/m);
    // It must not come to its end while another one starts.
    first.child.kill('SIGSTOP');
    const meanwhile = await runStress(args, { cwd, timeoutMs });
    const says = `another stress (pid ${first.child.pid}) is at work in kept: give --dir another folder`;
    assert.deepEqual([meanwhile.code, meanwhile.stderr], [73, `stress: ${says}\n`]);
    first.child.kill('SIGINT');
    first.child.kill('SIGCONT');
    const { code, stdout } = await first.done;
    assert.equal(code, 130);
    assert.ok(!existsSync(join(cwd, 'kept', '.lock')));
    assert.match(stdout, /^Sweep: interrupted, [1-3] of 4 runs/m);
    assert.match(stdout, /^[1-3] of 4 runs missing: the same command makes them$/m);
    assert.equal(sweepIn(join(cwd, 'kept')).end, 'interrupted');
    const [kept] = runsOf(sweepIn(join(cwd, 'kept')));
    const before = timesIn(join(cwd, 'kept'))[kept.file.slice('cells/'.length)];

    const second = await exited(0, args, { cwd, timeoutMs });
    assert.match(second.stdout, /^[1-3] runs? kept, already in kept\n(warning: .*\n)*[2-4]\/4 /);
    const sweep = sweepIn(join(cwd, 'kept'));
    const files = ['2_1', '3_1', '3_2', '2_2'].map((name) => `cells/threads-${name}.json`);
    equalBy(runsOf(sweep), ({ file }) => file, files);
    assert.equal(sweep.end, 'complete');
    const [once, again] = sweep.cells[1].metrics.tps.map(Number);
    const mean = Number(((once + again) / 2).toPrecision(3));
    assert.match(second.stdout, new RegExp(`^ {2}3 +${mean} ± `, 'm'));
    assert.equal(timesIn(join(cwd, 'kept'))[kept.file.slice('cells/'.length)], before);
    assertSweep(join(cwd, 'kept'), sweep);
  });

  it('leaves nothing running when it is killed, and a file that can be read', async (t) => {
    const cwd = temporaryFolder(t);
    const TMPDIR = temporaryFolder(t);
    t.after(() => endProcessesOf(TMPDIR));
    const args = ['sweep', '-t', '2,3', '-d', '500ms', '--warmup', '0s', '--rest', '0s'];
    const killed = spawnStress(args, { cwd, timeoutMs, env: { TMPDIR } });
    await killed.waitFor(/^1\/2 .*\n/m);
    while (processesOf(TMPDIR).length < 3) {
      assert.equal(killed.child.exitCode, null, 'it ended before it could be killed');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    killed.child.kill('SIGKILL');
    await killed.done;
    const deadline = Date.now() + 40_000;
    while (processesOf(TMPDIR).length > 0 && Date.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 50));
    assert.deepEqual(processesOf(TMPDIR), []);
    const sweep = sweepIn(join(cwd, 'sweep'));
    assert.deepEqual([sweep.end, sweep.endedAt, runsOf(sweep).length], ['running', null, 1]);
    assert.ok(existsSync(join(cwd, 'sweep', '.lock')), 'it had no time to remove it');
    const { stdout } = await exited(0, args, { cwd, timeoutMs });
    assert.match(stdout, /^1 run kept, already in sweep/);
    assert.equal(sweepIn(join(cwd, 'sweep')).end, 'complete');
  });

  it('sweeps flags, and starts a program before each run, which learns no secrets', async (t) => {
    const cwd = temporaryFolder(t);
    const script = join(cwd, 'before cell.mjs');
    writeFileSync(
      script,
      `import { appendFileSync } from 'node:fs';
      appendFileSync('seen', JSON.stringify([process.argv[2], process.env]) + '\\n');
      console.log('reset');`,
    );
    const args = [...quick(), '-t', '2', '--no-keep-alive', 'false,true'];
    const options = { cwd, timeoutMs, env: { STRESS_MNEMONIC: DEV_MNEMONIC } };
    const { stderr } = await exited(0, [...args, `--before-cell=${process.execPath} '${script}' "a  b"`], options);
    assert.equal(stderr, '');
    assert.equal(readFileSync(join(cwd, 'sweep', 'before-cell.log'), 'utf8'), 'reset\n');
    const sweep = sweepIn(join(cwd, 'sweep'));
    assertSweep(join(cwd, 'sweep'), sweep);
    for (const { settings, runs } of sweep.cells) {
      const { transport } = readJson(join(cwd, 'sweep', runs[0].file)).environment;
      assert.equal(!transport.keepAlive, settings['no-keep-alive'] === 'true');
    }
    const lines = readFileSync(join(cwd, 'seen'), 'utf8').trim().split('\n');
    const seen = lines.map((line) => JSON.parse(line));
    const cells = sweep.cells.map(({ settings }) => [...['a  b', `no-keep-alive=${settings['no-keep-alive']}`, '1']]);
    equalBy(seen, ([word, env]) => [word, env.STRESS_CELL, env.STRESS_REPEAT], cells);
    assert.doesNotMatch(JSON.stringify(seen), /junk/);
    const { beforeCell } = sweep;
    for (const name of ['sweep.json', 'sweep.md']) {
      const text = readFileSync(join(cwd, 'sweep', name), 'utf8');
      assert.doesNotMatch(text, /junk|before cell\.mjs/);
      assert.ok(beforeCell && text.includes(beforeCell), `${name} says that there was a program, not which`);
    }
    const without = await exited(65, args, { cwd, timeoutMs });
    assert.match(without.stderr, /--before-cell was a command with SHA-256 [0-9a-f]{16}\.\.\. and is not given;/);
  });

  it('ends when that program fails, before the run', async (t) => {
    const cwd = temporaryFolder(t);
    const args = [...quick(), '-t', '2,3', '--before-cell', 'echo gone; exit 3'];
    const { stderr } = await exited(69, args, { cwd });
    assert.match(stderr, /^stress: --before-cell, before threads=2: exit code 3; its last words: gone \(/);
    assert.deepEqual([sweepIn(join(cwd, 'sweep')).end, readdirSync(join(cwd, 'sweep', 'cells'))], ['failed', []]);
  });

  it('goes on after runs that measured nothing, but not for ever', async (t) => {
    const cwd = temporaryFolder(t);
    const nowhere = 'sweep -d 300ms --warmup 0s --rest 0s -t 1,2,3,4 --rpc http://127.0.0.1:1';
    const { stdout, stderr } = await exited(69, nowhere.split(' '), { cwd, timeoutMs });
    assert.match(stderr, /^stress: 3 runs in a row measured nothing; the last: .*refused; is the node running\?.*\n$/);
    assert.equal(stdout.match(/^\d\/4 .* measured nothing \(exit code 69\)/gm)?.length, 3);
    const { end, cells } = sweepIn(join(cwd, 'sweep'));
    assert.deepEqual([end, cells.map(({ runs }) => runs.length)], ['failed', [1, 1, 1, 0]]);
    assert.match(cells[0].runs[0].complaint ?? '', /refused/);
  });

  it('checks every cell before the first run', async (t) => {
    const cwd = temporaryFolder(t);
    const args = [...quick(), '-t', '2,1', '--in-flight', '1,2', '--workload', 'transfer'];
    const { stderr } = await exited(64, args, { cwd });
    const says = /^stress: threads=1 in-flight=1: --workload transfer pays from wallet to wallet and has only one/;
    assert.match(stderr, says);
    assert.deepEqual(readdirSync(cwd), []);
  });
});
