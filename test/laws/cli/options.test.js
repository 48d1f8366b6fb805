import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEFAULT_HD_PATH } from '../../../src/chain/keys.js';
import { COMMANDS, OPTIONS, optionsOf } from '../../../src/cli/options.js';
import { SPREADS } from '../../../src/chain/endpoints.js';
import { arrivals } from '../../../src/core/pacer.js';
import { detectors } from '../../../src/inclusion/index.js';
import { transports } from '../../../src/transport/index.js';
import { CALL_PRESETS } from '../../../src/workloads/calls-file.js';
import { caught } from '../../helpers/caught.js';
import { valueOf } from '../../helpers/option-values.js';
import { flat, helpOf, readCommand, readLine } from './read.js';

/** @import { Command, Option } from '../../../src/cli/options.js' */

describe('OPTIONS', () => {
  it('each has a name, a key, an alias and a variable of its own', () => {
    for (const property of /** @type {const} */ (['name', 'key', 'alias', 'variable'])) {
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
    const secrets = OPTIONS.filter(({ isSecret }) => isSecret).map(({ key }) => key);
    assert.deepEqual(secrets.sort(), ['fundFrom', 'header', 'mnemonic', 'pushHeader']);
  });
});

describe('the table and the configuration', () => {
  it('gives a frozen Config with every option of the command, and null for those of others', async () => {
    const { command, config, warnings } = await readCommand('-t 200 -o 0');
    assert.equal(command, 'run');
    assert.deepEqual(warnings, []);
    assert.ok([config, config.outputs.redacted, ...Object.values(config)].every(Object.isFrozen));
    const usual = OPTIONS.map(async ({ key, isList, isRest, fallback, parse, commands }) => [
      key,
      isList || isRest ? [] : fallback === undefined || !commands.includes('run') ? null : await parse(fallback),
    ]);
    const expected = {
      ...Object.fromEntries(await Promise.all(usual)),
      ...{ files: [], scheduler: null, gasPerSecond: null, threads: 200, offset: 0, firstOffset: 0, attempt: 0 },
      ...{ workers: 1, axes: [], headers: {}, commandLine: 'stress -t 200 -o 0' },
      ...{ findCommand: { command: 'stress find -o 0', without: [], variables: [] } },
    };
    const values = flat(config);
    for (const [key, value] of Object.entries(expected)) assert.deepEqual(values[key], value, key);
    assert.equal(config.outputs.redacted.command, 'run');
  });
});

describe('the table and the help', () => {
  it('has examples that are valid commands', async () => {
    const examples = Object.values(COMMANDS).flatMap((row) => row.examples ?? []);
    for (const example of examples) {
      const line = example.replaceAll('URL', 'http://127.0.0.1:1').replaceAll(/'| >>.*/g, '');
      assert.ok(await readLine(line), example);
    }
  });

  it('states every option of the command, its default and its environment', async () => {
    for (const command of /** @type {Array<keyof typeof COMMANDS>} */ (Object.keys(COMMANDS))) {
      const help = helpOf(`${command} --help-all`) ?? '';
      const short = helpOf(`${command} --help`) ?? '';
      for (const line of [...help.split('\n'), ...short.split('\n')]) assert.ok(line.length <= 80, line);
      assert.ok(short.length <= help.length);
      for (const { name, alias, fallback, isFlag, choices, defaultText } of optionsOf(command)) {
        assert.match(
          help,
          new RegExp(`^ +${alias === undefined ? '' : `-${alias}, `}--${name}\\b`, 'm'),
          `${command} ${name}`,
        );
        if (fallback !== undefined && isFlag !== true && defaultText === undefined)
          assert.match(help, new RegExp(`default:\\s+${fallback.replace(/[^\w ]/g, '\\$&')}[;\\]]`), name);
        const [, own = ''] = help.split(new RegExp(`^ {2,6}(?:-\\w, )?--(?=${name}(?![\\w-]))`, 'm'));
        const paragraph = own.split(/^ {2,6}(?:-\w, )?--/m)[0];
        for (const choice of choices ?? []) assert.match(paragraph, new RegExp(`\\b${choice}\\b`), `${name} ${choice}`);
      }
      for (const { name } of OPTIONS.filter(({ commands }) => !commands.includes(command))) {
        assert.doesNotMatch(help, new RegExp(`^ +(-\\w, )?--${name}(?![\\w-])`, 'm'), `${command} ${name}`);
      }
      assert.match(help, /STRESS_TX_TIMEOUT/);
      assert.doesNotMatch(help, /undefined|null|\[object/);
    }
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

const KEY = '1a'.repeat(32);
/** @param {Option} option */
const given = (option) => `--${option.name}=${valueOf(option)}`;

/** @param {Command | undefined} command @param {string[]} words @param {NodeJS.ProcessEnv} [env] @returns {Promise<string>} */
async function refusal(command = 'run', words, env = {}) {
  const argv = [...(command === 'run' ? [] : [command]), ...words];
  const { message, code } = await caught(() => readCommand(argv, env, { hasUsualConfig: false }));
  assert.equal(code, 'usage', message);
  assert.ok(!message.includes(KEY) && !message.includes('undefined'), message);
  return message;
}

for (const option of OPTIONS) {
  const {
    name,
    alias,
    localName = name,
    argument,
    variable,
    isFlag,
    isList,
    file,
    commands,
    choices,
    needs = [],
    excludes = [],
  } = option;
  const label = alias === undefined ? `--${localName}` : `-${alias} (--${name})`;
  const [command] = commands;
  /** @param {string} other @returns {[Command, Option]} */
  const together = (other) => {
    const found = commands.flatMap((one) => optionsOf(one).flatMap((row) => (row.name === other ? [[one, row]] : [])));
    return /** @type {any} */ (found[0]);
  };

  describe(`--${name}`, () => {
    it('is refused where another command has it, and with a letter less in the environment', async () => {
      const other = /** @type {const} */ (['run', 'node', 'merge']).find((one) => !commands.includes(one));
      if (other !== undefined)
        assert.match(await refusal(other, [`--${name}=1`]), new RegExp(`^--${name} is an option of .*, not of stress`));
      const misspelt = variable.slice(0, -1);
      if (name.length < 7 || OPTIONS.some((one) => one !== option && one.variable.startsWith(misspelt))) return;
      const words = `unknown variable ${misspelt} in the environment: did you mean ${variable}?`;
      assert.equal(await refusal(command, ['-q'], { [misspelt]: '1' }), words);
    });

    it('is refused without a value, and twice', async () => {
      if (isFlag) return;
      assert.equal(await refusal(command, [`--${name}=`]), `${label} needs a value (${argument})`);
      if (!isList)
        assert.equal(
          await refusal(command, [given(option), given(option)]),
          `${label} is given 2 times: once is enough`,
        );
      else if (option.isSecret)
        assert.equal(
          await refusal(command, [given(option)], { [variable]: 'Authorization: secret' }),
          `${label} and ${variable} are both given: give all headers in ${variable}`,
        );
    });

    it('is refused with a value that it does not take, from wherever that comes', async () => {
      const { integer = null } = option;
      const wrong = /** @type {Array<[string, string]>} */ ([
        ...(isFlag ? [['perhaps', 'must be true or false, not "perhaps"']] : []),
        ...(choices && !option.isOpen ? [['zzz', 'must be one of ']] : []),
        ...(integer && !choices
          ? [
              [`${integer[0] - 1}`, `must be at least ${integer[0]}, not "${integer[0] - 1}"`],
              [`${integer[1] + 1}`, `must be at most ${integer[1]}, not "${integer[1] + 1}"`],
              ['1.5', 'must be a whole number'],
            ]
          : []),
        ...(file && file !== 'secret' ? [[KEY, 'must be ']] : []),
      ]);
      for (const [i, [text, says]] of wrong.entries()) {
        assert.ok((await refusal(command, [`--${name}=${text}`])).startsWith(`${label} ${says}`), text);
        if (i > 0) continue;
        assert.ok(
          (await refusal(command, [name === 'quiet' ? '--log-format=text' : '-q'], { [variable]: text })).startsWith(
            `${variable} ${says}`,
          ),
          text,
        );
      }
    });

    it('is refused without what it needs, and with what it excludes', async () => {
      const there = needs.map(together).find((one) => one !== undefined);
      if (there !== undefined) assert.match(await refusal(there[0], [given(option)]), new RegExp(`^--${name} needs -`));
      for (const [one, row] of excludes.map(together))
        assert.equal(
          await refusal(one, [given(option), given(row)]),
          `--${name} and --${row.name} exclude each other: leave one of them out`,
        );
    });
  });
}
