import { formatUnits } from 'ethers/utils';
import { digits } from './quantity.js';

/** Amounts and prices of the chain's coin as texts: gwei below 0.001 ether, and wei below a gwei if that is shorter. */

/** @param {bigint} wei @param {(unit: 'ether' | 'gwei' | 'wei') => string} textIn @returns {string} with its unit */
function withUnit(wei, textIn) {
  const size = wei < 0n ? -wei : wei;
  const inGwei = `${textIn('gwei')} gwei`;
  const inWei = `${textIn('wei')} wei`;
  if (size === 0n || size >= 10n ** 15n) return `${textIn('ether')} ether`;
  return size >= 10n ** 9n || inGwei.length <= inWei.length ? inGwei : inWei;
}

/** All digits. @param {bigint} wei */
export function exactAmount(wei) {
  return withUnit(wei, (unit) => formatUnits(wei, unit).replace(/\.0$/, ''));
}

/** Three digits, or all before the decimal point. @param {bigint} wei */
export function amount(wei) {
  return withUnit(wei, (unit) => digits(Number(formatUnits(wei, unit))));
}

/** Rounded up to three significant digits. @param {bigint} wei */
export function amountAtMost(wei) {
  const unit = 10n ** BigInt(Math.max(0, String(wei).length - 3));
  return exactAmount(((wei + unit - 1n) / unit) * unit);
}
