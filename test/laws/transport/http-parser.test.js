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

/** @typedef {{bytes: Buffer, answer: Answer}} Sample */

const TEXT = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constant(''),
  fc.constant('{"jsonrpc":"2.0","id":1,"result":"ä€😀"}'),
  // What looks like framing is a body like any other.
  fc.constant('\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n0\r\n\r\n'),
);

/** Header names may be written in any case. @param {string} name */
const anyCase = (name) =>
  fc
    .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
    .map((upper) => [...name].map((c, i) => (upper[i] ? c.toUpperCase() : c.toLowerCase())).join(''));

const SPACE = fc.constantFrom('', ' ', '\t', ' \t ');

/** A field line without its CR LF. @param {fc.Arbitrary<string>} name @param {fc.Arbitrary<string>} value */
const field = (name, value) =>
  fc.tuple(name, SPACE, value, SPACE).map(([n, before, v, behind]) => `${n}:${before}${v}${behind}`);

/** Fields that say nothing of the framing. */
const OTHER_FIELD = fc.oneof(
  field(anyCase('content-type'), fc.constant('application/json')),
  field(anyCase('server'), fc.constantFrom('', 'nginx/1.2', 'a: b', 'x\xe9\xff')),
  field(
    fc.constantFrom('X-Content-Length', 'Content-Length-Not', 'X-Transfer-Encoding', "!#$%&'*+.^_`|~09aZ"),
    fc.constantFrom('9', 'chunked'),
  ),
  field(anyCase('keep-alive'), fc.constantFrom('timeout=5', 'timeout=5, max=100', 'max=3')),
);

/** What a Connection field says, and whether the connection may be used again. */
const CONNECTION = fc.constantFrom(
  { value: null, keep: true },
  { value: 'close', keep: false },
  { value: 'CLOSE', keep: false },
  { value: 'Keep-Alive', keep: true },
  { value: 'x-close', keep: true },
  { value: 'foo ,\tclose', keep: false },
  { value: 'keep-alive, close', keep: false },
);

const REASON = fc.constantFrom(' OK', ' ', '', ' Not Found', ' a\tb', ' \xe9\xff');
/** A body in chunks of these sizes, and the rest in one. */
const CHUNKING = fc.record({
  sizes: fc.array(fc.nat({ max: 20 }), { maxLength: 4 }),
  zeros: fc.constantFrom('', '0', '000'),
  isUpper: fc.boolean(),
});

/** @param {Buffer} body @param {{sizes: number[], zeros: string, isUpper: boolean}} how */
function chunked(body, { sizes, zeros, isUpper }) {
  const parts = [];
  let at = 0;
  for (const wanted of [...sizes, body.length]) {
    const part = body.subarray(at, at + wanted);
    if (part.length === 0) continue;
    at += part.length;
    const size = `${zeros}${part.length.toString(16)}`;
    parts.push(bytesOf(`${isUpper ? size.toUpperCase() : size}\r\n`), part, bytesOf('\r\n'));
  }
  return Buffer.concat([...parts, bytesOf(`${zeros}0\r\n\r\n`)]);
}

/**
 * @param {'length' | 'chunked'} framing
 * @param {fc.Arbitrary<string>} [text]
 * @returns {fc.Arbitrary<Sample>}
 */
const framed = (framing, text = TEXT) =>
  fc
    .record({
      text,
      how: CHUNKING,
      minor: fc.constantFrom(1, 1, 0),
      status: fc.integer({ min: 200, max: 599 }).filter((status) => status !== 204),
      reason: REASON,
      connection: CONNECTION,
      others: fc.array(OTHER_FIELD, { maxLength: 3 }),
      position: fc.nat({ max: 3 }),
      names: fc.record({
        length: anyCase('content-length'),
        coding: anyCase('transfer-encoding'),
        connection: anyCase('connection'),
      }),
      coding: anyCase('chunked'),
      space: SPACE,
    })
    .map(({ text: body, how, minor, status, reason, connection, others, position, names, coding, space }) => {
      const payload = Buffer.from(body);
      const isChunked = framing === 'chunked';
      const value = isChunked ? coding : payload.length;
      const fields = [...others];
      fields.splice(position, 0, `${isChunked ? names.coding : names.length}:${space}${value}${space}`);
      if (connection.value !== null) fields.splice(position, 0, `${names.connection}: ${connection.value}`);
      const head = [`HTTP/1.${minor} ${status}${reason}`, ...fields, '', ''].join('\r\n');
      return {
        bytes: Buffer.concat([bytesOf(head), isChunked ? chunked(payload, how) : payload]),
        answer: { status, body, keepAlive: connection.keep && minor === 1 },
      };
    });

const RESPONSE = fc.oneof(framed('length'), framed('chunked'));

/** Several responses in one stream of bytes. */
const STREAM = fc.array(RESPONSE, { minLength: 1, maxLength: 4 }).map((samples) => ({
  bytes: Buffer.concat(samples.map(({ bytes }) => bytes)),
  answers: samples.map(({ answer }) => answer),
}));

/** Ascending places at which bytes of any length are cut. @param {number} most */
const cutsOf = (most) => fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: most });

/** @param {number[]} fractions @param {number} length */
const placesOf = (fractions, length) =>
  fractions.map((fraction) => Math.floor(fraction * length)).sort((a, b) => a - b);

describe('valid responses', () => {
  it('give their status, their body and whether the connection stays, in one piece', () => {
    fc.assert(
      fc.property(STREAM, ({ bytes, answers }) => {
        const parsed = parse(bytes, []);
        assert.deepEqual(outcomeOf(parsed), { answers, error: null });
        assert.equal(parsed.isInside, false);
      }),
      { seed: SEED, numRuns: 500 },
    );
  });

  it('give the same cut in two at every place', () => {
    fc.assert(
      fc.property(STREAM, ({ bytes, answers }) => {
        for (let at = 0; at <= bytes.length; at += 1) {
          assert.deepEqual(outcomeOf(parse(bytes, [at])), { answers, error: null }, `cut at ${at}`);
        }
      }),
      { seed: SEED, numRuns: 60 },
    );
  });

  it('give the same cut in many pieces, empty ones among them, and byte by byte', () => {
    fc.assert(
      fc.property(STREAM, cutsOf(30), ({ bytes, answers }, fractions) => {
        const cuts = placesOf(fractions, bytes.length);
        assert.deepEqual(outcomeOf(parse(bytes, cuts)), { answers, error: null }, `cut at ${cuts}`);
        assert.deepEqual(outcomeOf(parse(bytes, byteByByte(bytes))), { answers, error: null });
      }),
      { seed: SEED, numRuns: 300 },
    );
  });

  it('are large ones, too', () => {
    const text = fc.nat({ max: 30_000 }).map((n) => 'äb€c😀'.repeat(n / 5));
    fc.assert(
      fc.property(
        fc.oneof(framed('length', text), framed('chunked', text)),
        cutsOf(50),
        ({ bytes, answer }, fractions) => {
          const cuts = placesOf(fractions, bytes.length);
          const parsed = outcomeOf(parse(bytes, cuts));
          // Not deepEqual: its message would hold both bodies.
          assert.ok(parsed.error === null && parsed.answers.length === 1, `${parsed.error}, cut at ${cuts}`);
          assert.ok(parsed.answers[0].body === answer.body, `another body, cut at ${cuts}`);
          assert.equal(parsed.answers[0].status, answer.status);
        },
      ),
      { seed: SEED, numRuns: 60 },
    );
  });

  it('may be errors without a length: the status is read, and the connection closed', () => {
    const bytes = bytesOf('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n400 Bad Request');
    const head = bytes.indexOf('\r\n\r\n') + 4;
    for (let at = 0; at <= bytes.length; at += 1)
      assert.deepEqual(parse(bytes, [at]).answers, [{ status: 400, body: '', keepAlive: false }], `cut at ${at}`);
    assert.deepEqual(parse(bytes.subarray(0, head - 1), []).answers, []);
  });

  it('are not complete before their last byte', () => {
    fc.assert(
      fc.property(RESPONSE, ({ bytes, answer }) => {
        const parsed = parse(bytes.subarray(0, -1), []);
        assert.deepEqual(outcomeOf(parsed), { answers: [], error: null });
        assert.equal(parsed.isInside, true);
        assert.deepEqual(parse(bytes, []).answers, [answer]);
      }),
      { seed: SEED, numRuns: 200 },
    );
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
    });

    it(`${JSON.stringify(text.slice(0, 90))}: takes nothing back of the answer before it`, () => {
      const before = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';
      const bytes = bytesOf(before + text + goesOn.repeat(2 * within));
      const expected = { answers: [{ status: 200, body: '{}', keepAlive: true }], error: code };
      assert.deepEqual(outcomeOf(parse(bytes, [], TIGHT)), expected);
      assert.deepEqual(outcomeOf(parse(bytes, [before.length + 3], TIGHT)), expected);
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
    /** How often each of the three came about: a property that only ever sees one of them shows nothing. */
    const seen = { error: 0, waits: 0, complete: 0 };
    fc.assert(
      fc.property(
        ...[STREAM, fc.array(MUTATION, { minLength: 1, maxLength: 2 }), cutsOf(10)],
        ({ bytes }, mutations, fractions) => {
          const faulty = mutations.reduce(mutated, bytes);
          // parse() lets every other error than a TransportError pass, and fails with it.
          const whole = parse(faulty, []);
          assert.ok([null, BAD, LARGE].includes(whole.error), String(whole.error));
          if (whole.error !== null) seen.error += 1;
          else seen[whole.isInside ? 'waits' : 'complete'] += 1;
          for (const cuts of [byteByByte(faulty), placesOf(fractions, faulty.length)]) {
            assert.deepEqual(outcomeOf(parse(faulty, cuts)), outcomeOf(whole), `cut at ${cuts}`);
          }
        },
      ),
      { seed: SEED, numRuns: 2000 },
    );
    for (const [kind, times] of Object.entries(seen)) assert.ok(times > 20, `${kind} only ${times} times`);
  });

  it('random bytes, too', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (tail, isBehindHead) => {
        const bytes = Buffer.concat([bytesOf(isBehindHead ? CHUNKED : ''), tail]);
        assert.deepEqual(outcomeOf(parse(bytes, byteByByte(bytes))), outcomeOf(parse(bytes, [])));
      }),
      { seed: SEED, numRuns: 500 },
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

  it('is not shared with another one', () => {
    assert.notEqual(createHeadCache()(text), createHeadCache()(text));
  });

  it('throws for a malformed head each time', async () => {
    const readHead = createHeadCache();
    for (let i = 0; i < 3; i += 1) assert.equal((await caught(() => readHead('HTTP/1.1'))).code, BAD);
  });

  it('forgets: a server whose heads all differ does not fill the memory', () => {
    const readHead = createHeadCache();
    const head = readHead(text);
    for (let i = 0; i < 1000; i += 1) assert.equal(readHead(`${OK}X: ${i}\r\nContent-Length: 1`).body, 1);
    assert.notEqual(readHead(text), head);
    assert.deepEqual(readHead(text), head);
  });

  it('a parser that uses it gives the same answers', () => {
    /** @type {string[]} */
    const bodies = [];
    const parser = new ResponseParser(ROOMY, createHeadCache(), (_, body) => bodies.push(body));
    for (const body of ['one', 'two', 'three', 'six', '', 'three']) {
      parser.feed(bytesOf(`${OK}Content-Length: ${body.length}\r\n\r\n${body}`));
    }
    assert.deepEqual(bodies, ['one', 'two', 'three', 'six', '', 'three']);
  });
});
