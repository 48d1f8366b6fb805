/** The command line of a run's page leads to the same configuration again. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readInvocation } from '../../../src/cli/config.js';
import { OPTIONS } from '../../../src/cli/options.js';
import { commandLine, settingsOf } from '../../../src/report/repeat.js';

/** @import { Config } from '../../../src/types.d.ts' */

/** @param {string[]} argv @param {NodeJS.ProcessEnv} [env] */
async function configOf(argv, env = {}) {
  const invocation = await readInvocation(argv, env, '0.0.0');
  assert.equal(invocation.kind, 'command');
  // As a run file brings it back.
  const { redacted } = /** @type {{config: Config}} */ (invocation).config;
  return /** @type {Record<string, unknown>} */ (JSON.parse(JSON.stringify(redacted)));
}

/** What a shell makes of it, as far as quotes go. @param {string} line */
function wordsOf(line) {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare);
}

describe('how to repeat a run', () => {
  const LINES = [
    '-t 200 -o 0',
    '-t 30 -d 90s --warmup 250ms --interval 1s --rate 12.5 --arrival poisson',
    '-t 1 -d 1h --rpc http://127.0.0.1:8545 --chain-id 31337 --no-keep-alive --workers auto',
    '-t 1 --stages 0:100/30s,100/5m --max-fee 2.5 --max-spend 0.75 --confirmations 3',
    `-t 1 -d 3600s --workload rpc --method eth_call --params '[{"a": "b c"}, "latest"]'`,
    '-t 2 -d 10s --threshold p99<2s --threshold failed<0.1%',
  ].map(wordsOf);
  for (const argv of LINES) {
    it(`stress ${argv.join(' ')}`, async () => {
      const config = await configOf(argv);
      const [program, ...words] = wordsOf(commandLine(config, OPTIONS));
      assert.equal(program, 'stress');
      assert.deepEqual(await configOf(words), config);
    });
  }

  it('formats durations with units', async () => {
    const line = commandLine(await configOf(['-t', '5', '-d', '90s', '--warmup', '1500ms']), OPTIONS);
    assert.equal(line, 'stress -t 5 -d 90s --warmup 1500ms');
  });

  it('leaves out where the outcome went, and shows no secret', async () => {
    const words = 'test test test test test test test test test test test junk';
    const config = await configOf(['-t', '5', '--rpc', 'http://127.0.0.1:1', '--out', 'run.json', '-q'], {
      STRESS_MNEMONIC: words,
    });
    const line = commandLine(config, OPTIONS);
    assert.equal(line, 'stress -t 5 --rpc http://127.0.0.1:1');
    const [secret] = settingsOf(config, OPTIONS).filter(({ variable }) => variable !== null);
    assert.equal(secret.variable, 'STRESS_MNEMONIC');
    assert.doesNotMatch(JSON.stringify(settingsOf(config, OPTIONS)), /junk/);
  });

  it('quotes what a shell would take for something else', () => {
    const line = commandLine({ command: 'run', threads: 1, contracts: `a b'; rm -rf "$HOME"` }, OPTIONS);
    assert.equal(line, `stress -t 1 --contracts 'a b'\\''; rm -rf "$HOME"'`);
  });

  it('states values whose parsers load a module as they are, also unknown ones', async () => {
    const config = { command: 'run', threads: 1, thresholds: ['nope<3', 'p99<2s'] };
    assert.equal(commandLine(config, OPTIONS), "stress -t 1 --threshold 'nope<3' --threshold 'p99<2s'");
    // An unhandled rejection would fail the test.
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('survives a configuration that is none', () => {
    const config = { threads: { a: 1 }, rpc: 7, durationMs: 'soon', ratePerSecond: [], stages: false, unknown: 1 };
    assert.equal(typeof commandLine(config, OPTIONS), 'string');
    assert.ok(settingsOf(config, OPTIONS).every(({ text }) => typeof text === 'string'));
  });
});
