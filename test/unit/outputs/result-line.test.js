/** The run file in one line of a log, and in a folder that instances share. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { OutputError } from '../../../src/errors.js';
import { createResultLineOutput, createResultsOutput, resultLine } from '../../../src/outputs/json.js';
import { OutputStream } from '../../../src/outputs/streams.js';
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

  it('is written as one line', async () => {
    let written = '';
    const stream = new OutputStream(new Writable({ write: (chunk, _, done) => ((written += chunk), done()) }));
    await createResultLineOutput(optionsOf({ stream })).finish?.(run);
    assert.equal(written, `${resultLine(run)}\n`);
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
