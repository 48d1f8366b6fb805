/**
 * The features of a run with their values, as words of the command line; the first value of each is its default. A new feature
 * is a row here, and is then run beside every other one.
 */
import { Wallet } from 'ethers';
import { readArtifact } from '../../src/workloads/contract-state.js';

/**
 * @typedef {object} Value
 * @property {string} [args] words of the command line
 * @property {NodeJS.ProcessEnv} [env]
 * @property {number[]} [rpcs] numbers of the endpoints
 * @property {string} [scheme] of the endpoints
 * @property {string} [rich] the only address that has funds before the run
 * @property {bigint} [richWei] what it has
 * @property {string} [limits] verdict that is true of a run that it limits, if nothing else does
 * @property {boolean} [isNeutral] it limits nothing
 *
 * @typedef {Readonly<Record<string, Value>>} Values
 */

export const FUNDER_KEY = `0x${'5e'.repeat(32)}`;
export const FUNDER = new Wallet(FUNDER_KEY).address.toLowerCase();

/** What no output may show. */
export const SECRETS = Object.freeze([
  FUNDER_KEY.slice(2),
  'planted-header',
  'planted-password',
  'planted0123456789abcdef',
]);

/** @param {string} folder of the files that they name @returns {Readonly<Record<string, Values>>} */
export function featuresIn(folder) {
  const file = (/** @type {string} */ name) => `${folder}/${name}`;
  return {
    workload: {
      counter: {},
      transfer: { args: '--workload transfer', isNeutral: true },
      deploy: { args: '--workload deploy --set bytes=100' },
      calls: { args: '--workload rpc --method eth_blockNumber' },
      'calls of a preset': { args: '--workload rpc --calls light' },
      'calls of a file': { args: `--workload rpc --calls ${file('own.json')}` },
      'recorded calls': { args: `--workload rpc --calls ${file('recorded.ndjson')}` },
      'recorded calls, compared': {
        args: `--workload rpc --calls ${file('recorded.ndjson')} --check-rpc http://127.0.0.1:9`,
      },
      'calls of a file, compared': {
        args: `--workload rpc --calls ${file('same.json')} --check-rpc http://127.0.0.1:9`,
      },
      mix: { args: '--mix counter:50,transfer:50' },
      'mix with calls': { args: '--mix counter:40,calls:60 --method eth_blockNumber' },
      'mix with calls of own addresses': { args: `--mix counter:20,calls:80 --calls ${file('own.json')}` },
      'mix with compared calls': {
        args: `--mix counter:50,calls:50 --calls ${file('recorded.ndjson')} --check-rpc http://127.0.0.1:9`,
      },
      'mix with calls that the node lacks': { args: '--mix counter:50,calls:50 --method trace_block' },
      'a contract': {
        args: `--workload contract --deploy ${file('counter.json')} --function increment --before increment --call-value 5wei`,
      },
      'mix with contracts': {
        args: `--mix counter:30,own:40,same:30 --workloads ${namedCalls(file('counter.json'))}`,
      },
    },
    inFlight: { 1: {}, 4: { args: '--in-flight 4', isNeutral: true } },
    load: {
      closed: {},
      rate: { args: '--rate 12', limits: 'rate-bound' },
      'random arrivals': { args: '--rate 12 --arrival poisson', limits: 'rate-bound' },
      stages: { args: '--stages 6/2s,16/2s,16:4/2s', limits: 'rate-bound' },
      iterations: { args: '--iterations 5' },
      'gas rate': { args: '--rate 300kgas', limits: 'rate-bound' },
      'pool target': { args: '--pool-target 6', limits: 'rate-bound' },
      'pool of blocks': { args: '--pool-target 1blocks', limits: 'rate-bound' },
      'think time': { args: '--think-time 700ms', limits: 'rate-bound' },
    },
    warmup: { none: {}, fixed: { args: '--warmup 2s', isNeutral: true }, auto: { args: '--warmup auto' } },
    workers: { 1: {}, 2: { args: '--workers 2', isNeutral: true } },
    endpoints: {
      one: { rpcs: [1] },
      two: { rpcs: [1, 2], isNeutral: true },
      'web socket': { rpcs: [1], scheme: 'ws', isNeutral: true },
      'in turn': { rpcs: [1, 2], args: '--spread round-robin', isNeutral: true },
      apart: { rpcs: [1, 2], args: '--spread apart' },
      'other for submissions': { rpcs: [1], args: '--send-rpc http://127.0.0.1:2' },
    },
    inclusion: { auto: {}, sync: { args: '--inclusion sync', isNeutral: true } },
    confirmations: { 0: {}, 2: { args: '--confirmations 2', isNeutral: true } },
    ladder: { none: {}, all: { args: '--ladder auto' }, some: { args: '--ladder pending,safe' } },
    nodeProfile: {
      none: {},
      profiled: { args: '--node-profile http://127.0.0.1:1/profile' },
      'one of two': { args: '--node-profile one=http://127.0.0.1:1/debug/pprof/profile,two=http://127.0.0.1:1/none' },
    },
    nodeMetrics: {
      none: {},
      'two pages': { args: '--node-metrics one=http://127.0.0.1:1/metrics,two=http://127.0.0.1:2/metrics' },
    },
    consistency: { none: {}, checked: { args: '--check consistency --check-share 20%' } },
    funds: {
      rich: {},
      'little funds': { richWei: 9_000_000n, args: '--fund-amount 8000000wei' },
      'paid by a funder': { env: { STRESS_FUNDER_KEY: FUNDER_KEY }, rich: FUNDER },
      refills: {
        env: { STRESS_FUNDER_KEY: FUNDER_KEY },
        rich: FUNDER,
        args: '--fund-amount 30000000wei --refill-below 29500000wei',
      },
      'refills below a low threshold': {
        env: { STRESS_FUNDER_KEY: FUNDER_KEY },
        rich: FUNDER,
        args: '--fund-amount 40000000wei --refill-below 16000000wei',
      },
      'refills of a funder that runs dry': {
        env: { STRESS_FUNDER_KEY: FUNDER_KEY },
        rich: FUNDER,
        richWei: 190_000_000n,
        args: '--fund-amount 30000000wei --refill-below 29500000wei',
      },
    },
    maxBaseFee: {
      none: {},
      // Between the ends of the base fee that rises and falls.
      low: { args: '--max-base-fee 100wei' },
      high: { args: '--max-base-fee 100gwei' },
      'below all': { args: '--max-base-fee 5wei', limits: 'rate-bound' },
    },
    storm: {
      none: {},
      order: { args: '--nonce-order shuffled' },
      duplicates: { args: '--duplicate-share 40%' },
      replacements: { args: '--replace-share 60%' },
    },
    maxSpend: { none: {}, ample: { args: '--max-spend 1' }, tight: { args: '--max-spend 0.000003' } },
    fees: {
      automatic: {},
      'highest fee': { args: '--max-fee 60wei' },
      'no room above the fee': { args: '--max-fee 16wei' },
      legacy: { args: '--legacy', isNeutral: true },
      'a fixed tip': { args: '--tip 2wei' },
    },
    batch: { 1: {}, 8: { args: '--batch 8', isNeutral: true } },
    evidence: {
      none: {},
      written: { args: `--evidence ${file('run.evidence')}`, isNeutral: true },
      signed: { args: `--evidence ${file('run.evidence')} --sign`, isNeutral: true },
    },
    thresholds: { none: {}, some: { args: '--threshold p99<60s,failed<50%,tps>0 --threshold audit=exact' } },
    txTimeout: { usual: {}, short: { args: '--tx-timeout 4s' } },
    secrets: {
      none: {},
      planted: { env: { STRESS_HEADER: 'X-Api-Key: planted-header' } },
    },
    act: {
      none: {},
      'Ctrl-C': {},
      'Ctrl-C twice': {},
      'Ctrl-C between set-up and load': {},
      'Ctrl-C in the drain': {},
    },
    chain: Object.fromEntries(Object.keys(BEHAVIOURS).map((name) => [name, {}])),
  };
}

/** Two calls of one contract. @param {string} artifact */
function namedCalls(artifact) {
  const own = { deploy: artifact, function: 'increment' };
  return JSON.stringify({ own, same: { 'contract-address': 'own', function: 'count', 'call-value': '3wei' } });
}

/** A counter, whose functions take coins. */
const COUNTER = {
  abi: ['increment', 'count'].map((name) => ({ type: 'function', name, inputs: [], stateMutability: 'payable' })),
  bytecode: readArtifact('Counter').bytecode,
};

/** Files that rows name, by name. */
export const FILES = Object.freeze({
  'counter.json': JSON.stringify(COUNTER),
  'own.json': JSON.stringify({
    schema: 'evm-stress/calls@1',
    calls: [
      { name: 'own', method: 'eth_getBalance', params: ['{{address.own}}', 'latest'] },
      { name: 'head', method: 'eth_blockNumber', weight: 2 },
    ],
  }),
  'same.json': JSON.stringify({
    schema: 'evm-stress/calls@1',
    calls: [
      { name: 'balance', method: 'eth_getBalance', params: ['{{address}}', '{{block.latest}}'], check: 'same' },
      { name: 'head', method: 'eth_blockNumber', weight: 2 },
    ],
  }),
  'recorded.ndjson': [
    { method: 'eth_getBalance', params: [`0x${'ab'.repeat(20)}`, 'latest'] },
    { method: 'eth_getBlockByNumber', params: ['latest', false] },
    // The first wallet of the test mnemonic.
    { method: 'eth_getTransactionCount', params: ['0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266', 'latest'] },
  ]
    .map((one, id) => `${JSON.stringify({ jsonrpc: '2.0', id, ...one })}\n`)
    .join(''),
});

/**
 * @import { Answer, Context } from '../helpers/dialect-node.js'
 * @import { RpcRequest } from '../helpers/endpoint.js'
 * @import { MemoryChainOptions, createMemoryChain } from '../helpers/memory-chain.js'
 *
 * @typedef {object} Behaviour of the chain, and of its nodes
 * @property {Omit<MemoryChainOptions, 'clock'>} [chain]
 * @property {Readonly<Record<number, number>>} [lagMs] by number of the node
 * @property {Array<readonly [seconds: number, act: (chain: ReturnType<typeof createMemoryChain>) => void]>} [acts] since
 *   the load began
 * @property {(request: RpcRequest, context: Omit<Context, 'node'> & {seconds: number, node: number, ask: Context['node']}) => Answer | undefined} [before] the
 *   answer in place of the node's; seconds: since the load began, negative before; node: its number; ask: the node itself; one that throws hangs up
 * @property {(request: RpcRequest, answer: Answer, context: Context & {seconds: number, node: number}) => Answer | undefined} [after]
 * @property {(request: {method: string}) => number} [takesMs] before the node takes a request
 * @property {number} [arrivesAfterMs] until the node takes a transaction whose submission had no answer
 * @property {readonly [from: number, to: number, node?: number]} [away] seconds of the load in which no node, or this one, answers
 * @property {readonly [from: number, to: number]} [silent] seconds of the load in which no node answers, and connections stay open
 * @property {readonly [from: number, to: number]} [suspended] seconds of the load in which the machine stands still
 * @property {boolean} [isDeadAtTheEnd]
 * @property {boolean} [isForeign] another program uses a wallet
 * @property {boolean} [hidesPrices] receipts have no price
 * @property {boolean} [statesNoGas]
 * @property {boolean} [contradicts] a node announces what it does not serve
 * @property {string[]} causes verdicts that are true of a run on it, beside those of every chain
 * @property {string[]} [isNoCause] verdicts that are not true of it, although they are of other chains
 */

const LATE_MS = 5000;
const SEND = /^eth_sendRawTransaction/;
const isSend = (/** @type {{method: string}} */ { method }) => SEND.test(method);
const within = (/** @type {number} */ seconds, /** @type {number} */ from, /** @type {number} */ to) =>
  seconds >= from && seconds < to;
/** Up and down between 7 and 252 wei. @param {number} blocks */
const wave = (blocks) => 7n * BigInt(1 + Math.min(blocks % 10, 10 - (blocks % 10))) ** 2n;

/** @type {Readonly<Record<string, Behaviour>>} */
export const BEHAVIOURS = Object.freeze({
  usual: { causes: [] },
  'a reorg': { acts: [[3.3, (chain) => chain.reorg(2, true)]], causes: [] },
  'a reorg that loses transactions': { acts: [[3.3, (chain) => chain.reorg(2, false)]], causes: ['node-bound'] },
  'a late reorg that loses transactions': { acts: [[6.6, (chain) => chain.reorg(3, false)]], causes: ['node-bound'] },
  'no blocks for a while': {
    acts: [
      [2.2, (chain) => chain.halt(true)],
      [6.2, (chain) => chain.halt(false)],
    ],
    causes: ['node-bound', 'no-blocks'],
  },
  'forgotten transactions': {
    acts: [[2.5, (chain) => chain.forget((_, i) => i % 2 === 0)]],
    causes: ['node-bound', 'lost'],
  },
  'transactions that revert': { chain: { reverts: (calls) => calls % 3 === 1 }, causes: ['reverted'] },
  'another sender': {
    acts: [[3, (chain) => chain.takeNonce(chain.submissions.findLast(({ from }) => from !== FUNDER)?.from ?? FUNDER)]],
    isForeign: true,
    causes: [],
  },
  'forgotten transactions that are denied': {
    chain: { deniesForgotten: true },
    acts: [[2.5, (chain) => chain.forget((_, i) => i % 2 === 0)]],
    causes: ['node-bound', 'lost'],
  },
  'a node that lags': { lagMs: { 1: 600 }, causes: ['node-bound'] },
  'a second node that lags': { lagMs: { 2: 600, 9: 600 }, causes: ['node-bound'] },
  'rate limits': {
    before: ({ method }, { seconds, count }) =>
      within(seconds, 1, 4) && count(`limited ${method}`) % 3 === 0 ? { status: 429 } : undefined,
    causes: ['endpoint-limited'],
  },
  'a small pool': { chain: { poolLimit: 3 }, causes: ['node-bound', 'refused'] },
  'a pool that evicts': { chain: { silentPoolLimit: 8 }, causes: ['node-bound', 'refused', 'lost'] },
  'a limit per sender': { chain: { senderLimit: 2 }, causes: ['node-bound', 'refused'] },
  'refused submissions': {
    before: (request, { seconds, count }) =>
      isSend(request) && seconds > 1 && count('refused') % 5 === 0
        ? { error: { code: -32603, message: 'Internal error' } }
        : undefined,
    causes: ['node-bound', 'refused'],
  },
  'slow submissions': {
    takesMs: ({ method }) => (isSend({ method }) ? 700 : 0),
    causes: ['node-bound'],
    isNoCause: ['concurrency-bound'],
  },
  'lost answers': {
    after: (request, _, { seconds, count }) => {
      if (isSend(request) && seconds > 1 && count('lost') % 6 === 0) throw new Error('hangs up');
      return undefined;
    },
    causes: ['endpoint-down'],
  },
  'submissions that arrive late': {
    arrivesAfterMs: LATE_MS,
    before: (request, { seconds, ask, sleep }) => {
      if (!isSend(request) || !within(seconds, 4, 6.5)) return undefined;
      // Its queue is long: the connection is lost, and the node takes the transaction after that.
      void sleep(LATE_MS).then(() => ask(request.method, request.params));
      throw new Error('hangs up');
    },
    causes: ['endpoint-down', 'node-bound', 'lost'],
  },
  'a restart': {
    away: [2, 4.5],
    acts: [[2, (chain) => chain.forget(() => true)]],
    causes: ['endpoint-down', 'node-bound'],
  },
  'a node that is dead at the end': {
    away: [5, Infinity],
    isDeadAtTheEnd: true,
    causes: ['endpoint-down', 'node-bound'],
  },
  'a node that is silent': {
    silent: [0.5, 5.8],
    causes: ['endpoint-down', 'node-bound', 'no-blocks'],
  },
  'a suspended machine': { suspended: [1.5, 4.5], causes: ['stopped'] },
  'a second node that is away': { away: [1.5, 5, 2], causes: ['node-bound'] },
  'a compared node that is away': { away: [1.5, 5, 9], causes: [] },
  'a rising base fee': { chain: { baseFeeAfter: wave }, causes: ['node-bound', 'funds', 'left-out'] },
  'no base fee': { chain: { hasBaseFee: false }, causes: [] },
  'a floor of the tip that rises': {
    chain: { floorAfter: (blocks) => (blocks < 8 ? 2n : 4n) },
    causes: ['node-bound', 'refused'],
  },
  'blocks that leave low tips out': {
    chain: { takenAfter: (blocks) => (blocks < 8 ? 1n : 9n) },
    causes: ['node-bound', 'left-out'],
  },
  'free gas': { chain: { baseFeeAfter: () => 0n, tipWei: 0n }, causes: [] },
  'small blocks': { chain: { gasLimit: 450_000 }, causes: ['node-bound'] },
  'no gas of blocks': {
    statesNoGas: true,
    after: ({ method }, { result }) =>
      /^eth_getBlockBy/.test(method) && (result ?? null) !== null
        ? { result: { ...result, gasUsed: '0x0' } }
        : undefined,
    causes: [],
  },
  'no receipts of blocks': {
    before: ({ method }) =>
      method === 'eth_getBlockReceipts'
        ? { error: { code: -32601, message: 'the method eth_getBlockReceipts does not exist' } }
        : undefined,
    causes: [],
  },
  'receipts without a price': {
    after: ({ method }, { result }) => {
      if (!/Receipt/.test(method) || (result ?? null) === null) return undefined;
      const priceless = (/** @type {any} */ receipt) => ({ ...receipt, effectiveGasPrice: undefined });
      return { result: Array.isArray(result) ? result.map(priceless) : priceless(result) };
    },
    hidesPrices: true,
    causes: [],
  },
  'late receipts': {
    contradicts: true,
    after: ({ method, params }, { result }, { state, nowMs }) => {
      if (method !== 'eth_getTransactionReceipt' || (result ?? null) === null) return undefined;
      state[params[0]] ??= nowMs();
      return nowMs() - state[params[0]] < 700 ? { result: null } : undefined;
    },
    causes: ['node-bound'],
  },
  'a block without its state': {
    contradicts: true,
    before: ({ method, params }, { state, nowMs }) => {
      const [block] = params.slice(-1);
      if (method !== 'eth_call' || typeof block !== 'object' || block === null) return undefined;
      const { blockHash } = block;
      state[blockHash] ??= nowMs();
      return nowMs() - state[blockHash] < 300 ? { error: { code: -32000, message: 'header not found' } } : undefined;
    },
    causes: ['node-bound'],
  },
});
