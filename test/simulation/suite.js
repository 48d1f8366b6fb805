/** Many simulated runs: their violations, each with the smallest configuration that shows it. */
import { randomNumbers } from '../../src/random.js';
import { violationsIn } from './laws.js';
import { Pairs, smallest } from './pairs.js';
import { createSimulator } from './run.js';

/**
 * @import { Configuration, Observed } from './run.js'
 *
 * @typedef {{law: string, words: string, seed: number, configuration: Configuration}} Violation configuration: the smallest one
 */

const WAITS = 'the run ends';

/** What once broke a law. @type {Array<[words: string, configuration: Configuration]>} */
export const KNOWN = [
  ['users beside one wallet have addresses', { workload: 'mix with calls of own addresses' }],
  [
    'a hold acts on both sides',
    { workload: 'mix with calls', load: 'rate', maxBaseFee: 'low', chain: 'a rising base fee' },
  ],
  ['calls are tried before a payment', { workload: 'mix with calls that the node lacks' }],
  [
    'calls are tried before a funder pays',
    { workload: 'mix with calls that the node lacks', funds: 'paid by a funder' },
  ],
  ['both sides have threads', { workload: 'mix with calls', workers: '2' }],
  ['a reference that is away', { workload: 'recorded calls, compared', chain: 'a compared node that is away' }],
  [
    'a first endpoint that is behind',
    { workload: 'recorded calls, compared', endpoints: 'in turn', chain: 'a node that lags' },
  ],
  ['no room to replace', { storm: 'replacements', fees: 'no room above the fee' }],
  ['a web socket that is lost', { endpoints: 'web socket', consistency: 'checked', chain: 'a restart' }],
  ['a window that is held', { maxBaseFee: 'below all', load: 'rate' }],
  ['a level without its confirmations', { confirmations: '2', ladder: 'all' }],
  ['limits of rate in the warm-up', { workload: 'recorded calls', warmup: 'fixed', chain: 'rate limits' }],
  ['a stop between set-up and load', { act: 'Ctrl-C between set-up and load', warmup: 'auto' }],
  ['no base fee', { maxBaseFee: 'low', chain: 'no base fee' }],
  ['a hold that begins before the window', { maxBaseFee: 'below all', load: 'rate', warmup: 'fixed' }],
  ['a rate in gas on both sides', { workload: 'mix', load: 'gas rate', inFlight: '4' }],
  ['levels of a pending block that is read', { ladder: 'all', inFlight: '4' }],
  ['funds that last little longer than the load', { funds: 'little funds', inFlight: '4' }],
  ['a profile of a load without a drain', { workload: 'calls', nodeProfile: 'profiled' }],
  ['wallets that are refilled', { funds: 'refills', inFlight: '4', workers: '2' }],
  ['two threads that are held', { maxBaseFee: 'low', workers: '2', chain: 'a rising base fee' }],
  [
    'the calls of a mix are no measure of its transactions',
    { workload: 'mix with compared calls', confirmations: '2', chain: 'a compared node that is away' },
  ],
  [
    'blocks of a node that was silent for the whole load',
    { evidence: 'written', txTimeout: 'short', chain: 'a node that is silent' },
  ],
  [
    'evidence that ends with the window',
    { warmup: 'auto', evidence: 'signed', chain: 'a node that is dead at the end' },
  ],
  ['a reorg between two answers', { workload: 'recorded calls, compared', chain: 'a reorg' }],
];

/**
 * Each value alone, with the defaults of all others: there the laws of a run without a fault hold.
 * @param {ReturnType<typeof createSimulator>} simulator
 * @returns {Promise<Configuration[]>} without those that the command line refuses
 */
export async function singlesOf({ features, refusalOf }) {
  const all = Object.entries(features).flatMap(([feature, values], i) =>
    Object.keys(values)
      .slice(i === 0 ? 0 : 1)
      .map((value) => /** @type {Configuration} */ ({ [feature]: value })),
  );
  const refusals = await Promise.all(all.map(refusalOf));
  return all.filter((_, i) => refusals[i] === null);
}

/**
 * @param {{cases: number, seed: number, skipped?: ReadonlySet<string>, only?: Configuration, isFirstEnough?: boolean, onCase?: (done: number, observed: Observed | null) => void}} options
 *   skipped: laws whose violations are counted only; isFirstEnough: what once broke a law and single values come first, and
 *   the first violation ends it
 */
export async function simulateMany(options) {
  const { cases, seed, skipped = new Set(), only, isFirstEnough = false, onCase = () => {} } = options;
  const simulator = createSimulator();
  const pairs = new Pairs(simulator.features, randomNumbers(seed), simulator.refusalOf);
  const first = isFirstEnough ? [...KNOWN.map(([, one]) => one), ...(await singlesOf(simulator))] : [];
  /** By law. @type {Record<string, number>} */
  const counts = {};
  /** The first of each law, and of each smallest configuration. @type {Map<string, Violation>} */
  const found = new Map();
  const codes = /** @type {Record<string, number>} */ ({});
  const verdicts = /** @type {Record<string, number>} */ ({});
  /** @param {Configuration} configuration @param {number} ofRun @returns {Promise<{observed: Observed | null, violations: Array<{law: string, words: string}>}>} */
  const check = async (configuration, ofRun) => {
    try {
      const observed = await simulator.run(configuration, ofRun);
      return { observed, violations: violationsIn(observed) };
    } catch (error) {
      return { observed: null, violations: [{ law: WAITS, words: /** @type {Error} */ (error).message }] };
    }
  };
  try {
    for (let i = 0; i < cases; i += 1) {
      const configuration = only ?? first[i] ?? (await pairs.next());
      // A violation prints the seed of its run, which is given back with its configuration.
      const ofRun = only === undefined ? seed * 100_003 + i : seed;
      const { observed, violations } = await check(configuration, ofRun);
      const code = String(observed?.code ?? 'none');
      codes[code] = (codes[code] ?? 0) + 1;
      const name = observed?.run?.verdict?.name;
      if (name !== undefined) verdicts[name] = (verdicts[name] ?? 0) + 1;
      onCase(i + 1, observed);
      if (isFirstEnough && violations.length > 0) {
        const [{ law, words }] = violations;
        counts[law] = 1;
        found.set(law, { law, words, seed: ofRun, configuration });
        break;
      }
      for (const law of new Set(violations.map((one) => one.law))) {
        counts[law] = (counts[law] ?? 0) + 1;
        if (skipped.has(law) || counts[law] > MOST_OF_A_LAW) continue;
        const fails = async (/** @type {Configuration} */ tried) => {
          if ((await simulator.refusalOf(tried)) !== null) return false;
          return (await check(tried, ofRun)).violations.some((one) => one.law === law);
        };
        const small = await smallest(simulator.features, configuration, fails);
        const key = `${law} ${JSON.stringify(small)}`;
        const { words } = /** @type {{words: string}} */ (
          (await check(small, ofRun)).violations.find((one) => one.law === law) ??
            violations.find((one) => one.law === law)
        );
        if (!found.has(key)) found.set(key, { law, words, seed: ofRun, configuration: small });
      }
    }
  } finally {
    simulator.close();
  }
  return { violations: [...found.values()], counts, codes, verdicts, pairs: pairs.counts };
}

/** Violations of a law that are made small. */
const MOST_OF_A_LAW = 6;
