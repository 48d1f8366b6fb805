/** stress find: what an endpoint can take, without further options. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isEvidence } from '../../../src/studies/evidence.js';
import { search } from '../../../src/studies/find.js';
import { reader } from '../../../src/studies/run-files.js';
import { equalBy } from '../../helpers/equal-by.js';
import { temporaryFolder } from '../../helpers/temporary.js';
import { chainRun, given, inFlightOf } from './queue-chain.js';
import { studied } from './study.js';
import { randomNumbers } from '../../../src/random.js';

/** @import { Chain } from './queue-chain.js' */

/** The highest rate of the node, with a block each second. */
const NODE_PER_SECOND = 2000;

/**
 * @param {string} folder
 * @param {string[]} args
 * @param {Partial<Chain> & {mostWallets?: number, busy?: number}} [chain] mostWallets: there are keys for; busy: share of the CPU time that
 *   other programs use
 */
async function found(folder, args, { mostWallets = Infinity, busy = 0, ...chain } = {}) {
  const line = ['find', `--dir=${folder}`, '--rpc=http://127.0.0.1:1', ...args];
  const random = randomNumbers(1);
  let [made, ticks] = [0, 0];
  const cpus = () => {
    ticks += 1000;
    const [user, idle] = [busy * ticks, (1 - busy) * ticks];
    return [{ model: '', speed: 0, times: { user, idle, nice: 0, sys: 0, irq: 0 } }];
  };
  const { result, lines, runs } = studied(
    async (config, parts, tools) =>
      (await search(config, parts, { tools: { ...tools, cpus }, isCapacity: true })).exitCode,
    line,
    (asked) =>
      Number(given(asked.args, 'threads')) > mostWallets
        ? { run: null, exitCode: 64, complaint: 'wallets 100..399 do not exist' }
        : { run: chainRun(asked.args, { perSecond: NODE_PER_SECOND, ...chain }, random, (made += 1)) },
  );
  const exitCode = await result;
  const { find, end } = (await reader('sweep'))(`${folder}/sweep.json`);
  return { exitCode, lines: lines.join('\n'), runs: runs.map((run) => run.args), find, end };
}

describe('stress find', () => {
  it('raises operations in flight, then wallets, to what a rate needs just before a block, and no further', async (t) => {
    const { exitCode, lines, runs, find } = await found(temporaryFolder(t), ['--time-limit=1h']);
    assert.equal(exitCode, 0);
    assert.deepEqual([given(runs[0], 'threads'), given(runs[0], 'in-flight')], ['100', '1']);
    assert.ok(Math.abs((find?.estimate ?? 0) / NODE_PER_SECOND - 1) < 0.05, find?.words);
    const rated = runs.filter((args) => given(args, 'rate') !== undefined);
    // A block interval of a second, and a p99 of no less.
    for (const args of rated) assert.ok(inFlightOf(args) >= 2 * Number(given(args, 'rate')), `${args}`);
    const most = Math.max(...rated.map((args) => Number(given(args, 'rate'))));
    assert.ok(Math.max(...runs.map(inFlightOf)) <= 5 * most);
    assert.match(lines, /\/s +holds .* with \d+ wallets instead of 100/);
    assert.match(
      lines,
      /^ {2}verdict {3}Holds 2,0\d0 op\/s(; estimated highest 2,0\d0 op\/s)? \(95 % interval 1,\d\d0 to 2,\d\d0\)\. Limit: the node fell behind\.$/m,
    );
    assert.match(lines, /^ +- nearest run that held, at 2,0\d0\/s$/m);
    assert.match(
      lines,
      /^ +- nearest run that failed, at 2,\d\d0\/s: held 9\d(\.\d+)? %, below 98 % \(100 % of the rate achieved, less \d\.\d+ % because the latency grew\); the node fell behind: \d+ per/m,
    );
    assert.match(lines, /^Search: complete, \d+ runs; /m);
  });

  it('ends after a pilot run that leaves no time for another run', async (t) => {
    const { runs, find } = await found(temporaryFolder(t), ['--time-limit=18s']);
    assert.equal(runs.length, 1, 'a run takes 10 s');
    assert.equal(find?.words, 'not known yet: no run with a value of --rate was made');
  });

  it('begins at what the node takes without a rate, with more in flight while operations wait only for the next block', async (t) => {
    const { runs, lines } = await found(temporaryFolder(t), ['--time-limit=1h']);
    const pilots = runs.filter((args) => given(args, 'rate') === undefined);
    assert.deepEqual(pilots.map(inFlightOf), [100, 1600], 'its blocks are 5 % full');
    const smaller = await found(temporaryFolder(t), ['--time-limit=1h'], { perSecond: 1000 });
    const steps = smaller.runs.filter((args) => given(args, 'rate') === undefined);
    assert.deepEqual(steps.map(inFlightOf), [100, 400, 1600], 'its blocks are 10 % full');
    assert.match(lines, /^1,\d\d0\/s +without a rate, 1,600 operations in flight: the search starts at 1,\d\d0\/s$/m);
    const slow = await found(temporaryFolder(t), ['--time-limit=1h'], { perSecond: 100 });
    assert.equal(
      slow.runs.filter((args) => given(args, 'rate') === undefined).length,
      2,
      'no more than the node takes',
    );
    const own = await found(temporaryFolder(t), ['--time-limit=1h', '--in-flight=1']);
    assert.equal(own.runs.filter((args) => given(args, 'rate') === undefined).length, 1);
  });

  it('never tries more than 1.6 times the highest rate that held, until one above it failed', async (t) => {
    for (const chain of [
      {},
      { generator: 1500 },
      { perSecond: 20_000 },
      { usable: 1 / 3 },
      { noise: 0.2, lapses: 0.2 },
    ]) {
      const { find } = await found(temporaryFolder(t), ['--time-limit=10m'], chain);
      const trials = find?.trials ?? [];
      for (const [i, { value }] of trials.entries()) {
        const before = trials.slice(0, i).filter(isEvidence);
        const held = Math.max(...before.filter(({ holds }) => holds).map((trial) => trial.value));
        const isClosed = before.some((trial) => !trial.holds && trial.value > held);
        assert.ok(isClosed || held === -Infinity || value <= 1.6 * held, `${value} after ${held}`);
      }
    }
  });

  it('counts a run that dropped operations only if it fails with twice as many in flight as well', async (t) => {
    const { find, lines, exitCode } = await found(temporaryFolder(t), ['--time-limit=1h'], { usable: 1 / 3 });
    const trials = find?.trials ?? [];
    const isDouble = (/** @type {number} */ i) =>
      trials.slice(0, i).some(({ value, inFlight = 0, again }) => {
        return value === trials[i].value && again && 2 * inFlight <= (trials[i].inFlight ?? 0);
      });
    assert.match(lines, /\/s +again +with .*, as operations were dropped$/m);
    assert.ok(
      trials.some(({ holds }, i) => holds && isDouble(i)),
      'a rate held with twice as many',
    );
    for (const [i, trial] of trials.entries())
      if (!trial.holds && trial.dropped && isEvidence(trial)) assert.ok(isDouble(i), `${trial.value}`);
    assert.equal(exitCode, 0);
    assert.ok((find?.low ?? 0) <= NODE_PER_SECOND && (find?.high ?? 0) >= NODE_PER_SECOND, find?.words);
  });

  it('a limit on our side closes nothing: the answer is what held', async (t) => {
    const { find, exitCode, lines } = await found(temporaryFolder(t), ['--time-limit=1h'], { generator: 1500 });
    assert.match(
      find?.words ?? '',
      /^Holds at least 1,[45]\d0 op\/s; the highest is not found: the generator was the limit\.$/,
    );
    assert.deepEqual([exitCode, find?.estimate, find?.high, find?.stopped], [99, null, null, 'limit']);
    assert.equal(find?.trials.filter((trial) => !trial.holds && isEvidence(trial)).length, 0);
    assert.match(lines, /\/s +fails {2}held .*, does not count: the generator was the limit$/m);
  });

  it('has a row of each run, with its operations in flight', async (t) => {
    const { lines, runs } = await found(temporaryFolder(t), ['--time-limit=1h'], { usable: 1 / 3 });
    const rows = lines.match(/^ {2}(\d{1,3}(,\d{3})*(\.\d+)?|-) .*$/gm) ?? [];
    assert.equal(rows.length, runs.length);
    assert.equal(
      rows.filter((row) => row.endsWith('  pilot')).length,
      runs.filter((args) => given(args, 'rate') === undefined).length,
    );
    assert.ok(
      rows.some((row) => / fails: held .* achieved.*\); made again with .*, as operations were dropped$/.test(row)),
    );
  });

  it('says that it is not done, and has exit code 99, while the ends of the interval differ by more than 1.5', async (t) => {
    for (const limit of ['50s', '70s']) {
      const { find, exitCode, lines } = await found(temporaryFolder(t), [`--time-limit=${limit}`], { perSecond: 6000 });
      assert.match(find?.words ?? '', /^Not done: holds /);
      assert.deepEqual([exitCode, find?.done], [99, false]);
      assert.match(lines, /^Search: not done, stopped at the time limit, resumable, /m);
    }
  });

  it('with --fresh begins anew in the same folder', async (t) => {
    const folder = temporaryFolder(t);
    const first = await found(folder, ['--time-limit=60s']);
    const second = await found(folder, ['--time-limit=60s', '--fresh'], { perSecond: 300 });
    assert.doesNotMatch(second.lines, /kept, already in/);
    assert.equal(given(second.runs[0], 'rate'), undefined);
    assert.ok((first.find?.held ?? 0) > 1000 && (second.find?.held ?? Infinity) < 400, second.find?.words);
    const third = await found(folder, ['--time-limit=60s'], { perSecond: 300 });
    assert.match(third.lines, new RegExp(`^${second.find?.trials.length} runs kept`, 'm'));
  });

  it('a node that falls behind drops operations with any number of wallets: it is the limit, whatever the verdict', async (t) => {
    const { find, runs } = await found(temporaryFolder(t), ['--time-limit=1h'], {
      perSecond: 300,
      verdict: 'concurrency-bound',
    });
    assert.match(find?.words ?? '', /^Holds 30\d op\/s.* Limit: the node fell behind\.$/);
    assert.ok(Math.max(...runs.map(inFlightOf)) < 8000, 'wallets of the first, too high rates');
    assert.doesNotMatch(find?.reasons?.join() ?? '', /concurrency-bound/);
  });

  it('makes runs of ten blocks, and searches for 240', async (t) => {
    const { runs, lines } = await found(temporaryFolder(t), [], { blockS: 5 });
    const durations = runs.map((args) => Number.parseInt(given(args, 'duration') ?? '', 10));
    assert.equal(durations[0], 6000);
    assert.ok(
      durations.slice(2).every((ms) => ms >= 50_000),
      `${durations}`,
    );
    assert.match(lines, /3 minutes, or 240 blocks if they take longer/);
    // Each run takes 10 s here, and the limit is 20 minutes.
    assert.ok(runs.length > 18, `${runs.length} runs`);
    const warmups = runs.map((args) => Number.parseInt(given(args, 'warmup') ?? '0', 10));
    assert.equal(warmups[0], 0, 'that of the pilot is automatic');
    assert.ok(
      warmups.slice(1).every((ms) => ms >= 20_000 && ms < 25_000),
      `${warmups}: four blocks`,
    );
    const own = await found(temporaryFolder(t), ['--time-limit=1h', '--warmup=7s'], { blockS: 5 });
    assert.ok(
      own.runs.every((args) => given(args, 'warmup') === undefined),
      'the warm-up of the user stays',
    );
    const short = await found(temporaryFolder(t), ['--time-limit=1h'], { blockS: 0.1 });
    assert.deepEqual(new Set(short.runs.slice(1).map((args) => given(args, 'duration'))), new Set(['8000ms']));
  });

  it('leaves what the user gives as it is, and says that this was the limit', async (t) => {
    const { runs, lines, exitCode, find } = await found(temporaryFolder(t), [
      ...['-t300', '--in-flight=2', '-d7s', '--time-limit=1h'],
    ]);
    for (const args of runs)
      equalBy(['threads', 'in-flight', 'duration'], (name) => given(args, name), ['300', '2', '7000ms']);
    assert.match(
      lines,
      /^ {2}verdict {3}Holds at least 6\d\d op\/s; the highest is not found: the number of wallets was the limit\.$/m,
    );
    assert.match(lines, /^Search: not found, /m);
    assert.match(lines, /^ +- to find it: give a higher -t or --in-flight, or more keys$/m);
    assert.deepEqual([exitCode, find?.estimate, find?.low, find?.high, find?.sharp], [99, null, null, null, false]);
    assert.equal(find?.limit, 'the number of wallets was the limit');
  });

  it('goes on with fewer wallets where there are no more', async (t) => {
    const { exitCode, lines } = await found(temporaryFolder(t), ['--in-flight=1', '--time-limit=1h'], {
      mostWallets: 100,
    });
    assert.equal(exitCode, 99);
    assert.match(
      lines,
      /the run failed \(wallets 100\.\.399 do not exist.*\); the search goes on with as many as before/,
    );
    assert.match(lines, /Holds at least 10\d op\/s; the highest is not found: the number of wallets was the limit/);
  });

  it('gives no answer if the generator was the limit, or other programs on the machine of the node', async (t) => {
    const generator = await found(temporaryFolder(t), ['--time-limit=1h'], { verdict: 'generator-bound' });
    assert.match(
      generator.find?.words ?? '',
      /^Holds at least 1,?\d\d0 op\/s; the highest is not found: the generator was the limit\.$/,
    );
    assert.equal(generator.exitCode, 99);
    const busy = await found(temporaryFolder(t), ['--time-limit=1h'], { busy: 0.9 });
    assert.match(busy.find?.words ?? '', /not found: other programs on this machine were the limit/i);
    assert.ok(busy.find?.trials.every(({ othersShare }) => Math.abs((othersShare ?? 0) - 0.9) < 0.01));
    const quiet = await found(temporaryFolder(t), ['--time-limit=1h'], { busy: 0.3 });
    assert.equal(quiet.exitCode, 0);
  });

  it('makes a run again, once, that failed narrowly while other programs had the CPU', async (t) => {
    const { find, lines, runs } = await found(temporaryFolder(t), ['--time-limit=1h'], {
      isDisturbed: (rate, number) => number === 3,
    });
    assert.ok((find?.low ?? 0) < NODE_PER_SECOND && (find?.high ?? 0) > NODE_PER_SECOND, find?.words);
    const [rate] = runs.slice(2).map((args) => given(args, 'rate'));
    assert.equal(runs.filter((args) => given(args, 'rate') === rate).length, 2);
    assert.deepEqual(find?.trials.filter(({ value }) => String(value) === rate).map(isEvidence), [false, true]);
    assert.equal(lines.match(/\/s +again +as other processes kept the CPU busy 30 % of the time$/gm)?.length, 1);
    const always = await found(temporaryFolder(t), ['--time-limit=1h'], { isDisturbed: (rate) => rate > 1000 });
    assert.ok((always.find?.high ?? Infinity) < 1500, 'the second run counts');
  });

  it('ends at its time limit, answers so far, and says that it can be resumed', async (t) => {
    const { lines, runs, find, end } = await found(temporaryFolder(t), ['--time-limit=120s']);
    // Each run takes 10 s.
    assert.ok(runs.length <= 12, `${runs.length} runs`);
    assert.deepEqual([end, find?.stopped, find?.sharp], ['complete', 'time', false]);
    assert.match(lines, /^Search: stopped at the time limit, resumable, (9|10) runs; /m);
    assert.match(lines, /^ {2}verdict {3}Holds [\d,]+ op\/s.* \(95 % interval /m);
    assert.match(
      lines,
      /^ +- the time left was shorter than the longest run so far: run the same command again to resume$/m,
    );
    assert.ok((find?.high ?? Infinity) / (find?.low ?? 0) < 1.5, find?.words);
  });

  it('is resumed by the same command, with what its runs met', async (t) => {
    const folder = temporaryFolder(t);
    const first = await found(folder, ['--time-limit=60s'], { busy: 0.9 });
    const second = await found(folder, ['--time-limit=60s']);
    const before = first.find?.trials ?? [];
    assert.match(second.lines, new RegExp(`^${before.length} runs kept, already in `, 'm'));
    assert.deepEqual(second.find?.trials.slice(0, before.length), before);
    assert.ok((second.find?.trials.length ?? 0) > before.length);
    assert.ok(before.some(({ limit }) => limit?.words === 'other programs on this machine were the limit'));
    assert.equal(second.find?.trials.at(-1)?.othersShare, 0);
  });

  it('claims nothing that no run has shown', async (t) => {
    const { exitCode, lines } = await found(temporaryFolder(t), [
      ...['-t20', '--in-flight=1', '--rate=2000..9000', '--time-limit=25s'],
    ]);
    assert.match(
      lines,
      /^ {2}verdict {3}Not found: the number of wallets was the limit; the node took at least \d+ per second\.$/m,
    );
    assert.equal(exitCode, 99);
    const below = await found(temporaryFolder(t), ['--rate=9000..20000', '--time-limit=35s']);
    assert.match(
      below.lines,
      /^ {2}verdict {3}No run held\. At [\d,]+ op\/s, the lowest tried, held [\d.]+ %, below 98 %\.$/m,
    );
    assert.equal(below.exitCode, 99);
  });

  it('never spends more than --max-spend, set-up included', async (t) => {
    const { runs, lines } = await found(temporaryFolder(t), ['--max-spend=4500wei', '--time-limit=1h']);
    equalBy(runs, (args) => given(args, 'max-spend'), ['4500wei', '3500wei', '2500wei', '1500wei', '500wei']);
    assert.match(lines, /^Search: not done, stopped at --max-spend, /m);
    assert.match(lines, /the limit of fees \(--max-spend\) was reached/);
  });
});
