import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compileCheck, differenceOf, faultOf } from '../../../src/workloads/call-checks.js';

/** @import { CheckRule } from '../../../src/workloads/call-checks.js' */

const BLOCK = { number: '0x5', transactions: [{ hash: '0xa' }, { hash: '0xb' }], withdrawals: null };

/** @param {CheckRule} rule @param {unknown} [answer] @returns {string | null} */
function held(rule, answer = BLOCK) {
  const check = compileCheck(rule);
  return faultOf(check, answer, check.expected.make(/** @type {any} */ (null)));
}

describe('checks of answers', () => {
  /** @type {Array<[CheckRule, unknown, string | null]>} */
  const table = [
    [{ path: 'number', equals: '0x5' }, BLOCK, null],
    [{ path: '$.number', equals: '0x5' }, BLOCK, null],
    [{ path: 'number', equals: '0x6' }, BLOCK, '$.number is "0x5" instead of "0x6"'],
    [{ path: 'transactions.1.hash', equals: '0xb' }, BLOCK, null],
    [{ path: 'transactions.2.hash', equals: '0xb' }, BLOCK, '$.transactions.2.hash is missing instead of "0xb"'],
    [{ path: '$', equals: '0x1' }, '0x1', null],
    [{ path: '$', equals: { b: [1, { c: null }], a: 1 } }, { a: 1, b: [1, { c: null }] }, null],
    [{ path: '$', equals: { b: [1, { c: null }] } }, { b: [1, { c: 2 }] }, '$.b.1.c is 2 instead of null'],
    [{ path: '$', length: 2 }, [1, 2], null],
    [{ path: '$', length: 2 }, [1], '$ has the length 1 instead of 2'],
    [{ path: 'transactions', length: 2 }, BLOCK, null],
    [{ path: 'withdrawals', length: 0 }, BLOCK, '$.withdrawals is null; a length of 0 is expected'],
    [{ path: 'number', exists: true }, BLOCK, null],
    [{ path: 'withdrawals', exists: true }, BLOCK, '$.withdrawals is missing'],
    [{ path: 'withdrawals', exists: false }, BLOCK, null],
    [{ path: 'number', exists: false }, BLOCK, '$.number is "0x5"; it must be missing or null'],
    [{ path: 'toString', exists: true }, BLOCK, '$.toString is missing'],
  ];
  for (const [rule, answer, words] of table) {
    it(`${JSON.stringify(rule)} of ${JSON.stringify(answer)}`, () => assert.equal(held(rule, answer), words));
  }
});

describe('where two answers differ', () => {
  it('is named, shortly, and without what looks like a key', () => {
    assert.equal(differenceOf([1, { a: 'x' }], [1, { a: 'x' }]), null);
    assert.equal(differenceOf({ a: 1, b: 2 }, { b: 2, a: 1 }), null);
    assert.equal(differenceOf([1], [1, 2]), '$ has 1 element instead of 2');
    assert.equal(differenceOf({ a: 1 }, {}), '$.a is 1 and should be missing');
    assert.equal(differenceOf(null, { a: 1 }), '$ is null instead of {"a":1}');
    const long = String(differenceOf('a'.repeat(10_000), `x ${'z1'.repeat(40)}`));
    assert.ok(long.length < 200);
    assert.doesNotMatch(long, /z1z1/);
  });

  it('is not looked for beyond all measure', () => {
    const deep = (/** @type {unknown} */ last) => Array.from({ length: 5000 }).reduce((inner) => [inner], last);
    assert.match(String(differenceOf(deep(1), deep(2))), /nested too deeply/);
  });
});
