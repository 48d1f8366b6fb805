/** The machine, the chain and the instance of a run, for its run file. */
import { availableParallelism, cpus, hostname, release, totalmem } from 'node:os';
import { chooseTransport } from '../transport/index.js';

/**
 * @import { Chosen, Config, InstanceFacts, Rpc, Sender } from '../types.d.ts'
 * @import { StartFacts } from './common-start.js'
 * @import { Ready } from './setup.js'
 */

/**
 * The environment of a run, for the run file.
 * @param {object} parts
 * @param {string} parts.version
 * @param {Ready['chain']} parts.chain
 * @param {Pick<Rpc, 'display'>} parts.rpc
 * @param {Array<{display: string, clientVersion: string | null}>} parts.endpoints several endpoints only
 * @param {Sender | null} parts.sender null: plain calls
 * @param {Record<string, unknown>} parts.facts of the workload
 * @param {Config} parts.config
 * @param {Chosen | null} parts.inclusion null: plain calls
 * @param {boolean} parts.embedded
 */
export function describeEnvironment({ version, chain, rpc, endpoints, sender, config, inclusion, facts, embedded }) {
  return {
    stress: version,
    node: process.version,
    platform: `${process.platform} ${process.arch} ${release()}`,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    endpoint: endpoints[0]?.display ?? rpc.display,
    endpoints,
    embeddedChain: embedded,
    clientVersion: chain.clientVersion,
    roundTripMs: chain.roundTripMs ?? null,
    chainId: chain.chainId,
    genesisHash: chain.genesisHash ?? null,
    blockGasLimit: chain.blockGasLimit ?? null,
    feeMode: sender?.fees.mode ?? null,
    signer: sender?.signer.name ?? null,
    transport: {
      name: transportsOf(config),
      why: config.transport === 'auto' ? whyTransport(config.rpc) : 'asked for with --transport',
      connections: config.connections,
      keepAlive: !config.noKeepAlive,
    },
    inclusion,
    workload: facts,
  };
}

/** Why `--transport auto` chose its transport. @param {readonly URL[]} urls */
function whyTransport(urls) {
  const schemes = [...new Set(urls.map(({ protocol }) => `${protocol}//`))];
  return schemes.length === 0 ? 'the embedded chain speaks http://' : `the endpoint speaks ${schemes.join(' and ')}`;
}

/** Names of the transports of all endpoints. @param {Pick<Config, 'transport' | 'rpc'>} config */
export function transportsOf({ transport, rpc }) {
  const names = rpc.map((url) => chooseTransport(transport, url));
  return names.length === 0 ? chooseTransport(transport, null) : [...new Set(names)].join(', ');
}

/**
 * The instance, for the run file.
 * @param {Config} config
 * @param {StartFacts} start
 * @returns {InstanceFacts | null} null: a single instance without a common start
 */
export function describeInstance({ runId, index, instances, attempt, scheduler, offset, threads }, start) {
  if (runId === null && index === null && start.by === null) return null;
  return { runId, index, instances, attempt, scheduler, offset, threads, host: hostname(), start };
}
