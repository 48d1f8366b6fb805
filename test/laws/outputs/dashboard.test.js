/** docs/grafana.json shows what is there, and docs/outputs.md says what it is. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { FAMILIES } from '../../../src/outputs/prometheus.js';
import { dashboardQueries, metricsIn } from '../../helpers/dashboard.js';

const DOCS = readFileSync(new URL('../../../docs/outputs.md', import.meta.url), 'utf8');
const LEFT_OUT = /^Not on the dashboard: ([^.]+)\./m.exec(DOCS)?.[1].match(/\bstress_\w+/g) ?? [];

/** The names that a family has on the page. @param {(typeof FAMILIES)[number]} family */
function namesOf({ name, type }) {
  return type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name];
}

describe('docs/grafana.json', () => {
  const used = new Set(dashboardQueries().flatMap(({ expr }) => metricsIn(expr)));

  it('has queries', () => assert.ok(dashboardQueries().length > 30));

  it('loads nothing from outside of the page', () => {
    const there = new Set(FAMILIES.flatMap(namesOf));
    assert.deepEqual(
      [...used].filter((name) => !there.has(name)),
      [],
    );
  });

  it('shows everything that is on the page, but for what docs/outputs.md names', () => {
    const unused = FAMILIES.filter((family) => !namesOf(family).some((name) => used.has(name)));
    assert.deepEqual(unused.map(({ name }) => name).sort(), [...LEFT_OUT].sort());
  });

  it('lets the data source be chosen', () => {
    const { panels } = JSON.parse(readFileSync(new URL('../../../docs/grafana.json', import.meta.url), 'utf8'));
    const sources = panels.flatMap((/** @type {any} */ { targets = [] }) =>
      targets.map((/** @type {any} */ { datasource }) => datasource.uid),
    );
    assert.deepEqual([...new Set(sources)], ['${datasource}']);
  });
});

describe('docs/outputs.md', () => {
  it('names every metric of the page, and no other', () => {
    const named = new Set(DOCS.match(/\bstress_\w+/g));
    assert.deepEqual([...named].sort(), FAMILIES.map(({ name }) => name).sort());
  });
});
