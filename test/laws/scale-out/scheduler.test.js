import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { instanceOf } from '../../../src/scale-out/scheduler.js';

/** @import { InstanceOptions } from '../../../src/scale-out/scheduler.js' */

const NOTHING = Object.freeze({ index: null, instances: null, attempt: null, runId: null });

/** As Slurm 22.05 sets them in the third of four elements. */
const ARRAY = Object.freeze({
  ...{ SLURM_JOB_ID: '14', SLURM_ARRAY_JOB_ID: '11', SLURM_PROCID: '0', SLURM_ARRAY_TASK_ID: '2' },
  ...{ SLURM_ARRAY_TASK_COUNT: '4', SLURM_ARRAY_TASK_MIN: '0', SLURM_ARRAY_TASK_MAX: '3', SLURM_ARRAY_TASK_STEP: '1' },
});
const REQUEUED = { ...ARRAY, SLURM_RESTART_COUNT: '2' };
/** An element that has room for several tasks, and starts one. */
const ROOMY = { ...ARRAY, SLURM_NTASKS: '4', SLURM_STEP_ID: '0', SLURM_STEP_NUM_TASKS: '1' };
/** In the second of three tasks of srun. */
const GANG = Object.freeze({
  ...{ SLURM_JOB_ID: '20', SLURM_PROCID: '1', SLURM_NTASKS: '3', SLURM_STEP_ID: '0', SLURM_STEP_NUM_TASKS: '3' },
});
const GANG_OF_ONE = { SLURM_JOB_ID: '20', SLURM_PROCID: '0', SLURM_NTASKS: '1' };
const EMPTY = { JOB_COMPLETION_INDEX: '', SLURM_ARRAY_TASK_ID: '', SLURM_RESTART_COUNT: '' };
const POD = Object.freeze({ JOB_COMPLETION_INDEX: '3', KUBERNETES_SERVICE_HOST: '10.0.0.1' });
const POD_BESIDE_SLURM = { ...POD, SLURM_JOB_ID: '5', SLURM_RESTART_COUNT: '9' };
const AUTO = Object.freeze({ index: /** @type {const} */ ('auto') });

describe('instanceOf()', () => {
  /** Index, instances, attempt, run id and scheduler. @type {Array<[string, Partial<InstanceOptions>, NodeJS.ProcessEnv, unknown[]]>} */
  const table = [
    ['nothing given: none is asked', {}, { ...ARRAY, ...POD }, [null, null, 0, null, null]],
    ['a run id alone', { runId: 'a' }, ARRAY, [null, null, 0, 'a', null]],
    ['an index by hand', { index: 3, instances: 4 }, { ...REQUEUED, ...POD }, [3, 4, 0, null, null]],
    ['an attempt by hand', { index: 0, instances: 1, attempt: 2 }, {}, [0, 1, 2, null, null]],
    ['Kubernetes', { instances: 4 }, POD, [3, 4, 0, null, 'kubernetes']],
    ['all given', { ...AUTO, instances: 4, attempt: 1, runId: 'a' }, POD_BESIDE_SLURM, [3, 4, 1, 'a', 'kubernetes']],
    ['an array, which also sets SLURM_PROCID=0', AUTO, ARRAY, [2, 4, 0, 'slurm-11', 'slurm-array']],
    ['the same with its count', { instances: 4 }, ARRAY, [2, 4, 0, 'slurm-11', 'slurm-array']],
    ['after a requeue', AUTO, REQUEUED, [2, 4, 2, 'slurm-11', 'slurm-array']],
    ['given before Slurm', { ...AUTO, attempt: 5, runId: 'mine' }, REQUEUED, [2, 4, 5, 'mine', 'slurm-array']],
    ['an element with one of several tasks', AUTO, ROOMY, [2, 4, 0, 'slurm-11', 'slurm-array']],
    ['a gang of Slurm', AUTO, GANG, [1, 3, 0, 'slurm-20', 'slurm-gang']],
    ['a gang of one, without srun', AUTO, GANG_OF_ONE, [0, 1, 0, 'slurm-20', 'slurm-gang']],
    ['empty variables are as good as none', AUTO, { ...GANG, ...EMPTY }, [1, 3, 0, 'slurm-20', 'slurm-gang']],
  ];
  for (const [name, given, env, [index, instances, attempt, runId, scheduler]] of table) {
    it(name, () =>
      assert.deepEqual(instanceOf({ ...NOTHING, ...given }, env), { index, instances, attempt, runId, scheduler }),
    );
  }

  /** @param {Record<string, string | undefined>} given */
  const array = (given) => ({ ...ARRAY, ...given });
  const fromOne = array({ SLURM_ARRAY_TASK_MIN: '1', SLURM_ARRAY_TASK_MAX: '4' });
  const withStep = array({ SLURM_ARRAY_TASK_MAX: '6', SLURM_ARRAY_TASK_STEP: '2' });
  const withGap = array({ SLURM_ARRAY_TASK_ID: '1', SLURM_ARRAY_TASK_COUNT: '3' });
  const uncounted = array({ SLURM_ARRAY_TASK_COUNT: undefined });
  const SALLOC = { SLURM_JOB_ID: '1', SLURM_NTASKS: '4' };
  const unsaid = /^Slurm does not say how many instances there are: give --instances N$/;

  /** @type {Array<[string, Partial<InstanceOptions>, NodeJS.ProcessEnv, RegExp]>} */
  const refusals = [
    ['no scheduler', { instances: 4 }, {}, /^--index auto finds no index: there is no JOB_COMPLETION_INDEX .*--index/],
    ['salloc without srun', AUTO, SALLOC, /no index: .*no SLURM_PROCID \(sbatch --arr/],
    ['an index of an unknown count', { index: 3 }, {}, /^--index 3 needs to know of how many: --instances N$/],
    ['an index out of range', { index: 4, instances: 4 }, {}, /^--index 4 is not below --instances 4: .* from 0 to 3$/],
    ['Kubernetes without a count', AUTO, POD, /^Kubernetes does not say how many .*: give --instances N/],
    ['an array without a count', AUTO, uncounted, unsaid],
    ['more completions', { instances: 3 }, POD, /^JOB_COMPLETION_INDEX=3 is not below .*, 3: .* 0 to 2$/],
    ['both schedulers', { instances: 4 }, { ...POD, ...GANG }, /\(JOB_COMPLETION_INDEX\) .*\(SLURM_PROCID\)/],
    ['an array from 1 on', AUTO, fromOne, /^the array has 4 tasks from 1 to 4, and .* at 0: sbatch --array=0-3, or /],
    ['an array with a step', AUTO, withStep, /^the array has 4 tasks from 0 to 6, /],
    ['an array with a gap', AUTO, withGap, /^the array has 3 tasks from 0 to 3, .*: sbatch --array=0-2, or /],
    ['a plain batch script', AUTO, { SLURM_JOB_ID: '9', SLURM_PROCID: '0' }, unsaid],
    ['a gang out of range', AUTO, { ...GANG, SLURM_PROCID: '3' }, /^SLURM_PROCID=3 is not below the numb/],
    ['another count than an array', { instances: 5 }, ARRAY, /^--instances 5 contradicts Slurm, which has started 4: /],
    ['another count than a gang', { instances: 2 }, GANG, /^--instances 2 contradicts Slurm, which has started 3: /],
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
        env === POD ? { instances: 4 } : AUTO,
        { ...env, [variable]: text },
        new RegExp(`^${variable} must be a whole number, not "`),
      ]);
  for (const [name, given, env, message] of refusals) {
    it(`refuses ${name}`, () =>
      assert.throws(() => instanceOf({ ...NOTHING, ...given }, env), { name: 'UsageError', message }));
  }
});
