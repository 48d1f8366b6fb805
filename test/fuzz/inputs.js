/**
 * What the properties of test/fuzz/ share: many inputs from a fixed seed, what must hold for each of them, and secrets
 * to hide in them. STRESS_FUZZ_SEED and STRESS_FUZZ_RUNS (of each property) are for longer hunts.
 */
import assert from 'node:assert/strict';
import { wordlists } from 'ethers';
import fc from 'fast-check';
import { EXIT, StressError } from '../../src/errors.js';

/** @import { TestContext } from 'node:test' */

/** The same inputs each time, unless asked otherwise. */
const SEED = 20_240_229;

/** Longest message in characters. */
const LONGEST_MESSAGE = 1600;

/** How much of a secret may be seen: less than this, in characters, and fewer words than this. */
const PIECE_CHARS = 16;
const PIECE_WORDS = 4;

/**
 * @template T
 * @param {TestContext} t
 * @param {{input: fc.Arbitrary<T>, runs: number, seconds?: number}} options runs unless the environment says how many;
 *   seconds: the longest that one input may take
 * @param {(input: T) => unknown} check throws where something is wrong
 */
export async function fuzz(t, { input, runs, seconds = 2 }, check) {
  const seed = Number(process.env.STRESS_FUZZ_SEED ?? SEED);
  const numRuns = Number(process.env.STRESS_FUZZ_RUNS ?? runs);
  let inputs = 0;
  const property = fc.asyncProperty(input, async (value) => {
    inputs += 1;
    const startedMs = performance.now();
    await check(value);
    const tookMs = performance.now() - startedMs;
    assert.ok(tookMs < seconds * 1000, `it took ${Math.round(tookMs)} ms`);
  });
  // A run that hangs, and not only one that is slow, must end, too.
  await fc.assert(property, { seed, numRuns, timeout: seconds * 5000, includeErrorInReport: true });
  t.diagnostic(`${inputs} inputs, seed ${seed}`);
}

/**
 * @typedef {object} Outcome
 * @property {any} value what came back, if anything did
 * @property {StressError | null} error
 * @property {string} said its message
 */

/**
 * Either a value comes back, or an error of ours that says in one line what is wrong.
 * @param {() => unknown} action
 * @returns {Promise<Outcome>}
 */
export async function outcomeOf(action) {
  try {
    return { value: await action(), error: null, said: '' };
  } catch (error) {
    if (!(error instanceof StressError)) throw error;
    assertOneLine(error.message);
    assert.ok(Object.values(EXIT).includes(/** @type {any} */ (error.exitCode)), `exit code ${error.exitCode}`);
    assert.notEqual(error.exitCode, EXIT.internal, error.message);
    return { value: undefined, error, said: error.message };
  }
}

/** @param {string} message */
export function assertOneLine(message) {
  assert.doesNotMatch(message, /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/, `control characters in ${escape(message)}`);
  assert.ok(message.length > 0 && message.length <= LONGEST_MESSAGE, `${message.length} characters`);
  assert.doesNotMatch(message, /\bat .*[/(]\S*:\d+:\d+|(?<!got )undefined|\[object |bug of stress/, message);
}

/** @param {string} said @param {readonly string[]} secrets */
export function assertHides(said, secrets) {
  const text = said.toLowerCase();
  for (const secret of secrets) {
    const words = secret.trim().split(/\s+/);
    const pieces =
      words.length >= 12
        ? words.slice(PIECE_WORDS - 1).map((_, i) => words.slice(i, i + PIECE_WORDS).join(' '))
        : Array.from({ length: Math.max(0, secret.length - PIECE_CHARS + 1) }, (_, i) =>
            secret.slice(i, i + PIECE_CHARS),
          );
    for (const piece of pieces)
      assert.ok(!text.includes(piece.toLowerCase()), `${escape(piece)} is shown: ${escape(said)}`);
  }
}

/** @param {string} text */
function escape(text) {
  return JSON.stringify(text.length > 2000 ? `${text.slice(0, 2000)}...` : text);
}

/** @param {string} characters @param {number} length */
function textOf(characters, length) {
  return fc.string({ unit: fc.constantFrom(...characters), minLength: length, maxLength: length });
}

const HEX = '0123456789abcdef';
const LETTERS_AND_DIGITS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

/** 64 hexadecimal digits: hardly ever no key. */
export const keyDigits = textOf(HEX, 64);

/** A key as people write it, or with one character that is wrong. What is to be hidden is what is right of it. */
export const key = fc
  .record({
    digits: keyDigits,
    prefix: fc.constantFrom('', '0x', '0X'),
    upper: fc.boolean(),
    at: fc.nat(63),
    wrong: fc.constantFrom('', '', '', 'g', 'z', '-', '.', '_', '"', '\u00e9', '\u0000', '%', '+', ' '),
  })
  .map(({ digits, prefix, upper, at, wrong }) => {
    const whole = upper ? digits.toUpperCase() : digits;
    const broken = wrong === '' ? whole : whole.slice(0, at) + wrong + whole.slice(at + 1);
    return { text: prefix + broken, secrets: wrong === '' ? [whole] : [whole.slice(0, at), whole.slice(at + 1)] };
  });

const WORDS = wordlists.en;

/** Twelve words of the list, whose checksum hardly ever matches. */
export const mnemonic = fc
  .array(fc.nat(2047), { minLength: 12, maxLength: 24 })
  .map((indexes) => indexes.map((i) => WORDS.getWord(i)).join(' '))
  .map((text) => ({ text, secrets: [text] }));

/** URLs of providers: a user, a password, a token in the path and a key in the query. */
export const secretUrl = fc
  .record({
    scheme: fc.constantFrom('http', 'https', 'ws', 'wss', 'ftp', 'htp', ''),
    user: textOf(LETTERS_AND_DIGITS, 20),
    password: textOf(LETTERS_AND_DIGITS, 24),
    token: textOf(HEX, 32),
    apiKey: textOf(LETTERS_AND_DIGITS, 36),
    host: fc.constantFrom('127.0.0.1:1', 'node.example', '[::1]:1', 'a b', ''),
  })
  .map(({ scheme, user, password, token, apiKey, host }) => ({
    text: `${scheme}://${user}:${password}@${host}/v3/${token}?apikey=${apiKey}`,
    secrets: [user, password, token, apiKey],
  }));

/** @typedef {{text: string, secrets: string[]}} Secret */

/** @type {fc.Arbitrary<Secret>} */
export const secret = fc.oneof(key, mnemonic, secretUrl);

/** Text that means nothing, of all that a terminal, a file or an endpoint may hold. */
export const nonsense = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.constantFrom('', ' ', '-', '--', '=', '0', '-0', '1e999', 'NaN', 'Infinity', 'null', 'true', '[]', '{}', '\u0000'),
  fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty', '\u001b[2J\u001b[31m', '\u202e', '\ud800'),
  fc.bigInt().map(String),
  fc.double().map(String),
  fc.integer().map(String),
  fc.nat(300).map((count) => '9'.repeat(count)),
);

/** Any JSON, also with names that objects inherit. */
export const anyJson = fc.jsonValue({ maxDepth: 4 });
