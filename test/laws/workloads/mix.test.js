import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createWorkload } from '../../../src/workloads/index.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { addressOf } from '../../helpers/samples.js';
import { temporaryFile } from '../../helpers/temporary.js';

const MEMBERS = [
  { name: 'counter', weight: 50 },
  { name: 'transfer', weight: 30 },
  { name: 'logs', weight: 20 },
];
const NAMES = MEMBERS.map(({ name }) => name);

/**
 * The names of the operations of a mix, as in a worker thread.
 * @param {typeof MEMBERS} members
 * @param {{tag?: string, first?: number, set?: Array<[string, string]>}} [given] first: position of the first wallet of the thread
 */
async function mixOf(members, { tag = '12345678', first = 0, set = [] } = {}) {
  const kit = { tag, first, starts: [] };
  const states = { counter: [addressOf(1)], transfer: [addressOf(2), addressOf(3)], logs: addressOf(4) };
  const own = members.map(({ name }) => ({ own: states[/** @type {keyof typeof states} */ (name)] ?? null, kit }));
  const options = { rpc: fakeRpc({}), settings: { mix: members, set }, state: { own, kit } };
  return /** @type {any} */ (await createWorkload('mix', /** @type {any} */ (options)));
}

/** @param {Parameters<typeof mixOf>} given @returns {Promise<(position: number, nonce: number) => string>} */
const nameOf = async (...given) => (await mixOf(...given)).nameOf;

describe('a mix', () => {
  it('draws its members by their weights, for each wallet', async () => {
    const draw = await nameOf(MEMBERS);
    for (const position of [0, 1, 99]) {
      const counts = new Map(NAMES.map((name) => [name, 0]));
      for (let nonce = 0; nonce < 10_000; nonce += 1) {
        const name = draw(position, nonce);
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      assert.deepEqual([...counts.keys()], NAMES);
      for (const { name, weight } of MEMBERS)
        assert.ok(Math.abs((counts.get(name) ?? 0) - 100 * weight) < 250, `${name}: ${counts.get(name)}`);
    }
  });

  it('draws the same again, in a thread as well, and another one with another tag', async () => {
    const all = (/** @type {(position: number, nonce: number) => string} */ draw, from = 0) =>
      Array.from({ length: 200 }, (_, i) => draw(from + (i % 10), Math.floor(i / 10)));
    const whole = all(await nameOf(MEMBERS), 30);
    assert.deepEqual(all(await nameOf(MEMBERS, { first: 30 })), whole);
    assert.notDeepEqual(all(await nameOf(MEMBERS, { first: 30, tag: '12345679' })), whole);
  });

  it('one member takes all', async () => {
    const draw = await nameOf([MEMBERS[1]]);
    assert.deepEqual(
      [0, 1, 2, 3].map((nonce) => draw(0, nonce)),
      ['transfer', 'transfer', 'transfer', 'transfer'],
    );
  });

  it('settings have the name of the built-in member before them, and files have the others', async (t) => {
    const text = `export const contract = 'evm-stress/workload@1';
      export default ({ settings }) => ({
        kind: 'transaction',
        next: () => ({ to: '${addressOf(5)}', gasLimit: 21000n }),
        facts: () => ({ color: settings.set.color, all: Object.keys(settings.set).join() }),
      });`;
    const file = temporaryFile(t, 'mine.mjs', text);
    const members = ['storage', 'compute', file].map((name) => ({ name, weight: 1 }));
    const { facts } = await mixOf(members, {
      set: [
        ['storage.slots', '5'],
        ['compute.gas', '60000'],
        ['color', 'red'],
      ],
    });
    const [storage, compute, mine] = facts().mix;
    assert.deepEqual([storage.name, compute.name, mine.name], ['storage', 'compute', 'mine']);
    assert.deepEqual([mine.color, mine.all], ['red', 'color']);
    assert.equal(compute.gas, 60_000);
    assert.equal(storage.changed + storage.added + storage.cleared, 5);
  });
});
