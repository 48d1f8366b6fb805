/** Whatever is in the files that we are given: a value comes of it, or one line that says what is wrong. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { Wallet, getAddress } from 'ethers';
import fc from 'fast-check';
import { funderWallet, keyFileSource, mnemonicSource } from '../../src/chain/keys.js';
import { readInvocation } from '../../src/cli/config.js';
import { OPTIONS } from '../../src/cli/options.js';
import { readContractsFile } from '../../src/workloads/counter.js';
import { anyJson, assertHides, fuzz, key, keyDigits, mnemonic, nonsense, outcomeOf, secret } from './inputs.js';

/** @typedef {{content: string | Uint8Array, secrets: string[]}} Content */

const folder = mkdtempSync(join(tmpdir(), 'stress-fuzz-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const FILE = join(folder, 'given');

const BYTE_ORDER_MARK = '\ufeff';

/** Files that mean nothing. @type {fc.Arbitrary<Content>} */
const anything = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((content) => ({ content, secrets: [] })),
  nonsense.map((content) => ({ content, secrets: [] })),
  anyJson.map((json) => ({ content: JSON.stringify(json), secrets: [] })),
  fc.nat(20_000).map((depth) => ({ content: '['.repeat(depth), secrets: [] })),
  fc.nat(20_000).map((depth) => ({ content: `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`, secrets: [] })),
);

/** @param {unknown} json @param {{broken: number, bom: boolean}} how broken: JSON that ends too early */
function jsonText(json, { broken, bom }) {
  const text = JSON.stringify(json, null, broken % 3);
  return (bom ? BYTE_ORDER_MARK : '') + (broken < 8 ? text : text.slice(0, (text.length * broken) / 24));
}

const how = fc.record({ broken: fc.nat(23), bom: fc.boolean() });

/** Keys in one of the forms that there are, or nearly. @type {fc.Arbitrary<Content>} */
const keyFile = fc
  .record({
    keys: fc.array(key, { minLength: 1, maxLength: 6 }),
    junk: fc.array(fc.oneof(nonsense, anyJson), { maxLength: 2 }),
    form: fc.constantFrom('strings', 'objects', 'lines', 'lines with comments', 'one object', 'twice'),
    newline: fc.constantFrom('\n', '\r\n', '\r', '\u2028', ' ', ','),
    how,
  })
  .map(({ keys, junk, form, newline, how: given }) => {
    const texts = keys.map(({ text }) => text);
    const secrets = keys.flatMap((one) => one.secrets);
    /** @type {Record<string, unknown>} */
    const forms = {
      strings: [...texts, ...junk],
      twice: [...texts, ...texts],
      objects: [...texts.map((privateKey) => ({ privateKey })), ...junk.map((privateKey) => ({ privateKey }))],
      'one object': { keys: texts, junk },
    };
    const json = forms[form];
    if (json !== undefined) return { content: jsonText(json, given), secrets };
    const lines = form === 'lines' ? texts : texts.flatMap((text) => [`# ${text}`, '', text, ...junk.map(String)]);
    return { content: (given.bom ? BYTE_ORDER_MARK : '') + lines.join(newline), secrets };
  });

/** @param {string | Uint8Array} content */
function write(content) {
  writeFileSync(FILE, content, { mode: 0o600 });
}

describe('fuzz: files', () => {
  test('key files', (t) =>
    fuzz(t, { input: fc.oneof(keyFile, keyFile, keyFile, anything), runs: 500 }, async ({ content, secrets }) => {
      write(content);
      const { value: source, said } = await outcomeOf(() => keyFileSource(FILE));
      assertHides(said, secrets);
      if (source === undefined) return;
      assert.ok(source.size >= 1);
      const last = source.wallet(source.size - 1);
      assert.match(last.address, /^0x[0-9a-fA-F]{40}$/);
      assertHides(JSON.stringify(last) + String(last) + source.name, secrets);
    }));

  test('a file with very many keys, the last of which is none', async () => {
    const digits = Array.from({ length: 100_000 }, (_, i) => (i + 1).toString(16).padStart(64, '0'));
    write([...digits, `${'ab'.repeat(31)}-c`].join('\n'));
    const { said } = await outcomeOf(() => keyFileSource(FILE));
    assert.match(said, /line 100001: not a private key/);
    assertHides(said, ['ab'.repeat(31)]);
  });

  test("the funder's key, or the file with it", (t) => {
    const input = fc.oneof(
      key.map(({ text, secrets }) => ({ given: text, content: '', secrets })),
      secret.map(({ text, secrets }) => ({ given: text, content: '', secrets })),
      nonsense.map((given) => ({ given, content: '', secrets: [] })),
      keyFile.map((file) => ({ given: FILE, ...file })),
    );
    return fuzz(t, { input, runs: 250 }, async ({ given, content, secrets }) => {
      write(content);
      const { value, said } = await outcomeOf(() => funderWallet(given));
      assertHides(said + JSON.stringify(value ?? ''), secrets);
    });
  });

  test('a key is the same in whatever form it stands in a file', (t) =>
    fuzz(t, { input: keyDigits, runs: 30 }, (digits) => {
      const { address } = new Wallet(`0x${digits}`);
      const forms = [digits, `0x${digits.toUpperCase()}`, JSON.stringify([digits]), `#\r\n  ${digits}\t\r\n`];
      for (const form of forms) {
        write(form);
        assert.equal(keyFileSource(FILE).wallet(0).address, address);
      }
    }));

  test('mnemonics', (t) => {
    const input = fc.record({
      words: fc.oneof(mnemonic, mnemonic, secret, fc.record({ text: nonsense, secrets: fc.constant([]) })),
      path: fc.constantFrom(undefined, "m/44'/60'/0'/0", 'm', "m/2147483647'"),
      space: fc.constantFrom(' ', '  ', '\t', '\n', '\u00a0', '-'),
    });
    return fuzz(t, { input, runs: 250 }, async ({ words: { text, secrets }, path, space }) => {
      const { value, said } = await outcomeOf(() => mnemonicSource(text.replaceAll(' ', space), path).wallet(7));
      assertHides(said + JSON.stringify(value ?? ''), secrets);
    });
  });

  test('config files', (t) => {
    const names = fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(...OPTIONS.map(({ name }) => name)) },
      { weight: 1, arbitrary: nonsense },
    );
    const values = fc.oneof(
      fc.constantFrom('1', 1, '30s', true, false, 'http://127.0.0.1:1', ['p99<2s', 'tps>1']),
      nonsense,
      anyJson,
    );
    /** @type {fc.Arbitrary<Content>} */
    const nearly = fc
      .record({
        pairs: fc.array(fc.tuple(names, values), { maxLength: 6 }),
        hidden: secret,
        place: fc.constantFrom('name', 'keys', 'mnemonic', 'fund-from', 'rpc', 'threads', 'out', 'hd-path', 'to'),
        how,
      })
      .map(({ pairs, hidden: { text, secrets }, place, how: given }) => {
        const json = Object.fromEntries([...pairs, place === 'name' ? [text, 1] : [place, text]]);
        return { content: jsonText({ threads: 5, ...json }, given), secrets };
      });
    const input = fc.oneof(nearly, nearly, nearly, anything);
    return fuzz(t, { input, runs: 500 }, async ({ content, secrets }) => {
      write(content);
      const { error, said } = await outcomeOf(() => readInvocation(['--config', FILE], {}, '1.2.3'));
      assertHides(said, secrets);
      assert.ok(error === null || [64, 65].includes(error.exitCode), said);
    });
  });

  test('contracts files', (t) => {
    const hash = `0x${'1'.repeat(64)}`;
    const address = fc.stringMatching(/^0x[0-9a-f]{40}$/).map((text) => getAddress(text));
    const member = fc.oneof(
      address,
      nonsense,
      anyJson,
      key.map(({ text }) => text),
    );
    const nearly = fc
      .record({
        schema: fc.oneof(fc.constant('evm-stress/contracts@1'), anyJson),
        genesisHash: fc.oneof(fc.constant(hash), anyJson),
        chainId: anyJson,
        contracts: fc.oneof(
          fc.array(fc.tuple(member.map(String), member), { maxLength: 4 }).map((pairs) => Object.fromEntries(pairs)),
          fc.dictionary(address, address, { maxKeys: 4 }),
          anyJson,
        ),
        how,
      })
      .map(({ how: given, ...json }) => ({ content: jsonText(json, given), secrets: [] }));
    const input = fc.oneof(nearly, nearly, nearly, anything);
    return fuzz(t, { input, runs: 400 }, async ({ content }) => {
      write(content);
      const { value } = await outcomeOf(() => readContractsFile(FILE));
      for (const [wallet, contract] of Object.entries(value?.contracts ?? {})) {
        assert.equal(getAddress(wallet), wallet);
        assert.match(contract, /^0x[0-9a-fA-F]{40}$/);
      }
    });
  });
});
