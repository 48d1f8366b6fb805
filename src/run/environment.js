import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { chooseTransport } from '../transport/index.js';

/**
 * @import { Rpc } from '../chain/rpc.js'
 * @import { Sender } from '../chain/send.js'
 * @import { Chosen } from '../inclusion/choose.js'
 * @import { Config } from './config.js'
 * @import { Ready } from './setup.js'
 */

/**
 * What a run ran on and with, as the run file states it.
 * @param {object} parts
 * @param {string} parts.version
 * @param {Ready['chain']} parts.chain
 * @param {Pick<Rpc, 'display'>} parts.rpc
 * @param {Array<{display: string, clientVersion: string | null}>} parts.endpoints where there are several
 * @param {Sender | null} parts.sender null where nothing is signed
 * @param {Record<string, unknown>} parts.facts of the workload
 * @param {Config} parts.config
 * @param {Chosen | null} parts.inclusion null where nothing is included
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

/** What `--transport auto` goes by. @param {readonly URL[]} urls */
function whyTransport(urls) {
  const schemes = [...new Set(urls.map(({ protocol }) => `${protocol}//`))];
  return schemes.length === 0 ? 'the embedded chain speaks http://' : `the endpoint speaks ${schemes.join(' and ')}`;
}

/** The transports to all endpoints, by name. @param {Pick<Config, 'transport' | 'rpc'>} config */
export function transportsOf({ transport, rpc }) {
  const names = rpc.map((url) => chooseTransport(transport, url));
  return names.length === 0 ? chooseTransport(transport, null) : [...new Set(names)].join(', ');
}

/**
 * @param {Ready['chain']} chain
 * @param {Sender | null} sender
 * @returns {Record<string, string>} why figures are null, by their JSON pointers
 */
export function whatIsNotKnown({ clientVersion, genesisHash, chainId, roundTripMs }, sender) {
  const notAsked = 'plain calls do not need it';
  /** @type {Record<string, string>} */
  const reasons = {};
  if (clientVersion === null) reasons['/environment/clientVersion'] = 'the node does not answer web3_clientVersion';
  if (chainId === null) reasons['/environment/chainId'] = 'the endpoint does not answer eth_chainId';
  if (roundTripMs === null) reasons['/environment/roundTripMs'] = 'the endpoint does not answer eth_chainId';
  if (genesisHash === null) reasons['/environment/genesisHash'] = 'the node does not serve its first block';
  if (sender === null) {
    for (const name of ['genesisHash', 'blockGasLimit', 'feeMode', 'signer', 'inclusion'])
      reasons[`/environment/${name}`] = notAsked;
    reasons['/generator/inclusionResolutionMs'] = notAsked;
    reasons['/generator/headSource'] = notAsked;
  }
  return reasons;
}
