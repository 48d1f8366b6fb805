import { availableParallelism, cpus, release, totalmem } from 'node:os';

/**
 * What a run ran on and with, as the run file states it.
 * @param {object} parts
 * @param {string} parts.version
 * @param {import('./connect.js').ChainInfo} parts.chain
 * @param {import('../chain/rpc.js').Rpc} parts.rpc
 * @param {import('../chain/send.js').Sender} parts.sender
 * @param {import('./run.js').Config} parts.config
 * @param {{name: string, why: string}} parts.inclusion
 * @param {boolean} parts.embedded
 */
export function describeEnvironment({ version, chain, rpc, sender, config, inclusion, embedded }) {
  return {
    stress: version,
    node: process.version,
    platform: `${process.platform} ${process.arch} ${release()}`,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    endpoint: rpc.display,
    embeddedChain: embedded,
    clientVersion: chain.clientVersion,
    chainId: chain.chainId,
    genesisHash: chain.genesisHash,
    blockGasLimit: chain.blockGasLimit,
    feeMode: sender.fees.mode,
    signer: sender.signer.name,
    transport: { name: config.transport, connections: config.connections },
    inclusion,
  };
}
