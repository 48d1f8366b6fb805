/** docs/run.schema.json has the figures of the tables of src/stats, and no others. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { COUNTS } from '../../../src/stats/figures.js';
import { BLOCKS, READINGS, ROW } from '../../../src/stats/metrics.js';
import { ROOT } from '../../helpers/cli.js';

/** @import { Rule } from '../../../src/stats/merge.js' */

const SCHEMA = JSON.parse(readFileSync(join(ROOT, 'docs/run.schema.json'), 'utf8'));

/** Members that are no longer written. */
const OF_OLD_FILES = /probes\/node\/(descriptors|why) /;

/** @param {any} part @returns {any} */
function resolved(part) {
  return part.$ref === undefined ? part : SCHEMA.$defs[part.$ref.split('/').at(-1)];
}

/** Members of tables and of the schema that the other does not have. @param {Rule} rule @param {any} given @param {string} path @returns {string[]} */
function differences(rule, given, path) {
  const part = resolved(given);
  if (rule.members === undefined && rule.tag !== undefined && part.items !== undefined)
    return differences(rule.each ?? {}, part.items, `${path}/*`);
  if (rule.members === undefined) return [];
  const [table, schema] = [rule.members, part.properties ?? {}];
  const only = (/** @type {object} */ one, /** @type {object} */ other) =>
    Object.keys(one).filter((name) => !Object.hasOwn(other, name));
  return [
    ...only(table, schema).map((name) => `${path}/${name} is not in the schema`),
    ...only(schema, table)
      .map((name) => `${path}/${name} is not in the table`)
      .filter((words) => !OF_OLD_FILES.test(words)),
    ...Object.keys(schema).flatMap((name) =>
      table[name] === undefined ? [] : differences(table[name], schema[name], `${path}/${name}`),
    ),
  ];
}

describe('docs/run.schema.json', () => {
  it('has the counts and stages of the table', () => {
    const script = join(ROOT, 'scripts/make-run-schema.js');
    const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.deepEqual(Object.keys(SCHEMA.$defs.counts.properties), Object.keys(COUNTS));
  });

  it('has the figures of rows, blocks and probes', () => {
    const found = differences(ROW, SCHEMA.$defs.interval, 'interval');
    assert.deepEqual(found, ['interval/phase is not in the table']);
    assert.deepEqual(differences(BLOCKS, SCHEMA.$defs.blocks, 'blocks'), []);
    assert.deepEqual(differences(READINGS, SCHEMA.$defs.probes, 'probes'), []);
  });

  it('takes every outcome as that of an operation whose block left the chain', () => {
    const outcomes = Object.values(COUNTS).flatMap(({ outcome }) => outcome ?? []);
    const { enum: taken } = SCHEMA.$defs.audit.properties.resolutions.items.properties.outcome;
    assert.deepEqual([...taken].sort(), outcomes.sort());
  });
});
