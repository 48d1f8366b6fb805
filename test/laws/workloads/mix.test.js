import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDraw } from '../../../src/workloads/mix.js';
import { labelOf, setOfMember } from '../../../src/workloads/table.js';
import { equalBy } from '../../helpers/equal-by.js';
import { hostOf } from './host.js';

const MEMBERS = [
  { name: 'counter', weight: 50 },
  { name: 'erc20', weight: 30 },
  { name: './mine.js', weight: 20 },
];

/** @param {typeof MEMBERS} members @param {string} [tag] @param {number} [first] position of the first wallet of the thread */
const drawOf = (members, tag = '12345678', first = 0) => createDraw(members, hostOf(tag, { first }).kit);

describe('a mix', () => {
  it('draws its members by their weights, for each wallet', () => {
    const draw = drawOf(MEMBERS);
    for (const position of [0, 1, 99]) {
      const counts = [0, 0, 0];
      for (let nonce = 0; nonce < 10_000; nonce += 1) counts[draw(position, nonce)] += 1;
      counts.forEach((count, i) => assert.ok(Math.abs(count - 100 * MEMBERS[i].weight) < 250, `${counts}`));
    }
  });

  it('draws the same again, in a thread as well, and another one with another tag', () => {
    const all = (/** @type {(position: number, nonce: number) => number} */ draw, from = 0) =>
      Array.from({ length: 200 }, (_, i) => draw(from + (i % 10), Math.floor(i / 10)));
    const whole = all(drawOf(MEMBERS), 30);
    assert.deepEqual(all(drawOf(MEMBERS, '12345678', 30)), whole);
    assert.notDeepEqual(all(drawOf(MEMBERS, '12345679', 30)), whole);
  });

  it('one member takes all', () => {
    const draw = drawOf([MEMBERS[1]]);
    equalBy([0, 1, 2, 3], (nonce) => draw(0, nonce), [0, 0, 0, 0]);
  });

  it('settings have the name of the built-in member before them, and files have the others', () => {
    /** @type {Array<[string, string]>} */
    const set = [
      ['storage.slots', '5'],
      ['erc20.x', '1'],
      ['color', 'red'],
    ];
    assert.deepEqual(setOfMember('storage', set), [['slots', '5']]);
    assert.deepEqual(setOfMember('./mine.js', set), [['color', 'red']]);
    assert.deepEqual(['counter', '../a/mine.mjs'].map(labelOf), ['counter', 'mine']);
  });
});
