import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { HDNodeWallet, computeAddress } from 'ethers';
import {
  DEFAULT_HD_PATH,
  DEV_MNEMONIC,
  Wallet,
  funderWallet,
  keyFileSource,
  mnemonicSource,
  normalizeKey,
} from '../../../src/chain/keys.js';
import { InputError, UsageError } from '../../../src/errors.js';
import { caught } from '../../helpers/caught.js';
import { temporaryFolder } from '../../helpers/temporary.js';

/** @import { TestContext } from 'node:test' */

const A = '1a'.repeat(32);
const B = '2b'.repeat(32);
const ORDER = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141';
const LAST = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140';

it('normalizeKey(): is 64 digits in lower case, with 0x, between zero and the order of the curve; or null', () => {
  for (const key of [`0x${A}`, A, A.toUpperCase(), `0X${A}`]) assert.equal(normalizeKey(key), `0x${A}`);
  for (const key of ['1'.padStart(64, '0'), LAST]) assert.equal(normalizeKey(key), `0x${key}`);
  const others = ['0'.repeat(64), ORDER, 'f'.repeat(64), A.slice(1), `${A}0`, `g${A.slice(1)}`, `${A}\n`, ''];
  for (const other of [...others, '0x', undefined, null, 5, { privateKey: A }]) assert.equal(normalizeKey(other), null);
});

describe('keyFileSource()', () => {
  /** @param {TestContext} t @param {string} text */
  const fileWith = (t, text) => {
    const file = join(temporaryFolder(t), 'keys');
    writeFileSync(file, text);
    return file;
  };

  /** @type {Array<[string, string, string[]]>} */
  const good = [
    ['one key a line', `${A}\n0x${B}\n`, [A, B]],
    ['Windows line ends', `${A}\r\n${B}\r\n`, [A, B]],
    ['comments and empty lines', `# keys\n\n  ${A}  \n# more\n\t${B}\n\n`, [A, B]],
    ['a JSON array of strings', JSON.stringify([`0x${A}`, ` ${B} `]), [A, B]],
    ['a JSON array of objects', JSON.stringify([{ address: 'x', privateKey: A }, { privateKey: `0x${B}` }]), [A, B]],
    [
      'a mixed JSON array, with space and a byte order mark before it',
      `\ufeff\n  ${JSON.stringify([A, { privateKey: B }])}`,
      [A, B],
    ],
    ['a byte order mark before lines', `\ufeff${A}\n${B}`, [A, B]],
  ];
  for (const [name, text, keys] of good) {
    it(`reads ${name}`, (t) => {
      const source = keyFileSource(fileWith(t, text));
      assert.equal(source.size, keys.length);
      keys.forEach((key, index) => {
        const wallet = source.wallet(index);
        assert.equal(wallet.index, index);
        assert.equal(wallet.address, computeAddress(`0x${key}`));
        assert.equal(wallet.nonce, 0);
      });
    });
  }

  /** @type {Array<[string, string, RegExp]>} */
  const bad = [
    ['an empty file', '', /holds no key/],
    ['only comments', '# nothing\n\n', /holds no key/],
    ['a key with a wrong digit', `#\n${A.slice(1)}g\n`, /, line 2: not a private key/],
    ['zero', '0'.repeat(64), /, line 1: not a private key/],
    ['the same key twice', `${A}\n${B}\n${A}`, /, line 3: the same key as line 1$/],
    [
      'the same key in other writing',
      JSON.stringify([A, `0x${A.toUpperCase()}`]),
      /, entry 2: the same key as entry 1$/,
    ],
    ['JSON with a fault', `["${A}", "${B}"`, /not valid JSON/],
    ['JSON of something else', JSON.stringify([A, 5]), /, entry 2: not a private key/],
  ];
  for (const [name, text, message] of bad) {
    it(`refuses ${name} and shows no key`, async (t) => {
      const error = await caught(() => keyFileSource(fileWith(t, text)));
      assert.ok(error instanceof InputError, String(error));
      assert.equal(error.exitCode, 65);
      assert.match(error.message, message);
      assertHidden(error, [A, B]);
    });
  }

  it('says what is wrong with the file itself', async (t) => {
    const folder = temporaryFolder(t);
    const missing = await caught(() => keyFileSource(join(folder, 'nowhere')));
    assert.match(missing.message, /^cannot read the key file .*nowhere: no such file$/);
    const directory = await caught(() => keyFileSource(folder));
    assert.match(directory.message, /: it is a folder$/);
    for (const error of [missing, directory]) assert.ok(error instanceof InputError);
  });
});

describe('mnemonicSource()', () => {
  it('derives wallet i at path/i', () => {
    const source = mnemonicSource(DEV_MNEMONIC);
    for (const index of [0, 1, 9, 1000, 2 ** 31 - 1]) {
      const expected = HDNodeWallet.fromPhrase(DEV_MNEMONIC, undefined, `${DEFAULT_HD_PATH}/${index}`);
      const wallet = source.wallet(index);
      assert.equal(wallet.index, index);
      assert.equal(wallet.address, expected.address);
    }
    assert.equal(source.size, 2 ** 31);
    // What every tool calls the first account of this mnemonic.
    assert.equal(source.wallet(0).address, '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266');
  });

  it('takes another path, and any white space between the words', () => {
    const path = "m/44'/60'/7'";
    const expected = HDNodeWallet.fromPhrase(DEV_MNEMONIC, undefined, `${path}/3`).address;
    assert.equal(mnemonicSource(` ${DEV_MNEMONIC.replaceAll(' ', ' \t\n ')} `, path).wallet(3).address, expected);
  });

  /** @type {Array<[string, string, RegExp]>} */
  const bad = [
    ['11 words', DEV_MNEMONIC.split(' ').slice(1).join(' '), /has 11 words: give 12, 15, 18, 21 or 24/],
    ['a word that is not in the list', DEV_MNEMONIC.replace('junk', 'junkk'), /is not valid/],
    ['a wrong checksum', DEV_MNEMONIC.replace('junk', 'test'), /is not valid/],
  ];
  for (const [name, phrase, message] of bad) {
    it(`refuses ${name} and shows no word`, async () => {
      const error = await caught(() => mnemonicSource(phrase));
      assert.ok(error instanceof UsageError, String(error));
      assert.match(error.message, message);
      assertHidden(error, ['test test', 'junk']);
    });
  }
});

describe('funderWallet()', () => {
  it('takes a key, or a file that holds one', (t) => {
    const file = join(temporaryFolder(t), 'key');
    writeFileSync(file, `# the funder\n${A}\n`);
    for (const value of [A, `0x${A}`, ` ${A}\n`, file]) {
      const { index, address } = funderWallet(value);
      assert.deepEqual([index, address], [-1, computeAddress(`0x${A}`)]);
    }
  });

  it('refuses what is none and shows no key', async (t) => {
    const file = join(temporaryFolder(t), 'keys');
    writeFileSync(file, `${A}\n${B}\n`);
    /** @type {Array<[string, typeof UsageError | typeof InputError, RegExp]>} */
    const table = [
      [A.slice(1), UsageError, /^STRESS_FUNDER_KEY \(or --fund-from\) is neither a private key/],
      [ORDER, UsageError, /^STRESS_FUNDER_KEY \(or --fund-from\) is neither a private key/],
      [file, InputError, /has 2 keys: give a file with one key$/],
      [`${file}.not`, InputError, /: no such file$/],
    ];
    for (const [value, type, message] of table) {
      const error = await caught(() => funderWallet(value));
      assert.ok(error instanceof type, String(error));
      assert.match(error.message, message);
      assertHidden(error, [A, B, A.slice(1)]);
    }
  });
});

describe('Wallet', () => {
  it('does not show its key', () => {
    const key = `0x${A}`;
    const wallet = new Wallet(3, key);
    const shown = [
      ...[JSON.stringify(wallet), String(wallet), inspect(wallet, { showHidden: true, depth: 10, getters: true })],
      ...[inspect({ wallets: [wallet] }, { depth: 10 }), inspect(wallet.sign), JSON.stringify({ ...wallet })],
      ...Reflect.ownKeys(wallet).map((name) => inspect(Reflect.get(wallet, name))),
    ];
    for (const text of shown) assertHidden(new Error(text), [A, inspect(Buffer.from(A, 'hex')).slice(8, 30)]);
    assert.deepEqual(JSON.parse(JSON.stringify(wallet)), { index: 3, address: computeAddress(key), nonce: 0 });
  });

  it('believes an address that is known already', () =>
    assert.equal(new Wallet(0, `0x${A}`, '0xabc').address, '0xabc'));
});

/** @param {Error} error @param {string[]} secrets */
function assertHidden(error, secrets) {
  const text = `${error.message}\n${error.stack}\n${inspect(error, { depth: 10 })}`.toLowerCase();
  for (const secret of secrets) assert.ok(!text.includes(secret.toLowerCase()), 'it shows a secret');
}
