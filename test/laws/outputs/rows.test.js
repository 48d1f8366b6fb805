import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { createBlocksOutput, createIntervalsOutput, createSamplesOutput, csvLine } from '../../../src/outputs/rows.js';
import { OutputStream } from '../../../src/outputs/streams.js';
import { Recorder } from '../../../src/stats/recorder.js';
import { equalBy } from '../../helpers/equal-by.js';
import { assertAgrees } from '../../helpers/recompute.js';
import { parseCsv, readRows } from '../../helpers/rows.js';
import { blockOf, rowOf, runFileOf, sampleOf } from '../../helpers/samples.js';
import { temporaryFolder } from '../../helpers/temporary.js';

/**
 * @import { Sample } from '../../../src/contracts/load.d.ts'
 * @import { OutputOptions } from '../../../src/contracts/output.d.ts'
 * @import { RunFile } from '../../../src/contracts/run-file.d.ts'
 */

/** Strings that quoting is about, numbers, and nothing. */
const quotable = fc.string({ unit: fc.constantFrom('"', ',', '\n', '\r', 'a', ' ', '\u2028', '\\') });
const cell = fc.oneof(fc.string(), quotable, fc.integer(), fc.constant(null));
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

describe('a row that is missing', () => {
  /** @type {Array<[string, (options: any) => any, string]>} */
  const outputs = [
    ['is an error in the file of blocks', createBlocksOutput, 'blocks'],
    ['is counted in the file of samples', createSamplesOutput, 'samples'],
  ];
  for (const [name, create, option] of outputs)
    it(name, async (t) => {
      const output = create({ [option]: join(temporaryFolder(t), 'rows.csv') });
      assert.equal('samplesDropped' in (await output.close()), option === 'samples');
    });
});

it('--blocks: gas that the chain does not state is nothing, not 0', async (t) => {
  const blocks = join(temporaryFolder(t), 'blocks.csv');
  const output = createBlocksOutput(/** @type {OutputOptions} */ ({ blocks }));
  await output.open?.();
  output.begin?.({ startUs: 0, startedAtMs: 0 });
  output.block?.(blockOf({ transactions: 3, gasUsed: 0, gasLimit: 0 }));
  output.block?.(blockOf({ transactions: 0, gasUsed: 0, gasLimit: 30 }));
  await output.close?.();
  assert.deepEqual(
    readRows(blocks).map(({ gas_used: used, gas_limit: limit }) => [used, limit]),
    [
      [null, null],
      [0, 30],
    ],
  );
});

describe('--intervals', () => {
  const rows = [1000, 2000].map((endMs) => rowOf({ startMs: endMs - 1000, endMs }));
  const totals = /** @type {any} */ ({});

  it('a file has the rows of the run file as lines of JSON', async (t) => {
    for (const name of ['rows.ndjson', 'rows.ndjson.gz']) {
      const intervals = join(temporaryFolder(t), name);
      const output = createIntervalsOutput(/** @type {OutputOptions} */ ({ intervals }));
      await output.open?.();
      output.begin?.({ startUs: 0, startedAtMs: 0 });
      for (const row of rows) output.interval?.(row, totals);
      assert.deepEqual(await output.close?.(), { error: null });
      const bytes = readFileSync(intervals);
      const text = String(name.endsWith('.gz') ? gunzipSync(bytes) : bytes);
      const lines = text.trimEnd().split('\n');
      equalBy(lines, (line) => JSON.parse(line), JSON.parse(JSON.stringify(rows)));
    }
  });

  it('standard output has them too, up to a bound; a missing row is an error', async () => {
    let text = '';
    const screen = new Writable({ write: (chunk, _, done) => ((text += chunk), done()) });
    const output = createIntervalsOutput(/** @type {OutputOptions} */ ({ intervals: '-' }), new OutputStream(screen));
    for (const row of rows) output.interval?.(row, totals);
    assert.equal(text, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    assert.deepEqual(await output.close?.(), { error: null });
    const unread = new OutputStream(new Writable({ write: () => {}, highWaterMark: 1 }));
    const other = createIntervalsOutput(/** @type {OutputOptions} */ ({ intervals: '-' }), unread);
    unread.write('x'.repeat(1 << 24));
    other.interval?.(rows[0], totals);
    assert.match(String((await other.close?.())?.error), /cannot write --intervals to standard output/);
  });
});

/** @param {string} file */
const outputTo = (file) => createSamplesOutput(/** @type {OutputOptions} */ ({ samples: file }));

/** Start of the load on the run's clock, and the window after a warm-up. */
const LOAD_US = 7_000_000;
const WINDOW_US = LOAD_US + 100_000;
const END_US = WINDOW_US + 1_000_000;

/** Durations of the stages, spread as latencies are. */
const stage = fc.oneof(fc.integer({ min: 0, max: 3000 }), fc.integer({ min: 0, max: 3_000_000 }));
const operation = fc.record({
  dueUs: fc.integer({ min: LOAD_US, max: END_US }),
  lagUs: fc.integer({ min: 0, max: 5000 }),
  outcome: fc.constantFrom('verified', 'verified', 'verified', 'failed', 'timed_out', 'abandoned'),
  stages: fc.tuple(stage, stage, stage, stage),
  position: fc.integer({ min: 0, max: 2 }),
  name: fc.option(quotable),
});

/** @param {{dueUs: number, lagUs: number, outcome: string, stages: number[], position: number, name: string | null}} given @param {number} nonce */
function sampleFrom({ dueUs, lagUs, outcome, stages: [queuedUs, submitUs, inclusionUs, readBackUs], ...given }, nonce) {
  const sentAtUs = dueUs + lagUs + queuedUs;
  const acceptedAtUs = sentAtUs + submitUs;
  const includedAtUs = outcome === 'verified' ? acceptedAtUs + inclusionUs : null;
  return sampleOf({
    ...given,
    walletIndex: 10 + given.position,
    nonce,
    outcome: /** @type {Sample['outcome']} */ (outcome),
    code: outcome === 'failed' ? ['reverted', 'lost'][nonce % 2] : null,
    intendedAtUs: dueUs,
    startedAtUs: dueUs + lagUs,
    sentAtUs,
    acceptedAtUs,
    includedAtUs,
    endedAtUs: (includedAtUs ?? acceptedAtUs) + readBackUs,
  });
}

/** @param {Sample[]} samples @returns {RunFile} */
function runOf(samples) {
  const recorder = new Recorder([10, 11, 12], WINDOW_US);
  recorder.open(LOAD_US, WINDOW_US, END_US);
  for (const { position, intendedAtUs, startedAtUs } of samples) recorder.start(position, intendedAtUs, startedAtUs);
  for (const sample of samples) recorder.add(sample);
  const [startMs, endMs] = [WINDOW_US, END_US].map((atUs) => (atUs - LOAD_US) / 1000);
  const intervals = [rowOf({ phase: 'warmup', startMs: 0, endMs: startMs }), rowOf({ startMs, endMs })];
  return runFileOf({ stats: recorder.rest(), durationUs: END_US - WINDOW_US, intervals });
}

describe('output samples', () => {
  for (const extension of ['csv', 'ndjson', 'csv.gz']) {
    it(`${extension}: the summary of a run can be worked out again from its samples`, async (t) => {
      const folder = temporaryFolder(t);
      let number = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(operation, { maxLength: 200 }), async (operations) => {
          const samples = operations.map(sampleFrom);
          const file = join(folder, `${(number += 1)}.${extension}`);
          const output = outputTo(file);
          output.begin?.({ startUs: LOAD_US, startedAtMs: 0 });
          for (const sample of samples) output.sample?.(sample);
          assert.deepEqual(await output.close?.(), { samplesDropped: 0, error: null });
          await output.close?.();
          const read = readRows(file);
          assertAgrees(runOf(samples), read);
          equalBy(
            read,
            ({ name }) => name,
            samples.map(({ name }) => name),
          );
        }),
        { numRuns: 30 },
      );
    });
  }

  it('has the columns of docs/outputs.md, and instants since the start of the load', async (t) => {
    const file = join(temporaryFolder(t), 'samples.csv');
    const output = outputTo(file);
    output.begin?.({ startUs: 1000, startedAtMs: 0 });
    const sighting = { fromUs: 4900, toUs: 5500 };
    const where = { name: 'eth_call', endpoint: 1, visibleAtUs: 5700, sighting };
    output.sample?.(
      sampleOf({ walletIndex: 7, nonce: 3, startUs: 5000, hash: '0xab', target: '0xc0', effect: '12', ...where }),
    );
    output.sample?.(
      sampleOf({
        startUs: 5000,
        outcome: 'failed',
        code: 'lost',
        hash: null,
        sentAtUs: null,
        acceptedAtUs: null,
        includedAtUs: null,
        blockNumber: null,
        effect: null,
        target: null,
      }),
    );
    await output.close?.();
    const header =
      'wallet,nonce,hash,outcome,code,intended_at_us,started_at_us,sent_at_us,accepted_at_us,included_at_us,ended_at_us,block,effect,target,name,endpoint,visible_at_us,spread_from_us,spread_to_us';
    assert.equal(
      readFileSync(file, 'utf8'),
      `${header}\n7,3,0xab,verified,,4000,4000,4100,4300,4600,5000,1,12,0xc0,eth_call,1,4700,3900,4500\n0,0,,failed,lost,4000,4000,,,,5000,,,,,,,,\n`,
    );
    assert.ok(readFileSync(new URL('../../../docs/outputs.md', import.meta.url), 'utf8').includes(header));
  });

  it('is on the disk after each interval', async (t) => {
    const file = join(temporaryFolder(t), 'samples.ndjson');
    const output = outputTo(file);
    output.begin?.({ startUs: 0, startedAtMs: 0 });
    output.sample?.(sampleOf());
    output.interval?.(rowOf(), /** @type {any} */ ({}));
    // What it promises is that it was handed to the system, which takes its time.
    for (const endMs = performance.now() + 30_000; performance.now() < endMs;) {
      try {
        if (readRows(file).length === 1) break;
      } catch {
        // It is not there yet, or only in part.
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(readRows(file).length, 1);
    await output.close?.();
  });
});
