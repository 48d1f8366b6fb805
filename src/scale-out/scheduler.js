import { UsageError, oneLine } from '../errors.js';

/** @import { Scheduler } from '../contracts/load.d.ts' */

/**
 * Which instance of a run this is: as --index says, or as the scheduler that started it numbers it. The variables of a
 * scheduler are read only for --index auto, because a plain batch script has them, too.
 *
 * @typedef {object} InstanceOptions
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
 */

/**
 * The variables that have the index, the count and the job; an array of Slurm sets those of a gang, too.
 * @type {ReadonlyArray<[scheduler: Scheduler, of: string, index: string, count: string, job: string]>}
 */
const SCHEDULERS = Object.freeze([
  ['kubernetes', 'Kubernetes', 'JOB_COMPLETION_INDEX', '', ''],
  ['slurm-array', 'Slurm', 'SLURM_ARRAY_TASK_ID', 'SLURM_ARRAY_TASK_COUNT', 'SLURM_ARRAY_JOB_ID'],
  ['slurm-gang', 'Slurm', 'SLURM_PROCID', 'SLURM_NTASKS', 'SLURM_JOB_ID'],
]);

/** The other way, for messages. */
const BY_HAND = 'or give --index I --instances N';

/** @param {InstanceOptions} given @param {NodeJS.ProcessEnv} env @returns {Instance} @throws {UsageError} */
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
  const [scheduler, of, variable, ofCount, ofJob] = schedulerOf(env);
  const [place, count, job] = [numberIn(env, variable) ?? 0, numberIn(env, ofCount), numberIn(env, ofJob)];
  if (instances !== null && count !== null && instances !== count)
    throw new UsageError(
      `--instances ${instances} contradicts ${of}, which has started ${count}: leave it out, ${BY_HAND}`,
    );
  const all = instances ?? count;
  if (all === null) throw new UsageError(`${of} does not say how many instances there are: give --instances N`);
  if (scheduler === 'slurm-array') checkArray(env, all);
  checkRange(`${variable}=${place}`, place, all, 'the number of instances,');
  const restarts = of === 'Slurm' ? numberIn(env, 'SLURM_RESTART_COUNT') : null;
  return {
    index: place,
    instances: all,
    attempt: attempt ?? restarts ?? 0,
    runId: runId ?? (job === null ? null : `slurm-${job}`),
    scheduler,
  };
}

/** @param {NodeJS.ProcessEnv} env */
function schedulerOf(env) {
  // An empty variable counts as missing.
  const [row, other] = SCHEDULERS.filter(([, , index]) => Boolean(env[index]));
  if (row === undefined)
    throw new UsageError(
      `--index auto finds no index: there is no JOB_COMPLETION_INDEX (an Indexed Job of Kubernetes), no SLURM_ARRAY_TASK_ID and no SLURM_PROCID (sbatch --array, srun); start it by one of them, ${BY_HAND}`,
    );
  if (other !== undefined && other[1] !== row[1])
    throw new UsageError(
      `--index auto finds an index of ${row[1]} (${row[2]}) and one of ${other[1]} (${other[2]}): unset one of them, ${BY_HAND}`,
    );
  return row;
}

/** @param {NodeJS.ProcessEnv} env @param {number} count */
function checkArray(env, count) {
  const [min, max] = [numberIn(env, 'SLURM_ARRAY_TASK_MIN') ?? 0, numberIn(env, 'SLURM_ARRAY_TASK_MAX') ?? count - 1];
  // A step leaves gaps, too.
  if (min !== 0 || max !== count - 1)
    throw new UsageError(
      `the array has ${count} tasks from ${min} to ${max}, and indexes have no gaps and begin at 0: sbatch --array=0-${count - 1}, ${BY_HAND}`,
    );
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
