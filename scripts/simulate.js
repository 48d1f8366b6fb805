/**
 * Runs of every pair of features on a chain in memory, in virtual time, held to the laws of a run file:
 *
 *     npm run simulate -- --cases 5000 --seed 1
 *     npm run simulate -- --seed 100004 --only '{"workload":"mix with calls","load":"rate"}'
 *     npm run simulate -- --verdicts --cases 10
 *     npm run simulate -- --recorded [--files DIR]
 *
 * Prints configurations, pairs, exit codes, verdicts and violations, each with its seed and the smallest configuration that
 * still shows it. Exit code 1 if there is one. --first begins with what once broke a law, and ends at the first violation.
 * --verdicts runs each planted cause alone, so many times, and counts how often the verdict of a run that it slowed down is unknown.
 * --recorded repeats the recorded runs (test/simulation/recorded.js) and prints what changed; --files writes their run files,
 * for a comparison of two checkouts by `diff -r`; --record N draws N further combinations, and records those that execute code
 * that no recorded run executes.
 */
import { parseArgs } from 'node:util';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomNumbers } from '../src/random.js';
import { Coverage } from '../test/simulation/coverage.js';
import { LAWS, violationsIn } from '../test/simulation/laws.js';
import { Pairs } from '../test/simulation/pairs.js';
import {
  changesBetween,
  comparableOf,
  recordOf,
  recordedRuns,
  runToRecord,
  writeRecorded,
} from '../test/simulation/recorded.js';
import { createSimulator } from '../test/simulation/run.js';
import { simulateMany } from '../test/simulation/suite.js';
import { countVerdicts } from '../test/simulation/verdicts.js';

/** A shorter piece of code is part of a condition. */
const LEAST_ADDED = 12;

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '500' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    first: { type: 'boolean', default: false },
    laws: { type: 'boolean', default: false },
    verdicts: { type: 'boolean', default: false },
    recorded: { type: 'boolean', default: false },
    record: { type: 'string' },
    files: { type: 'string' },
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
if (values.record !== undefined) {
  await record(Number(values.record));
  process.exit(0);
}
if (values.recorded) process.exit((await repeatRecorded()) > 0 ? 1 : 0);
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

/** Records, of so many combinations drawn by pairs, those that execute code that no recorded run executes. @param {number} draws */
async function record(draws) {
  const simulator = createSimulator();
  const coverage = new Coverage();
  await coverage.begin();
  try {
    for (const { configuration } of recordedRuns()) await runToRecord(simulator, configuration);
    await coverage.added();
    const pairs = new Pairs(simulator.features, randomNumbers(Number(values.seed)), simulator.refusalOf);
    const drawn = [];
    for (let i = 0; i < draws; i += 1) {
      const configuration = await pairs.next();
      const observed = await runToRecord(simulator, configuration);
      const added = await coverage.added();
      if (added < LEAST_ADDED) continue;
      console.log(`${JSON.stringify(configuration)}: ${added} characters of code`);
      drawn.push(recordOf(observed));
    }
    writeRecorded([...recordedRuns(), ...drawn]);
  } finally {
    coverage.end();
    simulator.close();
  }
}

/** @returns {Promise<number>} how many runs gave something else, or broke a law */
async function repeatRecorded() {
  const simulator = createSimulator();
  let changed = 0;
  try {
    for (const before of recordedRuns()) {
      const observed = await runToRecord(simulator, before.configuration);
      const words = [
        ...changesBetween(before, recordOf(observed)),
        ...violationsIn(observed).map((one) => `${one.law}: ${one.words}`),
      ];
      const name = JSON.stringify(before.configuration);
      if (values.files !== undefined && observed.run !== null) writeRunFile(values.files, name, observed.run);
      if (words.length === 0) continue;
      changed += 1;
      console.log(`${name}\n  ${words.join('\n  ')}`);
      if (values.first) break;
    }
  } finally {
    simulator.close();
  }
  console.log(`${changed} of ${recordedRuns().length} recorded runs gave something else`);
  return changed;
}

/** @param {string} folder @param {string} name @param {import('../src/contracts/run-file.d.ts').RunFile} run */
function writeRunFile(folder, name, run) {
  mkdirSync(folder, { recursive: true });
  const file = name.replaceAll(/[^\w]+/g, '-').slice(1, 200);
  writeFileSync(join(folder, `${file}.json`), `${JSON.stringify(comparableOf(run), null, 1)}\n`);
}
