/** The figures of gas, from blocks and receipts that are made by hand. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeBlock } from '../../../src/inclusion/heads.js';
import { addBlocks, noBlocks, totalsOfBlock } from '../../../src/stats/blocks.js';
import { figureOf, shownFigure } from '../../../src/stats/figures.js';
import { merge } from '../../../src/stats/merge.js';
import { BLOCKS } from '../../../src/stats/metrics.js';
import { Recorder } from '../../../src/stats/recorder.js';
import { blockOf, runFileOf, sampleOf } from '../../helpers/samples.js';

/** @import { SeenBlock } from '../../../src/contracts/chain.d.ts' */

/** @param {Array<Partial<SeenBlock>>} blocks */
function totalsOf(...blocks) {
  return blocks
    .map((given, number) =>
      totalsOfBlock(blockOf({ number, transactions: 0, ours: 0, gasUsed: 0, gasLimit: 1000, ...given })),
    )
    .reduce(addBlocks, noBlocks());
}

/** @param {ReturnType<typeof totalsOf>} blocks @param {any} [given] */
function figuresOf(blocks, given = {}) {
  const run = runFileOf();
  // The window is two seconds long, and all blocks are inside of it.
  Object.assign(run, { blocks, ...given });
  Object.assign(run.rates, { includedPerSecond: blocks.ours / 2, chainGasPerSecond: blocks.gasUsed / 2 });
  const names = ['gas', 'chain.gas', 'gas.op', 'fullness', 'fullness.p50', 'fullness.p90'];
  return Object.fromEntries(names.map((name) => [name, shownFigure(name, run)]));
}

describe('gas', () => {
  it('of blocks with our transactions only, and empty ones', () => {
    const blocks = totalsOf({ transactions: 3, ours: 3, gasUsed: 300 }, {}, { transactions: 2, ours: 2, gasUsed: 500 });
    assert.deepEqual(figuresOf(blocks), {
      gas: 400,
      'chain.gas': 400,
      'gas.op': 160,
      fullness: (100 * 0.8) / 3,
      'fullness.p50': 30,
      'fullness.p90': 50,
    });
  });

  it('of blocks with transactions of others too: an operation takes what it took in the blocks without them', () => {
    const blocks = totalsOf({ transactions: 2, ours: 2, gasUsed: 100 }, { transactions: 5, ours: 2, gasUsed: 900 });
    const { gas, 'chain.gas': chain, 'gas.op': perOperation } = figuresOf(blocks);
    assert.deepEqual([gas, chain, perOperation], [100, 500, 50]);
  });

  it('of blocks that all have transactions of others: by receipts, or not known', () => {
    const blocks = totalsOf({ transactions: 5, ours: 2, gasUsed: 900 });
    assert.deepEqual(figuresOf(blocks, { gas: { operations: 4, used: 120 } }).gas, 30);
    assert.equal(figuresOf(blocks).gas, null);
  });

  it('of blocks that state no gas: not known', () => {
    const { gas, 'gas.op': perOperation } = figuresOf(totalsOf({ transactions: 2, ours: 2, gasUsed: 0 }));
    assert.deepEqual([gas, perOperation], [null, null]);
  });

  it('of instances whose transactions share the blocks', () => {
    const both = merge(
      BLOCKS,
      totalsOf({ transactions: 5, ours: 2, gasUsed: 900 }),
      totalsOf({ transactions: 5, ours: 3, gasUsed: 900 }),
    );
    assert.deepEqual([figuresOf(both)['gas.op'], figuresOf(both).gas], [180, 450]);
  });

  it('no block: nothing is known', () => {
    const figures = figuresOf(noBlocks());
    assert.deepEqual(
      [figures.gas, figures['gas.op'], figures.fullness, figures['fullness.p50']],
      [null, null, null, null],
    );
    assert.equal(figures['chain.gas'], 0);
  });

  it('a gas limit of 0 gives no fullness and no full block', () => {
    const unlimited = { transactions: 3, ours: 3, gasUsed: 300, gasLimit: 0 };
    const { full, fullness } = totalsOf(unlimited, unlimited);
    assert.deepEqual([full, fullness], [0, {}]);
    const none = figuresOf(totalsOf(unlimited, unlimited));
    assert.deepEqual([none.fullness, none['fullness.p50'], none['fullness.p90'], none.gas], [null, null, null, 300]);
    const environment = { ...runFileOf().environment, blockGasLimit: null };
    const unmeasured = { '/environment/blockGasLimit': 'the chain states none' };
    const run = { ...runFileOf(), environment, unmeasured, blocks: totalsOf(unlimited) };
    assert.equal(/** @type {any} */ (figureOf('fullness'))?.read(run).why, 'the chain states none');
    const block = { number: 1, hash: '0x1', timestampS: 1, gasUsed: 1, gasLimit: null, transactions: [] };
    assert.equal(describeBlock(/** @type {any} */ (block), 0, 0).gasLimit, 0, 'a missing one as well');
    // Of some of the blocks it is known.
    const some = figuresOf(totalsOf(unlimited, { transactions: 1, gasUsed: 500 }));
    assert.deepEqual([some.fullness, some['fullness.p50']], [50, 50]);
  });

  it('receipts count for operations verified in the window, in all and by name', () => {
    const samples = [
      sampleOf({ name: 'one', gasUsed: 10 }),
      sampleOf({ name: 'two', gasUsed: 30, startUs: 5000 }),
      sampleOf({ name: 'two', gasUsed: null, startUs: 6000 }),
      sampleOf({ name: 'two', gasUsed: 99, outcome: 'failed', code: 'reverted', startUs: 7000 }),
    ];
    const recorder = new Recorder([0], 0);
    for (const sample of samples) {
      recorder.start(0, sample.intendedAtUs);
      recorder.add(sample);
    }
    const { gas, byName } = recorder.rest();
    assert.deepEqual(gas, { operations: 2, used: 40 });
    assert.deepEqual(
      [byName.one.gas, byName.two.gas],
      [
        { operations: 1, used: 10 },
        { operations: 1, used: 30 },
      ],
    );
  });
});
