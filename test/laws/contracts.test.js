/** The contracts (src/contracts/) and the types of the package: the linter says whether they hold; tsc checks their names. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ESLint } from 'eslint';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));
const [CONTRACT] = readdirSync(join(SRC, 'contracts')).map((name) => join(SRC, 'contracts', name));

/** Texts that the linter refuses in a contract, with the rule. */
const REFUSED = {
  "import type { Ledger } from '../core/ledger.js'; export type A = Ledger;": 'no-restricted-imports',
  "export type { Ledger } from '../core/ledger.js';": 'no-restricted-imports',
  "import type { Agent } from 'undici'; export type A = Agent;": 'no-restricted-imports',
  "export type A = import('../core/ledger.js').Ledger;": 'no-restricted-syntax',
  'export type A = ReturnType<() => number>;': 'no-restricted-syntax',
  'export type A = Record<string, any>;': '@typescript-eslint/no-explicit-any',
  "import type { Clock } from './load.d.ts'; export type A = number;": '@typescript-eslint/no-unused-vars',
};

describe('lint: a contract', () => {
  const eslint = new ESLint({ cwd: join(SRC, '..') });
  const rulesFor = async (/** @type {string} */ text, filePath = CONTRACT) => {
    const [{ messages }] = await eslint.lintText(text, { filePath });
    return messages.map(({ ruleId, message }) => ruleId ?? message);
  };

  for (const [text, rule] of Object.entries(REFUSED))
    it(`refuses: ${text}`, async () => assert.deepEqual(await rulesFor(text), [rule]));

  it('no type of the package is any either', async () => {
    const text = 'export interface A { b(): Promise<any>[] }';
    assert.deepEqual(await rulesFor(text, join(SRC, 'index.d.ts')), ['@typescript-eslint/no-explicit-any']);
  });

  it('imports contracts, and the interface of ethers', async () => {
    const text = `import type { Clock } from './load.d.ts';\nimport type { Interface } from 'ethers';\nexport type A = [Clock, Interface];`;
    assert.deepEqual(await rulesFor(text), []);
  });
});
