import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { CALL_PRESETS, readCalls } from '../../../src/workloads/calls-file.js';
import { temporaryFolder } from '../../helpers/temporary.js';

/** @import { TestContext } from 'node:test' */

const SCHEMA = 'evm-stress/calls@1';

/** @param {TestContext} t @param {unknown} content */
function fileOf(t, content) {
  const file = join(temporaryFolder(t), 'calls.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

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
    assert.deepEqual(
      kinds.map(({ name, method, weight, check }) => [name, method, weight, check]),
      [
        ['eth_blockNumber', 'eth_blockNumber', 1, null],
        ['b', 'eth_call', 0.5, 'same'],
      ],
    );
    assert.deepEqual([source.isPreset, [...needs], isPaged], [false, ['addresses'], false]);
  });

  it('needs of checks count, too', async (t) => {
    const check = { path: 'number', equals: '{{block.recent}}' };
    const { needs } = await readCalls(fileOf(t, { schema: SCHEMA, calls: [{ method: 'a', check }] }));
    assert.deepEqual([...needs], ['head']);
  });

  for (const name of Object.keys(CALL_PRESETS)) {
    it(`the preset ${name} is as a file would have to be`, async (t) => {
      const preset = await readCalls(name);
      assert.equal(preset.source.isPreset, true);
      assert.equal(preset.isPaged, name === 'pages');
      const file = await readCalls(fileOf(t, { schema: SCHEMA, calls: CALL_PRESETS[name] }));
      assert.equal(file.kinds.length, preset.kinds.length);
    });
  }

  /** @type {Array<[string, unknown, RegExp]>} */
  const table = [
    ['no JSON', '{"calls": [', /calls\.json is not valid JSON: it must be \{"schema"/],
    ['no object', '[]', /calls\.json is no JSON object/],
    ['no schema', { calls: [{ method: 'a' }] }, /calls\.json is no calls file \(schema evm-stress\/calls@1\)/],
    ['another schema', { schema: 'evm-stress/calls@2', calls: [{ method: 'a' }] }, /is no calls file/],
    ['no calls', { schema: SCHEMA }, /calls\.json: "calls" is missing/],
    ['an empty list', { schema: SCHEMA, calls: [] }, /calls\.json, "calls": it must have one at least$/],
    [
      'an unknown key',
      { schema: SCHEMA, calls: [{ method: 'a' }, { method: 'b', wieght: 2 }] },
      /calls\.json, call 2: "wieght" is not known: there are name, method, params, weight and check/,
    ],
    ['no method', { schema: SCHEMA, calls: [{ name: 'x' }] }, /call 1 \(x\): "method" is missing/],
    [
      'a method that is no name',
      { schema: SCHEMA, calls: [{ method: 'eth call' }] },
      /call 1: "method" must be a name such as eth_blockNumber/,
    ],
    [
      'a name that is none',
      { schema: SCHEMA, calls: [{ method: 'a', name: 'a b' }] },
      /call 1 \(a b\): "name" must be a name/,
    ],
    [
      'parameters that are no array',
      { schema: SCHEMA, calls: [{ method: 'a', params: {} }] },
      /call 1: "params" must be a list$/,
    ],
    [
      'a weight of 0',
      { schema: SCHEMA, calls: [{ method: 'a', weight: 0 }] },
      /call 1: "weight" must be a positive number$/,
    ],
    [
      'a weight below 0',
      { schema: SCHEMA, calls: [{ method: 'a', weight: -1 }] },
      /"weight" must be a positive number$/,
    ],
    [
      'an unknown template',
      { schema: SCHEMA, calls: [{ method: 'a' }, { method: 'b', params: [{ x: '{{block.newest}}' }] }] },
      /calls\.json, call 2: \{\{block\.newest\}\} is no template/,
    ],
    [
      'a check of another word',
      { schema: SCHEMA, calls: [{ method: 'a', check: 'equal' }] },
      /call 1: "check" must be "same", or \{"path"/,
    ],
    [
      'a check without a path',
      { schema: SCHEMA, calls: [{ method: 'a', check: { equals: 1 } }] },
      /call 1: "check": "path" is missing/,
    ],
    [
      'a check of nothing',
      { schema: SCHEMA, calls: [{ method: 'a', check: { path: '$' } }] },
      /call 1: its check has 0 of equals, exists and length/,
    ],
    [
      'a check of two',
      { schema: SCHEMA, calls: [{ method: 'a', check: { path: '$', equals: 1, length: 2 } }] },
      /its check has 2 of/,
    ],
    [
      'a path of another language',
      { schema: SCHEMA, calls: [{ method: 'a', check: { path: '$..a[*]', exists: true } }] },
      /"check\.path" must be names and numbers with dots/,
    ],
    [
      'an unknown key of a check',
      { schema: SCHEMA, calls: [{ method: 'a', check: { path: '$', equal: 1 } }] },
      /"equal" is not known: there are path, equals, exists and length/,
    ],
    [
      'a length that is a word',
      { schema: SCHEMA, calls: [{ method: 'a', check: { path: '$', length: 'ten' } }] },
      /length that is neither a number nor a template/,
    ],
    [
      'a weight in words',
      { schema: SCHEMA, calls: [{ method: 'a', weight: '1' }] },
      /"weight" must be a positive number$/,
    ],
    ['a call that is none', { schema: SCHEMA, calls: ['a'] }, /call 1: it must be an object$/],
    ['parameters by name', { schema: SCHEMA, calls: [{ method: 'a', params: {} }] }, /"params" must be a list$/],
    [
      'a check that is a number',
      { schema: SCHEMA, calls: [{ method: 'a', check: 1 }] },
      /"check" must be an object, or "same"$/,
    ],
    ['a method that is a number', { schema: SCHEMA, calls: [{ method: 1 }] }, /"method" must be a text$/],
    [
      'a length below 0',
      { schema: SCHEMA, calls: [{ method: 'a', check: { path: '$', length: -1 } }] },
      /"check\.length" must not be negative$/,
    ],
    ['no call', { schema: SCHEMA, calls: [] }, /"calls": it must have one at least$/],
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

  it('one that is not there is named with the presets, and a folder is none', async (t) => {
    const folder = temporaryFolder(t);
    await assert.rejects(readCalls(join(folder, 'x.json')), {
      message:
        /cannot read the calls file .*x\.json: there is no such file, and the presets are light, wallet, indexer, pages/,
    });
    await assert.rejects(readCalls(folder), { message: /is not a file/ });
  });
});
