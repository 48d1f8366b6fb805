/** The consistency checks against anvil, behind a proxy for each fault: each is found, and nothing else is reported. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRpc } from '../../src/chain/rpc.js';
import { createClock } from '../../src/clock.js';
import { ConsistencyChecker } from '../../src/observers/consistency/checker.js';
import { CheckedEndpoint } from '../../src/observers/consistency/endpoint.js';
import { checkSubscription } from '../../src/observers/consistency/subscription.js';
import { chooseTransport } from '../../src/transport/choose.js';
import { transports } from '../../src/transport/index.js';
import { startAnvil } from '../helpers/anvil.js';
import { FAULTS, startInconsistentNode } from '../helpers/inconsistent-node.js';

/**
 * @import { Anvil } from '../helpers/anvil.js'
 * @import { VerifiedOperation } from '../../src/observers/consistency/checks.js'
 */

/** One in so many answers is wrong. */
const EVERY = 10;
const [LEAST_MS, LONGEST_MS] = [2000, 90_000];

/**
 * A contract that counts its calls and logs each count; a call with data answers the count:
 * CALLDATASIZE JUMPI(25) SSTORE(0, SLOAD(0) + 1) LOG1(count, topic 7) STOP JUMPDEST RETURN(SLOAD(0)).
 */
const RUNTIME = '3660195760005460010180600055600052600760206000a1005b60005460005260206000f3';

/** @type {Anvil} */
let anvil;
/** @type {Array<(operation: VerifiedOperation) => void>} */
const listeners = [];
const over = new AbortController();
/** @type {Promise<unknown>} */
let load;

/** @param {string} hash @returns {Promise<any>} its receipt */
async function mined(hash) {
  for (;;) {
    const receipt = await anvil.rpc('eth_getTransactionReceipt', [hash]);
    if (receipt !== null) return receipt;
    await sleep(20);
  }
}

/** Calls the contract again and again. @param {string} from @param {string} to */
async function send(from, to) {
  for (let nonce = 0; !over.signal.aborted; nonce += 1) {
    const hash = await anvil.rpc('eth_sendTransaction', [{ from, to, gas: '0x20000' }]);
    const { blockNumber, logs } = await mined(hash);
    const read = { call: { to, data: '0x01' }, least: String(BigInt(logs[0].data)) };
    for (const add of listeners) add({ address: from, nonce, hash, blockNumber: Number(blockNumber), read });
  }
}

/** Until it has found something, or made so many kinds of checks. @param {string} url @param {number} [kinds] */
async function check(url, kinds = Infinity) {
  const clock = createClock();
  const ended = new AbortController();
  const { signal } = ended;
  const address = new URL(url);
  const transport = transports[chooseTransport('auto', address)]({ url: address, connections: 1, timeoutMs: 120_000 });
  const endpoint = new CheckedEndpoint(createRpc(transport, url), url, clock, signal);
  const onViolation = () => setTimeout(() => ended.abort(), 300);
  const checker = new ConsistencyChecker({
    random: Math.random,
    endpoints: [endpoint],
    clock,
    signal,
    share: 1,
    onViolation,
  });
  checker.noteRequests(2000);
  listeners.push((operation) => checker.add(operation));
  const timer = setTimeout(() => ended.abort(), LONGEST_MS);
  const poll = setInterval(() => Object.keys(checker.report().checks).length >= kinds && ended.abort(), LEAST_MS);
  await Promise.all([checkSubscription({ checker, endpoint, clock, signal }), checker.run()]);
  clearTimeout(timer);
  clearInterval(poll);
  await transport.close();
  return checker.report();
}

describe('a node that contradicts itself', { concurrency: true }, () => {
  before(async () => {
    anvil = await startAnvil({ args: ['--block-time', '0.1'] });
    const [from, ...senders] = (await anvil.rpc('eth_accounts')).slice(0, 6);
    const data = `0x60${(RUNTIME.length / 2).toString(16)}80600b6000396000f3${RUNTIME}`;
    const { contractAddress: to } = await mined(
      await anvil.rpc('eth_sendTransaction', [{ from, data, gas: '0x100000' }]),
    );
    load = Promise.all(senders.map((/** @type {string} */ sender) => send(sender, to)));
  });
  after(async () => {
    over.abort();
    await load;
  });

  for (const [code, fault] of Object.entries(FAULTS)) {
    test(code, async (t) => {
      const node = await startInconsistentNode(anvil.url, fault, EVERY);
      t.after(node.stop);
      node.begin();
      const { violations, checks, off } = await check(code.startsWith('head_') ? node.ws : node.http);
      assert.deepEqual(Object.keys(violations), [code], JSON.stringify({ violations, checks, off }));
      const [{ commands, words }] = violations[code].examples;
      assert.equal(commands.length, 2, words);
    });
  }

  test('without a fault nothing is reported, and all checks are made', async (t) => {
    const node = await startInconsistentNode(anvil.url, {}, EVERY);
    t.after(node.stop);
    const { violations, checks, off } = await check(node.ws, 9);
    assert.deepEqual([violations, off], [{}, {}]);
    assert.equal(Object.keys(checks).length, 9);
  });
});
