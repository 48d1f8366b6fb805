import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atBlock, isComparable, mayWrite } from '../../../src/workloads/call-methods.js';

const WRITES = `
  eth_sendTransaction eth_sendRawTransaction eth_sendRawTransactionSync eth_sendRawTransactionConditional
  eth_sendPrivateTransaction eth_sendBundle eth_sendUserOperation eth_sign eth_signTransaction eth_signTypedData_v4
  eth_resend eth_submitWork eth_submitHashrate eth_cancelPrivateTransaction eth_setEtherbase
  personal_unlockAccount admin_addPeer miner_stop engine_forkchoiceUpdatedV3 clique_propose parity_setMode
  perm_addNodesToAllowlist txpool_removeTransaction mev_sendBundle zks_sendRawTransactionWithDetailedOutput
  kaia_sendTransaction klay_sign eea_sendRawTransaction priv_distributeRawTransaction ibft_proposeValidatorVote
  anvil_setBalance hardhat_mine evm_snapshot evm_increaseTime ganache_deleteAccount tenderly_setBalance test_mineBlocks
  debug_setHead debug_setGCPercent debug_freeOSMemory debug_chaindbCompact debug_writeMemProfile debug_cpuProfile
  debug_startCPUProfile debug_batchSendRawTransaction debug_resyncWorldState debug_standardTraceBlockToFile debug_verbosity
  debug_insertReceipts wallet_sendCalls account_signData EVM_MINE Eth_SendRawTransaction
  Filecoin.MpoolPush Filecoin.WalletNew avax.issueTx admin.setLogLevel sei_associate author_insertKey author_rotateKeys
  governance_vote conductor_transferLeader opp2p_blockPeer rsk_shutdown sco_banAddress admin_prune subbridge_deployBridge`;

const READS = `
  eth_call eth_getBalance eth_getLogs eth_estimateGas eth_simulateV1 eth_callBundle eth_createAccessList eth_feeHistory
  eth_getBlockReceipts eth_newFilter eth_uninstallFilter eth_subscribe eth_syncing eth_fee web3_sha3 net_version txpool_status
  txpool_content trace_block trace_filter trace_rawTransaction trace_replayTransaction ots_getBlockDetails erigon_getHeaderByNumber
  debug_traceTransaction debug_traceCall debug_getRawBlock debug_storageRangeAt debug_accountRange zks_getBlockDetails
  arb_getRawBlockMetadata bor_getAuthor linea_estimateGas rollup_gasPrices optimism_outputAtBlock alchemy_getAssetTransfers`;

/** @param {string} text */
const words = (text) => text.trim().split(/\s+/);

describe('methods that may change the chain or the node', () => {
  for (const method of words(WRITES)) it(`${method} is one`, () => assert.equal(mayWrite(method), true));
  for (const method of words(READS)) it(`${method} is none`, () => assert.equal(mayWrite(method), false));
});

describe('methods that two nodes must answer alike', () => {
  const unstable = `eth_gasPrice eth_maxPriorityFeePerGas eth_blobBaseFee eth_syncing eth_blockNumber eth_accounts
    web3_clientVersion net_peerCount net_listening eth_newFilter eth_newBlockFilter eth_newPendingTransactionFilter
    eth_getFilterChanges eth_getFilterLogs eth_uninstallFilter eth_subscribe txpool_content rpc_modules
    eth_sendRawTransaction debug_metrics`;
  const stable = `eth_call eth_getBalance eth_getLogs eth_chainId eth_getBlockByNumber eth_getTransactionReceipt
    eth_feeHistory net_version web3_sha3 debug_traceTransaction trace_block eth_getCode`;
  for (const method of words(unstable)) it(`${method} is none`, () => assert.equal(isComparable(method), false));
  for (const method of words(stable)) it(`${method} is one`, () => assert.equal(isComparable(method), true));
});

describe('one block in place of tags', () => {
  /** @type {Array<[string, string, unknown, unknown]>} */
  const table = [
    ['a tag', 'eth_getBalance', ['0x1', 'latest'], ['0x1', '0xa']],
    ['each tag that moves', 'x', ['pending', 'safe', 'finalized', 'earliest'], ['0xa', '0xa', '0xa', 'earliest']],
    ['a number stays', 'eth_getBalance', ['0x1', '0x5'], ['0x1', '0x5']],
    ['a block that is left out', 'eth_call', [{ to: '0x1' }], [{ to: '0x1' }, '0xa']],
    ['a trace without a block', 'debug_traceCall', [{ to: '0x1' }], [{ to: '0x1' }, '0xa']],
    ['a block that is null', 'eth_getBalance', ['0x1', null], ['0x1', '0xa']],
    ['parameters that are too few for one', 'eth_getStorageAt', ['0x1'], ['0x1']],
    ['a filter', 'eth_getLogs', [{ fromBlock: '0x1', toBlock: 'latest' }], [{ fromBlock: '0x1', toBlock: '0xa' }]],
    ['a filter without blocks', 'eth_getLogs', [{}], [{ fromBlock: '0xa', toBlock: '0xa' }]],
    ['a filter of a block hash', 'eth_getLogs', [{ blockHash: '0x1' }], [{ blockHash: '0x1' }]],
    ['no parameters', 'eth_getLogs', [], []],
    ['parameters by name', 'x', { at: 'latest' }, { at: '0xa' }],
  ];
  for (const [name, method, params, expected] of table)
    it(`${name}: the recorded parameters stay as they are`, () => {
      const before = structuredClone(params);
      assert.deepEqual(atBlock(method, params, '0xa'), expected);
      assert.deepEqual(params, before);
    });
});
