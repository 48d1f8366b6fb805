import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { retryAfterMs } from '../../../src/transport/http.js';

describe('retryAfterMs()', () => {
  const NOW_MS = Date.parse('2026-03-01T12:00:00Z');
  /** @type {Array<[string, number | null]>} */
  const table = [
    ['0', 0],
    ['120', 120_000],
    ['601', 600_000],
    ['9'.repeat(400), 600_000],
    ['-1', null],
    ['1e3', null],
    ['', null],
    ['soon', null],
    ['Sun, 01 Mar 2026 12:00:05 GMT', 5000],
    ['Sun, 01 Mar 2026 12:00:00 GMT', 0],
    ['Sun, 01 Mar 2026 11:59:59 GMT', null],
    ['Mon, 01 Mar 2027 12:00:00 GMT', 600_000],
  ];
  for (const [text, expected] of table) {
    it(`${JSON.stringify(text.slice(0, 40))}: ${expected}`, () => assert.equal(retryAfterMs(text, NOW_MS), expected));
  }
});
