import assert from 'node:assert/strict';

/**
 * Compares what a function makes of each member of a list.
 * @template T
 * @param {Iterable<T>} list
 * @param {(member: T, i: number) => unknown} of
 * @param {readonly unknown[]} expected
 * @param {string} [message]
 */
export function equalBy(list, of, expected, message) {
  assert.deepEqual(Array.from(list, of), expected, message);
}
