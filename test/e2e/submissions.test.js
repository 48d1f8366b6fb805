/** What is sent, and where to: headers of the user, --send-rpc and --batch, against a chain behind proxies that record. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { startAnvil } from '../helpers/anvil.js';
import { readJson, runStress, spawnStress } from '../helpers/cli.js';
import { passOn } from '../helpers/endpoint.js';
import { schemaErrors } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { Anvil } from '../helpers/anvil.js'
 * @import { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
 * @import { AddressInfo } from 'node:net'
 * @import { Duplex } from 'node:stream'
 * @import { TestContext } from 'node:test'
 */

const SECRET = 'Hunter2-Hunter2';
const HEADERS = `Authorization: Bearer ${SECRET}\nX-Team: load`;

/** @type {Anvil} */
let anvil;
/** @type {Anvil} */
let other;

before(async () => {
  anvil = await startAnvil({ args: ['--block-time', '0.1'] });
  other = await startAnvil({ args: ['--chain-id', '31338'] });
});

/** @typedef {{id: number, method: string, params: unknown[]}} Asked */
/** @typedef {(asked: Asked[]) => Promise<{status?: number, body: string} | null>} Batches of submissions; null: pass it on */

/** @param {TestContext} t @param {Batches} [onBatch] */
async function startRecorder(t, onBatch = async () => null) {
  /** @type {IncomingHttpHeaders[]} */
  const headers = [];
  /** @type {Record<string, number>} */
  const methods = {};
  /** Submissions of each body with some. @type {number[]} */
  const sizes = [];
  /** @param {IncomingMessage} request @param {ServerResponse} response */
  const answer = async (request, response) => {
    headers.push(request.headers);
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    /** @type {Asked[]} */
    const asked = [JSON.parse(body)].flat();
    for (const { method } of asked) methods[method] = (methods[method] ?? 0) + 1;
    const areSubmissions = asked[0].method === 'eth_sendRawTransaction';
    if (areSubmissions) sizes.push(asked.length);
    const own = areSubmissions && body.startsWith('[') ? await onBatch(asked) : null;
    const reply = own ?? (await passOn(anvil.url, body));
    response.writeHead(own?.status ?? 200, { 'content-type': 'application/json' }).end(reply.body);
  };
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  /** @type {Set<Duplex>} */
  const sockets = new Set();
  server.on('upgrade', (request, socket) => {
    headers.push(request.headers);
    const node = connect(Number(new URL(anvil.url).port));
    const lines = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}\r\n`);
    node.write(`GET / HTTP/1.1\r\n${lines.join('')}\r\n`);
    socket.pipe(node).pipe(socket);
    for (const end of [socket, node]) sockets.add(end.on('error', () => {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close().closeAllConnections();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = /** @type {AddressInfo} */ (server.address());
  return { url: `http://127.0.0.1:${port}`, port, headers, methods, sizes };
}

/** @param {IncomingHttpHeaders[]} all */
function assertHeaders(all) {
  assert.ok(all.length > 0);
  for (const { authorization, 'x-team': team } of all)
    assert.deepEqual([authorization, team], [`Bearer ${SECRET}`, 'load']);
}

/** @param {string} folder */
function assertNoSecret(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  assert.ok(files.length > 0);
  for (const { parentPath, name } of files) {
    const text = readFileSync(join(parentPath, name), 'utf8');
    assert.ok(!text.includes(SECRET), `${name} has the value of a header`);
  }
}

/** @param {TestContext} t @param {string[]} args @param {NodeJS.ProcessEnv} [env] */
async function run(t, args, env) {
  const folder = temporaryFolder(t);
  const out = join(folder, 'run.json');
  const log = ['--log-file', join(folder, 'run.log'), '--log-level', 'debug'];
  const result = await runStress(['-t', '8', '-d', '600ms', '--out', out, ...log, ...args], { env });
  assert.equal(result.code, 0, result.stderr);
  const file = readJson(out);
  assert.deepEqual(schemaErrors(file), []);
  assert.equal(file.audit.result, 'exact');
  return { ...result, file, folder };
}

describe('headers', () => {
  it('go with each request, of workers too, and are in no output', async (t) => {
    const [rpc, sending] = [await startRecorder(t), await startRecorder(t)];
    const args = ['--rpc', rpc.url, '--send-rpc', sending.url, '--workers', '2'];
    const { file, folder, stdout, stderr } = await run(t, args, { STRESS_HEADER: HEADERS });
    assertHeaders([...rpc.headers, ...sending.headers]);
    assertNoSecret(folder);
    assert.ok(!(stdout + stderr).includes(SECRET));
    assert.deepEqual([file.config.header, file.config.headerFile], ['[redacted]', null]);
  });

  it('go with the handshake of a WebSocket and over tcp, from a file', async (t) => {
    const file = join(temporaryFolder(t), 'headers');
    writeFileSync(file, `# of the team\n${HEADERS}\n`, { mode: 0o600 });
    for (const transport of ['ws', 'tcp']) {
      const { url, headers } = await startRecorder(t);
      const rpc = transport === 'ws' ? url.replace('http', 'ws') : url;
      const { folder } = await run(t, ['--rpc', rpc, '--transport', transport, '--header-file', file]);
      assertHeaders(headers);
      assertNoSecret(folder);
    }
  });

  it('reach the runs of a sweep by the environment', async (t) => {
    const { url, headers } = await startRecorder(t);
    const dir = join(temporaryFolder(t), 'sweep');
    const args = ['sweep', '-t', '2,3', '-d', '300ms', '--warmup', '0s', '--rest', '0s', '--rpc', url, '--dir', dir];
    const { pid, done } = spawnStress(args, { env: { STRESS_HEADER: HEADERS } });
    /** @type {Set<string>} */
    const commands = new Set();
    const look = setInterval(() => {
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
      for (const child of children) commands.add(readFileSync(`/proc/${child}/cmdline`, 'utf8'));
    }, 100);
    const { code, stderr } = await done.finally(() => clearInterval(look));
    assert.equal(code, 0, stderr);
    assertHeaders(headers);
    assertNoSecret(dir);
    assert.ok(commands.size > 0);
    for (const command of commands) assert.ok(!/Authorization|X-Team|Hunter/i.test(command), command);
  });
});

describe('--send-rpc', () => {
  it('gets the submissions, also those of the set-up, and nothing else after the check of its chain', async (t) => {
    const [rpc, sending] = [await startRecorder(t), await startRecorder(t)];
    const { file } = await run(t, ['--rpc', rpc.url, '--send-rpc', sending.url, '--workload', 'erc20']);
    const { eth_sendRawTransaction: sent, ...others } = sending.methods;
    assert.ok(sent > file.counts.verified);
    assert.deepEqual(others, { eth_chainId: 1 });
    assert.equal(rpc.methods.eth_sendRawTransaction, undefined);
    assert.equal(file.environment.sendEndpoint, sending.url);
    assert.equal(file.config.sendRpc, sending.url);
  });

  it('of another chain is refused, with both named', async () => {
    const { code, stderr } = await runStress(['-t', '2', '-d', '1s', '--rpc', anvil.url, '--send-rpc', other.url]);
    assert.equal(code, 77, stderr);
    assert.ok(stderr.includes(anvil.url) && stderr.includes(other.url) && /both must serve one chain/.test(stderr));
  });
});

/** @param {Asked[]} asked @returns {Promise<any[]>} */
const answersOf = async (asked) => JSON.parse((await passOn(anvil.url, JSON.stringify(asked))).body);
/** @param {unknown} answers */
const reply = (answers) => ({ body: JSON.stringify(answers) });
/** @param {number | null} id @param {string} message */
const failed = (id, message) => ({ jsonrpc: '2.0', id, error: { code: -32000, message } });

describe('--batch', () => {
  it('sends what is due together in one body, on every transport', async (t) => {
    for (const args of [[], ['--transport', 'tcp', '--workers', '2'], ['--rate', '40']]) {
      const { url, sizes } = await startRecorder(t);
      const { file } = await run(t, ['--rpc', url, '--batch', '4', ...args]);
      assert.ok(sizes.every((size) => size <= 4));
      assert.equal(file.generator.submissionBatches.limit, 4);
      assert.equal(file.generator.submissionBatches.refused, 0);
      if (args[0] !== '--rate') assert.ok(Math.max(...sizes) > 1, String(sizes));
    }
    const { file } = await run(t, ['--rpc', anvil.url.replace('http', 'ws'), '--batch', '4']);
    assert.ok(file.generator.submissionBatches.largest > 1);
  });

  /** @type {Record<string, Batches>} */
  const faults = {
    'answers in another order': async (asked) => reply((await answersOf(asked)).reverse()),
    'one of them refused because the pool is full': async ([first, ...others]) =>
      reply([failed(first.id, 'txpool is full'), ...(await answersOf(others))]),
    'an answer that is missing': async (asked) => reply((await answersOf(asked)).slice(1)),
    'HTTP 413 for more than two': async ({ length }) =>
      length > 2 ? { status: 413, body: 'Payload Too Large' } : null,
    'refused with an error': async () => reply(failed(null, 'batch requests are not supported')),
  };
  for (const [name, onBatch] of Object.entries(faults))
    it(`${name}: no operation fails, and the audit is exact`, async (t) => {
      const { url } = await startRecorder(t, onBatch);
      const { file, stderr } = await run(t, ['--rpc', url, '--batch', '8', '--interval', '200ms']);
      assert.ok(file.counts.verified > 8);
      assert.equal(file.counts.failed, 0);
      const { limit, refused, why } = file.generator.submissionBatches;
      const warnings = stderr.split('\n').filter((line) => line.includes('refused a batch of submissions'));
      if (name.startsWith('HTTP')) assert.equal(limit, 2);
      if (name.startsWith('refused')) assert.deepEqual([limit, why], [1, 'batch requests are not supported']);
      assert.equal(warnings.length, refused > 0 ? 1 : 0, stderr);
    });
});
