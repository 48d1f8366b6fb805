import assert from 'node:assert/strict';
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { caught } from '../../helpers/caught.js';
import { equalBy } from '../../helpers/equal-by.js';
import { temporaryFile, temporaryFolder } from '../../helpers/temporary.js';
import { flat, helpOf as helpTextOf, readCommand as read, readLine } from './read.js';

/** @import { TestContext } from 'node:test' */

const KEY = '1a'.repeat(32);
const MNEMONIC = 'legal winner thank year wave sausage worth useful legal winner thank yellow';

/** @param {string} line words with nothing to quote in them */
const words = (line) => line.split(' ').filter((word) => word !== '');

/** @param {string | string[]} argv @param {NodeJS.ProcessEnv} [env] @returns {Promise<Error & {exitCode: number}>} */
function refused(argv, env) {
  return caught(() => read(argv, env));
}

/** With --print-config. @param {string} line @param {NodeJS.ProcessEnv} [env] */
async function printed(line, env = {}) {
  const invocation = await readLine([...words(line), '--print-config'], env);
  if (invocation.kind !== 'text') assert.fail('it is a command');
  return JSON.parse(invocation.text);
}

/** @param {string} line */
function helpOf(line) {
  return helpTextOf(line) ?? assert.fail('it is no help');
}

/** @param {TestContext} t @param {unknown} json */
function configFile(t, json) {
  return temporaryFile(t, 'config.json', json);
}

describe('command lines: values', () => {
  const SERVICE = { STRESS_SERVICE_HOST: '10.0.0.1', STRESS_SERVICE_PORT: '80', STRESS_PORT: 'tcp://10.0.0.1:80' };
  const SET = [
    ['list', '1,2'],
    ['b', '3'],
  ];
  const FROM_ENV = { STRESS_THREADS: '7', STRESS_FUNDER_KEY: KEY, STRESS_LEGACY: 'true' };
  const OTHER_NAMES = { STRESS_WALLETS: '7', STRESS_RPC_URL: 'localhost:8545' };
  const TYPED = { threads: 5, legacy: true, verbose: false };
  const OWN = '-t 5 --workload ./x.js';
  /** What is typed, members of the config, the environment, and a config file. @type {Array<[string, Record<string, unknown>, NodeJS.ProcessEnv?, unknown?]>} */
  const table = [
    ['-t5', { threads: 5 }],
    ['--threads=5', { threads: 5 }],
    ['-vt 5', { verbose: true }],
    ['-t 5 -vq', { quiet: true }],
    ['-v -t 5 -v', { verbose: true }],
    ['-t 5 --verbose=false', { verbose: false }],
    ['-t 5 --tx-timeout 250ms --fund-amount 0.5', { txTimeoutMs: 250, fundAmountWei: 5n * 10n ** 17n }],
    ['-t 5 --out=-', { out: '-' }],
    ['--out - -t 5', { out: '-' }],
    ['-t 5 --chain-id 9007199254740991', { chainId: Number.MAX_SAFE_INTEGER }],
    ['-t 1 -o 2147483647', { offset: 2 ** 31 - 1 }],
    // The flag before the environment, the environment before the file.
    ['-t 5', { intervalMs: 3000 }, {}, { interval: '3s' }],
    ['-t 5', { intervalMs: 2000 }, { STRESS_INTERVAL: '2s' }, { interval: '3s' }],
    ['-t 5 --interval 1s', { intervalMs: 1000 }, { STRESS_INTERVAL: '2s' }, { interval: '3s' }],
    ['-t 5 --interval 1s', { intervalMs: 1000 }, { STRESS_INTERVAL: '2s' }],
    ['', { threads: 7, fundFrom: KEY, legacy: true }, FROM_ENV],
    ['-t 5', {}, SERVICE],
    ['-d 5s', { threads: 7, rpc: [new URL('http://localhost:8545')] }, OTHER_NAMES],
    ['', { threads: 9 }, {}, { wallets: 9 }],
    ['-t 5 --rpc env', { rpc: [new URL('http://a:1')] }, { ETH_RPC_URL: 'http://a:1' }],
    ['-t 5', { rpc: [] }, { ETH_RPC_URL: 'http://a:1' }],
    ['', { ...TYPED, offset: 10 }, {}, { ...TYPED, offset: '10' }],
    // A list is empty when it is not given; the value of a setting may have commas in it.
    ['node -t 5', { thresholds: [] }],
    [`${OWN} --set list=1,2 --set b=3`, { set: SET }],
    [`${OWN} --set list=1,2,b=3`, { set: SET }],
    [OWN, { set: SET }, { STRESS_SET: 'list=1,2, b=3' }],
    // How operations are paced.
    ['-t 5', { ratePerSecond: null, stages: null, arrival: null, warmupMs: 0, inFlight: 1 }],
    ['-t 5 --rate 500 --arrival poisson', { ratePerSecond: 500, arrival: 'poisson', durationMs: null }],
    ['-t 5 --warmup 250ms', { warmupMs: 250, ratePerSecond: null }],
    ['-t 5 --warmup auto --rate 5', { warmupMs: 'auto', ratePerSecond: 5 }],
    ['-t 5 --warmup auto --stages 1:5/1s', { warmupMs: 0 }],
    ['-t 5 --warmup auto --iterations 5', { warmupMs: 0 }],
    ['-t 5 --think-time 0s --rate 5', { thinkTimeMs: 0, ratePerSecond: 5 }],
    ['-t 5 --stages 0:10/1s,10/500ms', { durationMs: 1500 }],
    ['-t 5 --stages 1:10/1s --warmup 1s', { durationMs: 1000, warmupMs: 1000 }],
    // A job of CI ends.
    ['-t 5 -d 5s', {}, { CI: 'true' }],
    ['-t 5', {}, { CI: 'true', STRESS_DURATION: '5s' }],
    ['-t 5 --stages 1/1s', {}, { CI: 'true' }],
    ['-t 5', {}, { CI: 'false' }],
    ['node -t 5', {}, { CI: 'true' }],
  ];
  for (const [line, expected, env, json] of table)
    it([line, ...Object.keys(env ?? {}), json === undefined ? '' : JSON.stringify(json)].join(' '), async (t) => {
      const file = json === undefined ? '' : ` --config ${configFile(t, json)}`;
      const { config } = await read(line + file, env);
      const values = flat(config);
      for (const [key, value] of Object.entries(expected)) assert.deepEqual(values[key], value, key);
    });

  /** Thresholds on the command line, in the environment and in the config file. @type {Array<[string[], string | null, unknown, string[]]>} */
  const lists = [
    [[], null, undefined, []],
    [['dropped=0', 'p99 < 2s'], null, undefined, ['dropped=0', 'p99 < 2s']],
    [['tps>1', 'tps>1'], null, undefined, ['tps>1', 'tps>1']],
    [['tps>1, p99<2s'], null, undefined, ['tps>1', 'p99<2s']],
    [[], 'tps>1,p99<2s', undefined, ['tps>1', 'p99<2s']],
    [['rss<1GB'], 'tps>1,p99<2s', ['tps>2'], ['rss<1GB']],
    [[], null, 'tps>1', ['tps>1']],
    [[], null, ['tps>1', 'p99<2s'], ['tps>1', 'p99<2s']],
  ];
  for (const [given, variable, json, expected] of lists)
    it(`a list: ${JSON.stringify([given, variable, json])}`, async (t) => {
      const file = json === undefined ? [] : ['--config', configFile(t, { threshold: json })];
      const flags = given.flatMap((text) => ['--threshold', text]);
      const env = variable === null ? {} : { STRESS_THRESHOLD: variable };
      const { config } = await read(['-t', '5', ...file, ...flags], env);
      assert.deepEqual(config.outputs.redacted.thresholds, expected, 'the run file states them as they were given');
      equalBy(config.study.thresholds, ({ expression }) => expression, expected);
    });
});

describe('command lines: the config file', () => {
  /** @type {Array<[unknown, RegExp]>} */
  const table = [
    [[], /is not a JSON object of options$/],
    ['null', /is not a JSON object of options$/],
    [{ port: 1 }, /: "port" is an option of stress node, not of stress$/],
    [{ threads: { n: 5 } }, /: "threads" must be a string, a number, a boolean or an array of strings$/],
    [{ threads: null }, /: "threads" must be a string, /],
    ['{"__proto__": 1}', /: unknown option "__proto__"/],
    ...[5, true, null, {}, [5], ['tps>1', null]].map(
      (threshold) => /** @type {[unknown, RegExp]} */ ([{ threshold }, /threshold/]),
    ),
  ];
  for (const [json, message] of table)
    it(`refuses ${JSON.stringify(json)}`, (t) =>
      assert.rejects(read(['-t', '5', '--config', configFile(t, json)]), {
        name: 'InputError',
        exitCode: 65,
        message,
      }));
});

it('command lines: variables of the environment: names those that it does not know, and ignores those of a Service of Kubernetes', async () => {
  const ofService = {
    ...{ STRESS_PORT: 'tcp://10.0.0.1:80', STRESS_SERVICE_HOST: '10.0.0.1', STRESS_SERVICE_PORT_HTTP: '80' },
    ...{ STRESS_PORT_80_TCP_ADDR: '10.0.0.1', STRESS_RESULTS_SERVICE_HOST: '10.0.0.2' },
    ...{ STRESS_NODE_PORT: 'tcp://10.0.0.3:8545', STRESS_TEST: '1', STRESS_FLAVOUR: 'x' },
  };
  const { notices } = await read('-t 5', ofService);
  assert.deepEqual(notices, ['not an option of stress, and ignored: STRESS_TEST, STRESS_FLAVOUR in the environment']);
});

describe('command lines: stress.config.json and --print-config', () => {
  it('is used by runs, and named; options of other commands are left out', async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'stress.config.json'), '{"threads": 3, "duration": "2s", "expect": 4}');
    const before = process.cwd();
    process.chdir(folder);
    t.after(() => process.chdir(before));
    const invocation = await read([]);
    assert.equal(invocation.config.load.threads, 3);
    assert.deepEqual(invocation.notices, ['the options in stress.config.json are used']);
    const none = await read('-t 4 --config none');
    assert.equal(none.config.load.durationMs, null);
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
    assert.equal(config.load.ratePerSecond, 10_000);
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

describe('command lines: bad usage', () => {
  /** @type {Array<[string | string[], RegExp, NodeJS.ProcessEnv?]>} */
  const table = [
    ['-t -5', /^-t \(--threads\) must be at least 1, not "-5"$/],
    ['-t 5 --rpc env', /--rpc env: ETH_RPC_URL is not set/],
    ['-t 1 --workload ./w.js --set a=1 --set 2', /^--set must be a name and a value such as slots=20, not "2"$/],
    [
      '-t 5 --threshold tps>1 --threshold p99<2',
      /^--threshold does not fit in "p99<2": the unit is missing: p99 takes a limit such as 200ms/,
    ],
    ['-t 5 --threshold tps>1,', /^--threshold must be a figure, .* not ""$/],
    ['-t 5 --rate 5', /^--rate and --stages exclude each other/, { STRESS_STAGES: '5/1s' }],
    ['-t 5 --rate 5', /^CI is set and there is no --duration/, { CI: 'true' }],
    ['-t 5 --stages 0:5/1s --warmup 1s', /^--warmup uses the first rate of --stages, which is 0/],
    ['-t 5 -x', /^unknown option -x/],
    ['-t 5 --rpc http://h --node-profile perf', /^--node-profile perf needs --node-pid/],
    ['-t 5 --node-profile http://h/a,http://h/b', /^--node-profile has two sources named node/],
    ['-t 5 --node-profile ftp://h', /^--node-profile must be perf, or a URL such as/],
    [
      '-t 5 --threshold node.cpu_per_op<2ms',
      /^--threshold on node.cpu_per_op needs profiles of the node: --node-profile URL/,
    ],
    ['-t 5 --mix counter:50,ecr20:50', /^--mix must be one of .*, not "ecr20": did you mean erc20\?$/],
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
    ['-t 5 --keys k', /^--keys and --mnemonic exclude each other/, { STRESS_MNEMONIC: MNEMONIC }],
    ['fund -t 1000 --instances 201 --fund-from f --rpc http://x', /^stress fund takes at most 200000 wallets at a /],
    ['reclaim -t 5 --rpc http://x', /^stress reclaim needs --to ADDRESS or --fund-from FILE$/],
    ['-t 5', /^CI is set and there is no --duration/, { CI: 'True' }],
  ];
  for (const [argv, message, env] of table) {
    it(`${JSON.stringify(String(argv))}${env === undefined ? '' : ` with ${Object.keys(env)}`}`, () =>
      assert.rejects(read(argv, env), { name: 'UsageError', exitCode: 64, message }));
  }
});

describe('command lines: secrets', () => {
  it('are redacted in what the run file states', async () => {
    const { config } = await read(['-t', '5', '--rpc', 'https://u:pass@h.org/v3/0123456789abcdef0123456789?k=1'], {
      STRESS_MNEMONIC: MNEMONIC,
      STRESS_FUNDER_KEY: KEY,
    });
    const { redacted, commandLine } = config.outputs;
    const shown = inspect(redacted) + JSON.stringify(redacted) + commandLine;
    for (const secret of [MNEMONIC, 'sausage', KEY, 'pass', '0123456789', 'k=1'])
      assert.ok(!shown.includes(secret), secret);
    assert.equal(redacted.mnemonic, '[redacted]');
    assert.equal(redacted.fundFrom, '[redacted]');
    assert.equal(redacted.rpc, 'https://***@h.org/v3/***?***');
    assert.equal(
      commandLine,
      'STRESS_MNEMONIC="$STRESS_MNEMONIC" STRESS_FUNDER_KEY="$STRESS_FUNDER_KEY" STRESS_RPC="$STRESS_RPC" stress -t 5',
    );
  });

  const byName = ['apiToken', 'api_key', 'PASSWORD', 'clientSecret', 'key', 'secretKey', 'jwt', 'bearer', 'mnemonic'];
  for (const setting of [...byName.map((name) => `${name}=hush`), 'passwd=hush,hush'])
    it(`a setting that is a secret by its name is not shown: ${setting}`, async () => {
      const { config } = await read(['-t', '5', '--workload', './own.js', '--set', setting, '--set', 'tokens=5']);
      const { redacted, commandLine } = config.outputs;
      assert.ok(!`${JSON.stringify(redacted)}${commandLine}`.includes('hush'));
      assert.deepEqual(redacted.set, [`${setting.split('=')[0]}=***`, 'tokens=5']);
      assert.equal(commandLine, 'STRESS_SET="$STRESS_SET" stress -t 5 --workload ./own.js');
    });

  it('the command line is that which was typed, with the options of the environment, and leads to the same configuration', async () => {
    const typed = `-t 5 -d 90s --threshold p99<2s,tps>5 --method eth_call --workload rpc -q`.split(' ');
    const { config } = await read([...typed, '--params', '[{"a": "b c"}]'], {
      STRESS_MNEMONIC: MNEMONIC,
      STRESS_WARMUP: '1500ms',
    });
    assert.equal(
      config.outputs.commandLine,
      `STRESS_MNEMONIC="$STRESS_MNEMONIC" stress -t 5 -d 90s --warmup 1500ms --workload rpc --method eth_call --params '[{"a": "b c"}]' --threshold 'p99<2s' --threshold 'tps>5' -q`,
    );
    const words = [...config.outputs.commandLine.matchAll(/'([^']*)'|(\S+)/g)].map(
      ([, quoted, bare]) => quoted ?? bare,
    );
    const again = await read(words.slice(2), { STRESS_MNEMONIC: MNEMONIC });
    assert.deepEqual(again.config.outputs.redacted, config.outputs.redacted);
    const key = `0x${'ab'.repeat(32)}`;
    const call = await read(['-t', '5', '--workload', 'rpc', '--method', 'eth_call', '--params', `["${key}"]`]);
    assert.match(call.config.outputs.commandLine, /^STRESS_PARAMS="\$STRESS_PARAMS" stress/);
    assert.equal(call.config.outputs.redacted.params, '["***"]');
  });

  it('what goes to a worker thread is plain data without keys', async () => {
    const given = ['-t', '5', '--rpc', 'http://u:pass@h', '--workload', 'rpc', '--calls', 'wallet'];
    const { config } = await read([...given, '--check-rpc', 'http://i'], { STRESS_MNEMONIC: MNEMONIC });
    const { load, network, workload } = config;
    const cloned = structuredClone({ load, network, workload });
    assert.deepEqual(cloned, { load, network, workload });
    assert.deepEqual([cloned.workload.calls, cloned.workload.checkRpc], ['wallet', 'http://i/']);
    for (const secret of ['sausage', 'pass']) assert.ok(!inspect(cloned).includes(secret), secret);
  });

  it('several endpoints are a list, from wherever they come, and none of their secrets is shown', async () => {
    const urls = ['http://u:pass@a/?k=1,2', 'ws://b'];
    const given = ['-t', '5', ...urls.flatMap((url) => ['--rpc', url])];
    for (const { config } of [await read(given), await read('-t 5', { STRESS_RPC: urls.join() })]) {
      assert.deepEqual(config.chain.rpc.map(String), ['http://u:pass@a/?k=1,2', 'ws://b/']);
      assert.deepEqual(config.outputs.redacted.rpc, ['http://***@a?***', 'ws://b']);
      assert.equal(config.network.spread, 'sticky');
    }
  });

  /** @type {Array<[string, string[], NodeJS.ProcessEnv, RegExp | null]>} */
  const table = [
    ['a mnemonic on the command line', ['--mnemonic', MNEMONIC], {}, /^--mnemonic on .*use STRESS_MNEMONIC instead$/],
    ['a mnemonic in the environment', [], { STRESS_MNEMONIC: MNEMONIC }, null],
    ['a key on the command line', ['--fund-from', KEY], {}, /^--fund-from on .*use STRESS_FUNDER_KEY instead$/],
    ['the same between spaces', ['--fund-from', ` ${KEY}\n`], {}, /^--fund-from on /],
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
});

describe('command lines: help', () => {
  it('is given whatever else is wrong, but not for a command that does not exist', async () => {
    helpOf('--help -t abc --zzz');
    assert.match((await refused('nod --help')).message, /unknown command/);
  });

  it('without any option is shown as an error', async () => {
    const none = { hasUsualConfig: false };
    const bare = /** @type {any} */ (await readLine([], {}, none));
    assert.equal(bare.exitCode, 64);
    assert.match(bare.text, /^Usage: stress -t N[^]*Examples:[^]*Commands:[^]*stress --help$/);
    assert.ok(bare.text.split('\n').length < 45);
    const run = await readLine([], { STRESS_THREADS: '5' }, none);
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

describe('command lines: files', () => {
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
    const run = temporaryFile(t, 'run.json', '{}');
    const { config } = await read(['compare', run, '--with', run]);
    assert.deepEqual(config.study.candidates, [run]);
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
      assert.equal((await read(line)).config.network.maxBodyBytes, megabytes * 1024 * 1024);
    });
});
