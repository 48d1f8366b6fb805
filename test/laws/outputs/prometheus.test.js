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
