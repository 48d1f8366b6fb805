import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseJson } from '../../../src/chain/json.js';

const MEGABYTE = 1024 * 1024;

describe('parseJson()', () => {
  /** @type {Array<[string, string]>} */
  const crowds = [
    ['empty objects', `[${'{},'.repeat(5_000_000)}{}]`],
    ['empty arrays', `[${'[],'.repeat(5_000_000)}[]]`],
    ['arrays in arrays', '['.repeat(5_000_000) + ']'.repeat(5_000_000)],
    ['objects in objects', '{"":'.repeat(3_000_000)],
  ];
  for (const [what, text] of crowds) {
    it(`${what} without end are refused before they are made`, () => {
      const startMs = performance.now();
      assert.throws(() => parseJson(text), { name: 'SyntaxError', message: 'too many objects and arrays' });
      assert.ok(performance.now() - startMs < 1000);
    });
  }

  it('what is large for a good reason is read', () => {
    const hash = `0x${'a'.repeat(64)}`;
    /** @type {Array<[string, unknown]>} */
    const answers = [
      ['a block of hashes', { transactions: Array.from({ length: 50_000 }, () => hash) }],
      [
        'receipts',
        Array.from({ length: 12_000 }, () => ({ hash, logs: [{ topics: [hash], data: '0x' }, { topics: [] }] })),
      ],
      ['access lists', Array.from({ length: 20_000 }, () => ({ address: hash.slice(0, 42), storageKeys: [] }))],
      [
        'a trace',
        Array.from({ length: 20_000 }, () => ({ pc: 0, op: 'ADD', gas: 9, depth: 1, stack: [], memory: [] })),
      ],
    ];
    for (const [what, answer] of answers) {
      const text = JSON.stringify(answer);
      assert.ok(text.length > MEGABYTE, what);
      assert.deepEqual(parseJson(text), answer);
    }
  });
});
