import { keccak256 } from 'ethers';

/** @import { Fault } from './fault-proxy.js' */

/**
 * Faults that are in what is said, and not in how it travels: an endpoint that does not know a method, takes no
 * batches, answers with wrong ids or in another order, loses transactions, or lags behind.
 *
 * @typedef {object} JsonRequest
 * @property {unknown} id
 * @property {string} method
 * @property {any[]} params
 *
 * @typedef {object} Plan what becomes of the body of one request
 * @property {string | null} forward what the node is asked; null: it is not asked
 * @property {(answer: string) => string} finish what the client gets; without an answer of the node it is given ''
 */

/** A node behind a load balancer says so of a block that it does not have yet. */
const HEADER_NOT_FOUND = Object.freeze({ code: -32000, message: 'header not found' });

/** Where a method's parameters name the block as of which it answers. */
const BLOCK_PARAMETER = Object.freeze({ eth_call: 1, eth_getTransactionCount: 1, eth_getBalance: 1, eth_getCode: 1 });

/**
 * @param {Fault} fault
 * @param {string} body
 * @param {{blocks: Map<string, number>, random: () => number}} surroundings blocks: the node's by hash, the latest one
 *   last; random: in [0, 1)
 * @returns {Plan | null} null: this fault has nothing to do with this request
 */
export function planOf(fault, body, { blocks, random }) {
  const isBatch = body.startsWith('[');
  switch (fault.kind) {
    case 'noMethod':
      return planEach(body, ({ method }) => (fault.methods?.includes(method) ? { error: notFound(method) } : null));
    case 'swallow':
      return planEach(body, ({ method, params }) =>
        method === 'eth_sendRawTransaction' ? { result: keccak256(params[0]) } : null,
      );
    case 'lag':
      return lagging(body, ([...blocks.values()].at(-1) ?? 0) - (fault.blocks ?? 0), blocks);
    case 'noBatches':
      return isBatch ? { forward: null, finish: () => refusal() } : null;
    case 'wrongId':
      return { forward: body, finish: (answer) => changeIds(answer) };
    case 'shuffle':
      return isBatch ? { forward: body, finish: (answer) => shuffled(answer, random) } : null;
    default:
      return null;
  }
}

/** @param {string} method */
function notFound(method) {
  return { code: -32601, message: `the method ${method} does not exist/is not available` };
}

function refusal() {
  return JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32600, message: 'batches are not supported' } });
}

/**
 * Answers some requests of a body itself, and lets the node answer the rest.
 * @param {string} body
 * @param {(request: JsonRequest) => object | null} own null: the node's business
 * @returns {Plan | null} null when all of it is
 */
function planEach(body, own) {
  const json = JSON.parse(body);
  /** @type {JsonRequest[]} */
  const requests = [json].flat();
  const answers = requests.map((request) => {
    const answer = own(request);
    return answer === null ? null : { jsonrpc: '2.0', id: request.id, ...answer };
  });
  if (answers.every((answer) => answer === null)) return null;
  const rest = requests.filter((_, i) => answers[i] === null);
  const finish = (/** @type {string} */ text) => {
    const all = [...answers.filter((answer) => answer !== null), ...(text === '' ? [] : [JSON.parse(text)].flat())];
    return JSON.stringify(Array.isArray(json) ? all : all[0]);
  };
  return { forward: rest.length === 0 ? null : JSON.stringify(rest), finish };
}

/**
 * The same node as it was some blocks ago, as far as it can be asked for that.
 * @param {string} body
 * @param {number} limit the latest block that it has
 * @param {Map<string, number>} blocks
 * @returns {Plan | null}
 */
function lagging(body, limit, blocks) {
  const json = JSON.parse(body);
  /** @type {JsonRequest[]} */
  const requests = [json].flat();
  const latest = `0x${Math.max(limit, 0).toString(16)}`;
  /** @type {Map<unknown, (answer: any) => any>} */
  const changes = new Map();
  const sent = requests.map((request) => {
    const { id, method } = request;
    const params = [...request.params];
    const at = /** @type {Record<string, number>} */ (BLOCK_PARAMETER)[method];
    const asOf = at === undefined ? undefined : (blocks.get(params[at]?.blockHash) ?? params[at]);
    if (isAfter(asOf, limit)) changes.set(id, () => ({ error: HEADER_NOT_FOUND }));
    if (at !== undefined && isTag(params[at])) params[at] = latest;
    if (method === 'eth_blockNumber') changes.set(id, () => ({ result: latest }));
    if (method === 'eth_getBlockByNumber' && isTag(params[0])) params[0] = latest;
    if (/^eth_get(BlockBy|BlockReceipts|TransactionReceipt)/.test(method))
      changes.set(id, ({ result }) => ({ result: isLater(result, limit) ? null : result }));
    if (method === 'eth_getTransactionByHash')
      changes.set(id, ({ result }) => ({ result: isLater(result, limit) ? { ...result, blockNumber: null } : result }));
    return { ...request, params };
  });
  if (changes.size === 0 && JSON.stringify(sent) === JSON.stringify(requests)) return null;
  const finish = (/** @type {string} */ text) => {
    const answers = [JSON.parse(text)].flat().map((answer) => {
      const change = changes.get(answer.id);
      return change === undefined ? answer : { jsonrpc: '2.0', id: answer.id, ...change(answer) };
    });
    return JSON.stringify(Array.isArray(json) ? answers : answers[0]);
  };
  return { forward: JSON.stringify(Array.isArray(json) ? sent : sent[0]), finish };
}

/** @param {unknown} block */
function isTag(block) {
  return block === 'latest' || block === 'pending' || block === undefined;
}

/** @param {unknown} block by number or by tag @param {number} limit */
function isAfter(block, limit) {
  return Number(block) > limit; // a tag is no number, and so is never after
}

/** @param {any} result of a block or of something in a block @param {number} limit */
function isLater(result, limit) {
  const number = [result].flat()[0]?.blockNumber ?? result?.number;
  return number !== undefined && number !== null && Number(number) > limit;
}

/** @param {string} answer */
function changeIds(answer) {
  const json = JSON.parse(answer);
  const changed = [json].flat().map((one) => ({ ...one, id: Number(one.id) + 1_000_000_000 }));
  return JSON.stringify(Array.isArray(json) ? changed : changed[0]);
}

/** @param {string} answer of a batch @param {() => number} random */
function shuffled(answer, random) {
  /** @type {unknown[]} */
  const all = JSON.parse(answer);
  for (let i = all.length - 1; i > 0; i -= 1) {
    const other = Math.floor(random() * (i + 1));
    [all[i], all[other]] = [all[other], all[i]];
  }
  return JSON.stringify(all);
}
