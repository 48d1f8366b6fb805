import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, readSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { gunzipSync, constants as zlib } from 'node:zlib';
import { BoundedFile } from '../../src/bounded-file.js';
import { temporaryFile, temporaryFolder } from '../helpers/temporary.js';

/** @import { TestContext } from 'node:test' */

/** @param {number} from @param {number} to */
const linesOf = (from, to) => Array.from({ length: to - from }, (_, i) => `line ${from + i}, of some length\n`);

/** @param {BoundedFile} file @param {string[]} lines */
const addAll = (file, lines) => lines.forEach((line) => file.add(line));

/** @param {() => boolean} holds */
const until = async (holds) => {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
};

/** @param {TestContext} t @returns {string | null} a folder on a disk of its own; null: only root can make one */
function smallDisk(t) {
  let isMounted = false;
  t.after(() => isMounted && spawnSync('umount', ['-l', folder]));
  const folder = temporaryFolder(t);
  isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', folder]).status === 0;
  return isMounted ? folder : null;
}

const MODULE = new URL('../../src/bounded-file.js', import.meta.url).href;
/** Lines that compression does not make small, with line breaks and other characters in them. */
const NOISE = Array.from({ length: 20_000 }, (_, i) => `${i} ${Math.sin(i)}\nÄ€😀 ${Math.cos(i)}\n`);

/** The file has its header and the first lines, all but so many. @param {string} path @param {number} dropped */
function assertFirst(path, dropped) {
  const bytes = readFileSync(path);
  const text = String(path.endsWith('.gz') ? gunzipSync(bytes) : bytes);
  assert.ok(dropped > 0 && dropped < NOISE.length, `${dropped} dropped`);
  assert.equal(text, `header\n${NOISE.slice(0, NOISE.length - dropped).join('')}`);
}

const noFifo = process.platform === 'win32' && 'no named pipes on Windows';

describe('BoundedFile', () => {
  it('writes all lines in order, behind its header', async (t) => {
    const path = join(temporaryFolder(t), 'lines');
    const file = new BoundedFile(path);
    const lines = linesOf(0, 20_000);
    file.begin('header\n');
    addAll(file, lines);
    await file.close();
    assert.equal(readFileSync(path, 'utf8'), `header\n${lines.join('')}`);
    assert.equal(file.dropped, 0);
  });

  it('existing content stays until the load begins', async (t) => {
    const path = temporaryFile(t, 'lines', 'from the last time, longer than what comes\n');
    const never = new BoundedFile(path);
    await never.members.open();
    await never.close();
    assert.match(readFileSync(path, 'utf8'), /^from the last time/);
    const file = new BoundedFile(path);
    file.begin('new\n');
    await file.close();
    assert.equal(readFileSync(path, 'utf8'), 'new\n');
  });

  it('.gz: the file is compressed, also for gzip, and what was cut can be unpacked during the load', async (t) => {
    const path = join(temporaryFolder(t), 'lines.gz');
    const file = new BoundedFile(path);
    file.begin('header\n');
    for (let i = 0; i < 3; i += 1) {
      addAll(file, linesOf(i * 5000, (i + 1) * 5000));
      file.cut();
      await until(() => file.dropped === 0);
    }
    const text = `header\n${linesOf(0, 15_000).join('')}`;
    const unpacked = () => gunzipSync(readFileSync(path), { finishFlush: zlib.Z_SYNC_FLUSH }).toString();
    await until(() => unpacked() === text);
    await file.close();
    assert.deepEqual([file.dropped, file.error, gunzipSync(readFileSync(path)).toString()], [0, null, text]);
    assert.ok(statSync(path).size < 100_000, 'it is compressed');
    if (spawnSync('gzip', ['--version']).status === 0)
      assert.equal(execFileSync('gzip', ['-dc', path], { encoding: 'utf8' }), text);
  });

  for (const name of ['lines', 'lines.gz']) {
    it(`a disk that is full for a while: ${name} has all lines in the end, and one warning was given`, async (t) => {
      const folder = smallDisk(t);
      if (folder === null) return t.skip('only root can make a small disk');
      const filler = join(folder, 'filler');
      assert.throws(() => writeFileSync(filler, 'x'.repeat(1 << 20)), { code: 'ENOSPC' });
      const path = join(folder, name);
      /** @type {string[]} */
      const warnings = [];
      const file = new BoundedFile(path, { warn: (words) => warnings.push(words) });
      file.begin('');
      const lines = linesOf(0, 5000);
      addAll(file, lines);
      file.cut();
      await until(() => warnings.length > 0);
      rmSync(filler);
      await until(() => file.dropped === 0);
      await file.close();
      assert.equal(file.error, null);
      assert.match(warnings.join(), /^cannot write [^,]*: the disk is full; lines wait until there is room$/);
      const bytes = readFileSync(path);
      assert.equal(String(name === 'lines' ? bytes : gunzipSync(bytes)), lines.join(''));
    });
    it(`a disk that becomes full: ${name} ends with a whole line, and the others are counted`, async (t) => {
      const folder = smallDisk(t);
      if (folder === null) return t.skip('only root can make a small disk');
      const path = join(folder, name);
      const file = new BoundedFile(path);
      file.begin('header\n');
      for (const line of NOISE) file.add(line);
      await file.close();
      assert.match(String(file.error?.message), /: the disk is full$/);
      assertFirst(path, file.dropped);
    });
    it(`a size limit: ${name} ends with a whole line, and the others are counted`, { skip: noFifo }, async (t) => {
      const path = join(temporaryFolder(t), name);
      const script = `
        const { BoundedFile } = await import(${JSON.stringify(MODULE)});
        const file = new BoundedFile(process.argv[1]);
        file.begin('header\\n');
        for (let i = 0; i < ${NOISE.length}; i += 1) file.add(i + ' ' + Math.sin(i) + '\\nÄ€😀 ' + Math.cos(i) + '\\n');
        await file.close();
        console.log(JSON.stringify([file.dropped, file.error.message]));`;
      const node = [process.execPath, '--input-type=module', '-e', script, path];
      // In units of 512 or 1024 bytes.
      const text = execFileSync('sh', ['-c', 'ulimit -f 200; exec "$0" "$@"', ...node], { encoding: 'utf8' });
      const [dropped, message] = JSON.parse(text);
      assert.match(message, /: its size limit is reached \(ulimit -f\)$/);
      assertFirst(path, dropped);
    });
  }

  it('a header for which there is no room is no half line', async (t) => {
    const folder = smallDisk(t);
    if (folder === null) return t.skip('only root can make a small disk');
    const path = join(folder, 'lines');
    const file = new BoundedFile(path, { patienceMs: 60_000 });
    file.begin('x'.repeat(1 << 20));
    file.add('a line\n');
    await file.close();
    assert.deepEqual([readFileSync(path, 'utf8'), file.dropped], ['', 1]);
  });

  it('a reader that does not read causes dropped lines, without blocking', { skip: noFifo }, async (t) => {
    const pipe = join(temporaryFolder(t), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const reader = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    t.after(() => closeSync(reader));
    const file = new BoundedFile(pipe, { isLossAnError: true, boundBytes: 200_000, patienceMs: 100 });
    file.begin('');
    const lines = linesOf(0, 50_000);
    addAll(file, lines);
    const startedMs = performance.now();
    await file.close();
    assert.ok(performance.now() - startedMs < 5000, 'the wait is bounded');
    const { dropped } = file;
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
    const { error } = await file.close();
    assert.deepEqual([error?.exitCode, error?.message], [73, `cannot write ${pipe}: some data was not accepted`]);
    assert.ok(lines.join('').startsWith(text));
    // Lines of a write that hung are counted as dropped, also if they were written in the end; never the other way round.
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
    const ending = file.close();
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
    file.cut();
    await until(() => file.dropped === 30);
    addAll(file, linesOf(60, 90));
    await file.close();
    assert.equal(file.dropped, 30);
    assert.equal(readFileSync(path, 'utf8'), [...linesOf(0, 30), ...linesOf(60, 90)].join(''));
  });
});
