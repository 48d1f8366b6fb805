/// <reference lib="dom" />
/** The colours of page.css for a canvas. They are read at each drawing, because the theme may have changed. */

/** Only the computed colour of an element says which of the two colours of light-dark() holds. */
const probe = document.body.appendChild(document.createElement('i'));
probe.hidden = true;

/** @param {string} name of a custom property, without its dashes */
export function color(name) {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

/** Viridis: readable with colour blindness, and ordered when printed in grey. */
const VIRIDIS = [
  [68, 1, 84],
  [71, 44, 122],
  [59, 81, 139],
  [44, 113, 142],
  [33, 144, 141],
  [39, 173, 129],
  [92, 200, 99],
  [170, 220, 50],
];

/** Higher values contrast more with the background. @returns {(part: number) => string} colour of a value from 0 to 1 */
export function heatColors() {
  const isDarkMuch = color('heat') === 'rgb(0, 0, 0)';
  return (part) => {
    // The dark end would not be visible on a dark background.
    const scaled = (isDarkMuch ? 1 - part : 0.2 + 0.8 * part) * (VIRIDIS.length - 1);
    const i = Math.min(VIRIDIS.length - 2, Math.max(0, Math.floor(scaled)));
    const mixed = VIRIDIS[i].map((from, channel) => Math.round(from + (VIRIDIS[i + 1][channel] - from) * (scaled - i)));
    return `rgb(${mixed.join(' ')})`;
  };
}
