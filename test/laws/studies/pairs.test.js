import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { RUNS_MAY_DIFFER_IN } from '../../../src/cli/options.js';
import { Stop } from '../../../src/core/stop.js';
import { compareResult, parseFailIf } from '../../../src/studies/compare-text.js';
import { compare, compareExit } from '../../../src/studies/compare.js';
import { runPairs } from '../../../src/studies/pairs.js';
import { reader } from '../../../src/studies/run-files.js';
import { renderCompare } from '../../../src/report/compare-page.js';
import { equalBy } from '../../helpers/equal-by.js';
import { temporaryFolder } from '../../helpers/temporary.js';
import { runOf } from './runs.js';
import { studied } from './study.js';

/**
 * @import { RunFile } from '../../../src/contracts/run-file.d.ts'
 * @import { Both } from '../../../src/contracts/study.d.ts'
 * @import { Asked } from './study.js'
 */

const [A, B] = ['http://127.0.0.1:8001/', 'http://127.0.0.1:8002/'];

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
  return studied(runPairs, [...line, `--dir=${folder}`, ...args], answer, stop);
}

/** @param {Both} both @param {string[]} [failIf] @param {string[]} [more] */
function comparedOf({ base, candidate, files, sequential, failures }, failIf = [], more = []) {
  return compare(base, candidate, {
    failures,
    ...{ baseFiles: files.base, candidateFiles: files.candidate, sequential, pairs: true, more },
    ...{ failIf: failIf.map(parseFailIf), mayDiffer: RUNS_MAY_DIFFER_IN, stress: '1.0.0' },
  });
}

const NOTHING = Object.freeze({ exitCode: 69, run: null, complaint: 'cannot reach it' });

/** @param {string} folder @param {{args?: string[], duration?: string, stop?: Stop, answer?: (run: number) => object}} [given] */
function fixed(folder, { args = [], duration = '20s', stop, answer = () => ({}) } = {}) {
  const line = [
    'compare',
    `--rpc-a=${A}`,
    `--rpc-b=${B}?key=abc`,
    '-t=10',
    `-d=${duration}`,
    '--rest=7s',
    `--dir=${folder}`,
  ];
  return studied(runPairs, [...line, ...args], ({ number }) => answer(number), stop);
}

describe('runPairs(), a fixed number', () => {
  it('gives the i-th runs of each side as a pair, each made on its endpoint', async (t) => {
    const folder = temporaryFolder(t);
    const { result, runs, lines, rests } = fixed(folder, { args: ['--repeat=3'] });
    const { base, candidate, files } = await result;
    assert.deepEqual(runs.map(({ env }) => (env.STRESS_RPC === A ? 'A' : 'B')).join(''), 'ABABBAAB');
    assert.deepEqual(runs[0].args, ['--duration=5000ms'], 'the first ones are short');
    assert.deepEqual(rests, Array(7).fill(7000), 'between two runs');
    assert.deepEqual(runs[2].args, []);
    // Their numbers are the order in which they were made.
    const numbers = (/** @type {typeof base} */ side) => side.map(({ id }) => Number(id.slice(-12)));
    assert.deepEqual([numbers(base), numbers(candidate)].join(' '), '3,6,7 4,5,8');
    equalBy([1, 2, 3], (i) => join(folder, `a-${i}.json`), files.base);
    assert.match(lines[0], /^A is http:\/\/127.0.0.1:8001\/?, B is http:\/\/127.0.0.1:8002/);
    assert.ok(!lines.join().includes('abc'), 'nor is the secret of a URL shown');
    assert.equal(lines[1], 'warning: 3 pairs cannot show a difference: --repeat 6 is the least');
    assert.match(lines[2], /^pair 1 \(A B\) {2}TPS 100, 100 {2}latency avg .* ms, .* ms {2}latency p99 /);
  });

  it('warns once of too short windows, before the first pair', async (t) => {
    const run = (/** @type {number} */ number) => {
      const plain = runOf(number);
      return { ...plain, blocks: { ...plain.blocks, count: number === 1 ? 4 : 1 } };
    };
    const answer = (/** @type {number} */ number) => ({ run: run(number) });
    // First windows of 2 s with 4 blocks of A and one of B, so that those of 4 s will have 8 and 2.
    const { result, lines } = fixed(temporaryFolder(t), { args: ['--repeat=6'], duration: '4s', answer });
    await result;
    const at = lines.findIndex((line) => line.startsWith('warning: B: the window has 2 of the 10 blocks that'));
    assert.ok(at > 0 && at < lines.findIndex((line) => line.startsWith('pair 1 ')), lines.join('\n'));
    assert.equal(lines.filter((line) => line.startsWith('warning: ')).length, 1);
  });

  it('makes a pair that failed once more, both runs of it', async (t) => {
    const folder = temporaryFolder(t);
    const once = fixed(folder, { args: ['--repeat=1'], answer: (run) => (run === 4 ? NOTHING : {}) });
    const both = await once.result;
    assert.equal(once.runs.map(({ env }) => (env.STRESS_RPC === A ? 'A' : 'B')).join(''), 'ABABAB');
    assert.deepEqual(both.files, {
      base: [join(folder, 'a-1-again.json')],
      candidate: [join(folder, 'b-1-again.json')],
    });
    const warning = 'warning: pair 1: the run B failed: cannot reach it; the pair is made once more';
    assert.ok(once.lines.includes(warning), once.lines.join('\n'));
    const comparison = comparedOf(both);
    assert.deepEqual([compareExit(comparison), comparison.leftOut], [0, []], 'it may be chance');
    const note = 'warning: the candidate failed in 1 run (the last: cannot reach it)';
    assert.ok(compareResult(comparison).notes?.includes(note));
  });

  it('leaves a pair out that failed twice, and does not let the side pass; so does the same command later', async (t) => {
    const folder = temporaryFolder(t);
    // Two first runs, the first pair, and A of the second pair, behind B.
    const crashed = (/** @type {number} */ number) => ({ exitCode: 69, run: runOf(number), complaint: 'it crashed' });
    const answer = (/** @type {number} */ run) => (run === 5 || run === 6 ? crashed(run) : {});
    const { result, lines } = fixed(folder, { args: ['--repeat=3'], answer });
    const both = await result;
    assert.ok(lines.includes('warning: pair 2: the run B failed: it crashed; the pair is left out'), lines.join('\n'));
    const comparison = comparedOf(both);
    assert.deepEqual([comparison.method.pairs, comparison.leftOut, compareExit(comparison)], [2, [2], 99]);
    const words = 'the candidate failed in 2 runs (the last: it crashed); left out: pair 2';
    assert.ok(comparison.verdict.sentence.endsWith(words), comparison.verdict.sentence);
    const file = join(folder, 'compare.json');
    writeFileSync(file, JSON.stringify(comparison));
    assert.deepEqual((await reader('compare'))(file), comparison);
    assert.match(renderCompare(comparison), /failed in 2 runs/);
    const later = fixed(folder, { args: ['--repeat=3'] });
    assert.deepEqual(comparedOf(await later.result), { ...comparison, endedAt: comparison.endedAt });
    assert.equal(later.runs.length, 0);
  });

  it('ends after three failed pairs in a row, with what there is; without any pair it is an error', async (t) => {
    const folder = temporaryFolder(t);
    const { result, runs, lines } = fixed(folder, { answer: (run) => (run > 4 ? NOTHING : {}) });
    const both = await result;
    assert.deepEqual([both.base.length, comparedOf(both).leftOut], [1, [2, 3, 4]]);
    assert.equal(lines.at(-1), '3 pairs in a row failed: pairs made: 1; to compare again, give --dir another folder');
    assert.equal(runs.length, 4 + 6);
    const empty = temporaryFolder(t);
    const none = fixed(empty, { answer: (run) => (run > 2 ? NOTHING : {}) });
    await assert.rejects(none.result, { exitCode: 69, message: 'the run A failed: cannot reach it' });
    assert.equal(none.runs.length, 2 + 6);
    assert.equal((await fixed(empty).result).base.length, 8, 'the same command tries all again');
    const refused = fixed(temporaryFolder(t), { answer: () => ({ ...NOTHING, exitCode: 77 }) });
    await assert.rejects(refused.result, { exitCode: 77 });
    assert.equal(refused.runs.length, 1, 'what was refused is refused again');
    const first = fixed(temporaryFolder(t), { answer: () => NOTHING });
    await assert.rejects(first.result, { exitCode: 69, message: 'the run A failed: cannot reach it' });
    assert.equal(first.runs.length, 2, 'the first run of a side is made twice');
  });

  it('gives the whole pairs when it is interrupted, and the same command makes the others', async (t) => {
    const stop = new Stop();
    const folder = temporaryFolder(t);
    const { result, lines } = fixed(folder, {
      stop,
      // Behind the two first ones: A B, B A, A and then no more.
      answer: (run) => {
        if (run === 7) stop.request('interrupted', 130);
        return {};
      },
    });
    const { base, candidate, files } = await result;
    assert.deepEqual([base.length, candidate.length, files.base.length, files.candidate.length], [2, 2, 2, 2]);
    assert.equal(lines.at(-1), 'interrupted: pairs made: 2; the same command continues');
    const later = fixed(folder);
    assert.equal((await later.result).base.length, 8);
    assert.ok(later.lines.includes(`4 runs kept, already in ${folder}`));
    assert.equal(later.runs.length, 2 + 16 - 5, 'the first runs again, and what is lacking');
    const other = fixed(folder, { args: ['--repeat=9'] });
    await assert.rejects(other.result, { exitCode: 65, message: /another study: --repeat was 8 and is 9; give --dir/ });
  });

  it('ends when one of its runs was interrupted, and makes no other', async (t) => {
    const stop = new Stop();
    const answer = (/** @type {number} */ run) => (run === 6 ? { exitCode: 130, run: null } : {});
    const { result, runs, lines } = fixed(temporaryFolder(t), { stop, answer });
    assert.equal((await result).base.length, 1);
    assert.doesNotMatch(lines.join('\n'), /measured nothing/);
    assert.deepEqual([runs.length, stop.reason, stop.exitCodes], [6, 'interrupted', [130]]);
  });
});

describe('runPairs(), until sure', () => {
  it('makes pairs in the order of a coin until a difference is shown', async (t) => {
    const folder = temporaryFolder(t);
    const { result, runs, lines, rests, progress } = made(folder, { b: 92 });
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
    assert.match(
      lines.at(-1) ?? '',
      /^pair \d \(\w \w\) {2}TPS -\d\S* %, estimate so far -\d\S* % \(95.5 % interval -\S+ % to -\S+ %\)$/,
    );
    const [tpsOfA, tpsOfB] = [both.base, both.candidate].map((side) => Number(side[2].rates.verifiedPerSecond));
    const own = Number(/^pair 3 .* TPS (-\S+) %, /m.exec(lines.join('\n'))?.[1]);
    assert.ok(Math.abs(own - 100 * (tpsOfB / tpsOfA - 1)) < 0.01, 'the difference of this pair');
    assert.match(lines.join('\n'), /^pair 4 .*, estimate so far -\S+ % \(an interval takes at least 5 pairs\)$/m);
    assert.match(progress.join('\n'), /^pair 2, on \w {2}time limit in \d+m\d\ds$/m);
    assert.doesNotMatch(progress.join('\n'), /about .* left/, 'how many pairs it takes is not known');
    const { verdict, metrics, method } = comparedOf(both, ['tps<-5%']);
    assert.match(
      verdict.sentence,
      /^the candidate is slower than the baseline: TPS changed by -\d(?:\.\d+)? % \(95.5 % interval -\S+ % to -\S+ %, \d pairs\)$/,
    );
    assert.deepEqual([verdict.word, metrics[0].word, method.name], ['slower', 'slower', 'sequential']);
    assert.ok(metrics[0].p <= 0.05);
  });

  it('ends when there is no difference that matters, and fails on no condition then', async (t) => {
    const folder = temporaryFolder(t);
    const both = await made(folder, { args: ['--fail-if=tps<-10%'] }).result;
    const comparison = comparedOf(both, ['tps<-10%']);
    assert.match(
      comparison.verdict.sentence,
      /^there is no difference of TPS larger than 2 %: TPS changed by \S+ % \(95.5 % interval/,
    );
    assert.deepEqual([comparison.verdict.word, both.sequential?.end], ['equivalent', 'decided']);
    assert.equal(compareExit(comparison), 0);
    assert.deepEqual(compareResult(comparison).tables.at(-1)?.rows[0].slice(0, 2), ['tps<-10%', 'passed']);
    assert.match(renderCompare(comparison), /The coin had the seed 7/);
    const file = join(folder, 'compare.json');
    writeFileSync(file, JSON.stringify(comparison));
    assert.equal((await reader('compare'))(file).method.name, 'sequential');
  });

  it('fails on a condition that a difference meets, of any metric, with a correction for all', async (t) => {
    const both = await made(temporaryFolder(t), { b: 80, args: ['--metric=tps', '--fail-if=p50>+10%'] }).result;
    const comparison = comparedOf(both, ['p50>+10%']);
    assert.equal(compareExit(comparison), 99);
    equalBy(comparison.metrics.slice(0, 2), ({ name, word, change }) => [name, word, change.confidence], [
      ['tps', 'slower', 0.9775],
      ['p50', 'slower', 0.9775],
    ]);
    assert.match(comparison.verdict.sentence, /TPS changed by .*; .*latency p50 changed by/);
  });

  it('ends at the time limit, and a later command with the same options goes on', async (t) => {
    const folder = temporaryFolder(t);
    const first = made(folder, { args: ['--equivalent=0.1%', '--time-limit=90s'] });
    const both = await first.result;
    // The first runs take 20 s of the made-up clock, and each pair 20 s.
    assert.deepEqual([both.base.length, both.sequential?.end], [3, 'time_limit']);
    assert.match(first.lines.at(-1) ?? '', /^the time limit is over: pairs made: 3; the same command continues$/);
    const { verdict } = comparedOf(both);
    assert.match(
      verdict.sentence,
      /^undecided after 1m30s: TPS changed by \S+ % \(no 95.5 % interval yet, 3 pairs\); at least 5 are needed: raise --time-limit$/,
    );
    const words = compareResult(comparedOf(both)).tables.flatMap(({ id, rows }) => (id === 'changes' ? rows : []));
    equalBy(words.slice(0, 2), (row) => row.at(-1), ['at least 5 pairs needed', 'at least 5 pairs needed']);
    const later = made(folder, { args: ['--equivalent=0.1%', '--time-limit=3m'], from: 100 });
    const more = await later.result;
    assert.equal(more.base.length, 3 + 8);
    const changes = compareResult(comparedOf(more)).tables.find(({ title }) => title === 'Changes');
    assert.equal(changes?.rows[0].at(-1), 'undecided', 'the word of the verdict');
    assert.deepEqual(
      more.base.slice(0, 3).map((/** @type {RunFile} */ { id }) => id),
      both.base.map((/** @type {RunFile} */ { id }) => id),
    );
    assert.ok(later.lines.includes(`6 runs kept, already in ${folder}`));
    assert.match(
      comparedOf(more).verdict.sentence,
      /^undecided after 3m00s: TPS changed by \S+ % \(95.5 % interval \S+ % to/,
    );
  });

  it('goes on until the interval is as narrow as --precision, also a comparison that was decided', async (t) => {
    const folder = temporaryFolder(t);
    const before = await made(folder, { b: 92 }).result;
    const widthOf = (/** @type {Both} */ both) => {
      const { low, high } = comparedOf(both).metrics[0].change;
      return Number(high) - Number(low);
    };
    assert.ok(widthOf(before) > 0.03);
    const both = await made(folder, { b: 92, args: ['--precision=3%'], from: 100 }).result;
    assert.ok(widthOf(both) <= 0.03 && both.base.length > before.base.length);
    assert.deepEqual([both.sequential?.end, both.sequential?.precision], ['decided', 0.03]);
    const args = ['--precision=0.5%', '--time-limit=3m'];
    const wide = await made(temporaryFolder(t), { b: 80, args }).result;
    const { verdict } = comparedOf(wide);
    assert.match(
      verdict.sentence,
      /^the candidate is slower .* pairs\); the interval is wider than --precision 0\.5 %$/,
    );
    assert.equal(wide.sequential?.end, 'time_limit');
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
      message: /holds another study: --equivalent was 2% and is 3%; give --dir another folder/,
    });
    await assert.rejects(made(folder, { args: ['-t=11'] }).result, { exitCode: 64 });
    writeFileSync(join(folder, 'pairs.json'), '{}');
    await assert.rejects(made(folder).result, { exitCode: 65, message: /pairs.json is no file of a comparison/ });
  });

  it('refuses a metric that has no ratio, and a time limit below a pair, after the first runs', async (t) => {
    const folder = temporaryFolder(t);
    const bad = made(folder, { args: ['--metric=node.cpu'] });
    await assert.rejects(bad.result, {
      exitCode: 65,
      message: /^node CPU is not measured in first-a.json, so that no ratio/,
    });
    assert.equal(bad.runs.length, 1);
    // Without a run of a pair the options may change.
    assert.ok(!existsSync(join(folder, 'pairs.json')));
    const short = made(folder, { args: ['--time-limit=45s'] });
    await assert.rejects(short.result, {
      exitCode: 64,
      message: /^--time-limit 45s is too short: one pair of runs takes about 50s, after the first runs; raise it/,
    });
    assert.ok(!readdirSync(folder).includes('a-1.json'));
  });
});
