/** Endpoints that speak HTTP and JSON-RPC in ways of their own, between the program and a real chain. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { anvilFor } from '../helpers/anvil.js';
import { STRESS, cleanEnvironment } from '../helpers/cli.js';
import { SILENCE, passOn, serve, serveMethods } from '../helpers/endpoint.js';
import { runOf } from '../helpers/run-of.js';
import { assertRefused } from '../helpers/table.js';

/** @import { TestContext } from 'node:test' */

const THREADS = 5;

const chain = anvilFor('--accounts 60 --block-time 0.1');

/** @param {string} body @returns {Promise<string>} the chain's answer */
const ask = async (body) => (await passOn(chain.url, body)).body;

/** The chain's answer, changed if it is one to a batch. @param {(answers: any[]) => any} change */
const changingBatches = (change) =>
  serve(async (body) => {
    const text = await ask(body);
    return { body: body.startsWith('[') ? JSON.stringify(change(JSON.parse(text))) : text };
  });

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

// They wait for blocks most of the time.
describe('batches', { concurrency: 3 }, () => {
  const error = { code: -32600, message: 'batches are not supported' };
  /** How a node treats them. @type {Record<string, () => Promise<{url: string, methods: string[]}>>} */
  const refusals = {
    'one error object': () => changingBatches(() => ({ jsonrpc: '2.0', id: null, error })),
    'a part of the answers': () => changingBatches((answers) => answers.slice(0, Math.ceil(answers.length / 2))),
    'HTTP 413': () =>
      serve(async (body) =>
        body.startsWith('[') ? { status: 413, body: 'Payload Too Large' } : { body: await ask(body) },
      ),
    'no answer at all': () =>
      // The types of serve() know no promise of silence.
      serve((body) => (body.startsWith('[') ? SILENCE : ask(body).then((text) => ({ body: text })))),
  };
  for (const [how, start] of Object.entries(refusals))
    test(`answered with ${how}: asked in smaller ones, and exact`, async (t) => {
      const { url } = await start();
      const transport = how === 'HTTP 413' ? 'tcp' : 'undici';
      const run = await exactRun(t, url, `--transport ${transport} --request-timeout 2s`);
      const { limit, largest, refused, why } = run.generator.batches;
      assert.ok(limit < 100 && refused > 0 && largest <= limit, JSON.stringify(run.generator.batches));
      assert.ok(typeof why === 'string' && why.length > 5, `because of ${why}`);
      if (how === 'one error object') assert.match(why, /batches are not supported/);
    });

  test('answered in another order: exact, and never refused', async (t) => {
    const { url } = await changingBatches((answers) => answers.reverse());
    const { limit, largest, refused, why } = (await exactRun(t, url, '')).generator.batches;
    assert.deepEqual([limit, refused, why], [100, 0, null]);
    assert.ok(largest > 1, 'a batch was sent');
  });
});

for (const transport of ['undici', 'tcp'])
  test(`${transport}: foreign ids of some submissions: they are repeated, each counts once, and exact`, async (t) => {
    let sent = 0;
    const { url } = await serve(async (body) => {
      const text = await ask(body);
      // The first ones are the deployments, without which there is no run.
      const isForeign = body.includes('"eth_sendRawTransaction"') && (sent += 1) > THREADS && sent % 3 === 0;
      return { body: isForeign ? JSON.stringify({ ...JSON.parse(text), id: 987_654_321 }) : text };
    });
    // The node had them before its answer was spoilt: it knows them when they come again.
    const { audit, generator } = await exactRun(t, url, `--transport ${transport}`);
    assert.ok(generator.resubmissions.repeated > 0, 'the fault happened');
    assert.equal(generator.resubmissions.repeated, generator.rpcCalls.resubmit);
    assert.equal(audit.includedLate, 0);
  });

describe('what cannot work is said before anything is started', () => {
  /** @param {string} limit of open files @param {string[]} args */
  async function runWithOpenFiles(limit, args) {
    const script = `ulimit -n ${limit}; exec "$0" "$@"`;
    const child = spawn('sh', ['-c', script, process.execPath, STRESS, ...args], {
      env: cleanEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 60_000,
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (chunk) => (stdout += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk) => (stderr += chunk));
    const [code] = await once(child, 'close');
    return { code, stdout, stderr };
  }

  test('more connections than files may be open', async () => {
    const { url, methods } = await serveMethods({});
    const args = ['-t', '1', '-d', '1s', '--rpc', url, '--connections', '9000'];
    const { code, stdout, stderr } = await runWithOpenFiles('512', args);
    assert.deepEqual([code, stdout, methods], [64, '', []]);
    assert.match(stderr, /^stress: --connections 9000 .*\b512\b.*ulimit -n.*\n$/);
  });

  test('as many as may be open are no fault', async () => {
    const { url, methods } = await serveMethods({});
    const { stderr } = await runWithOpenFiles('512', ['-t', '1', '-d', '1s', '--rpc', url, '--connections', '200']);
    assert.doesNotMatch(stderr, /ulimit/);
    assert.ok(methods.includes('eth_chainId'), 'it went on');
  });
});
