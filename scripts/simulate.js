/**
 * Runs of every pair of features on a chain in memory, in virtual time, held to the laws of a run file:
 *
 *     npm run simulate -- --cases 5000 --seed 1
 *     npm run simulate -- --seed 100004 --only '{"workload":"mix with calls","load":"rate"}'
 *     npm run simulate -- --verdicts --cases 10
 *
 * Prints configurations, pairs, exit codes, verdicts and violations, each with its seed and the smallest configuration that
 * still shows it. Exit code 1 if there is one. --first begins with what once broke a law, and ends at the first violation.
 * --verdicts runs each planted cause alone, so many times, and counts how often the verdict of a run that it slowed down is unknown.
 */
import { parseArgs } from 'node:util';
import { LAWS } from '../test/simulation/laws.js';
import { simulateMany } from '../test/simulation/suite.js';
import { countVerdicts } from '../test/simulation/verdicts.js';

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '500' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    first: { type: 'boolean', default: false },
    laws: { type: 'boolean', default: false },
    verdicts: { type: 'boolean', default: false },
  },
});
if (values.laws) {
  console.log(LAWS.join('\n'));
  process.exit(0);
}
if (values.verdicts) {
  const rows = await countVerdicts({ runs: Number(values.cases), seed: Number(values.seed) });
  const shareOf = (/** @type {number} */ unknown, /** @type {number} */ runs) =>
    `${((100 * unknown) / Math.max(1, runs)).toFixed(0)} %`;
  for (const { cause, expected, runs, harmless, unknown, verdicts, examples } of rows)
    console.log(
      `${cause} (${expected}): ${unknown} of ${runs} unknown (${shareOf(unknown, runs)}); ${listed(verdicts)}${harmless > 0 ? `; harmless ${harmless}` : ''}${examples.map((one) => `\n  ${one}`).join('')}`,
    );
  const [runs, unknown] = [
    rows.reduce((sum, row) => sum + row.runs, 0),
    rows.reduce((sum, row) => sum + row.unknown, 0),
  ];
  console.log(`${unknown} of ${runs} runs with one planted cause have the verdict unknown (${shareOf(unknown, runs)})`);
  process.exit(0);
}
const only = values.only === undefined ? undefined : JSON.parse(values.only);
const cases = only === undefined ? Number(values.cases) : 1;
const startMs = performance.now();
const { violations, counts, codes, verdicts, pairs } = await simulateMany({
  cases,
  seed: Number(values.seed),
  only,
  isFirstEnough: values.first,
  onCase: (done) => {
    if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${cases}`);
  },
});
console.log(`${cases} runs in ${((performance.now() - startMs) / 1000).toFixed(0)} s, seed ${values.seed}`);
console.log(
  `pairs: ${pairs.covered} of ${pairs.possible} covered; ${pairs.impossible} are refused by the command line`,
);
console.log(`exit codes: ${listed(codes)}`);
console.log(`verdicts: ${listed(verdicts)}`);
console.log(`laws: ${LAWS.length}; violated: ${listed(counts) || 'none'}`);
for (const { law, words, seed, configuration } of violations)
  console.log(`\n${law}\n  ${words.replaceAll('\n', '\n  ')}\n  seed ${seed}: ${JSON.stringify(configuration)}`);
process.exitCode = violations.length > 0 ? 1 : 0;

/** @param {Record<string, number>} counts @returns {string} the highest first */
function listed(counts) {
  return Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}
