import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RpcError } from '../../../src/errors.js';
import { TOPIC, readBack } from '../../../src/workloads/logs.js';
import { equalBy } from '../../helpers/equal-by.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';

const SET = Object.freeze({ address: `0x${'12'.repeat(20)}`, pageSize: 3, blocks: [1, 2] });

/** @param {number} number */
const word = (number) => number.toString(16).padStart(64, '0');

/** @param {number} id */
const logOf = (id) => ({ topics: [TOPIC, `0x${word(Math.floor(id / 3))}`, `0x${word(id)}`] });

/** The check of the pages that a node lists as given. @param {unknown[]} answers by page */
function readAll(answers) {
  const rpc = fakeRpc({ eth_getLogs: (/** @type {any} */ { topics }) => answers[Number(topics[1])] });
  return readBack(rpc, SET, new AbortController().signal);
}

describe('pages that are read back', () => {
  const [first, second] = [
    [logOf(2), logOf(0), logOf(1)],
    [logOf(3), logOf(4), logOf(5)],
  ];

  it('have all logs, in any order', async () => {
    equalBy([await readAll([first, second])], ({ holds, found }) => [holds, found], [[true, '2']]);
  });

  it('are fifty at most, evenly spread', async () => {
    const blocks = Array.from({ length: 1000 }, () => 1);
    const rpc = fakeRpc({ eth_getLogs: () => [] });
    const { found } = await readBack(rpc, { ...SET, blocks }, new AbortController().signal);
    assert.equal(found, '0 (page 0: it has 0 logs, not 3)');
    assert.equal(rpc.count('eth_getLogs'), 50);
  });

  /** @type {Array<[string, unknown, RegExp]>} */
  const rows = [
    ['no list', null, /^1 \(page 0: the result is not a list of logs\)$/],
    ['a log too few', [logOf(0), logOf(1)], /^1 \(page 0: it has 2 logs, not 3\)$/],
    ['a log twice', [logOf(0), logOf(1), logOf(1)], /^1 \(page 0: they are not logs 0\.\.2\)$/],
    ['a log of another page', [logOf(0), logOf(1), logOf(3)], /^1 \(page 0: they are not logs 0\.\.2\)$/],
  ];
  for (const [name, logs, says] of rows) {
    it(`${name} is named`, async () => {
      const { holds, found } = await readAll([logs, second]);
      assert.equal(holds, false);
      assert.match(String(found), says);
    });
  }

  it('are not known if the node does not list them, or if there is no time', async () => {
    const rpc = fakeRpc({
      eth_getLogs: () => {
        throw new RpcError('eth_getLogs', -32005, 'too many');
      },
    });
    const { holds, why } = await readBack(rpc, SET, new AbortController().signal);
    assert.deepEqual([holds, why], [null, 'the node does not list page 0: eth_getLogs: too many (-32005)']);
    assert.equal((await readBack(rpc, SET, AbortSignal.abort())).why, 'there was time for 0 pages');
  });
});
