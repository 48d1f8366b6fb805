import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Recorder } from '../../../src/metrics/recorder.js';
import { summaryText } from '../../../src/output/summary.js';
import { addressOf, exactAudit, runFileOf } from '../../helpers/samples.js';

/** @param {Partial<import('../../../src/run/audit.js').AuditReport>} given */
const withAudit = (given) => summaryText(runFileOf({ audit: { ...exactAudit(), ...given } }), false);

const HASH = `0x${'cd'.repeat(32)}`;

/** @param {number} walletIndex @returns {import('../../../src/run/audit.js').Mismatch} */
const mismatch = (walletIndex) => ({
  ...{ walletIndex, address: addressOf(walletIndex), target: addressOf(0xc0), expectedEffect: '9', effect: '10' },
  ...{ expectedNonce: 11, nonce: 12, pendingNonce: 14 },
});

describe('summaryText()', () => {
  it('a run at a glance', () => {
    assert.equal(
      summaryText(runFileOf(), false),
      `
Summary: ran for its duration, window 2.0 s
  TPS        8.5  verified per second of the window (17 in it)
  attempts    20
  verified    17
  failed       1  reverted 1
  timed out    1
  abandoned    1  still open when the drain ended
  generator  350  us of CPU per verified operation; peak memory 123 MB
                avg   min   p50  p90  p99  p99.9  max
  latency ms    113  10.0  90.0  170  500    500  500
    queued      1.0   1.0   1.0  1.0  1.0    1.0  1.0
    submit      2.0   2.0   2.0  2.0  2.0    2.0  2.0
    inclusion  83.0   3.0  83.0  153  163    163  163
    read-back   4.0   4.0   4.0  4.0  4.0    4.0  4.0
  audit       exact: 2 counters grew by 18 = 17 verified + 1 included late, at block 1,234`,
    );
  });

  it('a run in which nothing was verified has dashes, not zeros', () => {
    const recorder = new Recorder([0], 0);
    recorder.closeWindow(1_000_000);
    const text = summaryText(
      runFileOf({ recorder, intervals: [], audit: null, unmeasured: { '/audit': 'ended at once, on request' } }),
      false,
    );
    assert.match(text, /^ {2}generator {3,}- {2}us of CPU/m);
    assert.match(text, /^ {2}latency ms( +-){7}$/m);
    assert.match(text, /^ {2}TPS +0\.0 /m);
    assert.match(text, /^ {2}audit {7}none: ended at once, on request$/m);
  });

  it('says why it ended, also in words that it does not know', () => {
    assert.match(summaryText(runFileOf({ end: 'interrupted' }), false), /^Summary: interrupted, window/m);
    assert.match(
      summaryText(runFileOf({ end: 'endpoint_lost' }), false),
      /^Summary: ended because the endpoint was lost,/m,
    );
    assert.match(summaryText(runFileOf({ end: 'other' }), false), /^Summary: other,/m);
  });

  it('an audit that is not exact: the bounds, the wallets and the hashes', () => {
    const text = withAudit({
      ...{ exact: false, effectsOnChain: '19', bounds: { atLeast: '18', atMost: '19' }, replaced: 1, pending: 2 },
      ...{ mismatchCount: 1, mismatches: [mismatch(4)] },
      foreign: [{ walletIndex: 4, nonce: 11, hash: HASH, blockNumber: 77 }],
      resolutions: [
        { walletIndex: 5, nonce: 3, hash: '0xpending', outcome: 'timed_out', code: null, fate: 'pending' },
        { walletIndex: 5, nonce: 4, hash: '0xreplaced', outcome: 'failed', code: 'nonce_too_low', fate: 'replaced' },
        { walletIndex: 5, nonce: 5, hash: '0xincluded', outcome: 'timed_out', code: null, fate: 'included' },
      ],
    });
    assert.deepEqual(text.split('\n').slice(-5), [
      '  audit       NOT EXACT at block 1,234: 17 verified + 1 included late, but the counters grew by 19 (ours are at least 18, at most 19); 2 pending, 1 replaced',
      `    wallet 4 (${addressOf(4)}): effect 10, expected 9; nonce 12, expected 11; pending 2`,
      `    not ours: ${HASH} (wallet 4, nonce 11, block 77)`,
      '    pending: 0xpending (wallet 5, nonce 3)',
      '    replaced: 0xreplaced (wallet 5, nonce 4)',
    ]);
  });

  it('of many wallets the first ten', () => {
    const mismatches = Array.from({ length: 100 }, (_, i) => mismatch(i));
    const text = withAudit({ exact: false, mismatchCount: 150, mismatches });
    assert.equal(text.match(/^ {4}wallet /gm)?.length, 10);
    assert.match(text, /^ {4}\.\.\. 150 wallets in all; the run file \(--out\) lists more$/m);
    assert.doesNotMatch(withAudit({ exact: false, mismatchCount: 10, mismatches: mismatches.slice(0, 10) }), /in all/);
  });

  it('no line ends in blanks, and none has escapes', () => {
    for (const text of [summaryText(runFileOf(), true), withAudit({ exact: false, mismatches: [mismatch(1)] })]) {
      assert.doesNotMatch(text, /[ \t]$/m);
      assert.doesNotMatch(text, /\u001b/);
    }
  });

  it('--explain: the definition of each figure', () => {
    const run = runFileOf();
    const text = summaryText(run, true);
    for (const [name, definition] of Object.entries(run.definitions))
      assert.ok(text.includes(`${name}: ${definition}`));
  });
});
