/** scripts/false-alarms.js makes the tables of docs/studies.md; here is a part of them, with a seed of its own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLANS, TREND_PLANS, alarms, limit, trendAlarms } from '../../../scripts/false-alarms.js';

const TRIALS = 200;

for (const plan of PLANS.filter(({ test: name, runs }) => (name === 'paired' ? runs === 8 : runs === 4)))
  test(`false alarms: ${plan.test}, ${plan.runs} runs a side, ${plan.noise}`, () => {
    const { primary, secondaries } = alarms(plan, { trials: TRIALS, seed: 42 });
    assert.ok(primary <= limit(TRIALS), `${100 * primary} % of the primary metric`);
    assert.ok(secondaries <= limit(TRIALS), `${100 * secondaries} % of any secondary`);
  });

for (const plan of PLANS.filter(({ test: name }) => name === 'until sure'))
  test(`false alarms: until sure, after any of ${plan.runs} pairs, ${plan.noise}`, () => {
    const trials = 40;
    const { any } = alarms(plan, { trials, seed: 42 });
    assert.ok(any <= limit(trials), `anything is shown in ${100 * any} %`);
  });

test('false alarms of the other secondaries where two of them did change', () => {
  const [plan] = PLANS.filter(({ runs, noise }) => runs === 8 && noise === 'log-normal');
  const { secondaries } = alarms(plan, { trials: TRIALS, seed: 42, change: -0.2, changed: 2 });
  assert.ok(secondaries <= limit(TRIALS), `${100 * secondaries} % of any`);
});

for (const plan of TREND_PLANS.filter(({ values }) => values === 8))
  test(`trends of noise: ${plan.values} values, ${plan.repeats} runs of each, ${plan.noise}`, () => {
    const trials = 300;
    const share = trendAlarms(plan, { trials, seed: 42 });
    assert.ok(share <= limit(trials), `something is named in ${100 * share} %`);
  });

test('a difference of 15 % is found, and a drift that always meets the same side is taken for one', () => {
  const [plan] = PLANS.filter(({ runs, noise }) => runs === 8 && noise === 'log-normal');
  assert.ok(alarms(plan, { trials: 100, seed: 7, change: -0.15, metrics: 1 }).primary > 0.95);
  const apart = { test: /** @type {const} */ ('unpaired'), runs: 8, noise: 'linear drift, 2 % a run' };
  assert.ok(alarms(apart, { trials: 30, seed: 7, metrics: 1 }).primary > 0.9);
});
