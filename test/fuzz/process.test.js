/**
 * The same through the program itself: what it prints, how it ends and when. Nothing can be loaded: no server
 * listens at the endpoint.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { Mnemonic } from 'ethers';
import fc from 'fast-check';
import { EXIT } from '../../src/errors.js';
import { spawnStress } from '../helpers/cli.js';
import {
  anyJson,
  assertHides,
  assertOneLine,
  key,
  keyDigits,
  mnemonic,
  nonsense,
  secret,
  secretUrl,
} from './inputs.js';

/** Most of it is the start of a process on a busy machine, in milliseconds. */
const LIMIT_MS = 15_000;
const INPUTS = Number(process.env.STRESS_FUZZ_RUNS ?? 60);
const AT_ONCE = 2;

const root = mkdtempSync(join(tmpdir(), 'stress-fuzz-'));
after(() => rmSync(root, { recursive: true, force: true }));

/** What a process can be given: the system has no way to hand over a zero character. */
const argument = nonsense.map((text) => text.replaceAll(/[\u0000\ud800-\udfff]/g, ''));

const validKey = keyDigits.map((text) => ({ text, secrets: [text] }));
const validMnemonic = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((entropy) => {
  const { phrase } = Mnemonic.fromEntropy(entropy);
  return { text: phrase, secrets: [phrase] };
});

const input = fc.record({
  command: fc.constantFrom([], [], ['fund'], ['reclaim']),
  /** In the files, whose names the words that follow have. */
  keys: fc.oneof(fc.array(key, { minLength: 1, maxLength: 3 }), fc.tuple(validKey), fc.tuple(validKey, validKey)),
  form: fc.constantFrom('lines', 'lines', 'json', 'json', 'cut', 'nothing of the kind'),
  config: fc.oneof(
    ...[fc.constant({}), fc.constant({}), fc.constant({ quiet: false }), anyJson],
    fc.dictionary(fc.constantFrom('rpc', 'out', 'mnemonic', 'keys', 'x'), anyJson),
  ),
  hidden: secret,
  place: fc.constantFrom(
    ...'none none none none --keys --fund-from --mnemonic --out -t --to --config --x'.split(' '),
    '',
  ),
  words: fc.oneof(fc.constant([]), fc.constant([]), fc.array(argument, { maxLength: 2 })),
  wallets: fc.constantFrom('keys', 'mnemonic'),
  url: secretUrl,
  phrase: fc.oneof(mnemonic, validMnemonic, validMnemonic),
  funder: fc.oneof(key, validKey, validKey, validKey),
  debug: fc.boolean(),
});

/** @typedef {typeof input extends fc.Arbitrary<infer T> ? T : never} Input */

/** @param {string} place @param {string} hidden @returns {string[]} */
function wordsOf(place, hidden) {
  if (place === 'none') return [];
  return place === '' ? [hidden] : [place, hidden];
}

/** @param {Input} given @param {string} folder */
async function run(given, folder) {
  mkdirSync(folder);
  const texts = given.keys.map(({ text }) => text);
  const json = JSON.stringify(texts);
  const forms = { lines: texts.join('\n'), json, cut: json.slice(0, -1), 'nothing of the kind': '\u0000\ufffd' };
  writeFileSync(join(folder, 'keys'), forms[/** @type {keyof typeof forms} */ (given.form)], { mode: 0o600 });
  writeFileSync(join(folder, 'config'), JSON.stringify(given.config), { mode: 0o600 });
  const hidden = given.hidden.text.replaceAll('\u0000', '');
  const args = [
    ...given.command,
    ...['-t', '1', '--request-timeout', '500ms', '--config', 'config'],
    ...(given.wallets === 'keys' ? ['--keys', 'keys'] : []),
    ...['--rpc', given.url.text.replace(/^[a-z]*:\/\/(.*)@[^/]*/, 'http://$1@127.0.0.1:1')],
    ...wordsOf(given.place, hidden),
    ...given.words,
  ];
  const env = {
    ...(given.wallets === 'keys' ? {} : { STRESS_MNEMONIC: given.phrase.text }),
    STRESS_FUNDER_KEY: given.funder.text.replaceAll('\u0000', ''),
    ...(given.debug ? { STRESS_LOG_LEVEL: 'debug' } : {}),
  };
  const startedMs = performance.now();
  const result = await spawnStress(args, { env, cwd: folder, timeoutMs: LIMIT_MS }).done;
  return { ...result, tookMs: performance.now() - startedMs };
}

/** @param {Input} given @param {Awaited<ReturnType<typeof run>>} result @param {string} folder */
function check(given, { code, signal, stdout, stderr, tookMs }, folder) {
  const secrets = [...given.keys, given.hidden, given.url, given.phrase, given.funder].flatMap((one) => one.secrets);
  const shown = JSON.stringify({ stdout, stderr });
  assert.equal(signal, null, shown);
  assert.ok(Object.values(EXIT).includes(/** @type {any} */ (code)) && code !== EXIT.internal, `${code}: ${shown}`);
  assertHides(stdout, secrets);
  assertHides(stderr, secrets);
  if (code === EXIT.ok) assert.match(stdout, /stress -t N|stress fund|stress reclaim|^\d+\.\d+\.\d+$/m, shown);
  else {
    const lines = stderr.split('\n');
    assert.equal(lines.pop(), '');
    for (const line of lines) assertOneLine(line);
    assert.match(lines.at(-1) ?? '', /^stress: /, shown);
    const areWarnings = lines.slice(0, -1).every((line) => line.startsWith('WARN: '));
    assert.ok(areWarnings, shown);
    assert.equal(stdout, '');
  }
  assert.deepEqual(readdirSync(folder).sort(), ['config', 'keys'], 'no file is made');
  assert.ok(tookMs < LIMIT_MS);
}

describe('fuzz: the program', () => {
  test(`${INPUTS} starts of it`, async (t) => {
    const seed = Number(process.env.STRESS_FUZZ_SEED ?? 20_240_229);
    const inputs = fc.sample(input, { seed, numRuns: INPUTS });
    /** @type {Map<number | null, number>} */
    const codes = new Map();
    let next = 0;
    const work = async () => {
      for (let i = next++; i < inputs.length; i = next++) {
        const folder = join(root, String(i));
        const result = await run(inputs[i], folder);
        codes.set(result.code, (codes.get(result.code) ?? 0) + 1);
        try {
          check(inputs[i], result, folder);
        } catch (error) {
          throw new Error(`input ${i} of seed ${seed}: ${JSON.stringify(inputs[i])}`, { cause: error });
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    const ends = [...codes].map(([code, count]) => `${count} with ${code}`).join(', ');
    t.diagnostic(`${inputs.length} inputs, seed ${seed}; exit codes: ${ends}`);
  });
});
