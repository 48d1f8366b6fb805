/** Whatever is typed, or stands in the environment: a Config comes of it, or one line that says what is wrong. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { readInvocation } from '../../src/cli/config.js';
import { COMMANDS, OPTIONS } from '../../src/cli/options.js';
import { assertHides, fuzz, key, mnemonic, nonsense, outcomeOf, secret, secretUrl } from './inputs.js';

/** @import { Secret } from './inputs.js' */

const NAMES = OPTIONS.flatMap(({ name, alias }) => (alias === undefined ? [name] : [name, alias]));

/** Values that some option takes. */
const sensible = fc.constantFrom(
  ...['1', '5', '100', '30s', '250ms', '0.5', '0:100/30s,100/5m', 'p99<2s', 'failed<0.1%', 'counter', 'rpc', 'auto'],
  ...'http://127.0.0.1:1 ws://127.0.0.1:1 127.0.0.1:9464 1gwei - run.json rows.csv true false'.split(' '),
  ...['["0x1", false]', 'eth_blockNumber', "m/44'/60'/0'/0", 'warn', 'uniform', 'poisson', 'undici'],
);

/** @type {fc.Arbitrary<Secret>} */
const value = fc.oneof(
  { weight: 3, arbitrary: sensible.map((text) => ({ text, secrets: [] })) },
  { weight: 3, arbitrary: nonsense.map((text) => ({ text, secrets: [] })) },
  { weight: 3, arbitrary: secret },
);

/** A name with a letter more, less, twice, or in another case. */
const nearName = fc
  .record({ name: fc.constantFrom(...NAMES), at: fc.nat(20), how: fc.constantFrom('drop', 'double', 'upper', 'add') })
  .map(({ name, at, how }) => {
    const i = at % name.length;
    if (how === 'drop') return name.slice(0, i) + name.slice(i + 1);
    if (how === 'double') return name.slice(0, i) + name[i] + name.slice(i);
    if (how === 'upper') return name.slice(0, i) + name[i].toUpperCase() + name.slice(i + 1);
    return `${name.slice(0, i)}x${name.slice(i)}`;
  });

const option = fc
  .record({
    name: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...NAMES).map((text) => ({ text, secrets: [] })) },
      { weight: 2, arbitrary: nearName.map((text) => ({ text, secrets: [] })) },
      { weight: 1, arbitrary: nonsense.map((text) => ({ text, secrets: [] })) },
      { weight: 1, arbitrary: secret },
    ),
    given: value,
    form: fc.constantFrom('--name value', '--name=value', '--name', '-name', '-namevalue', '--name=', '--no-name'),
  })
  .map(({ name, given, form }) => ({
    words: form.split(' ').map((word) => word.replace('name', () => name.text).replace('value', () => given.text)),
    secrets: [...name.secrets, ...(form.includes('value') ? given.secrets : [])],
  }));

const command = fc.constantFrom(...Object.keys(COMMANDS)).map((word) => ({ words: [word], secrets: [] }));

const argv = fc
  .array(
    fc.oneof(
      { weight: 5, arbitrary: option },
      { weight: 1, arbitrary: value.map(({ text, secrets }) => ({ words: [text], secrets })) },
      { weight: 1, arbitrary: command },
      { weight: 2, arbitrary: fc.constant({ words: ['-t', '5'], secrets: [] }) },
    ),
    { maxLength: 8 },
  )
  .map((parts) => ({ words: parts.flatMap(({ words }) => words), secrets: parts.flatMap(({ secrets }) => secrets) }));

/** @param {string[]} words @param {NodeJS.ProcessEnv} [env] */
async function read(words, env = {}) {
  const outcome = await outcomeOf(() => readInvocation(words, env, '1.2.3'));
  if (outcome.error !== null) assert.ok([64, 65].includes(outcome.error.exitCode), outcome.said);
  return outcome;
}

describe('fuzz: the command line', () => {
  test('any words', (t) =>
    fuzz(t, { input: argv, runs: 500 }, async ({ words, secrets }) => {
      const { value, said } = await read(words);
      assertHides(said, secrets);
      for (const warning of value?.warnings ?? []) assertHides(warning, secrets);
    }));

  test('each option with any value, behind words that make sense', (t) => {
    const input = fc.record({ option: fc.constantFrom(...OPTIONS), given: value, twice: fc.boolean() });
    return fuzz(t, { input, runs: 800 }, async ({ option: { name, commands }, given: { text, secrets }, twice }) => {
      const command = commands[0] === 'run' ? [] : [commands[0]];
      const words = [...command, '-t', '5', '-d', '1s', '--rpc', 'http://127.0.0.1:1', `--${name}=${text}`];
      const { said } = await read(twice ? [...words, `--${name}=${text}`] : words);
      assertHides(said, secrets);
    });
  });

  test('each option in the environment', (t) => {
    const input = fc.array(fc.tuple(fc.constantFrom(...OPTIONS), value), { maxLength: 5 });
    return fuzz(t, { input, runs: 300 }, async (pairs) => {
      const env = Object.fromEntries(pairs.map(([one, { text }]) => [one.variable, text]));
      const { said } = await read(['-t', '5'], env);
      const secrets = pairs.flatMap(([, one]) => one.secrets);
      assertHides(said, secrets);
    });
  });

  test('thresholds and stages that are nearly right', (t) => {
    const piece = fc.constantFrom(
      ...'p99 p99.99999 p0 p100 tps failed failed. submit.p95 submit. max . < <= > == != = 1 0.0000001'.split(' '),
      ...'1e9 2s ms % MB -1 , / : 0:100 30s 5m 999999999999999999999999 NaN \u0000 __proto__ constructor'.split(' '),
      ' ',
    );
    const input = fc.record({
      name: fc.constantFrom('threshold', 'stages'),
      text: fc.oneof(
        fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join('')),
        fc.stringMatching(/^p\d{1,3}(\.\d{1,9})?(<|>|<=|=)\d{1,30}(\.\d{1,30})?(us|ms|s|m|%|h)?$/),
        fc.stringMatching(/^(\d{1,9}:)?\d{1,30}\/\d{1,12}(ms|s|m|h)(,\d{1,7}\/\d{1,4}s){0,5}$/),
      ),
    });
    return fuzz(t, { input, runs: 500 }, ({ name, text }) => read(['-t', '5', `--${name}=${text}`]));
  });

  test('what the run file states of options that carry secrets', (t) => {
    const input = fc.record({ key, mnemonic, rpc: secretUrl, page: secretUrl });
    return fuzz(t, { input, runs: 200 }, async (given) => {
      const words = ['-t', '5', `--rpc=${given.rpc.text}`, `--node-metrics=${given.page.text}`];
      const env = { STRESS_MNEMONIC: given.mnemonic.text, STRESS_FUNDER_KEY: given.key.text };
      const { value: invocation, said } = await read(words, env);
      const secrets = Object.values(given).flatMap((one) => one.secrets);
      assertHides(said + JSON.stringify(invocation?.config.outputs.redacted ?? ''), secrets);
    });
  });
});
