import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { InputError } from '../../../src/errors.js';
import { readRunFiles, readSweep } from '../../../src/studies/run-files.js';
import { caught } from '../../helpers/caught.js';
import { sweepOf } from '../../helpers/sweep-file.js';
import { temporaryFolder } from '../../helpers/temporary.js';

const SWEEP = sweepOf([{ settings: { threads: '10' }, metrics: { tps: [1] } }]);

describe('sweep.json', () => {
  it('of a newer version is none of a run file that was expected either', async (t) => {
    const file = join(temporaryFolder(t), 'sweep.json');
    writeFileSync(file, JSON.stringify({ ...SWEEP, schema: 'evm-stress/sweep@2' }));
    const error = await caught(() => readRunFiles([file]));
    assert.ok(error instanceof InputError);
    assert.match(
      error.message,
      /a sweep file of another version, "evm-stress\/sweep@2": this stress reads evm-stress\/sweep@1$/,
    );
  });

  /** @type {Array<[string, unknown, RegExp]>} */
  const table = [
    ['a sweep of a newer version', { ...SWEEP, schema: 'evm-stress/sweep@2' }, /a sweep file of another version, .*@2/],
    ['a run file of a newer version', { schema: 'evm-stress/run@2' }, /a run file of another version, .*reads .*run@1/],
    ['something not ours', { schema: 'evm-stress/trend@2' }, /no sweep file, but "evm-stress\/trend@2"/],
    ['a run file', { schema: 'evm-stress/run@1' }, /no sweep file, but "evm-stress\/run@1"/],
    ['something else', { a: 1 }, /no sweep file: it does not say "schema"/],
    ['null', null, /no sweep file: it does not say/],
    ['one without cells', { ...SWEEP, cells: undefined }, /no whole sweep file: \/cells is missing/],
    ['one with a wrong end', { ...SWEEP, end: 'soon' }, /no whole sweep file: \/end must be/],
    ['half a file', '{"schema":', /not valid JSON/],
  ];
  for (const [name, json, words] of table) {
    it(`refuses ${name}`, async (t) => {
      const file = join(temporaryFolder(t), 'sweep.json');
      writeFileSync(file, typeof json === 'string' ? json : JSON.stringify(json));
      const error = await caught(() => readSweep(file));
      assert.ok(error instanceof InputError);
      assert.match(error.message, words);
    });
  }
});
