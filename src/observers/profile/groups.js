/**
 * What a function of a node is for, in words of the field: patterns of names in Go, Rust and C++. A stack belongs to the first
 * group that one of its functions matches, from the function that ran to its callers: hashing inside the state trie is work of
 * the trie.
 *
 * @import { GROUPS } from '../../stats/node-profile.js'
 *
 * @typedef {(typeof GROUPS)[number]} Group
 * @typedef {readonly [group: Group, pattern: RegExp]} GroupRow
 */

/** The garbage collector, for whomever it works. @type {readonly GroupRow[]} */
const COLLECTOR = Object.freeze([
  [
    'garbage collection',
    /^runtime\.(gcBgMarkWorker|gcAssistAlloc|bgsweep|bgscavenge|gcStart|gcDrain|sweepone|markroot)\b/,
  ],
]);

/** @type {readonly GroupRow[]} */
const WORK = Object.freeze([
  ['signature recovery', /secp256k1|ecrecover|recoverPlain|recover_(signer|address)|k256::/i],
  ['state trie', /\/trie\b|\/triedb\b|verkle|core\/state\b|_trie::|::trie::|\biavl\b|state_root|statedb/i],
  ['EVM execution', /core\/vm\b|\brevm|evmone|::interpreter::|\bevm\.\(|x\/vm\b|StateTransition|ApplyMessage/],
  ['database', /pebble|leveldb|rocksdb|mdbx|\bethdb\b|rawdb|badger|snappy|freezer|\bbbolt\b|memdb/i],
  ['transaction pool', /txpool|legacypool|blobpool|transaction_pool|mempool/i],
  ['RPC', /\/rpc\.|net\/http|encoding\/json|go-json|jsonrpc|json_rpc|serde_json|hyper::|axum|websocket|ethapi/i],
  ['block building', /\/miner\.|core\/types\.|payload_builder|block_builder|BlockChain|StateProcessor|\brlp\b/],
  ['network and consensus', /\bp2p\b|discv[45]|libp2p|cometbft|tendermint|gossip|snowman|consensus/i],
]);

/** What is below all other work: it decides only where no caller does. @type {readonly GroupRow[]} */
const RUNTIME = Object.freeze([
  [
    'memory allocation',
    /^runtime\.(mallocgc|growslice|newobject|makeslice|mem(clr|move))|^_?(int_)?(malloc|free)$|mi_malloc/,
  ],
  ['scheduling', /^runtime\.|tokio::runtime|^(__)?sched|futex|epoll|crossbeam|parking_lot|std::thread/],
]);

/** @type {Group} */
export const OTHER = 'other';

/** @param {readonly string[]} names of a stack, the function that ran first @returns {{group: string, name: string}} name: the function that decided */
export function groupOf(names) {
  for (const table of [COLLECTOR, WORK, RUNTIME]) {
    for (const name of names) {
      const row = table.find(([, pattern]) => pattern.test(name));
      if (row !== undefined) return { group: row[0], name };
    }
  }
  return { group: OTHER, name: names[0] ?? OTHER };
}

/** The package in Go, the crate in Rust or the namespace in C++. @param {string} name of a function @returns {string} */
export function packageOf(name) {
  // A receiver or a trait in Rust: <reth_trie::Node as alloy_rlp::Encodable>::encode.
  const path = name.replace(/^[<&([*]+(?:(?:mut|dyn|const) )*/, '');
  const [go] = /^(?:[^\s/()[\]:]+\/)*[^\s/()[\]:.]+(?=\.[^\s/])/.exec(path) ?? [];
  const [crate] = /^\w+(?=::)/.exec(path) ?? [];
  return go ?? crate ?? OTHER;
}

/** @param {string} name of the function that ran */
export function isSystemCall(name) {
  return /(^|\/)syscall(\/\w+)?\.|^(do_syscall_64|entry_SYSCALL_64)/.test(name);
}
