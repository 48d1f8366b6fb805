/** --evidence: what blocks and counts become on their way into the file. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BlockLines } from '../../../src/observers/evidence/blocks.js';
import { EvidenceThread } from '../../../src/observers/evidence/thread.js';

/** @import { BlockCounts } from '../../../src/observers/evidence/thread.js' */

const hashOf = (/** @type {number} */ number, fork = 0) => `0x${fork}${String(number).padStart(63, '0')}`;
const blockOf = (/** @type {number} */ number, fork = 0) => ({
  ...{ number, hash: hashOf(number, fork), timestampS: number, gasUsed: 21_000, gasLimit: 30_000_000, transactions: 5 },
});

/** What the lines come to, as a reader has it. @param {any[]} lines @returns {Record<number, string>} */
function rowsOf(lines) {
  /** @type {Map<number, any[]>} */
  const rows = new Map();
  for (const line of lines) {
    if (Array.isArray(line)) rows.set(line[0], [...line]);
    else if (line.reorg !== undefined)
      for (const number of [...rows.keys()]) number >= line.reorg && rows.delete(number);
    else {
      const [number, succeeded, reverted] = line.add;
      const row = /** @type {any[]} */ (rows.get(number));
      row[6] += succeeded;
      row[7] += reverted;
    }
  }
  return Object.fromEntries([...rows].map(([number, row]) => [number, `${row[1][0]} ${row[6]}/${row[7]}`]));
}

function recorded() {
  /** @type {any[]} */
  const lines = [];
  const blocks = new BlockLines((line) => void lines.push(JSON.parse(line)));
  return { lines, blocks };
}

describe('blocks of --evidence', () => {
  it('a line is written one interval later, with the counts until then', () => {
    const { lines, blocks } = recorded();
    blocks.add(blockOf(7));
    blocks.interval();
    assert.deepEqual(lines, []);
    blocks.count([7, hashOf(7), 3, 1]);
    blocks.add(blockOf(8));
    blocks.interval();
    assert.deepEqual(rowsOf(lines), { 7: '0 3/1' });
    blocks.count([7, hashOf(7), 1, 0]);
    blocks.count([8, null, 2, 0]);
    blocks.end();
    assert.deepEqual(rowsOf(lines), { 7: '0 4/1', 8: '0 2/0' });
  });

  it('a reorg of which only the newest block was read: the others are replaced, and what stays keeps its counts', () => {
    const { lines, blocks } = recorded();
    for (const number of [1, 2, 3]) {
      blocks.add(blockOf(number));
      blocks.count([number, hashOf(number), 6, 0]);
    }
    blocks.interval();
    blocks.interval();
    blocks.add(blockOf(4, 1));
    blocks.count([4, hashOf(4, 1), 12, 0]);
    blocks.correct([blockOf(1), blockOf(2, 1), blockOf(3, 1), blockOf(4, 1)]);
    blocks.end();
    assert.deepEqual(rowsOf(lines), { 1: '0 6/0', 2: '1 0/0', 3: '1 0/0', 4: '1 12/0' });
    assert.deepEqual(
      blocks.sample.map(({ hash }) => hash),
      [hashOf(1), hashOf(4, 1)],
    );
  });

  it('a reorg that was not seen: the file shows what was removed, also of blocks that were not written yet', () => {
    const { lines, blocks } = recorded();
    for (const number of [1, 2, 3]) {
      blocks.add(blockOf(number));
      blocks.count([number, hashOf(number), 6, 0]);
    }
    assert.deepEqual(
      [blockOf(3), blockOf(3, 1), undefined].map((one) => blocks.has(one)),
      [true, false, false],
    );
    blocks.correct([blockOf(1), blockOf(2, 1), blockOf(3, 1)]);
    blocks.end();
    assert.deepEqual(rowsOf(lines), { 1: '0 6/0', 2: '1 0/0', 3: '1 0/0' });
    assert.deepEqual(
      lines.filter(({ reorg }) => reorg !== undefined),
      [{ reorg: 1 }],
    );
  });

  it('without a reorg nothing is written again', () => {
    const { lines, blocks } = recorded();
    for (const number of [1, 2]) blocks.add(blockOf(number));
    blocks.interval();
    blocks.interval();
    const { length } = lines;
    blocks.correct([blockOf(1), blockOf(2)]);
    blocks.end();
    assert.equal(lines.length, length);
  });

  it('blocks that leave the chain, written or not, are replaced with their counts', () => {
    const { lines, blocks } = recorded();
    for (const number of [1, 2, 3]) blocks.add(blockOf(number));
    blocks.count([2, hashOf(2), 5, 0]);
    blocks.interval();
    blocks.interval();
    blocks.add(blockOf(4));
    blocks.count([4, hashOf(4), 5, 0]);
    blocks.add(blockOf(2, 1));
    // A thread that has not seen the reorg counts in the block before.
    blocks.count([2, hashOf(2), 9, 9]);
    blocks.count([2, hashOf(2, 1), 4, 0]);
    blocks.count([3, hashOf(3, 1), 6, 0]);
    blocks.add(blockOf(3, 1));
    blocks.end();
    assert.deepEqual(rowsOf(lines), { 1: '0 0/0', 2: '1 4/0', 3: '1 6/0' });
  });

  it('what is in a block that has replaced another one counts as soon as that is read', () => {
    const { lines, blocks } = recorded();
    blocks.add(blockOf(5));
    blocks.count([5, hashOf(5, 1), 3, 0]);
    blocks.add(blockOf(5, 1));
    blocks.end();
    assert.deepEqual(rowsOf(lines), { 5: '1 3/0' });
  });

  it('memory does not grow with the run, and counts of old blocks are not lost', () => {
    const { lines, blocks } = recorded();
    for (let number = 1; number <= 20_000; number += 1) blocks.add(blockOf(number));
    blocks.count([100, null, 2, 0]);
    blocks.count([19_000, null, 3, 0]);
    blocks.end();
    const rows = rowsOf(lines);
    assert.deepEqual([Object.keys(rows).length, rows[100], rows[19_000]], [20_000, '0 2/0', '0 3/0']);
  });

  it('the sample is the blocks with the lowest hashes of those with operations', () => {
    const { blocks } = recorded();
    for (let number = 1; number <= 9; number += 1) {
      blocks.add(blockOf(number, number === 8 ? 0 : 2));
      if (number % 2 === 0) blocks.count([number, null, 1, 0]);
    }
    blocks.end();
    assert.deepEqual(
      blocks.sample.map(({ number }) => number),
      [8, 2, 4, 6],
    );
  });
});

describe('a thread of --evidence', () => {
  it('counts verified, late and reverted operations by the hash of their block, once each', () => {
    /** @type {BlockCounts[][]} */
    const told = [];
    const thread = new EvidenceThread({ post: (counts) => void told.push(/** @type {BlockCounts[]} */ (counts)) });
    thread.block(/** @type {any} */ (blockOf(3)));
    const sample = (/** @type {string} */ outcome, /** @type {number | null} */ blockNumber) =>
      thread.operation(/** @type {any} */ ({ outcome, blockNumber }));
    sample('verified', 3);
    sample('verified', 3);
    sample('failed', 3);
    sample('timed_out', null);
    const status = (/** @type {any} */ kind, /** @type {any} */ block) =>
      thread.status(/** @type {any} */ ({}), kind, block);
    status('included', { number: 3, hash: null });
    status('reverted', { number: 3, hash: hashOf(3) });
    status('included', { number: 3, hash: hashOf(3, 1) });
    status('never_sent', null);
    status('pending', null);
    thread.interval(false);
    assert.deepEqual(told, []);
    thread.interval(true);
    thread.interval(true);
    assert.deepEqual(told, [
      [
        [3, hashOf(3), 2, 1],
        [3, null, 1, 0],
        [3, hashOf(3, 1), 1, 0],
      ],
    ]);
  });
});
