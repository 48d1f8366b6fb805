import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readInvocation } from '../../../src/cli/config.js';
import { InputError } from '../../../src/errors.js';
import { caught } from '../../helpers/caught.js';
import { temporaryFolder } from '../../helpers/temporary.js';

const NOW_MS = Date.UTC(2030, 0, 1);
const URL_AND_CHAIN = '--rpc http://127.0.0.1:1 --chain-id 1337';
const ONE = `-t 50 ${URL_AND_CHAIN} --index 2 --instances 4`;
const POD = Object.freeze({ JOB_COMPLETION_INDEX: '3' });
const GANG = Object.freeze({ SLURM_JOB_ID: '7', SLURM_PROCID: '1', SLURM_NTASKS: '2', SLURM_STEP_ID: '0' });

/** @param {string} line @param {NodeJS.ProcessEnv} [env] */
async function read(line, env = {}) {
  const invocation = await readInvocation(line.split(' '), env, '1.2.3', { nowMs: NOW_MS });
  if (invocation.kind !== 'command') assert.fail(`it is a text: ${invocation.text}`);
  return invocation.config;
}

describe('readInvocation(): one of several instances', () => {
  /** @type {Array<[string, string, NodeJS.ProcessEnv, [number, number | null, string | null]]>} offset, index, scheduler */
  const table = [
    ['the only one', '-t 50 -o 100', { ...POD, ...GANG }, [100, null, null]],
    ['by hand', `${ONE} -o 100`, { ...POD, ...GANG }, [200, 2, null]],
    ['the first', `-t 50 ${URL_AND_CHAIN} -o 7 --index 0 --instances 4`, {}, [7, 0, null]],
    ['Kubernetes, as auto is the default', `-t 50 ${URL_AND_CHAIN} --instances 4`, POD, [150, 3, 'kubernetes']],
    ['Slurm', `-t 50 ${URL_AND_CHAIN} -o 1 --index auto`, GANG, [51, 1, 'slurm-gang']],
    [
      'users, another word for -t',
      `--users 50 --workload rpc --method eth_chainId ${URL_AND_CHAIN} --instances 4`,
      POD,
      [150, 3, 'kubernetes'],
    ],
    ['the environment', `-t 50 ${URL_AND_CHAIN}`, { ...POD, STRESS_INSTANCES: '4' }, [150, 3, 'kubernetes']],
    [
      'a flag before the environment',
      `-t 50 ${URL_AND_CHAIN} --index 1`,
      { ...POD, STRESS_INSTANCES: '4', STRESS_INDEX: '2' },
      [50, 1, null],
    ],
  ];
  for (const [name, line, env, expected] of table) {
    it(name, async () => {
      const { offset, index, scheduler } = await read(line, env);
      assert.deepEqual([offset, index, scheduler], expected);
    });
  }

  it('from the config file', async (t) => {
    const file = join(temporaryFolder(t), 'config.json');
    writeFileSync(file, JSON.stringify({ instances: 4, 'run-id': 'a.b', results: 'x', 'start-timeout': '1m' }));
    const { offset, instances, runId, results, startTimeoutMs } = await read(
      `-t 50 ${URL_AND_CHAIN} --config ${file}`,
      POD,
    );
    assert.deepEqual([offset, instances, runId, results, startTimeoutMs], [150, 4, 'a.b', 'x', 60_000]);
    writeFileSync(file, JSON.stringify({ instances: 0 }));
    assert.ok((await caught(() => read(`-t 50 ${URL_AND_CHAIN} --config ${file}`, POD))) instanceof InputError);
  });

  it('the run file states what was given', async () => {
    const { firstOffset, redacted } = await read(`-t 50 -o 100 ${URL_AND_CHAIN} --instances 4`, POD);
    assert.equal(firstOffset, 100);
    assert.deepEqual([redacted.offset, redacted.index, redacted.instances, redacted.attempt], [100, 'auto', 4, null]);
    const byHand = await read(`${ONE} -o 100`);
    assert.deepEqual([byHand.redacted.offset, byHand.redacted.index], [100, 2]);
    assert.equal((await read('-t 50')).redacted.index, null);
  });

  it('{index} in the names of its files is its index, and the run file states what was given', async () => {
    const names =
      '--out {index}.json --junit j{index} --samples {index}-{index}.csv --blocks b{index}.csv --hlog {index}';
    const config = await read(`${ONE} ${names} --html h{index} --log-file l{index}`);
    const { out, junit, samples, blocks, hlog, html, logFile, redacted } = config;
    assert.deepEqual([out, junit, samples, blocks, hlog, html], ['2.json', 'j2', '2-2.csv', 'b2.csv', '2', 'h2']);
    assert.equal(logFile, 'l{index}', 'no other name has it');
    assert.equal(redacted.out, '{index}.json');
    assert.equal((await read(`${ONE} --out -`)).out, '-');
    assert.equal((await read('-t 50 --out {index}.json')).out, '{index}.json', 'without an index it is a name');
  });

  it('stress fund is told how long the load will be, also by the environment', async () => {
    const env = { STRESS_FUNDER_KEY: '1a'.repeat(32), STRESS_DURATION: '5m' };
    const { durationMs, warmupMs, inFlight } = await read(`fund -t 5 ${URL_AND_CHAIN} --warmup 10s --in-flight 3`, env);
    assert.deepEqual([durationMs, warmupMs, inFlight], [300_000, 10_000, 3]);
  });

  it('other commands ask no scheduler, and studies are not distributed', async () => {
    const env = { ...POD, ...GANG, STRESS_INSTANCES: '4', STRESS_INDEX: 'auto' };
    const fund = await read(`fund -t 50 -o 100 ${URL_AND_CHAIN}`, { ...env, STRESS_FUNDER_KEY: '1a'.repeat(32) });
    assert.deepEqual([fund.offset, fund.index, fund.instances], [100, null, 4]);
    const sweep = await read('sweep -t 5,10 -d 1s', env);
    assert.deepEqual([sweep.offset, sweep.index, sweep.instances], [0, null, null]);
    assert.equal(sweep.study.env.STRESS_INSTANCES, undefined, 'its runs are not either');
  });
});

describe('readInvocation(): what instances have to say together', () => {
  const later = (/** @type {number} */ s) => String(NOW_MS / 1000 + s);
  /** @type {Array<[string, RegExp, NodeJS.ProcessEnv?]>} */
  const table = [
    [
      '-t 5 --index 0 --instances 2 --rpc http://127.0.0.1:1',
      /^this is instance 0 of several, .*: --chain-id N, checked/,
    ],
    [
      '-t 5 --index 0 --instances 1',
      /^this is an instance of a distributed run, and instances need a chain that they share: --rpc URL$/,
    ],
    ['-t 5 --attempt 1', /^--attempt 1 says .*: give --index, too$/],
    ['-t 5 --results x', /^--results needs --instances N or --index I\|auto$/],
    ['-t 5 --barrier x --run-id a', /^--barrier needs --instances N or --index I\|auto$/],
    [`${ONE} --barrier x`, /^--barrier needs a name that all .*: --run-id NAME$/],
    [`${ONE} --barrier x --run-id a --start-at ${later(5)}`, /^--barrier and --start-at exclude each other: /],
    [
      `-t 5 --start-at ${later(3)} --start-timeout 2s`,
      /^--start-at is 3 s from now, and --start-timeout waits for 2 s/,
    ],
    ['-t 5 --expect 4', /^--expect is an option of stress merge, not of stress$/],
  ];
  for (const [line, message, env] of table) {
    it(line, async () => {
      await assert.rejects(async () => read(line, env), { name: 'UsageError', message });
    });
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
