/** Figures as texts: for the terminal, for files, for pages, and for the script of a page. What was not measured is a dash, not a zero. */

export const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const three = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });

/** Also before the decimal point, as rates that were estimated are known no better. @param {number} value */
export function threeDigits(value) {
  return three.format(value);
}

/** A rate, a share or a mean: three digits, or all before the decimal point. @param {number | null | undefined} value */
export function digits(value) {
  if (value === null || value === undefined) return '-';
  return (Math.abs(value) < 100 ? three : whole).format(value);
}

/** @param {number | null | undefined} value @param {string} [unit] */
export function quantity(value, unit = '') {
  if (value === null || value === undefined) return '-';
  if (unit === 'ms' && Math.abs(value) >= 10_000) return quantity(value / 1000, 's');
  return `${digits(value)}${unit === '' || unit.startsWith('/') ? '' : ' '}${unit}`;
}

/** A time in seconds, or in minutes and hours if it is long. @param {number} seconds */
export function clockTime(seconds) {
  if (Math.abs(seconds) < 120) return `${digits(Math.round(seconds * 100) / 100)} s`;
  const all = Math.round(seconds);
  const [h, m, s] = [Math.floor(all / 3600), Math.floor((all % 3600) / 60), all % 60];
  const two = (/** @type {number} */ value) => String(value).padStart(2, '0');
  return h > 0 ? `${h}:${two(m)}:${two(s)} h` : `${m}:${two(s)} min`;
}
