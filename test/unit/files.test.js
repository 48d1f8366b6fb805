import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { OutputError } from '../../src/errors.js';
import { checkWritable, writeFileAtomically } from '../../src/files.js';
import { caught } from '../helpers/caught.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** Permissions say nothing to root: as root, what needs them runs as nobody. */
const OWNER = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
const FILES = new URL('../../src/files.js', import.meta.url).href;

/**
 * @param {string} file
 * @returns {string} what checkWritable() says of it, in a process without privileges; 'writable' if nothing
 */
function checkedByNobody(file) {
  const script = `
    const { checkWritable } = await import(${JSON.stringify(FILES)});
    try {
      checkWritable(${JSON.stringify(file)});
      console.log('writable');
    } catch (error) {
      console.log(error.name, error.message);
    }`;
  const args = ['--input-type=module', '--eval', script];
  return execFileSync(process.execPath, args, { ...OWNER, cwd: '/', encoding: 'utf8' }).trim();
}

const noPermissions = process.platform === 'win32' && 'no such permissions on Windows';

describe('writeFileAtomically()', () => {
  it('writes a new file, and a file that is there already, and leaves nothing beside it', (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, 'run.json');
    for (const text of ['first\n', 'second, longer\n', '']) {
      writeFileAtomically(file, text);
      assert.equal(readFileSync(file, 'utf8'), text);
      assert.deepEqual(readdirSync(folder), ['run.json']);
    }
  });

  it('replaces the file as a whole: who has the old one open goes on reading it', (t) => {
    const file = join(temporaryFolder(t), 'run.json');
    writeFileSync(file, 'old');
    const before = statSync(file).ino;
    writeFileAtomically(file, 'new');
    assert.notEqual(statSync(file).ino, before);
  });

  it('leaves the old file and nothing else when it cannot write', async (t) => {
    const folder = temporaryFolder(t);
    const target = join(folder, 'taken');
    mkdirSync(target); // a rename onto a folder fails after the text was written
    const error = await caught(() => writeFileAtomically(target, 'text'));
    assert.ok(error instanceof OutputError, String(error));
    assert.equal(error.exitCode, 73);
    assert.deepEqual(readdirSync(folder), ['taken']);
    assert.ok(statSync(target).isDirectory());
  });

  it('says why it cannot', async (t) => {
    const error = await caught(() => writeFileAtomically(join(temporaryFolder(t), 'no', 'run.json'), ''));
    assert.ok(error instanceof OutputError, String(error));
    assert.match(error.message, /^cannot write .*run\.json: its folder does not exist$/);
  });

  it('says that its folder is a file', async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'file'), '');
    const error = await caught(() => writeFileAtomically(join(folder, 'file', 'run.json'), ''));
    assert.ok(error instanceof OutputError, String(error));
    assert.match(error.message, /: its folder is a file$/);
  });

  it('goes through a symbolic link', (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'real'), 'old');
    symlinkSync('real', join(folder, 'link'));
    writeFileAtomically(join(folder, 'link'), 'new');
    assert.equal(readFileSync(join(folder, 'real'), 'utf8'), 'new');
  });

  it('does not replace a device or a pipe: --out /dev/null by root', { skip: noPermissions }, (t) => {
    const pipe = join(temporaryFolder(t), 'pipe');
    execFileSync('mkfifo', [pipe]);
    try {
      checkWritable(pipe); // refusing it here would be as good
      writeFileAtomically(pipe, 'text');
    } catch (error) {
      assert.ok(error instanceof OutputError);
    }
    assert.ok(statSync(pipe).isFIFO());
  });
});

describe('checkWritable()', () => {
  it('is content with a new file and with a writable one, and makes none', (t) => {
    const folder = temporaryFolder(t);
    checkWritable(join(folder, 'new.json'));
    assert.deepEqual(readdirSync(folder), []);
    writeFileSync(join(folder, 'old.json'), 'old');
    checkWritable(join(folder, 'old.json'));
    assert.equal(readFileSync(join(folder, 'old.json'), 'utf8'), 'old');
  });

  it('takes a name without a folder as one in the current folder', () => checkWritable('some-file-that-is-not-there'));

  it('finds what will fail', async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'file'), '');
    /** @type {Array<[string, RegExp]>} */
    const table = [
      [folder, /^cannot write .*: it is a folder$/],
      [join(folder, 'no', 'run.json'), /: its folder does not exist$/],
      [join(folder, 'file', 'run.json'), /: its folder is a file$/],
    ];
    for (const [file, message] of table) {
      const error = await caught(() => checkWritable(file));
      assert.ok(error instanceof OutputError, String(error));
      assert.match(error.message, message);
    }
  });

  it('finds missing permissions', { skip: noPermissions }, (t) => {
    const folder = temporaryFolder(t);
    chmodSync(folder, 0o777);
    writeFileSync(join(folder, 'file'), '');
    chmodSync(join(folder, 'file'), 0o444);
    mkdirSync(join(folder, 'closed'));
    chmodSync(join(folder, 'closed'), 0o555);
    try {
      assert.equal(checkedByNobody(join(folder, 'new')), 'writable');
    } catch (error) {
      if (error instanceof assert.AssertionError || !('uid' in OWNER)) throw error;
      return t.skip('nobody may not read this checkout, or not run this node');
    }
    for (const name of ['file', 'closed/run.json']) {
      assert.match(checkedByNobody(join(folder, name)), /^OutputError cannot write .*: permission denied$/);
    }
  });
});
