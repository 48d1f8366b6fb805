/** The script of stress completion, in the shells themselves. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { completionText } from '../../src/cli/completion.js';
import { optionsOf } from '../../src/cli/options.js';
import { STRESS } from '../helpers/cli.js';
import { temporaryFile } from '../helpers/temporary.js';

/** @param {string[]} words up to the one that is completed */
function completed(...words) {
  return completionText(['--', ...words]).split('\n');
}

const PROGRAM = `stress() { '${process.execPath}' '${STRESS}' "$@"; }`;

/** @param {string} shell @param {string[]} flags @param {string[]} lines @returns {string} its output */
function inShell(shell, flags, lines) {
  const { stdout, stderr } = spawnSync(shell, [...flags, '-c', lines.join('\n')], { encoding: 'utf8' });
  assert.equal(stderr, '');
  return stdout.trim();
}

/** Calls the function of bash and zsh, which keeps the words that begin with the last one. @param {string[]} words */
function calling(...words) {
  const list = words.map((word) => `'${word}'`).join(' ');
  return `COMP_WORDS=(stress ${list}); COMP_CWORD=${words.length}; _stress stress; echo "\${COMPREPLY[@]}"`;
}

/** @param {string[]} words */
function inBash(...words) {
  return inShell('bash', [], [PROGRAM, completionText(['bash']), calling(...words)]);
}

/** As bashcompinit calls it; the shell chooses among the words afterwards. @param {string[]} words */
function inZsh(...words) {
  const begin = ['autoload -U compinit; compinit -u -D', PROGRAM, completionText(['zsh'])];
  return inShell('zsh', ['-f'], [...begin, 'setopt ksharrays', calling(...words)]);
}

/** @param {string} line up to the word that is completed */
function inFish(line) {
  const program = `function stress; '${process.execPath}' '${STRESS}' $argv; end`;
  return inShell('fish', ['--no-config'], [program, completionText(['fish']), `complete -C '${line}'`]);
}

/** @param {string} shell */
function without(shell) {
  return spawnSync(shell, ['--version']).status === 0 ? false : `${shell} is not installed`;
}

describe('completionText()', () => {
  it('completes commands, their options and the choices of these', () => {
    assert.ok(completed('me').includes('merge'));
    assert.deepEqual(completed('sweep', '--transport', ''), ['auto', 'undici', 'tcp', 'ws']);
    assert.deepEqual(completed('completion', ''), ['bash', 'zsh', 'fish']);
    assert.deepEqual(completed('--transport', '=', 'u'), completed('--transport', '='));
    for (const { name } of optionsOf('sweep')) assert.ok(completed('-q', 'sweep', '--').includes(`--${name}`), name);
    assert.ok(!completed('--').includes('--port'), 'an option of another command');
    assert.deepEqual(completed('sweep', ''), completed('sweep', '--'), 'options, where no file can follow');
  });

  it('completes the members of a mix: built-in ones, and those of the config file', (t) => {
    const file = temporaryFile(t, 'load.json', { workloads: { mint: {}, burn: {} } });
    assert.deepEqual(completed('--config', file, '--mix', '').slice(-2), ['mint', 'burn']);
    for (const words of [
      ['--mix', ''],
      ['--config', `${file}x`, '--mix', ''],
    ])
      assert.deepEqual([completed(...words)[0], completed(...words).at(-1)], ['counter', 'calls']);
  });

  it('leaves names of files to the shell', () => {
    assert.deepEqual(completed('report', ''), ['']);
    assert.deepEqual(completed('--log-file', 'me'), ['']);
    assert.ok(completed('--log-file', 'merge', '--ju').includes('--junit'), 'the name of a file is no command');
  });

  it('works in bash', { skip: process.platform === 'win32' || without('bash') }, () => {
    assert.equal(inBash('merge', '--pa'), '--partial');
    assert.equal(inBash('--transport', '=', 'u'), 'undici');
    assert.equal(inBash('report', ''), '');
  });

  it('works in zsh', { skip: without('zsh') }, () => {
    assert.match(inZsh('merge', '--pa'), / --partial /);
    assert.match(inZsh('--transport=u'), /^--transport=auto --transport=undici /);
    assert.equal(inZsh('report', ''), '');
  });

  it('works in fish', { skip: without('fish') }, () => {
    assert.equal(inFish('stress merge --pa'), '--partial');
    assert.equal(inFish('stress --transport=u'), '--transport=undici');
    assert.match(inFish('stress report /et'), /^\/etc\//, 'names of files');
  });

  it('refuses another shell', () => assert.throws(() => completionText(['csh']), /bash, zsh, fish/));
});
