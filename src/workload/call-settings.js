import { UsageError } from '../errors.js';
import { readCalls } from './calls-file.js';
import { readDataSet } from './dataset.js';

/**
 * @import { InputError } from '../errors.js'
 * @import { CallPlan } from './calls-file.js'
 * @import { DataSet } from './dataset.js'
 * @import { Settings } from './index.js'
 */

/**
 * What --calls, --data and --check-rpc say together. It is read before anything is started.
 *
 * @param {Pick<Settings, 'data' | 'checkRpc'> & {calls: string}} settings
 * @returns {Promise<{plan: CallPlan, data: DataSet | null}>}
 * @throws {UsageError | InputError}
 */
export async function readCallSettings({ calls, data = null, checkRpc = null }) {
  const plan = await readCalls(calls);
  const { source, kinds, needs } = plan;
  if (needs.has('data') && data === null)
    throw new UsageError(`${source.name} lists a data set: give --data FILE, which stress prepare logs writes`);
  if (!needs.has('data') && data !== null)
    throw new UsageError(`--data is for calls with {{data...}} or {{page...}} in them, and ${source.name} has none`);
  const isCompared = kinds.some(({ check }) => check === 'same');
  if (isCompared && checkRpc === null && !source.isPreset)
    throw new UsageError(
      `${source.name} holds answers against a second endpoint ("check": "same"): give --check-rpc URL`,
    );
  if (!isCompared && checkRpc !== null)
    throw new UsageError(`--check-rpc is for calls with "check": "same", and ${source.name} has none`);
  return { plan, data: data === null ? null : readDataSet(data) };
}
