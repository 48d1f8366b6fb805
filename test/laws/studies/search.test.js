import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Stop } from '../../../src/core/stop.js';
import { parseThreshold } from '../../../src/stats/thresholds.js';
import { judgeTrial, search } from '../../../src/studies/find.js';
import { metricOf } from '../../../src/studies/metrics.js';
import { reader } from '../../../src/studies/run-files.js';
import { temporaryFolder } from '../../helpers/temporary.js';
import { runOf } from './runs.js';
import { studied } from './study.js';

/**
 * @import { RunFile } from '../../../src/contracts/run-file.d.ts'
 * @import { Finished } from '../../../src/studies/experiment.js'
 * @import { Asked } from './study.js'
 */

/** Of a window of two seconds. @param {{asked: number, served: number, blocks?: number}} given */
function runAt({ asked, served, blocks = 20 }) {
  const growth = Math.max(0, asked / served - 1);
  const run = runOf(1);
  return /** @type {RunFile} */ (
    /** @type {unknown} */ ({
      ...run,
      rates: {
        ...run.rates,
        askedPerSecond: asked,
        achievedPerSecond: asked,
        verifiedPerSecond: Math.min(asked, served),
      },
      window: { ...run.window, durationMs: 2000 },
      blocks: { ...run.blocks, count: blocks },
      latency: {
        ...run.latency,
        // Who comes after half a second waits for half a second's growth, who comes after one and a half for three times that.
        halves: [0.5, 1.5].map((seconds) => ({
          count: asked,
          sumUs: Math.round(asked * (60_000 + growth * seconds * 1e6)),
        })),
      },
    })
  );
}

/**
 * A search on a chain that is made up.
 * @param {string} folder
 * @param {(rate: number | null) => Partial<Finished>} answer
 * @param {{args?: string[], stop?: Stop, lines?: string[]}} [given] lines: gets what is said
 */
async function searched(folder, answer, { args = [], stop, lines: said = [] } = {}) {
  const line = ['sweep', '--find=rate', '--until=p99<10s', '-t=10', '-d=2s', '--rest=0s', `--dir=${folder}`, ...args];
  const rateOf = (/** @type {Asked} */ { args: given }) =>
    given.length === 0 ? null : Number(given[0].replace('--rate=', ''));
  const { result, lines, runs } = studied(
    async (config, parts, tools) => (await search(config, parts, { tools })).exitCode,
    line,
    (asked) => ({ run: null, ...answer(rateOf(asked)) }),
    stop,
  );
  const exitCode = await result.finally(() => said.push(...lines));
  return { exitCode, lines, rates: runs.map(rateOf), sweep: (await reader('sweep'))(join(folder, 'sweep.json')) };
}

/** @param {number} capacity */
const chainOf = (capacity) => (/** @type {number | null} */ rate) => {
  const run = runAt({ asked: rate ?? capacity, served: capacity });
  return { run: { ...run, rates: { ...run.rates, askedPerSecond: rate } } };
};

describe('search()', () => {
  it('finds what a chain can do, beginning with what it does when nothing is asked', async (t) => {
    const { exitCode, lines, rates, sweep } = await searched(temporaryFolder(t), chainOf(300));
    assert.equal(exitCode, 0);
    assert.equal(rates[0], null);
    const { find, end, cells, axes } = sweep;
    assert.ok(find !== null && find.sharp && find.estimate !== null && find.low !== null && find.high !== null);
    assert.ok(Math.abs(find.estimate / 300 - 1) < 0.05, `${find.estimate}`);
    assert.ok(find.done && Math.abs((find.held ?? 0) / 300 - 1) < 0.05, `${find.held}`);
    assert.ok(find.low <= 306 && find.high >= 300, `${find.low} to ${find.high}`);
    assert.deepEqual([end, axes], ['complete', []]);
    assert.equal(cells.flatMap(({ metrics }) => metrics.held).length, rates.length, 'each run is one of a cell');
    assert.match(lines.join('\n'), /\n {2}rate +achieved per s +rate held % +TPS +avg ms/);
    assert.equal(find.trials.length, rates.length - 1);
    assert.match(lines.join('\n'), /\/s +fails {2}held \d\d(\.\d+)? %, below 98 %/);
    assert.match(
      find.words,
      /^Holds 30\d op\/s(; estimated highest 30\d op\/s)? \(95 % interval 29\d to 3\d\d\)\. 3\d\d op\/s fails: held 9\d(\.\d+)? %, below 98 %\.$/,
    );
    assert.match(find.reasons?.at(-1) ?? '', /^\d+ runs, \d+ held, with p99<10s and held>=98%$/);
    assert.ok(lines.join('\n').includes(`\n  verdict   ${find.words}\n            - ${find.reasons?.[0]}\n`));
  });

  it('stays inside a range and reports results at its ends', async (t) => {
    const all = await searched(temporaryFolder(t), chainOf(300), { args: ['--rate=50..200'] });
    assert.ok(all.rates.every((rate) => rate !== null && rate >= 50 && rate <= 200));
    assert.deepEqual([all.exitCode, all.sweep.find?.estimate, all.sweep.find?.low], [0, null, 200]);
    assert.equal(all.sweep.find?.words, 'Holds at least 200 op/s, the end of the range.');
    const none = await searched(temporaryFolder(t), chainOf(300), { args: ['--rate=500..900'] });
    assert.deepEqual([none.exitCode, none.sweep.find?.estimate, none.sweep.find?.high], [99, null, 500]);
    assert.equal(none.sweep.find?.words, 'Holds less than 500 op/s, the start of the range.');
  });

  it('ends early where less load does not lower the latency, and not where it does', async (t) => {
    /** Latency of the chain without load, and what each operation per second adds. @param {number} idleMs @param {number} perRateMs */
    const latent = (idleMs, perRateMs) => (/** @type {number | null} */ rate) => {
      const { run } = chainOf(300)(rate);
      const { latency } = runOf(1, { latencyMs: idleMs / 4 + ((rate ?? 300) * perRateMs) / 4 });
      return { run: { ...run, latency: { ...latency, halves: run.latency.halves } } };
    };
    const args = ['--until=max<500ms'];
    const { exitCode, rates, sweep } = await searched(temporaryFolder(t), latent(1070, 0.01), { args });
    assert.deepEqual([exitCode, rates.length, sweep.find?.stopped], [99, 3, 'latency']);
    assert.match(
      sweep.find?.words ?? '',
      /^No run held\. At \d\d\.?\d* op\/s, the lowest tried, max 1,0\d\d ms, not below 500 ms\.$/,
    );
    const slower = await searched(temporaryFolder(t), latent(100, 20), { args });
    assert.deepEqual([slower.exitCode, slower.sweep.find?.stopped], [0, null]);
    assert.ok(Math.abs((slower.sweep.find?.estimate ?? 0) / 20 - 1) < 0.05, `${slower.sweep.find?.estimate}`);
  });

  it('gives no answer where the generator was the limit', async (t) => {
    const verdict = { name: /** @type {const} */ ('generator-bound'), evidence: 'busy' };
    const { sweep, exitCode } = await searched(temporaryFolder(t), (rate) => {
      const { run } = chainOf(300)(rate);
      return { run: { ...run, verdict } };
    });
    assert.match(
      sweep.find?.words ?? '',
      /^(Holds at least \d+ op\/s; the highest is n|N)ot found: the generator was the limit[.;]/,
    );
    assert.match(
      sweep.find?.reasons?.join('\n') ?? '',
      /failed, at 3\d\d\/s: held .*; the generator was the limit: busy$/m,
    );
    assert.deepEqual([exitCode, sweep.find?.estimate], [99, null]);
  });

  it('continues after an interruption without repeating runs', async (t) => {
    const folder = temporaryFolder(t);
    const stop = new Stop();
    let runs = 0;
    const first = await searched(
      folder,
      (rate) => {
        runs += 1;
        if (runs === 5) stop.request('interrupted', 130);
        return chainOf(300)(rate);
      },
      { stop },
    );
    assert.deepEqual([first.exitCode, first.sweep.end, first.sweep.find?.trials.length], [130, 'interrupted', 4]);
    assert.match(
      first.lines.join('\n'),
      /Search: interrupted, 4 runs;[^]*Holds [^]*\ninterrupted: run the same command again to resume/,
    );
    const second = await searched(folder, chainOf(300));
    assert.match(second.lines[0], /^4 runs kept, already in /);
    assert.deepEqual([second.exitCode, second.sweep.end, second.sweep.find?.sharp], [0, 'complete', true]);
    assert.deepEqual(second.sweep.find?.trials.slice(0, 4), first.sweep.find?.trials);
    const text = readFileSync(join(folder, 'sweep.json'), 'utf8');
    const third = await searched(folder, chainOf(300));
    assert.equal(third.rates.filter((rate) => rate !== null).length, 0);
    assert.equal(readFileSync(join(folder, 'sweep.json'), 'utf8'), text);
    await assert.rejects(searched(folder, chainOf(300), { args: ['--drain-timeout=9s'] }), {
      code: 'bad_input',
      message: /holds another study: --drain-timeout was not given and is 9s; give --dir another folder/,
    });
  });

  it('ends with a run that failed, and what it complained about', async (t) => {
    const folder = temporaryFolder(t);
    const gone = searched(folder, (rate) =>
      rate === null ? chainOf(300)(rate) : { exitCode: 69, complaint: 'cannot reach http://127.0.0.1:1' },
    );
    await assert.rejects(gone, { exitCode: 69, message: /^the run rate=\d+ failed: cannot reach/ });
    assert.equal((await reader('sweep'))(join(folder, 'sweep.json')).end, 'failed');
    const notExact = searched(temporaryFolder(t), (rate) => ({
      ...chainOf(300)(rate),
      exitCode: 76,
      complaint: 'the audit',
    }));
    await assert.rejects(notExact, { exitCode: 76, message: /the audit/ });
  });

  it('says what the runs before a failed one showed', async (t) => {
    const lines = /** @type {string[]} */ ([]);
    let runs = 0;
    const search = searched(
      temporaryFolder(t),
      (rate) => ({ ...chainOf(300)(rate), ...((runs += 1) === 4 && { exitCode: 76, complaint: 'the audit' }) }),
      { lines },
    );
    await assert.rejects(search, { exitCode: 76 });
    assert.match(lines.join('\n'), /\nSearch: ended early, 2 runs;[^]*\n {2}verdict {3}[^]*\nsweep\.json and the run/);
  });

  it('makes a run again in which the endpoint was down, and says so; a second time it is the limit', async (t) => {
    const outages = [{ fromMs: 500, toMs: 1500, words: 'refused' }];
    const withOutages = (/** @type {number} */ count) => {
      let left = count;
      return (/** @type {number | null} */ rate) => {
        const { run } = chainOf(300)(rate);
        if (rate === null || rate < 250 || left === 0) return { run };
        left -= 1;
        const rates = { ...run.rates, achievedPerSecond: rate / 2 };
        return { run: { ...run, rates, generator: { ...run.generator, outages } } };
      };
    };
    const once = await searched(temporaryFolder(t), withOutages(1));
    assert.match(once.lines.join('\n'), /\/s +again {2}as the endpoint did not answer for 1s$/m);
    assert.ok(Math.abs((once.sweep.find?.held ?? 0) / 300 - 1) < 0.05, `${once.sweep.find?.held}`);
    assert.match(
      once.sweep.find?.reasons?.join('\n') ?? '',
      /^the endpoint did not answer for 1s in a run at \d+\/s, which does not count$/m,
    );
    const always = await searched(temporaryFolder(t), withOutages(Infinity));
    assert.match(always.sweep.find?.words ?? '', /Limit: the endpoint was down\.$/);
  });

  it('takes no --repeat, and no value that a run would refuse', async (t) => {
    const refused = { exitCode: 64 };
    await assert.rejects(searched(temporaryFolder(t), chainOf(1), { args: ['--repeat=2'] }), refused);
    await assert.rejects(searched(temporaryFolder(t), chainOf(1), { args: ['--rate=0..5'] }), refused);
  });
});

describe('judgeTrial()', () => {
  const until = [parseThreshold('p99<1s')];

  it('requires that the rate is held, unless a condition covers it', () => {
    const run = runAt({ asked: 320, served: 300 });
    const [failed] = judgeTrial({ find: 'rate', until }, run).failed;
    assert.match(
      failed,
      /^held 9[34](\.\d)? %, below 98 % \(100 % of the rate achieved, less [67]\.\d+ % because the latency grew\)$/,
    );
    assert.equal(judgeTrial({ find: 'threads', until }, run).holds, true);
    assert.equal(judgeTrial({ find: 'rate', until: [...until, parseThreshold('dropped<1%')] }, run).holds, true);
  });

  it('prints three digits, and more where a figure that fails would look like its limit', () => {
    const textAt = (/** @type {number} */ achievedPerSecond) => {
      const run = runOf(1);
      const rates = { ...run.rates, askedPerSecond: 100, achievedPerSecond };
      return judgeTrial({ find: 'rate', until: [] }, { ...run, rates }).failed.join();
    };
    assert.deepEqual([93.6293, 97.96, 97.9996].map(textAt), [
      'held 93.6 %, below 98 % (93.6 % of the rate achieved)',
      'held 97.96 %, below 98 % (98 % of the rate achieved)',
      'held 97.9996 %, below 98 % (98 % of the rate achieved)',
    ]);
  });

  it('lists failed conditions with figures', () => {
    const run = runOf(1, { latencyMs: 600 });
    const judged = judgeTrial({ find: 'threads', until: [...until, parseThreshold('tps>50')] }, run);
    assert.equal(judged.holds, false);
    assert.match(judged.failed.join(), /^p99 2,40\d(\.\d+)? ms, not below 1 s$/);
    assert.deepEqual(judged.figures, ['tps 100 per second']);
  });
});

describe('the figure held', () => {
  const heldOf = (/** @type {RunFile} */ run) => metricOf('held').read(run);

  it('is the served share of due operations, from the growth of the queue', () => {
    for (const asked of [200, 300, 306, 330, 600]) {
      const held = heldOf(runAt({ asked, served: 300 }));
      assert.ok(held !== null && Math.abs(held - Math.min(100, 30_000 / asked)) < 0.4, `${asked}: ${held}`);
    }
  });

  it('counts what was dropped', () => {
    const run = runAt({ asked: 100, served: 100 });
    assert.equal(heldOf({ ...run, rates: { ...run.rates, achievedPerSecond: 90 } }), 90);
    assert.equal(heldOf({ ...run, rates: { ...run.rates, askedPerSecond: null } }), null);
  });

  it('takes no growth for real that few blocks can explain', () => {
    assert.ok((heldOf(runAt({ asked: 315, served: 300, blocks: 20 })) ?? 0) < 96);
    assert.equal(heldOf(runAt({ asked: 315, served: 300, blocks: 4 })), 100);
  });
});
