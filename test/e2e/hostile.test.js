/**
 * An endpoint that means harm, from the start or in the midst of a load: the program ends in time, with an exit code and
 * one clear line of its own, and nothing that the endpoint said drives the terminal, the log or the run file.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startAnvil } from '../helpers/anvil.js';
import { spawnStress } from '../helpers/cli.js';
import { serve } from '../helpers/endpoint.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { Socket } from 'node:net'
 * @import { TestContext } from 'node:test'
 */

/** Requests time out after a second, and a wallet is looked after for two: what takes this long hangs. */
const LATEST_MS = 25_000;
const MOST_MEMORY_KB = 400_000;

/** Clears the screen, sets the title, turns the direction of writing, begins a line of its own. */
const EVIL = '\u001b[2J\u001b]0;owned\u0007\u009b31m\u202eevil\u2066\u200b\r\nERROR: forged\u2028';
/** What of it must not be seen anywhere. A line break is ours, where it is one. */
const UNSAFE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;

/** @typedef {ReturnType<Parameters<typeof serve>[0]>} Respond */

/** @param {string} body @param {(id: number) => object} answer of each request in it */
function answerEach(body, answer) {
  const asked = JSON.parse(body);
  const answers = [asked].flat().map(({ id }) => ({ jsonrpc: '2.0', id, ...answer(id) }));
  return JSON.stringify(Array.isArray(asked) ? answers : answers[0]);
}

/** @param {string} head @param {string | Buffer} bytes written again and again @param {number} everyMs */
const endless = (head, bytes, everyMs) => (/** @type {Socket} */ socket) => {
  socket.write(head);
  const timer = setInterval(() => socket.writableLength < 4_000_000 && socket.write(bytes), everyMs);
  socket.on('close', () => clearInterval(timer));
};

const HEAD = 'HTTP/1.1 200 OK\r\n';
const PACKED = gzipSync(' '.repeat(10_000_000));

/** Answers each request alike. @param {object} answer @param {(text: string) => string} [spoil] */
const alike =
  (answer, spoil = (text) => text) =>
  (/** @type {string} */ body) => ({
    body: spoil(answerEach(body, () => answer)),
  });
const PROTOTYPE = JSON.parse('{"__proto__":{"number":"0x1"},"constructor":1,"toString":1,"valueOf":1}');
const OBJECTS = `${'{"a":'.repeat(1e5)}0${'}'.repeat(1e5)}}`;
const ARRAYS = `${'['.repeat(4e5)}${']'.repeat(4e5)}}`;

/** @type {Array<[string, (body: string) => Respond]>} */
const HOSTILE = [
  ['nests a million arrays', () => ({ body: `${'['.repeat(1e6)}${']'.repeat(1e6)}` })],
  ['nests a million objects in its result', alike({ result: 0 }, (text) => text.replaceAll('0}', OBJECTS))],
  ['nests a million arrays in its error', alike({ error: 0 }, (text) => text.replaceAll('0}', ARRAYS))],
  ['answers with millions of entries', () => ({ body: `[${'{},'.repeat(2e7)}{}]` })],
  ['answers with a quantity of ten million digits', alike({ result: `0x${'f'.repeat(1e7)}` })],
  ['answers with a quantity of 900,000 digits', alike({ result: `0x${'f'.repeat(9e5)}` })],
  ['answers with infinite numbers', alike({ result: 7 }, (text) => text.replaceAll('7}', '1e999}'))],
  [
    'answers each twice',
    (body) => ({
      body: `[${answerEach(body, () => ({ result: '0x7a69' }))},${answerEach(body, () => ({ result: '0x1' }))}]`,
    }),
  ],
  ['answers with keys that every object has', alike({ result: PROTOTYPE })],
  ['has ids that every object has', () => ({ body: '{"jsonrpc":"2.0","id":"__proto__","result":"0x7a69"}' })],
  ['says evil words in its errors', alike({ error: { code: -32000, message: EVIL, data: EVIL } })],
  ['says them where its code should be', alike({ error: { code: EVIL, message: { toString: EVIL } } })],
  ['says them as a result', alike({ result: EVIL })],
  ['says them in a page', () => ({ status: 502, body: EVIL })],
  ['says them instead of JSON', () => ({ body: EVIL })],
  [
    'says them in its head',
    () => endless(`HTTP/1.1 500 ${EVIL}\r\nX-Evil: ${EVIL}\r\nContent-Length: 2\r\n\r\n{}`, '', 1000),
  ],
  [
    'packs its answers',
    () => endless(`${HEAD}Content-Encoding: gzip\r\nContent-Length: ${PACKED.length}\r\n\r\n`, PACKED, 1000),
  ],
];

/**
 * Runs the program and checks what it must never do, whatever the endpoint does.
 * @param {TestContext} t
 * @param {string} url
 * @param {string[]} [more] arguments
 * @param {string} [duration]
 */
async function runAgainst(t, url, more = [], duration = '1s') {
  const folder = temporaryFolder(t);
  const [log, out] = ['run.log', 'run.json'].map((name) => join(folder, name));
  const timeouts = ['--request-timeout', '2s', '--tx-timeout', '3s', '--drain-timeout', '2s'];
  const files = ['--log-file', log, '--log-level', 'debug', '--out', out];
  const stress = spawnStress(['-t', '5', '-d', duration, '--rpc', url, ...timeouts, ...files, ...more], {
    timeoutMs: LATEST_MS,
  });
  let peakKb = 0;
  const watch = setInterval(() => {
    peakKb = Math.max(peakKb, peakMemoryKb(stress.pid));
  }, 20);
  const { code, stdout, stderr } = await stress.done.finally(() => clearInterval(watch));
  for (const [what, text] of Object.entries({ stdout, stderr, ...read({ log, out }) })) {
    assert.doesNotMatch(text, UNSAFE, `${what}: ${JSON.stringify(text)}`);
    assert.doesNotMatch(text, /\n\s+at .*:\d+:\d+/, what);
    assert.doesNotMatch(text, /^ERROR: forged/m, what);
  }
  assert.ok(peakKb < MOST_MEMORY_KB, `${peakKb} KB of memory`);
  return { code, stdout, stderr };
}

/** @param {number} pid @returns {number} 0 where it is not known */
function peakMemoryKb(pid) {
  try {
    return Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** @param {Record<string, string>} files @returns {Record<string, string>} the texts of those that there are */
function read(files) {
  const there = Object.entries(files).filter(([, file]) => existsSync(file));
  return Object.fromEntries(there.map(([name, file]) => [name, readFileSync(file, 'utf8')]));
}

/** @param {string} url @param {string} body */
async function passOn(url, body) {
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return { body: await answer.text() };
}

describe('an endpoint that is hostile from the start', { concurrency: 2 }, () => {
  for (const [what, respond] of HOSTILE) {
    it(what, async (t) => {
      const { url } = await serve(respond);
      const { code, stderr } = await runAgainst(t, url, ['--chain-id', '31337']);
      assert.equal(code, 69, stderr);
      assert.match(stderr, /^stress: .{10,400}\n$/);
    });
  }

  it('says evil words as the version of the client', async (t) => {
    const anvil = await startAnvil();
    t.after(() => anvil.stop());
    const { url } = await serve((body) =>
      body.includes('web3_clientVersion')
        ? { body: answerEach(body, () => ({ result: `anvil/v1 ${EVIL}` })) }
        : passOn(anvil.url, body),
    );
    const { code, stderr } = await runAgainst(t, url);
    assert.equal(code, 0, stderr);
  });
});

/** More than the set-up of five wallets sends. */
const SENT_IN_PEACE = 12;

/** Nothing but a hash is evil: the method, and what becomes of its result. @type {Array<[string, (result: any) => any]>} */
const EVIL_HASHES = [
  ['eth_sendRawTransaction', () => EVIL],
  ['eth_getBlockByNumber', (block) => ({ ...block, hash: EVIL })],
];

describe('an endpoint that puts evil words where a hash should be', { concurrency: 1 }, () => {
  for (const [method, spoil] of EVIL_HASHES) {
    it(method, async (t) => {
      const anvil = await startAnvil();
      t.after(() => anvil.stop());
      let sent = 0;
      let spoilt = 0;
      const { url } = await serve(async (body) => {
        const methods = [JSON.parse(body)].flat().map((request) => request.method);
        const { body: text } = await passOn(anvil.url, body);
        if (methods.includes('eth_sendRawTransaction')) sent += 1;
        if (sent <= SENT_IN_PEACE || !methods.includes(method)) return { body: text };
        spoilt += 1;
        const answers = [JSON.parse(text)].flat().map((answer) => ({ ...answer, result: spoil(answer.result) }));
        return { body: JSON.stringify(Array.isArray(JSON.parse(text)) ? answers : answers[0]) };
      });
      const folder = temporaryFolder(t);
      const [samples, blocks] = ['samples.csv', 'blocks.csv'].map((name) => join(folder, name));
      const more = ['--samples', samples, '--blocks', blocks, '-v'];
      const { code } = await runAgainst(t, url, more, '4s');
      assert.ok(spoilt > 0);
      assert.notEqual(code, 70);
      for (const [what, text] of Object.entries(read({ samples, blocks }))) assert.doesNotMatch(text, UNSAFE, what);
    });
  }
});

// One at a time: what some of these endpoints make would keep this process from serving another one in peace.
describe('an endpoint that turns hostile under load', { concurrency: 1 }, () => {
  for (const [i, [what, respond]] of HOSTILE.entries()) {
    // Both read the same answers; what they make of bytes is compared in the contract suite.
    const transport = i % 2 === 0 ? 'undici' : 'tcp';
    it(`${what} (${transport})`, async (t) => {
      const anvil = await startAnvil();
      t.after(() => anvil.stop());
      let sent = 0;
      const { url } = await serve((body) => {
        if (body.includes('"eth_sendRawTransaction"')) sent += 1;
        return sent > SENT_IN_PEACE ? respond(body) : passOn(anvil.url, body);
      });
      const { code, stdout, stderr } = await runAgainst(t, url, ['--transport', transport], '4s');
      assert.ok(sent > SENT_IN_PEACE, `it never turned hostile: ${sent} sent, exit code ${code}: ${stderr}`);
      const isIncomplete = code === 0 && stderr.includes('ERROR: the audit is incomplete: it could not be made: ');
      assert.ok(code === 69 || code === 76 || isIncomplete, `${code}: ${stderr}`);
      assert.match(stdout, /^ {2}verified +[1-9]/m);
    });
  }
});
