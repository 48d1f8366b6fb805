/** How often the verdict of a run with one planted cause is unknown. */
import { randomNumbers } from '../../src/random.js';
import { BEHAVIOURS } from './features.js';
import { createSimulator } from './run.js';

/**
 * @import { Configuration } from './run.js'
 *
 * @typedef {{cause: string, expected: string[], runs: number, harmless: number, unknown: number, verdicts: Record<string, number>, examples: string[]}} CauseRow
 *   expected: verdicts that name the cause; harmless: runs that verified about as much as without the cause, not in runs; examples: of unknown
 */

/** A load of 24 seconds: in 6 seconds most causes last for a few blocks only. */
const STRETCH = 4;
/** Share of the verified operations of the same run without the cause below which the cause is what limits. */
const LIMITED = 0.8;

/**
 * Each cause is run beside values that limit nothing, drawn at random, and only runs that it slows down are counted.
 * @param {{runs: number, seed: number}} options runs: of each cause
 * @returns {Promise<CauseRow[]>}
 */
export async function countVerdicts({ runs, seed }) {
  const simulator = createSimulator({ stretch: STRETCH });
  const random = randomNumbers(seed);
  /** @param {string[]} names */
  const drawn = (names) => names[Math.floor(random() * names.length)];
  /** @param {Configuration} planted @returns {Promise<Configuration>} */
  const beside = async (planted) => {
    for (;;) {
      const others = Object.entries(simulator.features).flatMap(([feature, values]) => {
        const [first, ...more] = Object.keys(values);
        const neutral = [first, ...more.filter((name) => values[name].isNeutral)];
        return feature in planted || neutral.length === 1 ? [] : [[feature, drawn(neutral)]];
      });
      const configuration = { ...Object.fromEntries(others), ...planted };
      if ((await simulator.refusalOf(configuration)) === null) return configuration;
    }
  };
  /** @param {Configuration} configuration @param {Configuration} planted @returns {Configuration} without the cause */
  const without = (configuration, { endpoints: _, ...planted }) =>
    Object.fromEntries(
      Object.entries(configuration).map(([feature, name]) =>
        feature in planted ? [feature, Object.keys(simulator.features[feature])[0]] : [feature, name],
      ),
    );
  /** @type {CauseRow[]} */
  const rows = [];
  try {
    for (const [expected, planted] of causesIn(simulator.features)) {
      const names = Object.entries(planted).flatMap(([feature, name]) => (feature === 'endpoints' ? [] : [name]));
      /** @type {CauseRow} */
      const row = { cause: names.join(), expected, runs: 0, harmless: 0, unknown: 0, verdicts: {}, examples: [] };
      for (let i = 0; i < runs; i += 1) {
        const configuration = await beside(planted);
        const { run } = await simulator.run(configuration, seed * 100_003 + i);
        const { run: other } = await simulator.run(without(configuration, planted), seed * 100_003 + i);
        const name = run?.verdict?.name;
        if (!run || !other || name === undefined) continue;
        if (run.counts.verified >= LIMITED * other.counts.verified) {
          row.harmless += 1;
          continue;
        }
        row.runs += 1;
        if (name === 'unknown') {
          row.unknown += 1;
          row.examples.push(`${JSON.stringify(configuration)}: ${run.verdict?.evidence}`);
        }
        row.verdicts[name] = (row.verdicts[name] ?? 0) + 1;
      }
      rows.push(row);
    }
  } finally {
    simulator.close();
  }
  return rows;
}

/** @param {ReturnType<typeof createSimulator>['features']} features @returns {Array<[expected: string[], planted: Configuration]>} */
function causesIn(features) {
  const ofChain = Object.entries(BEHAVIOURS).filter(([, { causes }]) => causes.length > 0);
  const ofOptions = Object.entries(features).flatMap(([feature, values]) =>
    Object.entries(values).flatMap(([name, { limits }]) => (limits === undefined ? [] : [{ feature, name, limits }])),
  );
  return [
    ...ofChain.map(
      ([name, { causes, lagMs }]) =>
        /** @type {[string[], Configuration]} */ ([
          causes,
          // Only a run with two endpoints has a second node.
          { chain: name, ...(lagMs?.[2] !== undefined || name.includes('second') ? { endpoints: 'in turn' } : {}) },
        ]),
    ),
    ...ofOptions.map(
      ({ feature, name, limits }) => /** @type {[string[], Configuration]} */ ([[limits], { [feature]: name }]),
    ),
  ];
}
