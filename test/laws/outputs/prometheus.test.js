/** Series of the Prometheus page that the chain gives no figures for. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FAMILIES, PrometheusState } from '../../../src/outputs/prometheus.js';
import { addBlocks, noBlocks, totalsOfBlock } from '../../../src/stats/blocks.js';
import { Distribution } from '../../../src/stats/histogram.js';
import { stagesOf } from '../../../src/stats/stats.js';
import { blockOf, rowOf } from '../../helpers/samples.js';

const NAMES = [
  'stress_block_gas_used_total',
  'stress_block_fullness_total',
  'stress_block_gas_limit',
  'stress_blocks_total',
];

/** @param {Array<Parameters<typeof blockOf>[0]>} given blocks */
function valuesOf(...given) {
  const state = new PrometheusState({});
  const blocks = given.map((one) => totalsOfBlock(blockOf(one))).reduce(addBlocks, noBlocks());
  const stages = stagesOf(() => new Distribution().toJSON());
  state.add(rowOf({ blocks }), /** @type {any} */ ({ runTps: 1, stages }));
  return NAMES.map((name) => FAMILIES.find((family) => family.name === name)?.values(state)[0]?.value);
}

it('gas and a gas limit that the chain does not state have no series, and are not 0', () => {
  assert.deepEqual(valuesOf({ transactions: 2, gasUsed: 500, gasLimit: 1000 }), [500, 0.5, 1000, 1]);
  assert.deepEqual(valuesOf({ transactions: 2, gasUsed: 0, gasLimit: 0 }), [undefined, undefined, undefined, 1]);
  assert.deepEqual(valuesOf({ transactions: 0, gasUsed: 0, gasLimit: 1000 }), [0, 0, 1000, 1]);
});

it('refills add up, the balance of the funder is the last one, and what was spent is there at the end', () => {
  const state = new PrometheusState({});
  const stages = stagesOf(() => new Distribution().toJSON());
  const values = (/** @type {string} */ name) =>
    FAMILIES.find((family) => family.name === name)
      ?.values(state)
      .map(({ labels, value }) => [...Object.values(labels), value].join(' '));
  for (const [payments, funderWei] of [
    [2, 5n * 10n ** 18n],
    [3, 10n ** 18n],
  ]) {
    const refills = { payments: Number(payments), valueWei: `${10n ** 17n}`, gasWei: `${10n ** 15n}` };
    state.add(
      rowOf({ refills: { ...refills, funderWei: `${funderWei}` } }),
      /** @type {any} */ ({ runTps: 1, stages }),
    );
  }
  assert.deepEqual(values('stress_refills_total'), ['5']);
  assert.deepEqual(values('stress_refill_value_ether_total'), ['0.2']);
  assert.deepEqual(values('stress_refill_fees_ether_total'), ['0.002']);
  assert.deepEqual(values('stress_funder_balance_ether'), ['1']);
  assert.deepEqual(values('stress_spent_ether'), []);
  state.spending = { capWei: null, setUpWei: `${10n ** 16n}`, leftWei: null, spentWei: null, transactions: null };
  assert.deepEqual(values('stress_spent_ether'), ['set_up 0.01']);
});
