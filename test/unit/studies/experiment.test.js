import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { OutputError } from '../../../src/errors.js';
import { LOCK, inFolder, remainingTime } from '../../../src/studies/experiment.js';
import { caught } from '../../helpers/caught.js';
import { createFakeClock } from '../../helpers/clock.js';
import { temporaryFolder } from '../../helpers/temporary.js';

describe('inFolder()', () => {
  it('makes the folder, has the lock while it works, and removes it', async (t) => {
    const folder = join(temporaryFolder(t), 'a', 'b');
    const seen = await inFolder(folder, 'cells', async () => readFileSync(join(folder, LOCK), 'utf8'));
    assert.equal(seen, `${process.pid}\n`);
    assert.deepEqual(readdirSync(folder), ['cells']);
  });

  it('removes it after an error, too', async (t) => {
    const folder = temporaryFolder(t);
    const error = new Error('so it is');
    assert.equal(await caught(() => inFolder(folder, '', () => Promise.reject(error))), error);
    assert.deepEqual(readdirSync(folder), []);
  });

  it('refuses a folder in which another process is at work, and leaves its lock', async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, LOCK), `${process.ppid}\n`);
    const error = await caught(() => inFolder(folder, 'cells', async () => assert.fail('it worked')));
    assert.ok(error instanceof OutputError && error.exitCode === 73);
    assert.ok(error.message.startsWith(`another stress (pid ${process.ppid}) is at work in ${folder}: give --dir`));
    assert.equal(readFileSync(join(folder, LOCK), 'utf8'), `${process.ppid}\n`);
    assert.deepEqual(readdirSync(folder), [LOCK], 'nothing is made for who is refused');
    writeFileSync(join(folder, LOCK), '');
    assert.equal(await inFolder(folder, '', async () => 1), 1, 'its owner ended before it wrote its id');
  });

  it('takes over the lock of an ended process, or of another container with the same process id', async (t) => {
    const folder = temporaryFolder(t);
    const ended = spawnSync(process.execPath, ['-e', '']).pid;
    for (const pid of [ended, process.pid]) {
      writeFileSync(join(folder, LOCK), `${pid}\n`);
      assert.equal(
        await inFolder(folder, '', async () => readFileSync(join(folder, LOCK), 'utf8')),
        `${process.pid}\n`,
      );
      assert.deepEqual(readdirSync(folder), []);
    }
  });

  it('needs a folder', async (t) => {
    const file = join(temporaryFolder(t), 'file');
    writeFileSync(file, '');
    for (const folder of [file, join(file, 'below')]) {
      const error = await caught(() => inFolder(folder, 'cells', async () => 1));
      assert.ok(error instanceof OutputError);
      assert.match(error.message, /^--dir .* is a file, or in one: give it a folder$/);
    }
  });
});

describe('remainingTime()', () => {
  it('extrapolates from the parts that are done', async () => {
    const clock = createFakeClock();
    const left = remainingTime(clock, 5);
    assert.equal(left(0), '', 'nothing is known');
    await clock.advance(20_000);
    assert.equal(left(1), '  about 1m20s left');
    await clock.advance(10_000);
    assert.equal(left(2), '  about 45s left');
    await clock.advance(5_970_000);
    assert.equal(left(4), '  about 25m00s left');
    assert.equal(left(1), '  about 6h40m left');
    assert.equal(left(5), '', 'nothing is left');
  });
});
