/**
 * The parser of HTTP/1 responses. Those with a status from 200 and one Content-Length or chunks, and errors without
 * either, give the same answers wherever their bytes are cut. Everything else is an error, not a guess and not an
 * endless wait.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { TransportError } from '../../../src/errors.js';
import { ResponseParser, createHeadCache, parseHead } from '../../../src/transport/http.js';
import { caught } from '../../helpers/caught.js';

/** @import { Head } from '../../../src/transport/http.js' */

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {string} body
 * @property {boolean} keepAlive
 *
 * @typedef {object} Outcome
 * @property {Answer[]} answers the whole responses, in their order
 * @property {string | null} error code of the error that feed() threw
 */

const SEED = 9112;

/** Far above what the valid responses of this file need. @type {{maxHeadBytes: number, maxBodyBytes: number}} */
const ROOMY = Object.freeze({ maxHeadBytes: 16_384, maxBodyBytes: 1_000_000 });
/** So small that a test can go to the limit and beyond it with few bytes. @type {{maxHeadBytes: number, maxBodyBytes: number}} */
const TIGHT = Object.freeze({ maxHeadBytes: 256, maxBodyBytes: 64 });
/** Bytes that a parser which keeps a reference to its input would take for its own. */
const OVERWRITTEN = 0x21;

/** @param {string} text of bytes */
const bytesOf = (text) => Buffer.from(text, 'latin1');

/**
 * What a parser makes of bytes that come in these pieces.
 * @param {Buffer} bytes
 * @param {number[]} cuts ascending, each within the bytes
 * @param {{maxHeadBytes: number, maxBodyBytes: number}} [limits]
 * @returns {Outcome & {isInside: boolean, fed: number}} fed: how many bytes it took to throw, or all
 */
function parse(bytes, cuts, limits = ROOMY) {
  /** @type {Answer[]} */
  const answers = [];
  const parser = new ResponseParser(limits, parseHead, ({ status, keepAlive }, body, bodyBytes) => {
    answers.push({ status, body, keepAlive });
    // Bytes that are no UTF-8 become replacement characters, so that only valid text can be counted again.
    if (!body.includes('\ufffd')) assert.equal(bodyBytes, Buffer.byteLength(body));
  });
  let fed = 0;
  try {
    for (const end of [...cuts, bytes.length]) {
      const piece = Buffer.from(bytes.subarray(fed, end));
      fed = end;
      parser.feed(piece);
      piece.fill(OVERWRITTEN);
    }
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    assert.equal(error.exitCode, 69);
    return { answers, error: error.code, isInside: parser.isInside, fed };
  }
  return { answers, error: null, isInside: parser.isInside, fed };
}

/** @param {Buffer} bytes */
const byteByByte = (bytes) => Array.from({ length: Math.max(bytes.length - 1, 0) }, (_, i) => i + 1);

/** @param {ReturnType<typeof parse>} parsed @returns {Outcome} */
const outcomeOf = ({ answers, error }) => ({ answers, error });

/** ---- Valid responses ---- */

/** Status lines, fields that do not say how long the body is, and whether the connection stays. @type {Array<[string, string[], boolean]>} */
const HEADS = [
  ['HTTP/1.1 200 OK', [], true],
  ['HTTP/1.0 200 OK', [], false],
  ['HTTP/1.0 200 OK', ['Connection: Keep-Alive'], false],
  ['HTTP/1.1 299', ['Connection: close'], false],
  ['HTTP/1.1 404 ', ['CONNECTION:CLOSE'], false],
  ['HTTP/1.1 599 a\tb', ['connection: \tfoo ,\tclose \t'], false],
  ['HTTP/1.1 500 \xe9\xff', ['Connection: x-close', 'Keep-Alive: timeout=5, max=100', 'Server: a: b\xe9\xff'], true],
  [
    'HTTP/1.1 200 OK',
    ['X-Content-Length: 9', 'Content-Length-Not: 9', 'X-Transfer-Encoding: chunked', "!#$%&'*+.^_`|~09aZ:\t"],
    true,
  ],
];
/** The last one looks like framing. */
const BODIES = ['', '{"id":1,"result":"ä€😀"}', '\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n0\r\n\r\n'];

/** A body in chunks of so many bytes. @param {Buffer} body @param {number} size @param {string} zeros */
function chunked(body, size, zeros) {
  const parts = Array.from({ length: Math.ceil(body.length / size) }, (_, i) =>
    body.subarray(i * size, (i + 1) * size),
  );
  return Buffer.concat(
    [...parts, Buffer.alloc(0)].flatMap((part) => {
      const digits = `${zeros}${part.length.toString(16)}`;
      return [bytesOf(`${zeros === '' ? digits : digits.toUpperCase()}\r\n`), part, bytesOf('\r\n')];
    }),
  );
}

/** Ways to say where a body ends: a field, and the bytes. @type {Array<(body: Buffer) => [string, Buffer]>} */
const FRAMES = [
  (body) => [`Content-Length:${body.length}`, body],
  (body) => [`content-LENGTH: \t00${body.length}\t `, body],
  (body) => ['Transfer-Encoding: chunked', chunked(body, 1, '')],
  (body) => ['TRANSFER-encoding:\tCHUNKED \t', chunked(body, 11, '000')],
];

const SAMPLES = HEADS.flatMap(([line, fields, keepAlive]) =>
  BODIES.flatMap((body) =>
    FRAMES.map((frame, i) => {
      const [field, bytes] = frame(Buffer.from(body));
      const lines = [line, ...(i % 2 === 0 ? [field, ...fields] : [...fields, field])];
      const head = bytesOf(`${lines.join('\r\n')}\r\n\r\n`);
      return { bytes: Buffer.concat([head, bytes]), answer: { status: Number(line.slice(9, 12)), body, keepAlive } };
    }),
  ),
);

/** Several of them in one stream of bytes. */
const STREAM = fc.array(fc.constantFrom(...SAMPLES), { minLength: 1, maxLength: 4 }).map((samples) => ({
  bytes: Buffer.concat(samples.map(({ bytes }) => bytes)),
  answers: samples.map(({ answer }) => answer),
}));

/** Ascending places at which bytes of any length are cut. @param {number} most */
const cutsOf = (most) => fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: most });

/** @param {number[]} fractions @param {number} length */
const placesOf = (fractions, length) =>
  fractions.map((fraction) => Math.floor(fraction * length)).sort((a, b) => a - b);

describe('valid responses', () => {
  for (const { bytes, answer } of SAMPLES)
    it(`${JSON.stringify(bytes.toString('latin1').slice(0, 120))}: the same answer wherever it is cut, and none before its last byte`, () => {
      const expected = { answers: [answer], error: null };
      for (let at = 0; at <= bytes.length; at += 1)
        assert.deepEqual(outcomeOf(parse(bytes, [at])), expected, `cut at ${at}`);
      assert.deepEqual(outcomeOf(parse(bytes, byteByByte(bytes))), expected);
      assert.deepEqual(parse(bytes.subarray(0, -1), []), {
        answers: [],
        error: null,
        isInside: true,
        fed: bytes.length - 1,
      });
    });

  it('in one stream are read as each alone', () => {
    fc.assert(
      fc.property(STREAM, cutsOf(10), ({ bytes, answers }, fractions) => {
        const cuts = placesOf(fractions, bytes.length);
        assert.deepEqual(outcomeOf(parse(bytes, cuts)), { answers, error: null }, `cut at ${cuts}`);
      }),
      { seed: SEED, numRuns: 300 },
    );
  });

  it('may be errors without a length: the status is read, and the connection closed', () => {
    const bytes = bytesOf('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n400 Bad Request');
    const head = bytes.indexOf('\r\n\r\n') + 4;
    for (let at = 0; at <= bytes.length; at += 1)
      assert.deepEqual(parse(bytes, [at]).answers, [{ status: 400, body: '', keepAlive: false }], `cut at ${at}`);
    assert.deepEqual(parse(bytes.subarray(0, head - 1), []).answers, []);
  });

  it('go up to the limits of the head and of the body', () => {
    const start = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: ';
    const chunk = `00000020\r\n${'b'.repeat(32)}\r\n`;
    const bytes = bytesOf(`${start.padEnd(TIGHT.maxHeadBytes, 'x')}\r\n\r\n${chunk}${chunk}0\r\n\r\n`);
    const answers = [{ status: 200, body: 'b'.repeat(64), keepAlive: true }];
    for (let at = 0; at <= bytes.length; at += 1) {
      assert.deepEqual(outcomeOf(parse(bytes, [at], TIGHT)), { answers, error: null }, `cut at ${at}`);
    }
    assert.deepEqual(outcomeOf(parse(bytes, byteByByte(bytes), TIGHT)), { answers, error: null });
  });
});

/** ---- Malformed responses ---- */

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const BAD = 'transport_bad_response';
const LARGE = 'transport_body_too_large';

/** Status lines before a valid rest. */
const STATUS_LINES = [
  ...['Content-Length: 0', 'HTTP/2.0 200 OK', 'HTTP/1.2 200 OK', 'http/1.1 200 OK', 'HTTP/1.1', ''],
  ...['HTTP/1.1 20 OK', 'HTTP/1.1 2000 OK', 'HTTP/1.1 099 OK', 'HTTP/1.1 600 OK', 'HTTP/1.1 2x0 OK', 'HTTP/1.1 200OK'],
  ...['HTTP/1.1  200 OK', 'HTTP/1.1\t200 OK', 'HTTP/1.1 200 O\x1bK', 'HTTP/1.1 200 OK\nA: b', 'HTTP/1.1 200 OK\rA: b'],
  ...['HTTP/1.1 100 Continue', 'HTTP/1.1 101 Switching Protocols', 'HTTP/1.1 103 Early Hints'],
];
/** Fields before a Content-Length. */
const FIELDS = [
  ...['A: b\nC: d', 'A: b\rC: d', 'A: b\r\n c', 'A: b\r\n\tc', ' A: b', 'A b', ': b', 'A : b', 'A\t: b', 'A B: c'],
  ...['A\xe9: b', 'A: b\0c', 'A: b\x07', 'A: b\x7f', 'A\x01: b'],
];
/** All fields of the framing. */
const FRAMINGS = [
  ...['A: b', 'Content-Length: 1\r\nContent-Length: 1', 'Content-Length: 1\r\nCONTENT-LENGTH: 2'],
  ...['', '-1', '+1', '0x1', '1a', '1.0', '1e1', '1 1', '1, 1', '"1"', '1;', '1\xa0', '\xb9', '9'.repeat(16)].map(
    (value) => `Content-Length: ${value}`,
  ),
  ...['gzip', 'identity', '', 'chunked, gzip', 'gzip, chunked', 'chunked, chunked', 'xchunked', 'chunked;a'].map(
    (value) => `Transfer-Encoding: ${value}`,
  ),
  'Transfer-Encoding: chunked\xa0',
  ...['Content-Length: 5\r\nTransfer-Encoding: chunked', 'Transfer-Encoding: chunked\r\nContent-Length: 5'],
  ...['chunked', 'gzip'].map((value) => `Transfer-Encoding: ${value}\r\nTransfer-Encoding: chunked`),
];
/** What follows the head of a response in chunks. */
const CHUNKS = [
  ...['', 'x', ';a', '1;a', '1 ', '-1', '+1', '0x1', '1.', '1g', ' 1', '\t1', '"1"', '1 1', '123456789'].map(
    (size) => `${size}\r\n`,
  ),
  ...[
    '1\na\r\n0\r\n\r\n',
    '1\ra\r\n0\r\n\r\n',
    '3\r\nabcd\r\n0\r\n\r\n',
    '3\r\nab\r\n0\r\n\r\n',
    '3\r\nabc\n0\r\n\r\n',
  ],
  ...['3\r\nabc0\r\n\r\n', '0\r\nA: b\r\n\r\n', '0\r\nA\r\n\r\n', '0\n\r\n', '0\r\n\n\r\n', `0\r\n${OK}\r\n`],
];

/**
 * The bytes; what the server then goes on to send, where an error is due only when too much of it has come without an
 * end of the line or of the head; the code; and within how many bytes it is due.
 * @type {Array<{text: string, goesOn?: string, code?: string, within?: number}>}
 */
const MALFORMED = [
  ...['SSH-2.0-OpenSSH_9.6\r\n', '\x15\x03\x01\x00\x02\x02\x46\x01'].map((text) => ({ text })),
  ...STATUS_LINES.map((line) => ({ text: `${line}\r\nContent-Length: 0\r\n\r\n` })),
  ...FIELDS.map((lines) => ({ text: `${OK}${lines}\r\nContent-Length: 0\r\n\r\n` })),
  ...FRAMINGS.map((lines) => ({ text: `${OK}${lines}\r\n\r\n` })),
  ...CHUNKS.map((chunks) => ({ text: `${CHUNKED}${chunks}` })),
  { text: 'HTTP/1.1 200 OK\nContent-Length: 0\n\n', goesOn: 'x' },
  { text: `${CHUNKED}3\r\nabc`, goesOn: 'd' },
  { text: `${CHUNKED}1;`, goesOn: 'e' },
  { text: OK.slice(0, -2), goesOn: 'k' },
  { text: `${OK}A: `, goesOn: 'a' },
  { text: OK, goesOn: 'A: b\r\n' },
  { text: `${`${OK}A: `.padEnd(TIGHT.maxHeadBytes + 1, 'a')}\r\n\r\n` },
  { text: `${OK}Content-Length: 65\r\n\r\n`, code: LARGE },
  { text: `${OK}Content-Length: ${'9'.repeat(15)}\r\n\r\n`, code: LARGE },
  { text: `${CHUNKED}41\r\n`, code: LARGE },
  { text: `${CHUNKED}ffffffff\r\n`, code: LARGE },
  { text: `${CHUNKED}40\r\n${'b'.repeat(64)}\r\n1\r\n`, code: LARGE },
  { text: CHUNKED, goesOn: '1\r\nb\r\n', code: LARGE, within: 65 * 6 },
];

describe('malformed responses', () => {
  for (const { text, goesOn = '', code = BAD, within = TIGHT.maxHeadBytes + 5 } of MALFORMED) {
    it(`${JSON.stringify(text.slice(0, 90))}: an error, in bounded bytes, wherever it is cut`, () => {
      const bytes = bytesOf(text + goesOn.repeat(Math.ceil((goesOn === '' ? 0 : 2 * within) / (goesOn.length || 1))));
      const expected = { answers: [], error: code };
      const one = parse(bytes, byteByByte(bytes), TIGHT);
      assert.deepEqual(outcomeOf(one), expected);
      // At the latest with the last byte that a whole response would need, or with the first one beyond the limit.
      const most = goesOn === '' ? text.length : Math.max(text.length, TIGHT.maxHeadBytes) + within;
      assert.ok(one.fed <= most, `${one.fed} bytes`);
      assert.deepEqual(outcomeOf(parse(bytes, [], TIGHT)), expected);
      for (let at = 1; at < bytes.length; at += 1) {
        assert.deepEqual(outcomeOf(parse(bytes, [at], TIGHT)), expected, `cut at ${at}`);
      }
      // Nothing is taken back of the answer before it.
      const before = SAMPLES[1 * FRAMES.length];
      const stream = Buffer.concat([before.bytes, bytesOf(text + goesOn.repeat(2 * within))]);
      for (const cuts of [[], [before.bytes.length + 3]])
        assert.deepEqual(outcomeOf(parse(stream, cuts, TIGHT)), { answers: [before.answer], error: code });
    });
  }

  it('the message says what is wrong in one line, without what the server sent', async () => {
    const secret = 'HTTP/1.1 200 \x1b[31m\r\n\r\n';
    const error = await caught(() => new ResponseParser(TIGHT, parseHead, () => {}).feed(bytesOf(secret)));
    assert.equal(error.message, 'cannot read the answer: its first line is not a status line of HTTP/1');
  });

  it('the message names the other transport, where that reads the answer', async () => {
    const error = await caught(() => parseHead(OK.trim()));
    const words = '--transport tcp does not read answers without Content-Length or chunks; --transport undici does';
    assert.equal(error.message, words);
  });
});

/** @typedef {{kind: 'flip' | 'insert' | 'delete', at: number, value: number}} Mutation at: a fraction of the length */

/** @type {fc.Arbitrary<Mutation>} */
const MUTATION = fc.record({
  kind: fc.constantFrom('flip', 'insert', 'delete'),
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  // Mostly the bytes that mean something to HTTP.
  value: fc.oneof(fc.constantFrom(...bytesOf('\r\n\t :;,0159afHTchunked-\0\x7f\xff')), fc.nat({ max: 255 })),
});

/** @param {Buffer} bytes @param {Mutation} mutation */
function mutated(bytes, { kind, at, value }) {
  const place = Math.floor(at * bytes.length);
  const behind = bytes.subarray(kind === 'insert' ? place : place + 1);
  return Buffer.concat([bytes.subarray(0, place), kind === 'delete' ? Buffer.alloc(0) : Buffer.from([value]), behind]);
}

describe('valid responses with a fault in them', () => {
  it('give an error, answers, or a wait for more, and the same wherever they are cut', () => {
    fc.assert(
      fc.property(
        ...[STREAM, fc.array(MUTATION, { minLength: 1, maxLength: 2 }), cutsOf(10)],
        ({ bytes }, mutations, fractions) => {
          const faulty = mutations.reduce(mutated, bytes);
          // parse() lets every other error than a TransportError pass, and fails with it.
          const whole = parse(faulty, []);
          assert.ok([null, BAD, LARGE].includes(whole.error), String(whole.error));
          for (const cuts of [byteByByte(faulty), placesOf(fractions, faulty.length)])
            assert.deepEqual(outcomeOf(parse(faulty, cuts)), outcomeOf(whole), `cut at ${cuts}`);
        },
      ),
      { seed: SEED, numRuns: 1000 },
    );
  });

  it('a head made to be slow to read is as fast as any', () => {
    // Repetitions that overlap in a pattern cost the square of the length: 200 ms and more for a head of 16 KiB.
    const spaces = ' '.repeat(16_000);
    const heads = [
      `${OK}A:${spaces}\x01`,
      `${OK}A: b${spaces}\x01`,
      `${OK}Connection: a${spaces}b`,
      `${OK}Connection:${' ,'.repeat(8000)}`,
      `${OK}Keep-Alive:${' timeout='.repeat(1700)}`,
      `${OK}Content-Length: 1${spaces}1`,
      `HTTP/1.1 200${spaces}\x01`,
    ];
    for (const head of heads) {
      // The fastest of a few: a busy machine slows some of them down, but never makes one faster.
      const tookMs = Math.min(
        ...Array.from({ length: 5 }, () => {
          const startMs = performance.now();
          try {
            parseHead(head);
          } catch (error) {
            assert.ok(error instanceof TransportError);
          }
          return performance.now() - startMs;
        }),
      );
      assert.ok(tookMs < 20, `${JSON.stringify(head.slice(0, 40))}... takes ${Math.round(tookMs)} ms`);
    }
  });
});

describe('parseHead()', () => {
  /** @type {Array<[string, Partial<Head>]>} head fields, and what they say */
  const heads = [
    ['Content-Length: 0', { status: 200, keepAlive: true, keepAliveMs: null, retryAfter: null, body: 0 }],
    ['Content-Length: 007', { body: 7 }],
    ['Transfer-Encoding: Chunked', { body: 'chunked' }],
    ['Content-Length: 0\r\nRetry-After: 7\r\nRetry-After: 8', { retryAfter: '7' }],
    ['Content-Length: 0\r\nConnection: close\r\nConnection: keep-alive', { keepAlive: false }],
    ['Content-Length: 0\r\nConnection: keep-alive\r\nConnection: close', { keepAlive: false }],
    ['Content-Length: 0\r\nConnection: , ,close', { keepAlive: false }],
    ['Content-Length: 0\r\nConnection: closed', { keepAlive: true }],
    ['Content-Length: 0\r\nKeep-Alive: timeout=5', { keepAliveMs: 5000 }],
    ['Content-Length: 0\r\nKeep-Alive: max=100, timeout=72', { keepAliveMs: 72_000 }],
    ['Content-Length: 0\r\nKeep-Alive: max=100,Timeout=7', { keepAliveMs: 7000 }],
    ['Content-Length: 0\r\nKeep-Alive: timeout=0', { keepAliveMs: 0 }],
    ['Content-Length: 0\r\nKeep-Alive: xtimeout=5', { keepAliveMs: null }],
    ['Content-Length: 0\r\nKeep-Alive: timeout=soon', { keepAliveMs: null }],
  ];
  for (const [fields, expected] of heads) {
    it(JSON.stringify(fields), () => {
      const head = parseHead(OK + fields);
      assert.deepEqual({ ...head, ...expected }, head);
    });
  }
});

describe('createHeadCache()', () => {
  const text = 'HTTP/1.1 200 OK\r\nContent-Length: 5';

  it('gives what parseHead() gives, and the same object for the same head', () => {
    const readHead = createHeadCache();
    const head = readHead(text);
    assert.deepEqual(head, parseHead(text));
    assert.equal(readHead(text), head);
    assert.deepEqual(readHead(`${text}0`), parseHead(`${text}0`));
    assert.equal(readHead(text), head);
  });

  it('forgets: a server whose heads all differ does not fill the memory', () => {
    const readHead = createHeadCache();
    const head = readHead(text);
    for (let i = 0; i < 1000; i += 1) assert.equal(readHead(`${OK}X: ${i}\r\nContent-Length: 1`).body, 1);
    assert.notEqual(readHead(text), head);
    assert.deepEqual(readHead(text), head);
  });
});
