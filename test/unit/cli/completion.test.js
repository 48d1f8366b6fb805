/** The script of stress completion, in bash itself. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { completionText } from '../../../src/cli/completion.js';
import { OPTIONS } from '../../../src/cli/options.js';

/** @param {string[]} words up to the one that is completed */
function completed(...words) {
  const list = words.map((word) => `'${word}'`).join(' ');
  const call = `COMP_WORDS=(stress ${list}); COMP_CWORD=${words.length}; _stress; echo "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', `${completionText(['bash'])}\n${call}`], { encoding: 'utf8' });
  assert.equal(stderr, '');
  return stdout.trim().split(' ');
}

describe('completionText()', () => {
  it('completes commands, their options and the choices of these', { skip: process.platform === 'win32' }, () => {
    assert.deepEqual(completed('me'), ['merge']);
    assert.deepEqual(completed('merge', '--pa'), ['--partial']);
    assert.deepEqual(completed('--ju'), ['--junit']);
    assert.deepEqual(completed('sweep', '--transport', ''), ['auto', 'undici', 'tcp', 'ws']);
    assert.deepEqual(completed('completion', ''), ['bash', 'zsh', 'fish']);
    assert.deepEqual(completed('-q', 'sweep', '--fin'), ['--find'], 'a command after an option');
    assert.deepEqual(completed('--transport', '=', 'u'), ['undici']);
  });

  it('leaves names of files to the shell', { skip: process.platform === 'win32' }, () => {
    assert.deepEqual(completed('report', ''), ['']);
    assert.deepEqual(completed('--log-file', 'me'), ['']);
    assert.deepEqual(completed('--log-file', 'merge', '--ju'), ['--junit'], 'the name of a file is no command');
  });

  it('names every option for every shell', () => {
    for (const shell of ['bash', 'zsh', 'fish'])
      for (const { name } of OPTIONS)
        assert.match(completionText([shell]), new RegExp(`(--|-l )${name}\\b`), `${shell} ${name}`);
  });

  it('refuses another shell', () => assert.throws(() => completionText(['csh']), /bash, zsh, fish/));
});
