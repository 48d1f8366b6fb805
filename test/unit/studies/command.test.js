import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UsageError } from '../../../src/errors.js';
import { splitWords } from '../../../src/studies/experiment.js';

describe('splitWords()', () => {
  /** A shell makes the same of them, but for the line in which it would do more. @type {Array<[string, string[]]>} */
  const table = [
    ['./reset.sh', ['./reset.sh']],
    ['  a   b\tc\nd ', ['a', 'b', 'c', 'd']],
    [`a 'b c' "d e"`, ['a', 'b c', 'd e']],
    [`a"b c"'d e'f`, ['ab cd ef']],
    [String.raw`a\ b c\'d`, ['a b', "c'd"]],
    [String.raw`a "b\"c" "d\\e" "f\g"`, ['a', 'b"c', String.raw`d\e`, String.raw`f\g`]],
    [String.raw`a 'b\c'`, ['a', String.raw`b\c`]],
    [`a '' ""`, ['a', '', '']],
    ['a $HOME `b` *; c | d && e > f', ['a', '$HOME', '`b`', '*;', 'c', '|', 'd', '&&', 'e', '>', 'f']],
    ['a "it\'s" \'say "hi"\'', ['a', "it's", 'say "hi"']],
    ['a b\\\nc', ['a', 'bc']],
  ];
  for (const [text, words] of table) it(JSON.stringify(text), () => assert.deepEqual(splitWords(text), words));

  /** @type {Array<[string, RegExp]>} */
  const refused = [
    [`a 'b`, /a ' that is not closed/],
    [`a "b\\"`, /a " that is not closed/],
    ['a b\\', /ends with a backslash/],
    ['   ', /names no program/],
    [`'' a`, /names no program/],
  ];
  for (const [text, words] of refused)
    it(`refuses ${JSON.stringify(text)}`, () =>
      assert.throws(
        () => splitWords(text),
        (error) => error instanceof UsageError && words.test(error.message),
      ));
});
