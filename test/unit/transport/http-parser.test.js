/**
 * The parser of HTTP/1.1 responses against RFC 9112: what is valid gives the same answers wherever its bytes are cut,
 * and what is not is an error, not a guess and not an endless wait.
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
 * @property {string | null} error code of the error that feed() or end() threw
 */

const SEED = 9112;

/** Far above what the valid responses of this file need. @type {{maxHeadBytes: number, maxBodyBytes: number}} */
const ROOMY = Object.freeze({ maxHeadBytes: 16_384, maxBodyBytes: 1_000_000 });
/** So small that a test can go to the limit and beyond it with few bytes. @type {{maxHeadBytes: number, maxBodyBytes: number}} */
const TIGHT = Object.freeze({ maxHeadBytes: 256, maxBodyBytes: 64 });
/** The longest line before a chunk, with its CR LF: what the parser holds back at most before it gives up. */
const CHUNK_LINE_BYTES = 1024 + 2;

/** Bytes that a parser which keeps a reference to its input would take for its own. */
const OVERWRITTEN = 0x21;

/** @param {string} text of bytes */
const bytesOf = (text) => Buffer.from(text, 'latin1');

/**
 * What a parser makes of bytes that come in these pieces.
 * @param {Buffer} bytes
 * @param {number[]} cuts ascending, each within the bytes
 * @param {{limits?: {maxHeadBytes: number, maxBodyBytes: number}, closes?: boolean}} [options] closes: the server closes its side behind them
 * @returns {Outcome & {isInside: boolean, fed: number}} fed: how many bytes it took to throw, or all
 */
function parse(bytes, cuts, { limits = ROOMY, closes = false } = {}) {
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
    if (closes) parser.end();
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

/** @typedef {{bytes: Buffer, answer: Answer, untilClose: boolean}} Sample */

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

/** What a Connection field says, and whether the connection may be used again behind a response of this version. */
const CONNECTION = fc.constantFrom(
  { value: null, keep: null },
  { value: 'close', keep: false },
  { value: 'CLOSE', keep: false },
  { value: 'keep-alive', keep: true },
  { value: 'Keep-Alive', keep: true },
  { value: 'x-close', keep: null },
  { value: 'foo ,\tclose', keep: false },
  { value: 'keep-alive, close', keep: false },
  { value: 'upgrade, Keep-Alive', keep: true },
);

const EXTENSION = fc.constantFrom('', ';a', ' ;a=b', ';a="x;y"; b', '\t; \xe9=1');
const REASON = fc.constantFrom(' OK', ' ', '', ' Not Found', ' a\tb', ' \xe9\xff');
const INTERIM = fc.constantFrom(
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 102\r\nX: 1\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: close\r\n\r\n',
);

/** A body in chunks of these sizes, and the rest in one. */
const CHUNKING = fc.record({
  sizes: fc.array(fc.nat({ max: 20 }), { maxLength: 4 }),
  extensions: fc.array(EXTENSION, { minLength: 6, maxLength: 6 }),
  zeros: fc.constantFrom('', '0', '000'),
  isUpper: fc.boolean(),
  trailers: fc.array(OTHER_FIELD, { maxLength: 2 }),
});

/** @param {Buffer} body @param {{sizes: number[], extensions: string[], zeros: string, isUpper: boolean, trailers: string[]}} how */
function chunked(body, { sizes, extensions, zeros, isUpper, trailers }) {
  const parts = [];
  let at = 0;
  for (const [i, wanted] of [...sizes, body.length].entries()) {
    const part = body.subarray(at, at + wanted);
    if (part.length === 0) continue;
    at += part.length;
    const size = `${zeros}${part.length.toString(16)}`;
    parts.push(bytesOf(`${isUpper ? size.toUpperCase() : size}${extensions[i]}\r\n`), part, bytesOf('\r\n'));
  }
  const end = [`${zeros}0${extensions[5]}`, ...trailers, '', ''].join('\r\n');
  return Buffer.concat([...parts, bytesOf(end)]);
}

/**
 * @param {'length' | 'chunked' | 'until close'} framing
 * @param {fc.Arbitrary<string>} [text]
 * @returns {fc.Arbitrary<Sample>}
 */
const framed = (framing, text = TEXT) =>
  fc
    .record({
      text,
      how: CHUNKING,
      isOld: framing === 'chunked' ? fc.constant(false) : fc.boolean(),
      status: fc.oneof(
        fc.constant(200),
        fc.integer({ min: 200, max: 599 }).filter((s) => s !== 204 && s !== 304),
      ),
      reason: REASON,
      connection: CONNECTION,
      interim: fc.array(INTERIM, { maxLength: 2 }),
      others: fc.array(OTHER_FIELD, { maxLength: 3 }),
      position: fc.nat({ max: 3 }),
      isTwice: fc.boolean(),
      names: fc.record({
        length: anyCase('content-length'),
        coding: anyCase('transfer-encoding'),
        connection: anyCase('connection'),
      }),
      coding: anyCase('chunked'),
      space: SPACE,
    })
    .map(
      ({
        text: body,
        how,
        isOld,
        status,
        reason,
        connection,
        interim,
        others,
        position,
        isTwice,
        names,
        coding,
        space,
      }) => {
        const payload = Buffer.from(body);
        const fields = [...others];
        const length = `${names.length}:${space}${payload.length}${space}`;
        /** @type {Record<typeof framing, string[]>} */
        const framings = {
          // The same length twice is no contradiction.
          length: isTwice ? [length, `Content-Length: ${payload.length}`] : [length],
          chunked: [`${names.coding}:${space}${coding}${space}`],
          'until close': [],
        };
        fields.splice(position, 0, ...framings[framing]);
        if (connection.value !== null) fields.splice(position, 0, `${names.connection}: ${connection.value}`);
        const head = [`HTTP/1.${isOld ? 0 : 1} ${status}${reason}`, ...fields, '', ''].join('\r\n');
        const wire = framing === 'chunked' ? chunked(payload, how) : payload;
        return {
          bytes: Buffer.concat([bytesOf(interim.join('') + head), wire]),
          answer: { status, body, keepAlive: connection.keep ?? !isOld },
          untilClose: framing === 'until close',
        };
      },
    );

/** Responses that have no body, whatever their fields say (RFC 9112, section 6.3). @type {fc.Arbitrary<Sample>} */
const BODILESS = fc
  .tuple(
    fc.constantFrom(204, 304),
    REASON,
    fc.constantFrom('', 'Content-Length: 0\r\n', 'content-length: 77\r\n', 'Transfer-Encoding: chunked\r\n'),
  )
  .map(([status, reason, fields]) => ({
    bytes: bytesOf(`HTTP/1.1 ${status}${reason}\r\n${fields}\r\n`),
    answer: { status, body: '', keepAlive: true },
    untilClose: false,
  }));

const DELIMITED = fc.oneof(framed('length'), framed('chunked'), BODILESS);

/** Several responses in one stream of bytes; only the last one can end with the connection. */
const STREAM = fc
  .tuple(fc.array(DELIMITED, { minLength: 1, maxLength: 3 }), fc.option(framed('until close'), { nil: null, freq: 3 }))
  .map(([first, last]) => {
    const samples = last === null ? first : [...first, last];
    return {
      bytes: Buffer.concat(samples.map(({ bytes }) => bytes)),
      answers: samples.map(({ answer }) => answer),
      closes: last !== null,
    };
  });

/** Ascending places at which bytes of any length are cut. @param {number} most */
const cutsOf = (most) => fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: most });

/** @param {number[]} fractions @param {number} length */
const placesOf = (fractions, length) =>
  fractions.map((fraction) => Math.floor(fraction * length)).sort((a, b) => a - b);

describe('valid responses', () => {
  it('give their status, their body and whether the connection stays, in one piece', () => {
    fc.assert(
      fc.property(STREAM, ({ bytes, answers, closes }) => {
        const parsed = parse(bytes, [], { closes });
        assert.deepEqual(outcomeOf(parsed), { answers, error: null });
        assert.equal(parsed.isInside, false);
      }),
      { seed: SEED, numRuns: 500 },
    );
  });

  it('give the same cut in two at every place', () => {
    fc.assert(
      fc.property(STREAM, ({ bytes, answers, closes }) => {
        for (let at = 0; at <= bytes.length; at += 1) {
          assert.deepEqual(outcomeOf(parse(bytes, [at], { closes })), { answers, error: null }, `cut at ${at}`);
        }
      }),
      { seed: SEED, numRuns: 60 },
    );
  });

  it('give the same cut in many pieces, empty ones among them, and byte by byte', () => {
    fc.assert(
      fc.property(STREAM, cutsOf(30), ({ bytes, answers, closes }, fractions) => {
        const cuts = placesOf(fractions, bytes.length);
        assert.deepEqual(outcomeOf(parse(bytes, cuts, { closes })), { answers, error: null }, `cut at ${cuts}`);
        assert.deepEqual(outcomeOf(parse(bytes, byteByByte(bytes), { closes })), { answers, error: null });
      }),
      { seed: SEED, numRuns: 300 },
    );
  });

  it('are large ones, too', () => {
    const text = fc.nat({ max: 30_000 }).map((n) => 'äb€c😀'.repeat(n / 5));
    fc.assert(
      fc.property(
        fc.oneof(framed('length', text), framed('chunked', text), framed('until close', text)),
        cutsOf(50),
        ({ bytes, answer, untilClose }, fractions) => {
          const cuts = placesOf(fractions, bytes.length);
          const parsed = outcomeOf(parse(bytes, cuts, { closes: untilClose }));
          // Not deepEqual: its message would hold both bodies.
          assert.ok(parsed.error === null && parsed.answers.length === 1, `${parsed.error}, cut at ${cuts}`);
          assert.ok(parsed.answers[0].body === answer.body, `another body, cut at ${cuts}`);
          assert.equal(parsed.answers[0].status, answer.status);
        },
      ),
      { seed: SEED, numRuns: 60 },
    );
  });

  it('are not complete before their last byte', () => {
    fc.assert(
      fc.property(DELIMITED, ({ bytes, answer }) => {
        const parsed = parse(bytes.subarray(0, -1), []);
        assert.deepEqual(outcomeOf(parsed), { answers: [], error: null });
        assert.equal(parsed.isInside, true);
        assert.deepEqual(parse(bytes, []).answers, [answer]);
      }),
      { seed: SEED, numRuns: 200 },
    );
  });

  it('go up to the limits, which count the head, the trailers and the body each for itself', () => {
    // The limits are for the head without the empty line at its end, and for the trailers without theirs.
    const filler = (/** @type {number} */ bytes) => `X: ${'x'.repeat(bytes - 'X: '.length)}`;
    const start = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n';
    const head = start + filler(TIGHT.maxHeadBytes - start.length);
    const extension = `;${'e'.repeat(CHUNK_LINE_BYTES - '20;\r\n'.length)}`;
    const chunk = `20${extension}\r\n${'b'.repeat(32)}\r\n`;
    const trailers = `${filler(100)}\r\n${filler(TIGHT.maxHeadBytes - 104)}\r\n`;
    const bytes = bytesOf(`${head}\r\n\r\n${chunk}${chunk}0\r\n${trailers}\r\n`);
    const answers = [{ status: 200, body: 'b'.repeat(64), keepAlive: true }];
    for (let at = 0; at <= bytes.length; at += 1) {
      assert.deepEqual(outcomeOf(parse(bytes, [at], { limits: TIGHT })), { answers, error: null }, `cut at ${at}`);
    }
    assert.deepEqual(outcomeOf(parse(bytes, byteByByte(bytes), { limits: TIGHT })), { answers, error: null });
  });
});

/** ---- Malformed responses ---- */

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const BAD = 'transport_bad_response';
const LARGE = 'transport_body_too_large';

/**
 * What is wrong; the bytes; what the server then goes on to send, where an error is due only when too much of it has
 * come without an end of the line or of the head; and the code, bad_response unless stated.
 * @type {Array<{name: string, text: string, goesOn?: string, code?: string, within?: number}>}
 */
const MALFORMED = [
  { name: 'no status line', text: 'Content-Length: 0\r\n\r\n' },
  { name: 'another protocol', text: 'SSH-2.0-OpenSSH_9.6\r\n' },
  { name: 'TLS', text: '\x15\x03\x01\x00\x02\x02\x46' },
  { name: 'an empty line before the status line', text: `\r\n${OK}Content-Length: 0\r\n\r\n` },
  { name: 'HTTP/2.0', text: 'HTTP/2.0 200 OK\r\n\r\n' },
  { name: 'HTTP/1.2', text: 'HTTP/1.2 200 OK\r\n\r\n' },
  { name: 'HTTP/0.9', text: 'HTTP/0.9 200 OK\r\n\r\n' },
  { name: 'the name of the protocol in lower case', text: 'http/1.1 200 OK\r\n\r\n' },
  { name: 'no status', text: 'HTTP/1.1\r\n\r\n' },
  { name: 'a status of two digits', text: 'HTTP/1.1 20 OK\r\n\r\n' },
  { name: 'a status of four digits', text: 'HTTP/1.1 2000 OK\r\n\r\n' },
  { name: 'a status below 100', text: 'HTTP/1.1 099 OK\r\n\r\n' },
  { name: 'a status above 599', text: 'HTTP/1.1 600 OK\r\n\r\n' },
  { name: 'a status that is no number', text: 'HTTP/1.1 2x0 OK\r\n\r\n' },
  { name: 'a reason right behind the status', text: 'HTTP/1.1 200OK\r\n\r\n' },
  { name: 'two spaces before the status', text: 'HTTP/1.1  200 OK\r\n\r\n' },
  { name: 'a tab before the status', text: 'HTTP/1.1\t200 OK\r\n\r\n' },
  { name: 'a control character in the reason', text: 'HTTP/1.1 200 O\x1bK\r\n\r\n' },
  { name: 'a bare LF behind the status line', text: 'HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n' },
  { name: 'a bare CR behind the status line', text: 'HTTP/1.1 200 OK\rContent-Length: 0\r\n\r\n' },
  { name: 'bare LFs for all line ends', text: 'HTTP/1.1 200 OK\nContent-Length: 0\n\n', goesOn: 'x' },
  { name: 'a bare LF between fields', text: `${OK}A: b\nContent-Length: 0\r\n\r\n` },
  { name: 'a bare CR in a field', text: `${OK}A: b\rContent-Length: 0\r\n\r\n` },
  { name: 'a folded field', text: `${OK}A: b\r\n c\r\nContent-Length: 0\r\n\r\n` },
  { name: 'a field folded with a tab', text: `${OK}A: b\r\n\tc\r\nContent-Length: 0\r\n\r\n` },
  { name: 'a space before the first field', text: `${OK} Content-Length: 0\r\n\r\n` },
  { name: 'a field without a colon', text: `${OK}Content-Length 0\r\n\r\n` },
  { name: 'a field without a name', text: `${OK}: 0\r\nContent-Length: 0\r\n\r\n` },
  { name: 'a space before the colon', text: `${OK}Content-Length : 0\r\n\r\n` },
  { name: 'a tab before the colon', text: `${OK}Content-Length\t: 0\r\n\r\n` },
  { name: 'a space within a name', text: `${OK}Content Length: 0\r\n\r\n` },
  { name: 'a name that is no token', text: `${OK}Content-Length\xe9: 0\r\nContent-Length: 0\r\n\r\n` },
  { name: 'NUL in a value', text: `${OK}A: b\0c\r\nContent-Length: 0\r\n\r\n` },
  { name: 'a control character in a value', text: `${OK}A: b\x07\r\nContent-Length: 0\r\n\r\n` },
  { name: 'DEL in a value', text: `${OK}A: b\x7f\r\nContent-Length: 0\r\n\r\n` },
  { name: 'a control character in a name', text: `${OK}A\x01: b\r\nContent-Length: 0\r\n\r\n` },
  { name: 'two Content-Lengths', text: `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\n` },
  { name: 'two Content-Lengths, not in the same case', text: `${OK}Content-Length: 1\r\nCONTENT-LENGTH: 2\r\n\r\n` },
  { name: 'two Content-Lengths in one field', text: `${OK}Content-Length: 1, 2\r\n\r\n` },
  ...['', '-1', '+1', '0x1', '1a', 'a', '1.0', '1e1', '1 1', '"1"', '1;', '\xb9', '1\xa0', '\xa01', '9'.repeat(16)].map(
    (value) => ({
      name: `a Content-Length of ${JSON.stringify(value)}`,
      text: `${OK}Content-Length: ${value}\r\n\r\n`,
    }),
  ),
  { name: 'a Content-Length and chunks', text: `${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n` },
  { name: 'chunks and a Content-Length', text: `${OK}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n` },
  ...[
    'gzip',
    'identity',
    '',
    'chunked, gzip',
    'gzip, chunked',
    'chunked, chunked',
    'xchunked',
    'chunked;a',
    'chunked\xa0',
  ].map((value) => ({
    name: `a Transfer-Encoding of ${JSON.stringify(value)}`,
    text: `${OK}Transfer-Encoding: ${value}\r\n\r\n`,
  })),
  { name: 'chunked twice', text: `${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n` },
  {
    name: 'gzip, and chunked in a second field',
    text: `${OK}Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n`,
  },
  { name: 'HTTP/1.0 with chunks', text: 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n' },
  { name: 'another protocol from here on', text: 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n' },
  { name: 'a malformed response behind 100', text: 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 x\r\n\r\n' },
  { name: 'a malformed 100', text: `HTTP/1.1 100 Continue\r\nA\r\n\r\n${OK}Content-Length: 0\r\n\r\n` },

  ...['', 'x', ';a', '-1', '+1', '0x1', '1.', '1g', ' 1', '\t1', '"1"', '1\xa0', '1 1', '123456789'].map((size) => ({
    name: `the size ${JSON.stringify(size)} of a chunk`,
    text: `${CHUNKED}${size}\r\n`,
  })),
  { name: 'a bare LF behind the size of a chunk', text: `${CHUNKED}1\na\r\n0\r\n\r\n` },
  { name: 'a bare CR in the line before a chunk', text: `${CHUNKED}1;a\rb\r\na\r\n0\r\n\r\n` },
  { name: 'a control character in a chunk extension', text: `${CHUNKED}1;\x01\r\na\r\n0\r\n\r\n` },
  { name: 'a chunk that is one byte longer than it said', text: `${CHUNKED}3\r\nabcd\r\n0\r\n\r\n` },
  { name: 'a chunk that is shorter than it said', text: `${CHUNKED}3\r\nab\r\n0\r\n\r\n` },
  { name: 'a bare LF behind a chunk', text: `${CHUNKED}3\r\nabc\n0\r\n\r\n` },
  { name: 'nothing behind a chunk', text: `${CHUNKED}3\r\nabc0\r\n\r\n` },
  {
    name: 'a chunk longer than it said, and no end of the line',
    text: `${CHUNKED}3\r\nabc`,
    goesOn: 'd',
    within: CHUNK_LINE_BYTES + 1,
  },
  { name: 'a line before a chunk beyond the limit', text: `${CHUNKED}1;`, goesOn: 'e', within: CHUNK_LINE_BYTES + 1 },
  { name: 'a whole line before a chunk beyond the limit', text: `${CHUNKED}1;${'e'.repeat(CHUNK_LINE_BYTES - 3)}\r\n` },
  { name: 'a malformed trailer', text: `${CHUNKED}0\r\nA\r\n\r\n` },
  { name: 'a folded trailer', text: `${CHUNKED}0\r\nA: b\r\n c\r\n\r\n` },
  { name: 'a bare LF behind the last chunk', text: `${CHUNKED}0\n\r\n` },
  { name: 'a bare LF in the trailers', text: `${CHUNKED}0\r\nA: b\n\r\n` },
  { name: 'a bare LF for the empty line behind the trailers', text: `${CHUNKED}0\r\n\n` },
  { name: 'another response where the trailers are', text: `${CHUNKED}0\r\n${OK}Content-Length: 0\r\n\r\n` },

  { name: 'a status line beyond the limit', text: OK.slice(0, -2), goesOn: 'k', within: TIGHT.maxHeadBytes + 5 },
  { name: 'a field beyond the limit', text: `${OK}A: `, goesOn: 'a', within: TIGHT.maxHeadBytes + 5 },
  { name: 'many fields beyond the limit', text: OK, goesOn: 'A: b\r\n', within: TIGHT.maxHeadBytes + 5 },
  {
    name: 'a whole head one byte beyond the limit',
    text: `${OK}A: ${'a'.repeat(TIGHT.maxHeadBytes - OK.length - 2)}\r\n\r\n`,
  },
  { name: 'a trailer beyond the limit', text: `${CHUNKED}0\r\nA: `, goesOn: 'a', within: TIGHT.maxHeadBytes + 3 },
  {
    name: 'whole trailers one byte beyond the limit',
    text: `${CHUNKED}0\r\nA: ${'a'.repeat(95)}\r\nA: ${'a'.repeat(TIGHT.maxHeadBytes + 1 - 100 - 5)}\r\n\r\n`,
  },
  {
    name: 'many trailers beyond the limit',
    text: `${CHUNKED}0\r\n`,
    goesOn: 'A: b\r\n',
    within: TIGHT.maxHeadBytes + 8,
  },

  {
    name: 'a Content-Length beyond the limit, before the body comes',
    text: `${OK}Content-Length: 65\r\n\r\n`,
    code: LARGE,
  },
  { name: 'a Content-Length far beyond it', text: `${OK}Content-Length: ${'9'.repeat(15)}\r\n\r\n`, code: LARGE },
  { name: 'a chunk beyond the limit, before it comes', text: `${CHUNKED}41\r\n`, code: LARGE },
  { name: 'a chunk far beyond it', text: `${CHUNKED}ffffffff\r\n`, code: LARGE },
  { name: 'chunks that go beyond the limit together', text: `${CHUNKED}40\r\n${'b'.repeat(64)}\r\n1\r\n`, code: LARGE },
  { name: 'small chunks without end', text: CHUNKED, goesOn: '1\r\nb\r\n', code: LARGE, within: 65 * 6 },
  {
    name: 'a body until the close that goes beyond the limit',
    text: `${OK}\r\n`,
    goesOn: 'b',
    code: LARGE,
    within: 65,
  },
];

describe('malformed responses', () => {
  for (const { name, text, goesOn = '', code = BAD, within = TIGHT.maxHeadBytes + 5 } of MALFORMED) {
    it(`${name}: an error, in bounded bytes, wherever it is cut`, () => {
      const bytes = bytesOf(text + goesOn.repeat(Math.ceil((goesOn === '' ? 0 : 2 * within) / (goesOn.length || 1))));
      const expected = { answers: [], error: code };
      const one = parse(bytes, byteByByte(bytes), { limits: TIGHT });
      assert.deepEqual(outcomeOf(one), expected);
      // At the latest with the last byte that a whole response would need, or with the first one beyond the limit.
      const most = goesOn === '' ? text.length : Math.max(text.length, TIGHT.maxHeadBytes) + within;
      assert.ok(one.fed <= most, `${one.fed} bytes`);
      assert.deepEqual(outcomeOf(parse(bytes, [], { limits: TIGHT })), expected);
      for (let at = 1; at < bytes.length; at += 1) {
        assert.deepEqual(outcomeOf(parse(bytes, [at], { limits: TIGHT })), expected, `cut at ${at}`);
      }
    });

    it(`${name}: takes nothing back of the answer before it`, () => {
      const before = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';
      const bytes = bytesOf(before + text + goesOn.repeat(2 * within));
      const expected = { answers: [{ status: 200, body: '{}', keepAlive: true }], error: code };
      assert.deepEqual(outcomeOf(parse(bytes, [], { limits: TIGHT })), expected);
      assert.deepEqual(outcomeOf(parse(bytes, [before.length + 3], { limits: TIGHT })), expected);
    });
  }

  it('the message says what is wrong in one line, without what the server sent', async () => {
    const secret = 'HTTP/1.1 200 \x1b[31m\r\n\r\n';
    const error = await caught(() => new ResponseParser(TIGHT, parseHead, () => {}).feed(bytesOf(secret)));
    assert.equal(error.message, 'the answer is not HTTP/1.1: its first line is not a status line');
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
        ...[STREAM, fc.array(MUTATION, { minLength: 1, maxLength: 3 }), cutsOf(10)],
        ({ bytes, closes }, mutations, fractions) => {
          const faulty = mutations.reduce(mutated, bytes);
          // parse() lets every other error than a TransportError pass, and fails with it.
          const whole = parse(faulty, []);
          assert.ok([null, BAD, LARGE].includes(whole.error), String(whole.error));
          if (whole.error !== null) seen.error += 1;
          else seen[whole.isInside ? 'waits' : 'complete'] += 1;
          for (const cuts of [byteByByte(faulty), placesOf(fractions, faulty.length)]) {
            assert.deepEqual(outcomeOf(parse(faulty, cuts)), outcomeOf(whole), `cut at ${cuts}`);
          }
          // A close at the end changes nothing of what came before it.
          const closed = parse(faulty, [], { closes: true });
          assert.deepEqual(closed.answers.slice(0, whole.answers.length), whole.answers);
          assert.ok([whole.error, 'transport_reset'].includes(closed.error), `${closed.error} at the end, ${closes}`);
          if (whole.error === null && !whole.isInside) assert.equal(closed.error, null);
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

describe('end()', () => {
  it('finishes a body that goes until the close, whatever its bytes are', () => {
    fc.assert(
      fc.property(framed('until close'), cutsOf(10), ({ bytes, answer }, fractions) => {
        const cuts = placesOf(fractions, bytes.length);
        assert.deepEqual(parse(bytes, cuts).answers, [], 'before the close');
        const closed = parse(bytes, cuts, { closes: true });
        assert.deepEqual(outcomeOf(closed), { answers: [answer], error: null });
        assert.equal(closed.isInside, false);
      }),
      { seed: SEED },
    );
  });

  it('is an error within any other response, at every place', () => {
    fc.assert(
      fc.property(DELIMITED, fc.boolean(), ({ bytes, answer }, isSecond) => {
        const before = isSecond ? bytes : Buffer.alloc(0);
        const answers = isSecond ? [answer] : [];
        for (let at = 1; at < bytes.length; at += 1) {
          const parsed = parse(Buffer.concat([before, bytes.subarray(0, at)]), [], { closes: true });
          // Between an interim response and the real one nothing has begun that could be cut off.
          const isBetween = parsed.error === null && bytes.toString('latin1', 0, at).endsWith('\r\n\r\n');
          assert.deepEqual(outcomeOf(parsed), { answers, error: isBetween ? null : 'transport_reset' }, `cut at ${at}`);
        }
      }),
      { seed: SEED, numRuns: 60 },
    );
  });

  it('is nothing before the first response and behind a whole one', () => {
    assert.deepEqual(outcomeOf(parse(Buffer.alloc(0), [], { closes: true })), { answers: [], error: null });
    const bytes = bytesOf(`${OK}Content-Length: 0\r\n\r\n`);
    const answers = [{ status: 200, body: '', keepAlive: true }];
    assert.deepEqual(outcomeOf(parse(bytes, [], { closes: true })), { answers, error: null });
  });
});

describe('parseHead()', () => {
  /** @type {Array<[string, Partial<Head>]>} head fields, and what they say */
  const heads = [
    ['HTTP/1.1 200 OK', { status: 200, keepAlive: true, keepAliveMs: null, body: 'until_close' }],
    ['HTTP/1.0 200 OK', { keepAlive: false, body: 'until_close' }],
    ['HTTP/1.0 200 OK\r\nConnection: keep-alive', { keepAlive: true }],
    ['HTTP/1.1 200 OK\r\nConnection: close', { keepAlive: false }],
    ['HTTP/1.1 200 OK\r\nConnection: close\r\nConnection: keep-alive', { keepAlive: false }],
    ['HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nConnection: close', { keepAlive: false }],
    ['HTTP/1.1 200 OK\r\nConnection: close, keep-alive', { keepAlive: false }],
    ['HTTP/1.1 200 OK\r\nConnection: , ,close', { keepAlive: false }],
    ['HTTP/1.1 200 OK\r\nConnection: closed', { keepAlive: true }],
    ['HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5', { keepAliveMs: 5000 }],
    ['HTTP/1.1 200 OK\r\nKeep-Alive: max=100, timeout=72', { keepAliveMs: 72_000 }],
    ['HTTP/1.1 200 OK\r\nKeep-Alive: max=100,Timeout=7', { keepAliveMs: 7000 }],
    ['HTTP/1.1 200 OK\r\nKeep-Alive: timeout=0', { keepAliveMs: 0 }],
    ['HTTP/1.1 200 OK\r\nKeep-Alive: xtimeout=5', { keepAliveMs: null }],
    ['HTTP/1.1 200 OK\r\nKeep-Alive: timeout=soon', { keepAliveMs: null }],
    ['HTTP/1.1 200 OK\r\nContent-Length: 0', { body: 0 }],
    ['HTTP/1.1 200 OK\r\nContent-Length: 007', { body: 7 }],
    ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5', { body: 5 }],
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked', { body: 'chunked' }],
    ['HTTP/1.1 204 No Content\r\nContent-Length: 5', { body: 0 }],
    ['HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked', { body: 0 }],
    ['HTTP/1.1 100 Continue\r\nContent-Length: 5', { body: 0 }],
  ];
  for (const [text, expected] of heads) {
    it(JSON.stringify(text), () => {
      const head = parseHead(text);
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
