/**
 * Every pair of features on a chain in memory: a few runs here, with STRESS_SIMULATION_CASES more (npm run test:nightly), and
 * any number with npm run simulate.
 */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { violationsIn } from './laws.js';
import { createSimulator } from './run.js';
import { simulateMany } from './suite.js';

/** @import { Configuration, Observed } from './run.js' */

const CASES = Number(process.env.STRESS_SIMULATION_CASES ?? 80);
const SEED = 1;

/** What once broke a law. @type {Array<[words: string, configuration: Configuration]>} */
const KNOWN = [
  ['users beside one wallet have addresses', { workload: 'mix with calls of own addresses' }],
  [
    'a hold acts on both sides',
    { workload: 'mix with calls', load: 'rate', maxBaseFee: 'low', chain: 'a rising base fee' },
  ],
  ['calls are tried before a payment', { workload: 'mix with calls that the node lacks' }],
  ['both sides have threads', { workload: 'mix with calls', workers: '2' }],
  ['a reference that is away', { workload: 'recorded calls, compared', chain: 'a compared node that is away' }],
  ['no room to replace', { storm: 'replacements', fees: 'no room above the fee' }],
  ['a web socket that is lost', { endpoints: 'web socket', consistency: 'checked', chain: 'a restart' }],
  ['a window that is held', { maxBaseFee: 'below all', load: 'rate' }],
  ['a level without its confirmations', { confirmations: '2', ladder: 'all' }],
  ['limits of rate in the warm-up', { workload: 'recorded calls', warmup: 'fixed', chain: 'rate limits' }],
  ['a stop between set-up and load', { act: 'Ctrl-C between set-up and load', warmup: 'auto' }],
  ['no base fee', { maxBaseFee: 'low', chain: 'no base fee' }],
  ['a reorg between two answers', { workload: 'recorded calls, compared', chain: 'a reorg' }],
];

describe('simulated runs', () => {
  const simulator = createSimulator();
  after(simulator.close);

  for (const [words, configuration] of KNOWN) {
    it(words, async () => {
      const observed = await simulator.run(configuration, SEED);
      assert.deepEqual(violationsIn(observed), [], observed.command);
    });
  }

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
    assert.ok(pairs.covered > 0.6 * pairs.possible, JSON.stringify(pairs));
  });
});
