import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Distribution } from '../../../src/stats/histogram.js';
import { isWhole, reader } from '../../../src/studies/run-files.js';
import { checkSize } from '../../../src/studies/plan.js';
import { resultText } from '../../../src/outputs/table.js';
import { howItWasMade, sweepMarkdown, sweepResult } from '../../../src/studies/sweep-text.js';
import { sweep } from '../../../src/studies/sweep.js';
import { equalBy } from '../../helpers/equal-by.js';
import { runFileOf } from '../../helpers/samples.js';
import { sweepOf } from '../../helpers/sweep-file.js';
import { temporaryFile, temporaryFolder } from '../../helpers/temporary.js';
import { ENVIRONMENT, runOf } from './runs.js';
import { studied } from './study.js';

/**
 * @import { RunFile } from '../../../src/contracts/run-file.d.ts'
 * @import { Asked } from './study.js'
 */

/** @param {{tps?: number, ms?: number, asked?: number | null, achieved?: number, isGrowing?: boolean}} figures @returns {RunFile} */
function measured({ tps = 100, ms = 100, asked = null, achieved = tps, isGrowing = false }) {
  const run = runOf(1);
  const total = new Distribution();
  if (tps > 0) total.record(1000 * ms);
  const halves = [1, isGrowing ? 300 : 1].map((factor) => ({ count: 10, sumUs: 10_000 * factor }));
  return /** @type {RunFile} */ ({
    ...run,
    rates: { ...run.rates, verifiedPerSecond: tps, askedPerSecond: asked, achievedPerSecond: achieved },
    window: { ...run.window, counts: { ...run.window.counts, scheduled: 100, verified: tps } },
    blocks: { ...run.blocks, count: 20 },
    latency: { ...run.latency, total: total.toJSON(), halves },
  });
}

/** The settings of a run from its arguments, such as "100 tcp". @param {Asked} asked */
const settingsOf = ({ args }) => args.map((arg) => arg.split('=')[1]).join(' ');

/** @param {string} folder @param {string[]} args @param {Parameters<typeof studied>[2]} [answer] */
function swept(folder, args, answer = () => ({ run: measured({}) })) {
  const duration = args.some((arg) => arg.startsWith('--stages')) ? [] : ['-d=1s'];
  const line = ['sweep', ...duration, '--rest=0s', `--dir=${join(folder, 'it')}`, ...args];
  const made = studied(async (config, parts, tools) => (await sweep(config, parts, tools)).exitCode, line, answer);
  return { ...made, sweepFile: async () => (await reader('sweep'))(join(folder, 'it', 'sweep.json')) };
}

describe('sweep()', () => {
  it('makes all runs, every second round backwards, and keeps their figures in their order', async (t) => {
    const folder = temporaryFolder(t);
    const tps = new Map([
      ['5 20', [20, 20]],
      ['5 40', [38, 40]],
      ['10 20', [20, 20]],
      ['10 40', [20, 24]],
    ]);
    const seen = /** @type {Record<string, number>} */ ({});
    const { result, runs, lines, sweepFile } = swept(folder, ['-t=5,10', '--rate=20,40', '--repeat=2'], (asked) => {
      const name = settingsOf(asked);
      seen[name] = (seen[name] ?? -1) + 1;
      return { run: measured({ tps: tps.get(name)?.[seen[name]], asked: Number(name.split(' ')[1]), ms: 50 }) };
    });
    assert.equal(await result, 0);
    const forwards = ['5 20', '5 40', '10 20', '10 40'];
    assert.deepEqual(runs.map(settingsOf), [...forwards, ...forwards.toReversed()]);
    const file = await sweepFile();
    equalBy(file.cells, ({ asked, metrics, saturated }) => [asked, metrics.tps, metrics['node.cpu'], saturated], [
      [20, [20, 20], [null, null], false],
      [40, [38, 40], [null, null], false],
      [20, [20, 20], [null, null], false],
      [40, [20, 24], [null, null], true],
    ]);
    assert.equal(file.cells[3].runs[1].file, 'cells/threads-10_rate-40_2.json');
    const text = lines.join('\n');
    assert.match(text, /\nSweep: complete, 8 of 8 runs \(mean ± standard deviation of 2\); node\/v1 at /);
    assert.match(
      text,
      /\n {2}TPS +rate=20 +rate=40\n {2}threads=5 +20 ± 0 +39 ± 1\.41\n {2}threads=10 +20 ± 0 +22 ± 2\.83 \*\n/,
    );
    assert.match(
      text,
      /\n {2}\* saturated\n {2}threads=5: not saturated up to rate=40\n {2}threads=10: saturated from rate=40 on: /,
    );
    const [head, ...rows] = readFileSync(join(folder, 'it', 'sweep.csv'), 'utf8')
      .trim()
      .split('\n')
      .map((row) => row.split(','));
    const columns = ['threads', 'rate', 'repeat', 'tps', 'rssBytes'].map((name) => head.indexOf(name));
    assert.deepEqual(columns.map((i) => rows[7][i]).slice(0, 4), ['10', '40', '2', '24']);
    assert.ok(columns.every((i) => i >= 0) && rows.every((row) => row.length === head.length));
  });

  it('goes on without a run that measured nothing, and says what is missing', async (t) => {
    const { result, lines, sweepFile } = swept(temporaryFolder(t), ['-t=5,10'], ({ number }) =>
      number === 1 ? { exitCode: 69, run: null, complaint: 'connection refused' } : { run: measured({}) },
    );
    assert.equal(await result, 69);
    const { end, cells } = await sweepFile();
    assert.deepEqual(
      [end, cells[0].metrics.tps, cells[0].runs[0].complaint],
      ['incomplete', [null], 'connection refused'],
    );
    assert.match(
      lines.join('\n'),
      /\n {2}threads=5, run 1: exit code 69, connection refused\n[^]*1 of 2 runs missing: the same/,
    );
  });

  it('ends with a run whose error all others would have', async (t) => {
    const { result, runs, sweepFile } = swept(temporaryFolder(t), ['-t=5,10'], () => {
      return { exitCode: 77, run: null, complaint: 'refused' };
    });
    await assert.rejects(result, { exitCode: 77, message: 'the run threads=5 failed: refused' });
    assert.deepEqual([runs.length, (await sweepFile()).end], [1, 'failed']);
  });

  it('throws its first error also if the results cannot be written', async (t) => {
    const folder = temporaryFolder(t);
    const { result } = swept(folder, ['-t=5,10'], () => {
      mkdirSync(join(folder, 'it', 'sweep.csv'));
      return { exitCode: 77, run: null, complaint: 'the first error' };
    });
    await assert.rejects(result, { message: 'the run threads=5 failed: the first error' });
  });

  it('takes the rate of --stages from the runs, and marks lower bounds', async (t) => {
    const { result, lines, sweepFile } = swept(temporaryFolder(t), ['-t=5,10', '--stages=0:90/10s'], () => {
      const run = runFileOf({ environment: ENVIRONMENT });
      return { run: { ...run, rates: { ...run.rates, askedPerSecond: 95 } } };
    });
    await result;
    const [{ asked, atLeast }] = (await sweepFile()).cells;
    assert.deepEqual([asked, atLeast], [95, ['avg', 'p90', 'p99', 'max']]);
    assert.match(lines.join('\n'), /\n {2}threads +asked\/s +TPS +avg ms .*\n {2}5 +95 +\S+ +>= 188 /);
  });

  /** @type {Array<[string, string[], RegExp]>} */
  const changes = [
    [
      'another repeat',
      ['-t=5,10', '--repeat=3'],
      /another study: --repeat was 2 and is 3; give --dir another folder, or --fresh to make all runs anew$/,
    ],
    ['another axis', ['-t=5,10', '--rate=1,2', '--repeat=2'], /--rate was not given and is 1,2/],
    ['other values', ['-t=5,11', '--repeat=2'], /--threads was 5,10 and is 5,11/],
  ];
  it('continues only the same sweep', async (t) => {
    const folder = temporaryFolder(t);
    await swept(folder, ['-t=5,10', '--repeat=2']).result;
    for (const [name, args, words] of changes)
      await assert.rejects(swept(folder, args).result, { code: 'bad_input', message: words }, name);
  });

  it('makes at most 1,000 runs', async (t) => {
    const folder = temporaryFolder(t);
    const { result } = swept(folder, ['-t=1..100', '--repeat=11']);
    await assert.rejects(result, {
      exitCode: 64,
      message: /1,100 runs \(100 of --threads x --repeat 11\): at most 1000/,
    });
    assert.ok(!existsSync(join(folder, 'it')));
    const values = Array.from({ length: 100 }, (_, i) => String(i));
    checkSize([{ name: 'threads', values }], 10);
    assert.deepEqual(readdirSync(folder), []);
  });
});

describe('saturation', () => {
  /** @typedef {Parameters<typeof measured>[0]} Figures */
  /** @param {number[]} all at 100, 200, 300 per second */
  const rates = (all) => Object.fromEntries(all.map((tps, i) => [String(100 * (i + 1)), { tps }]));
  /** @param {Array<[threads: number, tps: number, ms: number]>} all */
  const wallets = (all) => Object.fromEntries(all.map(([threads, tps, ms]) => [String(threads), { tps, ms }]));

  /** @param {Asked} asked */
  const rateOf = ({ args }) => {
    const rate = args.find((arg) => arg.startsWith('--rate='));
    return rate === undefined ? null : Number(rate.slice(7));
  };

  const upTo = (/** @type {number} */ rate) => ['-t=5', `--rate=${[100, 200, 300, 400].filter((one) => one <= rate)}`];
  const late = { 100: { tps: 80, achieved: 100 }, 101: { tps: 80, achieved: 101, isGrowing: true } };
  const [small, middle] = /** @type {Array<[number, number, number]>} */ ([[10, 100, 100], [40, 390, 102]]); // prettier-ignore
  const grid = { '10 undici': { tps: 100 }, '100 undici': { tps: 100, ms: 900 } };
  const other = { '10 tcp': { tps: 100 }, '100 tcp': { tps: 900, ms: 900 } };
  const noise = 'rate=100 may be noise, a higher load did better; --repeat shows whether';
  const from = (/** @type {string} */ load, /** @type {string} */ why) => [`saturated from ${load} on: ${why}`];
  const more = '400 TPS are 2.56 % more than at threads=40, while the mean latency grew by 145 %';
  const none = '100 TPS are 0 % more than at threads=10, while the mean latency grew by 800 %';
  const ofGrid = [`transport=undici: ${from('threads=100', none)}`, 'transport=tcp: not saturated up to threads=100'];
  const nothing = 'nothing was verified, after 390 TPS at threads=40';
  /** What is asked for, the figures of each cell, and what is said of each line. @type {Array<[string, string[], Record<string, Figures>, string[]]>} */
  const table = [
    ['less than 90 %', upTo(300), rates([100, 195, 210]), from('rate=300', '70 % of the rate was held')],
    ['exactly a tenth less', upTo(300), rates([100, 180, 270]), ['not saturated up to rate=300']],
    ['less, not so above', upTo(300), rates([80, 200, 300]), [`not saturated up to rate=300; ${noise}`]],
    [
      'less below and above',
      upTo(400),
      rates([80, 200, 200, 100]),
      from('rate=300', `66.7 % of the rate was held; ${noise}`),
    ],
    ['ends after the window', ['-t=5', '--rate=100,101'], late, from('rate=101', '77.1 % of the rate was held')],
    ['wallets at a rate', ['-t=1,9', '--rate=100'], wallets([[1, 10, 100], [9, 90, 100]]), []], // prettier-ignore
    [
      'no more',
      ['-t=200,10,40,100'],
      wallets([small, middle, [100, 400, 250], [200, 380, 520]]),
      from('threads=100', more),
    ],
    ['equal latency', ['-t=10,20'], wallets([small, [20, 101, 101]]), ['not saturated up to threads=20']],
    ['a collapse', ['-t=10,40,100'], wallets([small, middle, [100, 0, 0]]), from('threads=100', nothing)],
    ['hardly more', ['-t=100,105'], wallets([[100, 100, 100], [105, 101, 120]]), ['not saturated up to threads=105']], // prettier-ignore
    ['each line of a grid', ['-t=10,100', '--transport=undici,tcp'], { ...grid, ...other }, ofGrid],
    ['no option that raises the load', ['-t=5', '--transport=undici,tcp'], {}, []],
  ];
  for (const [name, args, figures, words] of table)
    it(name, async (t) => {
      const { result, sweepFile } = swept(temporaryFolder(t), args, (asked) => ({
        run: measured({ asked: rateOf(asked), ...figures[settingsOf(asked)] }),
      }));
      await result;
      const { saturation, cells } = await sweepFile();
      equalBy(saturation, (line) => line.words, words);
      assert.ok(cells.every(({ saturated, why }) => saturated === (why !== null)));
    });
});

describe('the texts of a sweep', () => {
  const GRID = sweepOf([{ settings: { rate: '25', connections: '1' }, metrics: { tps: [1], avg: [5e4], cpu: [350] } }]);

  it('show no control characters, and no tables if nothing was measured', () => {
    const [cell] = sweepOf([{ settings: { threads: '10' } }]).cells;
    const runs = cell.runs.map((run) => ({ ...run, exitCode: 69, complaint: 'connection refused' }));
    const empty = sweepOf([{ settings: { threads: '10' } }], { end: 'incomplete', cells: [{ ...cell, runs }] });
    assert.equal(
      resultText(sweepResult(empty)),
      '\nSweep: some runs measured nothing, 0 of 1 run\n  threads=10, run 1: exit code 69, connection refused\n  verdict   nothing was measured',
    );
    assert.match(
      resultText(sweepResult({ ...GRID, warnings: ['be warned\u001b[2J'] })),
      /\n {2}be warned \[2J\n {2}verdict {3}the most was 1 verified per second, at rate=25 connections=1$/,
    );
  });

  it('are Markdown in which words of others are text', () => {
    const environment = { ...ENVIRONMENT, endpoint: 'http://a|b', clientVersion: 'x`<b>\n# y' };
    const three = sweepOf([{ settings: { a: '1', b: '2', c: '3' }, metrics: { tps: [1.5], cpu: [350] } }], {
      environment,
    });
    const text = sweepMarkdown(three);
    assert.match(
      text,
      /^\*\*the most was 1\.5 verified per second, at a=1 b=2 c=3\*\*\n\n\*\*All cells\*\*\n\n\| a \| b \| c \| TPS \|.*CPU us/,
    );
    assert.match(text, /\n\| 1 \| 2 \| 3 \| 1\.5 \| - \|/);
    assert.ok(text.includes(String.raw`http://a\|b, x\`\<b> # y, chain 1`), text);
    assert.ok(text.includes(`\n- ${howItWasMade(three)[0]}\n`));
  });

  it('have the command line', () => {
    const commandLine = `stress sweep -t 5,10 -d 1s --params '["it'\\''s"]'`;
    assert.equal(howItWasMade({ ...GRID, commandLine })[0], commandLine);
  });
});

describe('files of studies', () => {
  it('have runs of full length, or are left out', () => {
    for (const end of /** @type {const} */ (['duration', 'iterations', 'interrupted'])) {
      assert.equal(isWhole({ ...runFileOf(), partial: false, end }), end !== 'interrupted');
      assert.equal(isWhole({ ...runFileOf(), partial: true, end }), false);
    }
  });

  const SWEEP = sweepOf([{ settings: { threads: '10' }, metrics: { tps: [1] } }]);
  /** @type {Array<[string, unknown, RegExp]>} */
  const table = [
    [
      'a sweep of a newer version',
      { ...SWEEP, schema: 'evm-stress/sweep@2' },
      /no sweep file of this version, but .*@2/,
    ],
    ['a run file', { schema: 'evm-stress/run@1' }, /no sweep file of this version, but "evm-stress\/run@1"/],
    ['one without cells', { ...SWEEP, cells: undefined }, /no whole sweep file: \/cells is missing/],
  ];
  for (const [name, json, words] of table)
    it(`are refused: ${name}`, async (t) => {
      const file = temporaryFile(t, 'sweep.json', json);
      await assert.rejects(async () => (await reader('sweep'))(file), { name: 'InputError', message: words });
      if (name === 'a sweep of a newer version')
        await assert.rejects(async () => (await reader('run'))(file), { message: /is no run file of this version/ });
    });
});
