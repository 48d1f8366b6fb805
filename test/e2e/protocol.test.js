/** Endpoints that speak HTTP and JSON-RPC in ways of their own, between the program and a real chain. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { anvilFor } from '../helpers/anvil.js';
import { spawnStress } from '../helpers/cli.js';
import { passOn, serve, serveMethods } from '../helpers/endpoint.js';
import { runOf } from '../helpers/run-of.js';
import { assertRefused } from '../helpers/table.js';

/** @import { TestContext } from 'node:test' */

const THREADS = 5;

const chain = anvilFor('--accounts 60 --block-time 0.1');

/** @param {string} body @returns {Promise<string>} the chain's answer */
const ask = async (body) => (await passOn(chain.url, body)).body;

/** A small run that must verify something, and whose audit must be exact. @param {TestContext} t @param {string} rpc @param {string} words */
async function exactRun(t, rpc, words) {
  const { run } = await runOf(t, `-d 500ms ${words}`, { chain, rpc, threads: THREADS });
  const { counts, failures, audit } = run;
  assert.ok(counts.verified >= THREADS, `${counts.verified} verified`);
  assert.deepEqual([audit.exact, failures, counts.timedOut, counts.abandoned], [true, {}, 0, 0]);
  assert.equal(counts.verified, counts.started);
  return run;
}

test('https with a self-signed certificate is refused, unless --insecure accepts it', async (t) => {
  const { url, methods } = await serve(async (body) => ({ body: await ask(body) }), { isSecure: true });
  await assertRefused(t, [
    [`-t 1 -d 1s --rpc ${url} --chain-id 31337`, 69, /^stress: https:\S+: .*certificate.*self-signed.*--insecure/],
    [`-t 1 -d 1s --rpc ${url} --transport tcp`, 64, /^stress: .*--transport undici/],
    [`-t 1 -d 1s --rpc ${url} --transport tcp --insecure`, 64, /^stress: .*--transport undici/],
  ]);
  assert.deepEqual(methods, []);
  await exactRun(t, url, '--insecure');
});

describe('what cannot work is said before anything is started', () => {
  /** @param {string[]} args */
  const withFewFiles = (...args) =>
    spawnStress(['-t', '1', '-d', '1s', ...args], { via: ['sh', '-c', 'ulimit -n 512; exec "$0" "$@"'] }).done;

  test('more connections than files may be open', async () => {
    const { url, methods } = await serveMethods({});
    const { code, stdout, stderr } = await withFewFiles('--rpc', url, '--connections', '9000');
    assert.deepEqual([code, stdout, methods], [64, '', []]);
    assert.match(stderr, /^stress: --connections 9000 .*\b512\b.*ulimit -n.*\n$/);
  });

  test('as many as may be open are no fault', async () => {
    const { url, methods } = await serveMethods({});
    const { stderr } = await withFewFiles('--rpc', url, '--connections', '200');
    assert.doesNotMatch(stderr, /ulimit/);
    assert.ok(methods.includes('eth_chainId'), 'it went on');
  });
});
