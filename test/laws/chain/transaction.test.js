/** The encoder is our own, so it is held to ethers' bytes, with both signers. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SigningKey, Transaction, decodeRlp, encodeRlp, getAddress, hashAuthorization } from 'ethers';
import fc from 'fast-check';
import { Wallet, createNativeCurve, createSigner, createWasmCurve } from '../../../src/chain/keys.js';
import { encodeCall, encodeSidecar, signAuthorization, signTransaction } from '../../../src/chain/transaction.js';

/** @import { Call, Fee, Signer } from '../../../src/contracts/chain.d.ts' */

/** With short r and s among its signatures. */
const SEED = 8;
/** Of each kind without lists, and with lists. */
const RUNS = 300;
const LIST_RUNS = 80;
const LARGE_RUNS = 3;
const LAST_KEY = '0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140';

const curves = [createNativeCurve(), createWasmCurve()].filter((curve) => curve !== null);
const signers = await Promise.all(curves.map((curve) => createSigner(curve)));

/** @param {number} bytes */
const maxOf = (bytes) => 2n ** BigInt(8 * bytes) - 1n;

/** Where an integer grows by a byte, or its first byte is below 0x10 or not, is where an encoder goes wrong. @param {bigint} max */
const integer = (max) =>
  fc.oneof(
    fc.constantFrom(
      ...[0n, 1n, 15n, 16n, 127n, 128n, 255n, 256n, 4095n, 4096n, 65_535n, 65_536n, 10n ** 18n].filter((n) => n <= max),
    ),
    fc.bigInt({ min: 0n, max }),
    fc.nat({ max: 31 }).map((bytes) => (maxOf(bytes) < max ? maxOf(bytes) + 1n : max)),
  );

const nonces = fc.oneof(
  fc.constantFrom(0, 1, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32, Number.MAX_SAFE_INTEGER - 1),
  fc.nat({ max: 2 ** 31 - 1 }),
);
const chainIds = fc.constantFrom(1, 14, 31_337, 43_112, 1_666_600_000, 2 ** 31, 2 ** 32 + 7, Number.MAX_SAFE_INTEGER);
const addresses = fc.oneof(
  fc.constant(null),
  fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`),
  // As wallets and deployments give them: in mixed case.
  fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => getAddress(`0x${Buffer.from(bytes).toString('hex')}`)),
);
const keys = fc.oneof(
  { weight: 20, arbitrary: fc.bigInt({ min: 1n, max: BigInt(LAST_KEY) }) },
  { weight: 1, arbitrary: fc.constantFrom(1n, 2n, BigInt(LAST_KEY)) },
);

/** @param {fc.Arbitrary<Uint8Array>} bytes */
const dataFrom = (bytes) => bytes.map((array) => `0x${Buffer.from(array).toString('hex')}`);
const data = dataFrom(
  fc.oneof(
    fc.integer({ min: 0, max: 70 }).chain((length) => fc.uint8Array({ minLength: length, maxLength: length })),
    fc.uint8Array({ minLength: 1, maxLength: 1 }),
    fc.uint8Array({ minLength: 256, maxLength: 300, size: 'max' }),
  ),
);

const legacyFees = integer(maxOf(12)).map((gasPriceWei) => ({ gasPriceWei }));
const dynamicFees = fc
  .tuple(integer(maxOf(12)), integer(maxOf(12)))
  .map(([a, b]) => ({ maxFeePerGasWei: a > b ? a : b, maxPriorityFeePerGasWei: a > b ? b : a }));

const someAddress = addresses.filter((address) => address !== null);
const words = fc.bigInt({ min: 0n, max: maxOf(32) }).map((word) => `0x${word.toString(16).padStart(64, '0')}`);
const accessList = fc.array(fc.record({ address: someAddress, storageKeys: fc.array(words, { maxLength: 4 }) }), {
  maxLength: 3,
});
const authorizationList = fc.array(
  fc.record({ chainId: fc.oneof(fc.constant(0), chainIds), address: someAddress, nonce: nonces, key: keys }),
  { minLength: 1, maxLength: 3 },
);

/** With cell proofs. */
const SIDECAR = { blobs: ['aa'.repeat(300), '05'], commitments: ['bb', 'cc'], proofs: ['dd', 'ee', 'ff'] };
const sidecar = fc
  .array(words, { minLength: 1, maxLength: 6 })
  .map((hashes) => ({ hashes, rlp: encodeSidecar({ ...SIDECAR, hasCellProofs: true }) }));
const blobFees = (/** @type {fc.Arbitrary<Fee>} */ fees) =>
  fc.tuple(fees, integer(maxOf(12))).map(([fee, maxFeePerBlobGasWei]) => ({ ...fee, maxFeePerBlobGasWei }));

/**
 * The kinds of transactions, with their own members.
 * @type {Record<string, {fee: fc.Arbitrary<Fee>, lists?: Record<string, fc.Arbitrary<unknown>>}>}
 */
const KINDS = {
  'legacy (EIP-155)': { fee: legacyFees },
  'dynamic fee (EIP-1559)': { fee: dynamicFees },
  'access list (EIP-2930), type 1': { fee: legacyFees, lists: { accessList } },
  'access list, type 2': { fee: dynamicFees, lists: { accessList } },
  'blobs (EIP-4844), type 3': { fee: blobFees(dynamicFees), lists: { sidecar, to: someAddress } },
  'blobs, with access list and one price': {
    fee: blobFees(legacyFees),
    lists: { accessList, sidecar, to: someAddress },
  },
  'set code (EIP-7702), type 4': { fee: dynamicFees, lists: { authorizationList, to: someAddress } },
  'set code, with access list and one price': {
    fee: legacyFees,
    lists: { accessList, authorizationList, to: someAddress },
  },
};

/** @param {typeof KINDS[string]} kind @param {fc.Arbitrary<string>} [payload] */
const transactions = ({ fee, lists }, payload = data) =>
  fc.record({
    key: keys,
    chainId: chainIds,
    nonce: nonces,
    gasLimit: integer(maxOf(8)),
    to: addresses,
    value: integer(maxOf(32)),
    data: payload,
    fee,
    ...lists,
  });

/** @param {Flat} transaction @param {string} privateKey */
function byEthers({ chainId, nonce, gasLimit, to, value, data, fee, accessList, ...others }, privateKey) {
  const { authorizationList, sidecar } = others;
  const { gasPriceWei } = fee;
  const authorizations = authorizationList?.map(({ key, address, ...numbers }) => {
    const authorization = { address, chainId: BigInt(numbers.chainId), nonce: BigInt(numbers.nonce) };
    return { ...authorization, signature: new SigningKey(keyText(key)).sign(hashAuthorization(authorization)) };
  });
  const isPriced = gasPriceWei !== undefined && authorizations === undefined && sidecar === undefined;
  const type =
    sidecar !== undefined ? 3 : authorizations !== undefined ? 4 : !isPriced ? 2 : accessList === undefined ? 0 : 1;
  const transaction = Transaction.from({
    type,
    chainId,
    nonce,
    gasLimit,
    to,
    value,
    data,
    ...(accessList === undefined ? {} : { accessList: /** @type {any} */ (accessList) }),
    ...(authorizations === undefined ? {} : { authorizationList: authorizations }),
    ...(sidecar === undefined
      ? {}
      : { blobVersionedHashes: [...sidecar.hashes], maxFeePerBlobGas: fee.maxFeePerBlobGasWei }),
    ...(isPriced
      ? { gasPrice: gasPriceWei }
      : {
          maxFeePerGas: gasPriceWei ?? fee.maxFeePerGasWei,
          maxPriorityFeePerGas: gasPriceWei ?? fee.maxPriorityFeePerGasWei,
        }),
  });
  transaction.signature = new SigningKey(privateKey).sign(transaction.unsignedHash);
  const { r, s } = transaction.signature;
  const { serialized, hash } = transaction;
  return { raw: sidecar === undefined ? serialized : withSidecar(serialized), hash, r, s };
}

/** As EIP-7594 states it. @param {string} serialized */
function withSidecar(serialized) {
  const lists = Object.values(SIDECAR).map((all) => all.map((hex) => `0x${hex}`));
  return `0x03${encodeRlp([decodeRlp(`0x${serialized.slice(4)}`), '0x01', ...lists]).slice(2)}`;
}

/** @typedef {Omit<Call, 'authorizationList'> & {chainId: number, nonce: number, fee: Fee, authorizationList?: Unsigned[]}} Flat */
/** @typedef {{chainId: number, address: string, nonce: number, key: bigint}} Unsigned */

/** @param {bigint} key */
const keyText = (key) => `0x${key.toString(16).padStart(64, '0')}`;
/** @param {string} key */
const keyBytes = (key) => Buffer.from(key.slice(2), 'hex');

/** @param {Flat} transaction @param {string} privateKey @param {Signer} signer */
function sign({ chainId, nonce, fee, authorizationList, ...others }, privateKey, signer) {
  const signed = authorizationList?.map(({ key, ...authorization }) =>
    signAuthorization(authorization, keyBytes(keyText(key)), signer),
  );
  const call = { ...others, authorizationList: signed };
  return signTransaction({ chainId, nonce, fee, call }, encodeCall(call), keyBytes(privateKey), signer);
}

/** @param {any} generated @returns {{transaction: Flat, privateKey: string}} */
function split({ key, ...transaction }) {
  return { transaction, privateKey: keyText(key) };
}

describe('signTransaction() gives the bytes of ethers', () => {
  for (const [name, kind] of Object.entries(KINDS)) {
    it(`${name}: random transactions, each signer`, () => {
      let shortR = 0;
      let shortS = 0;
      /** @param {any} generated */
      const check = (generated) => {
        const { transaction, privateKey } = split(generated);
        const expected = byEthers(transaction, privateKey);
        if (expected.r.startsWith('0x00')) shortR += 1;
        if (expected.s.startsWith('0x00')) shortS += 1;
        for (const signer of signers) {
          const { raw, hash } = sign(transaction, privateKey, signer);
          assert.equal(raw.toLowerCase(), expected.raw, signer.name); // an address in mixed case keeps its case
          assert.equal(hash, expected.hash, signer.name);
        }
      };
      const numRuns = kind.lists === undefined ? RUNS : LIST_RUNS;
      fc.assert(fc.property(transactions(kind), check), { seed: SEED, numRuns });
      if (kind.lists !== undefined) return;
      const large = dataFrom(fc.uint8Array({ minLength: 60_000, maxLength: 70_000, size: 'max' }));
      fc.assert(fc.property(transactions(kind, large), check), { seed: SEED, numRuns: LARGE_RUNS });
      // One signature in 256 has an r, and one an s, that starts with a zero byte: they must have been among them.
      assert.ok(shortR > 0, 'no short r came up: choose another seed');
      assert.ok(shortS > 0, 'no short s came up: choose another seed');
    });

    if (kind.lists !== undefined) continue;
    it(`${name}: data of every length from 0 to 70, and around 256 and 65,536`, () => {
      const lengths = [...Array.from({ length: 71 }, (_, i) => i), 254, 255, 256, 257, 65_535, 65_536];
      const [base] = fc.sample(transactions(kind), { seed: SEED, numRuns: 1 });
      const { transaction, privateKey } = split(base);
      for (const length of lengths) {
        // Only a single byte is encoded by its value: below 0x80 it is its own encoding.
        for (const byte of length === 1 ? ['00', '7f', '80', 'ff'] : ['ab']) {
          const changed = { ...transaction, data: `0x${byte.repeat(length)}` };
          const { raw } = sign(changed, privateKey, signers[0]);
          assert.equal(raw.toLowerCase(), byEthers(changed, privateKey).raw, `${length} bytes of ${byte}`);
        }
      }
    });
  }

  it('takes a priority fee and a fee that are left out as zero', () => {
    const transaction = { chainId: 1, nonce: 0, gasLimit: 21_000n, to: null, value: 0n, data: '0x', fee: {} };
    const { raw } = sign(transaction, `0x${'01'.repeat(32)}`, signers[0]);
    const { maxFeePerGas, maxPriorityFeePerGas } = Transaction.from(raw);
    assert.deepEqual([maxFeePerGas, maxPriorityFeePerGas], [0n, 0n]);
  });
});

describe('signers', () => {
  it('the native one is there on this platform, and is the one that is chosen', async (t) => {
    if (createNativeCurve() === null) return t.skip(`no binary of secp256k1 for ${process.platform} ${process.arch}`);
    assert.equal((await createSigner()).name, 'secp256k1');
  });

  it('a wallet signs with its own key', () => {
    const key = `0x${'11'.repeat(32)}`;
    const wallet = new Wallet(0, key);
    const call = { to: wallet.address, data: '0x', value: 1n, gasLimit: 21_000n };
    for (const signer of signers) {
      for (const value of [1n, 2n]) {
        const transaction = { chainId: 1, nonce: 5, fee: { gasPriceWei: 7n }, call: { ...call, value } };
        for (let i = 0; i < 2; i += 1) {
          const signed = Transaction.from(wallet.sign(transaction, signer).raw);
          assert.equal(signed.from, wallet.address);
          assert.equal(signed.value, value);
        }
      }
    }
  });
});
