import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { byCode, count, figure, megabytes, ms, seconds } from '../../../src/outputs/format.js';

describe('format', () => {
  /** @type {Array<[string, string, string]>} */
  const table = [
    ['count', count(null), '-'],
    ['count', count(0), '0'],
    ['count', count(1234567), '1,234,567'],
    ['figure', figure(null), '-'],
    ['figure', figure(0), '0.0'],
    ['figure', figure(8.55), '8.6'],
    ['figure', figure(99.94), '99.9'],
    ['figure', figure(100), '100'],
    ['figure', figure(1234.5), '1,235'],
    ['figure', figure(-5), '-5.0'],
    ['ms', ms(null), '-'],
    ['ms', ms(0), '0.0'],
    ['ms', ms(1234), '1.2'],
    ['ms', ms(1_234_567), '1,235'],
    ['seconds', seconds(0), '0.0 s'],
    ['seconds', seconds(5004), '5.0 s'],
    ['seconds', seconds(3_600_000), '3,600.0 s'],
    ['megabytes', megabytes(123_456_789), '123 MB'],
    ['byCode', byCode({}), ''],
    ['byCode', byCode({ reverted: 1, rpc_error: 2000 }), 'rpc_error 2,000, reverted 1'],
  ];
  for (const [name, text, expected] of table) it(`${name}: ${expected}`, () => assert.equal(text, expected));
});
