import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Watch } from '../../../src/core/reports.js';
import { createFakeClock } from '../../helpers/clock.js';

/** @param {Partial<ConstructorParameters<typeof Watch>[0]>} [given] */
function watchOf(given) {
  /** @type {string[]} */
  const said = [];
  const node = { pid: null, metrics: null, series: null, insecure: false };
  const options = { node, rpc: null, clock: createFakeClock(), ...given };
  return { said, watch: new Watch({ ...options, warn: (words) => void said.push(words) }) };
}

describe('Watch: warnings', () => {
  it('warnOnce() warns once per kind', () => {
    const { said, watch } = watchOf();
    for (const seconds of [31, 32, 33]) watch.warnOnce('still', `no block for ${seconds} s`);
    assert.deepEqual([said, watch.warnings], [['no block for 31 s'], ['no block for 31 s']]);
  });

  it('many of one kind leave room for others', () => {
    const { said, watch } = watchOf();
    for (let i = 0; i < 1000; i += 1) watch.warnOf('reorg', `reorg ${i}`);
    watch.warnOnce('still', 'no block');
    for (let i = 0; i < 7; i += 1) watch.warnOf('other', `other ${i}`);
    watch.warnOf('reorg', 'the last reorg');
    assert.ok(said.includes('no block') && said.includes('other 4'));
    assert.deepEqual(watch.warnings.slice(5), [
      'and 996 more of this kind, the last of them: the last reorg',
      ...['no block', 'other 0', 'other 1', 'other 2', 'other 3', 'other 4'],
      'and 2 more of this kind, the last of them: other 6',
    ]);
  });
});
