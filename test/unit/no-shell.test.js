/** No value from a command line or a file becomes a command line of a shell, except those of --before-cell and --start-a. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import ts from 'typescript';
import { ROOT } from '../helpers/cli.js';

/** @import { Node } from 'typescript' */

/** What of node:child_process starts a program without a shell, if it is not asked for one. */
const ALLOWED = new Set(['spawn', 'fork', 'execFile', 'spawnSync', 'execFileSync', 'ChildProcess']);

const FILES = ['bin', 'src'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .map((name) => join(folder, name)),
);

/**
 * @param {string} text of a module
 * @returns {string[]} what in it may reach a shell
 */
function shells(text) {
  const source = ts.createSourceFile('module.js', text, ts.ScriptTarget.Latest, true);
  /** @type {string[]} */
  const found = [];
  /** @param {Node} node */
  const visit = (node) => {
    if (ts.isImportDeclaration(node) && isChildProcess(node.moduleSpecifier)) {
      const bindings = node.importClause?.namedBindings;
      if (bindings === undefined || !ts.isNamedImports(bindings)) found.push('all of child_process');
      else
        for (const { propertyName, name } of bindings.elements) {
          const imported = (propertyName ?? name).text;
          if (!ALLOWED.has(imported)) found.push(imported);
        }
    }
    // import() and require(), whose result may be anything.
    if (ts.isCallExpression(node) && node.arguments.some(isChildProcess)) found.push('child_process at run time');
    if (ts.isPropertyAssignment(node) && node.name.getText() === 'shell') found.push(node.getText());
    if (ts.isShorthandPropertyAssignment(node) && node.name.text === 'shell') found.push(node.getText());
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** @param {Node} node */
function isChildProcess(node) {
  return ts.isStringLiteralLike(node) && /^(node:)?child_process$/.test(node.text);
}

/** Runs the commands that the user wrote for the shell, such as --before-cell. @type {Record<string, string[]>} */
const WANTED = { [join('src', 'studies', 'node-keeper.js')]: ['shell: true'] };

describe('no shell', () => {
  for (const file of FILES) {
    it(`in ${file}`, () => assert.deepEqual(shells(readFileSync(join(ROOT, file), 'utf8')), WANTED[file] ?? []));
  }

  it('the tree starts programs, so the search can find something', () =>
    assert.ok(FILES.some((file) => readFileSync(join(ROOT, file), 'utf8').includes("from 'node:child_process'"))));

  for (const text of [
    "import { exec } from 'node:child_process';",
    "import { execSync as run } from 'child_process';",
    "import * as processes from 'node:child_process';",
    "import processes from 'node:child_process';",
    "const { exec } = await import('node:child_process');",
    "const { exec } = require('child_process');",
    "import { spawn } from 'node:child_process'; spawn('a', [], { shell: true });",
    "const shell = true; spawn('a', [], { shell });",
    "spawn('a', [], { shell: '/bin/sh' });",
  ]) {
    it(`would be found in: ${text}`, () => assert.notDeepEqual(shells(text), []));
  }

  it('is not seen where there is none', () =>
    assert.deepEqual(shells("import { spawn } from 'node:child_process'; spawn('shell', ['exec'], {});"), []));
});
