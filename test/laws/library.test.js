import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import * as library from '../../src/index.js';
import { caught } from '../helpers/caught.js';

/** Names that are not those of the command line in camelCase. @type {Record<string, string>} */
const NAMES = { threads: 'wallets' };

const TYPES = readFileSync(new URL('../../src/index.d.ts', import.meta.url), 'utf8');

/** Of all commands, by their names on the command line. */
const OPTIONS = JSON.parse(readFileSync(new URL('../../docs/config.schema.json', import.meta.url), 'utf8'));

const NO_TEXT = Object.create(null);
const OBJECT = library.defineWorkload({ kind: 'call', next: () => ({ method: 'eth_chainId' }) });
const TWO = ['http://127.0.0.1:1', 'http://127.0.0.1:2'];

/** What run() is given, and the words of the usage error. @type {[string, unknown[], RegExp][]} */
const WRONG = [
  ['no options', [], /^run\(\): options must be an object/],
  ['null as options', [null], /^run\(\): options must be an object/],
  ['an array as options', [[]], /^run\(\): options must be an object/],
  ['an unknown option', [{ threads: 5 }], /^run\(\): unknown option "threads": .* and wallets for --threads$/],
  ['an object as params', [{ workload: 'rpc', params: { a: 1 } }], /--params.* must be a JSON array/],
  ['an object as a number', [{ wallets: NO_TEXT }], /^run\(\): wallets has a wrong value/],
  ['a symbol as a text', [{ duration: Symbol('1s') }], /^run\(\): duration has a wrong value/],
  ['an object in a list', [{ rpc: [NO_TEXT] }], /^run\(\): rpc has a wrong value/],
  ['an object as a setting', [{ set: { a: NO_TEXT } }], /^run\(\): set\.a has a wrong value/],
  ['a function as workload', [{ workload: () => ({}) }], /^workload must be a name/],
  ['an object as workload with threads', [{ workload: OBJECT, wallets: 2, workers: 2 }], /: give workers: 1, or/],
  [
    'an object as workload with endpoints',
    [{ workload: OBJECT, wallets: 2, workers: 1, rpc: TWO }],
    /several endpoints need several/,
  ],
];

describe('wrong arguments of run()', () => {
  for (const [name, given, words] of WRONG)
    it(`${name}: a usage error`, async () => {
      const run = /** @type {(...given: unknown[]) => Promise<unknown>} */ (library.run);
      // A run that began would be refused or unavailable; one that did not end would refuse the next one.
      await assert.rejects(run(...given), (error) => {
        assert(error instanceof library.UsageError, String(error));
        assert.equal(error.exitCode, 64);
        assert.match(error.message, words);
        assert(!error.message.includes('\n'));
        return true;
      });
    });
});

describe('the types of the library', () => {
  it('have each option that the library takes', async () => {
    const [, body = ''] = /interface RunOptions \{([\s\S]*?)\n\}/.exec(TYPES) ?? [];
    const typed = [...body.matchAll(/^ {2}(\w+)\?:/gm)].map(([, name]) => name);
    // No option takes this object, so that none of these runs begins.
    const refused = async (/** @type {string} */ name) =>
      (await caught(() => library.run({ [name]: { a: NO_TEXT } }))).message.includes('unknown option');
    const camelCase = (/** @type {string} */ name) => name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase());
    const names = Object.keys(OPTIONS.properties).map((name) => NAMES[name] ?? camelCase(name));
    const taken = [];
    for (const name of names) if (!(await refused(name))) taken.push(name);
    assert.deepEqual(typed.sort(), taken.sort());
  });

  it('have each value that it exports', () => {
    const typed = [...TYPES.matchAll(/^export (?:class|function) (\w+)/gm)].map(([, name]) => name);
    const exported = Object.keys(library);
    assert.deepEqual(typed.sort(), exported.sort());
  });
});
