/**
 * What public chains and gateways answer otherwise than geth, as data: kinds A to W with their variants, and what
 * a run must come to with each. The same table runs in memory (test/contracts/dialects.test.js) and before real nodes
 * (test/e2e/dialects.test.js, test/geth/dialects.test.js).
 */
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { Transaction, Wallet, getCreateAddress, keccak256 } from 'ethers';
import { hash32, hex, senderOf } from './memory-chain.js';

/**
 * @import { Answer, Context, Dialect } from './dialect-node.js'
 * @import { RpcRequest } from './endpoint.js'
 * @import { MemoryChainOptions } from './memory-chain.js'
 *
 * @typedef {object} Expectation
 * @property {number} [exit] 0 by default, with an exact audit
 * @property {boolean} [isIncomplete] the audit may be incomplete
 * @property {RegExp[]} [says] in the words of the run
 * @property {RegExp[]} [silent] not in them, beside ACCUSATIONS
 * @property {RegExp} [admits] one of ACCUSATIONS that is true here
 * @property {(run: any) => void} [check] of the run file, which throws
 *
 * @typedef {object} Setting
 * @property {string} row kind, a letter
 * @property {string} name
 * @property {string} words which public chains do so
 * @property {string} [args] of the command line
 * @property {number} [runs] one after the other with the same wallets
 * @property {Omit<MemoryChainOptions, 'clock'>} [chain] in memory
 * @property {NodeJS.ProcessEnv} [env]
 * @property {Array<'memory' | 'anvil' | 'geth'>} [on] what it runs on, memory by default
 * @property {'tcp' | 'undici' | 'ws'} [transport]
 *
 * @typedef {Dialect & Expectation & Setting} Variant
 */

/** Of transactions. */
const LOST = /\blost\b/;

/** What no run may say of a node that only speaks in another way. */
export const ACCUSATIONS = [
  /another run/,
  /\breorg of|by a reorg\b/,
  LOST,
  /NOT EXACT/,
  /does not speak JSON-RPC/,
  /bug of stress/,
  /check that a contract is there/,
  /stale_read|block_changed|head_back/,
];

const BLOCK = 'eth_getBlockByNumber';
const RECEIPT = 'eth_getTransactionReceipt';
const RECEIPTS = 'eth_getBlockReceipts';
const NONCE = 'eth_getTransactionCount';
const TRANSACTION = 'eth_getTransactionByHash';
const SEND = 'eth_sendRawTransaction';
const ESTIMATE = 'eth_estimateGas';
const TWO_CHAINS = /answers for two chains: .*block 0 is 0x[0-9a-f]{64}, and others that it is 0x[0-9a-f]{64}/;
const EVERY_HASH = /^0x[0-9a-f]{64}$/;

/**
 * Results of a method become others.
 * @param {string[]} methods
 * @param {(result: any, request: RpcRequest, context: Context) => any} change
 * @returns {Dialect}
 */
const changed = (methods, change) => ({
  after: async (request, { result = null }, context) =>
    methods.includes(request.method) && result !== null
      ? { result: await change(result, request, context) }
      : undefined,
});

/** A field of blocks, or of all receipts, has another value; undefined: it is absent. @param {string} name @param {(value: any) => any} change @returns {Dialect} */
const fieldOf = (name, change, methods = [BLOCK]) => {
  const one = (/** @type {any} */ object) => ({ ...object, [name]: change(object[name]) });
  return changed(methods, (result) => (Array.isArray(result) ? result.map(one) : one(result)));
};
/** @param {string} name @param {(value: any) => any} change */
const receiptField = (name, change) => fieldOf(name, change, [RECEIPT, RECEIPTS, `${SEND}Sync`]);

/** @typedef {(request: RpcRequest, context: Context) => boolean | Promise<boolean>} When */

/** The answer in place of the node's to some requests. @param {When} when @param {Answer} answer @returns {Dialect} */
const instead = (when, answer) => ({
  before: async (request, context) => ((await when(request, context)) ? answer : undefined),
});
/** @param {When} when @param {string} message @param {number} [code] */
const refused = (when, message, code = -32000) => instead(when, { error: { code, message } });
/** @param {string} method */
const isTo = (method) => (/** @type {RpcRequest} */ request) => request.method === method;
/** One from before the first look at the chain. @param {RpcRequest} request @param {Context} context */
const isOldBlock = async ({ method, params: [at] }, { state, head }) => {
  state.first ??= await head();
  return method === BLOCK && Number(at) < state.first;
};
/** @param {RpcRequest} request */
const isPending = ({ params }) => params.includes('pending');
/** One of so many requests; the first shows that the endpoint is there. @param {number} every */
const oneIn =
  (every) =>
  (/** @type {RpcRequest} */ { method }, /** @type {Context} */ { count }) =>
    method !== 'eth_chainId' && count('requests') % every === 0;

/** Blocks have other numbers outside. @param {(real: number) => number} outside @param {(number: number) => number | null} inside null: a hole @param {Answer} [atHole] undefined: the block before @returns {Dialect} */
function renumbered(outside, inside, atHole) {
  const PLACES = /** @type {Record<string, number>} */ ({
    [BLOCK]: 0,
    [RECEIPTS]: 0,
    [NONCE]: 1,
    eth_getBalance: 1,
    eth_call: 1,
  });
  const within = (/** @type {any} */ at) =>
    EVERY_HASH.test(at) || !/^0x/.test(at) ? at : hex(inside(Number(at)) ?? Number(inside(Number(at) - 1)));
  const shown = (/** @type {string} */ key, /** @type {any} */ value) =>
    ['number', 'blockNumber'].includes(key) && typeof value === 'string' ? hex(outside(Number(value))) : value;
  return {
    before: async ({ method, params }, { node }) => {
      const place = PLACES[method] ?? -1;
      if (atHole && place === 0 && /^0x/.test(params[0]) && inside(Number(params[0])) === null) return atHole;
      const asked = params.map((param, i) => (i === place && typeof param === 'string' ? within(param) : param));
      const filters = asked.map((param) =>
        param?.fromBlock ? { ...param, fromBlock: within(param.fromBlock), toBlock: within(param.toBlock) } : param,
      );
      const answer = await node(method, filters);
      if (method === 'eth_blockNumber') return { result: hex(outside(Number(answer.result))) };
      return JSON.parse(JSON.stringify(answer, shown));
    },
  };
}

/** Every fifth height has no block. @param {Answer} [atHole] */
const holed = (atHole) =>
  renumbered(
    (real) => real + Math.floor(real / 4),
    (number) => (number % 5 === 4 ? null : number - Math.floor(number / 5)),
    atHole,
  );

/**
 * Reads are answered by a replica that is some blocks behind: every second one, or all.
 * @param {number} blocks @param {(context: Context, method: string) => boolean} [isBehind] @returns {Dialect}
 */
const lagging = (blocks, isBehind = ({ count }) => count('reads') % 2 === 1) => ({
  before: async ({ method, params }, context) => {
    const { node, head, nowMs, state } = context;
    if (method === 'eth_chainId') state.begunMs = nowMs();
    const isState = [NONCE, 'eth_getBalance', 'eth_call', 'eth_getCode', ESTIMATE].includes(method);
    if (!isState && ![BLOCK, 'eth_blockNumber', RECEIPT].includes(method)) return undefined;
    if (!isBehind(context, method)) return undefined;
    const last = (await head()) - blocks;
    if (method === 'eth_blockNumber') return { result: hex(last) };
    if (method === ESTIMATE && params.length === 1) return node(method, [...params, hex(last)]);
    const at = params[isState ? 1 : 0];
    const isNew = /^0x/.test(at) && !EVERY_HASH.test(at) && Number(at) > last;
    if (isNew) return isState ? { error: { code: -32000, message: 'header not found' } } : { result: null };
    const answer = await node(
      method,
      params.map((param) => (['latest', 'pending'].includes(param) ? hex(last) : param)),
    );
    return Number(answer.result?.blockNumber) > last ? { result: null } : answer;
  },
});

/** @type {Setting['on']} */
const BOTH = ['memory', 'anvil'];
/** @type {Setting['on']} */
const ALL = ['memory', 'anvil', 'geth'];
const TRANSFER = '--workload transfer';
const TOKEN = fileURLToPath(new URL('../../contracts/artifacts/Token.json', import.meta.url));
const CONTRACT_CALLS = `--workload contract --deploy ${TOKEN} --function transfer --args {{wallet.next}},1 --before mint --before-args 1000`;
/** EIP-8037: what a new account takes beside the payment. */
const NEW_ACCOUNT_GAS = 186_000;
/** EIP-7825. */
const TX_GAS_CAP = 16_777_216;
const CAP_WORDS = 'transaction gas limit too high (cap: 16777216, tx: 20000000)';
const QUEUED_WORDS =
  'insufficient funds for gas * price + value: balance 1000, queued cost 900, tx cost 200, overshot 100';
const LATE_WORDS = 'The transaction was added to the transaction pool but was not processed in time';
/** It pays for wallets that have nothing. */
export const FUNDER = new Wallet(hash32(1, '0'));
const FUNDED = Object.freeze({ STRESS_FUNDER_KEY: FUNDER.privateKey });
const ZERO = hash32(0, '0');
const L1_FEE_WEI = 10n ** 12n;
/** @type {[string, number]} */
const BESU_GAS_LIMIT = ['Transaction gas limit exceeds block gas limit', -32005];

/** @param {string} raw */
const gasLimitOf = (raw) => Number(Transaction.from(raw).gasLimit);
/** @param {RpcRequest} request */
const isAboveCap = ({ method, params }) => method === SEND && gasLimitOf(params[0]) > TX_GAS_CAP;
/** Of transactions, and not of the question whether the method is there. @param {RpcRequest} request @param {Context} context */
const isFourthSync = ({ method, params }, { count }) =>
  method === `${SEND}Sync` && params[0].length > 20 && count('sync') % 4 === 0;

/** @param {any} run */
function hasNoFailures({ failures, counts }) {
  assert.deepEqual([failures, counts.failed], [{}, 0]);
}

/** Inclusion is seen when it happens, not by a recovery seconds later. @param {any} run */
function isPrompt({ rates, counts }) {
  assert.ok(rates.verifiedPerSecond > 2.5, `${rates.verifiedPerSecond} per second`);
  assert.equal(counts.abandoned, 0);
}

/** No transaction is called lost by the node. @param {any} run */
function isNotLost({ generator }) {
  assert.equal(generator.resubmissions.lost, 0);
}

/** @param {any} run */
function isNotLimited({ verdict }) {
  assert.notEqual(verdict.name, 'endpoint-limited');
}

/** Receipts of pooled transactions, as of flashblocks. @param {(head: number) => object} placeAfter @returns {Dialect} */
const early = (placeAfter) => ({
  after: async ({ method, params: [hash] }, { result }, { node, head }) => {
    if (method !== RECEIPT || result) return undefined;
    const { from, to, nonce } = (await node(TRANSACTION, [hash])).result ?? {};
    if (from === undefined) return undefined;
    const contractAddress = to === null ? getCreateAddress({ from, nonce }) : null;
    const gas = { gasUsed: '0x5208', effectiveGasPrice: '0x8' };
    return {
      result: { transactionHash: hash, status: '0x1', from, to, contractAddress, ...gas, ...placeAfter(await head()) },
    };
  },
});

/** A node that is gone for two seconds, and then refuses for a while. @param {string} message @returns {Dialect} */
const restarted = (message) => ({
  before: ({ method }, { nowMs }) => {
    if (nowMs() > 6000 && nowMs() < 8000) throw new Error('the node restarts');
    const isRestarted = method === SEND && nowMs() >= 8000 && nowMs() < 9500;
    return isRestarted ? { error: { code: -32000, message } } : undefined;
  },
});

/** @typedef {Dialect & Expectation & Partial<Setting>} Part */

/** Variants of a row, by name. @param {string} row @param {string} words which public chains do so @param {Part} [usual] */
const rows =
  (row, words, usual = {}) =>
  (/** @type {Record<string, Part>} */ variants) =>
    Object.entries(variants).map(
      ([name, variant]) => /** @type {Variant} */ ({ row, name, words, ...usual, ...variant }),
    );

/** Rate limits of gateways, for one request in seven. @type {Record<string, [number, string]>} */
const LIMITS = {
  'QuickNode, requests': [-32007, '50/second request limit reached - reduce calls per second or upgrade your account'],
  'QuickNode, credits': [-32012, 'credits limited to 6000/sec'],
  'Base, OP proxyd': [-32016, 'over rate limit'],
  relays: [-32029, 'too many requests'],
  'Ankr, Polygon': [-32090, 'Too many requests, reason: call rate limit exhausted, retry in 10s'],
  'a gateway, -32097': [-32097, 'request limit exceeded'],
  'a gateway, -32429': [-32429, 'too many requests per second'],
  Alchemy: [429, 'Your app has exceeded its compute units per second capacity.'],
  'a node behind Base': [-32000, '429 Too Many Requests: {"code":-32016,"message":"over rate limit"}'],
  'Infura, Chainstack': [-32005, 'daily request count exceeded, request rate limited'],
};
const limits = Object.entries(LIMITS).map(([who, [code, message]]) => [
  `a rate limit of ${who}`,
  { ...refused(oneIn(7), message, code), ...(who === 'Alchemy' && { on: ALL }) },
]);

/** A field that is needed is absent, or as it cannot be: one line, before anything of the load is sent. */
const NEEDED = Object.fromEntries(
  /** @type {Array<[name: string, method: string, field: string, dialect: Dialect, more?: Part]>} */ ([
    ['blocks have no hash', BLOCK, 'hash', fieldOf('hash', () => undefined)],
    ['blocks have no number', BLOCK, 'number', fieldOf('number', () => null)],
    ['blocks have no transactions', BLOCK, 'transactions', fieldOf('transactions', () => null), { on: BOTH }],
    ['receipts have no status', RECEIPT, 'status', receiptField('status', () => undefined)],
    ['nonces are null', NONCE, '.*', changed([NONCE], () => null)],
    ['the chain id is above 2^53', 'eth_chainId', '.*', changed(['eth_chainId'], () => '0x20000000000001')],
  ]).map(([name, method, field, dialect, more]) => {
    const says = new RegExp(`^(?:stress: )?http://127\\.0\\.0\\.1:\\d+: ${method}: ${field} is .* expected`, 'm');
    return [name, { ...dialect, says: [says], ...more }];
  }),
);

/** @type {Variant[]} */
export const DIALECTS = [
  ...rows('A', 'Filecoin: Lotus before 2024, Lotus, Forest; Flow, Kakarot, Aurora, RSK', { check: isPrompt })({
    'null at heights without a block': { ...holed({ result: null }), on: ALL },
    'error 12 at heights without a block': holed({ error: { code: 12, message: 'requested epoch was a null round' } }),
    'an error in other words at heights without a block': holed({
      error: { code: -32000, message: 'failed to load tipset: no messages at this epoch' },
    }),
    'the block before at heights without one': holed(),
    'null at heights without a block, --check consistency': {
      ...{ ...holed({ result: null }), on: ['anvil'], args: '--check consistency -d 10s' },
      check: ({ consistency: { violations, checks } }) => {
        assert.deepEqual(violations, {});
        assert.ok(checks.block > 2, JSON.stringify(checks));
      },
    },
    'blocks state no parent': fieldOf('parentHash', () => undefined),
    'parentHash is not the hash of the block before': { ...fieldOf('parentHash', () => hash32(7, 'a')), on: BOTH },
  }),
  ...rows('B', 'Frontier, Nimbus, Besu settings, gateways', { check: isPrompt })({
    'the tag pending is refused': { ...refused(isPending, 'pending is not available', -32602), on: ALL },
    'pending is null': instead(isPending, { result: null }),
    'pending is 0': { ...instead(isPending, { result: '0x0' }), runs: 2 },
    'pending is below latest': {
      before: async (request, { node, head }) =>
        isPending(request) ? node(NONCE, [request.params[0], hex((await head()) - 2)]) : undefined,
      runs: 2,
    },
  }),
  ...rows('C', 'gateways', { check: hasNoFailures, silent: [/rejected/] })({
    ...Object.fromEntries(limits),
    'a rate limit of reads for nine seconds': {
      ...refused(
        ({ method }, { nowMs }) => method === 'eth_call' && nowMs() > 5000 && nowMs() < 14_000,
        'rate limit exceeded',
        -32005,
      ),
      args: '-d 20s',
      silent: [/rejected/, /does not serve/],
      check: (run) => {
        hasNoFailures(run);
        const { limitAnswers, limitedMs } = run.generator.pauses;
        assert.ok(limitAnswers > 4 && limitedMs > 8000, JSON.stringify(run.generator.pauses));
        assert.equal(run.verdict.name, 'endpoint-limited');
      },
    },
    // Of methods that it has answered before: otherwise the method is not served at all.
    'HTTP 403 now and then': {
      before: (request, context) =>
        context.count(request.method) > 1 && oneIn(15)(request, context) ? { status: 403 } : undefined,
    },
  }),
  ...rows('C', 'Besu: no rate limits', { check: isNotLimited })({
    '-32005 of a gas limit': refused(
      ({ method }, { count, nowMs }) => method === SEND && nowMs() > 4000 && count('sent') < 5,
      ...BESU_GAS_LIMIT,
    ),
    '-32005 of the size of a batch': {
      batch: ({ length }) =>
        length > 10 ? { error: { code: -32005, message: 'Number of requests exceeds max batch size' } } : undefined,
      args: '-t 30',
    },
  }),
  ...rows(
    'E',
    'Cosmos chains, zk rollups, Arbitrum, anvil without a limit',
  )({
    'gasLimit is absent': { ...fieldOf('gasLimit', () => undefined), on: BOTH },
    'gasLimit is null': fieldOf('gasLimit', () => null),
    'gasLimit is 0': fieldOf('gasLimit', () => '0x0'),
    'gasLimit is 2^64 - 1': fieldOf('gasLimit', () => '0xffffffffffffffff'),
  }),
  ...rows(
    'E',
    'EIP-4444: geth --history.chain postmerge',
  )({
    'old blocks are null': instead(isOldBlock, { result: null }),
    'old blocks are refused': { ...refused(isOldBlock, 'pruned history unavailable', 4444), on: ALL },
  }),
  ...rows(
    'E',
    'Cosmos EVM, relays, gateways',
  )({
    'eth_maxPriorityFeePerGas is null': instead(isTo('eth_maxPriorityFeePerGas'), { result: null }),
    'gasUsed is a JSON number': fieldOf('gasUsed', Number),
    'gasUsed is absent': {
      ...fieldOf('gasUsed', () => undefined),
      check: ({ rates, unmeasured }) => {
        assert.equal(rates.chainGasPerSecond, null);
        assert.match(unmeasured['/rates/chainGasPerSecond'], /gasUsed is not there/);
      },
    },
    'timestamp is a JSON number': fieldOf('timestamp', Number),
    'timestamp is null': {
      ...fieldOf('timestamp', () => null),
      check: ({ blocks, unmeasured }) => {
        assert.equal(blocks.skewMaxMs, null);
        assert.match(unmeasured['/blocks/skewMaxMs'], /timestamp is not there/);
      },
    },
    'number is a JSON number': fieldOf('number', Number),
    'parentHash is absent': fieldOf('parentHash', () => undefined),
  }),
  ...rows('E', 'old Cosmos EVM, chains before London', { args: TRANSFER, isIncomplete: true })({
    'gasUsed of receipts is absent': receiptField('gasUsed', () => undefined),
    'effectiveGasPrice is null': receiptField('effectiveGasPrice', () => null),
    'effectiveGasPrice is absent': receiptField('effectiveGasPrice', () => undefined),
  }),
  ...rows('E', 'what a run needs', { exit: 69 })(NEEDED),
  ...rows('F', 'Oasis, VeChain', { check: isPrompt })({
    'whole transactions although hashes were asked for': {
      ...changed([BLOCK], async (_, { params }, { node }) => (await node(BLOCK, [params[0], true])).result),
      on: ALL,
    },
  }),
  ...rows('G', 'gateways, old Erigon', { args: TRANSFER, check: isPrompt })({
    'block receipts are null': { ...instead(isTo(RECEIPTS), { result: null }), on: BOTH },
    'block receipts lack some': {
      after: ({ method }, { result }) =>
        method === RECEIPTS && result?.length > 1 ? { result: result.slice(1) } : undefined,
      on: BOTH,
    },
    'block receipts are []': instead(isTo(RECEIPTS), { result: [] }),
    'block receipts are not found': instead(isTo(RECEIPTS), { error: { code: -32000, message: 'block not found' } }),
  }),
  ...rows('G', 'nodes that index late', { args: `${TRANSFER} -d 20s` })({
    'no receipts for twelve seconds': {
      before: ({ method }, { nowMs }) =>
        [RECEIPTS, RECEIPT].includes(method) && nowMs() > 6000 && nowMs() < 18_000 ? { result: null } : undefined,
      says: [/waiting for the receipts or the state of block \d+: http:\/\/127\.0\.0\.1:1 announces it/],
    },
  }),
  ...rows('G', 'flashblocks: Base, Unichain', { check: hasNoFailures })({
    'receipts before their block, of none': early(() => ({ blockNumber: null, blockHash: null })),
    'receipts before their block, of the next': early((head) => ({ blockNumber: hex(head + 1), blockHash: ZERO })),
  }),
  ...rows('H', 'Arbitrum', { args: '--workload logs --page-size 3 --bytes 64', on: ['anvil'] })({
    'the NUMBER opcode counts other blocks': renumbered(
      (real) => real + 1000,
      (number) => Math.max(0, number - 1000),
    ),
  }),
  ...rows('I', 'gateways', { args: '--in-flight 2', on: BOTH })({
    'hashes in capitals': {
      after: (_, answer) =>
        JSON.parse(JSON.stringify(answer), (__, value) =>
          EVERY_HASH.test(value) ? `0x${value.slice(2).toUpperCase()}` : value,
        ),
    },
  }),
  ...rows('J', 'gateways', { on: ['anvil'], transport: 'undici' })({
    'gzip unasked': { encoding: 'gzip' },
    'br unasked': { encoding: 'br' },
    'deflate unasked': { encoding: 'deflate' },
    'gzip unasked, over tcp': { encoding: 'gzip', transport: 'tcp', exit: 69, says: [/gzip/i, /undici/] },
  }),
  ...rows(
    'K',
    'EIP-8037, EIP-7825',
  )({
    'a payment to a fresh account takes 207,000 gas': {
      args: TRANSFER,
      ...refused(
        ({ method, params }) =>
          method === SEND && Transaction.from(params[0]).value > 0n && gasLimitOf(params[0]) < 21_000 + NEW_ACCOUNT_GAS,
        'intrinsic gas too low: have 21000, want 207000',
      ),
      after: ({ method, params }, { result }) =>
        method === 'eth_estimateGas' && params[0].to ? { result: hex(Number(result) + NEW_ACCOUNT_GAS) } : undefined,
    },
    'a payment to many fresh accounts is above 16,777,216 gas': {
      ...{ on: ['anvil'], args: '-t 200', env: FUNDED, ...refused(isAboveCap, CAP_WORDS) },
      after: ({ method, params: [call] }, { result }) =>
        method === 'eth_estimateGas' && !call.to && Number(call.value) > 0
          ? { result: hex(5 * Number(result)) }
          : undefined,
    },
    'a transaction above 16,777,216 gas is refused': {
      ...{ args: '--workload compute --set gas=20000000', ...refused(isAboveCap, CAP_WORDS) },
      after: ({ method }, { result }) =>
        method === 'eth_estimateGas' && Number(result) > TX_GAS_CAP
          ? { error: { code: -32000, message: CAP_WORDS } }
          : undefined,
      ...{ on: ['anvil'], exit: 69, says: [/16777216/, /--set gas|smaller operations/] },
    },
  }),
  ...rows('L', 'gateways over several nodes', { runs: 2 })({
    'a replica three blocks behind, two runs': { ...lagging(3), args: '-t 6', on: BOTH },
    'a replica four blocks of two seconds behind in all reads of the set-up, two runs': {
      ...lagging(4, ({ nowMs, state }) => nowMs() - state.begunMs < 40_000),
      ...{ chain: { blockMs: 2000 }, args: '-d 60s', exit: 69, says: [/start the run again/] },
    },
    'a replica five blocks behind in all reads of the first two seconds, two runs': {
      ...lagging(5, ({ nowMs, state }) => nowMs() - state.begunMs < 2000),
      ...{ exit: 69, says: [/start the run again/] },
    },
  }),
  ...rows('L', 'gateways over several nodes', { on: ['anvil'], check: hasNoFailures })({
    'a replica three blocks behind, a contract that is deployed': { ...lagging(3), args: CONTRACT_CALLS },
    'a replica fourteen blocks behind that estimates all gas': {
      ...lagging(14, (_, method) => method === ESTIMATE),
      ...{ args: CONTRACT_CALLS, says: [/waiting up to 30 s for http\S+ to have block \d+ of the set-up/] },
    },
  }),
  ...rows('M', 'EIP-7966', { args: '--inclusion sync', check: isNotLost })({
    'code 4 after it arrived': {
      before: async (request, context) => {
        if (!isFourthSync(request, context)) return undefined;
        const { result: data } = await context.node(SEND, [request.params[0]]);
        return { error: { code: 4, message: LATE_WORDS, data } };
      },
    },
    'code 4 of a transaction that never arrived': refused(isFourthSync, 'invalid opcode', 4),
  }),
  ...rows('N', 'gateways', { transport: 'ws', on: ['anvil'], args: '-d 12s --request-timeout 5s' })({
    'a web socket that falls silent': { muteAfterMs: 3000, check: hasNoFailures },
  }),
  ...rows('O', 'Cosmos EVM', { args: '-t 40 -d 20s --in-flight 4', chain: { blockMs: 6000 } })({
    'unknown transactions take 1.5 s each, one after the other': {
      isInTurn: true,
      after: async ({ method, params }, { result }, { node, sleep }) => {
        if (result !== null || ![RECEIPT, TRANSACTION].includes(method)) return;
        // A receipt that is still to come is waited for.
        const isPooled = method === RECEIPT && (await node(TRANSACTION, params)).result !== null;
        await sleep(isPooled ? 51_000 : 1500);
      },
      silent: [/is down|does not answer/],
    },
  }),
  ...rows('O', 'Cosmos EVM', { args: '-t 40 -d 20s', transport: 'ws', on: ['anvil'] })({
    'over a socket, 40 transactions are dropped, and looking for each takes 1.5 s': {
      isInTurn: true,
      before: ({ method, params }, { count }) => {
        // After three increments of each wallet.
        const isIncrement = method === SEND && Transaction.from(params[0]).to !== null;
        const number = isIncrement ? count('increments') : 0;
        return number > 120 && number <= 160 ? { result: keccak256(params[0]) } : undefined;
      },
      after: async ({ method }, { result }, { sleep }) => {
        if (result === null && [RECEIPT, TRANSACTION].includes(method)) await sleep(1500);
      },
      silent: [/is down|does not answer/],
      admits: LOST,
      check: ({ counts, generator }) => {
        assert.deepEqual([counts.abandoned, counts.timedOut], [0, 0]);
        assert.ok(generator.resubmissions.lost >= 40);
      },
    },
  }),
  ...rows('P', 'EthereumJS', { args: TRANSFER, isIncomplete: true, says: [/effectiveGasPrice/], on: BOTH })({
    'effectiveGasPrice lacks the base fee': receiptField('effectiveGasPrice', () => '0x1'),
  }),
  ...rows('Q', 'Cosmos EVM', { args: '-t 8 -d 20s --in-flight 4', chain: { packsByLimit: true, gasLimit: 300_000 } })({
    'blocks are packed by gas limit': {
      check: ({ verdict, blocks }) => {
        assert.match(verdict.evidence, /had no room/);
        // Six of the gas limit of a first increment, ten of a later one.
        assert.ok(blocks.ours / blocks.count > 8, `${blocks.ours} in ${blocks.count} blocks`);
      },
    },
  }),
  ...rows('R', 'geth after its start', { args: '-d 15s', check: hasNoFailures, silent: [/rejected/] })({
    'no answers, then "exceeds block gas limit"': restarted('exceeds block gas limit'),
    'no answers, then "insufficient funds"': restarted('insufficient funds for transfer'),
  }),
  ...rows('S', 'quiet test networks', {
    chain: {
      baseFeeAfter: (blocks) => 2n ** BigInt(Math.max(0, Math.min(blocks, 12))),
      rich: FUNDER.address.toLowerCase(),
    },
  })({
    'a base fee that has decayed to 1 wei': {
      env: FUNDED,
      check: hasNoFailures,
    },
  }),
  ...rows('T', 'OP stack: the deposit', { chain: { hasDeposits: true } })({
    'each block has a transaction of others': {
      check: ({ gas }) => assert.ok(gas.operations > 0 && gas.used > 26_000 * gas.operations, String(gas.used)),
    },
  }),
  ...rows('U', 'geth', { exit: 69, says: [/wallet 2\b/, /stress fund|--fund|wait|-o/] })({
    'queued transactions of an earlier run count': refused(({ method, params }, { state }) => {
      if (method !== SEND) return false;
      const from = senderOf(Transaction.from(params[0]));
      state.senders = [...new Set([...(state.senders ?? []), from])];
      return state.senders.indexOf(from) === 2;
    }, QUEUED_WORDS),
  }),
  ...rows('V', 'OP stack, Scroll', { chain: { l1FeeWei: L1_FEE_WEI }, args: '--max-spend 1' })({
    'receipts have L1 fees': {
      check: ({ spending: { setUpWei } }) => assert.ok(BigInt(setUpWei) >= 4n * L1_FEE_WEI, setUpWei),
    },
  }),
  ...rows('W', 'a load balancer before nodes of two chains', { exit: 69, says: [TWO_CHAINS, /Nothing was sent/] })({
    'every second answer is of the other one': {
      ...changed([BLOCK], (block, _, { count }) =>
        count('block') % 2 === 0 ? { ...block, hash: hash32(Number(block.number), 'b', 7) } : block,
      ),
    },
  }),
];
