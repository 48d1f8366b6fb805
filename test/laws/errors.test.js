import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import * as errors from '../../src/errors.js';

const { StressError, displayName, oneLine, worstExit } = errors;

describe('worstExit()', () => {
  /** @type {Array<[number[], number]>} */
  const table = [
    [[], 0],
    [[0, 0], 0],
    [[1], 1],
    [[0, 1], 1],
    [[69], 69],
    [[69, 1], 69],
    [[130, 1], 130],
    [[1, 130], 130],
    [[143, 69], 143],
    [[129, 1], 129],
    [[143, 130], 130],
    [[130, 76], 76],
    [[76, 143, 1], 76],
    [[76, 70], 70],
    [[99], 99],
    [[99, 76], 76],
    [[70, 99], 70],
    [[130, 99], 99],
    [[99, 143, 129], 99],
    [[1, 69, 99], 99],
    [[1, 130, 76, 0, 70], 70],
    [[0, 70], 70],
  ];
  for (const [codes, expected] of table) it(`[${codes}]: ${expected}`, () => assert.equal(worstExit(codes), expected));
});

describe('oneLine()', () => {
  /** @type {Array<[unknown, string]>} */
  const table = [
    ['plain', 'plain'],
    ['  around  ', 'around'],
    ['two\nlines', 'two lines'],
    ['a\r\n\tb', 'a b'],
    ['\u001b[31mred\u001b[0m', '[31mred [0m'],
    ['bell\u0007', 'bell'],
    ['\u009b31m', '31m'],
    ['a\u2028b\u2029c', 'a b c'],
    ['delete\u007f', 'delete'],
    ['zero\u0000', 'zero'],
    ['äöü €', 'äöü €'],
    [null, 'null'],
    [undefined, 'undefined'],
    [5, '5'],
    [new Error('what\nnow'), 'Error: what now'],
  ];
  for (const [text, expected] of table) {
    it(JSON.stringify(String(text)), () => assert.equal(oneLine(text), expected));
  }

  it('is bounded', () => {
    assert.equal(oneLine('x'.repeat(300)), 'x'.repeat(300));
    assert.equal(oneLine('x'.repeat(301)), `${'x'.repeat(300)}...`);
    assert.equal(oneLine('abcdef', 3), 'abc...');
    assert.equal(oneLine('abc', 3), 'abc');
  });

  it('hides what is known to be secret, wherever it stands and whatever it looks like', () => {
    const secrets = ['user:hunter2pass', 'hunter2pass', 'user'];
    assert.equal(oneLine('bad password: user:hunter2pass', 300, secrets), 'bad password: ***');
    assert.equal(oneLine('hunter2pass(hunter2pass)user', 300, secrets), '***(***)***');
    assert.equal(oneLine({ said: 'no hunter2pass' }, 300, secrets), '{"said":"no ***"}');
    assert.equal(oneLine('$& and hunter2pass', 300, secrets), '$& and ***');
  });

  it('no part of a secret is left where a text is cut', () => {
    const secret = 'a secret of several words';
    for (const limit of [10, 40, 300]) {
      for (let at = 0; at < 30; at += 1) {
        assert.doesNotMatch(oneLine('x'.repeat(Math.max(0, limit - at)) + secret, limit, [secret]), /secr/);
        // So much is hidden that what is behind the part that is looked at would be shown.
        const line = oneLine(secret.repeat(200).slice(at), limit, [secret]);
        assert.doesNotMatch(line.slice(secret.length), /secr/);
      }
    }
  });

  it('no control character comes through, of any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) =>
        assert.doesNotMatch(oneLine(text), /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/),
      ),
      { seed: 6 },
    );
  });
});

describe('displayName()', () => {
  const key = '1a'.repeat(32);
  const mnemonic = 'legal winner thank year wave sausage worth useful legal winner thank yellow';
  for (const name of ['keys.json', './keys', '/home/a user/my keys.txt', `/tmp/${key}/keys.json`, 'a'.repeat(31), '']) {
    it(`shows ${JSON.stringify(name)}`, () => assert.equal(displayName(name), name));
  }

  it('is one line', () => assert.equal(displayName('a\n\u001b[31mb'), 'a [31mb'));

  for (const secret of [key, `0x${key}`, `"${key}"`, `key=${key}`, key.slice(0, 40), mnemonic, ` ${mnemonic}\n`]) {
    it(`hides ${JSON.stringify(secret)}`, () => assert.equal(displayName(secret), '(a name that may be a secret)'));
  }
});

describe('the error classes', () => {
  /** @type {Array<[Error & {code?: string, exitCode?: number}, string, string, number]>} error, name, code, exit code */
  const table = [
    [new errors.UsageError('m'), 'UsageError', 'usage', 64],
    [new errors.InputError('m'), 'InputError', 'bad_input', 65],
    [new errors.UnavailableError('m'), 'UnavailableError', 'unavailable', 69],
    [new errors.FundsError('m'), 'FundsError', 'unavailable', 69],
    [new errors.InternalError('m'), 'InternalError', 'internal', 70],
    [new errors.OutputError('m'), 'OutputError', 'cannot_write', 73],
    [new errors.IncompleteError('m'), 'IncompleteError', 'incomplete', 75],
    [new errors.ForeignSenderError('m'), 'ForeignSenderError', 'foreign_sender', 76],
    [new errors.RefusedError('m'), 'RefusedError', 'refused', 77],
    [new errors.InterruptedError('m'), 'InterruptedError', 'interrupted', 130],
    [new errors.InterruptedError('m', 143), 'InterruptedError', 'interrupted', 143],
    [new errors.TransportError('m', 'timeout'), 'TransportError', 'transport_timeout', 69],
    [new errors.ProtocolError('m'), 'ProtocolError', 'protocol', 69],
    [new errors.CheckError('m'), 'CheckError', 'check_failed', 1],
    [new errors.WorkloadError('m'), 'WorkloadError', 'workload_error', 65],
    [new errors.RpcError('eth_call', 3, 'm'), 'RpcError', 'rpc_error', 69],
  ];
  for (const [error, name, code, exitCode] of table) {
    it(`${name}: ${code}, exit code ${exitCode}`, () => {
      assert.ok(error instanceof StressError);
      assert.deepEqual([error.name, error.code, error.exitCode], [name, code, exitCode]);
      assert.equal(error.message, name === 'RpcError' ? 'eth_call: m (3)' : 'm');
      assert.ok(!('cause' in error));
    });
  }

  it('are all in this table', () => {
    const classes = Object.entries(/** @type {Record<string, any>} */ (errors)).filter(
      ([, value]) => value?.prototype instanceof StressError,
    );
    const tested = new Set(table.map(([, name]) => name));
    for (const [name] of classes) assert.ok(tested.has(name), name);
    assert.equal(classes.length, tested.size);
  });

  it('keep their cause', () => {
    const cause = new Error('why');
    assert.equal(new errors.InputError('m', cause).cause, cause);
    assert.equal(new errors.TransportError('m', 'reset', cause).cause, cause);
  });
});
