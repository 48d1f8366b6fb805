import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BlockHistory } from '../../../src/inclusion/follow.js';

const START = 100;
/** Blocks that are remembered, as src/inclusion/follow.js has it. */
const REMEMBERED = 256;

/** @param {number} count of blocks after the start @param {string | null} [startHash] */
function lineageOf(count, startHash = '0x100') {
  const history = new BlockHistory(START, startHash);
  for (let number = START + 1; number <= START + count; number += 1) history.add(number, `0x${number}`);
  return history;
}

describe('Lineage', () => {
  it('knows the hashes of the start and of what was read, and nothing else', () => {
    const history = lineageOf(2);
    assert.deepEqual(
      [99, 100, 101, 102, 103].map((number) => history.hashOf(number)),
      [null, '0x100', '0x101', '0x102', null],
    );
    assert.deepEqual([history.oldest, history.startNumber], [START, START]);
  });

  it('a start without a hash is not remembered', () => {
    const history = lineageOf(0, null);
    assert.deepEqual([history.hashOf(START), history.oldest, history.startNumber], [null, null, START]);
    history.add(START + 1, '0x101');
    assert.equal(history.oldest, START + 1);
  });

  it('a block is no child when its parent is known to be another one', () => {
    const history = lineageOf(2);
    assert.equal(history.isChild(103, '0x102'), true);
    assert.equal(history.isChild(103, '0xother'), false);
    assert.equal(history.isChild(101, '0x100'), true);
    assert.equal(history.isChild(101, '0xother'), false);
  });

  it('where parent or hash is not known, nothing says that it is none', () => {
    const history = lineageOf(2);
    assert.equal(history.isChild(104, '0xother'), true);
    assert.equal(history.isChild(103, undefined), true, 'a node that states no parents');
    assert.equal(lineageOf(0, null).isChild(START + 1, '0xother'), true);
  });

  it('recognises the start, as far as it is known', () => {
    assert.equal(lineageOf(0).isStart('0x100'), true);
    assert.equal(lineageOf(0).isStart('0xother'), false);
    assert.equal(lineageOf(0, null).isStart('0xother'), true);
    const long = lineageOf(2 * REMEMBERED);
    assert.equal(long.hashOf(START), null);
    assert.deepEqual([long.isStart('0x100'), long.isStart('0xother'), long.startNumber], [true, false, START]);
  });

  it('forgets the oldest where there are too many', () => {
    const history = lineageOf(REMEMBERED - 1);
    assert.equal(history.oldest, START);
    history.add(START + REMEMBERED, '0xnew');
    assert.equal(history.oldest, START + 1);
    const newest = START + 3 * REMEMBERED;
    const long = lineageOf(3 * REMEMBERED);
    assert.deepEqual([long.oldest, long.hashOf(newest)], [newest - REMEMBERED + 1, `0x${newest}`]);
  });

  it('what was cut off is read anew', () => {
    const history = lineageOf(4);
    history.cutAfter(102);
    assert.deepEqual(
      [101, 102, 103, 104].map((number) => history.hashOf(number)),
      ['0x101', '0x102', null, null],
    );
    history.add(103, '0xother');
    assert.equal(history.isChild(104, '0x103'), false);
    assert.equal(history.isChild(104, '0xother'), true);
    history.cutAfter(START - 1);
    assert.equal(history.oldest, null);
  });
});
