/** Every command line that stress prints is one that stress, and a shell, understand. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { OPTIONS, optionNamed, optionsOf } from '../../../src/cli/options.js';
import { StressError } from '../../../src/errors.js';
import { answerTable } from '../../../src/outputs/run-facts.js';
import { summaryText } from '../../../src/outputs/summary.js';
import { randomNumbers } from '../../../src/random.js';
import { howItWasMade } from '../../../src/studies/sweep-text.js';
import { valueOf } from '../../helpers/option-values.js';
import { runFileOf } from '../../helpers/samples.js';
import { sweepOf } from '../../helpers/sweep-file.js';
import { temporaryFolder } from '../../helpers/temporary.js';
import { readCommand } from './read.js';

/** @import { Config } from '../../../src/contracts/config.d.ts' */

const URL_ = 'http://127.0.0.1:8545';
const FOLDER = temporaryFolder({ after });
const HEADERS = join(FOLDER, 'my headers');
writeFileSync(HEADERS, 'X-Team: load\n', { mode: 0o600 });
const KEY = '1a'.repeat(32);

/** What the operations are. */
const LOADS = [
  [],
  ['--payload', '100'],
  ['--workload', 'transfer', '--receivers', '5', '--create-receivers', 'before'],
  ['--workload', './my visit.mjs', '--set', `key=${KEY}`, '--set', 'list=1,2'],
  ['--workload', "./it's.mjs", '--legacy'],
  ['--workload', 'storage', '--set', 'slots=5', '--set', 'cold=30'],
  ['--workload', 'logs', '--logs', 'my logs.json', '--iterations', '5'],
  ['--mix', './my "visit".mjs:50,erc20:50'],
  ['--mix', 'storage:1,counter:2', '--set', 'storage.slots=5'],
  ['--mix', 'counter:50,calls:50', '--calls', 'light'],
  ['--workload', 'rpc', '--method', 'eth_getBalance', '--params', `["it's", "latest"]`],
  ['--workload', 'rpc', '--calls', 'my calls.ndjson', '--calls-order', 'random', '--allow-writes'],
  ['--workload', 'rpc', '--calls', 'pages', '--data', 'logs.json', '--fixed-id', '1'],
  ['--workload', 'contract', '--deploy', "it's.sol:A", '--function', 'f(uint256[])', '--args', '[["1", "{{nonce}}"]]'],
  [
    ...[
      '--mix',
      'counter:1,ping:2',
      '--workloads',
      '{"ping":{"deploy":"a.json","function":"it\'s","call-value":"3wei"}}',
    ],
  ],
];

/** How many of them. */
const PACES = [
  ['-d', '10s'],
  ['-d', '10s', '--rate', '30Mgas/s', '--arrival', 'poisson'],
  ['--stages', '0:100/30s,100/5m', '--in-flight', '4'],
  ['-d', '10s', '--workers', 'auto', '--threshold', 'p99<2s,tps>=1', '--intervals', '-'],
];

/** Where, and by whom. */
const PLACES = [
  [],
  ['--rpc', URL_, '--header', 'X-Team: load', '--insecure'],
  ['--rpc', URL_, '--rpc', URL_, '--spread', 'round-robin', '--header-file', HEADERS],
  ['--rpc', `https://me:pass-word@x.io/v3/${KEY}`, '--send-rpc', `https://y.io/v3/${KEY}`, '--allow-chain', '1'],
  ['--rpc', URL_, '--chain-id', '0x7', '--keys', 'my keys.txt', '-o', '5', '--max-spend', '0.5', '--max-fee', '2gwei'],
];

/** Of several instances. */
const INSTANCES = [
  ['--index', '0', '--instances', '4', '--run-id', 'evening-1', '--results', "my 'results'"],
  ['--index', '1', '--instances', '2000', '--out', 'run-{index}.json'],
].map((words) => ['--rpc', URL_, '--chain-id', '31337', ...words]);

/** @param {string[]} argv @param {NodeJS.ProcessEnv} [env] */
const read = (argv, env = {}) => readCommand(argv, env, { hasUsualConfig: false });

/** Parses a printed command as a shell and stress do. @param {string} command @param {Record<string, string>} [secrets] by variable */
function readPrinted(command, secrets = {}) {
  const print = `set -- ${command}; printf '%s\\0' "$@"`;
  const words = execFileSync('sh', ['-c', print], { encoding: 'utf8', env: secrets }).split('\0').slice(0, -1);
  const start = words.indexOf('stress');
  const assigned = words.slice(0, start).map((word) => /** @type {RegExpExecArray} */ (/^([A-Z_]+)=(.*)$/s.exec(word)));
  const env = Object.fromEntries(assigned.map(([, name, value]) => [name, value]));
  const argv = words.slice(start + 1).map((word) => (word === 'URL' ? URL_ : word));
  return read(argv, env).catch((error) => assert.fail(`${command} is refused: ${error.message}`));
}

/** Values of the lines below that no command shows. */
const SECRETS = {
  STRESS_SET: `key=${KEY},list=1,2`,
  STRESS_HEADER: 'X-Team: load',
  STRESS_RPC: `https://me:pass-word@x.io/v3/${KEY}`,
  STRESS_SEND_RPC: `https://y.io/v3/${KEY}`,
};

/** The run file of a run that never reached the limit of the node. @param {Config} config */
function runOf({ chain, instance, workload, outputs: { redacted, commandLine, findCommand } }) {
  const endpoint = [redacted.rpc].flat()[0] ?? 'http://127.0.0.1:1';
  const inclusion = workload.workload === 'rpc' ? null : 'heads';
  const start = { by: null, at: null, waitedMs: null, lateMs: null };
  const run = runFileOf({
    config: redacted,
    environment: { commandLine, findCommand, endpoint, embeddedChain: chain.rpc.length === 0, inclusion },
    instance: instance.index === null ? null : { ...instance, offset: 0, threads: 5, host: 'x', start },
    end: 'duration',
  });
  return { ...run, verdict: /** @type {const} */ ({ name: 'rate-bound', evidence: 'x' }) };
}

/** Runs with each load in each place. @param {string[][]} places */
async function runsAt(places) {
  const lines = LOADS.flatMap((load) => places.map((place) => [...load, ...place]));
  const runs = lines.map(async (line, i) => {
    try {
      const { config } = await read(['-t', '5', ...line, ...PACES[i % PACES.length]]);
      return [{ config, run: runOf(config) }];
    } catch (error) {
      // Plain calls have no gas and no submissions.
      assert.match(String(error), /exclude each other|calls use no gas|sends none/);
      return [];
    }
  });
  const accepted = (await Promise.all(runs)).flat();
  assert.ok(accepted.length > 0.8 * lines.length, `${accepted.length} of ${lines.length} are accepted`);
  return accepted;
}

describe('the command that a summary ends with', () => {
  it('searches with the load and the wallets of the run', async () => {
    for (const { config, run } of await runsAt(PLACES)) {
      const { rows, notes } = answerTable(run);
      assert.match(String(rows.at(-1)), /^next,find the highest rate\b.*:$/);
      const { command, config: found } = await readPrinted(notes[0], SECRETS);
      assert.equal(command, 'find');
      assert.ok(!notes[0].includes(KEY) && !notes[0].includes('pass-word'));
      const place = notes[0].includes('--rpc URL') ? { rpc: [`${URL_}/`] } : {};
      assert.deepEqual(kept(found), { ...kept(config), ...place }, notes[0]);
    }
  });

  it('names what a search does not have, and the variables to set', async () => {
    const argv = ['-t', '5', '-d', '1s', '--rpc', SECRETS.STRESS_RPC, '--think-time', '1s', '--duplicate-share', '5%'];
    const { config } = await read(argv, {
      STRESS_HEADER: 'X-Team: load',
      STRESS_MNEMONIC: '',
      STRESS_THINK_TIME: '2s',
    });
    const { rows, notes } = answerTable(runOf(config));
    assert.deepEqual(
      [rows.at(-1), notes],
      [
        [
          'next',
          'find the highest rate, without --think-time, --duplicate-share, which a search does not have, with the secrets of this run in STRESS_RPC:',
        ],
        ['STRESS_RPC="$STRESS_RPC" STRESS_HEADER="$STRESS_HEADER" stress find'],
      ],
    );
  });

  it('stays in one line', async () => {
    const { config } = await read(['-t', '5', '--rpc', SECRETS.STRESS_RPC, '--max-fee', '2']);
    const { command } = config.outputs.findCommand ?? assert.fail();
    const [line] = summaryText(runOf(config), false, undefined, 40).split('\n').slice(-1);
    assert.equal(line.trim(), command);
  });

  it('merges the run files of all instances', async () => {
    for (const { config, run } of await runsAt(INSTANCES)) {
      const { rows, notes } = answerTable(run);
      assert.match(rows.at(-1)?.[1] ?? '', /^when all [\d,]+ instances have ended:$/);
      const { command, config: merge } = await readPrinted(notes[0]);
      const { instances, runId, results } = config.instance;
      assert.deepEqual(
        [command, merge.study.files, merge.instance.expect, merge.instance.runId, merge.outputs.out],
        ['merge', [results ?? 'FILES'], instances, runId, 'merged.json'],
      );
    }
  });
});

it('the command line of a run file and of its page is one of that run', async () => {
  for (const { config } of await runsAt([...PLACES, ...INSTANCES])) {
    const again = await readPrinted(config.outputs.commandLine, SECRETS);
    assert.equal(again.config.outputs.commandLine, config.outputs.commandLine);
  }
});

it('the command line of a sweep and of its page is one of that sweep', async () => {
  for (const words of [
    ['-t', '5,10..12', '--rate', '10,20'],
    ['-t', '5', '--workload', 'storage', '--set', 'slots=5,10', '--set', 'cold=30'],
    ['-t', '5,10', '--mix', './my visit.mjs:50,erc20:50', '--legacy', '--keys', 'my keys.txt'],
    ['-t', '5,10', '--workload', 'rpc', '--method', 'eth_call', '--params', `["it's"]`, '--rpc', URL_],
  ]) {
    const { config } = await read(['sweep', '-d', '1s', ...words]);
    const [printed] = howItWasMade(sweepOf([{ settings: {} }], { commandLine: config.outputs.commandLine }));
    const { command, config: again } = await readPrinted(printed, SECRETS);
    assert.equal(command, 'sweep');
    const { axes, options } = config.study;
    assert.deepEqual([again.study.axes, again.study.options], [axes, options], printed);
  }
});

/** What the search of a run has in common with it. @param {Config} config */
function kept({ outputs: { redacted }, ...config }) {
  const rows = OPTIONS.filter(
    (option) =>
      ['run', 'find'].every((name) => option.commands.includes(/** @type {any} */ (name))) &&
      !['outputs', 'study', 'instance'].includes(option.group) &&
      !option.isChosenByFind,
  );
  const values = rows.map(({ group, key }) => [key, /** @type {any} */ (config)[group][key]]);
  // The number of threads follows from that of wallets.
  const all = { ...Object.fromEntries(values), workers: redacted.workers, headers: config.network.headers };
  return JSON.parse(JSON.stringify(all, (_, value) => (typeof value === 'bigint' ? `${value}` : value)));
}

/** Names of files, and words of programs, that a shell would change. */
const HOSTILE = ['my "file" isn\'t $HOME `id` $(id) * ~ a;b\\b #x é !!', '"quoted"', '-x', '~'];

/** Other values than those of every option. @type {Record<string, readonly string[]>} */
const VALUES = {
  ...{ keys: HOSTILE, contracts: HOSTILE, data: HOSTILE, 'fund-from': [KEY, ...HOSTILE] },
  ...{ 'header-file': [HEADERS], header: ['X-Team: "$HOME"'], set: ['a=$(id) `id`', `key=${KEY}`, "list=1,2,b='"] },
  ...{ rpc: [`${URL_}/ext`, SECRETS.STRESS_RPC, `${URL_},http://127.0.0.1:2/?a=1,2`], 'allow-chain': ['1'] },
  ...{
    'send-rpc': [SECRETS.STRESS_SEND_RPC],
    'check-rpc': [SECRETS.STRESS_SEND_RPC],
    'node-metrics': [`http://u:p@x.io`, `one=http://u:p@x.io/a,two=http://127.0.0.1:1`],
    'node-profile': [`one=http://u:p@x.io/profile,perf`],
  },
  ...{ flashblocks: ['wss://user:pass-word@x.io/', 'ws://127.0.0.1:1'], calls: ['light', './my calls'] },
  ...{ params: [`["${KEY}"]`, '[{"a": "it\'s"}]'], method: ['eth_call'], 'chain-id': ['0x7'], 'max-fee': ['1.5gwei'] },
  ...{ 'hd-path': ["m/44'/60'/0'/1"], inclusion: ['blocks'], workload: ['./it\'s "my" $visit.mjs', 'transfer'] },
  ...{ mix: ['counter:1,./my visit.mjs:2'], payload: ['100'], spread: ['round-robin'], transport: ['undici'] },
  ...{ deploy: HOSTILE, abi: HOSTILE, args: ['{{wallet.next}},1', `["${KEY}", ["$HOME", "it's"]]`, '"$(id)",`id`'] },
  ...{ 'node-series': ['a,b'], 'create-receivers': ['before'], 'calls-order': ['random'], 'node-pid': ['1'] },
};

/** @param {string} name */
const rowOf = (name) => optionNamed(name) ?? assert.fail(name);

const CALLED = ['--workload=contract', `--contract-address=${valueOf(rowOf('contract-address'))}`];
const CALL = [...CALLED, '--function=f()'];

/** What else an option needs, where that does not follow from the table. @type {Record<string, readonly string[]>} */
const NEEDS = {
  ...{ method: ['--workload=rpc'], calls: ['--workload=rpc'], params: ['--workload=rpc', '--method=eth_call'] },
  ...{ data: ['--workload=rpc', '--calls=pages'], 'fixed-id': ['--workload=rpc', '--method=eth_call'] },
  ...{
    'node-profile': ['--node-pid=1'],
    'allow-writes': ['--workload=rpc', '--calls=light'],
    'send-params': ['--send-method=eth_x'],
  },
  ...{ 'create-receivers': ['--workload=transfer', '--receivers=5'], 'nonce-order': ['--in-flight=2'] },
  ...{ 'contract-address': ['--workload=contract', '--function=f()'], function: CALLED, calldata: CALLED },
  ...{ deploy: ['--workload=contract', '--function=f()'], args: CALL, abi: CALL, before: CALL, 'check-event': CALL },
  ...{ 'deploy-args': ['--workload=contract', '--function=f()', '--deploy=x'], 'before-args': [...CALL, '--before=g'] },
  ...{ 'call-value': CALL, 'max-value': [...CALL, '--call-value=1wei'], workloads: [] },
  ...{ spread: [`--rpc=${URL_},http://127.0.0.1:2`], 'send-rpc': [`--rpc=${URL_}`], set: ['--workload=./mine.mjs'] },
};

/** A word in a place of the environment, the config file or the command line. @typedef {{name: string, text: string}} Given */

/** @param {string} word @returns {Given} */
function givenOf(word) {
  const [, name, text] = /** @type {RegExpExecArray} */ (/^--([\w-]+)=(.*)$/s.exec(word));
  return { name, text };
}

const ROWS = optionsOf('run').filter(({ group }) => !['outputs', 'study', 'instance'].includes(group));

/**
 * Reads a run, and the search that it prints, whose environment has nothing but the secrets.
 * @param {readonly Given[]} given @param {(name: string) => 'flag' | 'environment' | 'file'} placeOf
 * @returns {Promise<string | null>} why the run is refused
 */
async function compare(given, placeOf) {
  const at = (/** @type {string} */ place) => given.filter(({ name }) => placeOf(name) === place);
  const variable = (/** @type {string} */ name) => rowOf(name).variable;
  const env = Object.fromEntries(at('environment').map(({ name, text }) => [variable(name), text]));
  const file = join(FOLDER, 'config.json');
  writeFileSync(file, JSON.stringify(Object.fromEntries(at('file').map(({ name, text }) => [name, text]))));
  let config;
  try {
    const usual = Object.entries({ threads: '5', duration: '10s' }).filter(
      ([one]) => !given.some(({ name }) => name === one || (name === 'stages' && one === 'duration')),
    );
    const words = [...usual.map(([name, text]) => ({ name, text })), ...at('flag')].map(
      ({ name, text }) => `--${name}=${text}`,
    );
    ({ config } = await read([...words, '--config', file], env));
  } catch (error) {
    assert.ok(error instanceof StressError && [64, 65].includes(error.exitCode), String(error));
    return String(error);
  }
  const { command } = config.outputs.findCommand ?? assert.fail();
  for (const secret of [KEY, 'pass-word', 'sausage', 'X-Team', 'p@']) assert.ok(!command.includes(secret), command);
  const secrets = Object.fromEntries(given.map(({ name, text }) => [variable(name), text]));
  const { config: found } = await readPrinted(command, secrets);
  assert.deepEqual(kept(found), kept(config), command);
  return null;
}

describe('the search for the highest rate has every option of the run that it takes', () => {
  for (const option of ROWS)
    it(`--${option.name}`, async () => {
      const { name, needs = [], workload = [] } = option;
      const needed = needs.slice(0, 1).map((one) => `--${one}=${VALUES[one]?.at(-1) ?? valueOf(rowOf(one))}`);
      const ofWorkload = [workload]
        .flat()
        .slice(0, 1)
        .map((one) => `--workload=${one}`);
      const given = (NEEDS[name] ?? [...ofWorkload, ...needed]).map(givenOf);
      const hasPlace = name === 'rpc' || given.some((one) => one.name === 'rpc');
      if (!hasPlace) given.push({ name: 'rpc', text: URL_ });
      for (const text of VALUES[name] ?? [valueOf(option)])
        for (const place of /** @type {const} */ (['flag', 'environment', 'file'])) {
          const refusal = await compare([{ name, text }, ...given], (one) => (one === name ? place : 'flag'));
          // Some secrets are refused on the command line.
          assert.ok(refusal === null || (place === 'flag' && option.literal), `${text}: ${refusal}`);
        }
    });

  it('in combinations of them', async () => {
    const random = randomNumbers(7);
    const pick = (/** @type {readonly any[]} */ all) => all[Math.floor(random() * all.length)];
    let [accepted, tries] = [0, 0];
    // Many exclude each other.
    for (; accepted < 200 && tries < 3000; tries += 1) {
      const rows = new Set([rowOf('rpc'), ...Array.from({ length: 1 + (tries % 6) }, () => pick(ROWS))]);
      const given = [...rows].map((row) => ({ name: row.name, text: pick(VALUES[row.name] ?? [valueOf(row)]) }));
      const places = new Map(given.map(({ name }) => [name, pick(['flag', 'environment', 'file'])]));
      if ((await compare(given, (name) => places.get(name))) === null) accepted += 1;
    }
    assert.equal(accepted, 200, `of ${tries}`);
  });
});
