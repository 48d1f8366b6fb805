import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { OutputError } from '../../../src/errors.js';
import { claimFile } from '../../../src/files.js';
import { createResultsOutput } from '../../../src/outputs/json.js';
import { caught } from '../../helpers/caught.js';
import { temporaryFolder } from '../../helpers/temporary.js';

describe('claimFile()', () => {
  it('the second process is refused and overwrites nothing', async (t) => {
    const file = join(temporaryFolder(t), 'a.json');
    claimFile(file, 'taken');
    writeFileSync(file, 'first');
    const error = await caught(() => claimFile(file, 'taken, do otherwise'));
    assert.ok(error instanceof OutputError);
    assert.deepEqual([error.exitCode, error.message], [73, 'taken, do otherwise']);
    assert.equal(readFileSync(file, 'utf8'), 'first');
  });

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

  it('is not left behind empty', async (t) => {
    const results = temporaryFolder(t);
    const output = createResultsOutput(/** @type {any} */ ({ results, instance }));
    await output.open?.();
    await output.close?.();
    assert.ok(!existsSync(join(results, 'evening-1-00003-0.json')));
  });
});
