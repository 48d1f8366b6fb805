import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RpcError } from '../../../src/errors.js';
import { PAGE_TOPIC, TOPIC, listPages, readBack } from '../../../src/workloads/logs.js';
import { equalBy } from '../../helpers/equal-by.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';

const SET = Object.freeze({ address: `0x${'12'.repeat(20)}`, pageSize: 3, blocks: [1, 2] });

/** @param {number} number */
const word = (number) => number.toString(16).padStart(64, '0');

/** @param {number} id */
const logOf = (id) => {
  const page = Math.floor(id / 3);
  return {
    topics: [TOPIC, `0x${word(page)}`, `0x${word(id)}`],
    transactionHash: `0x${word(page)}`,
    blockNumber: '0x1',
  };
};

/**
 * The check of the pages that a node lists as given.
 * @param {unknown[]} answers by page
 * @param {(hash: string) => unknown} [eth_getTransactionByHash]
 */
function readAll(answers, eth_getTransactionByHash = (hash) => ({ blockNumber: `0x${Number(hash) + 1}` })) {
  const eth_getLogs = (/** @type {any} */ { topics }) => answers[Number(topics[1])];
  const rpc = fakeRpc({ eth_getLogs, eth_getTransactionByHash });
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

  it('are in the blocks of their transactions, if the node has these', async () => {
    const pages = [first, second];
    const { holds, found } = await readAll(pages, () => ({ blockNumber: '0x2' }));
    assert.deepEqual([holds, found], [false, '1 (page 0: its transaction is in block 2, and its logs are in block 1)']);
    for (const unknown of [null, { blockNumber: null }])
      assert.equal((await readAll(pages, () => unknown)).holds, true);
  });

  it('are not known if the node does not list them, or if there is no time', async () => {
    const rpc = fakeRpc({
      eth_getLogs: () => {
        throw new RpcError('eth_getLogs', -32005, 'too many');
      },
    });
    const { holds, why } = await readBack(rpc, SET, new AbortController().signal);
    assert.deepEqual([holds, why], [null, 'page 0 cannot be read back: eth_getLogs: too many (-32005)']);
    assert.equal((await readBack(rpc, SET, AbortSignal.abort())).why, 'there was time for 0 pages');
  });
});

describe('the list of pages', () => {
  const BLOCKS = Object.freeze([3, 3, 5, 149]);
  const RUN = Object.freeze({ address: SET.address, from: 2, to: 150, pages: BLOCKS.length });
  /** @param {number} page @param {number} block */
  const eventOf = (page, block) => ({
    topics: [PAGE_TOPIC, `0x${word(page)}`],
    transactionHash: `0x${word(page)}`,
    blockNumber: `0x${block.toString(16)}`,
  });
  const events = BLOCKS.map((block, page) => eventOf(page, block));

  /**
   * @param {unknown[]} logs of the chain
   * @param {number} [mostBlocks] that the node takes
   */
  async function listOf(logs, mostBlocks = Infinity) {
    const rpc = fakeRpc({
      eth_getLogs: ({ address, fromBlock, toBlock, topics }) => {
        assert.deepEqual([address, topics], [SET.address, [PAGE_TOPIC]]);
        const [from, to] = [Number(fromBlock), Number(toBlock)];
        if (to - from >= mostBlocks) throw new RpcError('eth_getLogs', -32000, 'range too large');
        return logs.filter((/** @type {any} */ { blockNumber }) => blockNumber >= from && blockNumber <= to);
      },
    });
    return { rpc, ...(await listPages(rpc, RUN, new AbortController().signal)) };
  }

  for (const mostBlocks of [Infinity, 50, 49, 10, 1])
    it(`has each page once, from a node that takes ${mostBlocks} blocks at once`, async () => {
      const { check, blocks } = await listOf(events, mostBlocks);
      assert.deepEqual([check.holds, check.found, blocks], [true, '4', BLOCKS]);
    });

  it('takes few calls', async () => {
    assert.equal((await listOf(events)).rpc.count(), 3);
    // Three are refused: of 50, 25 and 13 blocks.
    assert.equal((await listOf(events, 10)).rpc.count(), 3 + Math.ceil(149 / 7));
  });

  /** @type {Array<[string, unknown[], string]>} */
  const rows = [
    ['a page is missing', events.toSpliced(1, 1), '3 (page 1 is not listed)'],
    [
      'a page is there twice',
      [...events, eventOf(2, 5)],
      '4 (page 2 in block 5 is listed twice, or there is no such page)',
    ],
    [
      'a page is in two blocks',
      [...events, eventOf(0, 100)],
      '4 (page 0 in block 100 is listed twice, or there is no such page)',
    ],
    [
      'a page is no page of the contract',
      [...events, eventOf(4, 150)],
      '4 (page 4 in block 150 is listed twice, or there is no such page)',
    ],
  ];
  for (const [name, logs, says] of rows)
    it(`${name}: named`, async () => {
      const { check } = await listOf(logs);
      assert.deepEqual([check.holds, check.expected, check.found], [false, '4', says]);
    });

  it('is not known if the node lists not even one block, or something else, or if there is no time', async () => {
    const why = async (/** @type {unknown[]} */ logs, mostBlocks = Infinity) => {
      const { check } = await listOf(logs, mostBlocks);
      return [check.holds, check.why];
    };
    const start = 'the node does not list the pages of block 2: ';
    assert.deepEqual(await why(events, 0), [null, `${start}eth_getLogs: range too large (-32000)`]);
    const rpc = fakeRpc({ eth_getLogs: () => null });
    const { check } = await listPages(rpc, RUN, new AbortController().signal);
    assert.deepEqual(
      [check.holds, check.why],
      [null, `${start}http://fake: eth_getLogs: the answer is null; a list of logs is expected`],
    );
    const late = await listPages(rpc, RUN, AbortSignal.abort());
    assert.equal(late.check.why, 'there was time for 0 of 149 blocks');
  });
});
