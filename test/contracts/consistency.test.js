/** The consistency checks against anvil, which agrees with itself: each is made, and nothing is reported. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRpc } from '../../src/chain/rpc.js';
import { createClock } from '../../src/clock.js';
import { ConsistencyChecker } from '../../src/observers/consistency/checker.js';
import { CheckedEndpoint } from '../../src/observers/consistency/endpoint.js';
import { checkSubscription } from '../../src/observers/consistency/subscription.js';
import { transports } from '../../src/transport/index.js';
import { anvilFor } from '../helpers/anvil.js';

const [LEAST_MS, LONGEST_MS] = [2000, 90_000];

/**
 * A contract that counts its calls and logs each count; a call with data answers the count:
 * CALLDATASIZE JUMPI(25) SSTORE(0, SLOAD(0) + 1) LOG1(count, topic 7) STOP JUMPDEST RETURN(SLOAD(0)).
 */
const RUNTIME = '3660195760005460010180600055600052600760206000a1005b60005460005260206000f3';

const anvil = anvilFor('--block-time 0.1');

/** @param {object} transaction @returns {Promise<any>} its receipt */
async function mined(transaction) {
  const hash = await anvil.rpc('eth_sendTransaction', [{ gas: '0x100000', ...transaction }]);
  for (;;) {
    const receipt = await anvil.rpc('eth_getTransactionReceipt', [hash]);
    if (receipt !== null) return receipt;
    await sleep(20);
  }
}

test('without a fault nothing is reported, and all checks are made', async (t) => {
  const [clock, ended] = [createClock(), new AbortController()];
  const { signal } = ended;
  const url = new URL(anvil.url.replace('http', 'ws'));
  const transport = transports.ws({ url, connections: 1, timeoutMs: 120_000 });
  t.after(() => transport.close());
  const endpoint = new CheckedEndpoint(createRpc(transport, url.href), url.href, clock, signal);
  const onViolation = () => ended.abort();
  const checker = new ConsistencyChecker({ endpoints: [endpoint], clock, signal, share: 1, onViolation });
  checker.noteRequests(2000);
  const [from, ...senders] = (await anvil.rpc('eth_accounts')).slice(0, 6);
  const data = `0x60${(RUNTIME.length / 2).toString(16)}80600b6000396000f3${RUNTIME}`;
  const { contractAddress: to } = await mined({ from, data });
  /** Calls the contract again and again. @param {string} sender */
  const send = async (sender) => {
    for (let nonce = 0; !signal.aborted; nonce += 1) {
      const { transactionHash: hash, blockNumber, logs } = await mined({ from: sender, to });
      const read = { call: { to, data: '0x01' }, least: String(BigInt(logs[0].data)) };
      checker.add({ address: sender, nonce, hash, blockNumber: Number(blockNumber), read });
    }
  };
  const load = Promise.all(senders.map(send));
  const timer = setTimeout(() => ended.abort(), LONGEST_MS);
  const poll = setInterval(() => Object.keys(checker.report().checks).length === 9 && ended.abort(), LEAST_MS);
  await checkSubscription(checker, endpoint);
  await checker.run();
  clearTimeout(timer);
  clearInterval(poll);
  await load;
  const { violations, checks, off } = checker.report();
  assert.deepEqual([violations, off], [{}, {}]);
  assert.equal(Object.keys(checks).length, 9);
});
