import { createHmac, pbkdf2Sync } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { validateMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import { getAddress } from 'ethers/address';
import { keccak256 } from 'ethers/crypto';
import { createKeccak } from 'hash-wasm';
import { InputError, UsageError, displayName, errnoWords } from '../errors.js';
import { encodeCall, signTransaction } from './transaction.js';
import { counted } from '../text.js';

/**
 * @import * as Contract from '../contracts/chain.d.ts'
 * @import { Call, KeySource, Signature, Signer, Transaction, WalletState } from '../contracts/chain.d.ts'
 *
 * @typedef {typeof import('secp256k1')} NativeLibrary
 * @typedef {typeof import('tiny-secp256k1')} WasmLibrary
 */

/**
 * Private keys: the secp256k1 curve, wallets, mnemonics and key files. libsecp256k1 is used as native code or, on
 * platforms without a binary, as WebAssembly, which takes twice as long to sign; ethers takes seven times as long. BIP-32
 * is implemented here because ethers needs 0.1 s for the first key.
 *
 * @typedef {object} Curve
 * @property {Signer['name']} name the package, as the run file states it
 * @property {(digest: Uint8Array, privateKey: Uint8Array) => Signature} sign
 * @property {(privateKey: Uint8Array) => string} addressOf with its checksum (EIP-55)
 * @property {(parent: ExtendedKey) => (index: number) => ExtendedKey} childrenOf from index 2^31 on they are hardened
 *
 * @typedef {object} ExtendedKey a key of BIP-32
 * @property {Uint8Array} privateKey
 * @property {Uint8Array} chainCode
 */

const HARDENED = 2 ** 31;

/** The libraries are loaded on first use: WebAssembly takes 30 ms. */
const require = createRequire(import.meta.url);

/** @returns {Curve} */
export function createCurve() {
  return createNativeCurve() ?? createWasmCurve();
}

/** @returns {Curve | null} null on platforms without a binary */
export function createNativeCurve() {
  /** @type {NativeLibrary} */
  let library;
  try {
    // The package's main module would fall back to slow JavaScript; its bindings fail instead.
    library = require('secp256k1/bindings.js');
  } catch {
    return null;
  }
  return {
    name: 'secp256k1',
    sign: (digest, privateKey) => {
      const { signature, recid } = library.ecdsaSign(digest, privateKey);
      return toSignature(signature, recid);
    },
    ...keysOf(
      (privateKey, isCompressed) => library.publicKeyCreate(privateKey, isCompressed),
      (privateKey, tweak) => library.privateKeyTweakAdd(privateKey, tweak),
    ),
  };
}

/** @returns {Curve} */
export function createWasmCurve() {
  /** @type {WasmLibrary} */
  const library = require('tiny-secp256k1');
  return {
    name: 'tiny-secp256k1',
    sign: (digest, privateKey) => {
      const { signature, recoveryId } = library.signRecoverable(digest, privateKey);
      return toSignature(signature, recoveryId);
    },
    ...keysOf(
      (privateKey, isCompressed) => library.pointFromScalar(privateKey, isCompressed),
      (privateKey, tweak) => library.privateAdd(privateKey, tweak),
    ),
  };
}

/** ethers hashes with it as well from now on: an address has two hashes, one for its checksum. @returns {Promise<void>} */
export async function registerKeccak() {
  const hasher = await createKeccak(256);
  keccak256.register((bytes) => hasher.init().update(bytes).digest('binary'));
}

/**
 * Keccak-256 in WebAssembly takes a twelfth of the time of ethers'.
 * @param {Curve} [curve]
 * @returns {Promise<Signer>}
 */
export async function createSigner({ name, sign } = createCurve()) {
  const hasher = await createKeccak(256);
  return {
    name,
    sign,
    keccak256: (bytes) => hasher.init().update(bytes).digest('binary'),
    keccak256Hex: (bytes) => hasher.init().update(bytes).digest('hex'),
  };
}

/** @param {Uint8Array} bytes r and s @param {number} yParity @returns {Signature} */
function toSignature(bytes, yParity) {
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, 64).toString('hex');
  return { r: hex.slice(0, 64), s: hex.slice(64), yParity };
}

/**
 * @param {(privateKey: Uint8Array, isCompressed: boolean) => Uint8Array | null} publicKeyOf
 * @param {(privateKey: Uint8Array, tweak: Uint8Array) => Uint8Array | null} add modulo the order of the curve; may
 *   overwrite the key
 * @returns {Pick<Curve, 'addressOf' | 'childrenOf'>}
 */
function keysOf(publicKeyOf, add) {
  /** @param {Uint8Array} privateKey @param {boolean} isCompressed */
  const pointOf = (privateKey, isCompressed) => {
    const point = publicKeyOf(privateKey, isCompressed);
    if (point === null) throw new Error('not a private key');
    return point;
  };
  return {
    // The last 20 bytes of the hash of the point without its prefix byte (Ethereum Yellow Paper, appendix F).
    addressOf: (privateKey) => getAddress(`0x${keccak256(pointOf(privateKey, false).subarray(1)).slice(-40)}`),
    childrenOf: ({ privateKey, chainCode }) => {
      const point = pointOf(privateKey, true);
      const secret = Buffer.concat([Buffer.alloc(1), privateKey]);
      // CKDpriv of BIP-32: the left half of the HMAC is added to the parent's key.
      return (index) => {
        const number = Buffer.alloc(4);
        number.writeUInt32BE(index);
        const hmac = createHmac('sha512', chainCode).update(index < HARDENED ? point : secret);
        const mac = hmac.update(number).digest();
        const child = add(Buffer.from(privateKey), mac.subarray(0, 32));
        // Such an index has a probability of 2^-127.
        if (child === null) throw new Error(`the extended key has no child ${index}`);
        return { privateKey: child, chainCode: mac.subarray(32) };
      };
    },
  };
}

/**
 * @param {Curve} curve
 * @param {Uint8Array} seed of BIP-39
 * @param {string} path such as m/44'/60'/0'/0
 * @returns {ExtendedKey}
 */
export function extendedKeyOf(curve, seed, path) {
  const mac = createHmac('sha512', 'Bitcoin seed').update(seed).digest();
  /** @type {ExtendedKey} */
  let key = { privateKey: mac.subarray(0, 32), chainCode: mac.subarray(32) };
  for (const part of path.split('/').slice(1))
    key = curve.childrenOf(key)(Number.parseInt(part, 10) + (part.endsWith("'") ? HARDENED : 0));
  return key;
}

/** The public mnemonic of hardhat and anvil, for development chains only. */
export const DEV_MNEMONIC = 'test test test test test test test test test test test junk';

/** The index of the funder, which is no wallet of the load. */
const FUNDER = -1;

/** @param {Pick<Contract.Wallet, 'index'>} wallet */
export function isFunder({ index }) {
  return index === FUNDER;
}

/** BIP-44 with Ethereum's coin type; the wallet's index is appended. */
export const DEFAULT_HD_PATH = "m/44'/60'/0'/0";

const BYTE_ORDER_MARK = /^\uFEFF/;

/** The order of the secp256k1 group (SEC 2, section 2.4.1): private keys are below it and above 0. */
const SECP256K1_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/**
 * A key, its address and its next nonce. The key is private to the class, so it cannot be logged by mistake.
 * @implements {Contract.Wallet}
 */
export class Wallet {
  /** @type {Buffer} */
  #privateKey;
  /** The call signed last, and its encoding: most workloads repeat the same call. @type {Call | null} */
  #call = null;
  #encodedCall = '';

  /**
   * @param {number} index
   * @param {string} privateKey
   * @param {string} [address] saves a curve multiplication where it is known
   */
  constructor(index, privateKey, address) {
    this.index = index;
    this.#privateKey = Buffer.from(privateKey.slice(2), 'hex');
    this.address = address ?? createCurve().addressOf(this.#privateKey);
    /** The nonce of the next transaction. */
    this.nonce = 0;
  }

  /** A wallet for plain calls, which cannot sign. @param {number} index */
  static withoutKey(index) {
    return new Wallet(index, '0x', '');
  }

  /** Contains the key: for worker threads only. */
  toState() {
    return {
      index: this.index,
      address: this.address,
      nonce: this.nonce,
      privateKey: Uint8Array.from(this.#privateKey),
    };
  }

  /** @param {WalletState} state */
  static fromState({ index, address, nonce, privateKey }) {
    const wallet = new Wallet(index, toHexKey(privateKey), address);
    wallet.nonce = nonce;
    return wallet;
  }

  /** For calls that are repeated: the encoded call is kept. @param {Transaction} transaction @param {Signer} signer */
  sign(transaction, signer) {
    if (transaction.call !== this.#call) {
      this.#call = transaction.call;
      this.#encodedCall = encodeCall(transaction.call);
    }
    return signTransaction(transaction, this.#encodedCall, this.#privateKey, signer);
  }

  /** Signature of a text (EIP-191). @param {string} text @param {Signer} signer @returns {string} r, s and v in base64 */
  signText(text, signer) {
    const { r, s, yParity } = signer.sign(signer.keccak256(prefixed(text)), this.#privateKey);
    return Buffer.from(`${r}${s}${yParity === 0 ? '1b' : '1c'}`, 'hex').toString('base64');
  }

  /** For a call that is not repeated. @param {Transaction} transaction @param {Signer} signer */
  signOnce(transaction, signer) {
    return signTransaction(transaction, encodeCall(transaction.call), this.#privateKey, signer);
  }
}

/**
 * @param {string} phrase
 * @param {string} [path]
 * @returns {KeySource}
 * @throws {UsageError} the message does not contain the phrase
 */
export function mnemonicSource(phrase, path = DEFAULT_HD_PATH) {
  const words = phrase.trim().split(/\s+/);
  if (![12, 15, 18, 21, 24].includes(words.length)) {
    throw new UsageError(`the mnemonic has ${words.length} words: give 12, 15, 18, 21 or 24`);
  }
  const mnemonic = words.join(' ').toLowerCase().normalize('NFKD');
  if (!validateMnemonic(mnemonic, wordlist)) {
    throw new UsageError(
      'the mnemonic is not valid: a word is not in the English BIP-39 list, or the checksum does not match',
    );
  }
  const curve = createCurve();
  // BIP-39, without a passphrase.
  const seed = pbkdf2Sync(mnemonic, 'mnemonic', 2048, 64, 'sha512');
  const child = curve.childrenOf(extendedKeyOf(curve, seed, path));
  return {
    name: 'the mnemonic',
    size: 2 ** 31,
    wallet: (index) => {
      const { privateKey } = child(index);
      return new Wallet(index, toHexKey(privateKey), curve.addressOf(privateKey));
    },
  };
}

/**
 * Reads a JSON array of keys or of objects with privateKey, or a text file with one key per line ('#' starts a comment).
 * @param {string} file
 * @returns {KeySource}
 * @throws {InputError} the message names the entry and does not contain it
 */
export function keyFileSource(file) {
  const name = displayName(file);
  let text;
  try {
    text = readFileSync(file, 'utf8').replace(BYTE_ORDER_MARK, '');
  } catch (error) {
    throw new InputError(`cannot read the key file ${name}: ${errnoWords(error)}`);
  }
  const keys = parseKeys(text, name);
  const curve = createCurve();
  const addressOf = (/** @type {string} */ key) => curve.addressOf(Buffer.from(key.slice(2), 'hex'));
  return { name, size: keys.length, wallet: (index) => new Wallet(index, keys[index], addressOf(keys[index])) };
}

const KEY_FILES = 'a key file has one private key a line, or is a JSON array of keys, or of objects with privateKey';

/** What a JSON object in place of keys is. @param {string} text */
function objectWords(text) {
  if (!/"crypto"/i.test(text)) return 'a JSON object';
  return "an encrypted keystore, as geth and foundry write them, which is not read ('cast wallet decrypt-keystore' prints its key)";
}

/** @param {string} text @param {string} file @returns {string[]} */
function parseKeys(text, file) {
  if (text.trimStart().startsWith('{')) throw new InputError(`${file} is ${objectWords(text)}: ${KEY_FILES}`);
  const entries = text.trimStart().startsWith('[')
    ? jsonEntries(text, file)
    : text.split(/\r?\n/).flatMap((line, i) => {
        const value = line.trim();
        return value === '' || value.startsWith('#') ? [] : [{ value, where: `line ${i + 1}` }];
      });
  if (entries.length === 0) throw new InputError(`${file} holds no key`);
  /** @type {Map<string, string>} */
  const seen = new Map();
  return entries.map(({ value, where }) => {
    const key = normalizeKey(value);
    if (key === null)
      throw new InputError(`${file}, ${where}: not a private key: expected 64 hexadecimal digits, with or without 0x`);
    const earlier = seen.get(key);
    if (earlier !== undefined) throw new InputError(`${file}, ${where}: the same key as ${earlier}`);
    seen.set(key, where);
    return key;
  });
}

/** @param {string} text @param {string} file @returns {Array<{value: unknown, where: string}>} */
function jsonEntries(text, file) {
  let array;
  try {
    array = JSON.parse(text);
  } catch {
    // The parser's message quotes the text at the error, which may be a key.
    throw new InputError(`${file} starts like a JSON array but is not valid JSON`);
  }
  return array.map((/** @type {any} */ entry, /** @type {number} */ i) => ({
    value: typeof entry === 'string' ? entry.trim() : entry?.privateKey,
    where: `entry ${i + 1}`,
  }));
}

/** @param {unknown} value @returns {string | null} 0x and 64 lower-case digits; null for anything but a private key */
export function normalizeKey(value) {
  const match = typeof value === 'string' ? /^(?:0x)?([0-9a-f]{64})$/i.exec(value) : null;
  if (match === null) return null;
  const key = `0x${match[1].toLowerCase()}`;
  const number = BigInt(key);
  return number > 0n && number < SECP256K1_ORDER ? key : null;
}

/** @param {string} value a key, or the name of a file with exactly one @returns {Contract.Wallet} */
export function funderWallet(value) {
  const key = normalizeKey(value.trim());
  if (key !== null) return new Wallet(FUNDER, key);
  // The value is not shown: it may be a key with a mistake in it.
  if (displayName(value) !== value || (!/[/.\\]/.test(value) && !existsSync(value)))
    throw new UsageError(
      'STRESS_FUNDER_KEY (or --fund-from) is neither a private key of 64 hexadecimal digits nor the name of a file that exists',
    );
  const source = keyFileSource(value);
  if (source.size !== 1)
    throw new InputError(`${source.name} has ${counted(source.size, 'key')}: give a file with one key`);
  return Wallet.fromState({ ...source.wallet(0).toState(), index: FUNDER });
}

/** @param {Uint8Array} privateKey */
function toHexKey(privateKey) {
  return `0x${Buffer.from(privateKey).toString('hex')}`;
}

/** A text as EIP-191 has it signed. @param {string} text @returns {Uint8Array} */
function prefixed(text) {
  return Buffer.from(`\x19Ethereum Signed Message:\n${Buffer.byteLength(text)}${text}`);
}

/** @param {string} text @returns {(signature: string) => string | null} address in lower case by a signature of the text (EIP-191), in base64; null: it is none */
export function signersOf(text) {
  /** @type {WasmLibrary} */
  const library = require('tiny-secp256k1');
  const digest = Buffer.from(keccak256(prefixed(text)).slice(2), 'hex');
  return (signature) => {
    const bytes = Buffer.from(signature, 'base64');
    if (bytes.length !== 65 || (bytes[64] !== 27 && bytes[64] !== 28)) return null;
    try {
      const point = library.recover(digest, bytes.subarray(0, 64), /** @type {0 | 1} */ (bytes[64] - 27), false);
      return point === null ? null : `0x${keccak256(point.subarray(1)).slice(-40)}`;
    } catch {
      // r or s are above the order of the curve.
      return null;
    }
  };
}
