/** The run file in one line of a log, and in a folder that instances share. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { OutputError } from '../../../src/errors.js';
import { claimFile } from '../../../src/files.js';
import { createResultLineOutput, createResultsOutput, resultLine } from '../../../src/outputs/json.js';
import { OutputStream } from '../../../src/outputs/streams.js';
import { caught } from '../../helpers/caught.js';
import { runFileOf } from '../../helpers/samples.js';
import { temporaryFolder } from '../../helpers/temporary.js';

const INSTANCE = {
  runId: 'demo',
  index: 3,
  instances: 4,
  attempt: 1,
  scheduler: null,
  offset: 60,
  threads: 20,
  host: 'ä b',
  start: { by: null, at: null, waitedMs: null, lateMs: null },
};

/** @param {object} options */
const optionsOf = (options) => /** @type {any} */ ({ instance: INSTANCE, ...options });

describe('the line', () => {
  const run = runFileOf({ instance: INSTANCE });

  it('has the whole run file, and no space in what a reader takes from it', () => {
    const line = `[pod/stress-3-x] 2026-01-01T00:00:00Z ${resultLine(run)}`;
    const result = JSON.parse(/STRESS_RESULT (\{\S+\})/.exec(line)?.[1] ?? '');
    const text = gunzipSync(Buffer.from(result.gzip, 'base64'));
    assert.deepEqual(JSON.parse(text.toString()), JSON.parse(JSON.stringify(run)));
    const { schema, runId, index, attempt, id, bytes, sha256 } = result;
    assert.deepEqual([schema, runId, index, attempt, id], ['evm-stress/result@1', 'demo', 3, 1, run.id]);
    assert.equal(bytes, text.length, 'bytes, and not characters');
    assert.equal(sha256, createHash('sha256').update(text).digest('hex'));
  });

  it('is written as one line, and not to a terminal', async () => {
    let written = '';
    const stream = new OutputStream(new Writable({ write: (chunk, _, done) => ((written += chunk), done()) }));
    await createResultLineOutput(optionsOf({ stream })).finish?.(run);
    assert.equal(written, `${resultLine(run)}\n`);
    const terminal = { stream: { isTTY: true, columns: 80 }, write: () => assert.fail('it is for logs') };
    await createResultLineOutput(optionsOf({ stream: terminal })).finish?.(run);
  });
});

describe('results', () => {
  it('a file named by run, index and attempt, first in part and then whole', async (t) => {
    const results = join(temporaryFolder(t), 'of', 'all');
    const output = createResultsOutput(optionsOf({ results }));
    await output.open?.();
    assert.deepEqual(readdirSync(results), ['demo-00003-1.json'], 'made, and the name is taken');
    const run = runFileOf({ instance: INSTANCE });
    await output.checkpoint?.({ ...run, partial: true });
    assert.deepEqual(readdirSync(results), ['demo-00003-1.json']);
    assert.equal(JSON.parse(readFileSync(join(results, 'demo-00003-1.json'), 'utf8')).partial, true);
    await output.finish?.(run);
    assert.equal(JSON.parse(readFileSync(join(results, 'demo-00003-1.json'), 'utf8')).partial, false);
  });

  it('without the name of a run it is called run', async (t) => {
    const results = temporaryFolder(t);
    await createResultsOutput(optionsOf({ results, instance: { ...INSTANCE, runId: null } })).finish?.(runFileOf());
    assert.deepEqual(readdirSync(results), ['run-00003-1.json']);
  });

  it('a folder that cannot be one is found by writing', async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'file'), '');
    mkdirSync(join(folder, 'there'));
    for (const results of [join(folder, 'file'), join(folder, 'file', 'under'), '/proc/nobody/can'])
      await assert.rejects(async () => createResultsOutput(optionsOf({ results })).open?.(), OutputError);
    await createResultsOutput(optionsOf({ results: join(folder, 'there') })).open?.();
  });
});

describe('claimFile()', () => {
  it('an empty file is removed again, a file with content is not', (t) => {
    const folder = temporaryFolder(t);
    const [empty, full, gone] = ['empty', 'full', 'gone/x'].map((name) => join(folder, name));
    const releases = [empty, full].map((file) => claimFile(file, ''));
    writeFileSync(full, 'x');
    releases.forEach((release) => release());
    releases.forEach((release) => release());
    assert.deepEqual([empty, full].map(existsSync), [false, true]);
    assert.throws(() => claimFile(gone, ''), /its folder does not exist/);
  });
});

describe('the run file in a folder of many instances', () => {
  const instance = { runId: 'evening-1', index: 3, instances: 4, attempt: 0 };

  it('is taken by the first, and the second may not take it away', async (t) => {
    const results = temporaryFolder(t);
    const file = join(results, 'evening-1-00003-0.json');
    const make = () => createResultsOutput(/** @type {any} */ ({ results, instance }));
    const [first, second] = [make(), make()];
    await first.open?.();
    assert.equal(readFileSync(file, 'utf8'), '');
    const error = await caught(() => second.open?.());
    assert.match(
      String(error),
      /run evening-1, index 3, attempt 0 has a run file already in .*: another instance has this index, or it ran before: give another --run-id, or --attempt 1$/,
    );
    await second.close?.();
    assert.ok(existsSync(file));
    await first.finish?.(/** @type {any} */ ({ id: 'x' }));
    await first.close?.();
    assert.equal(JSON.parse(readFileSync(file, 'utf8')).id, 'x');
  });
});
