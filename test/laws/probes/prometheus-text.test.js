import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createClock } from '../../../src/clock.js';
import { createMetricsProbe, parsePrometheus } from '../../../src/probes/node-metrics.js';

/** @param {string} text */
const pairs = (text) => parsePrometheus(text).map(({ key, value }) => [key, value]);

describe('parsePrometheus()', () => {
  /** @type {Array<[string, string, number]>} */
  const table = [
    ['a 1', 'a', 1],
    ['a    3 1395066363000\r\n', 'a', 3],
    ['a 1.7560473e+07', 'a', 17_560_473],
    ['a{x="}"} 1', 'a{x="}"}', 1],
    [String.raw`a{x="\"}\\"} 1`, String.raw`a{x="\"}\\"}`, 1],
    ['a{x="1",} 2', 'a{x="1",}', 2],
    [':a:b_9 -.5', ':a:b_9', -0.5],
    ['a_bucket{le="1"} 2 # {trace_id="x"} 0.5', 'a_bucket{le="1"}', 2],
    ['__proto__ 3', '__proto__', 3],
  ];
  for (const [text, key, value] of table) {
    it(`reads ${JSON.stringify(text)}`, () => assert.deepEqual(pairs(text), [[key, value]]));
  }

  it('leaves out lines that are no series, and values that JSON cannot represent', () => {
    const others = ['<!doctype html>', '{"jsonrpc":"2.0"}', 'a', 'a x', 'a 1_000', 'a{x="1" 1', 'a{x="1} 1', '9a 1'];
    const lines = ['', '# EOF', ...others, 'a-b 1', '"a" 1', 'a {x="1"}', 'a toString', 'a NaN', 'a +Inf', 'ok 1'];
    assert.deepEqual(pairs(lines.join('\n')), [['ok', 1]]);
  });

  it('reads back whatever can be written', () => {
    const word = fc.stringMatching(/^[a-zA-Z_][a-zA-Z0-9_]{0,10}$/);
    const escaped = fc
      .string({ unit: fc.constantFrom('{', '}', '"', '\\', '\n', '#', ',', '=', ' ', 'a', 'é') })
      .map((text) => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n'));
    const labels = fc.array(fc.tuple(word, escaped), { minLength: 1, maxLength: 3 });
    const sample = fc.record({
      name: word,
      labels,
      value: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
      time: fc.option(fc.integer()),
      gap: fc.constantFrom('', ' '),
    });
    fc.assert(
      fc.property(fc.array(sample, { maxLength: 5 }), (samples) => {
        const keyed = samples.map((one) => ({
          ...one,
          text: `{${one.labels.map(([label, value]) => `${label}="${value}"`).join(',')}}`,
        }));
        const page = keyed
          .map(
            ({ name, text, value, time, gap }) => `${name}${gap}${text} ${value}${time === null ? '' : ` ${time}`}\n`,
          )
          .join('# a comment } "\n');
        const expected = keyed.map(({ name, text, value }) => ({ name, key: name + text, value }));
        assert.deepEqual(parsePrometheus(page), expected);
      }),
      { seed: 5, numRuns: 300 },
    );
  });

  it('takes time in proportion to the page, whatever is on it', () => {
    const big = 400_000;
    for (const line of [
      `a ${' '.repeat(big)}x`,
      `a ${'1'.repeat(big)}x`,
      `a{${'"'.repeat(big)}`,
      `a{${'\\'.repeat(big)}`,
      `${'a'.repeat(big)}`,
      `a 1 ${'1'.repeat(big)}x`,
      `a 1 ${' '.repeat(big)}x`,
      'a\n'.repeat(big),
    ]) {
      const startMs = performance.now();
      parsePrometheus(line);
      assert.ok(performance.now() - startMs < 1000, line.slice(0, 5));
    }
  });
});

it('a probe keeps a series called __proto__', async () => {
  const page = { name: null, url: new URL('http://127.0.0.1:1') };
  const openPages = () => ({
    read: async () => ({ statusCode: 200, body: Buffer.from('__proto__ 3\na 1\n') }),
    close: async () => {},
  });
  const probe = createMetricsProbe({ pages: [page], series: ['__proto__', 'a'], clock: createClock(), openPages });
  assert.deepEqual(Object.entries((await probe.sample()).series), [
    ['__proto__', 3],
    ['a', 1],
  ]);
});
