/** Keys and addresses are derived by native code, or by WebAssembly: both are held to the standards and to ethers. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HDNodeWallet, computeAddress, getAddress, getBytes } from 'ethers';
import fc from 'fast-check';
import { createCurve, createNativeCurve, createWasmCurve, extendedKeyOf } from '../../../src/chain/keys.js';

/** @import { ExtendedKey } from '../../../src/chain/keys.js' */

const SEED = 32;
const RUNS = 60;
const LAST_INDEX = 2 ** 31 - 1;
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

const native = createNativeCurve();
const curves = [createWasmCurve(), ...(native === null ? [] : [native])];

/** @param {bigint} key */
const bytesOf = (key) => Buffer.from(key.toString(16).padStart(64, '0'), 'hex');
/** @param {Uint8Array} bytes */
const hexOf = (bytes) => `0x${Buffer.from(bytes).toString('hex')}`;

const keys = fc.oneof(
  { weight: 20, arbitrary: fc.bigInt({ min: 1n, max: ORDER - 1n }) },
  { weight: 1, arbitrary: fc.constantFrom(1n, 2n, 255n, 2n ** 128n, ORDER - 1n) },
);
const indexes = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: LAST_INDEX }) },
  { weight: 1, arbitrary: fc.constantFrom(0, 1, LAST_INDEX) },
);

/** Test vector 1 of BIP-32. */
const PARENT = HDNodeWallet.fromSeed('0x000102030405060708090a0b0c0d0e0f');

/** @param {HDNodeWallet} node @returns {ExtendedKey} */
const keyOf = ({ privateKey, chainCode }) => ({ privateKey: getBytes(privateKey), chainCode: getBytes(chainCode) });

for (const curve of curves) {
  describe(`curve of ${curve.name}`, () => {
    it('a key of its own for each call: what is done with one does not change the next', () => {
      const parent = keyOf(PARENT);
      const child = curve.childrenOf(parent);
      const first = child(7).privateKey;
      const copy = hexOf(first);
      first.fill(0);
      assert.equal(hexOf(child(7).privateKey), copy);
      assert.deepEqual(parent, keyOf(PARENT), 'nor the parent');
    });

    it('gives the addresses of ethers', () => {
      fc.assert(
        fc.property(keys, (key) => {
          const address = curve.addressOf(bytesOf(key));
          assert.equal(address, computeAddress(hexOf(bytesOf(key))));
          assert.equal(address, getAddress(address.toLowerCase()), 'with its checksum');
        }),
        { seed: SEED, numRuns: RUNS },
      );
    });

    it('a key that starts with a zero byte keeps it, and so has the right children', () => {
      const child = curve.childrenOf(keyOf(PARENT));
      let index = 0;
      while (child(index).privateKey[0] !== 0) index += 1;
      const expected = PARENT.deriveChild(index);
      assert.equal(hexOf(child(index).privateKey), expected.privateKey);
      const [normal, hardened] = [0, 2 ** 31].map((below) => curve.childrenOf(child(index))(below).privateKey);
      assert.equal(hexOf(normal), expected.deriveChild(0).privateKey);
      assert.equal(hexOf(hardened), expected.deriveChild(2 ** 31).privateKey);
    });

    it('gives the extended keys of ethers', () => {
      const seeds = fc.uint8Array({ minLength: 16, maxLength: 64 });
      const paths = fc.array(fc.tuple(indexes, fc.constantFrom('', "'")), { minLength: 1, maxLength: 5 });
      fc.assert(
        fc.property(seeds, paths, (seed, parts) => {
          const path = ['m', ...parts.map((part) => part.join(''))].join('/');
          const key = extendedKeyOf(curve, seed, path);
          const expected = HDNodeWallet.fromSeed(seed).derivePath(path);
          assert.equal(hexOf(key.privateKey), expected.privateKey, path);
          assert.equal(hexOf(key.chainCode), expected.chainCode, path);
        }),
        { seed: SEED, numRuns: RUNS },
      );
    });
  });
}

it('the native curve: is there on this platform, and is the one that is chosen', (t) => {
  if (native === null) return t.skip(`no binary of secp256k1 for ${process.platform} ${process.arch}`);
  assert.equal(createCurve().name, 'secp256k1');
});
