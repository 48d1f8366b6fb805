import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import {
  RowFile,
  createBlocksOutput,
  createIntervalsOutput,
  createSamplesOutput,
  csvLine,
  jsonLine,
} from '../../../src/outputs/rows.js';
import { OutputStream } from '../../../src/outputs/streams.js';
import { equalBy } from '../../helpers/equal-by.js';
import { parseCsv } from '../../helpers/rows.js';
import { rowOf } from '../../helpers/samples.js';
import { temporaryFolder } from '../../helpers/temporary.js';

/** @import { Output } from '../../../src/types.d.ts' */

/** Strings that quoting is about, numbers, and nothing. */
const cell = fc.oneof(
  fc.string(),
  fc.string({ unit: fc.constantFrom('"', ',', '\n', '\r', 'a', ' ', '\u2028', '\\') }),
  fc.integer(),
  fc.constant(null),
);
const rows = fc.array(fc.array(cell, { minLength: 3, maxLength: 3 }), { maxLength: 5 });

describe('csvLine()', () => {
  it('an RFC 4180 reader gets the original values', () => {
    fc.assert(
      fc.property(rows, (given) => {
        const read = parseCsv(given.map(csvLine).join(''));
        assert.deepEqual(
          read,
          given.map((cells) => cells.map((one) => (typeof one === 'number' ? String(one) : one))),
        );
      }),
    );
  });

  it('quotes only what needs it', () => {
    assert.equal(csvLine([1, 'a b', null, '', 'x"y', 'p,q', 'm\nn']), '1,a b,,"","x""y","p,q","m\nn"\n');
  });
});

describe('jsonLine()', () => {
  it('parses to the original values, on one line', () => {
    const columns = ['one', 'two "quoted"', 'three'];
    const line = jsonLine(columns);
    fc.assert(
      fc.property(rows, (given) => {
        const lines = given.map(line).join('');
        assert.equal(lines.split('\n').length, given.length + 1);
        const read = lines.split('\n').slice(0, -1);
        const objects = given.map((cells) => Object.fromEntries(columns.map((name, i) => [name, cells[i]])));
        assert.deepEqual(
          read.map((text) => JSON.parse(text)),
          objects.map((object) => JSON.parse(JSON.stringify(object))),
        );
      }),
    );
  });
});

describe('RowFile', () => {
  for (const extension of ['.csv', '.csv.gz', '.ndjson', '.ndjson.gz', '.jsonl', '.jsonl.gz']) {
    it(`writes ${extension}`, async (t) => {
      const path = join(temporaryFolder(t), `rows${extension}`);
      const file = new RowFile(path, ['a', 'b']);
      file.beginRows();
      file.addRow([1, 'x']);
      file.addRow([2, null]);
      await file.close();
      const bytes = readFileSync(path);
      const text = (extension.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
      const isCsv = extension.startsWith('.csv');
      assert.equal(text, isCsv ? 'a,b\n1,x\n2,\n' : '{"a":1,"b":"x"}\n{"a":2,"b":null}\n');
    });
  }
});

describe('a row that is missing', () => {
  /** @type {Array<[string, (options: any) => any, string]>} */
  const outputs = [
    ['is an error in the file of blocks', createBlocksOutput, 'blocks'],
    ['is counted in the file of samples', createSamplesOutput, 'samples'],
  ];
  for (const [name, create, option] of outputs)
    it(name, async (t) => {
      const output = create({ [option]: join(temporaryFolder(t), 'rows.csv') });
      const settled = await output.settle();
      assert.equal('samplesDropped' in settled, option === 'samples');
      await output.close();
    });
});

describe('--intervals', () => {
  const rows = [1000, 2000].map((endMs) => rowOf({ startMs: endMs - 1000, endMs }));
  const totals = /** @type {any} */ ({});

  it('a file has the rows of the run file as lines of JSON', async (t) => {
    for (const name of ['rows.ndjson', 'rows.ndjson.gz']) {
      const intervals = join(temporaryFolder(t), name);
      const output = createIntervalsOutput({ intervals });
      await output.open?.();
      output.start?.({ startUs: 0, startedAtMs: 0 });
      for (const row of rows) output.interval?.(row, totals);
      assert.deepEqual(await output.settle?.(), { error: null });
      await output.finish?.(/** @type {any} */ ({}));
      const bytes = readFileSync(intervals);
      const text = String(name.endsWith('.gz') ? gunzipSync(bytes) : bytes);
      const lines = text.trimEnd().split('\n');
      equalBy(lines, (line) => JSON.parse(line), JSON.parse(JSON.stringify(rows)));
    }
  });

  it('standard output has them too, up to a bound; a missing row is an error', async () => {
    let text = '';
    const screen = new Writable({ write: (chunk, _, done) => ((text += chunk), done()) });
    const output = createIntervalsOutput({ intervals: '-' }, new OutputStream(screen));
    for (const row of rows) output.interval?.(row, totals);
    assert.equal(text, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    assert.deepEqual(await output.settle?.(), { error: null });
    const unread = new OutputStream(new Writable({ write: () => {}, highWaterMark: 1 }));
    const other = createIntervalsOutput({ intervals: '-' }, unread);
    unread.write('x'.repeat(1 << 24));
    other.interval?.(rows[0], totals);
    assert.match(String((await other.settle?.())?.error), /cannot write --intervals to standard output/);
  });
});
