/** A window with few blocks in it: how far its TPS may be off, and what would be long enough. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { summaryText } from '../../../src/outputs/summary.js';
import { cutShort, shortWindow } from '../../../src/stats/growth.js';
import { noBlocks } from '../../../src/stats/blocks.js';
import { rowOf, runFileOf } from '../../helpers/samples.js';

/** @typedef {Parameters<typeof shortWindow>[0]} Run */

/**
 * 50 wallets on a chain with a block a second.
 * @param {{seconds: number, verifiedBlocks?: number, warmupS?: number, inFlight?: number, end?: string, inclusion?: object | null}} given
 * @returns {Run}
 */
function runOf({ seconds, verifiedBlocks = seconds, warmupS = 0, inFlight = 50, end = 'duration', inclusion = {} }) {
  const row = (
    /** @type {'warmup' | 'load' | 'drain'} */ phase,
    /** @type {number} */ fromS,
    /** @type {number} */ toS,
  ) =>
    rowOf({
      phase,
      startMs: 1000 * fromS,
      endMs: 1000 * toS,
      blocks: { ...noBlocks(), count: toS - fromS },
      inFlight: phase === 'drain' ? 0 : inFlight,
    });
  const endS = warmupS + seconds;
  return /** @type {Run} */ ({
    environment: { inclusion },
    end,
    window: /** @type {any} */ ({ durationMs: 1000 * seconds, counts: { verified: 50 * verifiedBlocks } }),
    blocks: { ...noBlocks(), count: verifiedBlocks },
    intervals: [
      ...(warmupS > 0 ? [row('warmup', 0, warmupS)] : []),
      ...[row('load', warmupS, endS), row('drain', endS, endS + 1)],
    ],
  });
}

describe('shortWindow()', () => {
  /** @type {Array<[string, Run, RegExp | null]>} */
  const table = [
    [
      'few blocks, with a warm-up or without',
      runOf({ seconds: 4, warmupS: 3 }),
      /^the window has 4 of the 10 blocks that its figures need: they may differ in the next run; give --duration 11s or longer$/,
    ],
    ['no block', runOf({ seconds: 1, verifiedBlocks: 0 }), /^the window has 0 of the 10 blocks /],
    ['ten blocks are enough', runOf({ seconds: 10 }), null],
    ['plain calls need none', runOf({ seconds: 1, inclusion: null }), null],
    ['a run that makes its iterations leaves nothing in flight', runOf({ seconds: 2, end: 'iterations' }), null],
  ];
  for (const [name, run, words] of table)
    it(name, () => {
      const short = shortWindow(run);
      if (words === null) return assert.equal(short, null);
      assert.match(short?.words ?? '', words);
      assert.equal(short?.blocks, run.blocks.count);
    });

  it('an outage is no part of the block interval, and without an endpoint there is nothing to advise', () => {
    const run = runOf({ seconds: 15, verifiedBlocks: 5 });
    const load = run.intervals[0];
    load.blocks = { ...noBlocks(), count: 5, gapMaxMs: 11_000, skewMinMs: 200, skewMaxMs: 700 };
    assert.match(shortWindow(run)?.words ?? '', / give --duration 11s or longer/);
    // Blocks that were made meanwhile, and seen late.
    load.blocks.skewMaxMs = 10_500;
    assert.match(shortWindow(run)?.words ?? '', / give --duration 30s or longer/);
    const verdict = { name: /** @type {const} */ ('endpoint-down'), evidence: 'gone' };
    assert.equal(shortWindow({ ...run, verdict }), null);
  });

  it('stands among the warnings of the run file', () => {
    const { intervals } = runOf({ seconds: 4 });
    const run = runFileOf({ intervals, environment: { inclusion: { name: 'blocks' } } });
    const found = run.warnings.filter((words) => words.startsWith('the window has 4 of the 10'));
    assert.equal(found.length, 1);
    const text = summaryText(run, false);
    assert.match(text, /\n {2}warning {5}the window has 4 of the 10 blocks that its figures need: they /);
    assert.ok(text.split('\n').every((line) => line.length <= 130));
  });
});

it('cutShort(): says until when TPS is known, in the warnings and in the summary', () => {
  const words =
    'TPS is that of the first 1.5 s of the window, up to its last block: the drain ended before the next one';
  const run = runFileOf({ ratesUs: 1_500_000 });
  assert.equal(cutShort(run), words);
  assert.ok(run.warnings.includes(words));
  assert.match(summaryText(run, false), /\n {2}warning {5}TPS is that of the first 1\.5 s of the window/);
  assert.equal(cutShort(runFileOf()), null);
  assert.equal(
    cutShort({ ...run, merged: /** @type {any} */ ({}) }),
    null,
    'the common window of instances ends there',
  );
});
