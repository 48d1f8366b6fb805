import assert from 'node:assert/strict';
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { RUNS_MAY_DIFFER_IN } from '../../../src/cli/options.js';
import { Stop } from '../../../src/core/stop.js';
import { compareResult, parseFailIf } from '../../../src/studies/compare-text.js';
import { compare, compareExit } from '../../../src/studies/compare.js';
import { readCompare } from '../../../src/studies/run-files.js';
import { runUntilSure } from '../../../src/studies/until-sure.js';
import { renderCompare } from '../../../src/report/compare-page.js';
import { temporaryFolder } from '../../helpers/temporary.js';
import { runOf } from './runs.js';
import { studied } from './study.js';

/**
 * @import { Both, RunFile } from '../../../src/types.d.ts'
 * @import { Asked } from './study.js'
 */

const [A, B] = ['http://127.0.0.1:8001/', 'http://127.0.0.1:8002/'];

/** Made-up run files do not follow the schema. @param {string} file @returns {RunFile} */
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));

/** @param {Asked} asked @param {number} b TPS of B; A has 100, and both a ripple @param {number} [from] the first id */
function answerOf({ number, env }, b, from = 0) {
  const tps = (env.STRESS_RPC === A ? 100 : b) * Math.exp(0.01 * Math.sin(2.4 * number));
  return { run: runOf(from + number, { tps, latencyMs: 5000 / tps }) };
}

/**
 * @param {string} folder
 * @param {{args?: string[], b?: number, stop?: Stop, from?: number, onRun?: (asked: Asked) => object | void}} [given]
 */
function made(folder, { args = [], b = 100, stop, from, onRun = () => {} } = {}) {
  const line = ['compare', '--until-sure', `--rpc-a=${A}`, `--rpc-b=${B}`, '-t=10', '-d=20s', '--seed=7'];
  const answer = (/** @type {Asked} */ asked) => ({ ...answerOf(asked, b, from), ...onRun(asked) });
  return studied(
    (config, parts, start) => runUntilSure(config, parts, start, read),
    [...line, `--dir=${folder}`, ...args],
    answer,
    stop,
  );
}

/** @param {Both} both @param {string[]} [failIf] @param {string[]} [more] */
function comparedOf({ base, candidate, files, sequential }, failIf = [], more = []) {
  return compare(base, candidate, {
    ...{ baseFiles: files.base, candidateFiles: files.candidate, sequential, pairs: true, more },
    ...{ failIf: failIf.map(parseFailIf), mayDiffer: RUNS_MAY_DIFFER_IN, stress: '1.0.0' },
  });
}

describe('runUntilSure()', () => {
  it('makes pairs in the order of a coin until a difference is shown', async (t) => {
    const folder = temporaryFolder(t);
    const { result, runs, lines, rests } = made(folder, { b: 92 });
    const both = await result;
    const pairs = both.base.length;
    assert.ok(pairs >= 6 && pairs <= 9, `${pairs} pairs`);
    assert.equal(runs.length, 2 + 2 * pairs, 'a first run on each');
    assert.deepEqual(runs[0].args, ['--duration=5000ms']);
    assert.equal(rests.length, runs.length - 1);
    const order = runs.slice(2).map(({ env }) => (env.STRESS_RPC === A ? 'A' : 'B'));
    const couples = order.flatMap((side, i) => (i % 2 === 0 ? [side + order[i + 1]] : []));
    assert.deepEqual([...new Set(couples)].sort(), ['AB', 'BA']);
    const coins = lines.flatMap((line) => /^pair \d+ \((\w) (\w)\)/.exec(line)?.slice(1).join('') ?? []);
    assert.deepEqual(coins, couples);
    assert.match(lines.at(-1) ?? '', /^pair \d \(\w \w\) {2}TPS -\d\.\d % \(-.* \.\. -.*\) {2}\d+m\d+s left$/);
    const { verdict, metrics, method } = comparedOf(both, ['tps<-5%']);
    assert.match(
      verdict.sentence,
      /^the candidate is slower than the baseline: TPS changed by -\d\.\d % \(95 % confidence sequence -\S+ % to -\S+ %, \d pairs\)$/,
    );
    assert.deepEqual([verdict.word, metrics[0].word, method.name], ['slower', 'slower', 'sequential']);
    assert.ok(metrics[0].p <= 0.05);
  });

  it('ends when there is no difference that matters, and fails on no condition then', async (t) => {
    const folder = temporaryFolder(t);
    const both = await made(folder, { args: ['--fail-if=tps<-10%'] }).result;
    const comparison = comparedOf(both, ['tps<-10%']);
    assert.match(comparison.verdict.sentence, /^no difference of TPS larger than 2 % \(95 % confidence sequence/);
    assert.deepEqual([comparison.verdict.word, both.sequential?.end], ['equivalent', 'decided']);
    assert.equal(compareExit(comparison), 0);
    assert.deepEqual(compareResult(comparison).tables.at(-1)?.rows[0].slice(0, 2), ['tps<-10%', 'passed']);
    assert.match(renderCompare(comparison), /The coin had the seed 7/);
    const file = join(folder, 'compare.json');
    writeFileSync(file, JSON.stringify(comparison));
    assert.equal((await readCompare(file)).method.name, 'sequential');
  });

  it('fails on a condition that a difference meets, of any metric, with a correction for all', async (t) => {
    const both = await made(temporaryFolder(t), { b: 80, args: ['--metric=tps', '--fail-if=p50>+10%'] }).result;
    const comparison = comparedOf(both, ['p50>+10%']);
    assert.equal(compareExit(comparison), 99);
    assert.deepEqual(
      comparison.metrics.slice(0, 2).map(({ name, word, change }) => [name, word, change.confidence]),
      [
        ['tps', 'slower', 0.975],
        ['p50', 'slower', 0.975],
      ],
    );
    assert.match(comparison.verdict.sentence, /TPS changed by .*; .*latency p50 changed by/);
  });

  it('ends at the time limit, and a later command with the same options goes on', async (t) => {
    const folder = temporaryFolder(t);
    const first = made(folder, { args: ['--equivalent=0.1%', '--time-limit=90s'] });
    const both = await first.result;
    // The first runs take 20 s of the made-up clock, and each pair 20 s.
    assert.deepEqual([both.base.length, both.sequential?.end], [3, 'time_limit']);
    assert.match(first.lines.at(-1) ?? '', /^the time limit is over: 3 pairs are made; the same command continues$/);
    const { verdict } = comparedOf(both);
    assert.equal(verdict.sentence, 'undecided after 1m30s: 3 pairs are too few to bound the change of TPS');
    const later = made(folder, { args: ['--equivalent=0.1%', '--time-limit=3m'], from: 100 });
    const more = await later.result;
    assert.equal(more.base.length, 3 + 8);
    assert.deepEqual(
      more.base.slice(0, 3).map((/** @type {RunFile} */ { id }) => id),
      both.base.map((/** @type {RunFile} */ { id }) => id),
    );
    assert.equal(later.lines.filter((line) => line.endsWith('made before')).length, 3);
    assert.match(comparedOf(more).verdict.sentence, /^undecided after 3m00s: TPS differs by at most \d\.\d % \(95 %/);
  });

  it('completes a pair that was interrupted, in the same order', async (t) => {
    const folder = temporaryFolder(t);
    const stop = new Stop();
    const onRun = (/** @type {Asked} */ { number }) => {
      // The second run of the second pair.
      if (number === 6) {
        stop.request('interrupted', 130);
        return { run: null, exitCode: 130 };
      }
    };
    const before = made(folder, { b: 92, stop, onRun });
    assert.deepEqual([(await before.result).base.length, stop.exitCodes], [1, [130]]);
    const whole = made(temporaryFolder(t), { b: 92 });
    await whole.result;
    const later = made(folder, { b: 92, from: 100 });
    assert.ok((await later.result).base.length >= 6);
    const sides = (/** @type {Asked[]} */ runs) => runs.map(({ env }) => env.STRESS_RPC);
    // Two first runs again, and the run that is lacking.
    assert.deepEqual(sides(later.runs.slice(2)), sides(whole.runs.slice(5)).slice(0, later.runs.length - 2));
  });

  it('takes up the folder of the same comparison only', async (t) => {
    const folder = temporaryFolder(t);
    await made(folder, { b: 80 }).result;
    const done = made(folder, { b: 80 });
    await done.result;
    assert.equal(done.runs.length, 0, 'it is decided');
    await assert.rejects(made(folder, { args: ['--equivalent=3%'] }).result, {
      exitCode: 65,
      message: /holds another comparison: --equivalent was 2% and is 3%; give --dir another folder/,
    });
    await assert.rejects(made(folder, { args: ['-t=11'] }).result, { exitCode: 64 });
    rmSync(join(folder, 'a-1.json'));
    writeFileSync(join(folder, 'sequence.json'), '{}');
    await assert.rejects(made(folder).result, { exitCode: 65, message: /sequence.json is damaged/ });
    const other = temporaryFolder(t);
    writeFileSync(join(other, 'notes.txt'), '');
    await assert.rejects(made(other).result, { exitCode: 65, message: /has files in it already/ });
  });

  it('refuses a metric that has no ratio, and a time limit below a pair, after the first runs', async (t) => {
    const folder = temporaryFolder(t);
    const bad = made(folder, { args: ['--metric=node.cpu'] });
    await assert.rejects(bad.result, {
      exitCode: 65,
      message: /^node CPU is not measured in first-a.json, so that no ratio/,
    });
    assert.equal(bad.runs.length, 1);
    assert.deepEqual(JSON.parse(readFileSync(join(folder, 'sequence.json'), 'utf8')).options['--metric'], 'node.cpu');
    // Without a run of a pair the options may change.
    const short = made(folder, { args: ['--time-limit=45s'] });
    await assert.rejects(short.result, {
      exitCode: 64,
      message: /^--time-limit 45s is too short: one pair of runs takes about 50s, after the first runs; raise it/,
    });
    assert.ok(!readdirSync(folder).includes('a-1.json'));
  });
});
