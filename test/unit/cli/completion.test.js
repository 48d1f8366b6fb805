/** The script of stress completion, in bash itself. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { completionText } from '../../../src/cli/completion.js';
import { optionsOf } from '../../../src/cli/options.js';
import { STRESS } from '../../helpers/cli.js';

/** @param {string[]} words up to the one that is completed */
function completed(...words) {
  return completionText(['--', ...words]).split('\n');
}

/** The same in bash, which keeps those that begin with the last word. @param {string[]} words */
function inBash(...words) {
  const list = words.map((word) => `'${word}'`).join(' ');
  const program = `stress() { '${process.execPath}' '${STRESS}' "$@"; }`;
  const call = `COMP_WORDS=(stress ${list}); COMP_CWORD=${words.length}; _stress stress; echo "\${COMPREPLY[@]}"`;
  const script = [program, completionText(['bash']), call].join('\n');
  const { stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
  assert.equal(stderr, '');
  return stdout.trim();
}

describe('completionText()', () => {
  it('completes commands, their options and the choices of these', () => {
    assert.ok(completed('me').includes('merge'));
    assert.deepEqual(completed('sweep', '--transport', ''), ['auto', 'undici', 'tcp', 'ws']);
    assert.deepEqual(completed('completion', ''), ['bash', 'zsh', 'fish']);
    assert.deepEqual(completed('--transport', '=', 'u'), completed('--transport', '='));
    for (const { name } of optionsOf('sweep')) assert.ok(completed('-q', 'sweep', '--').includes(`--${name}`), name);
    assert.ok(!completed('--').includes('--port'), 'an option of another command');
  });

  it('leaves names of files to the shell', () => {
    assert.deepEqual(completed('report', ''), ['']);
    assert.deepEqual(completed('--log-file', 'me'), ['']);
    assert.ok(completed('--log-file', 'merge', '--ju').includes('--junit'), 'the name of a file is no command');
  });

  it('works in bash', { skip: process.platform === 'win32' }, () => {
    assert.equal(inBash('merge', '--pa'), '--partial');
    assert.equal(inBash('--transport', '=', 'u'), 'undici');
    assert.equal(inBash('report', ''), '');
  });

  it('refuses another shell', () => assert.throws(() => completionText(['csh']), /bash, zsh, fish/));
});
