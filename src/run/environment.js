import { availableParallelism, cpus, release, totalmem } from 'node:os';

/**
 * What a run ran on and with, as the run file states it.
 * @param {object} parts
 * @param {string} parts.version
 * @param {import('./setup.js').Ready['chain']} parts.chain
 * @param {import('../chain/rpc.js').Rpc} parts.rpc
 * @param {import('../chain/send.js').Sender | null} parts.sender null where nothing is signed
 * @param {import('./run.js').Config} parts.config
 * @param {{name: string, why: string} | null} parts.inclusion null where nothing is included
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
    genesisHash: chain.genesisHash ?? null,
    blockGasLimit: chain.blockGasLimit ?? null,
    feeMode: sender?.fees.mode ?? null,
    signer: sender?.signer.name ?? null,
    transport: { name: config.transport, connections: config.connections, keepAlive: !config.noKeepAlive },
    inclusion,
  };
}
