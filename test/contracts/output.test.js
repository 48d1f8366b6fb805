/** What every output must survive: a run, whatever it is like. It decides nothing, and never throws over one. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { OPTIONS } from '../../src/cli/options.js';
import { StressError } from '../../src/errors.js';
import { OutputStream } from '../../src/outputs/streams.js';
import { Distribution } from '../../src/stats/histogram.js';
import { Recorder } from '../../src/stats/recorder.js';
import { stagesOf } from '../../src/stats/stats.js';
import { freePort } from '../helpers/anvil.js';
import { caught } from '../helpers/caught.js';
import { blockOf, exactAudit, rowOf, runFileOf, sampleOf } from '../helpers/samples.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { Output, OutputOptions, Totals } from '../../src/contracts/output.d.ts'
 * @import { RunFile } from '../../src/contracts/run-file.d.ts'
 * @import { AddressInfo } from 'node:net'
 * @import { TestContext } from 'node:test'
 */

/** Outputs that write a file, and what its name ends in; the others have a stream or a port. @type {Record<string, string>} */
const FILES = {
  ...{ out: '.json', html: '.html', junit: '.xml', markdown: '.md', samples: '.csv', blocks: '.ndjson', hlog: '.hlog' },
  intervals: '.ndjson',
};

/** Each output by the option that selects it. @type {Record<string, (options: OutputOptions) => Output>} */
const outputs = Object.fromEntries(
  await Promise.all(
    OPTIONS.flatMap(({ name, output }) =>
      output === undefined ? [] : [output.load().then((create) => [name, create])],
    ),
  ),
);

/** The name that one gives to its file itself, in the folder that it is given. */
const OWN_NAME = 'r-00002-0.json';

/** Those of them that need the beginning of a run to have something to write. */
const STREAMED = Object.freeze(['samples', 'blocks', 'hlog', 'intervals']);
/** One that others may write beside takes its name before. */
const EARLY = Object.freeze([...STREAMED, 'results']);

/** @param {number | null} runTps @returns {Totals} */
function totalsOf(runTps) {
  const none = () => new Distribution().toJSON();
  return Object.freeze({
    attempts: 5,
    verified: 2,
    runTps,
    stages: stagesOf(none),
  });
}

function emptyRun() {
  const recorder = new Recorder([0], 0);
  recorder.closeWindow(0);
  return runFileOf({
    stats: recorder.rest(),
    durationUs: 0,
    intervals: [],
    audit: null,
    end: 'interrupted',
    unmeasured: { '/audit': 'why' },
  });
}

/** @type {Array<[string, () => RunFile]>} */
const RUNS = [
  ['a whole run', runFileOf],
  ['a run in which nothing happened', emptyRun],
  ['a run whose audit is not exact', () => runFileOf({ audit: { ...exactAudit(), exact: false, mismatchCount: 3 } })],
];

/** A receiver that takes every push, also after the test. @returns {Promise<URL>} */
async function receiver() {
  const server = createServer((request, response) => void request.resume().on('end', () => response.end()));
  await once(server.listen(0, '127.0.0.1').unref(), 'listening');
  return new URL(`http://127.0.0.1:${/** @type {AddressInfo} */ (server.address()).port}/v1/metrics`);
}

/** @param {TestContext} t @param {string} name @param {boolean} [chatty] */
async function outputTo(t, name, chatty = false) {
  const folder = temporaryFolder(t);
  let text = '';
  const stream = new OutputStream(new Writable({ write: (chunk, _, done) => ((text += chunk), done()) }));
  const out = join(folder, name === 'results' ? OWN_NAME : `out${FILES[name] ?? ''}`);
  const [prometheus, dashboard] = [await freePort(), await freePort()].map((port) => ({ host: '127.0.0.1', port }));
  const push = name === 'push' ? await receiver() : null;
  const files = Object.fromEntries(Object.keys(FILES).map((key) => [key, out]));
  const info = { version: '0.0.0', workload: 'counter' };
  const instance = { runId: 'r', index: 2, instances: 3, attempt: 0 };
  const ways = { stream, verbose: chatty, explain: chatty, prometheus, dashboard, quiet: true };
  const pushed = { push, pushHeader: [], pushHeaderFile: null, label: [['branch', 'main']] };
  const options = { ...ways, ...pushed, info, ...files, results: folder, instance };
  const output = outputs[name](/** @type {any} */ (options));
  t.after(() => output.close?.());
  return { output, folder, out, prometheus, text: () => text };
}

/** Everything that happens before the end. @param {Output} output */
async function drive(output) {
  await output.open?.();
  output.notice?.('a line worth knowing');
  output.begin?.({ startUs: 0, startedAtMs: Date.UTC(2026, 0, 1) });
  const outcomes = /** @type {const} */ (['verified', 'failed', 'timed_out', 'abandoned']);
  for (const outcome of outcomes)
    output.sample?.(sampleOf({ outcome, code: outcome === 'failed' ? 'reverted' : null }));
  output.sample?.(
    sampleOf({
      outcome: 'failed',
      code: 'internal',
      hash: null,
      sentAtUs: null,
      acceptedAtUs: null,
      includedAtUs: null,
      blockNumber: null,
      effect: null,
      target: null,
    }),
  );
  output.block?.(blockOf());
  output.interval?.(rowOf(), totalsOf(0));
  output.interval?.(rowOf({ failures: { reverted: 3 } }), totalsOf(2));
  output.interval?.(rowOf({ phase: 'drain', tps: null }), totalsOf(null));
}

/** As a run ends. @param {Output} output @param {RunFile} run */
async function end(output, run) {
  if (output.finish === undefined) return await output.close?.();
  await output.finish(run);
  await output.close?.();
}

for (const name of Object.keys(outputs)) {
  describe(`output ${name}`, () => {
    for (const chatty of [false, true]) {
      for (const [kind, make] of RUNS) {
        it(`survives ${kind}${chatty ? ', with -v and --explain' : ''}`, async (t) => {
          const { output } = await outputTo(t, name, chatty);
          await drive(output);
          await end(output, make());
        });
      }
    }

    it('survives an end without a beginning', async (t) => {
      const { output } = await outputTo(t, name);
      await end(output, emptyRun());
    });

    it('is given a run that failed in its set-up like any other, and decides whether it has something to say', async (t) => {
      const { output, folder, text } = await outputTo(t, name);
      await output.open?.();
      await end(output, { ...emptyRun(), end: 'set_up_failed' });
      const isSaid = ['out', 'results', 'junit', 'markdown'].includes(name);
      assert.deepEqual([readdirSync(folder).length, text()], [Number(isSaid), '']);
    });

    it('survives a run that ends before the load, and leaves nothing', async (t) => {
      const { output, folder } = await outputTo(t, name);
      await output.open?.();
      await output.close?.();
      await output.close?.();
      assert.deepEqual(readdirSync(folder), []);
    });

    it('close() without open() does no harm', async (t) => {
      await (await outputTo(t, name)).output.close?.();
    });

    it('does not change what it is given', async (t) => {
      const { output } = await outputTo(t, name, true);
      await output.open?.();
      output.begin?.(Object.freeze({ startUs: 0, startedAtMs: 0 }));
      const run = runFileOf();
      const row = rowOf({ failures: { reverted: 1 } });
      const [runBefore, rowBefore] = [structuredClone(run), structuredClone(row)];
      output.interval?.(row, totalsOf(1));
      await output.finish?.(run);
      assert.deepEqual(run, runBefore);
      assert.deepEqual(row, rowBefore);
    });

    it('writes lines, to the stream that it is given or to its file, and nothing half', async (t) => {
      if (name === 'prometheus' || name === 'dashboard') return t.skip('its page is only there while it runs');
      if (name === 'push') return t.skip('it writes to a receiver');
      const { output, folder, out, text } = await outputTo(t, name, true);
      await drive(output);
      if (!EARLY.includes(name)) assert.deepEqual(readdirSync(folder), []);
      await end(output, runFileOf());
      const isFile = text() === '';
      const written = isFile ? readFileSync(out, 'utf8') : text();
      assert.ok(written.endsWith('\n'));
      // The script of a page has the first two in it.
      assert.doesNotMatch(written, name === 'html' ? /\[object Object/ : /undefined|NaN|\[object/);
      assert.deepEqual(readdirSync(folder), isFile ? [out.slice(folder.length + 1)] : []);
      assert.ok(isFile || !(name in FILES));
    });

    if (name in FILES) {
      it('a place that cannot be written is an error of one line, in the end at the latest', async (t) => {
        const { output, out } = await outputTo(t, name);
        mkdirSync(out);
        const error = await caught(async () => {
          await drive(output);
          await end(output, runFileOf());
        });
        assert.ok(error instanceof StressError, String(error));
        assert.deepEqual([error.exitCode, error.message], [73, `cannot write ${out}: it is a folder`]);
        await output.close?.();
      });
    }
  });
}

describe('what the outputs drop', () => {
  it('samples are counted, and 0 when there was room', async (t) => {
    const { output } = await outputTo(t, 'samples');
    await drive(output);
    assert.deepEqual(await output.close?.(), { samplesDropped: 0, error: null });
  });

  for (const name of STREAMED) {
    it(`${name}: a full disk is found out in the end, and the load never notices`, async (t) => {
      if (!existsSync('/dev/full')) return t.skip('there is no /dev/full');
      const { folder, out } = await outputTo(t, name);
      symlinkSync('/dev/full', out);
      assert.equal(readdirSync(folder).length, 1);
      const output = outputs[name](/** @type {OutputOptions} */ (/** @type {unknown} */ ({ [name]: out })));
      await drive(output);
      const { samplesDropped, error } = (await end(output, runFileOf())) ?? {};
      if (name === 'samples') assert.equal(samplesDropped, 5);
      assert.deepEqual([error?.exitCode, error?.message], [73, `cannot write ${out}: the disk is full`]);
    });
  }
});

describe('output json', () => {
  it('is kept as far as it is known, whole each time, until the whole run takes its place', async (t) => {
    const { output, folder, out } = await outputTo(t, 'out');
    const soFar = { ...runFileOf(), partial: true };
    await output.checkpoint?.(soFar);
    assert.deepEqual(JSON.parse(readFileSync(out, 'utf8')), soFar);
    await output.checkpoint?.({ ...soFar, warnings: ['again'] });
    assert.deepEqual(JSON.parse(readFileSync(out, 'utf8')).warnings, ['again']);
    await output.finish?.(runFileOf());
    assert.deepEqual(JSON.parse(readFileSync(out, 'utf8')), runFileOf());
    assert.deepEqual(readdirSync(folder), ['out.json']);
  });

  it('is not left behind by a run whose load does not begin', async (t) => {
    const { output, folder } = await outputTo(t, 'out');
    await output.checkpoint?.(runFileOf());
    await output.close?.();
    assert.deepEqual(readdirSync(folder), []);
  });

  it('standard output and devices, which keep nothing, get it at the end only', async () => {
    for (const out of ['-', '/dev/null']) {
      const options = /** @type {OutputOptions} */ ({ out });
      assert.equal(outputs.out(options).checkpoint, undefined, out);
    }
  });
});
