import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkPages, pagesOf, sampleOf, pageError } from '../../../src/workloads/logs.js';
import { UnavailableError } from '../../../src/errors.js';
import { createFakeClock } from '../../helpers/clock.js';

const HASH = `0x${'ab'.repeat(32)}`;
const BYTES = 40;
const SET = Object.freeze({
  chainId: 1,
  genesisHash: null,
  address: `0x${'12'.repeat(20)}`,
  topic: HASH,
  count: 5,
  bytes: BYTES,
  pageSize: 3,
  pages: [
    { fromBlock: 1, toBlock: 2, count: 3 },
    { fromBlock: 2, toBlock: 2, count: 2 },
  ],
});

/** @param {number} number */
const word = (number) => number.toString(16).padStart(64, '0');

/** @param {number} id @param {number} [bytes] @param {number} [filling] */
function logOf(id, bytes = BYTES, filling = id) {
  const data = `0x${word(32)}${word(bytes)}${word(filling).repeat(Math.ceil(bytes / 32))}`;
  return { topics: [HASH, `0x${word(Math.floor(id / 3))}`, `0x${word(id)}`], data };
}

describe('pagesOf()', () => {
  const part = (/** @type {number} */ first, amount = 4) => ({ first, amount });

  it('spans the blocks of all transactions of a page', () => {
    const pages = pagesOf({ count: 10, pageSize: 3 }, [part(0), part(4), part(8, 2)], [7, 5, 9]);
    assert.deepEqual(pages, [
      { fromBlock: 7, toBlock: 7, count: 3 },
      { fromBlock: 5, toBlock: 7, count: 3 },
      { fromBlock: 5, toBlock: 9, count: 3 },
      { fromBlock: 9, toBlock: 9, count: 1 },
    ]);
  });

  it('a page may be smaller or larger than a transaction', () => {
    const small = pagesOf({ count: 4, pageSize: 2 }, [part(0)], [7]);
    assert.deepEqual(small, Array(2).fill({ fromBlock: 7, toBlock: 7, count: 2 }));
    const large = pagesOf({ count: 6, pageSize: 100 }, [part(0), part(4, 2)], [8, 3]);
    assert.deepEqual(large, [{ fromBlock: 3, toBlock: 8, count: 6 }]);
  });
});

describe('checkPages()', () => {
  it('reads all pages, or fifty evenly spread', () => {
    assert.deepEqual(sampleOf(1), [0]);
    assert.deepEqual(sampleOf(3), [0, 1, 2]);
    const some = sampleOf(1000);
    assert.deepEqual([some.length, new Set(some).size, some[0], some[49]], [50, 50, 0, 999]);
  });

  it('accepts all logs in any order', () => {
    assert.equal(pageError([logOf(2), logOf(0), logOf(1)], SET, 0), null);
    assert.equal(pageError([logOf(3), logOf(4)], SET, 1), null);
  });

  /** @type {Array<[string, unknown, RegExp]>} */
  const rows = [
    ['no list', null, /^the result is not a list of logs$/],
    ['a log too few', [logOf(0), logOf(1)], /^it has 2 logs, not 3$/],
    ['a log twice', [logOf(0), logOf(1), logOf(1)], /^they are not logs 0\.\.2$/],
    ['a log of another page', [logOf(0), logOf(1), logOf(3)], /^they are not logs 0\.\.2$/],
    ['a short log', [logOf(0), logOf(1), logOf(2, 8)], /^not all of them have 40 bytes$/],
  ];
  for (const [name, logs, says] of rows) {
    it(`rejects ${name}`, () => assert.match(String(pageError(logs, SET, 0)), says));
  }

  it('waits for a missing page, then fails', async () => {
    const clock = createFakeClock();
    let asked = 0;
    let from = 3;
    const call = async (/** @type {string} */ _method, /** @type {any} */ [{ topics }]) => {
      asked += 1;
      return asked < from ? [] : [0, 1, 2, 3, 4].map((id) => logOf(id)).filter((log) => log.topics[1] === topics[1]);
    };
    const sender = /** @type {any} */ ({ rpc: { call }, clock, signal: new AbortController().signal });
    const settled = checkPages(sender, SET, () => {});
    await clock.advance(1000);
    assert.deepEqual([await settled, asked], [2, 4]);

    from = Infinity;
    const failed = assert.rejects(
      checkPages(sender, SET, () => {}),
      (error) => {
        assert.ok(error instanceof UnavailableError);
        assert.match(error.message, /^page 0 of the logs differs from what was written: it has 0 logs, not 3; /);
        return true;
      },
    );
    await clock.advance(10_000);
    await failed;
  });
});
