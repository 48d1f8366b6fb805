import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Stop } from '../../../src/core/stop.js';
import { runBoth } from '../../../src/studies/live-compare.js';
import { temporaryFolder } from '../../helpers/temporary.js';
import { runOf } from './runs.js';
import { studied } from './study.js';

/** @import { Finished } from '../../../src/studies/experiment.js' */

const ENDPOINTS = Object.freeze(['http://127.0.0.1:8001/', 'http://127.0.0.1:8002/?key=abc']);

/**
 * @param {string} folder
 * @param {{args?: string[], stop?: Stop, answer?: (run: number) => Partial<Finished>}} [given]
 */
function compared(folder, { args = [], stop, answer = () => ({}) } = {}) {
  const [a, b] = ENDPOINTS;
  const line = ['compare', `--rpc-a=${a}`, `--rpc-b=${b}`, '-t=10', '-d=20s', '--rest=7s', `--dir=${folder}`, ...args];
  return studied(runBoth, line, ({ number }) => answer(number), stop);
}

describe('runBoth()', () => {
  it('gives the i-th runs of each side as a pair, each made on its endpoint', async (t) => {
    const folder = temporaryFolder(t);
    const { result, runs, lines, rests } = compared(folder, { args: ['--repeat=3'] });
    const { base, candidate, files } = await result;
    const [a, b] = ENDPOINTS;
    assert.deepEqual(
      runs.map(({ env }) => env.STRESS_RPC),
      [a, b, a, b, b, a, a, b],
    );
    assert.deepEqual(runs[0].args, ['--duration=5000ms'], 'the first ones are short');
    assert.deepEqual(rests, Array(7).fill(7000), 'between two runs');
    assert.deepEqual(runs[2].args, []);
    // Their numbers are the order in which they were made.
    const numbers = (/** @type {typeof base} */ side) => side.map(({ id }) => Number(id.slice(-12)));
    assert.deepEqual(
      [numbers(base), numbers(candidate)],
      [
        [3, 6, 7],
        [4, 5, 8],
      ],
    );
    assert.deepEqual(
      files.base,
      [1, 2, 3].map((i) => join(folder, `a-${i}.json`)),
    );
    assert.match(lines[0], /^A is http:\/\/127.0.0.1:8001\/?, B is http:\/\/127.0.0.1:8002/);
    assert.ok(!lines.join().includes('abc'), 'nor is the secret of a URL shown');
    assert.match(lines[1], /^1\/8 {2}A {2}TPS 100 .* not measured/);
  });

  it('warns once of too short windows', async (t) => {
    const run = (/** @type {number} */ number) => {
      const plain = runOf(number);
      const [row] = plain.intervals;
      return { ...plain, intervals: [{ ...row, inFlight: 10 }] };
    };
    const answer = (/** @type {number} */ number) => ({ run: run(number) });
    const { result, lines } = compared(temporaryFolder(t), { args: ['--repeat=3'], answer });
    await result;
    const warnings = lines.filter((line) => line.startsWith('warning: '));
    assert.deepEqual(
      warnings.map((line) => line.slice(0, 50)),
      ['warning: A: the window has 1 of the 10 blocks that'],
    );
  });

  it('makes a run that measured nothing once more, and ends when that does not help', async (t) => {
    const nothing = { exitCode: 69, run: null, complaint: 'cannot reach it' };
    const once = compared(temporaryFolder(t), { args: ['--repeat=1'], answer: (run) => (run === 3 ? nothing : {}) });
    assert.equal((await once.result).base.length, 1);
    assert.equal(once.runs.length, 5);
    assert.match(once.lines.join('\n'), /a run on A measured nothing: cannot reach it; once more/);
    const twice = compared(temporaryFolder(t), { answer: (run) => (run >= 4 ? nothing : {}) });
    await assert.rejects(twice.result, { exitCode: 69, message: 'a run on B measured nothing: cannot reach it' });
    assert.equal(twice.runs.length, 5);
    const refused = compared(temporaryFolder(t), { answer: () => ({ ...nothing, exitCode: 77 }) });
    await assert.rejects(refused.result, { exitCode: 77 });
    assert.equal(refused.runs.length, 1, 'what was refused is refused again');
  });

  it('gives the whole pairs that there are when it is interrupted', async (t) => {
    const stop = new Stop();
    const { result, lines } = compared(temporaryFolder(t), {
      stop,
      // Behind the two first ones: A B, B A, A and then no more.
      answer: (run) => {
        if (run === 7) stop.request('interrupted', 130);
        return {};
      },
    });
    const { base, candidate, files } = await result;
    assert.deepEqual([base.length, candidate.length, files.base.length, files.candidate.length], [2, 2, 2, 2]);
    assert.equal(lines.at(-1), 'interrupted: 2 whole pairs of runs are compared');
  });

  it('ends when one of its runs was interrupted, and makes no other', async (t) => {
    const stop = new Stop();
    const answer = (/** @type {number} */ run) => (run === 6 ? { exitCode: 130, run: null } : {});
    const { result, runs, lines } = compared(temporaryFolder(t), { stop, answer });
    assert.equal((await result).base.length, 1);
    assert.doesNotMatch(lines.join('\n'), /measured nothing/);
    assert.deepEqual([runs.length, stop.reason, stop.exitCodes], [6, 'interrupted', [130]]);
  });

  it('takes a folder of its own only, and no value that a run would refuse', async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'a-1.json'), '{}');
    const full = compared(folder);
    await assert.rejects(full.result, {
      exitCode: 65,
      message: /has files in it already, such as a-1.json: give --dir/,
    });
    const file = compared(join(folder, 'a-1.json'));
    await assert.rejects(file.result, { exitCode: 73, message: /a-1.json is a file/ });
    assert.deepEqual([full.runs, file.runs], [[], []], 'before the first run');
  });
});
