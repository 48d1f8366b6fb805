import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { junitText } from '../../../src/outputs/junit.js';
import { parseThreshold } from '../../../src/stats/thresholds.js';
import { exactAudit, runFileOf } from '../../helpers/samples.js';

/** @import { RunFile } from '../../../src/contracts/run-file.d.ts' */

/** @typedef {{name: string, attributes: Record<string, string>, children: Element[]}} Element */

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
  const tokens = /\s*<(?:\/([\w-]+)>|([\w-]+)((?: \w+="[^"<]*")*)(\/?)>)\s*/y;
  const body = rest.join('\n');
  while (tokens.lastIndex < body.length) {
    const at = tokens.lastIndex;
    const match = tokens.exec(body);
    assert.ok(match !== null, `no tag at: ${body.slice(at, at + 80)}`);
    const [, closing, name, attributes, isEmpty] = match;
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

/** @param {RunFile} run */
function casesOf(run) {
  const suite = parseXml(junitText(run));
  return Object.fromEntries(
    testcases(suite).map(({ attributes, children }) => {
      assert.ok(children.length <= 1);
      const [trouble] = children;
      return [attributes.name, trouble === undefined ? 'passed' : `${trouble.name}: ${trouble.attributes.message}`];
    }),
  );
}

const thresholds = ['tps>=5', 'p99 < 200ms', 'asked>1'].map(parseThreshold);

describe('junitText()', () => {
  it('a suite with a case for each threshold, one for the audit and one for the run', () => {
    const run = runFileOf({ thresholds });
    const suite = parseXml(junitText(run));
    assert.equal(suite.name, 'testsuite');
    assert.deepEqual(suite.attributes, {
      name: 'stress',
      tests: '5',
      failures: '2',
      errors: '0',
      skipped: '0',
      time: '5',
      timestamp: '2026-01-01T00:00:00',
      hostname: 'localhost',
    });
    assert.deepEqual(
      testcases(suite).map(({ attributes }) => attributes.classname),
      ['stress.thresholds', 'stress.thresholds', 'stress.thresholds', 'stress.audit', 'stress.run'],
    );
    const troubles = testcases(suite).flatMap(({ children }) => children);
    assert.deepEqual(
      troubles.map(({ name, attributes }) => [name, attributes.type]),
      [
        ['failure', 'failed'],
        ['failure', 'failed'],
      ],
    );
    assert.deepEqual(casesOf(run), {
      'tps>=5': 'passed',
      'p99 < 200ms': `failure: p99: >= 1,550 ms; 2 censored (p99 < 200ms)`,
      'asked>1': 'failure: asked: not measured: no rate was asked for (--rate, --stages) (asked>1)',
      audit: 'passed',
      run: 'passed',
    });
  });

  it('no audit is skipped, with its reason', () => {
    const environment = { inclusion: null };
    const run = runFileOf({ audit: null, environment, unmeasured: { '/audit': 'plain calls leave nothing to audit' } });
    assert.deepEqual(casesOf(run), { audit: 'skipped: none: plain calls leave nothing to audit', run: 'passed' });
    assert.equal(parseXml(junitText(run)).attributes.skipped, '1');
  });

  it('an incomplete audit is skipped, with what could not be checked; so is one that could not be made', () => {
    /** @type {ReturnType<typeof exactAudit>} */
    const audit = { ...exactAudit(), exact: false, result: 'incomplete', incomplete: ['fees: no receipts', 'more'] };
    const { audit: words, run } = casesOf(runFileOf({ audit }));
    assert.match(words, /^skipped: INCOMPLETE: .*; not checked: fees: no receipts; not checked: more$/);
    assert.equal(run, 'passed');
    const unmade = runFileOf({ audit: null, unmeasured: { '/audit': 'pruned' } });
    assert.equal(casesOf(unmade).audit, 'skipped: INCOMPLETE: it could not be made: pruned');
  });

  it('an audit that is not exact fails, and the run does not fail for it once more', () => {
    const audit = { ...exactAudit(), exact: false, effectsOnChain: '19' };
    const cases = casesOf(runFileOf({ audit, exitCodes: [76], thresholds }));
    assert.match(
      cases.audit,
      /^failure: NOT EXACT: 2 counters grew by 19; ours are 18: 17 verified \+ 1 included late, at block 1,234/,
    );
    assert.equal(cases.run, 'passed');
  });

  /** @type {Array<[string, number[], string]>} end, exit codes, the case of the run */
  const table = [
    ['duration', [], 'passed'],
    ['duration', [1], 'failure: ended with exit code 1 (duration)'],
    ['interrupted', [130], 'failure: ended with exit code 130 (interrupted)'],
    ['foreign_sender', [76], 'failure: ended with exit code 76 (foreign_sender)'],
    ['duration', [76], 'failure: ended with exit code 76 (duration)'],
    ['internal', [70], 'failure: ended with exit code 70 (internal)'],
  ];
  for (const [end, exitCodes, expected] of table) {
    it(`${end} ${exitCodes}: ${expected}`, () => assert.equal(casesOf(runFileOf({ end, exitCodes })).run, expected));
  }

  it('a threshold that failed does not hide how the run ended', () => {
    const failing = [parseThreshold('tps>1000')];
    assert.equal(casesOf(runFileOf({ thresholds: failing })).run, 'passed');
    const cases = casesOf(runFileOf({ thresholds: failing, end: 'endpoint_lost', exitCodes: [69] }));
    assert.equal(cases.run, 'failure: ended with exit code 99 (endpoint_lost)');
  });

  it('any text comes through, as far as XML can hold it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (reason) => {
        const run = runFileOf({ audit: null, environment: { inclusion: null }, unmeasured: { '/audit': reason } });
        const expected = reason.replace(
          /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ud800-\udfff\ufffe\uffff]/gu,
          '\ufffd',
        );
        assert.equal(casesOf(run).audit, `skipped: none: ${expected}`);
      }),
      { seed: 6, numRuns: 60 },
    );
  });
});
