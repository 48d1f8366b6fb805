import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { createProgress, createTextOutput } from '../../../src/outputs/console.js';
import { OutputStream } from '../../../src/outputs/streams.js';
import { paintOf, StatusLine } from '../../../src/outputs/terminal.js';
import { stagesOf } from '../../../src/stats/stats.js';
import { parseThreshold } from '../../../src/stats/thresholds.js';
import { hangingIndent } from '../../../src/text.js';
import { assertGolden } from '../../golden/assert-golden.js';
import { createFakeClock } from '../../helpers/clock.js';
import { addressOf, distributionOf, rowOf, runFileOf, sampleOf } from '../../helpers/samples.js';

/** @import { OutputOptions } from '../../../src/contracts/output.d.ts' */

/** @param {NodeJS.ProcessEnv} env of colours */
function setEnvironment({ NO_COLOR = '', FORCE_COLOR }) {
  process.env.NO_COLOR = NO_COLOR;
  if (FORCE_COLOR === undefined) delete process.env.FORCE_COLOR;
  else process.env.FORCE_COLOR = FORCE_COLOR;
}

const EMPTY = distributionOf();
/** Of all intervals. */
const STAGES = Object.freeze(stagesOf(() => EMPTY));

/** @param {Partial<OutputOptions>} [given] */
function textOutput(given = {}) {
  let text = '';
  const stream = new OutputStream(new Writable({ write: (chunk, _, done) => ((text += chunk), done()) }));
  const output = createTextOutput({ stream, verbose: false, explain: false, wide: false, ...given });
  return { output, text: () => text, lines: () => text.split('\n').slice(0, -1) };
}

const COUNTS = Object.freeze(rowOf().counts);

describe('the text output: intervals', () => {
  it('are those which are kept: a header and a line for each, of transactions and of plain calls', () => {
    const silence = { ms: 4000, words: 'http://127.0.0.1:1: connection refused' };
    const totals = { attempts: 1250, verified: 1234, runTps: 246.8, stages: STAGES };
    const [usual, plain] = [textOutput(), textOutput()];
    plain.output.begin?.({ startUs: 0, startedAtMs: 0, isPlain: true });
    for (const { output } of [usual, plain]) {
      output.interval?.(
        rowOf({
          endMs: 5000,
          counts: { ...COUNTS, started: 1250, verified: 1234, failed: 2, timedOut: 1 },
          failures: { reverted: 1, rpc_error: 1 },
          inFlight: 200,
          tps: 246.8,
          latency: distributionOf(10_000, 20_000, 30_000, 1_500_000),
        }),
        { ...totals, censored: distributionOf(4_000_000) },
      );
      output.interval?.(rowOf({ endMs: 10_004, counts: COUNTS, tps: 0, inFlight: 200 }), { ...totals, runTps: 123.4 });
      output.interval?.(rowOf({ endMs: 15_000, silence }), totals);
    }
    assertGolden('intervals.txt', `${usual.text()}\n${plain.text()}`);
  });

  it('the header comes back every 20 lines', () => {
    const { output, lines } = textOutput();
    for (let i = 0; i < 45; i += 1) output.interval?.(rowOf(), { attempts: 0, verified: 0, runTps: 0, stages: STAGES });
    const headers = lines().flatMap((line, i) => (line.includes('elapsed') ? [i] : []));
    assert.deepEqual(headers, [0, 21, 42]);
    assert.equal(lines().length, 48);
  });
});

/** On a terminal. @param {{columns?: number, NO_COLOR?: string, wide?: boolean}} [how] */
function onTerminal({ columns = 80, NO_COLOR = '1', wide = false } = {}) {
  setEnvironment({ NO_COLOR });
  /** @type {string[]} */
  const written = [];
  const screen = new Writable({ write: (chunk, _, done) => (written.push(String(chunk)), done()) });
  Object.assign(screen, { isTTY: true, columns });
  const status = new StatusLine(screen, {});
  const stream = new OutputStream(screen, status);
  return { output: createTextOutput({ stream, status, verbose: false, explain: false, wide }), screen, written };
}

const LARGE = Object.freeze({ attempts: 888_888, verified: 888_888, runTps: 888_888, stages: STAGES });

describe('the text output: a terminal', () => {
  const row = rowOf({
    endMs: 3_600_000,
    counts: { ...COUNTS, failed: 888_888, timedOut: 1 },
    failures: { transport_timeout: 888_888 },
    inFlight: 100_000,
    tps: 888_888,
    latency: distributionOf(60_000_000, 70_000_000),
  });

  it('has the columns that fit, and no row wraps', () => {
    const texts = [40, 80, 100, 120, 122].map((columns) => {
      const { output, written } = onTerminal({ columns });
      output.interval?.(row, { ...LARGE, censored: distributionOf(80_000_000) });
      for (const line of written) assert.ok(line.length <= columns + 1, `${columns}: ${line}`);
      return written.join('');
    });
    assertGolden('intervals-on-terminals.txt', texts.join('\n'));
  });

  it('has all columns with --wide, as without a terminal', () => {
    const [terminal, pipe] = [onTerminal({ wide: true }), textOutput()];
    for (const { output } of [terminal, pipe]) output.interval?.(row, LARGE);
    assert.equal(terminal.written.join(''), pipe.text());
  });

  it('has a new header when its width changes', () => {
    const { output, screen, written } = onTerminal();
    output.interval?.(row, LARGE);
    Object.assign(screen, { columns: 60 });
    output.interval?.(row, LARGE);
    output.interval?.(row, LARGE);
    assert.equal(written.filter((line) => line.includes('elapsed')).length, 2);
  });

  it('says what Ctrl-C does; a pipe does not', () => {
    const [{ output, written }, pipe] = [onTerminal(), textOutput()];
    for (const one of [output, pipe.output]) one.begin?.({ startUs: 0, startedAtMs: 0 });
    assert.deepEqual(written, ['Ctrl-C ends the load and prints the summary; a second Ctrl-C ends at once\n']);
    assert.equal(pipe.text(), '');
  });

  it('shows the running interval on one line, erased before the next one', () => {
    const { output, screen, written } = onTerminal();
    const figures = { elapsedMs: 12_300, lengthMs: 90_000, verified: 2431, inFlight: 200, tps: 512.4 };
    output.live?.({ ...figures, phase: 'load' });
    output.live?.({ ...figures, phase: 'warmup', lengthMs: null });
    output.notice?.('next');
    assert.deepEqual(written.splice(0), [
      '\u001b[2K\r12s of 1m30s, 1m18s left   512 TPS   2,431 verified   200 in flight',
      '\u001b[2K\rwarm-up 12s   512 TPS   2,431 verified   200 in flight',
      '\u001b[2K\r',
      'next\n',
    ]);
    Object.assign(screen, { columns: 20 });
    output.live?.({ ...figures, phase: 'load' });
    assert.deepEqual(written, ['\u001b[2K\r12s of 1m30s, 1m18s']);
    assert.equal(textOutput().output.live, undefined);
  });

  it('has colours unless NO_COLOR is set', async () => {
    const thresholds = ['tps>0', 'tps<0'].map(parseThreshold);
    const verdict = { name: 'unknown', evidence: 'a \u001b[31m control code of others' };
    for (const NO_COLOR of ['', '1']) {
      const { output, written } = onTerminal({ NO_COLOR });
      output.interval?.(row, LARGE);
      await output.finish?.(/** @type {any} */ ({ ...runFileOf({ thresholds }), verdict }));
      const text = written.join('');
      const isPainted = NO_COLOR === '';
      assert.equal(text.includes('\u001b'), isPainted);
      if (!isPainted) continue;
      for (const painted of ['\u001b[32mpassed\u001b[39m', '\u001b[31mFAILED\u001b[39m', '\u001b[32mexact\u001b[39m'])
        assert.ok(text.includes(painted), painted);
      assert.match(text, /\u001b\[1m {2}verdict .*a {2}\[31m control code of others\u001b\[22m$/m);
      assert.match(text, /\u001b\[31m {2}transport_timeout/);
    }
  });
});

describe('paintOf()', () => {
  const pipe = new Writable();
  const terminal = Object.assign(new Writable(), { isTTY: true });
  for (const [stream, env, expected] of /** @type {Array<[Writable, NodeJS.ProcessEnv, boolean]>} */ ([
    [terminal, {}, true],
    [terminal, { NO_COLOR: '1' }, false],
    [terminal, { FORCE_COLOR: '0' }, false],
    [terminal, { FORCE_COLOR: '1', NO_COLOR: '1' }, false],
    [pipe, {}, false],
    [pipe, { FORCE_COLOR: '1' }, true],
    [pipe, { FORCE_COLOR: '1', NO_COLOR: '1' }, false],
  ]))
    it(`${stream === pipe ? 'a pipe' : 'a terminal'} with ${JSON.stringify(env)}: ${expected}`, () => {
      setEnvironment(env);
      assert.equal(paintOf(stream)('red', 'x'), expected ? '\u001b[31mx\u001b[39m' : 'x');
    });
});

describe('the text output: samples', () => {
  it('-v: wallet index, contract address and count of the verified ones', () => {
    const { output, text } = textOutput({ verbose: true });
    output.sample?.(sampleOf({ walletIndex: 250, effect: '7' }));
    for (const outcome of /** @type {const} */ (['failed', 'timed_out', 'abandoned']))
      output.sample?.(sampleOf({ outcome }));
    assert.equal(text(), `250 ${addressOf(0xc0)} 7\n`);
  });
});

describe('hangingIndent()', () => {
  it('breaks long lines at blanks, below the words, and leaves rows of tables', () => {
    assert.equal(hangingIndent('  label   one two three', 20), '  label   one two\n          three');
    assert.equal(hangingIndent('  one two three', 9), '  one two\n  three');
    assert.equal(
      hangingIndent('  rate  12.5  of all that were due', 28),
      `  rate  12.5  of all that\n${' '.repeat(14)}were due`,
    );
    assert.equal(hangingIndent('one two', 7), 'one two');
    assert.equal(hangingIndent('1  2  3  4 or more', 8), '1  2  3  4 or more');
  });
});

/** @param {{isTTY: boolean, isQuiet?: boolean, TERM?: string}} how */
function progressOn({ isTTY, isQuiet = false, TERM = 'xterm' }) {
  /** @type {string[]} */
  const written = [];
  const screen = new Writable({ write: (chunk, _, done) => (written.push(String(chunk)), done()) });
  Object.assign(screen, { isTTY, columns: 80 });
  const status = new StatusLine(screen, { TERM });
  const stream = new OutputStream(screen, status);
  const clock = createFakeClock();
  return { progress: createProgress({ stream, status, clock, isQuiet }), stream, clock, written };
}

describe('createProgress()', () => {
  it('is silent with --quiet', async () => {
    for (const isTTY of [true, false]) {
      const { progress, clock, written } = progressOn({ isTTY, isQuiet: true });
      progress.update('deploying', 1, 10);
      await clock.advance(60_000);
      progress.stop();
      assert.deepEqual(written, []);
    }
  });

  for (const [name, how] of Object.entries({
    'without a terminal': { isTTY: false },
    'on a terminal without control codes': { isTTY: true, TERM: 'dumb' },
  }))
    it(`a line after 2 s, then every 10 s if it is another one, ${name}`, async () => {
      const { progress, clock, written } = progressOn(how);
      progress.update('deploying counters', 0, 3000);
      await clock.advance(1999);
      progress.update('deploying counters', 1200, 3000);
      assert.deepEqual(written, []);
      await clock.advance(1);
      assert.deepEqual(written.splice(0), ['deploying counters: 1,200 of 3,000\n']);
      await clock.advance(9999);
      assert.deepEqual(written, []);
      progress.update('deploying counters', 1300, 3000);
      await clock.advance(1);
      assert.deepEqual(written.splice(0), ['deploying counters: 1,300 of 3,000\n']);
      await clock.advance(59_999);
      assert.deepEqual(written, [], 'the same line shows once a minute that stress is alive');
      await clock.advance(1);
      assert.deepEqual(written.splice(0), ['deploying counters: 1,300 of 3,000\n']);
      progress.update('deploying counters', 3000, 3000);
      progress.update('short', 1, 2);
      await clock.advance(1000);
      progress.stop();
      await clock.advance(60_000);
      assert.deepEqual(written, []);
    });

  it('only its label, if nobody knows how long the step is', async () => {
    const { progress, clock, written } = progressOn({ isTTY: false });
    progress.update('pair 3, on B', 2, Infinity);
    await clock.advance(2000);
    progress.stop();
    assert.deepEqual(written, ['pair 3, on B\n']);
  });

  it('a bar on a terminal, erased at the end and before other lines', async () => {
    const { progress, stream, clock, written } = progressOn({ isTTY: true });
    progress.update('deriving wallets', 5, 10);
    progress.update('deriving wallets', 6, 10);
    assert.deepEqual(written.splice(0), [`\u001b[2K\rderiving wallets [${'='.repeat(15)}${'-'.repeat(15)}] 5 of 10`]);
    await clock.advance(100);
    progress.update('deriving wallets', 7, 10);
    stream.offer('a warning');
    assert.deepEqual(written.splice(0).slice(1), ['\u001b[2K\r', 'a warning\n']);
    progress.update('deploying', 0, 7);
    progress.update('deploying', 7, 7);
    progress.stop();
    assert.deepEqual(written.slice(1), ['\u001b[2K\r']);
  });
});
