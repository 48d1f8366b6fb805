import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, constants, existsSync, openSync, readFileSync, readSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { OutputError } from '../../../src/errors.js';
import { BoundedFile } from '../../../src/outputs/bounded-file.js';
import { caught } from '../../helpers/caught.js';
import { temporaryFolder } from '../../helpers/temporary.js';

/** @param {number} from @param {number} to */
const linesOf = (from, to) => Array.from({ length: to - from }, (_, i) => `line ${from + i}, of some length\n`);

/** @param {BoundedFile} file @param {string[]} lines */
const addAll = (file, lines) => lines.forEach((line) => file.add(line));

const noFifo = process.platform === 'win32' && 'no named pipes on Windows';

describe('BoundedFile', () => {
  it('writes all lines in order, behind its header', async (t) => {
    const path = join(temporaryFolder(t), 'lines');
    const file = new BoundedFile(path);
    const lines = linesOf(0, 20_000);
    file.begin('header\n');
    addAll(file, lines);
    await file.finish();
    assert.equal(readFileSync(path, 'utf8'), `header\n${lines.join('')}`);
    assert.equal(file.dropped, 0);
  });

  it('existing content stays until the load begins', async (t) => {
    const path = join(temporaryFolder(t), 'lines');
    writeFileSync(path, 'from the last time, longer than what comes\n');
    const never = new BoundedFile(path);
    await never.check();
    await never.close();
    assert.match(readFileSync(path, 'utf8'), /^from the last time/);
    const file = new BoundedFile(path);
    file.begin('new\n');
    await file.finish();
    assert.equal(readFileSync(path, 'utf8'), 'new\n');
  });

  it('makes no file before the load', async (t) => {
    const path = join(temporaryFolder(t), 'lines');
    const file = new BoundedFile(path);
    await file.check();
    await file.close();
    await file.close();
    assert.equal(existsSync(path), false);
  });

  it('finds out before the load that it cannot write', async (t) => {
    const error = await caught(() => new BoundedFile(join(temporaryFolder(t), 'no', 'lines')).check());
    assert.ok(error instanceof OutputError, String(error));
  });

  it('after each cut and settle all that was added is on the disk', async (t) => {
    const path = join(temporaryFolder(t), 'lines');
    const file = new BoundedFile(path);
    file.begin('');
    for (let i = 0; i < 5; i += 1) {
      addAll(file, linesOf(i, i + 1));
      assert.equal(await file.settle(), 0);
      assert.equal(readFileSync(path, 'utf8'), linesOf(0, i + 1).join(''));
    }
    await file.close();
  });

  it('.gz: the file can be unpacked at any time, also by gzip', async (t) => {
    const path = join(temporaryFolder(t), 'lines.gz');
    const file = new BoundedFile(path);
    file.begin('header\n');
    for (let i = 0; i < 3; i += 1) {
      addAll(file, linesOf(i * 5000, (i + 1) * 5000));
      await file.settle();
      assert.equal(gunzipSync(readFileSync(path)).toString(), `header\n${linesOf(0, (i + 1) * 5000).join('')}`);
    }
    await file.finish();
    assert.ok(statSync(path).size < 100_000, 'it is compressed');
    if (spawnSync('gzip', ['--version']).status !== 0) return;
    assert.equal(execFileSync('gzip', ['-dc', path], { encoding: 'utf8' }), `header\n${linesOf(0, 15_000).join('')}`);
  });

  it(
    '/dev/full: every line is dropped and counted, and the end says why',
    { skip: !existsSync('/dev/full') },
    async () => {
      const file = new BoundedFile('/dev/full');
      await file.check();
      file.begin('header\n');
      addAll(file, linesOf(0, 10));
      assert.equal(await file.settle(), 10);
      addAll(file, linesOf(0, 5000));
      assert.equal(await file.settle(), 5010);
      const error = await caught(() => file.finish());
      assert.ok(error instanceof OutputError, String(error));
      assert.deepEqual([error.message, error.exitCode], ['cannot write /dev/full: the disk is full', 73]);
      await file.close();
    },
  );

  for (const name of ['lines', 'lines.gz']) {
    it(`a disk that becomes full: ${name} ends with a whole line, the others are counted`, async (t) => {
      /** @type {string[]} */
      const mounted = [];
      t.after(() => mounted.forEach((folder) => spawnSync('umount', ['-l', folder])));
      const folder = temporaryFolder(t);
      if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', folder]).status !== 0)
        return t.skip('only root can make a small disk');
      mounted.push(folder);
      const path = join(folder, name);
      const file = new BoundedFile(path);
      file.begin('');
      // Not to be compressed to nothing.
      const lines = Array.from({ length: 20_000 }, (_, i) => `${i} ${Math.sin(i)} ${Math.cos(i)}\n`);
      for (let i = 0; i < lines.length; i += 1000) {
        addAll(file, lines.slice(i, i + 1000));
        await file.settle();
      }
      const dropped = file.dropped;
      const error = await caught(() => file.finish());
      assert.match(error.message, /: the disk is full$/);
      const bytes = readFileSync(path);
      const written = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
      assert.equal(written, lines.slice(0, lines.length - dropped).join(''));
      assert.ok(dropped > 0 && dropped < lines.length, `${dropped} dropped`);
    });
  }

  it('a reader that does not read causes dropped lines, without blocking', { skip: noFifo }, async (t) => {
    const pipe = join(temporaryFolder(t), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const reader = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    t.after(() => closeSync(reader));
    const file = new BoundedFile(pipe, { isWhole: true, boundBytes: 200_000, patienceMs: 100 });
    file.begin('');
    const lines = linesOf(0, 50_000);
    addAll(file, lines);
    const startedMs = performance.now();
    const dropped = await file.settle();
    assert.ok(performance.now() - startedMs < 5000, 'the wait is bounded');
    // What was counted as dropped is not written later, when the pipe is read again.
    const buffer = Buffer.alloc(1 << 20);
    let text = '';
    for (
      const deadline = Date.now() + 100;
      Date.now() < deadline;
      await new Promise((resolve) => setImmediate(resolve))
    ) {
      try {
        text += buffer.toString('utf8', 0, readSync(reader, buffer));
      } catch {
        // Nothing there now.
      }
    }
    assert.equal(file.dropped, dropped);
    const error = await caught(() => file.finish());
    assert.deepEqual([error.exitCode, error.message], [73, `cannot write ${pipe}: some data was not accepted`]);
    assert.ok(lines.join('').startsWith(text));
    // A pipe keeps the part of a piece that it took; those lines are counted as dropped, never the other way round.
    assert.ok(lines.length - dropped <= text.split('\n').length - 1, `${dropped} dropped`);
    assert.ok(dropped > 40_000);
  });

  it('a reader that is only slow gets everything', { skip: noFifo }, async (t) => {
    const pipe = join(temporaryFolder(t), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const reader = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    t.after(() => closeSync(reader));
    const file = new BoundedFile(pipe);
    file.begin('');
    const text = linesOf(0, 20_000).join('');
    addAll(file, linesOf(0, 20_000));
    const ending = file.finish();
    const buffer = Buffer.alloc(10_000);
    let read = '';
    while (read.length < text.length) {
      try {
        read += buffer.toString('utf8', 0, readSync(reader, buffer));
      } catch {
        await new Promise((resolve) => setImmediate(resolve)); // nothing there now
      }
    }
    await ending;
    assert.equal(read, text);
    assert.equal(file.dropped, 0);
  });

  it('room that was needed and is free again is used again', async (t) => {
    const path = join(temporaryFolder(t), 'lines');
    const file = new BoundedFile(path, { boundBytes: 1000 });
    file.begin('');
    addAll(file, linesOf(0, 30));
    file.cut();
    addAll(file, linesOf(30, 60)); // more than there is room for beside the first
    assert.equal(await file.settle(), 30);
    addAll(file, linesOf(60, 90));
    assert.equal(await file.settle(), 30);
    await file.finish();
    assert.equal(readFileSync(path, 'utf8'), [...linesOf(0, 30), ...linesOf(60, 90)].join(''));
  });
});
