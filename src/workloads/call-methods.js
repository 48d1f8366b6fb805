/**
 * What is known of JSON-RPC methods by their names: whether they write, whether two nodes must answer them alike, and where
 * they take a block. Names follow the public clients: geth, Besu, Nethermind, Erigon, Reth, anvil, hardhat and their kind.
 */

/** Namespaces that manage a node, its keys, its chain or its consensus. */
const MANAGING =
  /^(admin|account|anvil|author|clique|conductor|eea|engine|evm|flashbots|ganache|hardhat|ibft|istanbul|les|mainbridge|mev|miner|mnr|opp2p|parity|perm|personal|plugins|priv|privx|qbft|quorumPermission|raft|sco|shh|subbridge|tenderly|test|testing|vault|wallet)_/i;

/** Names with a dot, such as Filecoin.MpoolPush and admin.setLogLevel, do not tell by their form what they do. */
const DOTTED = /\./;

/** Verbs that write in any namespace: eth_sendRawTransaction, zks_sendRawTransaction, txpool_removeTransaction. */
const WRITING =
  /^\w+?_(add|associate|cancel|clear|delete|discard|distribute|drop|fill|flush|import|increase|inject|insert|issue|lock|mine|propose|prune|publish|push|remove|resend|reset|revert|rollback|send|set|shutdown|sign|start|stop|submit|transfer|unlock|update|vote|write)/i;

/** The methods of debug_* that only read: others set the head, write profiles to the disk, or stop the garbage collector. */
const DEBUG_READING =
  /^debug_(account|db|dump|executionWitness|get|intermediateRoots|preimage|printBlock|storageRange|trace)/i;

/** @param {string} method @returns {boolean} whether it may change the chain, the node or its disk */
export function mayWrite(method) {
  if (DOTTED.test(method) || MANAGING.test(method) || WRITING.test(method)) return true;
  return /^debug_/i.test(method) && (!DEBUG_READING.test(method) || /file$/i.test(method));
}

/** Their answers depend on the instant, the node or an earlier request, not on a block. */
const UNSTABLE =
  /^(eth_(accounts|baseFee|blobBaseFee|blockNumber|capabilities|coinbase|config|gasPrice|getWork|hashrate|maxPriorityFeePerGas|mining|pendingTransactions|protocolVersion|subscribe|syncing|unsubscribe|\w*Filter\w*)|net_(listening|peerCount)|rpc_modules|web3_clientVersion|txpool_\w+|\w+_(clientVersion|metrics|nodeInfo|peers|syncing))$/i;

/** @param {string} method @returns {boolean} whether two nodes must answer it alike, at one block */
export function isComparable(method) {
  return !UNSTABLE.test(method) && !mayWrite(method);
}

/** Names of blocks that move; earliest does not. */
const TAGS = new Set(['latest', 'pending', 'safe', 'finalized']);

/** The position of the block, which means the latest one if it is left out. @type {Readonly<Record<string, number>>} */
const BLOCK_AT = Object.freeze({
  eth_call: 1,
  eth_createAccessList: 1,
  eth_estimateGas: 1,
  eth_simulateV1: 1,
  debug_traceCall: 1,
  trace_call: 2,
  trace_callMany: 1,
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_getProof: 2,
  eth_getStorageAt: 2,
  eth_getTransactionCount: 1,
});

/**
 * The parameters with one block in place of each tag, and of a block that is left out.
 * @param {string} method
 * @param {any} params
 * @param {string} block a quantity
 */
export function atBlock(method, params, block) {
  const made = withoutTags(params, block);
  if (!Array.isArray(made)) return made;
  const at = BLOCK_AT[method];
  if (at !== undefined && made.length >= at) made[at] ??= block;
  const [filter] = made;
  if (method === 'eth_getLogs' && typeof filter?.blockHash !== 'string' && filter instanceof Object) {
    filter.fromBlock ??= block;
    filter.toBlock ??= block;
  }
  return made;
}

/** A copy. @param {unknown} value @param {string} block @returns {any} */
function withoutTags(value, block) {
  if (typeof value === 'string') return TAGS.has(value) ? block : value;
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((one) => withoutTags(one, block));
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutTags(one, block)]));
}
