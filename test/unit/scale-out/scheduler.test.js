import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { instanceOf } from '../../../src/scale-out/scheduler.js';

/** @import { Given } from '../../../src/scale-out/scheduler.js' */

const NOTHING = Object.freeze({ index: null, instances: null, attempt: null, runId: null });

/** As Slurm 22.05 sets them in the third of four elements. */
const ARRAY = Object.freeze({
  SLURM_JOB_ID: '14',
  SLURM_ARRAY_JOB_ID: '11',
  SLURM_PROCID: '0',
  SLURM_ARRAY_TASK_ID: '2',
  SLURM_ARRAY_TASK_COUNT: '4',
  SLURM_ARRAY_TASK_MIN: '0',
  SLURM_ARRAY_TASK_MAX: '3',
  SLURM_ARRAY_TASK_STEP: '1',
});
/** In the second of three tasks of srun. */
const GANG = Object.freeze({
  SLURM_JOB_ID: '20',
  SLURM_PROCID: '1',
  SLURM_NTASKS: '3',
  SLURM_STEP_ID: '0',
  SLURM_STEP_NUM_TASKS: '3',
});
const POD = Object.freeze({ JOB_COMPLETION_INDEX: '3', KUBERNETES_SERVICE_HOST: '10.0.0.1' });

describe('instanceOf()', () => {
  /** @type {Array<[string, Partial<Given>, NodeJS.ProcessEnv, object]>} */
  const table = [
    ['nothing given: no scheduler is asked', {}, { ...ARRAY, ...POD }, { attempt: 0, scheduler: null }],
    ['a run id alone', { runId: 'a' }, ARRAY, { attempt: 0, runId: 'a', scheduler: null }],
    [
      'an index by hand: no scheduler is asked',
      { index: 3, instances: 4 },
      { ...ARRAY, ...POD, SLURM_RESTART_COUNT: '7' },
      { index: 3, instances: 4, attempt: 0, scheduler: null },
    ],
    [
      'an attempt by hand',
      { index: 0, instances: 1, attempt: 2 },
      {},
      { index: 0, instances: 1, attempt: 2, scheduler: null },
    ],
    ['Kubernetes', { instances: 4 }, POD, { index: 3, instances: 4, attempt: 0, scheduler: 'kubernetes' }],
    [
      'Kubernetes, auto said, with all that is given',
      { index: 'auto', instances: 4, attempt: 1, runId: 'a' },
      { ...POD, SLURM_JOB_ID: '5', SLURM_RESTART_COUNT: '9' },
      { index: 3, instances: 4, attempt: 1, runId: 'a', scheduler: 'kubernetes' },
    ],
    [
      'an array of Slurm, which also sets SLURM_PROCID=0',
      { index: 'auto' },
      ARRAY,
      { index: 2, instances: 4, attempt: 0, runId: 'slurm-11', scheduler: 'slurm-array' },
    ],
    [
      'the same, whose count is given as well',
      { instances: 4 },
      ARRAY,
      { index: 2, instances: 4, attempt: 0, runId: 'slurm-11', scheduler: 'slurm-array' },
    ],
    [
      'after a requeue',
      { index: 'auto' },
      { ...ARRAY, SLURM_RESTART_COUNT: '2' },
      { index: 2, instances: 4, attempt: 2, runId: 'slurm-11', scheduler: 'slurm-array' },
    ],
    [
      'what is given goes before what Slurm says',
      { index: 'auto', attempt: 5, runId: 'mine' },
      { ...ARRAY, SLURM_RESTART_COUNT: '2' },
      { index: 2, instances: 4, attempt: 5, runId: 'mine', scheduler: 'slurm-array' },
    ],
    [
      'an element of an array that has room for several tasks, and starts one',
      { index: 'auto' },
      { ...ARRAY, SLURM_NTASKS: '4', SLURM_STEP_ID: '0', SLURM_STEP_NUM_TASKS: '1' },
      { index: 2, instances: 4, attempt: 0, runId: 'slurm-11', scheduler: 'slurm-array' },
    ],
    [
      'a gang of Slurm',
      { index: 'auto' },
      GANG,
      { index: 1, instances: 3, attempt: 0, runId: 'slurm-20', scheduler: 'slurm-gang' },
    ],
    [
      'a gang of one, without srun',
      { index: 'auto' },
      { SLURM_JOB_ID: '20', SLURM_PROCID: '0', SLURM_NTASKS: '1' },
      { index: 0, instances: 1, attempt: 0, runId: 'slurm-20', scheduler: 'slurm-gang' },
    ],
    [
      'an empty variable is as good as none',
      { index: 'auto' },
      { ...GANG, JOB_COMPLETION_INDEX: '', SLURM_ARRAY_TASK_ID: '', SLURM_RESTART_COUNT: '' },
      { index: 1, instances: 3, attempt: 0, runId: 'slurm-20', scheduler: 'slurm-gang' },
    ],
  ];
  for (const [name, given, env, expected] of table) {
    it(name, () => {
      const nothing = { index: null, instances: null, runId: null };
      assert.deepEqual(instanceOf({ ...NOTHING, ...given }, env), { ...nothing, ...expected });
    });
  }

  /** @type {Array<[string, Partial<Given>, NodeJS.ProcessEnv, RegExp]>} */
  const refusals = [
    [
      'no scheduler',
      { instances: 4 },
      {},
      /^--index auto finds no index: there is no JOB_COMPLETION_INDEX .*--index I/,
    ],
    [
      'salloc without srun',
      { index: 'auto' },
      { SLURM_JOB_ID: '1', SLURM_NTASKS: '4' },
      /finds no index: .*no SLURM_PROCID \(sbatch --array, srun\)/,
    ],
    ['an index of an unknown count', { index: 3 }, {}, /^--index 3 needs to know of how many: --instances N$/],
    [
      'an index out of range',
      { index: 4, instances: 4 },
      {},
      /^--index 4 is not below --instances 4: indexes go from 0 to 3$/,
    ],
    ['Kubernetes without a count', { index: 'auto' }, POD, /^Kubernetes does not say how many .*: give --instances N/],
    [
      'an array without a count',
      { index: 'auto' },
      { ...ARRAY, SLURM_ARRAY_TASK_COUNT: undefined },
      /^Slurm does not say how many .*: give --instances N$/,
    ],
    [
      'more completions than instances',
      { instances: 3 },
      POD,
      /^JOB_COMPLETION_INDEX=3 is not below the number of instances, 3: indexes go from 0 to 2$/,
    ],
    ['both schedulers', { instances: 4 }, { ...POD, ...GANG }, /\(JOB_COMPLETION_INDEX\) .*\(SLURM_PROCID\)/],
    [
      'an array that begins at 1',
      { index: 'auto' },
      { ...ARRAY, SLURM_ARRAY_TASK_MIN: '1', SLURM_ARRAY_TASK_MAX: '4' },
      /^the array has 4 tasks from 1 to 4, and indexes .* begin at 0: sbatch --array=0-3, or /,
    ],
    [
      'an array with a step',
      { index: 'auto' },
      { ...ARRAY, SLURM_ARRAY_TASK_MAX: '6', SLURM_ARRAY_TASK_STEP: '2' },
      /^the array has 4 tasks from 0 to 6, /,
    ],
    [
      'an array with a gap, whose step is 1',
      { index: 'auto' },
      { ...ARRAY, SLURM_ARRAY_TASK_ID: '1', SLURM_ARRAY_TASK_COUNT: '3' },
      /^the array has 3 tasks from 0 to 3, .*: sbatch --array=0-2, or /,
    ],
    [
      'a plain batch script',
      { index: 'auto' },
      { SLURM_JOB_ID: '9', SLURM_PROCID: '0' },
      /^Slurm does not say how many instances there are: give --instances N$/,
    ],
    ['a gang out of range', { index: 'auto' }, { ...GANG, SLURM_PROCID: '3' }, /^SLURM_PROCID=3 is not below the numb/],
    [
      'a count that contradicts an array',
      { instances: 5 },
      ARRAY,
      /^--instances 5 contradicts Slurm, which has started 4: /,
    ],
    [
      'a count that contradicts a gang',
      { instances: 2 },
      GANG,
      /^--instances 2 contradicts Slurm, which has started 3: /,
    ],
  ];
  for (const text of ['-1', '1e1', '99999999999'])
    for (const [variable, env] of /** @type {Array<[string, NodeJS.ProcessEnv]>} */ ([
      ['JOB_COMPLETION_INDEX', POD],
      ['SLURM_ARRAY_TASK_ID', ARRAY],
      ['SLURM_PROCID', GANG],
      ['SLURM_NTASKS', GANG],
      ['SLURM_ARRAY_TASK_MIN', ARRAY],
      ['SLURM_ARRAY_TASK_MAX', ARRAY],
      ['SLURM_RESTART_COUNT', ARRAY],
    ]))
      refusals.push([
        `${variable}=${JSON.stringify(text)}`,
        env === POD ? { instances: 4 } : { index: 'auto' },
        { ...env, [variable]: text },
        new RegExp(`^${variable} must be a whole number, not "`),
      ]);
  for (const [name, given, env, message] of refusals) {
    it(`refuses ${name}`, () => {
      assert.throws(() => instanceOf({ ...NOTHING, ...given }, env), { name: 'UsageError', message });
    });
  }
});
