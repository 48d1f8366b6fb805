import { UsageError } from '../errors.js';

/**
 * @import { Config } from '../run/config.js'
 * @import { Command } from './command-names.js'
 */

/**
 * What the options of instances say together with the others. See src/cli/checks.js.
 */

/** The last index of a wallet (BIP-32). */
const LAST_WALLET = 2 ** 31 - 1;

/** The slices of all instances must exist. @param {Config} config */
export function checkSlices({ firstOffset, threads, instances }) {
  const all = instances === null ? '' : `, --instances ${instances}`;
  if (firstOffset + (instances ?? 1) * threads - 1 > LAST_WALLET)
    throw new UsageError(
      `-o ${firstOffset}${all} and -t ${threads} go beyond wallet ${LAST_WALLET}, the last one there can be`,
    );
}

/** Of a run. @param {Config} config @param {number} nowMs */
export function checkInstance(config, nowMs) {
  const { index, runId, startAtMs, barrier, startTimeoutMs, results } = config;
  if (barrier !== null && startAtMs !== null)
    throw new UsageError('--barrier and --start-at exclude each other: both say when the load of all instances begins');
  if (barrier !== null && index === null)
    throw new UsageError('--barrier needs to know who waits for whom: --instances N, and --index I or a scheduler');
  if (barrier !== null && runId === null)
    throw new UsageError('--barrier needs a name that all instances of this run have in common: --run-id NAME');
  if (results !== null && index === null)
    throw new UsageError('--results names run files by their index: give --instances N, and --index I or a scheduler');
  if (startAtMs !== null && startAtMs - nowMs > startTimeoutMs)
    throw new UsageError(
      `--start-at is ${Math.round((startAtMs - nowMs) / 1000)} s from now, and --start-timeout waits for ${startTimeoutMs / 1000} s: raise it, or start later`,
    );
  if (index !== null) checkDistributed(config);
}

/** One of several, which know nothing of each other. @param {Config} config */
function checkDistributed({ index, instances, rpc, chainId, fundFrom }) {
  const what = instances === 1 ? 'this is one of the instances of a run' : `this is instance ${index} of several`;
  if (rpc.length === 0)
    throw new UsageError(`${what}, which share a chain, and an embedded one belongs to one: --rpc URL`);
  if (chainId === null)
    throw new UsageError(
      `${what}, and none may end up on another chain: --chain-id N, checked before anything is sent`,
    );
  // The only one has the funder for itself.
  if (fundFrom !== null && instances !== 1)
    throw new UsageError(
      `${what}, and all would pay with the same nonces of the funder: leave out --fund-from (STRESS_FUNDER_KEY), and fund all wallets before: stress fund --instances N, with the same --duration`,
    );
}
