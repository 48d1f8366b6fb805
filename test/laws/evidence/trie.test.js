/** Tries of lists: proofs of each value and of nothing else. test/journeys/evidence.test.js compares roots with those of nodes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { keccak256, toUtf8Bytes } from 'ethers';
import { provenValue, trieOf } from '../../../src/evidence/trie.js';

/** @param {number} count @param {number} [length] of each in bytes */
const values = (count, length = 40) =>
  Array.from(
    { length: count },
    (_, i) =>
      `0x${keccak256(toUtf8Bytes(String(i)))
        .slice(2)
        .repeat(9)
        .slice(0, 2 * length)}`,
  );

describe('the trie of a list', () => {
  it('proves each value at its index, and no other one', () => {
    for (const [count, length] of [
      [1, 40],
      [2, 3],
      [17, 40],
      [127, 3],
      [128, 1],
      [129, 200],
      [300, 40],
    ]) {
      const all = values(count, length);
      const { root, proofOf } = trieOf(all);
      for (const index of [0, 1, 15, 16, 126, 127, 128, 255, 256, count - 1].filter((one) => one < count)) {
        const proof = proofOf(index);
        assert.equal(provenValue(root, index, proof), all[index], `${index} of ${count}`);
        assert.notEqual(provenValue(root, index + 1, proof), all[index]);
        assert.equal(provenValue(`0x${'00'.repeat(32)}`, index, proof), null);
        if (proof.length > 1) assert.equal(provenValue(root, index, proof.slice(0, -1)), null);
      }
      assert.equal(provenValue(root, count + 5, proofOf(0)) === all[0], false);
    }
  });

  it('has another root for other values, and for another order', () => {
    const all = values(20);
    const roots = [all, [...all].reverse(), all.slice(1), [...all.slice(0, -1), '0x01']].map((one) => trieOf(one).root);
    assert.equal(new Set(roots).size, 4);
  });
});
