import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Standstill } from '../../../src/core/standstill.js';

/** @import { Seen } from '../../../src/core/standstill.js' */

/** 5 s in which 20 operations wait and five empty blocks come. @param {Partial<Seen>} given @returns {Seen} */
const seen = (given = {}) => ({
  ...{ ms: 5000, verified: 0, ended: 0, inFlight: 20, blocks: 5, aboveMaxFee: 0, stillMs: 900, isSilent: false },
  ...{ failures: {}, spanMs: 1000 },
  generator: { resubmissions: { repeated: 0, rebroadcast: 0, lost: 0, replaced: 0 }, failureWords: {} },
  ...given,
});

/** @param {Partial<Seen>} given of each interval @param {number} [times] */
function said(given, times = 5) {
  const standstill = new Standstill();
  return Array.from({ length: times }, () => standstill.add(seen(given))).filter((words) => words !== null);
}

/** @param {Partial<Seen['generator']>} given */
const by = (given) => ({ generator: { ...seen().generator, ...given } });
const LOST = { resubmissions: { repeated: 0, rebroadcast: 40, lost: 40, replaced: 0 } };
const FULL = { refusals: { pool_full: { count: 40, words: 'txpool is full' } } };

describe('Standstill', () => {
  /** @type {Array<[string, Partial<Seen>, RegExp]>} */
  const table = [
    ['no blocks', { blocks: 0, stillMs: 5000 }, /: no new block was seen for 5\.0 s, with 20 operations in flight$/],
    ['empty blocks', {}, /: 5 blocks came and had none of 20 operations in flight$/],
    ['blocks that are too dear', { aboveMaxFee: 4 }, /: 4 of 5 blocks had a base fee above --max-fee; 20 operations/],
    ['refusals', by(FULL), /: the node refuses transactions \("txpool is full"\)$/],
    ['losses', by(LOST), /: the node does not know the transactions any more that it accepted; 20 operations/],
    [
      'failures',
      { ended: 9, failures: { reverted: 9 }, ...by({ failureWords: { reverted: 'no' } }) },
      /: reverted 9 \("no"\)$/,
    ],
  ];
  for (const [name, given, words] of table)
    it(`${name}: says so once, after 5 s`, () => {
      const lines = said(given);
      assert.equal(lines.length, 1);
      assert.match(lines[0], /^nothing was verified for 5\.0 s: /);
      assert.match(lines[0], words);
    });

  it('waits for three times the usual time of an operation', () => {
    assert.deepEqual(said({ spanMs: 12_000 }), []);
    assert.equal(said({ spanMs: 12_000 }, 8).length, 1);
  });

  it('says nothing of a silent endpoint, of a load that rests, and of one that goes on', () => {
    for (const given of [{ isSilent: true }, { inFlight: 0 }, { verified: 1 }]) assert.deepEqual(said(given), []);
  });
});
