import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { describe, it } from 'node:test';
import { CALL_PRESETS, readCalls } from '../../../src/workloads/calls-file.js';
import { equalBy } from '../../helpers/equal-by.js';
import { temporaryFile } from '../../helpers/temporary.js';

/** @import { TestContext } from 'node:test' */

const SCHEMA = 'evm-stress/calls@1';

/** @param {TestContext} t @param {unknown} content */
const fileOf = (t, content) => temporaryFile(t, 'calls.json', content);

describe('a calls file', () => {
  it('gives its calls, with what is not said', async (t) => {
    const { kinds, source, needs, isPaged } = await readCalls(
      fileOf(t, {
        schema: SCHEMA,
        calls: [
          { method: 'eth_blockNumber' },
          { name: 'b', method: 'eth_call', params: ['{{address}}'], weight: 0.5, check: 'same' },
        ],
      }),
    );
    equalBy(kinds, ({ name, method, weight, check }) => [name, method, weight, check], [
      ['eth_blockNumber', 'eth_blockNumber', 1, null],
      ['b', 'eth_call', 0.5, 'same'],
    ]);
    assert.deepEqual([source.isPreset, [...needs], isPaged], [false, ['addresses', 'draw'], false]);
  });

  for (const name of CALL_PRESETS) {
    it(`the preset ${name} is a valid calls file`, async () => {
      const preset = await readCalls(name);
      assert.equal(preset.source.isPreset, true);
      assert.equal(preset.isPaged, name === 'pages');
      const file = new URL(`../../../src/workloads/presets/${name}.json`, import.meta.url);
      assert.deepEqual((await readCalls(fileURLToPath(file))).source.rules, preset.source.rules);
    });
  }

  /** Files as a whole. @type {Array<[string, unknown, RegExp]>} */
  const files = [
    ['no JSON', '{"calls": [', /calls\.json is not valid JSON; it must be \{"schema"/],
    ['no object', '[]', /calls\.json: the file must be object; it must be \{"schema"/],
    ['no schema', { calls: [{ method: 'a' }] }, /the file must have required property 'schema'/],
    ['another schema', { schema: 'evm-stress/calls@2', calls: [{ method: 'a' }] }, /\/schema must be equal to const/],
    ['no calls', { schema: SCHEMA }, /must have required property 'calls'/],
  ];

  /** Entries of a file. @type {Array<[string, unknown, RegExp]>} */
  const entries = [
    ['an unknown key', { method: 'b', wieght: 2 }, /: \/calls\/0 .*add.* \("wieght"\); .*; see docs\/workloads\.md$/],
    ['a method that is no name', { method: 'eth call' }, /\/calls\/0\/method must match/],
    ['a weight of 0', { method: 'a', weight: 0 }, /\/weight must be > 0/],
    ['an unknown template', { method: 'b', params: [{ x: '{{block.newest}}' }] }, /\{\{block\.newest\}\} is no temp/],
    ['a check of another word', { method: 'a', check: 'equal' }, /\/check must be equal to constant/],
    ['a check of nothing', { method: 'a', check: { path: '$' } }, /its check has 0 of equals, exists and length/],
    ['a check of two', { method: 'a', check: { path: '$', equals: 1, length: 2 } }, /its check has 2 of/],
    [
      'a path of another language',
      { method: 'a', check: { path: '$..a[*]', exists: true } },
      /\/check\/path must match/,
    ],
    ['a length that is a word', { method: 'a', check: { path: '$', length: 'ten' } }, /neither a number nor a templ/],
    ['a length below 0', { method: 'a', check: { path: '$', length: -1 } }, /\/check\/length must be >= 0/],
  ];
  const table = [
    ...files,
    ...entries.map(([name, call, words]) => {
      return /** @type {[string, unknown, RegExp]} */ ([name, { schema: SCHEMA, calls: [call] }, words]);
    }),
  ];
  for (const [name, content, words] of table) {
    it(`${name}: one line that says so`, async (t) => {
      await assert.rejects(readCalls(fileOf(t, content)), (/** @type {any} */ error) => {
        assert.match(error.message, words);
        assert.doesNotMatch(error.message, /\n/);
        assert.equal(error.exitCode, 65);
        return true;
      });
    });
  }
});
