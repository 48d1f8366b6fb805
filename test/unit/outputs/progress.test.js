import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { createProgress } from '../../../src/outputs/console.js';

/** @param {boolean} isTTY */
function screen(isTTY) {
  /** @type {string[]} */
  const written = [];
  const stream = new Writable({ write: (chunk, _, done) => (written.push(String(chunk)), done()) });
  const terminal = { isTTY, columns: 100, rows: 30, cursorTo: () => {}, clearLine: () => {}, moveCursor: () => {} };
  return { stream: /** @type {NodeJS.WriteStream} */ (/** @type {any} */ (Object.assign(stream, terminal))), written };
}

describe('createProgress()', () => {
  for (const [name, isTTY, quiet] of /** @type {Array<[string, boolean, boolean]>} */ ([
    ['without a terminal', false, false],
    ['with --quiet', true, true],
  ])) {
    it(`is silent ${name}`, () => {
      const { stream, written } = screen(isTTY);
      const progress = createProgress(stream, quiet);
      for (let i = 0; i <= 10; i += 1) progress.update('deploying', i, 10);
      progress.update('funding', 0, 10);
      progress.stop();
      assert.deepEqual(written, []);
    });
  }

  it('shows progress bars one after the other on a terminal', (t) => {
    const { stream, written } = screen(true);
    const progress = createProgress(stream, false);
    t.after(progress.stop);
    progress.update('deriving wallets', 1, 10);
    progress.update('deriving wallets', 10, 10);
    progress.update('deploying counters', 3, 7);
    progress.stop();
    progress.stop();
    const text = written.join('');
    assert.match(text, /deriving wallets .*1\/10/s);
    assert.match(text, /deploying counters .*3\/7/s);
    // The cursor comes back however it ends.
    assert.equal(text.split('\u001b[?25l').length, text.split('\u001b[?25h').length);
  });
});
