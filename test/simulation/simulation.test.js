/**
 * Every pair of features on a chain in memory: a few runs here, with STRESS_SIMULATION_CASES more and all recorded ones
 * (npm run test:nightly), and any number with npm run simulate.
 */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { violationsIn } from './laws.js';
import {
  changesBetween,
  comparableOf,
  configurationsToRecord,
  recordOf,
  recordedRuns,
  runToRecord,
  writeRecorded,
} from './recorded.js';
import { createSimulator } from './run.js';
import { simulateMany } from './suite.js';

/** @import { RunFile } from '../../src/contracts/run-file.d.ts' */

const CASES = Number(process.env.STRESS_SIMULATION_CASES ?? 10);
const SEED = 1;
const isWriting = process.env.GOLDEN === 'write';

describe('simulated runs', () => {
  const simulator = createSimulator();
  after(simulator.close);

  it('recorded runs keep the laws, and give what they gave', async () => {
    const before = new Map(recordedRuns().map((one) => [JSON.stringify(one.configuration), one]));
    const now = [];
    const isShort = !isWriting && process.env.STRESS_SIMULATION_CASES === undefined;
    for (const configuration of await configurationsToRecord(simulator, { isShort })) {
      const observed = await runToRecord(simulator, configuration);
      assert.deepEqual(violationsIn(observed), [], observed.command);
      now.push(recordOf(observed));
    }
    if (isWriting) return writeRecorded(now);
    const changed = now.flatMap((one) => {
      const was = before.get(JSON.stringify(one.configuration));
      const changes = was === undefined ? ['not recorded yet'] : changesBetween(was, one);
      return changes.length > 0 ? [{ configuration: JSON.stringify(one.configuration), changes }] : [];
    });
    assert.deepEqual(
      changed,
      [],
      'npm run simulate -- --recorded --files DIR writes the run files; GOLDEN=write accepts',
    );
  });

  it('many reads that are repeated at once keep the laws', async () => {
    const { run, close } = createSimulator({ wallets: 40 });
    after(close);
    // The audit is within the time of the limits.
    const observed = await run({ load: 'iterations', inFlight: '4', chain: 'rate limits' }, SEED);
    assert.deepEqual(violationsIn(observed), [], observed.command);
  });

  it('the same seed gives the same run file', async () => {
    const configuration = { workload: 'mix with calls', load: 'random arrivals', workers: '2', chain: 'lost answers' };
    const [first, second] = [await simulator.run(configuration, 5), await simulator.run(configuration, 5)];
    const [one, other] = [first.run, second.run].map((run) => comparableOf(/** @type {RunFile} */ (run)));
    assert.deepEqual(one, other);
  });

  it(`${CASES} runs of pairs keep the laws`, async () => {
    const { violations, pairs } = await simulateMany({ cases: CASES, seed: SEED });
    assert.deepEqual(violations, []);
    if (CASES >= 80) assert.ok(pairs.covered > 0.6 * pairs.possible, JSON.stringify(pairs));
  });
});
