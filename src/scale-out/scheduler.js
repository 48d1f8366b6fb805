import { UsageError, oneLine } from '../errors.js';

/** @import { Scheduler } from '../types.d.ts' */

/**
 * Which instance of a run this is: as --index says, or as the scheduler that started it numbers it. The variables of a
 * scheduler are read only for --index auto, because a plain batch script has them, too.
 *
 * @typedef {object} Given
 * @property {number | 'auto' | null} index
 * @property {number | null} instances
 * @property {number | null} attempt
 * @property {string | null} runId
 *
 * @typedef {object} Instance
 * @property {number | null} index null: a single instance
 * @property {number | null} instances
 * @property {number} attempt
 * @property {string | null} runId
 * @property {Scheduler | null} scheduler null: the user numbered the instances
 *
 * @typedef {{scheduler: Scheduler, variable: string, index: number, count: number | null}} Place variable: source of the
 *   index
 */

/** The other way, for messages. */
const BY_HAND = 'or give --index I --instances N';

/** @param {Given} given @param {NodeJS.ProcessEnv} env @returns {Instance} @throws {UsageError} */
export function instanceOf({ index, instances, attempt, runId }, env) {
  if (index === null && instances === null) {
    if (attempt !== null)
      throw new UsageError(`--attempt ${attempt} says how often an index was started before: give --index, too`);
    return { index, instances, attempt: 0, runId, scheduler: null };
  }
  if (typeof index === 'number') {
    if (instances === null) throw new UsageError(`--index ${index} needs to know of how many: --instances N`);
    checkRange(`--index ${index}`, index, instances, '--instances');
    return { index, instances, attempt: attempt ?? 0, runId, scheduler: null };
  }
  const { scheduler, variable, count, ...place } = placeOf(env);
  if (instances !== null && count !== null && instances !== count)
    throw new UsageError(
      `--instances ${instances} contradicts Slurm, which has started ${count}: leave it out, ${BY_HAND}`,
    );
  const all = instances ?? count;
  if (all === null)
    throw new UsageError('Kubernetes does not say how many instances there are: give --instances N, its completions');
  checkRange(`${variable}=${place.index}`, place.index, all, 'the number of instances,');
  if (scheduler === 'kubernetes') return { ...place, instances: all, scheduler, attempt: attempt ?? 0, runId };
  const job = numberIn(env, 'SLURM_ARRAY_JOB_ID') ?? numberIn(env, 'SLURM_JOB_ID');
  return {
    ...place,
    instances: all,
    scheduler,
    attempt: attempt ?? numberIn(env, 'SLURM_RESTART_COUNT') ?? 0,
    runId: runId ?? (job === null ? null : `slurm-${job}`),
  };
}

/** @param {NodeJS.ProcessEnv} env @returns {Place} */
function placeOf(env) {
  const [pod, task, process] = ['JOB_COMPLETION_INDEX', 'SLURM_ARRAY_TASK_ID', 'SLURM_PROCID'].map((name) =>
    // An empty variable counts as missing.
    env[name] ? name : null,
  );
  const ofSlurm = task ?? process;
  if (pod !== null && ofSlurm !== null)
    throw new UsageError(
      `--index auto finds an index of Kubernetes (${pod}) and one of Slurm (${ofSlurm}): unset one of them, ${BY_HAND}`,
    );
  if (pod !== null) return { scheduler: 'kubernetes', variable: pod, index: present(env, pod), count: null };
  if (task !== null) return { scheduler: 'slurm-array', variable: task, ...placeInArray(env, present(env, task)) };
  if (process !== null)
    return { scheduler: 'slurm-gang', variable: process, index: present(env, process), count: gangSize(env) };
  throw new UsageError(
    `--index auto finds no index: there is no JOB_COMPLETION_INDEX (an Indexed Job of Kubernetes), no SLURM_ARRAY_TASK_ID and no SLURM_PROCID (sbatch --array, srun); start it by one of them, ${BY_HAND}`,
  );
}

/** @param {NodeJS.ProcessEnv} env @param {number} index */
function placeInArray(env, index) {
  const [count, min, max] = ['COUNT', 'MIN', 'MAX'].map((name) => present(env, `SLURM_ARRAY_TASK_${name}`));
  // A step leaves gaps, too.
  if (min !== 0 || max !== count - 1)
    throw new UsageError(
      `the array has ${count} tasks from ${min} to ${max}, and indexes have no gaps and begin at 0: sbatch --array=0-${count - 1}, ${BY_HAND}`,
    );
  const tasks = numberIn(env, 'SLURM_STEP_NUM_TASKS') ?? 1;
  if (tasks > 1)
    throw new UsageError(
      `srun starts ${tasks} tasks in each element of the array, and all of them would be index ${index}: take an array of single tasks, or a gang without an array (unless the job was submitted from inside another one), ${BY_HAND}`,
    );
  return { index, count };
}

/** @param {NodeJS.ProcessEnv} env */
function gangSize(env) {
  const count = present(env, 'SLURM_NTASKS');
  const isStep = Boolean(env.SLURM_STEP_ID);
  if (count > 1 && !isStep)
    throw new UsageError(
      `Slurm has room for ${count} tasks, and the batch script has started one of them: start stress by srun, ${BY_HAND}`,
    );
  const inStep = numberIn(env, 'SLURM_STEP_NUM_TASKS');
  if (isStep && inStep !== null && inStep !== count)
    throw new UsageError(
      `SLURM_NTASKS is ${count} and SLURM_STEP_NUM_TASKS ${inStep}: how many tasks did srun start? Give it -n, ${BY_HAND}`,
    );
  return count;
}

/** @param {string} label @param {number} index @param {number} instances @param {string} of */
function checkRange(label, index, instances, of) {
  if (index >= instances)
    throw new UsageError(`${label} is not below ${of} ${instances}: indexes go from 0 to ${instances - 1}`);
}

/** @param {NodeJS.ProcessEnv} env @param {string} name @returns {number | null} */
function numberIn(env, name) {
  const text = env[name] ?? '';
  if (text === '') return null;
  if (!/^\d{1,10}$/.test(text))
    throw new UsageError(`${name} must be a whole number, not ${JSON.stringify(oneLine(text, 60))}: ${BY_HAND}`);
  return Number(text);
}

/** @param {NodeJS.ProcessEnv} env @param {string} name @returns {number} */
function present(env, name) {
  const value = numberIn(env, name);
  if (value === null)
    throw new UsageError(`--index auto finds no ${name}, which Slurm sets: start it by Slurm, ${BY_HAND}`);
  return value;
}
