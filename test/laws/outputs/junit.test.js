import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { junitText } from '../../../src/outputs/junit.js';
import { parseThreshold } from '../../../src/stats/thresholds.js';
import { assertGolden } from '../../golden/assert-golden.js';
import { exactAudit, runFileOf } from '../../helpers/samples.js';

/** @import { RunFile } from '../../../src/contracts/run-file.d.ts' */

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
  it('is that which is kept, of runs of many kinds', () => assertGolden('junit.txt', RUNS.map(junitText).join('\n')));

  it('any text comes through, as far as XML can hold it, and ends nothing', () => {
    const textWith = (/** @type {string} */ reason) =>
      junitText(runFileOf({ ...PLAIN, unmeasured: { '/audit': reason } }));
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (any) => {
        const reason = `"&<'${any}`;
        const text = textWith(reason);
        const [, message = ''] = /<skipped message="(none: [^"<]*)"\/>/.exec(text) ?? [];
        assert.equal(text.replaceAll(message, 'none: x'), textWith('x'));
        assert.doesNotMatch(message, /&(?!#\d+;)|[\t\n\r]/);
        const read = message.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
        const expected = reason.replace(
          /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ud800-\udfff\ufffe\uffff]/gu,
          '\ufffd',
        );
        assert.equal(read, `none: ${expected}`);
      }),
      { seed: 6, numRuns: 60 },
    );
  });
});
