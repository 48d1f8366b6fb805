import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEFAULT_HD_PATH } from '../../../src/chain/keys.js';
import { COMMANDS, OPTIONS } from '../../../src/cli/options.js';
import { SPREADS } from '../../../src/chain/endpoints.js';
import { arrivals } from '../../../src/core/pacer.js';
import { detectors } from '../../../src/inclusion/index.js';
import { transports } from '../../../src/transport/index.js';
import { CALL_PRESETS } from '../../../src/workloads/calls-file.js';

describe('OPTIONS', () => {
  it('each has a name, a key and an alias of its own', () => {
    for (const property of /** @type {const} */ (['name', 'key', 'alias'])) {
      const values = OPTIONS.map((option) => option[property]).filter((value) => value !== undefined);
      assert.equal(new Set(values).size, values.length, property);
    }
  });

  it('each default is a value that the option takes', async () => {
    for (const { name, fallback, parse } of OPTIONS) {
      if (fallback !== undefined) await assert.doesNotReject(async () => parse(fallback), name);
    }
  });

  it('each is described in one line, belongs to a command, and says what its value is', () => {
    for (const { name, help: text, commands, argument, isFlag } of OPTIONS) {
      assert.match(text, /^\S[^\n]*[^\s.]$/, name);
      assert.ok(commands.length > 0 && commands.every((command) => command in COMMANDS), name);
      assert.equal(argument === '', isFlag === true, name);
    }
  });

  it('keys, mnemonics and headers are marked as secrets', () => {
    const secrets = OPTIONS.filter(({ role }) => role === 'secret').map(({ key }) => key);
    assert.deepEqual(secrets.sort(), ['fundFrom', 'header', 'mnemonic']);
  });
});

describe('what the table repeats, because its modules are too large to load for --help', () => {
  const rows = Object.fromEntries(OPTIONS.map((option) => [option.name, option]));
  const tables = {
    transport: ['auto', ...Object.keys(transports)],
    inclusion: ['auto', ...Object.keys(detectors)],
    calls: [...CALL_PRESETS],
    arrival: Object.keys(arrivals),
    spread: [...SPREADS],
    find: OPTIONS.filter(({ search }) => search !== undefined).map(({ name }) => name),
  };

  for (const [name, names] of Object.entries(tables))
    it(`the choices of --${name}`, () => assert.deepEqual([...(rows[name].choices ?? [])].sort(), names.sort()));

  it('the default of --hd-path', () => assert.equal(rows['hd-path'].fallback, DEFAULT_HD_PATH));
});
