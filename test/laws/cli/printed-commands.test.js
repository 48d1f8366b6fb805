/** Every command line that stress prints is one that stress, and a shell, understand. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { answerTable } from '../../../src/outputs/run-facts.js';
import { howItWasMade } from '../../../src/studies/sweep-text.js';
import { runFileOf } from '../../helpers/samples.js';
import { sweepOf } from '../../helpers/sweep-file.js';
import { temporaryFolder } from '../../helpers/temporary.js';
import { readCommand } from './read.js';

/** @import { Config } from '../../../src/contracts/load.d.ts' */

const URL_ = 'http://127.0.0.1:8545';
const HEADERS = join(temporaryFolder({ after }), 'my headers');
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

/** @param {string[]} argv */
const read = (argv) => readCommand(argv, {}, { hasUsualConfig: false });

/** Parses a printed command as a shell and stress do. @param {string} command */
function readPrinted(command) {
  const print = `set -- ${command}; printf '%s\\0' "$@"`;
  const [program, ...words] = execFileSync('sh', ['-c', print], { encoding: 'utf8' }).split('\0').slice(0, -1);
  assert.equal(program, 'stress', command);
  return read(words.map((word) => (word === 'URL' ? URL_ : word))).catch((error) =>
    assert.fail(`${command} is refused: ${error.message}`),
  );
}

/** The run file of a run that never reached the limit of the node. @param {Config} config */
function runOf({ chain, instance, workload, outputs: { redacted, commandLine } }) {
  const endpoint = [redacted.rpc].flat()[0] ?? 'http://127.0.0.1:1';
  const inclusion = workload.workload === 'rpc' ? null : 'heads';
  const start = { by: null, at: null, waitedMs: null, lateMs: null };
  const run = runFileOf({
    config: redacted,
    environment: { commandLine, endpoint, embeddedChain: chain.rpc.length === 0, inclusion },
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
      assert.deepEqual(rows.at(-1), ['next', 'find the highest rate:']);
      const { command, config: found } = await readPrinted(notes[0]);
      assert.equal(command, 'find');
      assert.ok(!notes[0].includes(KEY) && !notes[0].includes('pass-word'));
      const { set, logs, checkRpc, fixedId, ...load } = { ...config.workload, fixedId: null };
      assert.deepEqual({ ...found.workload, set, logs, checkRpc, fixedId }, { ...load, set, logs, checkRpc, fixedId });
      assert.equal(found.workload.set.length, set.length);
      for (const name of /** @type {const} */ (['keys', 'offset', 'legacy']))
        assert.equal(found.wallets[name], config.wallets[name]);
    }
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
    const again = await readPrinted(config.outputs.commandLine);
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
    const { axes, options } = config.study;
    const settings = Object.fromEntries(axes.map(({ name, values }) => [name, values[0]]));
    const [printed] = howItWasMade(sweepOf([{ settings }], { axes: [...axes], options: { ...options } }));
    const { command, config: again } = await readPrinted(printed);
    assert.equal(command, 'sweep');
    assert.deepEqual([again.study.axes, again.study.options], [axes, options], printed);
  }
});
