/** What is sent, and where to: headers of the user, --send-rpc and --batch, against a chain behind endpoints that record. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { anvilFor } from '../helpers/anvil.js';
import { exited, spawnStress } from '../helpers/cli.js';
import { passOn, serve } from '../helpers/endpoint.js';
import { runOf } from '../helpers/run-of.js';
import { temporaryFile, temporaryFolder } from '../helpers/temporary.js';
import { startWsBefore } from '../helpers/ws-server.js';

/**
 * @import { IncomingHttpHeaders } from 'node:http'
 * @import { TestContext } from 'node:test'
 */

const SECRET = 'Hunter2-Hunter2';
const HEADERS = `Authorization: Bearer ${SECRET}\nX-Team: load`;

const anvil = anvilFor('--block-time 0.1 --accounts 150');
const other = anvilFor('--chain-id 31338');

/** @typedef {{id: number, method: string, params: unknown[]}} Asked */
/** @typedef {(asked: Asked[]) => Promise<{status?: number, body: string} | null>} Batches of submissions; null: pass it on */

/** @param {Batches} [onBatch] */
async function startRecorder(onBatch = async () => null) {
  /** @type {IncomingHttpHeaders[]} */
  const headers = [];
  /** Submissions of each body with some. @type {number[]} */
  const sizes = [];
  const { url, methods } = await serve(async (body, ofRequest) => {
    headers.push(ofRequest);
    /** @type {Asked[]} */
    const asked = [JSON.parse(body)].flat();
    const areSubmissions = asked[0].method === 'eth_sendRawTransaction';
    if (areSubmissions) sizes.push(asked.length);
    const own = areSubmissions && body.startsWith('[') ? await onBatch(asked) : null;
    return own ?? passOn(anvil.url, body);
  });
  return { url, headers, methods, sizes };
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

/** @param {TestContext} t @param {string} words @param {NodeJS.ProcessEnv} [env] */
async function exact(t, words, env) {
  const length = words.includes('--iterations') ? '1m' : '600ms';
  const more = `-d ${length} --log-file DIR/run.log --log-level debug ${words}`;
  const result = await runOf(t, more, { chain: anvil, rpc: null, threads: 8, env });
  assert.equal(result.run.audit.result, 'exact');
  return result;
}

describe('headers', () => {
  it('go with each request, of workers too, and are in no output', async (t) => {
    const [rpc, sending] = [await startRecorder(), await startRecorder()];
    const words = `--rpc ${rpc.url} --send-rpc ${sending.url} --workers 2`;
    const { run, folder, stdout, stderr } = await exact(t, words, { STRESS_HEADER: HEADERS });
    assertHeaders([...rpc.headers, ...sending.headers]);
    assertNoSecret(folder);
    assert.ok(!(stdout + stderr).includes(SECRET));
    assert.deepEqual([run.config.header, run.config.headerFile], ['[redacted]', null]);
  });

  it('go with the handshake of a WebSocket and over tcp, from a file', async (t) => {
    const file = temporaryFile(t, 'headers', `# of the team\n${HEADERS}\n`, { mode: 0o600 });
    const [ws, tcp] = [await startWsBefore(t, anvil.url), await startRecorder()];
    for (const [transport, url] of Object.entries({ ws: ws.url, tcp: tcp.url }))
      assertNoSecret((await exact(t, `--rpc ${url} --transport ${transport} --header-file ${file}`)).folder);
    assertHeaders([...tcp.headers, ...ws.peers.map(({ handshake }) => handshake.headers)]);
  });

  it('reach the runs of a sweep by the environment', async (t) => {
    const { url, headers } = await startRecorder();
    const dir = join(temporaryFolder(t), 'sweep');
    const args = `sweep -t 2,3 -d 300ms --warmup 0s --rest 0s --rpc ${url} --dir ${dir}`.split(' ');
    const { pid, done } = spawnStress(args, { env: { STRESS_HEADER: HEADERS } });
    /** @type {Set<string>} */
    const commands = new Set();
    const look = setInterval(() => {
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
      for (const child of children) commands.add(readFileSync(`/proc/${child}/cmdline`, 'utf8'));
    }, 50);
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
    const [rpc, sending] = [await startRecorder(), await startRecorder()];
    const { run } = await exact(t, `--rpc ${rpc.url} --send-rpc ${sending.url} --workload erc20`);
    const others = sending.methods.filter((method) => method !== 'eth_sendRawTransaction');
    assert.ok(sending.methods.length - others.length > run.counts.verified);
    assert.deepEqual(others, ['eth_chainId']);
    assert.ok(!rpc.methods.includes('eth_sendRawTransaction'));
    assert.deepEqual([run.environment.sendEndpoint, run.config.sendRpc], [sending.url, sending.url]);
  });

  it('of another chain is refused, with both named', async () => {
    const { stderr } = await exited(77, ['-t', '2', '-d', '1s', '--rpc', anvil.url, '--send-rpc', other.url]);
    assert.ok(stderr.includes(anvil.url) && stderr.includes(other.url) && /both must serve one chain/.test(stderr));
  });
});

/** @param {unknown} answers */
const reply = (answers) => ({ body: JSON.stringify(answers) });
/** @param {number | null} id @param {string} message */
const failed = (id, message) => ({ jsonrpc: '2.0', id, error: { code: -32000, message } });

describe('--batch', () => {
  for (const words of ['', '--rate 40'])
    it(`sends what is due together in one body ${words}`, async (t) => {
      const { url, sizes } = await startRecorder();
      const { limit, refused } = (await exact(t, `--rpc ${url} --batch 4 ${words}`)).run.generator.submissionBatches;
      assert.deepEqual([limit, refused], [4, 0]);
      assert.ok(sizes.every((size) => size <= 4));
      if (words === '') assert.ok(Math.max(...sizes) > 1, String(sizes));
    });

  /** @type {Record<string, Batches>} */
  const faults = {
    'HTTP 413 for more than two': async ({ length }) =>
      length > 2 ? { status: 413, body: 'Payload Too Large' } : null,
    'refused with an error': async () => reply(failed(null, 'batch requests are not supported')),
  };
  for (const [name, onBatch] of Object.entries(faults))
    it(`${name}: no operation fails, and the audit is exact`, async (t) => {
      const { url } = await startRecorder(onBatch);
      const { run, stderr } = await exact(t, `--rpc ${url} --batch 8 --iterations 3`);
      assert.equal(run.counts.verified, 24);
      assert.equal(run.counts.failed, 0);
      const { limit, refused, why } = run.generator.submissionBatches;
      const warnings = stderr.split('\n').filter((line) => line.includes('refused a batch of submissions'));
      if (name.startsWith('HTTP')) assert.equal(limit, 2);
      if (name.startsWith('refused')) assert.deepEqual([limit, why], [1, 'batch requests are not supported']);
      assert.equal(warnings.length, refused > 0 ? 1 : 0, stderr);
    });
});
