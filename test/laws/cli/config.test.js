import assert from 'node:assert/strict';
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { readInvocation } from '../../../src/cli/config.js';
import { textOf } from '../../../src/cli/help.js';
import { COMMANDS, OPTIONS, optionsOf } from '../../../src/cli/options.js';
import { engineConfigOf, settingsOf } from '../../../src/core/config.js';
import { InputError } from '../../../src/errors.js';
import { caught } from '../../helpers/caught.js';
import { temporaryFolder } from '../../helpers/temporary.js';

/** @import { TestContext } from 'node:test' */

const KEY = '1a'.repeat(32);
const MNEMONIC = 'legal winner thank year wave sausage worth useful legal winner thank yellow';

/** @param {string} line words with nothing to quote in them */
const words = (line) => line.split(' ').filter((word) => word !== '');

/** @param {string | string[]} argv @param {NodeJS.ProcessEnv} [env] */
async function read(argv, env = {}) {
  const invocation = await readInvocation(typeof argv === 'string' ? words(argv) : argv, env, '1.2.3');
  if (invocation.kind !== 'command') assert.fail(`it is a text: ${invocation.text}`);
  return invocation;
}

/** @param {string | string[]} argv @param {NodeJS.ProcessEnv} [env] @returns {Promise<Error & {exitCode: number}>} */
function refused(argv, env) {
  return caught(() => read(argv, env));
}

/** With --print-config. @param {string} line @param {NodeJS.ProcessEnv} [env] */
async function printed(line, env = {}) {
  const invocation = await readInvocation([...words(line), '--print-config'], env, '1.2.3');
  if (invocation.kind !== 'text') assert.fail('it is a command');
  return JSON.parse(invocation.text);
}

/** @param {string} line */
function helpOf(line) {
  return textOf(words(line), 80) ?? assert.fail('it is no help');
}

/** @param {TestContext} t @param {unknown} json */
function configFile(t, json) {
  const file = join(temporaryFolder(t), 'config.json');
  writeFileSync(file, typeof json === 'string' ? json : JSON.stringify(json));
  return file;
}

describe('readInvocation(): values', () => {
  it('gives a frozen Config with every option of the command, and null for those of others', async () => {
    const { command, config, warnings } = await read('-t 200 -o 0');
    assert.equal(command, 'run');
    assert.deepEqual(warnings, []);
    assert.ok(Object.isFrozen(config) && Object.isFrozen(config.redacted));
    const { redacted, study, loadKeys, commandLine, ...values } = config;
    assert.deepEqual(study.axes, []);
    assert.equal(commandLine, 'stress -t 200 -o 0');
    assert.ok(loadKeys.has('payload') && !loadKeys.has('mnemonic'));
    /** @type {Record<string, unknown>} */
    const defaults = {
      ...{ threads: 200, workload: 'counter', workers: 1, inFlight: 1, thinkTimeMs: 0, warmupMs: 0, attempt: 0 },
      ...{ offset: 0, firstOffset: 0, hdPath: "m/44'/60'/0'/0", legacy: false, insecure: false, noKeepAlive: false },
      ...{ spread: 'sticky', inclusion: 'auto', confirmations: 0, checkShare: 0.01 },
      ...{ transport: 'auto', connections: 64, batch: 1 },
      ...{ intervalMs: 5000, drainTimeoutMs: 30_000, txTimeoutMs: 60_000, requestTimeoutMs: 10_000 },
      ...{ startTimeoutMs: 600_000, waitForMs: 0, verbose: false, wide: false, explain: false, quiet: false },
      ...{ logLevel: 'warn', logFormat: 'text' },
    };
    assert.deepEqual(values, {
      ...Object.fromEntries(OPTIONS.map(({ key, isList, isRest }) => [key, isList || isRest ? [] : null])),
      ...{ files: [], scheduler: null, gasPerSecond: null },
      ...defaults,
    });
    assert.equal(redacted.command, 'run');
  });

  /** @type {Array<[string, string, unknown]>} */
  const table = [
    ['-t 5 -o 250', 'offset', 250],
    ['-t5', 'threads', 5],
    ['-t=5', 'threads', 5],
    ['--threads 5', 'threads', 5],
    ['--threads=5', 'threads', 5],
    ['-vt 5', 'verbose', true],
    ['-t 5 -vq', 'quiet', true],
    ['-v -t 5 -v', 'verbose', true],
    ['-t 5 --verbose=false', 'verbose', false],
    ['-t 5 -d 5m', 'durationMs', 300_000],
    ['-t 5 --tx-timeout 250ms', 'txTimeoutMs', 250],
    ['-t 5 --wait-for 1m30s', 'waitForMs', 90_000],
    ['-t 5 --fund-amount 0.5', 'fundAmountWei', 5n * 10n ** 17n],
    ['-t 5 --gas-price 2', 'gasPriceWei', 2_000_000_000n],
    ['-t 5 --max-fee 1wei', 'maxFeeWei', 1n],
    ['-t 5 --legacy', 'legacy', true],
    ['-t 5 --out=-', 'out', '-'],
    ['-t 5 --out run.json', 'out', 'run.json'],
    ['-t 5 --chain-id 9007199254740991', 'chainId', Number.MAX_SAFE_INTEGER],
    ['-t 1 -o 2147483647', 'offset', 2 ** 31 - 1],
  ];
  for (const [line, key, expected] of table) {
    it(line, async () => assert.deepEqual(/** @type {any} */ ((await read(line)).config)[key], expected));
  }

  it('a minus alone is a value, for standard output', async () => {
    assert.equal((await read('-t 5 --out -')).config.out, '-');
    assert.equal((await read('--out - -t 5')).config.out, '-');
  });

  it('a value may start with a minus: it is refused for what it is', async () => {
    assert.equal((await refused('-t 5 -o -3')).message, '-o (--offset) must be at least 0, not "-3"');
    assert.equal((await refused('-t -5')).message, '-t (--threads) must be at least 1, not "-5"');
    assert.equal((await refused('-t=-5')).message, '-t (--threads) must be at least 1, not "-5"');
  });
});

describe('readInvocation(): where a value comes from', () => {
  /** @type {Array<[string, boolean, boolean, boolean, number]>} flag, environment, file, interval in ms */
  const table = [
    ['the default', false, false, false, 5000],
    ['the file', false, false, true, 3000],
    ['the environment before the file', false, true, true, 2000],
    ['the environment', false, true, false, 2000],
    ['the flag before all', true, true, true, 1000],
    ['the flag before the environment', true, true, false, 1000],
    ['the flag before the file', true, false, true, 1000],
  ];
  for (const [name, byFlag, byEnv, byFile, expected] of table) {
    it(name, async (t) => {
      const file = configFile(t, { interval: '3s' });
      const argv = [...['-t', '5', ...(byFlag ? ['--interval', '1s'] : []), ...(byFile ? ['--config', file] : [])]];
      const { config } = await read(argv, byEnv ? { STRESS_INTERVAL: '2s' } : {});
      assert.equal(config.intervalMs, expected);
    });
  }

  it('each option has a name of its own in the environment, and it is read', async () => {
    const names = OPTIONS.map(({ variable }) => variable);
    assert.equal(new Set(names).size, names.length);
    for (const name of names) assert.match(name, /^STRESS_[A-Z_]+$/);
    const { config } = await read('', {
      STRESS_THREADS: '7',
      STRESS_TX_TIMEOUT: '9s',
      STRESS_FUNDER_KEY: KEY,
      STRESS_LEGACY: 'true',
      STRESS_RPC: 'http://127.0.0.1:1/',
      STRESS_MNEMONIC: MNEMONIC,
    });
    assert.deepEqual(
      [config.threads, config.txTimeoutMs, config.fundFrom, config.legacy, String(config.rpc), config.mnemonic],
      [7, 9000, KEY, true, 'http://127.0.0.1:1/', MNEMONIC],
    );
  });

  it('names that are not ours are not read: Kubernetes puts some there', async () => {
    await read('-t 5', { STRESS_SERVICE_HOST: '10.0.0.1', STRESS_SERVICE_PORT: '80' });
    await read('-t 5', { STRESS_PORT: 'tcp://10.0.0.1:80' }); // ours, but of another command
  });
});

describe('readInvocation(): an option that may be given several times', () => {
  /** @param {string[]} argv @param {NodeJS.ProcessEnv} [env] */
  const thresholds = async (argv, env) => {
    const { config } = await read(['-t', '5', ...argv], env);
    const expressions = config.thresholds.map(({ expression }) => expression);
    assert.deepEqual(config.redacted.thresholds, expressions, 'the run file states them as they were given');
    return expressions;
  };

  it('is a list, empty when it is not given, and never null', async () => {
    assert.deepEqual(await thresholds([]), []);
    assert.deepEqual((await read('node -t 5')).config.thresholds, []);
    assert.deepEqual(await thresholds(['--threshold', 'tps>=100']), ['tps>=100']);
    assert.deepEqual(await thresholds(['--threshold=dropped=0', '--threshold', 'p99 < 2s']), ['dropped=0', 'p99 < 2s']);
    assert.deepEqual(await thresholds(['--threshold', 'tps>1', '--threshold', 'tps>1']), ['tps>1', 'tps>1']);
  });

  it('a comma separates values, in the environment, too', async () => {
    assert.deepEqual(await thresholds(['--threshold', 'tps>1, p99<2s']), ['tps>1', 'p99<2s']);
    const env = { STRESS_THRESHOLD: 'tps>1,p99<2s' };
    assert.deepEqual(await thresholds([], env), ['tps>1', 'p99<2s']);
    assert.deepEqual(await thresholds(['--threshold', 'rss<1GB'], env), ['rss<1GB'], 'flags win, as everywhere');
  });

  it('a setting without a name is refused, not read as the end of the one before it', async () => {
    const error = await refused(['-t', '1', '--workload', './w.js', '--set', 'a=1', '--set', '2']);
    assert.match(error.message, /^--set must be a name and a value such as slots=20, not "2"$/);
  });

  it('the value of a setting may have commas in it', async () => {
    const set = async (/** @type {string[]} */ argv, env = {}) =>
      (await read(['-t', '5', '--workload', './x.js', ...argv], env)).config.set;
    const expected = [
      ['list', '1,2'],
      ['b', '3'],
    ];
    assert.deepEqual(await set(['--set', 'list=1,2', '--set', 'b=3']), expected);
    assert.deepEqual(await set(['--set', 'list=1,2, b=3']), expected);
    assert.deepEqual(await set([], { STRESS_SET: 'list=1,2,b=3' }), expected);
  });

  it('a string or an array of strings in the config file', async (t) => {
    for (const [json, expected] of /** @type {Array<[unknown, string[]]>} */ ([
      ['tps>1', ['tps>1']],
      [
        ['tps>1', 'p99<2s'],
        ['tps>1', 'p99<2s'],
      ],
      [[], []],
    ]))
      assert.deepEqual(await thresholds(['--config', configFile(t, { threshold: json })]), expected);
    for (const json of [5, true, null, {}, [5], ['tps>1', null]])
      assert.ok((await refused(['-t', '5', '--config', configFile(t, { threshold: json })])) instanceof InputError);
  });

  it('each value has to be right', async () => {
    const second = await refused('-t 5 --threshold tps>1 --threshold p99<2');
    assert.match(second.message, /^--threshold does not fit in "p99<2": p99 takes a limit such as 200ms$/);
    assert.match((await refused('-t 5 --threshold tps>1,')).message, /^--threshold must be a figure, .* not ""$/);
  });
});

describe('readInvocation(): the config file', () => {
  it('takes texts, numbers and booleans', async (t) => {
    const file = configFile(t, { threads: 5, offset: '10', legacy: true, verbose: false, duration: '5s' });
    const { config } = await read(['--config', file]);
    assert.deepEqual(
      [config.threads, config.offset, config.legacy, config.verbose, config.durationMs],
      [5, 10, true, false, 5000],
    );
  });

  /** @type {Array<[string, unknown, RegExp]>} */
  const table = [
    ['an array', [], /is not a JSON object of options$/],
    ['null', 'null', /is not a JSON object of options$/],
    ['an option of another command', { port: 1 }, /: "port" is an option of stress node, not of stress$/],
    [
      'a nested value',
      { threads: { n: 5 } },
      /: "threads" must be a string, a number, a boolean or an array of strings$/,
    ],
    ['null as a value', { threads: null }, /: "threads" must be a string, /],
    ['__proto__', '{"__proto__": 1}', /: unknown option "__proto__"/],
  ];
  for (const [name, json, message] of table) {
    it(`refuses ${name}`, (t) =>
      assert.rejects(read(['-t', '5', '--config', configFile(t, json)]), {
        name: 'InputError',
        exitCode: 65,
        message,
      }));
  }

  it('is no folder', async (t) => {
    assert.match((await refused(['-t', '5', '--config', temporaryFolder(t)])).message, /: it is a folder$/);
  });
});

describe('readInvocation(): variables of the environment', () => {
  it('refuses one that is probably misspelt', async () => {
    for (const [name, meant] of [
      ['STRESS_DURATON', 'STRESS_DURATION'],
      ['STRESS_RATES', 'STRESS_RATE'],
      ['STRESS_THREAD', 'STRESS_THREADS'],
    ]) {
      const { message } = await refused(['-t', '5'], { [name]: '5' });
      assert.equal(message, `unknown variable ${name} in the environment: did you mean ${meant}?`);
    }
  });

  it('names other ones once, and ignores those of a Service of Kubernetes', async () => {
    const ofService = {
      STRESS_PORT: 'tcp://10.0.0.1:80',
      STRESS_SERVICE_HOST: '10.0.0.1',
      STRESS_SERVICE_PORT_HTTP: '80',
      STRESS_PORT_80_TCP_ADDR: '10.0.0.1',
      STRESS_RESULTS_SERVICE_HOST: '10.0.0.2',
      STRESS_NODE_PORT: 'tcp://10.0.0.3:8545',
      STRESS_TEST: '1',
    };
    const invocation = await readInvocation(['-t', '5'], { ...ofService, STRESS_FLAVOUR: 'x' }, '1.2.3', {});
    assert.ok(invocation.kind === 'command');
    assert.deepEqual(invocation.notices, [
      'not an option of stress, and ignored: STRESS_TEST, STRESS_FLAVOUR in the environment',
    ]);
  });

  it('takes other names of options, also in the config file', async (t) => {
    const { config } = await read('-d 5s', { STRESS_WALLETS: '7', STRESS_RPC_URL: 'localhost:8545' });
    assert.equal(config.threads, 7);
    assert.equal(config.rpc[0].href, 'http://localhost:8545/');
    const file = await read(['--config', configFile(t, { wallets: 9 })]);
    assert.equal(file.config.threads, 9);
  });

  it('--rpc env is ETH_RPC_URL, which is never used unasked', async () => {
    const env = { ETH_RPC_URL: 'http://127.0.0.1:1' };
    assert.equal((await read('-t 5 --rpc env', env)).config.rpc[0].port, '1');
    assert.deepEqual((await read('-t 5', env)).config.rpc, []);
    assert.match((await refused(words('-t 5 --rpc env'))).message, /--rpc env: ETH_RPC_URL is not set/);
  });
});

describe('readInvocation(): stress.config.json and --print-config', () => {
  it('is used by runs, and named; options of other commands are left out', async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'stress.config.json'), '{"threads": 3, "duration": "2s", "expect": 4}');
    const before = process.cwd();
    process.chdir(folder);
    t.after(() => process.chdir(before));
    const invocation = await readInvocation([], {}, '1.2.3');
    assert.ok(invocation.kind === 'command');
    assert.equal(invocation.config.threads, 3);
    assert.deepEqual(invocation.notices, ['the options in stress.config.json are used']);
    const none = await readInvocation(['-t', '4', '--config', 'none'], {}, '1.2.3');
    assert.ok(none.kind === 'command');
    assert.equal(none.config.durationMs, null);
    assert.deepEqual(none.notices, []);
  });

  it('is as if it were not there while it is empty: the shell makes it for --print-config', async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'stress.config.json'), '');
    const before = process.cwd();
    process.chdir(folder);
    t.after(() => process.chdir(before));
    assert.deepEqual(await printed('-t 5'), { threads: '5' });
  });

  it('prints what is given, without secrets, in the form of a config file', async (t) => {
    const env = { STRESS_MNEMONIC: 'test '.repeat(12).trim(), STRESS_RATE: '10k', STRESS_QUIET: '1' };
    const json = await printed('-t 5 --rpc localhost:8545 --threshold p99<2s', env);
    assert.deepEqual(json, {
      threads: '5',
      rate: '10k',
      mnemonic: '***',
      rpc: ['http://localhost:8545'],
      threshold: ['p99<2s'],
      quiet: '1',
    });
    const args = ['--config', configFile(t, json)];
    const { config } = await read(args, { STRESS_MNEMONIC: env.STRESS_MNEMONIC });
    assert.equal(config.ratePerSecond, 10_000);
    assert.match((await refused(args)).message, /^"mnemonic" in the config file is masked \(\*\*\*\): write the value/);
  });

  it('masks what may be a secret: mistyped keys, parts of URLs, keys in parameters', async (t) => {
    const typo = `0x${'b7'.repeat(31)}b7O`;
    const json = await printed('-t 5 --rpc https://user:word@h.io/v3/0123456789abcdef0123456789', {
      STRESS_FUNDER_KEY: typo,
    });
    assert.deepEqual(json, { threads: '5', 'fund-from': '***', rpc: ['https://***@h.io/v3/***'] });
    assert.match((await refused(['--config', configFile(t, { threads: 5, rpc: json.rpc })])).message, /is masked/);
    const key = `["0x${'12'.repeat(32)}",false]`;
    const { params } = await printed(`-t 1 --workload rpc --method eth_call --params ${key}`);
    assert.equal(params, '["***",false]');
    assert.match((await refused(words('-t abc --print-config'))).message, /must be a whole number/);
  });
});

describe('readInvocation(): bad usage', () => {
  /** @type {Array<[string | string[], RegExp, NodeJS.ProcessEnv?]>} */
  const table = [
    [['--threads='], /^-t \(--threads\) needs a value \(N\)$/],
    ['-t 100001', /^-t \(--threads\) must be at most 100000/],
    ['-t 5 -d 5s --duration 6s', /^-d \(--duration\) is given 2 times/],
    ['-t 5 -x', /^unknown option -x/],
    ['-t 5 --tx.timeout 5s', /^unknown option --tx\.timeout: did you mean --tx-timeout\?/],
    [['-t', '5', '--\u001b[31mred'], /^unknown option --\[31mred|^unknown option -- \[31mred/],
    ['toString -t 5', /^unknown command "toString"/],
    ['-t 5 --rpc http://x --rpc nonsense', /^--rpc must be a URL/],
    ['-t 5 --rpc http://x --spread apart', /^--spread apart needs several endpoints: give --rpc more than once$/],
    ['-t 5 --inclusion receipts', /^--inclusion receipts was removed: give blocks, or auto, /],
    ['-t 1 --rpc http://x --rpc http://y', /^-t 1 is less than the number of endpoints \(--rpc gives 2\)$/],
    ['-t 5 --rpc http://x --rpc http://y --connections 1', /^--connections 1 is less than the number of endpoints/],
    ['fund -t 5 --rpc http://x --rpc http://y --fund-from f', /^stress fund takes one endpoint, and --rpc gives 2$/],
    ['reclaim -t 5 --rpc http://x,http://y --fund-from f', /^stress reclaim takes one endpoint, and --rpc gives 2$/],
    ['-t 5 --keys k --mnemonic m', /^--keys and --mnemonic exclude each other/],
    ['-t 5 --keys k', /^--keys and --mnemonic exclude each other/, { STRESS_MNEMONIC: MNEMONIC }],
    ['-t 5 --gas-price 1 --max-fee 1', /^--gas-price and --max-fee exclude each other: leave one of them out$/],
    ['fund -t 1000 --instances 201 --fund-from f --rpc http://x', /^stress fund takes at most 200000 wallets at a /],
    ['reclaim -t 5 --rpc http://x', /^stress reclaim needs --to ADDRESS or --fund-from FILE$/],
    ['-t 5', /^CI is set and there is no --duration/, { CI: 'True' }],
  ];
  for (const [argv, message, env] of table) {
    it(`${JSON.stringify(String(argv))}${env === undefined ? '' : ` with ${Object.keys(env)}`}`, () =>
      assert.rejects(read(argv, env), { name: 'UsageError', exitCode: 64, message }));
  }

  it('CI is no reason where the job ends, or is not set', async () => {
    await read('-t 5 -d 5s', { CI: 'true' });
    await read('-t 5', { CI: 'true', STRESS_DURATION: '5s' });
    await read('-t 5', { CI: '' });
    await read('-t 5', { CI: 'false' });
    await read('node -t 5', { CI: 'true' });
  });
});

describe('readInvocation(): how operations are paced', () => {
  /** @type {Array<[string, Record<string, unknown>]>} */
  const good = [
    ['-t 5', { ratePerSecond: null, stages: null, arrival: null, warmupMs: 0, inFlight: 1 }],
    ['-t 5 --rate 0.5', { ratePerSecond: 0.5, durationMs: null }],
    ['-t 5 --rate 500 --arrival poisson -d 5s', { ratePerSecond: 500, arrival: 'poisson', durationMs: 5000 }],
    ['-t 5 --rate 500 --warmup 5s', { warmupMs: 5000 }],
    ['-t 5 --warmup 250ms', { warmupMs: 250, ratePerSecond: null }],
    ['-t 5 --warmup auto --rate 5', { warmupMs: 'auto', ratePerSecond: 5 }],
    ['-t 5 --warmup auto --stages 1:5/1s', { warmupMs: 0 }],
    ['-t 5 --warmup auto --iterations 5', { warmupMs: 0 }],
    ['-t 5 --think-time 0s --rate 5', { thinkTimeMs: 0, ratePerSecond: 5 }],
    ['-t 5 --in-flight 16', { inFlight: 16 }],
    // Stages say how long the window is.
    ['-t 5 --stages 0:10/1s,10/500ms', { durationMs: 1500 }],
    ['-t 5 --stages 1:10/1s --warmup 1s', { durationMs: 1000, warmupMs: 1000 }],
    ['-t 5 --stages 1/1s --arrival uniform', { arrival: 'uniform' }],
  ];
  for (const [line, expected] of good) {
    it(line, async () => {
      const config = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ ((await read(line)).config));
      for (const [key, value] of Object.entries(expected)) assert.deepEqual(config[key], value, key);
    });
  }

  it('stages end a job of CI as a duration does', async () => {
    await read('-t 5 --stages 1/1s', { CI: 'true' });
    assert.match((await refused('-t 5 --rate 5', { CI: 'true' })).message, /^CI is set and there is no --duration/);
  });

  /** @type {Array<[string, RegExp, NodeJS.ProcessEnv?]>} */
  const bad = [
    ['-t 5 --rate 5 --stages 5/1s', /^--rate and --stages exclude each other/],
    ['-t 5 --rate 5', /^--rate and --stages exclude each other/, { STRESS_STAGES: '5/1s' }],
    ['-t 5 --stages 5/1s -d 5s', /^--stages and --duration exclude each other/],
    ['-t 5 --arrival poisson', /^--arrival needs --rate N or --stages LIST$/],
    ['-t 5 --arrival random --rate 5', /^--arrival must be one of uniform, poisson, not "random"$/],
    ['-t 5 --stages 0:5/1s --warmup 1s', /^--warmup uses the first rate of --stages, which is 0/],
    ['-t 5 --rate 0', /^--rate must be more than 0, not "0"$/],
    ['-t 5 --rate 5x', /^--rate must be operations per second/],
  ];
  for (const [line, message, env] of bad) {
    it(`refuses ${line}${env === undefined ? '' : ` with ${Object.keys(env)}`}`, () =>
      assert.rejects(read(line, env), { name: 'UsageError', message }));
  }
});

describe('readInvocation(): secrets', () => {
  it('are redacted in what the run file states', async () => {
    const { config } = await read(['-t', '5', '--rpc', 'https://u:pass@h.org/v3/0123456789abcdef0123456789?k=1'], {
      STRESS_MNEMONIC: MNEMONIC,
      STRESS_FUNDER_KEY: KEY,
    });
    const shown = inspect(config.redacted) + JSON.stringify(config.redacted) + config.commandLine;
    for (const secret of [MNEMONIC, 'sausage', KEY, 'pass', '0123456789', 'k=1'])
      assert.ok(!shown.includes(secret), secret);
    assert.equal(config.redacted.mnemonic, '[redacted]');
    assert.equal(config.redacted.fundFrom, '[redacted]');
    assert.equal(config.redacted.rpc, 'https://***@h.org/v3/***?***');
    assert.equal(config.commandLine, "stress -t 5 --rpc 'https://***@h.org/v3/***?***'");
  });

  it('the command line is that which was typed, with the options of the environment, and leads to the same configuration', async () => {
    const typed = `-t 5 -d 90s --threshold p99<2s,tps>5 --method eth_call --workload rpc -q`.split(' ');
    const { config } = await read([...typed, '--params', '[{"a": "b c"}]'], {
      STRESS_MNEMONIC: MNEMONIC,
      STRESS_WARMUP: '1500ms',
    });
    assert.equal(
      config.commandLine,
      `stress -t 5 -d 90s --warmup 1500ms --workload rpc --method eth_call --params '[{"a": "b c"}]' --threshold 'p99<2s' --threshold 'tps>5' -q`,
    );
    const words = [...config.commandLine.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare);
    const again = await read(words.slice(1), { STRESS_MNEMONIC: MNEMONIC });
    assert.deepEqual(again.config.redacted, config.redacted);
    const key = `0x${'ab'.repeat(32)}`;
    const call = await read(['-t', '5', '--workload', 'rpc', '--method', 'eth_call', '--params', `["${key}"]`]);
    assert.match(call.config.commandLine, /--params '\["\*\*\*"\]'$/);
  });

  it('are not given to the workload of a worker thread', async () => {
    const given = ['-t', '5', '--rpc', 'http://u:pass@h', '--workload', 'rpc', '--calls', 'wallet'];
    const { config } = await read([...given, '--check-rpc', 'http://u:pass@i'], { STRESS_MNEMONIC: MNEMONIC });
    const settings = structuredClone(settingsOf(config));
    const { workload, calls, threads } = settings;
    assert.deepEqual([workload, calls, threads], ['rpc', 'wallet', 5]);
    for (const secret of ['sausage', 'pass']) assert.ok(!inspect(settings).includes(secret), secret);
  });

  it('several endpoints are a list, from wherever they come, and none of their secrets is shown', async () => {
    const urls = ['http://u:pass@a/?k=1,2', 'ws://b'];
    const given = ['-t', '5', ...urls.flatMap((url) => ['--rpc', url])];
    for (const { config } of [await read(given), await read('-t 5', { STRESS_RPC: urls.join() })]) {
      assert.deepEqual(config.rpc.map(String), ['http://u:pass@a/?k=1,2', 'ws://b/']);
      assert.deepEqual(config.redacted.rpc, ['http://***@a?***', 'ws://b']);
      assert.equal(config.spread, 'sticky');
    }
  });

  /** @type {Array<[string, string[], NodeJS.ProcessEnv, RegExp | null]>} */
  const table = [
    ['a mnemonic on the command line', ['--mnemonic', MNEMONIC], {}, /^--mnemonic on .*use STRESS_MNEMONIC instead$/],
    ['a mnemonic in the environment', [], { STRESS_MNEMONIC: MNEMONIC }, null],
    ['a key on the command line', ['--fund-from', KEY], {}, /^--fund-from on .*use STRESS_FUNDER_KEY instead$/],
    ['the same with 0x', ['--fund-from', `0x${KEY}`], {}, /^--fund-from on /],
    ['the same between spaces', ['--fund-from', ` ${KEY}\n`], {}, /^--fund-from on /],
    ['a file with a key', ['--fund-from', 'key.txt'], {}, null],
    ['a key in the environment', [], { STRESS_FUNDER_KEY: KEY }, null],
  ];
  for (const [name, argv, env, warning] of table) {
    it(`${name}: ${warning === null ? 'no warning' : 'a warning'}`, async () => {
      const { warnings } = await read(['-t', '5', ...argv], env);
      assert.equal(warnings.length, warning === null ? 0 : 1);
      if (warning !== null) assert.match(warnings[0], warning);
      for (const text of warnings) assert.ok(!text.includes(KEY) && !text.includes('sausage'));
    });
  }

  for (const name of ['contracts', 'out', 'samples', 'blocks', 'hlog', 'junit', 'log-file', 'keys', 'config']) {
    it(`a key or a mnemonic as the name of a file (--${name}) is refused, and not shown`, async () => {
      for (const secret of [KEY, `0x${KEY}`, MNEMONIC]) {
        const env = { [`STRESS_${name.toUpperCase().replace('-', '_')}`]: secret };
        const errors = [await refused(['-t', '5', `--${name}`, secret]), await refused(['-t', '5'], env)];
        for (const error of errors) {
          assert.match(error.message, /^(--|STRESS_)\S+ must be the name of a file; the value looks like a key/);
          assert.equal(error.exitCode, 64);
        }
      }
    });
  }

  it('a secret in a config file that only its owner can read is no warning: it is in no process list', async (t) => {
    const file = configFile(t, { mnemonic: MNEMONIC });
    chmodSync(file, 0o600);
    assert.deepEqual((await read(['-t', '5', '--config', file])).warnings, []);
  });

  describe('files that others can read', { skip: process.platform === 'win32' && 'no such modes on Windows' }, () => {
    /** @type {Array<[string, unknown, (file: string) => string[], number, boolean]>} */
    const files = [
      ['keys', KEY, (file) => ['--keys', file], 0o644, true],
      ['keys that only the owner can read', KEY, (file) => ['--keys', file], 0o600, false],
      ["a funder's key", KEY, (file) => ['--fund-from', file], 0o604, true],
      ['two uses', {}, (file) => ['--keys', file, '--fund-from', file, '--config', file], 0o644, true],
      ['a key in a config', { 'fund-from': KEY }, (file) => ['--config', file], 0o660, true],
      ['no secret', { offset: 5 }, (file) => ['--config', file], 0o644, false],
    ];
    for (const [name, json, args, mode, isWarned] of files)
      it(`${name}, ${mode.toString(8)}: ${isWarned ? 'a' : 'no'} warning`, async (t) => {
        const file = configFile(t, json);
        chmodSync(file, mode);
        const words = `${file} holds secrets and its mode 0${mode.toString(8)} lets others read it: chmod 600 ${file}`;
        assert.deepEqual((await read(['-t', '5', ...args(file)])).warnings, isWarned ? [words] : []);
      });
  });

  it('a URL that is none is not quoted when it may hold credentials', async () => {
    const { message } = await refused('-t 5 --rpc http//user:secret@host');
    assert.ok(!message.includes('secret'), message);
  });
});

describe('readInvocation(): help', () => {
  it('has examples that are valid commands', async () => {
    const examples = Object.values(COMMANDS).flatMap((row) => row.examples ?? []);
    for (const example of examples) {
      const line = example.replaceAll('URL', 'http://127.0.0.1:1').replaceAll(/'| >>.*/g, '');
      assert.ok(textOf(words(line)) ?? (await readInvocation(words(line), {}, '0.0.0')), example);
    }
  });

  it('states every option of the command, its default and its environment', async () => {
    for (const command of /** @type {Array<keyof typeof COMMANDS>} */ (Object.keys(COMMANDS))) {
      const help = helpOf(`${command} --help-all`);
      const short = helpOf(`${command} --help`);
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

  it('is given whatever else is wrong, but not for a command that does not exist', async () => {
    helpOf('--help -t abc --zzz');
    assert.match((await refused('nod --help')).message, /unknown command/);
  });

  it('without any option is shown as an error', async () => {
    const none = { hasUsualConfig: false };
    const bare = /** @type {any} */ (await readInvocation([], {}, '1.2.3', none));
    assert.equal(bare.exitCode, 64);
    assert.match(bare.text, /^Usage: stress -t N[^]*Examples:[^]*Commands:[^]*stress --help$/);
    assert.ok(bare.text.split('\n').length < 45);
    const run = await readInvocation([], { STRESS_THREADS: '5' }, '1.2.3', none);
    assert.equal(run.kind, 'command');
  });

  it('stress help COMMAND, stress run', async () => {
    for (const line of ['sweep --help', '--help sweep', 'sweep -t 5 -h'])
      assert.equal(helpOf('help sweep'), helpOf(line));
    assert.equal(helpOf('help'), helpOf('run -h'));
    assert.match((await refused('help nod')).message, /did you mean node/);
    assert.match((await refused('-q help')).message, /^stress help takes no options before it$/);
  });
});

describe('readInvocation(): files', () => {
  it('refuses to write a file that the command reads, also through a symbolic link', async (t) => {
    const folder = temporaryFolder(t);
    const [run, link, config] = ['run.json', 'link.json', 'config.json'].map((name) => join(folder, name));
    writeFileSync(run, '{}');
    writeFileSync(config, '{}');
    symlinkSync(run, link);
    for (const argv of [
      ['report', run, '--html', run],
      ['merge', run, '--out', link],
      ['compare', run, '--with', link, '--out', run],
      ['-t', '1', '--keys', run, '--out', link],
      ['-t', '1', '--config', config, '--out', config],
    ])
      await assert.rejects(read(argv), { code: 'usage', message: /name the same file$/ }, argv.join(' '));
  });

  it('takes one file twice where it is only read', async (t) => {
    const run = join(temporaryFolder(t), 'run.json');
    writeFileSync(run, '{}');
    const { config } = await read(['compare', run, '--with', run]);
    assert.deepEqual(config.candidates, [run]);
  });
});

describe('the largest answer that is read', () => {
  for (const [line, megabytes] of /** @type {const} */ ([
    ['-t 1', 24],
    ['-t 1 --workload rpc --method eth_chainId', 64],
    ['-t 2 --mix counter:1,calls:1 --calls light', 64],
    ['-t 1 --workload ./mine.js', 64],
  ]))
    it(`${line}: ${megabytes} MB`, async () => {
      assert.equal(engineConfigOf((await read(line)).config).maxBodyBytes, megabytes * 1024 * 1024);
    });
});
