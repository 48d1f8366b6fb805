import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Visibility } from '../../../src/inclusion/heads.js';
import { createFakeClock } from '../../helpers/clock.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';

/** @param {{head?: number}} [given] */
function visibilityFrom({ head = 10 } = {}) {
  const clock = createFakeClock();
  const node = { head };
  const rpc = fakeRpc({ eth_blockNumber: () => `0x${node.head.toString(16)}` });
  return { clock, node, visibility: new Visibility({ rpc, clock, head }) };
}

describe('Visibility', () => {
  it('returns the time of seen blocks and waits for others', async () => {
    const { clock, node, visibility } = visibilityFrom();
    await clock.advance(1000);
    let seenAtUs = 0;
    void visibility.whenVisible(12).then((atUs) => (seenAtUs = atUs));
    node.head = 11;
    await clock.advance(1000);
    const beforeUs = clock.nowUs();
    assert.equal(seenAtUs, 0);
    node.head = 13;
    await clock.advance(500);
    assert.ok(seenAtUs > beforeUs && seenAtUs <= clock.nowUs(), `${seenAtUs}`);
    // Blocks that came together were seen together.
    assert.equal(await visibility.whenVisible(13), seenAtUs);
    assert.equal(await visibility.whenVisible(12), seenAtUs);
    assert.ok((await visibility.whenVisible(11)) < beforeUs);
    await visibility.stop();
  });

  it("waits again when the node's head goes back", async () => {
    const { clock, node, visibility } = visibilityFrom();
    node.head = 12;
    await clock.advance(500);
    node.head = 11;
    await clock.advance(500);
    let isThere = false;
    void visibility.whenVisible(12).then(() => (isThere = true));
    await clock.advance(500);
    assert.equal(isThere, false);
    node.head = 12;
    await clock.advance(500);
    assert.equal(isThere, true);
    await visibility.stop();
  });

  it('keeps only the newest blocks', async () => {
    const { clock, visibility } = visibilityFrom({ head: 0 });
    visibility.noteHead(1);
    await clock.advance(1000);
    visibility.noteHead(1_000_000);
    assert.equal(await visibility.whenVisible(1), clock.nowUs(), 'forgotten: it is there now');
    await visibility.stop();
  });
});
