/** The classes of error answers, by the words of twenty clients and gateways: only the class makes a difference. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { classOf, failureCodeOf } from '../../../src/chain/refusals.js';
import { RpcError } from '../../../src/errors.js';

/** @import { RefusalClass } from '../../../src/contracts/chain.d.ts' */

/** Messages, or a message and its code where that is not -32000. @type {Record<RefusalClass, Array<string | [string, number]>>} */
const MESSAGES = {
  known: [
    'already known',
    ['AlreadyKnown', -32010],
    'transaction already imported',
    'Transaction with the same hash was already imported.',
    'tx already in mempool',
    'existing tx with same hash',
    'Known transaction',
    'tx already exists in cache',
  ],
  nonce_low: [
    'nonce too low: next nonce 5, tx nonce 3',
    ['OldNonce, Current nonce: 5, nonce of rejected tx: 3', -32010],
    ['mpool push: minimum expected nonce is 5: message nonce too low', 1],
    // The transaction may be ours, which the chain is asked.
    ['mpool push: message with nonce 3 already exists', 1],
    'nonce too low',
    "failed to forward tx to sequencer, please try again. Error message: 'nonce too low'",
    'nonce too low. allowed nonce range: 427 - 447, actual: 426',
    'account sequence mismatch, expected 5, got 3: incorrect account sequence',
    'Nonce too low. Expected nonce to be 5 but got 3.',
    "the tx doesn't have the correct nonce. account has nonce of: 5 tx has nonce of: 3",
    'submit transaction to pool failed: InvalidTransaction(InvalidTransaction::Stale)',
    ['[Request ID: 2e95] Nonce too low. Provided nonce: 3, current nonce: 5', 32_001],
  ],
  nonce_high: [
    'nonce too high: tx nonce 9, state nonce 5',
    ['NonceGap, Future nonce. Expected nonce: 5', -32010],
    ['message nonce has too big a gap from expected nonce (Nonce: 9, nextNonce: 5): unfulfilled nonce gap', 1],
    'nonce too high',
    'nonce too high: tx nonce 70, gapped nonce 6',
    'invalid nonce; got 9, expected 5: invalid sequence',
    "Nonce too high. Expected nonce to be 3 but got 5. Note that transactions can't be queued when automining.",
    'Transaction nonce is too distant from current sender nonce',
    'NonceTooFarInFuture',
    'InvalidTransaction::Future',
    ['Nonce too high', -32006],
    ['[Request ID: 2e95] Nonce too high. Provided nonce: 9, current nonce: 5', 32_002],
  ],
  replacement: [
    'another transaction with the same nonce is already pending',
    'replacement transaction underpriced',
    'replacement transaction underpriced: new tx gas fee cap 1 <= 2 queued',
    'Pool(TooLowPriority { old: 1, new: 2 })',
    'INTERNAL_ERROR: could not replace existing tx',
    ['ReplacementNotAllowed', -32010],
    ['mpool push: message from f1 with nonce 3 already in mpool: replace by fee has too low GasPremium', 1],
    'Transaction gas price 100wei is too low. There is another transaction with same nonce in the queue with gas price 150wei. Try increasing the gas price or incrementing the nonce.',
  ],
  funds: [
    'insufficient funds for gas * price + value: balance 10, tx cost 20, overshot 10',
    ['InsufficientFunds, Account balance: 10, cumulative cost: 20', -32010],
    ['mpool push: not enough funds (required: 20, balance: 10): not enough funds to execute transaction', 1],
    "sender's balance is lower than gas limit * gas price + value",
    'Insufficient funds for gas * price + value',
    'Upfront cost exceeds account balance',
    'Insufficient funds. The account you tried to send transaction from does not have enough funds. Required 100 and got: 50.',
    'cannot afford txn gas',
    'failed to check sender balance: sender balance < tx cost (10 < 20): insufficient funds',
    '[Request ID: 2e95] Insufficient funds for transfer',
    "Sender doesn't have enough funds to send tx. The max upfront cost is: 1 and the sender's balance is: 0.",
  ],
  price: [
    'transaction underpriced: gas tip cap 1, minimum needed 2',
    ['FeeTooLow, MaxFeePerGas too low. MaxFeePerGas: 1, BaseFee: 7', -32010],
    ['mpool push: gas fee cap too low', 1],
    'gas price too low: 1, minimum 5, gas limit: 21000',
    'insufficient fee; got 1 required 5, gas limit 21000',
    'insufficient maxFeePerGas: 1 < 7',
    'transaction underpriced',
    'max fee per gas less than block base fee: address 0x01, maxFeePerGas: 1, baseFee: 7',
    'transaction gas price below minimum: gas tip cap 0, minimum needed 1',
    'fee too low: 1, use at least tx.gasLimit = 5',
    ['Gas price below current base fee', -32009],
    'INTERNAL_ERROR: fee too low',
    'provided fee < minimum global fee (1atest < 2atest). Please increase the gas price: insufficient fee',
    ["[Request ID: 2e95] Gas price '218' is below configured minimum gas price '1140'", -32009],
    'Transaction maxFeePerGas (1) is too low for the next block, which has a baseFeePerGas of 7',
    ['gas price less than block base fee', -32603],
  ],
  pool_full: [
    'txpool is full',
    ['mpool push: too many pending messages for actor', 1],
    'sequencer pending tx pool full, please try again',
    'account limit exceeded',
    'mempool is full: number of txs 5000 (max: 5000)',
    'in-flight transaction limit reached for delegated accounts',
    'ImmediatelyDropped',
    'INTERNAL_ERROR: queued sub-pool is full',
    'queue full',
  ],
  rate_limit: [
    'account rate limit exceeded',
    "You can't make more than 25 requests per second",
    'Your account has reached its limit of requests',
    'request queue limit exceeded',
    'too many in-flight requests, limit 50',
    'Rate limit exceeded: batch of 100',
    'Monthly credits used up, please upgrade your plan',
    'Your app has exceeded its compute units per second capacity',
    ['daily request count exceeded, request rate limited', -32005],
    'project ID request rate exceeded',
    ['limit exceeded', -32005],
    '429 Too Many Requests',
    ['slow down', -32429],
    'API calls limit reached: 25/second',
    ['Too Many Requests', 403],
    ['You have exceeded the free tier limit, upgrade your plan', -32007],
  ],
  starting: ['API call rejected because chain is not done bootstrapping'],
  busy: [
    'context deadline exceeded',
    ['no backend is currently healthy to serve traffic', -32011],
    ['upstream request timeout', -32603],
    '503 Service Temporarily Unavailable',
  ],
  unsupported: [
    ['the method eth_getBlockReceipts does not exist/is not available', -32601],
    'Unsupported method: x',
    'not whitelisted',
    'rpc method is not allowed',
  ],
  absent: [
    "requested a future epoch (beyond 'latest')",
    'header not found',
    'missing trie node 0xab (path )',
    'block not found',
    ['requested epoch was a null round', 12],
    ['pruned history unavailable', 4444],
    'unknown transaction type',
    'cannot query unfinalized data',
    'transaction indexing is in progress',
  ],
  invalid: [
    'exceeds block gas limit',
    ['GasLimitExceeded, Gas limit: 100, gas limit of rejected tx: 150', -32010],
    'txpool: exceeds block gas limit',
    "VM Exception while processing transaction: reverted with reason string 'not ready'",
    'intrinsic gas too low: gas 100, minimum needed 21000',
    'intrinsic gas too high -- tx.gas_limit > env.block.gas_limit',
    'invalid sender',
    'only replay-protected (EIP-155) transactions allowed over RPC',
    'max priority fee per gas higher than max fee per gas',
    'invalid sender: invalid chain id for signer: have 5 want 1337',
    'invalid chain id for signer',
    'tx fee (10000.00 ether) exceeds the configured cap (1.00 ether)',
    '',
    ['query returned more than 10000 results', -32005],
    ['block range exceeds maximum', -32005],
    ['max batch size exceeded', -32005],
    'gas price too high: 1, use less than tx.gasPrice = 5',
    'invalid gas fee cap. It must be set to the same value as gas unit price.',
    'execution reverted: nonce too low',
    'transaction type not supported',
    ['Sender account not authorized to send transactions', -32007],
    ['Transaction gas limit exceeds block gas limit', -32005],
    'gas limit too high. Max: 100, got: 150',
    'transaction gas limit (150) is greater than the block gas limit (100)',
    'tx gas (150) exceeds block gas limit (100): out of gas',
    ["[Request ID: 2e95] Transaction gas limit '150' exceeds max gas per sec limit '100'", -32005],
    'Transaction gas limit is 150 and exceeds block gas limit of 100',
  ],
};

describe('classOf()', () => {
  for (const [expected, messages] of Object.entries(MESSAGES))
    for (const message of messages) {
      const [rpcMessage, rpcCode] = Array.isArray(message) ? message : [message, -32000];
      it(`${rpcMessage || '(no words)'} (${rpcCode}): ${expected}`, () =>
        assert.equal(classOf(new RpcError('eth_sendRawTransaction', rpcCode, rpcMessage)), expected));
    }

  it('a status of HTTP decides, and digits of addresses do not', () => {
    const reply = { status: 429, retryAfterMs: null };
    assert.equal(classOf(new RpcError('eth_call', -32000, 'slow down', undefined, reply)), 'rate_limit');
    assert.equal(classOf({ rpcCode: -32000, rpcMessage: 'invalid sender 0x429' }), 'invalid');
  });

  it('words come before codes, and a code decides where no words are known', () => {
    assert.equal(classOf({ rpcCode: -32005, rpcMessage: 'nonce too low' }), 'nonce_low');
    assert.equal(classOf({ rpcCode: -32005, rpcMessage: 'please wait' }), 'rate_limit');
  });
});

it('failure codes of run files', () => {
  const classes = /** @type {RefusalClass[]} */ (Object.keys(MESSAGES));
  assert.deepEqual(
    classes.map(failureCodeOf).filter((code) => code !== 'rejected'),
    [
      ...['already_known', 'nonce_too_low', 'nonce_too_high', 'nonce_in_use', 'insufficient_funds', 'underpriced'],
      'pool_full',
    ],
  );
});
