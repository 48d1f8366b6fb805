/** --max-spend of a study: all of its runs together spend no more, however each of them ends. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { randomNumbers } from '../../../src/random.js';
import { bisect } from '../../../src/studies/bisect.js';
import { search } from '../../../src/studies/find.js';
import { runPairs } from '../../../src/studies/pairs.js';
import { sweep } from '../../../src/studies/sweep.js';
import { makeRepository } from '../../helpers/slowed-repository.js';
import { temporaryFolder } from '../../helpers/temporary.js';
import { ENVIRONMENT, runOf } from './runs.js';
import { studied } from './study.js';

/**
 * @import { Config } from '../../../src/contracts/config.d.ts'
 * @import { Parts } from '../../../src/contracts/study.d.ts'
 * @import { Finished } from '../../../src/studies/experiment.js'
 */

const CAP_WEI = 10_000;
const MOST_WEI = 1600;
/** The highest rate that holds. */
const NODE_PER_SECOND = 400;

/** What a made-up run has spent. @typedef {{wei: number, limitWei: number, number: number, args: readonly string[]}} Spent */

/** @param {readonly string[]} args @param {string} name @returns {number | null} */
function given(args, name) {
  const value = args.find((arg) => arg.startsWith(`--${name}=`))?.split('=')[1];
  return value === undefined ? null : Number.parseFloat(value);
}

/** @param {Spent} spent @param {object} spending @param {object} [over] */
function runWith({ number, limitWei, args }, spending, over = {}) {
  const [threads, inFlight, rate] = ['threads', 'in-flight', 'rate'].map((name) => given(args, name));
  const config = { threads: threads ?? 10, inFlight: inFlight ?? 1, ratePerSecond: rate };
  const run = runOf(number, { latencyMs: 500, config });
  const shown = { capWei: `${limitWei}`, setUpWei: null, leftWei: null, spentWei: null, ...spending };
  const { rates, window } = run;
  const held = Math.min(rate ?? 100, NODE_PER_SECOND);
  return {
    ...run,
    rates: { ...rates, verifiedPerSecond: held, askedPerSecond: rate, achievedPerSecond: held },
    window: { ...window, durationMs: 20_000 },
    spending: shown,
    ...over,
  };
}

/** How a run may end. @type {Record<string, (spent: Spent) => Partial<Finished> & {wei?: number}>} */
const ENDS = {
  'to its end': (spent) => ({
    run: runWith(spent, { setUpWei: '0', leftWei: `${spent.wei}`, spentWei: `${spent.wei}` }),
  }),
  'without an audit': (spent) => ({ run: runWith(spent, { setUpWei: '10' }) }),
  'with value sent by its workload': (spent) => ({
    run: runWith(spent, { setUpWei: '0', leftWei: `${3 * spent.wei}` }),
  }),
  'in its set-up, after payments': (spent) => ({
    exitCode: 69,
    run: runWith(spent, { setUpWei: `${spent.wei}`, leftWei: '0', spentWei: `${spent.wei}` }, { end: 'set_up_failed' }),
  }),
  'in its set-up, with payments in no block': (spent) => ({
    exitCode: 69,
    run: runWith(
      spent,
      { setUpWei: `${spent.wei}`, leftWei: '0' },
      { end: 'set_up_failed', environment: { ...ENVIRONMENT, inclusion: null } },
    ),
  }),
  'in its set-up, before payments': () => ({ exitCode: 69, run: null, wei: 0 }),
  'because the chain was replaced': (spent) => ({
    exitCode: 69,
    run: runWith(spent, { setUpWei: '5' }, { end: 'chain_replaced' }),
  }),
  'with a crash of ours': () => ({ exitCode: 70, run: null }),
  'by kill -9, in its set-up': () => ({ exitCode: 137, run: null }),
  'by kill -9, with a checkpoint': (spent) => ({
    exitCode: 137,
    run: runWith(spent, { setUpWei: '5' }, { end: 'running', partial: true }),
  }),
};

const LOAD = ['-t=10', '-d=20s', '--rest=0s', `--max-spend=${CAP_WEI}wei`];

const REPOSITORY = temporaryFolder({ after });
const COMMITS = makeRepository(REPOSITORY, { commits: 3, first: 2 });

/** file: of the study. @type {Record<string, {line: string[], file?: string, study: (config: Config, parts: Parts, tools: any) => Promise<unknown>}>} */
const STUDIES = {
  sweep: { line: ['sweep', '--rpc=http://127.0.0.1:1', '--rate=1..8'], study: sweep },
  find: {
    line: ['find', '--rpc=http://127.0.0.1:1', '--rate=100..1000', '--until=p99<10s', '--time-limit=1h'],
    study: (config, parts, tools) => search(config, parts, { tools, isCapacity: true }),
  },
  'sweep --find': {
    line: ['sweep', '--find=rate', '--rpc=http://127.0.0.1:1', '--rate=100..1000', '--until=p99<10s'],
    study: (config, parts, tools) => search(config, parts, { tools }),
  },
  compare: {
    line: ['compare', '--rpc-a=http://127.0.0.1:1', '--rpc-b=http://127.0.0.1:2', '--repeat=4'],
    file: 'pairs.json',
    study: runPairs,
  },
  bisect: {
    line: [
      ...['bisect', '--rpc=http://127.0.0.1:1', '--start=true', `--repository=${REPOSITORY}`],
      ...[`--good=${COMMITS[0]}`, `--bad=${COMMITS[3]}`],
    ],
    file: 'bisect.json',
    study: (config, parts, tools) =>
      bisect(config, parts, { ...tools, startNode: async () => ({ stop: async () => {} }) }),
  },
};

/** The study itself is killed. */
class Killed extends Error {}

/**
 * The same command again and again, until it has an answer or is refused; some of its runs, and of its own processes, are killed.
 * @param {string} name of the study
 * @param {string} folder
 * @param {(number: number) => string} endOf each run
 * @param {(number: number) => {wei: number, isKilled?: boolean}} chance
 */
async function spentBy(name, folder, endOf, chance) {
  let all = 0;
  let number = 0;
  /** @type {number[]} */
  const limits = [];
  /** @type {string[]} */
  const lines = [];
  const { line, file: ofStudy = 'sweep.json', study } = STUDIES[name];
  const file = join(folder, ofStudy);
  for (let again = 0; again < 6; again += 1) {
    /** @type {string | null} */
    let atKill = null;
    const made = studied(study, [...line, ...LOAD, `--dir=${folder}`], ({ args, env }) => {
      number += 1;
      const limitWei = given(args, 'max-spend') ?? Number.parseInt(env.STRESS_MAX_SPEND ?? '', 10);
      limits.push(limitWei);
      const { wei: wanted, isKilled = false } = chance(number);
      const wei = Math.min(wanted, limitWei);
      const end = ENDS[endOf(number)]({ wei, limitWei, number, args });
      all += end.wei ?? wei;
      if (!isKilled) return end;
      atKill = readFileSync(file, 'utf8');
      throw new Killed();
    });
    const error = await made.result.then(
      () => null,
      (thrown) => thrown,
    );
    lines.push(...made.lines, `${error?.message}`);
    if (!(error instanceof Killed)) break;
    // A process that was killed has written nothing more.
    writeFileSync(file, String(atKill));
  }
  return { all, limits, lines: lines.join('\n') };
}

for (const name of Object.keys(STUDIES))
  describe(`--max-spend of stress ${name}`, () => {
    for (const end of Object.keys(ENDS))
      it(`a run that ends ${end}`, async (t) => {
        for (const at of [1, 2]) {
          const endOf = (/** @type {number} */ number) => (number === at ? end : 'to its end');
          const { all, limits } = await spentBy(name, temporaryFolder(t), endOf, () => ({ wei: MOST_WEI }));
          assert.ok(all <= CAP_WEI, `${all} wei, limits ${limits}`);
          assert.ok(limits.every((limit) => limit > 0));
        }
      });

    it('any runs, also where the study is killed and goes on', async (t) => {
      const ends = Object.keys(ENDS);
      for (let seed = 1; seed <= 6; seed += 1) {
        const random = randomNumbers(seed);
        const endOf = () => (random() < 0.6 ? 'to its end' : ends[Math.floor(random() * ends.length)]);
        const chance = () => ({ wei: Math.floor(random() * MOST_WEI), isKilled: random() < 0.15 });
        const { all, limits } = await spentBy(name, temporaryFolder(t), endOf, chance);
        assert.ok(all <= CAP_WEI, `seed ${seed}: ${all} wei, limits ${limits}`);
      }
    });
  });

it('a study whose limit is used up goes on with a higher one, and keeps its runs', async (t) => {
  const folder = temporaryFolder(t);
  const first = await spentBy(
    'sweep',
    folder,
    () => 'to its end',
    () => ({ wei: 4000 }),
  );
  assert.match(first.lines, /the runs of this study may have spent all of --max-spend 10000 wei: raise it, and/);
  assert.deepEqual(first.limits, [10_000, 6000, 2000]);
  const { study, line } = STUDIES.sweep;
  const more = studied(
    study,
    [...line, ...LOAD, '--max-spend=1', `--dir=${folder}`].filter((word) => !/=\d+wei$/.test(word)),
  );
  await more.result;
  assert.match(more.lines.join('\n'), /^3 runs kept/m);
  assert.equal(given(more.runs[0].args, 'max-spend'), 1e18 - 10_000);
});
