import assert from 'node:assert/strict';
import { it } from 'node:test';
import { similarNames, typos } from '../../src/similar-names.js';

it('typos(): counts letters that are missing, added, wrong or exchanged', () => {
  const table = /** @type {Array<[string, string, number]>} */ ([
    ['', '', 0],
    ['', 'abc', 3],
    ['rpc', 'rpc', 0],
    ['rcp', 'rpc', 1],
    ['rcp', 'rps', 2],
    ['thread', 'threads', 1],
    ['raet', 'rate', 1],
    ['workloda', 'workload', 1],
    ['kitten', 'sitting', 3],
  ]);
  for (const [word, name, count] of table) {
    assert.equal(typos(word, name), count, `${word} ${name}`);
    assert.equal(typos(name, word), count, `${name} ${word}`);
  }
});

it('similarNames(): the most similar first, then the order of the list', () => {
  assert.deepEqual(similarNames('rcp', ['rps', 'rpc']), ['rpc', 'rps']);
  assert.deepEqual(similarNames('ax', ['bx', 'cx']), ['bx', 'cx']);
  assert.deepEqual(similarNames('time', ['timewait', 'timed_out']), ['timewait', 'timed_out']);
  assert.deepEqual(similarNames('', ['x', 'rate']), ['x']);
});
