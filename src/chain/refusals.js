import { ProtocolError, RpcError } from '../errors.js';

/**
 * What error answers of nodes and gateways mean. There are no common codes: each from -32000 to -32099 means something else
 * on another client. So words decide, and the code only where no pattern matches. Words only speed a decision up: whether
 * a transaction has arrived is decided by the chain.
 *
 * @import { RefusalClass, StatedPrice } from '../contracts/chain.d.ts'
 *
 * @typedef {{is: RefusalClass, stated: StatedPrice, mayBeFull: boolean, isUnknown: boolean, remedy?: string}} Refusal the meaning of an error
 *   answer to a submission; mayBeFull: if the node takes others at that price, its pool is full; isUnknown: no words of the
 *   table, and no code
 *
 * @typedef {object} Row
 * @property {RefusalClass} is
 * @property {number} [code] the row is for answers with this code only
 * @property {readonly RegExp[]} words of the message without hexadecimal numbers
 * @property {string} clients where they were seen
 * @property {Readonly<Partial<Record<keyof StatedPrice, readonly RegExp[]>>>} [states] where the words state a price
 * @property {string} [remedy] what a user can do about it
 * @property {RegExp} [orFull] words that a full pool uses as well, of what offers no more than all that it has
 */

/** A number with its unit, if one follows: 2000000000, 0x5f5e100, 2 gwei, 1.5gwei. No digit is left out at either end. */
const NUMBER = '(?:0x[0-9a-f]*|\\d+(?:[.,_]\\d+)*)(?!\\d)(?: ?[a-z]\\w*)?';

/** Words that are new to us state a price in a unit only. */
const NUMBER_OF_UNIT = '\\S+ ?[kmg]?wei';

/** Patterns in which MIN is the price that is stated, and ANY another number. @param {...string} patterns */
function stating(...patterns) {
  return patterns.map(
    (pattern) => new RegExp(pattern.replaceAll('ANY', NUMBER).replace('MIN', `(?<price>${NUMBER})`), 'i'),
  );
}

/** The first row with matching words decides. @type {readonly Row[]} */
const ROWS = Object.freeze([
  {
    is: 'known',
    code: 4,
    words: [/\btime|timeout|within|processed/i],
    clients:
      'EIP-7966 (eth_sendRawTransactionSync): no block included it in time. Some nodes use the code for other errors',
  },
  {
    is: 'rate_limit',
    words: [
      /rate.{0,3}limit|throttl|request queue|too many (\w+[ -])*requests|requests? (per|in) |(limit|number) of (\w+ )*(requests|calls)|credits? used/i,
      // Who is spoken to is a customer; a sender has transactions.
      /^(?!.*(pending|queued|in-?flight|transactions?\b|txs?\b)).*(usage limit|(limit|exceed|reach).{0,40}\byour (account|plan|project|app)|your (account|plan|project|app)\b.{0,20}(limit|exceed|reach))/i,
    ],
    clients: 'gateways, whose words are those of a full pool otherwise',
  },
  {
    is: 'absent',
    words: [/future (epoch|block)|\b(epoch|block|height|tipset|timestamp)\b.{0,40}in the future/i],
    clients: 'Lotus',
  },
  {
    is: 'invalid',
    words: [/time ?out too long/i],
    clients: 'op-stack nodes with Flashblocks (eth_sendRawTransactionSync with more time than they allow)',
  },
  {
    is: 'replacement',
    words: [
      /another (tx|transaction).{0,20}same nonce|same nonce already|replace by fee|(tx|transaction) with (the |this )?nonce.{0,50}already/i,
      /\bnonce.{0,20}\balready (in|(exists|known|present|included|pending|queued) in) (the )?(cache|queue|\w*pool)/i,
    ],
    clients:
      'Klaytn, Parity, also if the other transaction is pending; Lotus, which says of the other one that it is in its pool; zkSync (in progress), Flow (already submitted)',
  },
  {
    is: 'known',
    words: [
      /\bknown transaction|confirmation timeout|already ?(known|imported|pending|submitted|received)|existing txn? with same hash/i,
      /already (exists |present |included )?in (the )?(cache|system|\w*pool)|duplicate (transaction|tx)\b|^(transaction|tx) already exists/i,
    ],
    clients:
      'geth, anvil, Erigon, reth, Besu, Nethermind (AlreadyKnown), Cosmos EVM and Sei (cache, mempool), Substrate, zkSync',
  },
  {
    is: 'sender_limit',
    words: [
      /nonce ?(i[st] )?too ?(distant|far)|per-account cap|nonce gap too large|number of enqueued transactions reached/i,
      /you have reached the (maximum|limit).{0,20}(transactions|txs)|(transactions|txs).{0,40}\b(per|for|from|by) (account|sender|0x)|only \d+ (transactions|txs).{0,40}(account|sender)/i,
    ],
    clients:
      'Besu (--tx-pool-max-future-by-sender, --tx-pool-limit-by-account-percentage), Nethermind (TxPool.MaxPendingTxsPerSender), ethrex, Nibiru, Polygon Edge (--max-enqueued)',
  },
  {
    is: 'pool_full',
    words: [/future transaction tries to replace pending|future tx due to low slots/i],
    clients: 'geth and forks, Polygon Edge: the pool is full, and the nonce is not the next',
  },
  {
    is: 'nonce_high',
    words: [
      /(nonce|sequence)( number)? ?(\d+ )?(is )?too ?(high|large|new)|nonce.{0,30}(higher|greater|ahead|distant)|gapped|nonce ?gap|future/i,
      /invalid (transaction )?nonce$|(?:^|[\W_])(incorrect|wrong)[_ ](\w+_)?nonce\b/i,
    ],
    clients:
      'geth, Nethermind (NonceGap), zkSync (allowed range), Filecoin, Substrate (Future); an invalid nonce without its number may be the next one soon',
  },
  {
    is: 'replacement',
    words: [
      /replacement|same nonce|nonce.{0,20}in use|\b(to|cannot|could not) replace|replaced ?tx|price ?bump|too ?low ?priority/i,
    ],
    clients:
      'geth and forks, Parity and Klaytn (same nonce), Nethermind (ReplacementNotAllowed), Substrate (TooLowPriority)',
  },
  {
    is: 'nonce_low',
    words: [
      /(nonce|sequence)( number)? ?(for account |\d+ )?(is )?too ?(low|small|old)|(old|stale) ?(nonce|sequence)|nonce.{0,30}(lower|less than|smaller|below|expired)|nonce.{0,20}already/i,
      /already (mined|finali[sz]ed|executed|confirmed|used)|(\(|::)stale\b|\boutdated\b/i,
    ],
    clients:
      'geth and forks, Besu, Nethermind (OldNonce), hedera, Harmony (already finalized), Substrate (Stale), ethrex',
  },
  {
    is: 'funds',
    words: [
      /insufficient[ _]?(\w+_)?(funds|balance)|balance is lower|(not|n't have) enough (funds|balance|ether)|cannot afford|overdraft|::payment\b/i,
      /(exceeds?|lacks?).{0,20} (balance|funds)\b|balance.{0,20}(too low|not enough|insufficient)|exceeds allowance/i,
    ],
    clients:
      'geth and forks, Besu (Upfront cost exceeds account balance), Nethermind, monad, Harmony, hardhat, ganache',
  },
  {
    is: 'invalid',
    words: [/tx fee .*exceeds the configured cap/i],
    clients: 'geth and forks: a load that fills its blocks raises the base fee, an eighth a block',
    remedy:
      'the node limits the fee that a transaction may offer: raise its limit (geth: --rpc.txfeecap), offer less (--max-fee), or wait until the base fee has fallen',
  },
  {
    is: 'invalid',
    words: [/exceeds.{0,30}gas ?limit|gas ?limit.{0,20}(exceed|too)|intrinsic ?gas|out of (gas|counters)/i],
    clients:
      'geth, Besu (-32005), Nethermind (GasLimitExceeded), Sei and Cosmos EVM (out of gas), Erigon (IntrinsicGas), Polygon zkEVM',
  },
  {
    is: 'sender_limit',
    words: [
      /(limit|max|many|exceed|reached|full|cap\b).{0,60}\b(per|for|from|by|of)[ -](the |this |that |an? |one |each |same |single |delegated )*(sender|account|address|actor|signer|wallet)/i,
      /(sender|account|actor|signer)s?\b.{0,12}(limit|slots|quota|too many|(pending )?(tx|transaction)s? count)|\bspammer\b|DelegatorHasPendingTx|NotCurrentNonceForDelegation/i,
      /(sender|account|address|signer)\b.{0,12}(exceed|reach).{0,40}(in-?flight|pending|queued|pool|slots|transactions?\b|txs?\b)/i,
      /(transactions?|txs?) (from|by|of) (the |this |that |an? |one |each |same |single )*(sender|account|address|signer)\b.{0,20}(exceed|reach)/i,
    ],
    clients:
      'Besu and others (per sender), geth (account limit, delegated accounts), Lotus (for actor), Erigon and reth (spammer), Nethermind (delegations)',
  },
  {
    is: 'pool_full',
    words: [
      /(pool|queue).{0,30}(full|limit|overflow|capacity|exceed)|queue ?full|too many.{0,20} (transactions|messages)|congestion/i,
      /immediately ?dropped|exhausts|(full|limit).{0,30}(pool|queue)|in-?flight.{0,20}limit|slots|already reserved|size constraints/i,
      /pool\b.{0,20}(maximum|max)\b|(maximum|max)\b.{0,20}\b\w*pool size|maximum number of pending (transactions|txs)|no (more )?(space|room|slot)\b.{0,20}pool/i,
    ],
    clients:
      'geth, Erigon (sub-pool), reth (discarded), Parity, Arbitrum (queue full, L2 congestion), Substrate, Cosmos EVM',
  },
  {
    is: 'rate_limit',
    words: [
      /(transactions|txs) per (second|minute|hour|day)|max(imum)? usage reached|(request|call|credit)s? (count|number|volume|quota)|(limit|cap|allowance|quota|exceed).{0,30}\b(plan|tier|subscription)\b/i,
    ],
    clients: 'gateways: counts and volumes of a plan, which are no size of one call',
  },
  {
    is: 'invalid',
    words: [
      /\b(size|depth|length|count|lines|list|bytes|blobs?|memory|stack|code|calldata|data|execution|steps?)\b.{0,40}(exceed|above the|greater than the allowed)/i,
      /\b(circuit(?! breaker)|row consumption)\b.{0,40}(exceed|limit|overflow)/i,
      /exceed\w*.{0,40}(size|depth|length|bytes|blobs|memory|stack|code|execution time|lines|keys)\b/i,
    ],
    clients:
      'limits of one transaction or call: geth (initcode, blobs), ethrex, reth, hedera (data, block range), Linea (line count, calldata), gateways',
  },
  {
    is: 'invalid',
    words: [
      /(fee|price).{0,20}too (high|large)|exceeds.{0,30}\bcap\b|cap exceeded|\brange\b|batch|more than \d+/i,
      /too (large|big)|oversized|not authorized to send/i,
    ],
    clients: 'Besu (-32005: gas limit, range, batch; -32007: permissions), geth (fee cap), old Optimism (fee too high)',
  },
  {
    is: 'price',
    words: [
      /underpriced|fee ?too ?low|insufficient max ?fee|(fee|price|tip).{0,60}(too low|too small|at least|below|less than|lower than|minim|insufficient|not enough)/i,
      /(insufficient|unacceptable|minimum|minimal|\bmin) (\w+ ){0,2}(gas ?)?(fee|price|tip)|below.{0,30}(base ?fee|minimum)/i,
    ],
    clients:
      'geth and forks, Besu (configured minimum, base fee), Nethermind (FeeTooLow), Celo (floor), Metis, zkSync, Cosmos EVM',
    // geth, Nethermind
    orFull: /transaction underpriced|too ?low ?to ?compete/i,
    states: {
      // geth (two wordings), bor, BSC, reth, Nethermind; the others state a unit
      tipWei: stating(
        'gas tip cap ANY, minimum needed MIN',
        'tip needed MIN, tip permitted ANY',
        'minimum required priority fee MIN',
        'EffectivePriorityFeePerGas too low ANY < MIN',
        `(?:tip|priority fee) (?:must|should) be at least (?=${NUMBER_OF_UNIT})MIN`,
      ),
      // coreth and subnet-evm, hedera, Metis and old Optimism, Flow, Parity; the others state a unit
      priceWei: stating(
        'gas fee cap \\(ANY\\) < pool minimum fee cap \\(MIN\\)',
        "gas price 'ANY' is below configured minimum gas price 'MIN'",
        'gas price too low: ANY, use at least tx\\.gasPrice = MIN',
        'minimum accepted gas price for transactions is: MIN',
        'minimal gas price \\(minimal: MIN,? got: ANY\\)',
        `gas ?price (?:must|should) be at least (?=${NUMBER_OF_UNIT})MIN`,
        `min(?:imum)? gas ?price is (?=${NUMBER_OF_UNIT})MIN`,
      ),
      // geth and forks, hardhat, Cosmos EVM
      baseFeeWei: stating(
        'maxFeePerGas: ANY,? baseFee: MIN',
        '(?:maxFeePerGas|gasPrice) \\(ANY\\) is too low for the next block, which has a baseFeePerGas of MIN',
        'gasfeecap is lower than the tx baseFee: ANY \\(gasfeecap\\), MIN \\(basefee\\)',
      ),
    },
  },
  {
    is: 'rate_limit',
    words: [
      /rate.{0,3}limit|too many (\w+ )?requests|throttl|quota|(compute|credit) units?|\b429\b|requests? per (second|minute|day)/i,
      /(request|daily|usage|capacity|calls?|rps|monthly|credits?|tier).{0,20}(limit|exceeded)|^limit exceeded/i,
      /exceeded.{0,40}(capacity|requests|requests?|calls|(request|daily|usage|monthly|free|plan|tier|\w*second|minute).{0,20}limit)/i,
    ],
    clients: 'gateways',
  },
  {
    is: 'invalid',
    words: [/exceed.{0,80}(limit|max)|(limit|max).{0,80}exceed/i],
    clients: 'all: another limit, that is none of the rate',
  },
  {
    is: 'unsupported',
    words: [
      /method.*(not (found|supported|available|exist|allowed)|unsupported|unknown|disabled)|(unknown|unsupported) method/i,
    ],
    clients: 'all',
  },
  {
    is: 'absent',
    words: [
      /not found|unknown (block|transaction|header)|could not find|not canonical|null round|prun|missing trie node|indexing/i,
      /BlockOutOfRange|beyond head|unfinalized|not accepted|(state|block|history|receipts?).{0,40}(not( yet)?|un) ?available|no such (block|state)/i,
    ],
    clients: 'all: a block, a state or a transaction that is not there yet, or no more',
  },
  {
    is: 'starting',
    words: [
      /bootstrapp|(still|is) starting|not ready|initiali[sz]ing|not (yet )?(in sync|synced|synchroni[sz]ed)|not yet in sync/i,
      /sync is still in progress|not finished sync|catching.?up|^syncing|is (still |currently )*syncing/i,
    ],
    clients: 'AvalancheGo and others after their start, Besu (initial sync, pool not enabled), ethrex',
  },
  {
    is: 'busy',
    words: [
      /timed? ?out|deadline exceeded|unavailable|overload|\bbusy\b|try again|temporar/i,
      /\b50[234]\b|bad gateway|internal server error|network is unreachable|connection (refused|reset)|no such host/i,
      /no (available )?(server|backend|upstream)s?\b|(upstream|backend).{0,20}(failed|error)|returns a null value|healthy|too many (open )?(connections|files)|shutting down|channel closed/i,
    ],
    clients: 'gateways, Arbitrum (network is unreachable), hedera, zkSync (shutting down), reth (channel closed)',
  },
  {
    is: 'unsupported',
    words: [
      /white-?list|allow-?list|not (available|enabled|allowed|permitted|implemented)|access denied|forbidden$/i,
      /\b(plan|tier|subscription|upgrade|api.?key|unauthori[sz]ed)\b/i,
    ],
    clients: 'gateways that forward some methods only',
  },
]);

/** Codes that decide where no words match. @type {Readonly<Record<number, RefusalClass>>} */
const CODES = Object.freeze({
  ...Object.fromEntries(
    [429, -32005, -32007, -32016, -32029, -32090, -32097, -32429].map((code) => [code, 'rate_limit']),
  ),
  [-32601]: 'unsupported',
  [-32004]: 'unsupported', // EIP-1474
  [-32001]: 'absent', // EIP-1474
  [4444]: 'absent', // pruned history (execution-apis)
  [-32006]: 'nonce_high', // Besu
  [-32009]: 'price', // Besu
});

/** Cosmos, hardhat, ganache, EthereumJS and the simulated backend of geth state both nonces: which is higher says which of the two it is. */
const BOTH_NONCES = [
  /(?:nonce|sequence).*\bgot:? ?(?<own>\d+),? expected:? ?(?<next>\d+)/i,
  /(?:nonce|sequence).*\bexpected:?(?: nonce to be)? ?(?<next>\d+),?(?: but)? got:? ?(?<own>\d+)/i,
  /account has nonce of: ?(?<next>\d+) tx has nonce of: ?(?<own>\d+)/i,
  /nonce:? got:? ?(?<own>\d+),? want:? ?(?<next>\d+)/i,
  /nonce ?(?<own>\d+) [<>] (?:state|account|expected|next) nonce ?(?<next>\d+)/i,
];

/** HTTP status of the answer, where the words say nothing. */
const STATUSES = Object.freeze(/** @type {Record<number, RefusalClass>} */ ({ 429: 'rate_limit', 503: 'busy' }));

/**
 * @typedef {{rpcCode: number, rpcMessage: string, status?: number}} ErrorAnswer
 *
 * @param {ErrorAnswer} error
 * @returns {RefusalClass} invalid: final, or not known
 */
export function classOf(error) {
  return refusalOf(error).is;
}

/** @param {ErrorAnswer} error @returns {Refusal} */
export function refusalOf({ rpcCode, rpcMessage, status = 200 }) {
  // Addresses and hashes have any digits.
  const words = rpcMessage.replace(/0x[0-9a-f]+/gi, '0x');
  const known = (/** @type {RefusalClass} */ is, /** @type {Pick<Row, 'states' | 'orFull' | 'remedy'>} */ row = {}) => {
    const stated = statedIn(rpcMessage, row.states ?? {});
    const mayBeFull = Object.keys(stated).length === 0 && row.orFull?.test(words) === true;
    return { is, stated, mayBeFull, isUnknown: false, remedy: row.remedy };
  };
  const nonces = BOTH_NONCES.map((pattern) => pattern.exec(words)?.groups).find((groups) => groups !== undefined);
  if (nonces !== undefined) return known(BigInt(nonces.own) < BigInt(nonces.next) ? 'nonce_low' : 'nonce_high');
  if (STATUSES[status] !== undefined) return known(STATUSES[status]);
  if (/\breverted?\b/i.test(words)) return known('invalid');
  const isFor = (/** @type {Row} */ { code = rpcCode }) => code === rpcCode;
  const row = ROWS.find((one) => isFor(one) && one.words.some((pattern) => pattern.test(words)));
  if (row !== undefined) return known(row.is, row);
  const is = CODES[rpcCode];
  return is === undefined ? { is: 'invalid', stated: {}, mayBeFull: false, isUnknown: true } : known(is);
}

/**
 * Of a submission: words that say of a block or a state that it is absent (account not found, leader not found) are not known
 * as an answer to it.
 * @param {ErrorAnswer} error
 * @returns {Refusal}
 */
export function submissionRefusalOf(error) {
  const refusal = refusalOf(error);
  return refusal.is === 'absent' ? { ...refusal, is: 'invalid', isUnknown: true } : refusal;
}

/** @param {string} words @param {NonNullable<Row['states']>} states @returns {StatedPrice} */
function statedIn(words, states) {
  /** @type {StatedPrice} */
  const stated = {};
  for (const [name, patterns] of Object.entries(states)) {
    const price = patterns.map((pattern) => pattern.exec(words)?.groups?.price).find((text) => text !== undefined);
    const wei = price === undefined ? null : weiOf(price);
    if (wei !== null) stated[/** @type {keyof StatedPrice} */ (name)] = wei;
  }
  return stated;
}

/** The failure code of an operation whose submission was refused. Stable: run files have it. */
const FAILURE_CODES = Object.freeze(
  /** @type {Partial<Record<RefusalClass, string>>} */ ({
    known: 'already_known',
    nonce_low: 'nonce_too_low',
    nonce_high: 'nonce_too_high',
    replacement: 'nonce_in_use',
    funds: 'insufficient_funds',
    price: 'underpriced',
    pool_full: 'pool_full',
    sender_limit: 'sender_limit',
  }),
);

/** @param {RefusalClass} refusal */
export function failureCodeOf(refusal) {
  return FAILURE_CODES[refusal] ?? 'rejected';
}

/** A node with too much to do, or that is not ready. @type {ReadonlySet<RefusalClass>} */
const BUSY = new Set(/** @type {const} */ (['rate_limit', 'starting', 'busy']));

/** Refused transactions that the node may accept later. @type {ReadonlySet<RefusalClass>} */
export const PASSING = new Set(/** @type {const} */ ([...BUSY, 'pool_full', 'sender_limit', 'nonce_high']));

/** Whether it answered that it has too much to do, or is not ready. @param {unknown} error */
export function isBusy(error) {
  return error instanceof RpcError ? BUSY.has(classOf(error)) : error instanceof ProtocolError && error.isBusy;
}

/** Whether a block, a state or a transaction is not there. Nodes without EIP-1898 answer with other errors. @param {unknown} error */
export function isAbsent(error) {
  return error instanceof RpcError && classOf(error) === 'absent';
}

/** Digits behind the decimal point, by unit. @type {Readonly<Record<string, number>>} */
const DECIMALS = Object.freeze({ wei: 0, kwei: 3, mwei: 6, gwei: 9, ether: 18, eth: 18 });

/** What a node states: decimal or hexadecimal, in wei if no unit follows. @param {string} text @returns {bigint | null} null: not sure */
function weiOf(text) {
  const [, number, unit = 'wei'] = /^(0x[0-9a-f]+|\d+(?:\.\d+)?) ?(wei|kwei|mwei|gwei|ether|eth)?$/i.exec(text) ?? [];
  if (number === undefined) return null;
  const decimals = DECIMALS[unit.toLowerCase()];
  if (/^0x/i.test(number)) return BigInt(number) * 10n ** BigInt(decimals);
  const [whole, part = ''] = number.split('.');
  // A part of a wei is no amount.
  return part.length > decimals ? null : BigInt(whole + part.padEnd(decimals, '0'));
}
