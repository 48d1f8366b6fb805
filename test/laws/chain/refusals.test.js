/** The classes of error answers, by the words of twenty clients and gateways: only the class makes a difference. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { classOf, failureCodeOf, refusalOf, submissionRefusalOf } from '../../../src/chain/refusals.js';
import { RpcError } from '../../../src/errors.js';

/** @import { RefusalClass, StatedPrice } from '../../../src/contracts/chain.d.ts' */

/** Messages, or a message and its code where that is not -32000. @type {Record<RefusalClass, Array<string | [string, number]>>} */
const MESSAGES = {
  known: [
    'already known',
    'ALREADY_EXISTS: already known',
    ['AlreadyKnown', -32010],
    'transaction already imported',
    'Transaction with the same hash was already imported.',
    'tx already in mempool',
    'existing tx with same hash',
    'INTERNAL_ERROR: existing txn with same hash',
    'Known transaction',
    'tx already exists in cache',
    'transaction already exists',
  ],
  nonce_low: [
    'stale nonce',
    'sequence number too old',
    'nonce too low: next nonce 5, tx nonce 3',
    'INTERNAL_ERROR: nonce too low',
    ['nonce too low', -32600],
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
    'nonce 992 too low, expected 993',
    'tx nonce 4 < state nonce 5',
    'Nonce for account too low',
    'invalid transaction nonce: got 3, want 5',
    ['[Request ID: 2e95] Nonce too low. Provided nonce: 3, current nonce: 5', 32_001],
  ],
  nonce_high: [
    'sequence number is too new',
    'nonce too high: tx nonce 9, state nonce 5',
    'tx nonce 12 > state nonce 10',
    'ERR_INCORRECT_NONCE',
    'WRONG_TRANSACTION_NONCE',
    ['NonceGap, Future nonce. Expected nonce: 5', -32010],
    ['message nonce has too big a gap from expected nonce (Nonce: 9, nextNonce: 5): unfulfilled nonce gap', 1],
    'nonce too high',
    'nonce too high: tx nonce 70, gapped nonce 6',
    'invalid nonce; got 9, expected 5: invalid sequence',
    "Nonce too high. Expected nonce to be 3 but got 5. Note that transactions can't be queued when automining.",
    'nonce 995 too high, expected 993',
    'invalid transaction nonce: got 9, want 5',
    // Without numbers: the next one soon, or that of a block which is seen soon.
    'invalid transaction nonce',
    'gapped-nonce tx from delegated accounts',
    'InvalidTransaction::Future',
    ['Nonce too high', -32006],
    ['[Request ID: 2e95] Nonce too high. Provided nonce: 9, current nonce: 5', 32_002],
  ],
  replacement: [
    'a transaction with nonce 5 from this sender is already in the pool',
    'transaction with same nonce is already in the pool',
    'a transaction with this nonce is already in the pool',
    'nonce 7 is already in txpool',
    'nonce already exists in mempool',
    'another transaction with the same nonce is already pending',
    'transaction with the same nonce already submitted',
    'insertion of another transaction with the same nonce is in progress',
    'replacement transaction underpriced',
    ['replacement tx underpriced', -32600],
    'replacement transaction underpriced: new tx gas fee cap 1 <= 2 queued',
    'Pool(TooLowPriority { old: 1, new: 2 })',
    'INTERNAL_ERROR: could not replace existing tx',
    ['ReplacementNotAllowed', -32010],
    ['mpool push: message from f1 with nonce 3 already in mpool: replace by fee has too low GasPremium', 1],
    'Transaction gas price 100wei is too low. There is another transaction with same nonce in the queue with gas price 150wei. Try increasing the gas price or incrementing the nonce.',
  ],
  funds: [
    'INSUFFICIENT_PAYER_BALANCE',
    'INTERNAL_ERROR: insufficient funds',
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
    'tip must be at least 2 gwei',
    'gas price should be at least 5 gwei',
    'min gas price is 50 gwei',
    'max priority fee per gas too small: 1 < 1000',
    'transaction underpriced: gas tip cap 1, minimum needed 2',
    ['FeeTooLow, MaxFeePerGas too low. MaxFeePerGas: 1, BaseFee: 7', -32010],
    ['mpool push: gas fee cap too low', 1],
    'gas price too low: 1, minimum 5, gas limit: 21000',
    'insufficient fee; got 1 required 5, gas limit 21000',
    'insufficient maxFeePerGas: 1 < 7',
    'minimum required priority fee 0xb2d05e00',
    'transaction underpriced',
    ['transaction underpriced', -32600],
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
    'The pool has reached its maximum size',
    'maximum mempool size reached',
    'maximum number of pending transactions reached',
    'no space left in mempool',
    'no more room in the txpool',
    'txpool is full',
    'sequencer pending tx pool full, please try again',
    'future transaction tries to replace pending',
    ['rejected future tx due to low slots', -32600],
    '[0x] Transaction discarded outright due to pool size constraints.',
    'blobs limit in txpool is full',
    'mempool is full: number of txs 5000 (max: 5000)',
    'ImmediatelyDropped',
    'INTERNAL_ERROR: queued sub-pool is full',
    'queue full',
    'txpool size exceeded',
    'pool is full: max count exceeded',
  ],
  sender_limit: [
    'account has exceeded in-flight transaction limit',
    'you have reached the maximum of pending transactions (64)',
    'Only 16 transactions allowed in mempool per account',
    'too many pending transactions for 0x1234',
    'transaction nonce too far in the future',
    'sender has exceeded allowed pool slots',
    'address has reached its max pending transactions: 16',
    'Transactions from this sender exceeded 200',
    'Your account has too many pending transactions',
    'maximum number of transactions per sender reached',
    'Transaction nonce is too distant from current sender nonce',
    'Transaction nonce it too distant from current sender nonce',
    'NonceTooFarInFuture',
    ['maximum number of enqueued transactions reached', -32600],
    'account limit exceeded: pooled 16 txs',
    'account limit exceeded',
    ['mpool push: too many pending messages for actor', 1],
    'in-flight transaction limit reached for delegated accounts',
    'INTERNAL_ERROR: spammer',
    '0x01 identified as spammer. Transaction 0x02 rejected.',
    'Sender 0x01 has 64 queued (future-nonce) transactions (per-account cap 64); rejecting new future transaction',
    'future nonce gap too large; got 64, state nonce 0, max gap 63',
    'too many transactions from this sender in the mempool',
    'txpool account slots exceeded',
    'account pending transaction count exceeds limit 16',
    'transaction count limit per sender exceeded',
    'exceeded the max number of pending txs from the same sender',
    'DelegatorHasPendingTx',
  ],
  rate_limit: [
    'cannot exceed the maximum number of calls per account',
    'usage limit reached for this account',
    'exceeded max allowed transactions per second',
    'max usage reached',
    'limit of 100000 daily calls for account reached',
    'You have exceeded the limit for your account',
    'Your account has exceeded its monthly allowance',
    'request count exceeded',
    'you have reached the data limit of your plan',
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
  starting: [
    'node is catching up',
    'Node is currently syncing, transaction rejected',
    'API call rejected because chain is not done bootstrapping',
    'node is not synced',
    ['Initial sync is still in progress', -32008],
    ['Transaction pool not enabled. (Either txpool explicitly disabled, or node not yet in sync).', -32002],
    'The node has not finished syncing.',
  ],
  busy: [
    'no available server',
    'no backends available for method',
    'upstream request failed',
    'Too many connections',
    'server shutting down',
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
    ['BlockOutOfRangeError: block height is 501 but requested was 500', -32602],
    'Request beyond head block: requested 501, head 500',
    'missing trie node 0xab (path )',
    'block not found',
    ['requested epoch was a null round', 12],
    ['pruned history unavailable', 4444],
    'unknown transaction type',
    'cannot query unfinalized data',
    'transaction indexing is in progress',
  ],
  invalid: [
    'transaction circuit capacity exceeded',
    'INTERNAL_ERROR: IntrinsicGas',
    'max initcode size exceeded: code size 50000, limit 49152',
    'Transaction max init code size exceeded',
    "Transaction's size 50000 exceeds max_init_code_size 49152.",
    'transaction blob limit exceeded: blob count 9, limit 6',
    'max number of blobs exceeded',
    'blob transaction exceeds max blobs per block; got 9',
    'oversized data: transaction size 138074, limit 131072',
    ['Oversized data: call data size 200000, call data size limit 131072', -32201],
    'Transaction 0x63 line count for module ROM=2369 is above the limit 2300',
    'Calldata of transaction is greater than the allowed max of 1000',
    'max call depth exceeded',
    'call depth limit exceeded: 1025',
    'access list exceeds the limit of 100 entries',
    'maximum execution time exceeded: limit 5s',
    'transaction exceeds the size limit',
    'failed to add tx to the pool: out of counters at node level (Steps)',
    'exceeds max transaction gas limit',
    'Exceeded maximum block range: 1000',
    ['time out too long, timeout: 7000 ms, max: 6000 ms', -32602],
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

  it('a limit of one transaction is known: it is not tried again', () => {
    const limits = MESSAGES.invalid.slice(0, MESSAGES.invalid.indexOf('exceeds block gas limit'));
    assert.ok(limits.length > 15);
    for (const one of limits) {
      const [rpcMessage, rpcCode] = Array.isArray(one) ? one : [one, -32000];
      assert.equal(refusalOf({ rpcCode, rpcMessage }).isUnknown, false, rpcMessage);
    }
  });

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
      ...['pool_full', 'sender_limit'],
    ],
  );
});

describe('what a refusal states', () => {
  /** @type {Array<[string, StatedPrice]>} */
  const stated = [
    ['transaction underpriced: gas tip cap 100000000, minimum needed 1000000000', { tipWei: 1_000_000_000n }],
    ['transaction gas price below minimum: gas tip cap 1, minimum needed 25000000000', { tipWei: 25_000_000_000n }],
    ['transaction underpriced: tip needed 3000000000, tip permitted 1000000000', { tipWei: 3_000_000_000n }],
    ['transaction priority fee below minimum required priority fee 7', { tipWei: 7n }],
    ['FeeTooLow, EffectivePriorityFeePerGas too low 10 < 20, BaseFee: 30', { tipWei: 20n }],
    ['invalid: failed transaction: the minimum accepted gas price for transactions is: 150', { priceWei: 150n }],
    [
      "Transaction gas price is too low. It does not satisfy your node's minimal gas price (minimal: 100, got: 50).",
      { priceWei: 100n },
    ],
    [
      'the tx gasfeecap is lower than the tx baseFee: 1 (gasfeecap), 7 (basefee) : insufficient fee',
      { baseFeeWei: 7n },
    ],
    // In the unit that follows, or hexadecimal.
    ['the minimum accepted gas price for transactions is: 2 gwei', { priceWei: 2_000_000_000n }],
    ['the minimum accepted gas price for transactions is: 1.5Gwei.', { priceWei: 1_500_000_000n }],
    ['transaction underpriced: gas tip cap 0x1, minimum needed 0x5f5e100', { tipWei: 100_000_000n }],
    ['tip must be at least 2 gwei', { tipWei: 2_000_000_000n }],
    ['gas price should be at least 5 gwei', { priceWei: 5_000_000_000n }],
    ['min gas price is 50 gwei', { priceWei: 50_000_000_000n }],
    // Anything else states nothing.
    ['tip must be at least 2', {}],
    ['the minimum accepted gas price for transactions is: 2 nano', {}],
    ['the minimum accepted gas price for transactions is: 2e9', {}],
    ['the minimum accepted gas price for transactions is: 2,000,000', {}],
    ['the minimum accepted gas price for transactions is: 0.5 wei', {}],
    ['transaction underpriced: gas tip cap 1, minimum needed 0x', {}],
    // A fee for all of its gas, and numbers without a unit.
    ['provided fee < minimum global fee (1atest < 2atest). Please increase the gas price: insufficient fee', {}],
    ['minimal gas price 25 required. got 1', {}],
  ];
  for (const [rpcMessage, expected] of stated)
    it(rpcMessage, () => {
      const { is, stated: prices } = refusalOf({ rpcCode: -32000, rpcMessage });
      assert.deepEqual([is, prices], ['price', expected]);
    });
});

it('an answer that only a block, a state or a leader can have is no decision about a transaction', () => {
  for (const rpcMessage of ['account cosmos1abc not found', 'leader not found', 'block timestamp is in the future']) {
    assert.equal(classOf({ rpcCode: -32000, rpcMessage }), 'absent');
    const { is, isUnknown } = submissionRefusalOf({ rpcCode: -32000, rpcMessage });
    assert.deepEqual([is, isUnknown], ['invalid', true]);
  }
});
