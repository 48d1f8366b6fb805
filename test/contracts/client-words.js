/**
 * How clients with three ways to say it refuse the same transactions, from their public sources, and the situations in which
 * they do: the same load must come to the same end in the words of each. {tx} and {next} stand for nonces. Words of all others
 * are in test/laws/chain/refusals.test.js: only their class makes a difference.
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

Nethermind
  known -32010 AlreadyKnown
  nonceLow -32010 OldNonce, Current nonce: {next}, nonce of rejected tx: {tx}
  replacement -32010 ReplacementNotAllowed
  funds -32010 InsufficientFunds, Account balance: 10, cumulative cost: 20
  price -32010 FeeTooLow, MaxFeePerGas too low. MaxFeePerGas: 1, BaseFee: 7
  gap -32010 NonceGap, Future nonce. Expected nonce: {next}
  gas -32010 GasLimitExceeded, Gas limit: 100, gas limit of rejected tx: 150

Filecoin
  known 1 mpool push: message with nonce {tx} already exists
  nonceLow 1 mpool push: minimum expected nonce is {next}: message nonce too low
  replacement 1 mpool push: message from f1 with nonce {tx} already in mpool: replace by fee has too low GasPremium
  funds 1 mpool push: not enough funds (required: 20, balance: 10): not enough funds to execute transaction
  price 1 mpool push: gas fee cap too low
  full 1 mpool push: too many pending messages for actor
  gap 1 message nonce has too big a gap from expected nonce (Nonce: {tx}, nextNonce: {next}): unfulfilled nonce gap
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
