import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parseEther } from 'ethers';
import { amount, amountAtMost, exactAmount } from '../../src/coin.js';

/** @typedef {Array<[bigint, string]>} Rows */

it('exactAmount(): shows every wei, in gwei below 0.001 ether, in wei below a gwei if that is shorter', () => {
  const table = /** @type {Rows} */ ([
    [0n, '0 ether'],
    [1n, '1 wei'],
    [-7n, '-7 wei'],
    [303_000_000n, '0.303 gwei'],
    [303_000_001n, '303000001 wei'],
    [10n ** 9n + 1n, '1.000000001 gwei'],
    [10n ** 15n - 10n ** 9n, '999999 gwei'],
    [10n ** 15n, '0.001 ether'],
    [parseEther('10000'), '10000 ether'],
  ]);
  for (const [wei, text] of table) assert.equal(exactAmount(wei), text);
});

it('amount(): three digits, or all before the decimal point', () => {
  const table = /** @type {Rows} */ ([
    [0n, '0 ether'],
    [7n, '7 wei'],
    [303_123_456n, '0.303 gwei'],
    [12_345_600_000_000n, '12,346 gwei'],
    [parseEther('0.0123456'), '0.0123 ether'],
    [parseEther('1234.5'), '1,235 ether'],
  ]);
  for (const [wei, text] of table) assert.equal(amount(wei), text);
});

it('amountAtMost(): three significant digits, rounded up', () => {
  const table = /** @type {Rows} */ ([
    [0n, '0 ether'],
    [parseEther('1.2340001'), '1.24 ether'],
    [parseEther('0.000999001'), '0.001 ether'],
    [parseEther('12345'), '12400 ether'],
    [7n, '7 wei'],
  ]);
  for (const [wei, text] of table) assert.equal(amountAtMost(wei), text);
});
