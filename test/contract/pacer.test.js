/** What every pacer must be: a pure function of the time and of what was started, to a wait that is not negative. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { pacers } from '../../src/pacer/index.js';

const elapsed = fc.oneof(fc.constantFrom(0, 1, 999_999, 1_000_000), fc.nat({ max: 2 ** 31 - 1 }), fc.maxSafeNat());
const started = fc.oneof(fc.constantFrom(0, 1), fc.nat({ max: 1e9 }));

for (const [name, create] of Object.entries(pacers)) {
  describe(`pacer ${name}`, () => {
    it('waits a number of microseconds that is not negative', () => {
      const pacer = create();
      fc.assert(
        fc.property(elapsed, started, (elapsedUs, count) => {
          const waitUs = pacer(elapsedUs, count);
          assert.equal(typeof waitUs, 'number');
          assert.ok(Number.isFinite(waitUs) && waitUs >= 0, String(waitUs));
        }),
        { seed: 10 },
      );
    });

    it('gives the same for the same, whatever it was asked before, and whichever one is asked', () => {
      const pacer = create();
      const another = create();
      fc.assert(
        fc.property(elapsed, started, elapsed, started, (aUs, a, bUs, b) => {
          const first = pacer(aUs, a);
          pacer(bUs, b);
          assert.equal(pacer(aUs, a), first);
          assert.equal(another(aUs, a), first);
        }),
        { seed: 10 },
      );
    });

    it('the wait that it asks for is enough', () => {
      const pacer = create();
      fc.assert(
        fc.property(fc.nat({ max: 1e9 }), fc.nat({ max: 1e5 }), (elapsedUs, count) => {
          const waitUs = Math.ceil(pacer(elapsedUs, count));
          assert.equal(Math.floor(pacer(elapsedUs + waitUs, count)), 0);
        }),
        { seed: 10 },
      );
    });
  });
}
