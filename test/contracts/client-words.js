/**
 * How eleven clients refuse the same transactions, from their public sources, and the situations in which they do: the
 * same load must come to the same end in the words of each. {tx} and {next} stand for nonces.
 */
import { Transaction } from 'ethers';
import { senderOf } from '../helpers/memory-chain.js';

/**
 * @import { Answer, Context, Dialect } from '../helpers/dialect-node.js'
 * @import { RpcRequest } from '../helpers/endpoint.js'
 *
 * @typedef {'known' | 'nonceLow' | 'replacement' | 'funds' | 'price' | 'full' | 'gap' | 'gas'} Reason
 * @typedef {[number, string]} Refusal code and message
 * @typedef {Partial<Record<Reason, Refusal>>} Words without those that the client does not have
 */

/** Below a client: reason, code and message. */
const TABLE = `
geth
  known -32000 already known
  nonceLow -32000 nonce too low: next nonce {next}, tx nonce {tx}
  replacement -32000 replacement transaction underpriced
  funds -32000 insufficient funds for gas * price + value: balance 10, tx cost 20, overshot 10
  price -32000 transaction underpriced: gas tip cap 1, minimum needed 2
  full -32000 txpool is full
  gap -32000 nonce too high: tx nonce {tx}, state nonce {next}
  gas -32000 exceeds block gas limit

Besu
  known -32000 Known transaction
  nonceLow -32001 Nonce too low
  replacement -32000 Replacement transaction underpriced
  funds -32004 Upfront cost exceeds account balance
  price -32009 Gas price below current base fee
  gap -32000 Transaction nonce is too distant from current sender nonce
  gas -32005 Transaction gas limit exceeds block gas limit

Nethermind
  known -32010 AlreadyKnown
  nonceLow -32010 OldNonce, Current nonce: {next}, nonce of rejected tx: {tx}
  replacement -32010 ReplacementNotAllowed
  funds -32010 InsufficientFunds, Account balance: 10, cumulative cost: 20
  price -32010 FeeTooLow, MaxFeePerGas too low. MaxFeePerGas: 1, BaseFee: 7
  gap -32010 NonceGap, Future nonce. Expected nonce: {next}
  gas -32010 GasLimitExceeded, Gas limit: 100, gas limit of rejected tx: 150

Erigon
  known -32000 INTERNAL_ERROR: existing tx with same hash
  nonceLow -32000 INTERNAL_ERROR: nonce too low
  replacement -32000 INTERNAL_ERROR: could not replace existing tx
  funds -32000 INTERNAL_ERROR: insufficient funds
  price -32000 INTERNAL_ERROR: fee too low
  full -32000 INTERNAL_ERROR: queued sub-pool is full
  gas -32000 gas limit too high. Max: 100, got: 150

reth
  known -32000 already known
  nonceLow -32003 nonce too low: next nonce {next}, tx nonce {tx}
  replacement -32000 replacement transaction underpriced
  funds -32003 insufficient funds for gas * price + value: have 10 want 20
  price -32003 max fee per gas less than block base fee
  full -32003 txpool is full
  gap -32003 nonce too high
  gas -32003 transaction gas limit (150) is greater than the block gas limit (100)

Cosmos EVM
  known -32000 tx already exists in cache
  nonceLow -32000 invalid nonce; got {tx}, expected {next}: invalid sequence: invalid sequence
  funds -32000 failed to check sender balance: sender balance < tx cost (10 < 20): insufficient funds
  price -32000 provided fee < minimum global fee (1atest < 2atest). Please increase the gas price: insufficient fee
  full -32000 mempool is full: number of txs 5000 (max: 5000), total txs bytes 100 (max: 1000)
  gap -32000 invalid nonce; got {tx}, expected {next}: invalid sequence: invalid sequence
  gas -32000 tx gas (150) exceeds block gas limit (100): out of gas

Filecoin
  known 1 mpool push: message with nonce {tx} already exists
  nonceLow 1 mpool push: minimum expected nonce is {next}: message nonce too low
  replacement 1 mpool push: message from f1 with nonce {tx} already in mpool: replace by fee has too low GasPremium
  funds 1 mpool push: not enough funds (required: 20, balance: 10): not enough funds to execute transaction
  price 1 mpool push: gas fee cap too low
  full 1 mpool push: too many pending messages for actor
  gap 1 message nonce has too big a gap from expected nonce (Nonce: {tx}, nextNonce: {next}): unfulfilled nonce gap

Hedera
  nonceLow 32001 [Request ID: 2e95] Nonce too low. Provided nonce: {tx}, current nonce: {next}
  funds -32000 [Request ID: 2e95] Insufficient funds for transfer
  price -32009 [Request ID: 2e95] Gas price '218' is below configured minimum gas price '1140'
  gap 32002 [Request ID: 2e95] Nonce too high. Provided nonce: {tx}, current nonce: {next}
  gas -32005 [Request ID: 2e95] Transaction gas limit '150' exceeds max gas per sec limit '100'

hardhat
  known -32000 Known transaction: 0x7f657507aee0511e36d2d1972a6b22e917cc89f92b6c12c4dbd57eaabb236960
  nonceLow -32000 Nonce too low. Expected nonce to be {next} but got {tx}.
  replacement -32000 Replacement transaction underpriced. A gasPrice of at least 2 is necessary to replace the existing transaction.
  funds -32000 Sender doesn't have enough funds to send tx. The max upfront cost is: 20 and the sender's balance is: 10.
  price -32000 Transaction maxFeePerGas (1) is too low for the next block, which has a baseFeePerGas of 7
  gap -32000 Nonce too high. Expected nonce to be {next} but got {tx}. Note that transactions can't be queued when automining.
  gas -32000 Transaction gas limit is 150 and exceeds block gas limit of 100

Moonbeam
  known -32603 already known
  nonceLow -32603 nonce too low
  replacement -32000 submit transaction to pool failed: Pool(TooLowPriority { old: 2, new: 1 })
  funds -32603 insufficient funds for gas * price + value
  price -32603 gas price less than block base fee
  full -32000 submit transaction to pool failed: Pool(ImmediatelyDropped)
  gas -32603 exceeds block gas limit

Arbitrum
  nonceLow -32000 nonce too low: address 0x0499BEA33347cb62D79A9C0b1EDA01d8d329894c, tx: {tx} state: {next}
  funds -32000 insufficient funds for gas * price + value: address 0x0499BEA33347cb62D79A9C0b1EDA01d8d329894c have 10 want 20
  price -32000 max fee per gas less than block base fee: address 0x0499BEA33347cb62D79A9C0b1EDA01d8d329894c, maxFeePerGas: 1, baseFee: 7
  full -32000 queue full
  gap -32000 nonce too high: address 0x0499BEA33347cb62D79A9C0b1EDA01d8d329894c, tx: {tx} state: {next}
  gas -32000 intrinsic gas too low
`;

/** @type {Record<string, Words>} */
export const CLIENTS = Object.fromEntries(
  TABLE.trim()
    .split('\n\n')
    .map((block) => {
      const [client, ...lines] = block.split('\n');
      const refusals = lines.map((line) => /^ {2}(\w+) (-?\d+) (.*)$/.exec(line) ?? []);
      return [
        client,
        Object.fromEntries(refusals.map(([, reason, code, message]) => [reason, [Number(code), message]])),
      ];
    }),
);

/** Of the chain in memory. @type {Array<[RegExp, Reason]>} */
const OWN_WORDS = [
  [/already known/, 'known'],
  [/nonce too low/, 'nonceLow'],
  [/replacement/, 'replacement'],
  [/insufficient/, 'funds'],
];

/** The load has begun, and its answers are awaited. */
const FROM_MS = 4000;

/**
 * @typedef {object} Situation
 * @property {Reason[]} needs the words that it is about
 * @property {string} [args]
 * @property {(raw: Transaction, context: Context, next: number) => Reason | null | Promise<Reason | null>} [refuse] next: nonce
 * @property {number} [loses] one of so many answers, after the transaction has arrived
 */

/** @type {Record<string, Situation>} */
export const SITUATIONS = {
  'lost answers': { needs: ['known', 'nonceLow'], loses: 5 },
  'refused once, for its gas': { needs: ['gas'], refuse: (_, { count }) => (count('sent') % 9 === 0 ? 'gas' : null) },
  'the funds of a wallet are gone': {
    needs: ['funds'],
    refuse: ({ from }, { state, nowMs }) => {
      state.first ??= from;
      return from === state.first && nowMs() > FROM_MS ? 'funds' : null;
    },
  },
  'a price that is too low': {
    needs: ['price'],
    refuse: ({ maxFeePerGas }, { state, nowMs }) => {
      if (nowMs() < FROM_MS) return null;
      state.most ??= maxFeePerGas;
      return Number(maxFeePerGas) > Number(state.most) ? null : 'price';
    },
  },
  'a full pool for a while': {
    needs: ['full'],
    refuse: (_, { nowMs }) => (nowMs() > FROM_MS && nowMs() < FROM_MS + 1500 ? 'full' : null),
  },
  'nonces behind a gap': {
    needs: ['gap'],
    args: '--in-flight 3',
    refuse: ({ nonce }, { count, nowMs }, next) => {
      if (nonce > next) return 'gap';
      return nowMs() > FROM_MS && count('sent') % 6 === 0 ? 'gas' : null;
    },
  },
};

/** A node that has these words, in this situation. @param {Words} words @param {Situation} situation @returns {Dialect} */
export function speaks(words, { refuse, loses }) {
  const gas = CLIENTS.geth.gas;
  /** @param {Reason} reason @param {number} tx @param {number} next @returns {Answer | null} null: it has no words for it */
  const refusal = (reason, tx, next) => {
    const [code, message] = words[reason] ?? (reason === 'gas' ? gas : undefined) ?? [];
    if (code === undefined || message === undefined) return null;
    return { error: { code, message: message.replaceAll('{tx}', `${tx}`).replaceAll('{next}', `${next}`) } };
  };
  /** @param {RpcRequest} request @param {Context} context @returns {Promise<[Transaction, number]>} with the sender's next nonce */
  const read = async ({ params: [raw] }, { node }) => {
    const transaction = Transaction.from(raw);
    const { result } = await node('eth_getTransactionCount', [senderOf(transaction), 'pending']);
    return [transaction, Number(result)];
  };
  return {
    before: async (request, context) => {
      if (request.method !== 'eth_sendRawTransaction' || refuse === undefined) return undefined;
      const [transaction, next] = await read(request, context);
      const reason = await refuse(transaction, context, next);
      return reason === null ? undefined : (refusal(reason, transaction.nonce, next) ?? undefined);
    },
    after: async (request, { error }, context) => {
      if (request.method !== 'eth_sendRawTransaction') return undefined;
      if (error === undefined) {
        if (loses !== undefined && context.count('taken') % loses === 0) throw new Error('the answer is lost');
        return undefined;
      }
      const reason = OWN_WORDS.find(([pattern]) => pattern.test(error.message))?.[1];
      const [{ nonce }, next] = await read(request, context);
      return reason === undefined ? undefined : (refusal(reason, nonce, next) ?? undefined);
    },
  };
}
