import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import * as library from '../../src/index.js';
import { optionsOf } from '../../src/cli/options.js';

/** @import { IntervalRow, RunFile } from '../../src/index.d.ts' */
/** @import * as Inside from '../../src/types.d.ts' */

/** Names that are not those of the command line in camelCase. @type {Record<string, string>} */
const NAMES = { threads: 'wallets' };

const TYPES = readFileSync(new URL('../../src/index.d.ts', import.meta.url), 'utf8');

/** The compiler refuses this where the types that are shipped differ from those inside. @param {Inside.RunFile} run @param {Inside.IntervalRow} row @returns {[Omit<RunFile, 'audit'>, IntervalRow]} */
export const asShipped = (run, row) => [run, row];

describe('the types of the library', () => {
  it('have each option that the library takes', () => {
    const [, body = ''] = /interface RunOptions \{([\s\S]*?)\n\}/.exec(TYPES) ?? [];
    const typed = [...body.matchAll(/^ {2}(\w+)\?:/gm)].map(([, name]) => name);
    const taken = optionsOf('run').filter(({ role }) => role !== 'output' && role !== 'instance');
    assert.deepEqual(
      typed.sort(),
      taken.map(({ name }) => NAMES[name] ?? name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase())).sort(),
    );
  });

  it('have each value that it exports', () => {
    const typed = [...TYPES.matchAll(/^export (?:class|function) (\w+)/gm)].map(([, name]) => name);
    const exported = Object.keys(library);
    assert.deepEqual(typed.sort(), exported.sort());
  });
});
