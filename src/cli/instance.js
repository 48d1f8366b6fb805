import { UsageError } from '../errors.js';
import { quote } from './parse.js';

/** @import { Scheduler } from '../types.d.ts' */

/**
 * Which instance of a run this is: as --index says, or as the scheduler that started it numbers it. No variable of a
 * scheduler is read unless that was asked for: a plain batch script has them, too.
 *
 * @typedef {object} Given
 * @property {number | 'auto' | null} index
 * @property {number | null} instances
 * @property {number | null} attempt
 * @property {string | null} runId
 *
 * @typedef {object} Instance
 * @property {number | null} index null where it is the only one, or knows of no others
 * @property {number | null} instances
 * @property {number} attempt
 * @property {string | null} runId
 * @property {Scheduler | null} scheduler null where the user numbered the instances
 *
 * @typedef {object} Place what a scheduler says
 * @property {Scheduler} scheduler
 * @property {number} index
 * @property {string} variable that the index is from
 * @property {number | null} count of instances
 */

/** What to do where a scheduler's numbers cannot be used. */
const BY_HAND = 'or give --index I --instances N';

/**
 * @param {Given} given
 * @param {NodeJS.ProcessEnv} env
 * @returns {Instance}
 * @throws {UsageError}
 */
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
  const place = placeOf(env);
  const { scheduler, variable, count } = place;
  if (instances !== null && count !== null && instances !== count)
    throw new UsageError(
      `--instances ${instances} contradicts Slurm, which has started ${count}: leave it out, ${BY_HAND}`,
    );
  const all = instances ?? count;
  if (all === null)
    throw new UsageError('Kubernetes does not say how many instances there are: give --instances N, its completions');
  checkRange(`${variable}=${place.index}`, place.index, all, 'the number of instances,');
  const isSlurm = scheduler !== 'kubernetes';
  return {
    index: place.index,
    instances: all,
    scheduler,
    attempt: attempt ?? (isSlurm ? (numberIn(env, 'SLURM_RESTART_COUNT') ?? 0) : 0),
    runId: runId ?? (isSlurm ? jobName(env) : null),
  };
}

/** @param {NodeJS.ProcessEnv} env @returns {Place} */
function placeOf(env) {
  const isArray = isThere(env, 'SLURM_ARRAY_TASK_ID');
  const isSlurm = isArray || isThere(env, 'SLURM_PROCID');
  if (isThere(env, 'JOB_COMPLETION_INDEX')) {
    if (isSlurm)
      throw new UsageError(
        `--index auto finds an index of Kubernetes (JOB_COMPLETION_INDEX) and one of Slurm (${isArray ? 'SLURM_ARRAY_TASK_ID' : 'SLURM_PROCID'}): unset one of them, ${BY_HAND}`,
      );
    const variable = 'JOB_COMPLETION_INDEX';
    return { scheduler: 'kubernetes', index: present(env, variable), variable, count: null };
  }
  if (isSlurm) return isArray ? placeInArray(env) : placeInGang(env);
  throw new UsageError(
    `--index auto finds no index: there is no JOB_COMPLETION_INDEX (an Indexed Job of Kubernetes), no SLURM_ARRAY_TASK_ID and no SLURM_PROCID (sbatch --array, srun); start it by one of them, ${BY_HAND}`,
  );
}

/** @param {NodeJS.ProcessEnv} env @returns {Place} */
function placeInArray(env) {
  const variable = 'SLURM_ARRAY_TASK_ID';
  const index = present(env, variable);
  const count = present(env, 'SLURM_ARRAY_TASK_COUNT');
  const [min, max] = [present(env, 'SLURM_ARRAY_TASK_MIN'), present(env, 'SLURM_ARRAY_TASK_MAX')];
  const wanted = `sbatch --array=0-${count - 1}`;
  if (min !== 0) throw new UsageError(`the array begins at ${min}, and indexes at 0: ${wanted}, ${BY_HAND}`);
  if ((numberIn(env, 'SLURM_ARRAY_TASK_STEP') ?? 1) !== 1 || max !== count - 1)
    throw new UsageError(`the array has gaps, ${count} tasks from ${min} to ${max}: ${wanted}, ${BY_HAND}`);
  const tasks = numberIn(env, 'SLURM_STEP_NUM_TASKS') ?? 1;
  if (tasks > 1)
    throw new UsageError(
      `srun starts ${tasks} tasks in each element of the array, and all of them would be index ${index}: take an array of single tasks, or a gang without an array (unless the job was submitted from inside another one), ${BY_HAND}`,
    );
  return { scheduler: 'slurm-array', index, variable, count };
}

/** @param {NodeJS.ProcessEnv} env @returns {Place} */
function placeInGang(env) {
  const variable = 'SLURM_PROCID';
  const index = present(env, variable);
  const count = present(env, 'SLURM_NTASKS');
  const isStep = isThere(env, 'SLURM_STEP_ID');
  if (count > 1 && !isStep)
    throw new UsageError(
      `Slurm has room for ${count} tasks, and the batch script has started one of them: start stress by srun, ${BY_HAND}`,
    );
  const inStep = numberIn(env, 'SLURM_STEP_NUM_TASKS');
  if (isStep && inStep !== null && inStep !== count)
    throw new UsageError(
      `SLURM_NTASKS is ${count} and SLURM_STEP_NUM_TASKS ${inStep}: how many tasks did srun start? Give it -n, ${BY_HAND}`,
    );
  return { scheduler: 'slurm-gang', index, variable, count };
}

/** What Slurm calls the job, an array as a whole. @param {NodeJS.ProcessEnv} env */
function jobName(env) {
  const job = numberIn(env, 'SLURM_ARRAY_JOB_ID') ?? numberIn(env, 'SLURM_JOB_ID');
  return job === null ? null : `slurm-${job}`;
}

/** @param {string} label @param {number} index @param {number} instances @param {string} of */
function checkRange(label, index, instances, of) {
  if (index >= instances)
    throw new UsageError(`${label} is not below ${of} ${instances}: indexes go from 0 to ${instances - 1}`);
}

/** An empty variable is as good as none. @param {NodeJS.ProcessEnv} env @param {string} name */
function isThere(env, name) {
  return (env[name] ?? '') !== '';
}

/** @param {NodeJS.ProcessEnv} env @param {string} name @returns {number | null} */
function numberIn(env, name) {
  const text = env[name] ?? '';
  if (text === '') return null;
  if (!/^\d{1,10}$/.test(text)) throw new UsageError(`${name} must be a whole number, not ${quote(text)}: ${BY_HAND}`);
  return Number(text);
}

/** @param {NodeJS.ProcessEnv} env @param {string} name @returns {number} */
function present(env, name) {
  const value = numberIn(env, name);
  if (value === null)
    throw new UsageError(`--index auto finds no ${name}, which Slurm sets: start it by Slurm, ${BY_HAND}`);
  return value;
}
