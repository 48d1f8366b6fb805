import assert from 'node:assert/strict';
import { test } from 'node:test';
import { METRICS, metricOf, readMetrics } from '../../../src/studies/metrics.js';
import { equalBy } from '../../helpers/equal-by.js';
import { runOf } from './runs.js';

test('every metric of a study has a name, a label of its own, and a value or null', () => {
  const values = readMetrics(runOf(1, { tps: 123.4, latencyMs: 80 }));
  assert.deepEqual(Object.keys(values), [...METRICS]);
  assert.equal(new Set(METRICS.map((name) => metricOf(name).label)).size, METRICS.length);
  equalBy(METRICS, (name) => metricOf(name).name, [...METRICS]);
  assert.deepEqual([values.tps, values.min, values.max, values.timewait], [123.4, 40_000, 320_000, null]);
});

test('values are formatted with units', () => {
  for (const [name, value, text] of /** @type {[string, number | null, string][]} */ ([
    ['tps', 1234.4, '1,234'],
    ['tps', 98.76, '98.8'],
    ['p99', 12_345, '12.3 ms'],
    ['p99', 1_234_567, '1,235 ms'],
    ['submit.avg', 412, '0.412 ms'],
    ['cpu', 85.32, '85.3 us'],
    ['rss', 123_456_789, '123 MB'],
    ['node.cpu', 45.678, '45.7 %'],
    ['failed', 12_345, '12,345'],
    ['avg', null, '-'],
  ]))
    assert.equal(metricOf(name).show(value), text, name);
});

test('names in any spelling; unknown names are refused with suggestions', () => {
  assert.deepEqual(
    [metricOf('TPS').name, metricOf('timed-out').name, metricOf('read-back.avg').name],
    ['tps', 'timed_out', 'readback.avg'],
  );
  assert.deepEqual(
    [metricOf('tps').better, metricOf('p99').better, metricOf('ports_left').better],
    ['higher', 'lower', 'higher'],
  );
  assert.throws(() => metricOf('tpss'), /^Error: names "tpss", which is no figure: did you mean tps/);
  for (const text of ['', 'tps<5', 'a b']) assert.throws(() => metricOf(text), /must be the name of a figure/);
  assert.throws(
    () => metricOf('ab'.repeat(32)),
    (error) => !/(ab){8}/.test(String(error)),
  );
});
