/**
 * A JSON-RPC server whose latencies are known: it delays each answer by a plan, and notes when each call arrived and
 * when it was answered. It is a process of its own, so that its event loop shares nothing with that of a test.
 *
 *     node test/slow/known-latency.js '{"delayMs":5}'
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';

/**
 * @import { Server, ServerResponse } from 'node:http'
 * @import { AddressInfo } from 'node:net'
 */

const SELF = fileURLToPath(import.meta.url);
const START_TIMEOUT_MS = 60_000;

/** Answered at once and noted nowhere: what a run asks for before its load. @type {Record<string, string>} */
const SET_UP = { eth_chainId: '0x7a69', web3_clientVersion: 'known-latency/1' };

/**
 * @typedef {object} Plan
 * @property {number} delayMs of an answer
 * @property {{everyNth: number, delayMs: number}} [slow] of every so manieth call; the others keep to delayMs
 * @property {Stall} [stall] what arrives in it is answered at its end
 *
 * @typedef {object} Stall counted from the arrival of the first call
 * @property {number} atMs when the first begins
 * @property {number} everyMs
 * @property {number} forMs
 *
 * @typedef {object} Call in microseconds of the monotonic clock of the machine, which all processes share
 * @property {number} id
 * @property {number} arrivedUs
 * @property {number} answeredUs
 *
 * @typedef {object} KnownLatency
 * @property {string} url
 * @property {() => Promise<Call[]>} calls those that were answered so far, by id
 * @property {number} pid
 * @property {() => Promise<void>} stop
 */

/** @type {Set<() => Promise<void>>} */
const running = new Set();
// Not in the server's own process, which is no test.
if (process.argv[1] !== SELF) after(() => Promise.all([...running].map((stop) => stop())));

/**
 * @param {Plan} plan
 * @returns {Promise<KnownLatency>} it ends with the test file at the latest
 */
export async function startKnownLatency(plan) {
  const child = spawn(process.execPath, [SELF, JSON.stringify(plan)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH },
  });
  child.stdin.on('error', () => {}); // one that is gone already closes the pipe under us
  /** @type {Promise<void>} */
  const ended = new Promise((resolve) => child.once('exit', () => resolve()));
  const stop = async () => {
    child.kill('SIGKILL'); // it keeps nothing
    await ended;
    running.delete(stop);
  };
  running.add(stop);
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  /** @type {string | null} */
  const url = await Promise.race([
    new Promise((resolve) => createInterface(child.stdout).once('line', resolve)),
    ended.then(() => null),
    new Promise((resolve) => (timer = setTimeout(resolve, START_TIMEOUT_MS, null))),
  ]);
  clearTimeout(timer);
  if (url === null) {
    await stop();
    throw new Error('the server of known latency did not start');
  }
  const calls = async () => /** @type {Call[]} */ (await (await fetch(url)).json());
  return { url, calls, pid: child.pid ?? -1, stop };
}

/**
 * How long the main thread of a process could have run and had to wait, because others had the CPU: nothing that the
 * process does itself adds to it.
 * @param {number} pid
 * @returns {number} milliseconds since its start; 0 where the system does not tell
 */
export function waitedForCpuMs(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

/** On the clock that all processes of this machine share. */
function nowUs() {
  return Number(process.hrtime.bigint() / 1000n);
}

/**
 * How long a call waits that arrives then.
 * @param {Plan} plan
 * @param {number} sinceFirstMs since the first call
 * @param {number} ordinal of the call, from 0
 * @returns {number} milliseconds
 */
export function waitMs({ delayMs, slow, stall }, sinceFirstMs, ordinal) {
  const wait = slow !== undefined && (ordinal + 1) % slow.everyNth === 0 ? slow.delayMs : delayMs;
  if (stall === undefined || sinceFirstMs < stall.atMs) return wait;
  const left = stall.forMs - ((sinceFirstMs - stall.atMs) % stall.everyMs);
  return left > 0 ? left : wait;
}

/** @param {Plan} plan @returns {Server} */
function serve(plan) {
  /** @type {Call[]} */
  const calls = [];
  let arrived = 0;
  let firstUs = 0;

  /** @param {ServerResponse} response @param {object} body */
  const send = (response, body) => {
    const text = JSON.stringify({ jsonrpc: '2.0', ...body });
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length }).end(text);
  };
  /** @param {string} body @param {ServerResponse} response @param {number} arrivedUs */
  const answer = (body, response, arrivedUs) => {
    const { id, method } = JSON.parse(body);
    if (Object.hasOwn(SET_UP, method)) return send(response, { id, result: SET_UP[method] });
    if (arrived === 0) firstUs = arrivedUs;
    const ordinal = arrived;
    arrived += 1;
    setTimeout(
      () => {
        calls.push({ id, arrivedUs, answeredUs: nowUs() });
        send(response, { id, result: '0x1b4' });
      },
      waitMs(plan, (arrivedUs - firstUs) / 1000, ordinal),
    );
  };
  const server = createServer((request, response) => {
    const arrivedUs = nowUs();
    if (request.method === 'GET') {
      response.end(JSON.stringify(calls.sort((a, b) => a.id - b.id)));
      return;
    }
    let body = '';
    request.setEncoding('utf8').on('data', (chunk) => (body += chunk));
    request.on('end', () => answer(body, response, arrivedUs));
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1', () => {
    const { port } = /** @type {AddressInfo} */ (server.address());
    console.log(`http://127.0.0.1:${port}`);
  });
  return server;
}

if (process.argv[1] === SELF) {
  const server = serve(JSON.parse(process.argv[2]));
  process.stdin.resume().on('end', () => {
    server.close();
    server.closeAllConnections();
  });
}
