import { lookup } from 'node:dns/promises';
import { Worker } from 'node:worker_threads';

/**
 * A probe of the TCP sockets of this machine, or of its network namespace. A worker thread reads the tables, because the
 * kernel returns them 4 KB at a time, which takes tens of milliseconds for 30,000 sockets.
 *
 * @import { SocketsReading } from '../types.d.ts'
 * @import { Question } from './socket-reader.js'
 *
 * @typedef {{reading: SocketsReading} | {reason: string}} Answer of the thread
 */

/** @param {{urls: URL[], proc?: string}} options urls: the endpoints; proc: the folder of the proc file system */
export function createSocketsProbe({ urls, proc = '/proc' }) {
  const reader = createReader();
  /** @type {Promise<Question['endpoints']> | null} */
  let resolved = null;
  /** @type {Promise<SocketsReading> | null} */
  let reading = null;

  async function read() {
    resolved ??= resolveAll(urls);
    const endpoints = await resolved.catch((error) => {
      // The next lookup of the name may succeed.
      resolved = null;
      throw error;
    });
    return reader.ask({ proc, endpoints });
  }

  return {
    /** @returns {Promise<SocketsReading>} */
    sample: () => {
      // Concurrent calls share one reading.
      reading ??= read().finally(() => {
        reading = null;
      });
      return reading;
    },
    close: () => reader.close(),
  };
}

/** Calls the thread, one question at a time. */
function createReader() {
  const worker = new Worker(new URL('./socket-reader.js', import.meta.url));
  /** @type {((answer: Answer) => void) | null} */
  let answer = null;
  /** @type {string | null} */
  let ended = null;
  /** @param {string} why */
  const end = (why) => {
    ended ??= why;
    answer?.({ reason: ended });
  };
  worker.on('message', (message) => answer?.(message));
  worker.on('error', (error) => end(`the socket table cannot be read: ${error.message}`));
  worker.on('exit', () => end('the thread that reads the socket table has ended'));
  // The thread keeps the process alive only while an answer is awaited.
  worker.unref();
  return {
    /** @param {Question} question @returns {Promise<SocketsReading>} */
    ask: async (question) => {
      if (ended !== null) throw new Error(ended);
      /** @type {Promise<Answer>} */
      const answered = new Promise((resolve) => {
        answer = resolve;
      });
      worker.ref();
      worker.postMessage(question);
      const message = await answered;
      worker.unref();
      if ('reason' in message) throw new Error(message.reason);
      return message.reading;
    },
    close: () => {
      end('the probe is closed');
      void worker.terminate();
    },
  };
}

/** @param {URL[]} urls */
async function resolveAll(urls) {
  const hosts = new Map(urls.map((url) => [`${url.hostname}:${portOf(url)}`, url]));
  return Promise.all(
    [...hosts].map(async ([endpoint, url]) => {
      return { endpoint, addresses: await addressesOf(url.hostname), port: portOf(url) };
    }),
  );
}

/** @param {URL} url */
function portOf({ port, protocol }) {
  if (port !== '') return Number(port);
  return protocol === 'https:' || protocol === 'wss:' ? 443 : 80;
}

/** @param {string} hostname of a URL @returns {Promise<string[]>} */
async function addressesOf(hostname) {
  if (hostname === 'localhost') return ['127.0.0.1', '::1'];
  try {
    const found = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true });
    return found.map(({ address }) => address);
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    throw new Error(`the address of ${hostname} was not found (${code})`, { cause: error });
  }
}
