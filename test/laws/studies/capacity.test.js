/** stress find: what an endpoint can take, without further options. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { search } from '../../../src/studies/find.js';
import { reader } from '../../../src/studies/run-files.js';
import { equalBy } from '../../helpers/equal-by.js';
import { temporaryFolder } from '../../helpers/temporary.js';
import { runOf } from './runs.js';
import { studied } from './study.js';

/** @import { RunFile } from '../../../src/contracts/run-file.d.ts' */

/** The highest rate of the node. Its operations wait for a block each second. */
const NODE_PER_SECOND = 2000;
const LATENCY_MS = 500;
/** As many as the operations that wait for one block. */
const PER_OPERATION = 1;

/** @param {readonly string[]} args @param {string} name */
const given = (args, name) => args.find((arg) => arg.startsWith(`--${name}=`))?.split('=')[1];

/**
 * @typedef {object} Chain
 * @property {number} [blockS]
 * @property {number} [node] its limit
 * @property {string} [verdict] of each run that fails
 * @property {(rate: number, run: number) => boolean} [isDisturbed] other programs have the CPU in this run, and the rate is missed by a tenth
 */

/** A run of a node with a block each second. @param {readonly string[]} args @param {Chain} [chain] @param {number} [number] of the run @returns {RunFile} */
function runWith(args, { blockS = 1, node = NODE_PER_SECOND, verdict, isDisturbed = () => false } = {}, number = 0) {
  const [threads, inFlight] = [Number(given(args, 'threads')), Number(given(args, 'in-flight') ?? 1)];
  const asked = given(args, 'rate') === undefined ? null : Number(given(args, 'rate'));
  const most = (threads * inFlight * PER_OPERATION) / blockS;
  const disturbed = asked !== null && isDisturbed(asked, number);
  const served = Math.min((asked ?? Infinity) * (disturbed ? 0.9 : 1), most, node);
  const durationMs = Number.parseInt(given(args, 'duration') ?? '', 10);
  // Behind a slow node each wallet waits for its turn.
  const latencyMs = served < most && served === node ? (1000 * threads * inFlight) / node : blockS * LATENCY_MS;
  const run = runOf(1, { latencyMs, config: { threads, inFlight, ratePerSecond: asked } });
  const isHeld = asked !== null && served >= asked;
  const name = isHeld
    ? 'rate-bound'
    : disturbed
      ? 'unknown'
      : (verdict ?? (served === most ? 'concurrency-bound' : 'node-bound'));
  const scheduled = Math.round(((asked ?? served) * durationMs) / 1000);
  const counts = { ...run.window.counts, scheduled, dropped: scheduled - Math.round((served * durationMs) / 1000) };
  return /** @type {RunFile} */ (
    /** @type {unknown} */ ({
      ...run,
      environment: { ...run.environment, endpoint: 'http://127.0.0.1:1', chainId: 1, node: 'v20' },
      rates: { ...run.rates, askedPerSecond: asked, achievedPerSecond: served, verifiedPerSecond: served },
      window: { ...run.window, durationMs, counts },
      probes: { ...run.probes, loop: { ...run.probes?.loop, waitedUs: (disturbed ? 0.3 : 0.05) * 1000 * durationMs } },
      blocks: { ...run.blocks, count: Math.floor(durationMs / 1000 / blockS) },
      latency: { ...run.latency, halves: [1, 2].map(() => ({ count: 1, sumUs: 1 })) },
      spending: { setUpWei: '100', leftWei: null, spentWei: '1000', capWei: null },
      verdict: { name, evidence: `${served} per second` },
    })
  );
}

/**
 * @param {string} folder
 * @param {string[]} args
 * @param {Chain & {mostWallets?: number, busy?: number}} [chain] mostWallets: there are keys for; busy: share of the CPU time that
 *   other programs use
 */
async function found(folder, args, { mostWallets = Infinity, busy = 0, ...chain } = {}) {
  const line = ['find', `--dir=${folder}`, '--rpc=http://127.0.0.1:1', ...args];
  let made = 0;
  let ticks = 0;
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
        : { run: runWith(asked.args, chain, (made += 1)) },
  );
  const exitCode = await result;
  const { find, end } = (await reader('sweep'))(`${folder}/sweep.json`);
  return { exitCode, lines: lines.join('\n'), runs: runs.map((run) => run.args), find, end };
}

/** @param {readonly string[]} args */
const slotsOf = (args) => Number(given(args, 'threads')) * Number(given(args, 'in-flight'));

describe('stress find', () => {
  it('raises operations in flight, then wallets, to what a rate needs, and no further', async (t) => {
    const { exitCode, lines, runs, find } = await found(temporaryFolder(t), ['--time-limit=1h']);
    assert.equal(exitCode, 0);
    assert.deepEqual([given(runs[0], 'threads'), given(runs[0], 'in-flight')], ['100', '1']);
    assert.ok(Math.abs((find?.estimate ?? 0) / NODE_PER_SECOND - 1) < 0.05, find?.words);
    for (const args of runs.slice(1))
      assert.ok(slotsOf(args) >= 2 * (LATENCY_MS / 1000) * Number(given(args, 'rate')), `${args}`);
    const most = Math.max(...runs.map((args) => Number(given(args, 'rate') ?? 0)));
    assert.ok(Math.max(...runs.map(slotsOf)) <= 3 * LATENCY_MS * most);
    assert.match(lines, /\/s +(holds|fails) .* with \d+ operations in flight per wallet instead of 1/);
    assert.match(lines, /with (16 operations in flight per wallet instead of \d+, )?\d+ wallets instead of 100/);
    assert.match(
      lines,
      /^ {2}verdict {3}Holds 2,0[0-6]0 op\/s \(95 % interval [\d,]+ to [\d,]+\)\. Limit: the node fell behind\.$/m,
    );
    assert.match(lines, /^ +- nearest run that held, at 2,0[0-4]0\/s$/m);
    assert.match(
      lines,
      /^ +- nearest run that failed, at 2,\d\d0\/s: held 9\d(\.\d+)? % is not >= 98%; .*; node-bound: 2000 per/m,
    );
    assert.match(lines, /^ {2}rate +achieved per s +rate held % +TPS +avg ms/m);
    assert.match(lines, /^Search: complete, \d+ runs; /m);
  });

  it('a node that falls behind drops operations with any number of wallets: it is the limit, whatever the verdict', async (t) => {
    const { find, runs } = await found(temporaryFolder(t), ['--time-limit=1h'], {
      node: 300,
      verdict: 'concurrency-bound',
    });
    assert.match(find?.words ?? '', /^Holds 30\d op\/s .* Limit: the node fell behind\.$/);
    assert.ok(Math.max(...runs.map(slotsOf)) < 8000, 'wallets of the first, too high rates');
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
    assert.match(lines, /the search goes on with as many as before: wallets 100\.\.399 do not exist/);
    assert.match(lines, /Holds at least 10\d op\/s; the highest is not found: the number of wallets was the limit/);
  });

  it('gives no answer if the generator was the limit, or other programs on the machine of the node', async (t) => {
    const generator = await found(temporaryFolder(t), ['--time-limit=1h'], { verdict: 'generator-bound' });
    assert.match(
      generator.find?.words ?? '',
      /^Holds at least 2,?0\d0 op\/s; the highest is not found: the generator was the limit\.$/,
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
      isDisturbed: (rate, number) => number === 4,
    });
    assert.ok((find?.low ?? 0) < NODE_PER_SECOND && (find?.high ?? 0) > NODE_PER_SECOND, find?.words);
    const [rate] = runs.slice(3).map((args) => given(args, 'rate'));
    assert.equal(runs.filter((args) => given(args, 'rate') === rate).length, 2);
    assert.equal(find?.trials.filter(({ value, holds }) => String(value) === rate && holds).length, 1);
    assert.equal(lines.match(/\/s +again +other programs had the CPU 30 % of the time$/gm)?.length, 1);
    const always = await found(temporaryFolder(t), ['--time-limit=1h'], { isDisturbed: (rate) => rate > 1000 });
    assert.ok((always.find?.high ?? Infinity) < 1500, 'the second run counts');
  });

  it('ends at its time limit, answers so far, and says that it can be resumed', async (t) => {
    const { lines, runs, find, end } = await found(temporaryFolder(t), ['--time-limit=120s']);
    // Each run takes 10 s.
    assert.ok(runs.length <= 12, `${runs.length} runs`);
    assert.deepEqual([end, find?.stopped, find?.sharp], ['complete', 'time', false]);
    assert.match(lines, /^Search: stopped at the time limit, resumable, 1[01] runs; /m);
    assert.match(lines, /^ {2}verdict {3}Holds [\d,]+ op\/s \(95 % interval /m);
    assert.match(lines, /^ +- the time limit was reached: run the same command again to resume$/m);
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
      ...['-t20', '--in-flight=1', '--rate=2000', '--time-limit=25s'],
    ]);
    assert.match(
      lines,
      /^ {2}verdict {3}Not found: the number of wallets was the limit; the node took at least \d+ per second\.$/m,
    );
    assert.equal(exitCode, 99);
    const below = await found(temporaryFolder(t), ['--rate=9000', '--time-limit=25s']);
    assert.match(
      below.lines,
      /^ {2}verdict {3}No run held\. At [\d,]+ op\/s, the lowest tried, held [\d.]+ % is not >= 98%\.$/m,
    );
    assert.equal(below.exitCode, 99);
  });

  it('never spends more than --max-spend, set-up included', async (t) => {
    const { runs, lines } = await found(temporaryFolder(t), ['--max-spend=4500wei', '--time-limit=1h']);
    equalBy(runs, (args) => given(args, 'max-spend'), ['4500wei', '3500wei', '2500wei', '1500wei', '500wei']);
    assert.match(lines, /^Search: stopped at --max-spend, /m);
    assert.match(lines, /the limit of fees \(--max-spend\) was reached/);
  });
});
