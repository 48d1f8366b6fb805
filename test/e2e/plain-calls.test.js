/** `--workload rpc`: plain calls, which need no wallets, no funds and no chain that mines. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { anvilFor } from '../helpers/anvil.js';
import { serve } from '../helpers/endpoint.js';
import { runOf, sumOf } from '../helpers/run-of.js';

/**
 * @import { RunOptions } from '../helpers/run-of.js'
 * @import { TestContext } from 'node:test'
 */

const anvil = anvilFor();

/** Four users, whose pauses leave the machine to others. */
const USERS = '-t 4 --think-time 10ms --workload rpc --interval 200ms';

/**
 * @param {TestContext} t
 * @param {{url: string} | null} chain
 * @param {string | string[]} words
 * @param {Omit<RunOptions, 'chain'> & {exit?: number, during?: (stress: any) => unknown}} [options]
 */
async function callsOf(t, chain, words, options = {}) {
  const more = typeof words === 'string' ? words.split(' ') : words;
  const result = await runOf(t, [...USERS.split(' '), ...more], { chain, isAlone: true, ...options });
  if (result.run !== null) assertCalls(result.run);
  return result;
}

/** What holds for every run of plain calls: nothing is sent to the chain, and nothing of it is audited. @param {any} run */
function assertCalls({ latency, generator, unmeasured, audit, environment }) {
  assert.equal(latency.stages.inclusion.maxUs ?? 0, 0, 'nothing is waited for');
  assert.equal(latency.stages.readBack.maxUs ?? 0, 0, 'nothing is read back');
  for (const purpose of Object.keys(generator.rpcCalls)) assert.match(purpose, /^(setup|check|load)$/);
  assert.equal(generator.presigned.used + generator.presigned.discarded, 0);
  assert.equal(audit, null);
  assert.match(unmeasured['/audit'], /plain calls/);
  for (const name of ['signer', 'feeMode', 'inclusion', 'blockGasLimit', 'genesisHash'])
    assert.equal(environment[name], null, name);
  assert.equal(generator.inclusionResolutionMs, null);
}

/** Nothing of a run is on the chain: no block, no transaction, no funds. */
async function stateOfChain() {
  return {
    head: await anvil.rpc('eth_blockNumber'),
    pool: await anvil.rpc('txpool_status'),
    // Wallet 15 of the test mnemonic, which anvil does not fund by itself.
    balance: await anvil.rpc('eth_getBalance', ['0xcd3B766CCDd6AE721141F452C550Ca635964ce71', 'latest']),
    nonce: await anvil.rpc('eth_getTransactionCount', ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', 'latest']),
  };
}

describe('--workload rpc', () => {
  for (const [name, workers, words] of /** @type {const} */ ([
    ['undici', 1, '--method eth_blockNumber'],
    ['two workers over tcp', 2, '--method eth_blockNumber --workers 2 --transport tcp'],
    ['with parameters, from another offset', 1, '--method eth_getBlockByNumber --params ["0x0",false] -o 12'],
  ]))
    test(`${name}: exit 0, all figures add up, nothing is left on the chain`, async (t) => {
      const before = await stateOfChain();
      const { run, stdout, stderr } = await callsOf(t, anvil, `${words} -d 600ms`);
      assert.equal(stderr, '');
      assert.match(stdout, /^4 users: workload rpc \(eth_\w+\) at http/m);
      assert.match(stdout, /^ {2}audit +none: plain calls/m);
      assert.doesNotMatch(stdout, /wallets/);
      const { counts, generator, environment, end, exitCode } = run;
      assert.deepEqual([exitCode, end, generator.workers, environment.chainId], [0, 'duration', workers, 31337]);
      assert.ok(counts.verified > 0 && counts.verified === counts.started);
      assert.equal(generator.rpcCalls.load, counts.started);
      assert.equal(generator.transport.requests, sumOf(Object.values(generator.rpcCalls)));
      assert.deepEqual(await stateOfChain(), before);
    });

  test('on the embedded chain, without a wallet', async (t) => {
    const { run, stdout, stderr } = await callsOf(t, null, '--method eth_blockNumber -d 500ms');
    assert.equal(stderr, '');
    assert.doesNotMatch(stdout, /funded/);
    assert.ok(run.environment.embeddedChain && run.counts.verified > 0);
  });
});

test('a server that answers a constant needs --fixed-id', async (t) => {
  const constant = await serve(() => ({ body: '{"jsonrpc":"2.0","id":1,"result":"0x1b4"}' }));
  for (const more of ['--transport undici', '--transport tcp --workers 2']) {
    const { run, stderr } = await callsOf(t, constant, `--method eth_blockNumber --fixed-id 1 -d 400ms ${more}`);
    assert.equal(stderr, '');
    assert.ok(run.counts.verified > 0 && run.counts.verified === run.counts.started);
  }
  for (const more of ['', ' --fixed-id 2']) {
    const words = `${USERS} --method eth_blockNumber -d 400ms${more}`;
    const { stderr } = await runOf(t, words, { chain: constant, exit: 69 });
    assert.match(stderr, /^stress: http:\/\/127\.0\.0\.1:\d+ answered eth_chainId with a foreign id$/m);
  }
});
