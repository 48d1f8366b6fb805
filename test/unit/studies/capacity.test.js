/** stress find: what an endpoint can take, without further options. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { search } from '../../../src/studies/find.js';
import { reader } from '../../../src/studies/run-files.js';
import { equalBy } from '../../helpers/equal-by.js';
import { temporaryFolder } from '../../helpers/temporary.js';
import { runOf } from './runs.js';
import { studied } from './study.js';

/** @import { RunFile } from '../../../src/types.d.ts' */

/** The highest rate of the node, and what an operation in flight does per second. */
const NODE_PER_SECOND = 2000;
const PER_OPERATION = 1;

/** @param {readonly string[]} args @param {string} name */
const given = (args, name) => args.find((arg) => arg.startsWith(`--${name}=`))?.split('=')[1];

/** A run of a node with a block each second. @param {readonly string[]} args @returns {RunFile} */
function runWith(args) {
  const [threads, inFlight] = [Number(given(args, 'threads')), Number(given(args, 'in-flight') ?? 1)];
  const asked = given(args, 'rate') === undefined ? null : Number(given(args, 'rate'));
  const most = threads * inFlight * PER_OPERATION;
  const served = Math.min(asked ?? Infinity, most, NODE_PER_SECOND);
  const durationMs = Number.parseInt(given(args, 'duration') ?? '', 10);
  const run = runOf(1, { config: { threads, inFlight, ratePerSecond: asked } });
  const isHeld = asked !== null && served >= asked;
  const name = isHeld ? 'rate-bound' : served === most ? 'concurrency-bound' : 'node-bound';
  return /** @type {RunFile} */ (
    /** @type {unknown} */ ({
      ...run,
      environment: { ...run.environment, endpoint: 'http://127.0.0.1:1', chainId: 1, node: 'v20' },
      rates: { ...run.rates, askedPerSecond: asked, achievedPerSecond: served, verifiedPerSecond: served },
      window: { ...run.window, durationMs },
      blocks: { ...run.blocks, count: durationMs / 1000 },
      latency: { ...run.latency, halves: [1, 2].map(() => ({ count: 1, sumUs: 1 })) },
      spending: { setUpWei: '100', leftWei: null, spentWei: '1000', capWei: null },
      verdict: { name, evidence: `${served} per second` },
    })
  );
}

/** @param {string} folder @param {string[]} args @param {number} [mostWallets] there are keys for */
async function found(folder, args, mostWallets = Infinity) {
  const line = ['find', '--rest=0s', `--dir=${folder}`, '--rpc=http://127.0.0.1:1', ...args];
  const { result, lines, runs } = studied(
    async (config, parts, tools) => (await search(config, parts, { tools, isCapacity: true })).exitCode,
    line,
    (asked) =>
      Number(given(asked.args, 'threads')) > mostWallets
        ? { run: null, exitCode: 64, complaint: 'wallets 100..399 do not exist' }
        : { run: runWith(asked.args) },
  );
  const exitCode = await result;
  const { find } = (await reader('sweep'))(`${folder}/sweep.json`);
  return { exitCode, lines: lines.join('\n'), runs: runs.map((run) => run.args), find };
}

describe('stress find', () => {
  it('raises operations in flight, then wallets, until the node is the limit', async (t) => {
    const { exitCode, lines, runs, find } = await found(temporaryFolder(t), ['--time-limit=1h']);
    assert.equal(exitCode, 0);
    assert.deepEqual([given(runs[0], 'threads'), given(runs[0], 'in-flight')], ['100', '1']);
    assert.ok(Math.abs((find?.estimate ?? 0) / NODE_PER_SECOND - 1) < 0.05, find?.words);
    assert.match(lines, /again {3}with 4 operations in flight per wallet in place of 1/);
    assert.match(lines, /again {3}with 400 wallets|again {3}with 16 operations in flight/);
    assert.match(
      lines,
      /^ {2}verdict {3}the highest rate with held>=98% is [\d,]+ per second \(95 % interval .* runs\)/m,
    );
    assert.match(lines, /node-bound: 2000 per second/);
    assert.match(lines, /^ {2}rate +asked\/s +TPS +avg ms/m);
    assert.ok(
      find?.trials.every(({ holds, verdict }) => holds || verdict?.name !== 'concurrency-bound'),
      'no such run is an answer',
    );
  });

  it('leaves what the user gives as it is', async (t) => {
    const { runs, lines } = await found(temporaryFolder(t), ['-t300', '--in-flight=2', '-d7s', '--time-limit=1h']);
    for (const args of runs)
      equalBy(['threads', 'in-flight', 'duration'], (name) => given(args, name), ['300', '2', '7000ms']);
    assert.match(lines, /the number of wallets was the limit, not the node: the node may do more/);
  });

  it('goes on with fewer wallets where there are no more', async (t) => {
    const { exitCode, lines } = await found(temporaryFolder(t), ['--in-flight=1', '--time-limit=1h'], 100);
    assert.equal(exitCode, 0);
    assert.match(lines, /the search goes on with as many as before: wallets 100\.\.399 do not exist/);
    assert.match(lines, /the number of wallets was the limit, not the node: the node may do more/);
  });

  it('ends at its time limit, by default after 60 blocks or 3 minutes, and answers so far', async (t) => {
    const { lines, runs } = await found(temporaryFolder(t), []);
    // Each run takes 10 s.
    assert.ok(runs.length <= 18, `${runs.length} runs`);
    assert.match(
      lines,
      /^ {2}verdict {3}so far, the highest rate with held>=98% is .*; the time limit of 180 s was reached/m,
    );
  });

  it('claims nothing that no run has shown', async (t) => {
    const { exitCode, lines } = await found(temporaryFolder(t), [
      '-t20',
      '--in-flight=1',
      '--rate=2000',
      '--time-limit=25s',
    ]);
    assert.match(lines, /^ {2}verdict {3}so far, the highest rate with held>=98% is below [\d,]+ per second/m);
    assert.equal(exitCode, 99);
  });

  it('never spends more than --max-spend, set-up included', async (t) => {
    const { runs, lines } = await found(temporaryFolder(t), ['--max-spend=4500wei', '--time-limit=1h']);
    equalBy(runs, (args) => given(args, 'max-spend'), ['4500wei', '3500wei', '2500wei', '1500wei', '500wei']);
    assert.match(lines, /the limit of fees \(--max-spend\) was reached/);
  });
});
