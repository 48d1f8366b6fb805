/**
 * Every pair of features on a chain in memory: a few runs here, with STRESS_SIMULATION_CASES more (npm run test:nightly), and
 * any number with npm run simulate.
 */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { violationsIn } from './laws.js';
import { createSimulator } from './run.js';
import { KNOWN, simulateMany, singlesOf } from './suite.js';

/** @import { Observed } from './run.js' */

const CASES = Number(process.env.STRESS_SIMULATION_CASES ?? 10);
const SEED = 1;

describe('simulated runs', () => {
  const simulator = createSimulator();
  after(simulator.close);

  for (const [words, configuration] of KNOWN) {
    it(words, async () => {
      const observed = await simulator.run(configuration, SEED);
      assert.deepEqual(violationsIn(observed), [], observed.command);
    });
  }

  it('each value alone keeps the laws', async () => {
    for (const configuration of await singlesOf(simulator)) {
      const [[feature, value]] = Object.entries(configuration);
      // What limits nothing is in the pairs.
      if (simulator.features[feature][value].isNeutral) continue;
      const observed = await simulator.run(configuration, SEED);
      assert.deepEqual(violationsIn(observed), [], observed.command);
    }
  });

  it('the same seed gives the same run file', async () => {
    const configuration = { workload: 'mix with calls', load: 'random arrivals', workers: '2', chain: 'lost answers' };
    const [first, second] = [await simulator.run(configuration, 5), await simulator.run(configuration, 5)];
    // Memory is that of the real process.
    const plain = (/** @type {Observed} */ { run }) => {
      const file = JSON.parse(JSON.stringify({ ...run, id: null }));
      file.generator.peakRssBytes = null;
      return file;
    };
    assert.deepEqual(plain(first), plain(second));
  });

  it(`${CASES} runs of pairs keep the laws`, async () => {
    const { violations, pairs } = await simulateMany({ cases: CASES, seed: SEED });
    assert.deepEqual(violations, []);
    if (CASES >= 80) assert.ok(pairs.covered > 0.6 * pairs.possible, JSON.stringify(pairs));
  });
});
