/** The code uses the terms of its field: private names of earlier versions do not come back. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));
const FILES = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(js|d\.ts)$/.test(name));

/** Names of classes, functions, constants and types, whole and in lower case. */
const OLD_NAMES = new Set(
  `care mend hasten revive course crew hire fleet part purse room pay past remembered fate push patience insist
   insistence patiently heed passing rest absence absences waiting left onechain level examine untold told ripe lineage
   news yard bench nonsense blame guarded guard books shortcomings adopt card sums meet begintogether spent vacant draw
   holdagainst foresee whatisnotknown`.split(/\s+/),
);

/** @param {string} name of a file @returns {string[]} what it declares at the top level, types in comments included */
function declaredIn(name) {
  const text = readFileSync(join(SRC, name), 'utf8');
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  const types = [...text.matchAll(/@(?:typedef|callback) (?:\{[^\n]*\} )?(\w+)$/gm)].map(([, word]) => word);
  const values = file.statements.flatMap((statement) => {
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.map((declaration) => declaration.name.getText(file));
    const { name: own } = /** @type {{name?: ts.Identifier}} */ (/** @type {unknown} */ (statement));
    return own === undefined ? [] : [own.text];
  });
  return [...types, ...values];
}

describe('names', () => {
  it('no file, class, function, constant or type has a private name', () => {
    const found = FILES.flatMap((file) =>
      [basename(file).replace(/\.(js|d\.ts)$/, ''), ...declaredIn(file)]
        .filter((name) => OLD_NAMES.has(name.toLowerCase().replaceAll(/[^a-z]/g, '')))
        .map((name) => `${file}: ${name}`),
    );
    assert.deepEqual(found, []);
  });

  it('finds a name that it looks for', () => {
    assert.ok(declaredIn('core/operation.js').includes('Operation'));
    assert.ok(declaredIn('core/ledger.js').length > 3);
  });
});
