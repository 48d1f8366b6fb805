import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { OutputError } from '../../../src/errors.js';
import { LOCK, inFolder, runStudy } from '../../../src/studies/study.js';
import { caught } from '../../helpers/caught.js';
import { temporaryFile, temporaryFolder } from '../../helpers/temporary.js';
import { runOf } from './runs.js';
import { studied } from './study.js';

/** @import { Made, RunRequest } from '../../../src/studies/experiment.js' */

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
    const file = temporaryFile(t, 'file', '');
    for (const folder of [file, join(file, 'below')]) {
      await assert.rejects(async () => inFolder(folder, 'cells', async () => 1), {
        name: 'OutputError',
        message: /^--dir .* is a file, or in one: give it a folder$/,
      });
    }
  });
});

describe('runStudy()', () => {
  /** Two runs, and the sum of their operations per second. @param {string} folder @param {Parameters<typeof studied>[2]} [answer] */
  function summed(folder, answer) {
    let sum = 0;
    const line = ['sweep', '-t1,2', '-d1s', '--rest=0s', `--dir=${folder}`];
    const { result, runs, lines } = studied(
      (config, parts, tools) => {
        const plan = {
          ...{ kind: /** @type {const} */ ('pairs'), folder, tools, optionsOf: () => ({}) },
          begin: () => ({ seed: 1, asked: {} }),
        };
        return runStudy(config, parts, plan, () => ({
          /** @returns {AsyncGenerator<RunRequest, string, Made>} */
          async *steps() {
            for (const number of [1, 2]) {
              const wanted = { name: `${number}`, file: `${number}.json`, label: '', done: number - 1, all: 2 };
              sum += (yield wanted).run?.rates.verifiedPerSecond ?? 0;
            }
            return `${sum}`;
          },
          report: () => {},
        }));
      },
      line,
      answer,
    );
    return { result, runs, lines, file: () => JSON.parse(readFileSync(join(folder, 'pairs.json'), 'utf8')) };
  }

  it('continues after an error in the middle, such as a full disk, with the same steps', async (t) => {
    const folder = temporaryFolder(t);
    const cut = summed(folder, ({ number }) => {
      if (number === 2) throw new OutputError('the disk is full');
      return { run: runOf(number, { tps: 10 }) };
    });
    await assert.rejects(cut.result, { exitCode: 73 });
    assert.deepEqual([cut.file().end, cut.runs.length], ['failed', 2]);
    const rest = summed(folder, ({ number }) => ({ run: runOf(number + 1, { tps: 7 }) }));
    await rest.result;
    assert.deepEqual([rest.file().end, rest.runs.length], ['17', 1]);
    assert.equal(rest.lines[0], `1 run kept, already in ${folder}`);
    const again = summed(folder);
    await again.result;
    assert.deepEqual([again.file(), again.runs.length], [rest.file(), 0]);
  });

  it('makes runs again that began before the study, ended early or are damaged', async (t) => {
    const folder = temporaryFolder(t);
    const early = runOf(1, { over: { startedAt: '2025-12-31T00:00:00.000Z' } });
    for (const text of [JSON.stringify(early), JSON.stringify({ ...runOf(1), end: 'interrupted' }), '{"schema":']) {
      writeFileSync(join(folder, '1.json'), text);
      const { result, runs } = summed(folder);
      await result;
      assert.equal(runs.length, 2, text.slice(0, 20));
      for (const name of ['1.json', '2.json', 'pairs.json']) rmSync(join(folder, name));
    }
  });
});
