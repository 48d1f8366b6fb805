import assert from 'node:assert/strict';
import fs, { chmodSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { OutputError } from '../../src/errors.js';
import { checkWritable, writeFileAtomically } from '../../src/files.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** root ignores permissions, so these tests run as the user nobody. */
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
      await checkWritable(${JSON.stringify(file)});
      console.log('writable');
    } catch (error) {
      console.log(error.name, error.message);
    }`;
  const args = ['--input-type=module', '--eval', script];
  return execFileSync(process.execPath, args, { ...OWNER, cwd: '/', encoding: 'utf8' }).trim();
}

const noPermissions = process.platform === 'win32' && 'no such permissions on Windows';

describe('writeFileAtomically()', () => {
  it('writes a new file, and a file that is there already, and leaves nothing beside it', async (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, 'run.json');
    for (const text of ['first\n', 'second, longer\n', '']) {
      await writeFileAtomically(file, text);
      assert.equal(readFileSync(file, 'utf8'), text);
      assert.deepEqual(readdirSync(folder), ['run.json']);
    }
  });

  it('is on the disk before it takes the name', async (t) => {
    const write = t.mock.method(fs.promises, 'writeFile');
    syncBuiltinESMExports();
    t.after(() => syncBuiltinESMExports());
    await writeFileAtomically(join(temporaryFolder(t), 'run.json'), 'text');
    assert.equal(/** @type {any} */ (write.mock.calls[0].arguments[2]).flush, true);
    write.mock.restore();
  });

  it('leaves the old file and nothing else when it cannot write', async (t) => {
    const folder = temporaryFolder(t);
    const target = join(folder, 'taken');
    mkdirSync(target); // a rename onto a folder fails after the text was written
    await assert.rejects(async () => writeFileAtomically(target, 'text'), { name: 'OutputError', exitCode: 73 });
    assert.deepEqual(readdirSync(folder), ['taken']);
    assert.ok(statSync(target).isDirectory());
  });

  it('goes through a symbolic link', async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'real'), 'old');
    symlinkSync('real', join(folder, 'link'));
    await writeFileAtomically(join(folder, 'link'), 'new');
    assert.equal(readFileSync(join(folder, 'real'), 'utf8'), 'new');
  });

  it('does not replace a device or a pipe: --out /dev/null by root', { skip: noPermissions }, async (t) => {
    const pipe = join(temporaryFolder(t), 'pipe');
    execFileSync('mkfifo', [pipe]);
    try {
      await checkWritable(pipe); // refusing it here would be as good
      await writeFileAtomically(pipe, 'text');
    } catch (error) {
      assert.ok(error instanceof OutputError);
    }
    assert.ok(statSync(pipe).isFIFO());
  });
});

it(
  'checkWritable(): finds a folder without new files, also as root',
  { skip: process.platform !== 'linux' },
  async () => {
    await assert.rejects(checkWritable('/proc/run.html'), OutputError);
  },
);

it('checkWritable(): leaves nothing, and keeps a file that is there', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'run.html');
  await checkWritable(file);
  assert.deepEqual(readdirSync(folder), []);
  writeFileSync(file, 'kept');
  await checkWritable(file);
  assert.deepEqual([readdirSync(folder), readFileSync(file, 'utf8')], [['run.html'], 'kept']);
});

describe('writeFileAtomically(): who may read and change the file', { skip: noPermissions }, () => {
  /** @param {string} file */
  const modeOf = (file) => (statSync(file).mode & 0o777).toString(8);
  /** In a process of its own: a umask is for all of it. @param {number} mask @param {string} file */
  const under = (mask, file) =>
    execFileSync(process.execPath, [
      ...['--input-type=module', '--eval'],
      `process.umask(${mask}); (await import(${JSON.stringify(FILES)})).writeFileAtomically(${JSON.stringify(file)}, 'text');`,
    ]);

  /** @type {Array<[string, number | null, number, string]>} the mode of the old file, the umask, the mode that the file has then */
  const modes = [
    ['a new file is readable by all', null, 0o000, '644'],
    ['a new file has what the umask leaves', null, 0o027, '640'],
    ['a file that others could not read stays so', 0o640, 0o000, '640'],
    ['a file that all could change becomes one that only its owner can change', 0o666, 0o000, '644'],
  ];
  for (const [name, before, mask, after] of modes)
    it(name, (t) => {
      const file = join(temporaryFolder(t), 'run.json');
      if (before !== null) writeFileSync(file, 'old');
      if (before !== null) chmodSync(file, before);
      under(mask, file);
      assert.deepEqual([modeOf(file), readFileSync(file, 'utf8')], [after, 'text']);
    });

  it('follows no link that was put where its temporary file may be, and cannot be kept from writing by one', async (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, 'run.json');
    const victim = join(folder, 'victim');
    writeFileSync(victim, 'precious');
    for (const name of ['run.json.tmp', `run.json.${process.pid}.tmp`]) symlinkSync('victim', join(folder, name));
    await writeFileAtomically(file, 'text');
    assert.equal(readFileSync(victim, 'utf8'), 'precious');
    assert.equal(readFileSync(file, 'utf8'), 'text');
  });

  it('its temporary file has another name each time, and is never one that is there', async (t) => {
    const folder = temporaryFolder(t);
    const names = new Set();
    const flags = new Set();
    const write = t.mock.method(fs.promises, 'writeFile');
    syncBuiltinESMExports();
    t.after(() => syncBuiltinESMExports());
    for (let i = 0; i < 5; i += 1) await writeFileAtomically(join(folder, 'run.json'), 'text');
    for (const { arguments: given } of write.mock.calls) {
      names.add(given[0]);
      flags.add(/** @type {any} */ (given[2]).flag);
    }
    write.mock.restore();
    assert.equal(names.size, 5);
    assert.deepEqual([...flags], ['wx']);
  });
});

describe('checkWritable()', () => {
  it('is content with a new file and with a writable one, and makes none', async (t) => {
    const folder = temporaryFolder(t);
    await checkWritable(join(folder, 'new.json'));
    assert.deepEqual(readdirSync(folder), []);
    writeFileSync(join(folder, 'old.json'), 'old');
    await checkWritable(join(folder, 'old.json'));
    assert.equal(readFileSync(join(folder, 'old.json'), 'utf8'), 'old');
  });

  it('takes a name without a folder as one in the current folder', () => checkWritable('some-file-that-is-not-there'));

  it('finds missing permissions', { skip: noPermissions }, async (t) => {
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
      return t.skip('the user nobody cannot read this checkout, or cannot run this node');
    }
    for (const name of ['file', 'closed/run.json']) {
      assert.match(checkedByNobody(join(folder, name)), /^OutputError cannot write .*: permission denied$/);
    }
  });
});
