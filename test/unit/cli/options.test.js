import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { COMMANDS, OPTIONS } from '../../../src/cli/options.js';

describe('OPTIONS', () => {
  it('each has a name, a key and an alias of its own', () => {
    for (const property of /** @type {const} */ (['name', 'key', 'alias'])) {
      const values = OPTIONS.map((option) => option[property]).filter((value) => value !== undefined);
      assert.equal(new Set(values).size, values.length, property);
    }
  });

  it('each default is a value that the option takes', () => {
    for (const { name, fallback, parse } of OPTIONS) {
      if (fallback !== undefined) assert.doesNotThrow(() => parse(fallback), name);
    }
  });

  it('each is described in one line, belongs to a command, and says what its value is', () => {
    for (const { name, describe: text, commands, argument, isFlag } of OPTIONS) {
      assert.match(text, /^\S[^\n]*[^\s.]$/, name);
      assert.ok(commands.length > 0 && commands.every((command) => command in COMMANDS), name);
      assert.equal(argument === '', isFlag === true, name);
    }
  });

  it('keys and mnemonics are marked as secrets', () => {
    const secrets = OPTIONS.filter(({ isSecret }) => isSecret).map(({ key }) => key);
    assert.deepEqual(secrets.sort(), ['fundFrom', 'mnemonic']);
  });
});
