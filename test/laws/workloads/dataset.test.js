/** The file of --logs: anything else is refused in one line. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { InputError } from '../../../src/errors.js';
import { checkSameChain, readDataSet } from '../../../src/workloads/logs.js';
import { temporaryFile, temporaryFolder } from '../../helpers/temporary.js';

const HASH = `0x${'ab'.repeat(32)}`;
const SET = Object.freeze({
  chainId: 1337,
  genesisHash: HASH,
  address: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
  bytes: 10240,
  pageSize: 10,
  blocks: [3, 3, 300],
});
const WHOLE = Object.freeze({ schema: 'evm-stress/logs@2', ...SET });

describe('a data set', () => {
  it('may lack the first block of its chain', (t) => {
    const file = join(temporaryFolder(t), 'logs.json');
    for (const genesisHash of [HASH, null]) {
      writeFileSync(file, JSON.stringify({ ...WHOLE, genesisHash }));
      assert.deepEqual(readDataSet(file), { ...WHOLE, genesisHash });
    }
  });

  /** @type {Array<[string, unknown]>} */
  const rows = [
    ['another document', { schema: 'evm-stress/run@1' }],
    ['null', null],
    ['an array', []],
    ['another version', { ...WHOLE, schema: 'evm-stress/logs@1' }],
    ['no chain', { ...WHOLE, chainId: null }],
    ['no pages', { ...WHOLE, blocks: [] }],
    ['half a byte', { ...WHOLE, bytes: 0.5 }],
    ['a number as text', { ...WHOLE, pageSize: '10' }],
    ['no address', { ...WHOLE, address: HASH }],
    ['pages without blocks', { ...WHOLE, blocks: [3, null] }],
  ];
  for (const [name, json] of rows) {
    it(`refuses ${name}`, (t) => {
      const file = temporaryFile(t, 'logs.json', json);
      assertRefused(() => readDataSet(file), / is not a data set \(schema evm-stress\/logs@2\): give a file that /);
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
