import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileName, pathName, rowFile } from '../../../src/cli/parse.js';

const KEY = '1a'.repeat(32);
const MNEMONIC = 'legal winner thank year wave sausage worth useful legal winner thank yellow';
const SECRET = /^must be the name of a file; the value looks like a key or a mnemonic$/;

const parsers = { pathName, fileName, rowFile };
for (const [name, parse] of Object.entries(parsers)) {
  describe(`${name}()`, () => {
    for (const secret of [
      ...[KEY, KEY.toUpperCase(), `0x${KEY}`, ` ${KEY}\n`, `"${KEY}"`, `'0x${KEY}'`, `${KEY},${KEY}`],
      ...[MNEMONIC, `${MNEMONIC} `, MNEMONIC.toUpperCase(), `"${MNEMONIC}"`, MNEMONIC.replaceAll(' ', ',')],
      ...[`${MNEMONIC} ${MNEMONIC}`],
    ]) {
      it(`refuses ${JSON.stringify(secret)}, and does not repeat it`, () =>
        assert.rejects(async () => parse(secret), { message: SECRET }));
    }

    for (const file of [
      ...['a.csv', './a folder/with a few words in the name of it.ndjson', `runs/${KEY}.csv`, `run-${KEY}.csv`],
      ...[`${'a'.repeat(63)}.csv`, '12 words 3 4 5 6 7 8 9 10 11 12.csv'],
    ]) {
      it(`takes ${JSON.stringify(file)}`, () => assert.equal(parse(file), file));
    }

    it('takes no empty one', async () => {
      for (const text of ['', ' \t']) await assert.rejects(async () => parse(text), { message: /^must / });
    });
  });
}

describe('what only one of them takes', () => {
  it('- is standard output, where there may be one', async () => {
    assert.equal(pathName('-'), '-');
    await assert.rejects(async () => fileName('-'), { message: /^must be a file: standard output is for --out$/ });
    await assert.rejects(async () => rowFile('-'), { message: /^must be a file whose name ends in/ });
  });

  it('rows have a format, which the name says', async () => {
    for (const file of ['folder/a.ndjson.gz', 'a.jsonl']) assert.equal(rowFile(file), file);
    for (const file of ['a.txt', 'a.gz', 'a.csv.zip'])
      await assert.rejects(async () => rowFile(file), {
        message: `must be a file whose name ends in .csv, .ndjson or .jsonl, with or without .gz after it, not "${file}"`,
      });
  });
});
