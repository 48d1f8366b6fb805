import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { freePort } from '../../src/chain/devchain.js';
import { createClock } from '../../src/clock.js';
import { Stop } from '../../src/core/stop.js';
import { runCommand, startNode } from '../../src/studies/shell-commands.js';
import { processesOf } from '../helpers/leftovers.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { AddressInfo } from 'node:net'
 * @import { TestContext } from 'node:test'
 */

/** A node that answers each request with a chain id, and does not end on SIGTERM before it has written a line. */
const NODE = `
  const { createServer } = require('node:http');
  process.on('SIGTERM', () => { console.log('closed'); process.exit(0); });
  createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => response.end(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, result: '0x1' })));
  }).listen(Number(process.argv[1]), '127.0.0.1');`;

/** @param {TestContext} t @param {Partial<Parameters<typeof startNode>[0]>} [given] */
async function started(t, given = {}) {
  const folder = temporaryFolder(t);
  const port = await freePort();
  const command = `cd / && "${process.execPath}" -e "$NODE_CODE" ${port}; true`;
  const how = {
    ...{ name: '--start-a', command, url: new URL(`http://127.0.0.1:${port}`), log: join(folder, 'node-a.log') },
    ...{ env: { ...process.env, NODE_CODE: NODE, MARK: folder }, clock: createClock(), stop: new Stop() },
  };
  return { how, folder, node: startNode({ ...how, ...given }) };
}

describe('startNode()', () => {
  it('waits for the answer, and ends all processes of the command', async (t) => {
    const { node, folder, how } = await started(t);
    const running = await node;
    assert.ok(processesOf(folder).length >= 2, 'the keeper and the node');
    await assert.rejects(startNode(how), { exitCode: 69, message: /answers already; end the node that listens there/ });
    await running?.stop();
    assert.deepEqual(processesOf(folder), []);
    assert.match(readFileSync(how.log, 'utf8'), /closed/, 'the node could end by itself');
  });

  it('says why the command ended, with its last lines', async (t) => {
    const { node, folder } = await started(t, { command: 'echo one; echo two >&2; echo bad flag; exit 3' });
    await assert.rejects(node, {
      exitCode: 69,
      message:
        /^--start-a: it ended \(exit code 3\) before http:\S+ answered; its last words: two \| bad flag \(all of them in .*node-a.log\)$/,
    });
    assert.deepEqual(processesOf(folder), []);
  });

  it('waits for its time limit only', async (t) => {
    const { node, folder } = await started(t, { command: 'exec sleep 60', timeLimitMs: 150 });
    await assert.rejects(node, { exitCode: 69, message: /did not answer within 0.15 s; it printed nothing/ });
    assert.deepEqual(processesOf(folder), []);
  });

  it('ends what it started when it is interrupted', async (t) => {
    const stop = new Stop();
    const { node, folder } = await started(t, { command: 'sleep 60 & wait', stop });
    stop.request('interrupted', 130);
    assert.equal(await node, null);
    assert.deepEqual(processesOf(folder), []);
  });

  it('takes a URL at which a server listens that is no node for one that is in use', async (t) => {
    const server = createServer((socket) => socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n'));
    await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)));
    t.after(() => server.close());
    const { port } = /** @type {AddressInfo} */ (server.address());
    const { node } = await started(t, { url: new URL(`http://127.0.0.1:${port}`) });
    await assert.rejects(node, { exitCode: 69, message: /answers already/ });
  });

  it('refuses a log that cannot be written', async (t) => {
    const { node } = await started(t, { log: '/nowhere/node.log' });
    await assert.rejects(node, { exitCode: 73 });
  });
});

describe('runCommand()', () => {
  /** @param {TestContext} t @param {Partial<Parameters<typeof runCommand>[0]> & {command: string}} given */
  async function ran(t, given) {
    const folder = temporaryFolder(t);
    const env = { ...process.env, MARK: folder };
    const how = { cwd: folder, log: join(folder, 'log'), env, clock: createClock(), stop: new Stop() };
    const words = await runCommand({ ...how, ...given });
    return { words, folder };
  }

  it('says how a command failed, with its last lines', async (t) => {
    assert.equal((await ran(t, { command: 'echo built > it' })).words, null);
    const { words } = await ran(t, { command: 'echo one; echo bad flag >&2; exit 3' });
    assert.match(words ?? '', /^exit code 3; its last words: one \| bad flag \(all of them in /);
  });

  it('ends what it started, unless that may go on running', async (t) => {
    const command = 'sleep 60 & echo started > it';
    assert.deepEqual(processesOf((await ran(t, { command })).folder), []);
    const { folder } = await ran(t, { command, leaves: true });
    const [left, ...more] = processesOf(folder);
    assert.match(left.command, /sleep 60/);
    assert.deepEqual([existsSync(join(folder, 'it')), more], [true, []]);
    process.kill(left.pid);
  });

  it('ends it at its time limit, and when it is interrupted', async (t) => {
    const late = await ran(t, { command: 'exec sleep 60', timeLimitMs: 60 });
    assert.equal(late.words, 'it had not ended after 0.001 minutes; it printed nothing');
    const stop = new Stop();
    stop.request('interrupted', 130);
    const { words, folder } = await ran(t, { command: 'sleep 60 & wait', stop, leaves: true });
    assert.deepEqual([words, processesOf(folder)], [null, []]);
  });
});
