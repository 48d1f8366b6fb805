/** Endpoints that speak HTTP and JSON-RPC in ways of their own, between the program and a real chain. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { after, before, describe, test } from 'node:test';
import { startAnvil } from '../helpers/anvil.js';
import { CERTIFICATE, CERTIFICATE_KEY } from '../helpers/certificate.js';
import { STRESS, cleanEnvironment, readJson, runStress } from '../helpers/cli.js';
import { SILENCE, passOn, serve, serveMethods } from '../helpers/endpoint.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
 * @import { Server as HttpsServer } from 'node:https'
 * @import { AddressInfo } from 'node:net'
 * @import { TestContext } from 'node:test'
 */

const TRANSPORTS = /** @type {const} */ (['undici', 'tcp']);
const THREADS = 5;

/** Runs that wait for blocks most of the time, at once: one after the other they would take twice as long. */
const AT_ONCE = Object.freeze({ concurrency: 3 });

/** Each run has wallets of its own, so that none of them finds another one's transactions. */
const offsets = { next: 0 };

/** @type {Awaited<ReturnType<typeof startAnvil>>} */
let chain;
/** @type {Set<Server | HttpsServer>} */
const servers = new Set();
before(async () => {
  chain = await startAnvil({ args: ['--accounts', '150', '--block-time', '0.1'] });
});
after(async () => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
  await chain.stop();
});

/** @param {string} body @returns {Promise<string>} the chain's answer */
const ask = async (body) => (await passOn(chain.url, body)).body;

/** The chain's answer, changed if it is one to a batch. @param {(answers: any[]) => any} change */
function changingBatches(change) {
  return serve(async (body) => {
    const text = await ask(body);
    return { body: body.startsWith('[') ? JSON.stringify(change(JSON.parse(text))) : text };
  });
}

/**
 * A server before the chain that writes the answers itself.
 * @param {(text: string, request: IncomingMessage, response: ServerResponse) => unknown} write
 * @param {{isSecure?: boolean}} [options]
 * @returns {Promise<{url: string, connections: () => number}>}
 */
async function serveInOwnWay(write, { isSecure = false } = {}) {
  /** @type {RequestListener} */
  const listener = (request, response) => {
    const handle = async () => {
      let body = '';
      for await (const chunk of request.setEncoding('utf8')) body += chunk;
      await write(await ask(body), request, response);
    };
    handle().catch(() => response.destroy());
  };
  const server = isSecure
    ? createHttpsServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, listener)
    : createServer(listener);
  servers.add(server);
  let connections = 0;
  server.on('connection', () => (connections += 1));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {AddressInfo} */ (server.address());
  return { url: `http${isSecure ? 's' : ''}://127.0.0.1:${port}`, connections: () => connections };
}

const serveSecurely = () => serveInOwnWay((text, _, response) => response.end(text), { isSecure: true });

/**
 * A small run that must verify something, and whose audit must be exact.
 * @param {TestContext} t
 * @param {string} url
 * @param {string[]} args
 * @returns {Promise<any>} its run file
 */
async function exactRun(t, url, args) {
  const out = `${temporaryFolder(t)}/run.json`;
  const offset = offsets.next;
  offsets.next += THREADS;
  const slice = ['-t', String(THREADS), '-o', String(offset)];
  const { code, stdout, stderr } = await runStress([...slice, '-d', '500ms', '--rpc', url, '--out', out, ...args]);
  assert.equal(code, 0, stdout + stderr);
  const run = readJson(out);
  assert.ok(run.counts.verified >= THREADS, `${run.counts.verified} verified`);
  assert.equal(run.audit.exact, true);
  assertRunFile(run);
  return run;
}

/** @param {any} run */
function assertAllVerified({ counts, failures }) {
  assert.deepEqual(failures, {});
  assert.equal(counts.timedOut, 0);
  assert.equal(counts.verified, counts.started - counts.abandoned);
  assert.equal(counts.abandoned, 0);
}

/**
 * What is said in one line, with this exit code.
 * @param {{code: number | null, stdout: string, stderr: string}} result
 * @param {number} exit
 * @param {RegExp} line
 */
function assertRefused({ code, stdout, stderr }, exit, line) {
  assert.match(stderr, line);
  assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
  assert.equal(code, exit, stderr);
  assert.equal(stdout, '');
}

describe('https with a self-signed certificate', () => {
  test('is refused: the line names the certificate and --insecure', async () => {
    const { url } = await serveSecurely();
    const result = await runStress(['-t', '1', '-d', '1s', '--rpc', url, '--chain-id', '31337']);
    assertRefused(result, 69, /^stress: https:\/\/127\.0\.0\.1:\d+: .*certificate.*self-signed.*--insecure/);
  });

  test('--insecure accepts it: exact', async (t) => {
    const { url } = await serveSecurely();
    assertAllVerified(await exactRun(t, url, ['--insecure']));
  });

  test('--transport tcp does not speak https, --insecure or not', async () => {
    const { url, connections } = await serveSecurely();
    for (const more of [[], ['--insecure']]) {
      const result = await runStress(['-t', '1', '-d', '1s', '--rpc', url, '--transport', 'tcp', ...more]);
      assertRefused(result, 64, /^stress: .*--transport undici/);
    }
    assert.equal(connections(), 0);
  });
});

describe('HTTP', AT_ONCE, () => {
  for (const transport of TRANSPORTS) {
    test(`${transport}: HTTP/1.0, closed after each answer: exact`, async (t) => {
      const { url, connections } = await serveInOwnWay((text, request) => {
        request.socket.end(`HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n${text}`);
      });
      const run = await exactRun(t, url, ['--transport', transport]);
      assertAllVerified(run);
      // A poll for the head, and its repetition when it is slow, may be given up at the end while they connect.
      const { connectionsOpened, requests } = run.generator.transport;
      assert.ok(connectionsOpened <= connections() && connections() <= requests, `${connections()} connections`);
      assert.ok(requests - connectionsOpened <= 2, `${connectionsOpened} connections for ${requests} requests`);
    });

    test(`${transport}: answers in many chunks with trailers: exact`, async (t) => {
      const { url } = await serveInOwnWay(async (text, _, response) => {
        response.writeHead(200, { trailer: 'x-checked' });
        for (let at = 0; at < text.length; at += 50) {
          response.write(text.slice(at, at + 50));
          await new Promise((resolve) => setImmediate(resolve));
        }
        response.addTrailers({ 'x-checked': 'yes' });
        response.end();
      });
      assertAllVerified(await exactRun(t, url, ['--transport', transport]));
    });
  }
});

describe('batches', AT_ONCE, () => {
  /** How a node treats them. @type {Record<string, () => Promise<{url: string, methods: string[]}>>} */
  const refusals = {
    'one error object': () =>
      changingBatches(() => ({
        jsonrpc: '2.0',
        id: null,
        error: { code: -32600, message: 'batches are not supported' },
      })),
    'a part of the answers': () => changingBatches((answers) => answers.slice(0, Math.ceil(answers.length / 2))),
    'HTTP 413': () =>
      serve(async (body) =>
        body.startsWith('[') ? { status: 413, body: 'Payload Too Large' } : { body: await ask(body) },
      ),
    'no answer at all': () =>
      // The types of serve() know no promise of silence.
      serve((body) => (body.startsWith('[') ? SILENCE : ask(body).then((text) => ({ body: text })))),
  };
  for (const transport of TRANSPORTS) {
    for (const [how, start] of Object.entries(refusals)) {
      test(`${transport}: answered with ${how}: asked in smaller ones, and exact`, async (t) => {
        const { url } = await start();
        const run = await exactRun(t, url, ['--transport', transport, '--request-timeout', '2s']);
        assertAllVerified(run);
        const { limit, largest, refused, why } = run.generator.batches;
        assert.ok(limit < 100, `limit ${limit}`);
        assert.ok(refused > 0, `${refused} refused`);
        assert.ok(largest <= limit, `largest ${largest}, limit ${limit}`);
        assert.ok(typeof why === 'string' && why.length > 5, `because of ${why}`);
        if (how === 'one error object') assert.match(why, /batches are not supported/);
      });
    }

    test(`${transport}: answered in another order: exact, and never refused`, async (t) => {
      const { url } = await changingBatches((answers) => answers.reverse());
      const run = await exactRun(t, url, ['--transport', transport]);
      assertAllVerified(run);
      const { limit, largest, refused, why } = run.generator.batches;
      assert.deepEqual({ limit, refused, why }, { limit: 100, refused: 0, why: null });
      assert.ok(largest > 1, 'a batch was sent');
    });
  }
});

describe('ids that do not match', AT_ONCE, () => {
  /** @param {string} text */
  const withForeignId = (text) => JSON.stringify({ ...JSON.parse(text), id: 987_654_321 });

  for (const transport of TRANSPORTS) {
    test(`${transport}: from the start: nothing is signed`, async () => {
      const { url, methods } = await serve(async (body) => ({ body: withForeignId(await ask(body)) }));
      const result = await runStress(['-t', '1', '-d', '1s', '--rpc', url, '--transport', transport]);
      assertRefused(result, 69, /^stress: http:\/\/127\.0\.0\.1:\d+ answered eth_chainId with a foreign id$/m);
      assert.deepEqual(methods, ['eth_chainId']);
    });

    test(`${transport}: of some submissions: they are repeated, each counts once, and exact`, async (t) => {
      let sent = 0;
      const { url } = await serve(async (body) => {
        const text = await ask(body);
        // The first ones are the deployments, without which there is no run.
        const isForeign = body.includes('"eth_sendRawTransaction"') && (sent += 1) > THREADS && sent % 3 === 0;
        return { body: isForeign ? withForeignId(text) : text };
      });
      const { failures, counts, audit, generator } = await exactRun(t, url, ['--transport', transport]);
      // The node had them before its answer was spoilt: it knows them when they come again.
      assert.deepEqual(failures, {});
      assert.ok(generator.resubmissions.repeated > 0, 'the fault happened');
      assert.equal(generator.resubmissions.repeated, generator.rpcCalls.resubmit);
      assert.equal(counts.verified, counts.started);
      assert.equal(audit.includedLate, 0);
    });
  }
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
    assertRefused(await runWithOpenFiles('512', args), 64, /^stress: --connections 9000 .*\b512\b.*ulimit -n/);
    assert.deepEqual(methods, []);
  });

  test('as many as may be open are no fault', async () => {
    const { url, methods } = await serveMethods({});
    const { stderr } = await runWithOpenFiles('512', ['-t', '1', '-d', '1s', '--rpc', url, '--connections', '200']);
    assert.doesNotMatch(stderr, /ulimit/);
    assert.ok(methods.includes('eth_chainId'), 'it went on');
  });
});
