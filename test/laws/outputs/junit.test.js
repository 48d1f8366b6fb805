import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { junitText } from '../../../src/outputs/junit.js';
import { parseThreshold } from '../../../src/stats/thresholds.js';
import { assertGolden } from '../../golden/assert-golden.js';
import { exactAudit, runFileOf } from '../../helpers/samples.js';

/** @import { RunFile } from '../../../src/contracts/run-file.d.ts' */

/** @typedef {{name: string, attributes: Record<string, string>, children: Element[], text?: string}} Element */

/**
 * As much of an XML parser as these documents need, and strict: what it does not know it refuses.
 * @param {string} text
 * @returns {Element}
 */
function parseXml(text) {
  const [declaration, ...rest] = text.split('\n');
  assert.equal(declaration, '<?xml version="1.0" encoding="UTF-8"?>');
  assert.doesNotMatch(text, /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/);
  assert.ok(Buffer.from(text).toString() === text, 'it is well-formed Unicode');
  /** @type {Element} */
  const document = { name: '', attributes: {}, children: [] };
  const open = [document];
  const tokens = /\s*(?:<(?:\/([\w-]+)>|([\w-]+)((?: \w+="[^"<]*")*)(\/?)>)|([^<]+))\s*/y;
  const body = rest.join('\n');
  while (tokens.lastIndex < body.length) {
    const at = tokens.lastIndex;
    const match = tokens.exec(body);
    assert.ok(match !== null, `no tag at: ${body.slice(at, at + 80)}`);
    const [, closing, name, attributes, isEmpty, text] = match;
    if (text !== undefined) {
      assert.equal(open.at(-1)?.name, 'system-out');
      Object.assign(open.at(-1) ?? {}, { text: unescapeXml(text) });
      continue;
    }
    if (closing !== undefined) {
      assert.equal(open.pop()?.name, closing);
      continue;
    }
    const pairs = [...attributes.matchAll(/ (\w+)="([^"]*)"/g)].map(([, key, value]) => [key, unescapeXml(value)]);
    const element = { name, attributes: Object.fromEntries(pairs), children: [] };
    open.at(-1)?.children.push(element);
    if (isEmpty === '') open.push(element);
  }
  assert.equal(open.length, 1, 'everything is closed');
  assert.equal(document.children.length, 1, 'there is one root');
  return document.children[0];
}

/** A reader makes spaces of the blanks in an attribute, unless they are escaped. @param {string} value */
function unescapeXml(value) {
  assert.doesNotMatch(value, /&(?!#\d+;)/);
  return value.replace(/[\t\n\r]/g, ' ').replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
}

/** The order is that of the schema. @param {Element} suite */
function testcases({ children }) {
  const cases = children.filter(({ name }) => name === 'testcase');
  const names = children.map(({ name }) => name);
  assert.deepEqual(names, ['properties', ...cases.map(({ name }) => name), 'system-out', 'system-err']);
  return cases;
}

const thresholds = ['tps>=5', 'p99 < 200ms', 'asked>1'].map(parseThreshold);
const failing = [parseThreshold('tps>1000')];
/** @type {ReturnType<typeof exactAudit>} */
const incomplete = { ...exactAudit(), exact: false, result: 'incomplete', incomplete: ['fees: no receipts', 'more'] };
const PLAIN = { audit: null, environment: { inclusion: null }, unmeasured: { '/audit': 'plain calls have none' } };
const ENDS = /** @type {Array<[string, number[]]>} */ ([
  ['duration', [1]],
  ['interrupted', [130]],
  ['foreign_sender', [76]],
  ['duration', [76]],
  ['internal', [70]],
]);

/** @type {RunFile[]} */
const RUNS = [
  runFileOf({ thresholds }),
  runFileOf(PLAIN),
  runFileOf({ audit: incomplete }),
  runFileOf({ audit: null, unmeasured: { '/audit': 'pruned' } }),
  runFileOf({ audit: { ...exactAudit(), exact: false, effectsOnChain: '19' }, exitCodes: [76], thresholds }),
  ...ENDS.map(([end, exitCodes]) => runFileOf({ end, exitCodes })),
  runFileOf({ thresholds: failing }),
  runFileOf({ thresholds: failing, end: 'endpoint_lost', exitCodes: [69] }),
];

describe('junitText()', () => {
  it('is that which is kept, of runs of many kinds, and its counts are those of its cases', () => {
    assertGolden('junit.txt', RUNS.map(junitText).join('\n'));
    for (const run of RUNS) {
      const suite = parseXml(junitText(run));
      const troubles = testcases(suite).flatMap(({ children }) => children.map(({ name }) => name));
      const words = testcases(suite).map(({ children: [first] }) => first.text ?? first.attributes.message);
      assert.ok(words.every((one) => one !== ''));
      const { tests, failures, errors, skipped } = suite.attributes;
      const counted = ['failure', 'error', 'skipped'].map((name) => troubles.filter((one) => one === name).length);
      assert.deepEqual([tests, failures, errors, skipped].map(Number), [testcases(suite).length, ...counted]);
    }
  });

  it('any text comes through, as far as XML can hold it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (reason) => {
        const run = runFileOf({ audit: null, environment: { inclusion: null }, unmeasured: { '/audit': reason } });
        const expected = reason.replace(
          /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ud800-\udfff\ufffe\uffff]/gu,
          '\ufffd',
        );
        const [{ children }] = testcases(parseXml(junitText(run)));
        assert.equal(children[0].attributes.message, `none: ${expected}`);
      }),
      { seed: 6, numRuns: 60 },
    );
  });
});
