import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { createProgress } from '../../../src/outputs/console.js';
import { OutputStream } from '../../../src/outputs/streams.js';
import { StatusLine } from '../../../src/outputs/terminal.js';
import { createFakeClock } from '../../helpers/clock.js';

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
    it(`a line after 2 s, then every 10 s, ${name}`, async () => {
      const { progress, clock, written } = progressOn(how);
      progress.update('deploying counters', 0, 3000);
      await clock.advance(1999);
      progress.update('deploying counters', 1200, 3000);
      assert.deepEqual(written, []);
      await clock.advance(1);
      assert.deepEqual(written.splice(0), ['deploying counters: 1,200 of 3,000\n']);
      await clock.advance(9999);
      assert.deepEqual(written, []);
      await clock.advance(1);
      assert.deepEqual(written.splice(0), ['deploying counters: 1,200 of 3,000\n']);
      progress.update('deploying counters', 3000, 3000);
      progress.update('short', 1, 2);
      await clock.advance(1000);
      progress.stop();
      await clock.advance(60_000);
      assert.deepEqual(written, []);
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
