/** What every output must survive: a run, whatever it is like. It decides nothing, and never throws over one. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { Recorder } from '../../src/metrics/recorder.js';
import { outputs } from '../../src/output/index.js';
import { exactAudit, rowOf, runFileOf, sampleOf } from '../helpers/samples.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** @typedef {import('../../src/output/index.js').Output} Output */

function emptyRun() {
  const recorder = new Recorder([0], 0);
  recorder.closeWindow(0);
  return runFileOf({ recorder, intervals: [], audit: null, end: 'interrupted', unmeasured: { '/audit': 'why' } });
}

/** @type {Array<[string, () => import('../../src/metrics/summary.js').RunFile]>} */
const RUNS = [
  ['a whole run', runFileOf],
  ['a run in which nothing happened', emptyRun],
  ['a run whose audit is not exact', () => runFileOf({ audit: { ...exactAudit(), exact: false, mismatchCount: 3 } })],
];

/** @param {import('node:test').TestContext} t @param {string} name @param {boolean} chatty */
function outputTo(t, name, chatty) {
  const folder = temporaryFolder(t);
  let text = '';
  const stream = new Writable({ write: (chunk, _, done) => ((text += chunk), done()) });
  const out = join(folder, 'out');
  const output = outputs[name]({ stream, verbose: chatty, explain: chatty, out });
  return { output, folder, out, text: () => text };
}

/** Everything that happens before the end. @param {Output} output */
function drive(output) {
  output.notice('a line worth knowing');
  const outcomes = /** @type {const} */ (['verified', 'failed', 'timed_out', 'abandoned']);
  for (const outcome of outcomes) output.sample(sampleOf({ outcome, code: outcome === 'failed' ? 'reverted' : null }));
  output.sample(
    sampleOf({
      ...{ outcome: 'failed', code: 'internal', hash: null, sentAtUs: null, acceptedAtUs: null, includedAtUs: null },
      ...{ blockNumber: null, effect: null, target: null },
    }),
  );
  output.interval(rowOf(), { attempts: 0, verified: 0, runTps: 0 });
  output.interval(rowOf({ failures: { reverted: 3 } }), { attempts: 5, verified: 2, runTps: 2 });
  output.interval(rowOf({ phase: 'drain', tps: null }), { attempts: 5, verified: 2, runTps: null });
}

for (const name of Object.keys(outputs)) {
  describe(`output ${name}`, () => {
    for (const chatty of [false, true]) {
      for (const [kind, make] of RUNS) {
        it(`survives ${kind}${chatty ? ', with -v and --explain' : ''}`, async (t) => {
          const { output } = outputTo(t, name, chatty);
          drive(output);
          await output.finish(make());
        });
      }
    }

    it('survives an end without a beginning', async (t) => {
      await outputTo(t, name, false).output.finish(emptyRun());
    });

    it('does not change what it is given', async (t) => {
      const { output } = outputTo(t, name, true);
      const run = runFileOf();
      const row = rowOf({ failures: { reverted: 1 } });
      const [runBefore, rowBefore] = [structuredClone(run), structuredClone(row)];
      output.interval(row, Object.freeze({ attempts: 1, verified: 1, runTps: 1 }));
      await output.finish(run);
      assert.deepEqual(run, runBefore);
      assert.deepEqual(row, rowBefore);
    });

    it('writes lines, to the stream that it is given or to its file, and nothing half', async (t) => {
      const { output, folder, out, text } = outputTo(t, name, true);
      drive(output);
      assert.deepEqual(readdirSync(folder), []);
      await output.finish(runFileOf());
      const written = readdirSync(folder).length === 0 ? text() : readFileSync(out, 'utf8');
      assert.ok(written.endsWith('\n'));
      assert.doesNotMatch(written, /undefined|NaN|\[object/);
      assert.deepEqual(readdirSync(folder), name === 'json' ? ['out'] : []);
    });
  });
}

describe('output json', () => {
  it('writes the run file as it is', async (t) => {
    const { output, out, text } = outputTo(t, 'json', false);
    const run = runFileOf();
    await output.finish(run);
    assert.deepEqual(JSON.parse(readFileSync(out, 'utf8')), run);
    assert.equal(text(), '');
  });

  it('- is standard output', async (t) => {
    /** @type {unknown[]} */
    const written = [];
    t.mock.method(process.stdout, 'write', (/** @type {unknown} */ chunk) => written.push(chunk) > 0);
    await outputs.json({ stream: process.stderr, verbose: false, explain: false, out: '-' }).finish(runFileOf());
    t.mock.restoreAll();
    assert.deepEqual(JSON.parse(written.join('')), runFileOf());
  });
});
