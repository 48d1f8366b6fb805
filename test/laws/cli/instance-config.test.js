import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { InputError } from '../../../src/errors.js';
import { caught } from '../../helpers/caught.js';
import { temporaryFile } from '../../helpers/temporary.js';
import { flat, readCommand } from './read.js';

const NOW_MS = Date.UTC(2030, 0, 1);
const URL_AND_CHAIN = '--rpc http://127.0.0.1:1 --chain-id 1337';
const ONE = `-t 50 ${URL_AND_CHAIN} --index 2 --instances 4`;
const POD = Object.freeze({ JOB_COMPLETION_INDEX: '3' });
const GANG = Object.freeze({ SLURM_JOB_ID: '7', SLURM_PROCID: '1', SLURM_NTASKS: '2', SLURM_STEP_ID: '0' });

/** @param {string} line @param {NodeJS.ProcessEnv} [env] */
const read = async (line, env) => (await readCommand(line, env, { nowMs: NOW_MS })).config;

describe('command lines: one of several instances', () => {
  const FUNDER = { STRESS_FUNDER_KEY: '1a'.repeat(32) };
  const LONG = { ...FUNDER, STRESS_DURATION: '5m' };
  const GIVEN = { STRESS_INSTANCES: '4', STRESS_INDEX: '2' };
  const STUDY = { ...POD, ...GANG, STRESS_INSTANCES: '4', STRESS_INDEX: 'auto' };
  const NAMES =
    '--out {index}.json --junit j{index} --samples {index}-{index}.csv --blocks b{index}.csv --hlog {index}';
  /** The command line, the environment, and members of the config. @type {Array<[string, NodeJS.ProcessEnv, Record<string, unknown>]>} */
  const table = [
    ['-t 50 -o 100', { ...POD, ...GANG }, { offset: 100, index: null, scheduler: null }],
    [`${ONE} -o 100`, { ...POD, ...GANG }, { offset: 200, index: 2, scheduler: null, firstOffset: 100 }],
    [`-t 50 ${URL_AND_CHAIN} -o 7 --index 0 --instances 4`, {}, { offset: 7, index: 0 }],
    [`-t 50 ${URL_AND_CHAIN} --instances 4`, POD, { offset: 150, index: 3, scheduler: 'kubernetes' }],
    [`-t 50 ${URL_AND_CHAIN} -o 1 --index auto`, GANG, { offset: 51, index: 1, scheduler: 'slurm-gang' }],
    [`--users 50 --workload rpc --method eth_chainId ${URL_AND_CHAIN} --instances 4`, POD, { offset: 150, index: 3 }],
    [`-t 50 ${URL_AND_CHAIN}`, { ...POD, STRESS_INSTANCES: '4' }, { offset: 150, index: 3 }],
    [`-t 50 ${URL_AND_CHAIN} --index 1`, { ...POD, ...GIVEN }, { offset: 50, index: 1 }],
    // {index} in the names of its files is its index, and in no other name; without an index it is a name.
    [`${ONE} ${NAMES}`, {}, { out: '2.json', junit: 'j2', samples: '2-2.csv', blocks: 'b2.csv', hlog: '2' }],
    [`${ONE} --html h{index} --log-file l{index} --out -`, {}, { html: 'h2', logFile: 'l{index}', out: '-' }],
    ['-t 50 --out {index}.json', {}, { out: '{index}.json' }],
    // stress fund is told how long the load will be; other commands ask no scheduler, and studies are not distributed.
    [`fund -t 5 ${URL_AND_CHAIN} --warmup 10s --in-flight 3`, LONG, { durationMs: 3e5, warmupMs: 1e4, inFlight: 3 }],
    [`fund -t 50 -o 100 ${URL_AND_CHAIN}`, { ...STUDY, ...FUNDER }, { offset: 100, index: null, instances: 4 }],
    ['sweep -t 5,10 -d 1s', STUDY, { offset: 0, index: null, instances: null }],
  ];
  for (const [line, env, expected] of table)
    it(`${line} ${Object.keys(env)}`, async () => {
      const config = /** @type {any} */ (await read(line, env));
      const values = flat(config);
      for (const [key, value] of Object.entries(expected)) assert.deepEqual(values[key], value, key);
      if (line.startsWith('sweep'))
        assert.equal(config.study.env.STRESS_INSTANCES, undefined, 'its runs are not either');
    });

  it('from the config file', async (t) => {
    const file = temporaryFile(t, 'config.json', {
      instances: 4,
      'run-id': 'a.b',
      results: 'x',
      'start-timeout': '1m',
    });
    const { instance, wallets } = await read(`-t 50 ${URL_AND_CHAIN} --config ${file}`, POD);
    const { instances, runId, results, startTimeoutMs } = instance;
    assert.deepEqual([wallets.offset, instances, runId, results, startTimeoutMs], [150, 4, 'a.b', 'x', 60_000]);
    writeFileSync(file, JSON.stringify({ instances: 0 }));
    assert.ok((await caught(() => read(`-t 50 ${URL_AND_CHAIN} --config ${file}`, POD))) instanceof InputError);
  });

  it('the run file states what was given', async () => {
    const stated = async (/** @type {Parameters<typeof read>} */ ...given) => (await read(...given)).outputs.redacted;
    const redacted = await stated(`-t 50 -o 100 ${URL_AND_CHAIN} --instances 4`, POD);
    assert.deepEqual([redacted.offset, redacted.index, redacted.instances, redacted.attempt], [100, 'auto', 4, null]);
    const byHand = await stated(`${ONE} -o 100`);
    assert.deepEqual([byHand.offset, byHand.index], [100, 2]);
    assert.equal((await stated('-t 50')).index, null);
    assert.equal((await stated(`${ONE} --out {index}.json`)).out, '{index}.json');
  });
});

describe('command lines: what instances have to say together', () => {
  const later = (/** @type {number} */ s) => String(NOW_MS / 1000 + s);
  const TWO_AT_A_URL = '-t 5 --index 0 --instances 2 --rpc http://127.0.0.1:1';
  /** @type {Array<[string, RegExp, NodeJS.ProcessEnv?]>} */
  const table = [
    [TWO_AT_A_URL, /^this is instance 0 of several, .*: --chain-id N, checked/],
    ['-t 5 --index 0 --instances 1', /^this is an instance .*, and instances need a chain that they share: --rpc URL$/],
    ['-t 5 --attempt 1', /^--attempt 1 says .*: give --index, too$/],
    [`${ONE} --barrier x`, /^--barrier needs a name that all .*: --run-id NAME$/],
    [`-t 5 --start-at ${later(3)} --start-timeout 2s`, /^--start-at is 3 s from now, and --start-timeout waits for 2/],
  ];
  for (const [line, message, env] of table) {
    it(line, () => assert.rejects(async () => read(line, env), { name: 'UsageError', message }));
  }

  /** @type {Array<[string, NodeJS.ProcessEnv?]>} */
  const fine = [
    [`-t 5 --start-at ${later(600)}`],
    [`-t 5 --start-at ${later(-5)}`],
    ['-t 5 --start-timeout 1s'],
    [`-t 5 ${URL_AND_CHAIN} --index 0 --instances 1`, { STRESS_FUNDER_KEY: '1a'.repeat(32) }],
    ['-t 5 --run-id a'],
    [`${ONE} --barrier x --run-id a --results y --attempt 3`],
    [`-t 5 ${URL_AND_CHAIN} --index auto --barrier x`, GANG],
    ['merge - --expect 4 --partial --run-id a --out - --explain -q'],
    ['merge x y.json - --html m.html --threshold tps>1'],
  ];
  for (const [line, env] of fine) {
    it(`${line}: fine`, async () => void (await read(line, env)));
  }
});
