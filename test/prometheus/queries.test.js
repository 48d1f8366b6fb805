/** What the dashboard's expressions say of series that are made up here, as promtool evaluates them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { dashboardQueries, fillIn } from '../helpers/dashboard.js';
import { noPrometheus } from './server.js';
import { temporaryFolder } from '../helpers/temporary.js';

const QUERIES = dashboardQueries();

/** From the first run to the last, all of them in the range. */
const [RANGE, LATEST] = ['1h', '40m'];

/**
 * @param {string} name
 * @param {{run_id?: string, index?: number, instance: number}} labels
 * @param {string} values in promtool's notation, one a minute
 */
function series(name, labels, values) {
  const all = Object.entries({ job: 'stress', ...labels }).map(([key, value]) => `${key}="${value}"`);
  return { series: `${name}{${all.join(', ')}}`, values };
}

/** A run of four, 100 ms apart; one before it, of two; two plain ones, twenty minutes apart. */
const SERIES = [
  ...[0, 1, 2, 3].flatMap((index) => {
    const labels = { run_id: 'four', index, instance: index };
    return [
      series('stress_instances', labels, '_x30 4x10'),
      series('stress_run_tps', labels, '_x30 25x10'),
      series('stress_load_start_time_seconds', labels, `_x30 ${1800 + index / 10}x10`),
    ];
  }),
  ...[0, 1].flatMap((index) => {
    const labels = { run_id: 'two', index, instance: index };
    return [
      series('stress_instances', labels, '2x10'),
      series('stress_run_tps', labels, '40x10'),
      series('stress_load_start_time_seconds', labels, '5x10'),
    ];
  }),
  series('stress_load_start_time_seconds', { instance: 8 }, '10x40'),
  series('stress_load_start_time_seconds', { instance: 9 }, '_x20 1210x20'),
];

/** @typedef {{labels: string, value: number}} Sample */

/** @type {Array<[string, {runId?: string, index?: string}, Sample[]]>} */
const CASES = [
  ['Never seen', {}, [{ labels: '{}', value: 0 }]],
  ['Never seen', { runId: 'four', index: '3' }, [{ labels: '{}', value: 0 }]],
  ['Instances that are there', { runId: 'four', index: '3' }, [{ labels: '{}', value: 4 }]],
  ['Start skew', {}, [{ labels: '{}', value: 0.3 }]],
  [
    'Run TPS',
    {},
    [
      { labels: '{run_id="four"}', value: 100 },
      { labels: '{run_id="two"}', value: 80 },
    ],
  ],
  ['Run TPS', { runId: 'four' }, [{ labels: '{run_id="four"}', value: 100 }]],
];

describe(
  'the dashboard, one index chosen, runs one after the other, plain runs beside',
  { skip: noPrometheus() },
  () => {
    for (const [title, chosen, samples] of CASES)
      it(`${title}, ${JSON.stringify(chosen)}`, (t) => {
        const { expr } = QUERIES.find((query) => query.title === title) ?? assert.fail(`no query of ${title}`);
        // Differences of binary fractions are rounded: promtool compares them exactly.
        const rounded = `round(${fillIn(expr, RANGE, chosen)}, 0.001)`;
        const file = join(temporaryFolder(t), 'queries.json'); // JSON is YAML
        const asked = { expr: rounded, eval_time: LATEST, exp_samples: samples };
        const test = { interval: '1m', input_series: SERIES, promql_expr_test: [asked] };
        writeFileSync(file, JSON.stringify({ rule_files: [], evaluation_interval: '1m', tests: [test] }));
        const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
        assert.equal(status, 0, `${stdout}${stderr}`);
      });
  },
);
