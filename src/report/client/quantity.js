/** Numbers with units, for the HTML and for the script of the page. */

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const three = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });

/** Three digits, or all before the point; null is a dash. @param {number | null | undefined} value */
export function digits(value) {
  if (value === null || value === undefined) return '–';
  return Math.abs(value) >= 100 ? whole.format(value) : three.format(value);
}

/** @param {number | null | undefined} value @param {string} [unit] */
export function quantity(value, unit = '') {
  if (value === null || value === undefined) return digits(value);
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
