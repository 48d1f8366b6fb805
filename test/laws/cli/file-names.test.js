/** Names of files that options take: a key or a mnemonic given by mistake would become a readable name. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { caught } from '../../helpers/caught.js';
import { flat, readCommand } from './read.js';

const KEY = '1a'.repeat(32);
const MNEMONIC = 'legal winner thank year wave sausage worth useful legal winner thank yellow';
const SECRET = /^--\w+ must be the name of a file; the value looks like a key or a mnemonic$/;

/** @param {string} name of an option that takes a file @param {string} file */
const read = async (name, file) =>
  flat((await readCommand(['-t', '5', `--${name}=${file}`], {}, { hasUsualConfig: false })).config)[name];

/** @param {string} name @param {string} file @returns {Promise<string>} */
const refusal = async (name, file) => (await caught(() => read(name, file))).message;

for (const name of ['out', 'hlog', 'samples']) {
  describe(`--${name}`, () => {
    for (const secret of [
      ...[KEY, KEY.toUpperCase(), `0x${KEY}`, ` ${KEY}\n`, `"${KEY}"`, `'0x${KEY}'`, `${KEY},${KEY}`],
      ...[MNEMONIC, `${MNEMONIC} `, MNEMONIC.toUpperCase(), `"${MNEMONIC}"`, MNEMONIC.replaceAll(' ', ',')],
      ...[`${MNEMONIC} ${MNEMONIC}`],
    ]) {
      it(`refuses ${JSON.stringify(secret)}, and does not repeat it`, async () =>
        assert.match(await refusal(name, secret), SECRET));
    }

    for (const file of [
      ...['a.csv', './a folder/with a few words in the name of it.ndjson', `runs/${KEY}.csv`, `run-${KEY}.csv`],
      ...[`${'a'.repeat(63)}.csv`, '12 words 3 4 5 6 7 8 9 10 11 12.csv'],
    ]) {
      it(`takes ${JSON.stringify(file)}`, async () => assert.equal(await read(name, file), file));
    }

    it('takes no empty one', async () => assert.match(await refusal(name, ' \t'), /^--\w+ (must|needs a value)/));
  });
}

describe('what only one of them takes', () => {
  it('- is standard output, where there may be one', async () => {
    assert.equal(await read('out', '-'), '-');
    assert.equal(await refusal('hlog', '-'), '--hlog must be a file: standard output is for --out');
    assert.match(await refusal('samples', '-'), /^--samples must be a file whose name ends in/);
  });

  it('rows have a format, which the name says', async () => {
    for (const file of ['folder/a.ndjson.gz', 'a.jsonl']) assert.equal(await read('samples', file), file);
    for (const file of ['a.txt', 'a.gz', 'a.csv.zip'])
      assert.equal(
        await refusal('samples', file),
        `--samples must be a file whose name ends in .csv, .ndjson or .jsonl, with or without .gz after it, not "${file}"`,
      );
  });
});
