/** The file of --logs: anything else is refused in one line. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { InputError } from '../../../src/errors.js';
import { checkSameChain, readDataSet } from '../../../src/workloads/logs.js';
import { temporaryFolder } from '../../helpers/temporary.js';

const HASH = `0x${'ab'.repeat(32)}`;
const SET = Object.freeze({
  chainId: 1337,
  genesisHash: HASH,
  address: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
  topic: HASH,
  count: 25,
  bytes: 10240,
  pageSize: 10,
  pages: [
    { fromBlock: 3, toBlock: 3, count: 10 },
    { fromBlock: 3, toBlock: 300, count: 10 },
    { fromBlock: 300, toBlock: 301, count: 5 },
  ],
});
const WHOLE = Object.freeze({ schema: 'evm-stress/logs@1', ...SET });

describe('a data set', () => {
  it('may lack the first block of its chain', (t) => {
    const file = join(temporaryFolder(t), 'logs.json');
    for (const genesisHash of [HASH, null]) {
      writeFileSync(file, JSON.stringify({ ...WHOLE, genesisHash }));
      assert.deepEqual(readDataSet(file), { ...WHOLE, genesisHash });
    }
  });

  const [first, second, last] = SET.pages;
  /** @type {Array<[string, unknown, RegExp]>} */
  const rows = [
    [
      'another document',
      { schema: 'evm-stress/run@1' },
      / is not a data set \(schema evm-stress\/logs@1\): give a file that /,
    ],
    ['null', null, / is not a data set /],
    ['an array', [], / is not a data set /],
    ['another version', { ...WHOLE, schema: 'evm-stress/logs@2' }, / is not a data set /],
    ['no chain', { ...WHOLE, chainId: null }, / is not a valid data set: its "chainId" is wrong; give /],
    ['no logs', { ...WHOLE, count: 0, pages: [] }, /its "count" is wrong/],
    ['half a byte', { ...WHOLE, bytes: 0.5 }, /its "bytes" is wrong/],
    ['a number as text', { ...WHOLE, pageSize: '10' }, /its "pageSize" is wrong/],
    ['a short hash', { ...WHOLE, genesisHash: '0x12' }, /its "genesisHash" is wrong/],
    ['no address', { ...WHOLE, address: HASH }, /its "address" is wrong/],
    ['no topic', { ...WHOLE, topic: undefined }, /its "topic" is wrong/],
    ...[
      {},
      [first, second],
      [null, second, last],
      [last, second, first],
      [first, { ...second, toBlock: 2 }, last],
      [first, second, { ...last, count: 10 }],
    ].map((pages) => /** @type {any} */ ([JSON.stringify(pages), { ...WHOLE, pages }, /its "pages" is wrong/])),
  ];
  for (const [name, json, says] of rows) {
    it(`refuses ${name}`, (t) => {
      const file = join(temporaryFolder(t), 'logs.json');
      writeFileSync(file, JSON.stringify(json));
      assertRefused(() => readDataSet(file), says);
    });
  }

  it('refuses what is no JSON, no file, or not there', (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'half.json'), JSON.stringify(WHOLE).slice(0, 100));
    mkdirSync(join(folder, 'folder'));
    assertRefused(() => readDataSet(join(folder, 'half.json')), /half\.json is not valid JSON; give a file /);
    assertRefused(
      () => readDataSet(join(folder, 'folder')),
      /^cannot read the data set \S+folder: it is not a file; give /,
    );
    assertRefused(() => readDataSet(join(folder, 'none.json')), /^cannot read the data set \S+: no such file; give /);
  });

  it('belongs to one chain, which may not say how it began', () => {
    const other = `0x${'cd'.repeat(32)}`;
    checkSameChain(WHOLE, { chainId: 1337, genesisHash: HASH }, 'logs.json');
    checkSameChain(WHOLE, { chainId: 1337, genesisHash: null }, 'logs.json');
    checkSameChain({ ...WHOLE, genesisHash: null }, { chainId: 1337, genesisHash: other }, 'logs.json');
    const begunAnew = { chainId: 1337, genesisHash: other };
    assertRefused(
      () => checkSameChain(WHOLE, begunAnew, 'logs.json'),
      /^logs\.json is of another chain 1337 with a different genesis block/,
    );
    const elsewhere = { chainId: 5, genesisHash: HASH };
    assertRefused(
      () => checkSameChain(WHOLE, elsewhere, 'logs.json'),
      /^logs\.json is of chain 1337, not of chain 5: /,
    );
  });
});

/** @param {() => unknown} action @param {RegExp} says */
function assertRefused(action, says) {
  assert.throws(action, (error) => {
    assert.ok(error instanceof InputError);
    assert.match(error.message, says);
    assert.ok(!error.message.includes('\n'));
    return true;
  });
}
