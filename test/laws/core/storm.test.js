import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { Storm } from '../../../src/core/storm.js';
import { Submissions } from '../../../src/core/submit.js';
import { RpcError, TransportError } from '../../../src/errors.js';
import { randomNumbers } from '../../../src/random.js';

/** @param {Record<string, any>} options */
function stormOf({ order = null, duplicates = null, replacements = null, seed = 1, refuses = () => null, raise }) {
  /** @type {string[]} */
  const sent = [];
  const rpc = {
    call: async (/** @type {string} */ _, /** @type {[string]} */ [raw]) => {
      sent.push(raw);
      const words = refuses(raw);
      if (words === '') throw new TransportError('no answer in time', 'timeout');
      if (words !== null) throw new RpcError('eth_sendRawTransaction', -32000, words);
      return '0x';
    },
  };
  const presigner = {
    signReplacement: (/** @type {any} */ operation) => {
      if (raise === false) return false;
      Object.assign(operation, { raw: `${operation.raw}'`, hash: `${operation.hash}'` });
      return true;
    },
  };
  const shares = { nonceOrder: order, duplicateShare: duplicates, replaceShare: replacements };
  const storm = new Storm(/** @type {any} */ ({ ...shares, rpc, presigner, random: randomNumbers(seed) }));
  return { storm, sent };
}

const operationOf = (/** @type {string} */ name) =>
  /** @type {any} */ ({ raw: name, hash: name, isCancelled: false, inclusion: null, sample: { outcome: null } });

/** The counts that are not 0. @param {Storm} storm */
const factsOf = ({ facts }) => Object.fromEntries(Object.entries(facts).filter(([, count]) => count > 0));

describe('--nonce-order', () => {
  it('counts what leaves before a lower nonce of its wallet; one that starts alone keeps its place', () => {
    const { storm } = stormOf({ order: 'reversed' });
    const of = (/** @type {string} */ account, /** @type {number[]} */ ...nonces) =>
      nonces.map((nonce) => /** @type {any} */ ({ account, nonce }));
    for (const together of [of('a', 1, 2, 3), [...of('a', 4), ...of('b', 7)], of('b', 8)]) storm.order(together);
    assert.deepEqual(factsOf(storm), { outOfOrder: 2, inOrder: 4 });
  });

  it('what starts in one turn is sent after it: reversed, or shuffled and each once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 50 }),
        fc.constantFrom('reversed', 'shuffled'),
        fc.nat(),
        async (count, order, seed) => {
          const { storm } = stormOf({ order, seed });
          /** @type {number[]} */
          const started = [];
          const submissions = new Submissions(
            (operation) => void started.push(/** @type {any} */ (operation).n),
            1000,
            storm,
          );
          const all = Array.from({ length: count }, (_, n) => n);
          for (const n of all) submissions.add(/** @type {any} */ ({ n, nonce: n, account: 'a', isCancelled: false }));
          assert.deepEqual(started, []);
          await turn();
          await turn();
          assert.deepEqual(order === 'reversed' ? started : started.toSorted((a, b) => b - a), all.toReversed());
        },
      ),
      { numRuns: 30 },
    );
    const { storm } = stormOf({ order: 'shuffled' });
    assert.notDeepEqual(storm.order(/** @type {any} */ ([...Array(20).keys()])), [...Array(20).keys()]);
  });
});

it('what the driver starts in several turns is sent in one order', async () => {
  const { storm } = stormOf({ order: 'reversed' });
  /** @type {number[]} */
  const started = [];
  const submissions = new Submissions((operation) => void started.push(operation.nonce), 1000, storm);
  for (const n of [0, 2, 4]) {
    for (const nonce of [n, n + 1]) submissions.add(/** @type {any} */ ({ nonce, account: 'a', isCancelled: false }));
    assert.deepEqual(started, []);
    await turn();
  }
  await turn();
  assert.deepEqual(started, [5, 4, 3, 2, 1, 0]);
});

describe('--duplicate-share and --replace-share', () => {
  it('send the same bytes again, then a replacement; which one got into a block is counted', async () => {
    const { storm, sent } = stormOf({ duplicates: 1, replacements: 1 });
    const operations = ['a', 'b', 'c'].map(operationOf);
    for (const operation of operations) await storm.accepted(operation);
    assert.deepEqual(sent, ['a', "a'", 'b', "b'", 'c', "c'"]);
    operations[0].hash = 'a';
    for (const operation of [...operations, operationOf('of another')]) storm.verified(operation);
    assert.deepEqual(factsOf(storm), { duplicates: 3, replacements: 3, firstIncluded: 1, replacementIncluded: 2 });
  });

  it('a node that says that it has the transaction has taken it; other refusals are counted', async () => {
    const refuses = (/** @type {string} */ raw) => (raw === 'a' ? 'already known' : 'nonce too low');
    const { storm } = stormOf({ duplicates: 1, replacements: 1, refuses });
    await storm.accepted(operationOf('a'));
    await storm.accepted(operationOf('b'));
    assert.deepEqual(factsOf(storm), { duplicates: 1, duplicatesRefused: 1, replacementsRefused: 2 });
  });

  it('what has no answer is no refusal: the node may have it', async () => {
    const { storm } = stormOf({ duplicates: 1, replacements: 1, refuses: () => '' });
    await storm.accepted(operationOf('a'));
    assert.deepEqual(factsOf(storm), {
      ...{ duplicatesRefused: 1, duplicatesUnanswered: 1 },
      ...{ replacementsRefused: 1, replacementsUnanswered: 1 },
    });
  });

  it('a replacement whose block comes before its answer counts', async () => {
    const { storm } = stormOf({ replacements: 1 });
    const operation = operationOf('a');
    const answered = storm.accepted(operation);
    operation.sample.outcome = 'verified';
    storm.verified(operation);
    await answered;
    assert.deepEqual([storm.facts.replacements, storm.facts.replacementIncluded], [1, 1]);
  });

  it('replace nothing that has ended, is in a block, or whose fee cannot be raised, and count it', async () => {
    const { storm, sent } = stormOf({ replacements: 1 });
    await storm.accepted({ ...operationOf('a'), isCancelled: true });
    await storm.accepted({ ...operationOf('b'), inclusion: {} });
    assert.deepEqual([sent, factsOf(storm)], [[], { replacementsTooLate: 2 }]);
    const fixed = stormOf({ replacements: 1, raise: false });
    await fixed.storm.accepted(operationOf('a'));
    assert.deepEqual([fixed.sent, factsOf(fixed.storm)], [[], { replacementsTooDear: 1 }]);
  });

  it('are those of the operations', async () => {
    const { storm } = stormOf({ duplicates: 0.25 });
    for (let i = 0; i < 4000; i += 1) await storm.accepted(operationOf('a'));
    assert.ok(Math.abs(storm.facts.duplicates - 1000) < 100, `${storm.facts.duplicates}`);
  });
});
