import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UsageError } from '../../../src/errors.js';
import { caught } from '../../helpers/caught.js';
import { temporaryFile } from '../../helpers/temporary.js';
import { readCommand } from './read.js';

const MNEMONIC = 'legal winner thank year wave sausage worth useful legal winner thank yellow';

/** @param {string} line @param {NodeJS.ProcessEnv} [env] */
const read = async (line, env) => (await readCommand(line, env)).config;

/** @param {string} line @param {NodeJS.ProcessEnv} [env] @returns {Promise<string>} */
async function refusal(line, env) {
  const error = await caught(() => read(line, env));
  assert.ok(error instanceof UsageError, String(error));
  return error.message;
}

describe('config.study of stress sweep', () => {
  it('has the axes in the order of the options, wherever they come from', async (t) => {
    const file = temporaryFile(t, 'config.json', { rate: '100..120/10', connections: '1,2' });
    const { study } = await read(`sweep -d 1s --connections 4,8 --config ${file}`, { STRESS_THREADS: '5,10' });
    assert.deepEqual(study.axes, [
      { name: 'threads', values: ['5', '10'] },
      { name: 'rate', values: ['100', '110', '120'] },
      { name: 'connections', values: ['4', '8'] },
    ]);
    assert.deepEqual(
      [study.options, study.env],
      [
        { duration: '1s', warmup: 'auto' },
        { STRESS_DURATION: '1s', STRESS_WARMUP: 'auto' },
      ],
    );
  });

  it('passes other options on to the runs, and hides secrets', async () => {
    const { study } = await read('sweep -t 5,10 -d 90s --fund-amount 0.5 --rpc http://user:pass@host:1/ --legacy', {
      STRESS_MNEMONIC: MNEMONIC,
      HOME: '/home/x',
      STRESS_QUIET: 'true',
      STRESS_CONFIG: '',
      STRESS_REST: '2s',
    });
    assert.deepEqual(study.env, {
      HOME: '/home/x',
      STRESS_DURATION: '90s',
      STRESS_FUND_AMOUNT: '0.5',
      STRESS_LEGACY: 'true',
      STRESS_RPC: 'http://user:pass@host:1/',
      STRESS_MNEMONIC: MNEMONIC,
      STRESS_WARMUP: 'auto',
    });
    const { rpc, ...others } = study.options;
    assert.deepEqual(others, { duration: '90s', 'fund-amount': '0.5', legacy: 'true', warmup: 'auto' });
    assert.doesNotMatch(rpc, /pass/);
  });

  it('takes a value that is given twice once', async () => {
    const { study } = await read('sweep -t 5,5 --rate 1,2 -d 1s');
    assert.deepEqual([study.axes.length, study.env.STRESS_THREADS], [1, '5']);
  });

  it('has an axis for each setting of the workload, if one of them has several values', async () => {
    const given = 'sweep -t 5 -d 1s --workload contention --set slots=1,16';
    const { study, workload } = await read(`${given},theta=0..1/0.5`);
    const { set } = workload;
    assert.deepEqual(study.axes, [
      { name: 'set.slots', values: ['1', '16'] },
      { name: 'set.theta', values: ['0', '0.5', '1'] },
    ]);
    assert.deepEqual(set, [
      ['slots', '1'],
      ['theta', '0'],
    ]);
    assert.equal(study.env.STRESS_SET, undefined);
    const alone = await read('sweep -t 5,6 -d 1s --workload contention --set slots=16,theta=2');
    assert.deepEqual([alone.study.axes.length, alone.study.env.STRESS_SET], [1, 'slots=16,theta=2']);
  });

  it('takes both values of a flag', async () => {
    const { study } = await read('sweep -t 5 --no-keep-alive false,true -d 1s');
    assert.deepEqual(study.axes, [{ name: 'no-keep-alive', values: ['false', 'true'] }]);
    assert.deepEqual((await read('sweep -t 5 --no-keep-alive=false,true -d 1s')).study.axes, study.axes);
  });

  it('warms up until the pipeline is full, unless told otherwise, or where the length of a run is another', async () => {
    const warmUpOf = async (/** @type {string} */ line, env = {}) => {
      const { load, study } = await read(line, env);
      return [load.warmupMs, study.env.STRESS_WARMUP];
    };
    const live = 'compare --rpc-a http://127.0.0.1:1 --rpc-b http://127.0.0.1:2 -t 5';
    for (const line of ['sweep -t 5,10 -d 1s', 'sweep -t 5 --find rate --until p99<1s -d 1s', `${live} -d 1s`])
      assert.deepEqual(await warmUpOf(line), ['auto', 'auto'], line);
    assert.deepEqual(await warmUpOf('sweep -t 5,10 -d 1s --warmup 0s'), [0, '0s']);
    assert.deepEqual(await warmUpOf('sweep -t 5,10 -d 1s', { STRESS_WARMUP: '2s' }), [2000, '2s']);
    for (const line of ['sweep -t 5,10 --iterations 3', 'sweep -t 5,10 --stages 0:9/1s', `${live} --iterations 3`])
      assert.deepEqual(await warmUpOf(line), [0, 'auto'], line);
    assert.equal((await read('-t 5 -d 1s')).load.warmupMs, 0, 'a run of its own has none');
  });

  it('compares files whatever the environment says of runs, and those runs that it makes', async () => {
    const { study } = await read('compare a.json --with b.json --metric p99 -q', { STRESS_DURATION: '5s' });
    assert.deepEqual(study.files, ['a.json']);
    const line = 'compare --rpc-a http://127.0.0.1:1 --rpc-b http://127.0.0.1:2 -t 5 -d 1s --rest 2s --dir x';
    assert.equal((await read(line)).study.restMs, 2000);
  });

  it('searches between two values, or from one', async () => {
    const { study } = await read('sweep --find rate --until p99<1s --rate 100..5000 -t 5 -d 1s');
    assert.deepEqual([study.bracket, study.axes], [{ from: '100', to: '5000' }, []]);
    assert.equal(study.env.STRESS_RATE, undefined);
  });

  /** @type {Array<[string, RegExp]>} */
  const table = [
    ['sweep -t 5,10', /^stress sweep needs the length of a run/],
    ['sweep -t 5 --duration 1s,2s', /^-d|^--duration|duration.* must be a duration/],
    ['sweep -t 5,10 -d 1s --find rate --until p99<1s', /varies one option only: give --threads one value/],
    ['sweep -t 5,5 -d 1s', /^-t \(--threads\) 5,5: the values are equal, and a sweep needs different ones$/],
    ['find --rate 100', /^--rate 100 is one rate: give a range, such as 100\.\.5000, or leave it out$/],
    ['find --time-limit 0s', /^--time-limit must be at least 1s, not "0s"$/],
    ['sweep -t 5 --rate 10..10 -d 1s', /^--rate 10\.\.10: the values are equal/],
    ['compare a.json --with b.json -d 1s', /^--duration is for new runs, and the runs of these files have ended/],
    ['compare a.json --with b.json --out c.json --repeat 3', /^--repeat is for new runs/],
    ['sweep -t 5,10 -d 1s --transport undici --no-keep-alive', /^--no-keep-alive needs an http:/],
    ['-t 5 --no-keep-alive false,true', /^--no-keep-alive must be/],
  ];
  for (const [line, words] of table) it(`refuses ${line}`, async () => assert.match(await refusal(line), words));
});
