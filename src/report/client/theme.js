/** @import { Board } from './board.js' */

/// <reference lib="dom" />
/** Dark or light theme: that of the system unless the user chose one; light on paper. */

const CHOICES = ['as the system', 'light', 'dark'];
const KEPT_AS = 'stress-theme';

/** Width of a plot on paper, in pixels. */
const PAPER_WIDTH = 670;

/** @param {() => Board} board the current one */
export function offerThemes(board) {
  const root = document.documentElement;
  const button = document.getElementById('theme');
  const label = button?.querySelector('span');
  const apply = (/** @type {string} */ choice) => {
    if (choice === 'as the system') delete root.dataset.theme;
    else root.dataset.theme = choice;
    if (label) label.textContent = choice;
    board().redraw();
  };
  const kept = storedTheme();
  if (kept !== null && CHOICES.includes(kept)) apply(kept);
  button?.addEventListener('click', () => {
    const next = CHOICES[(CHOICES.indexOf(root.dataset.theme ?? CHOICES[0]) + 1) % CHOICES.length];
    remember(next);
    apply(next);
  });
  for (const query of ['(prefers-color-scheme: dark)', 'print'])
    matchMedia(query).addEventListener('change', () => board().redraw());
  let before = /** @type {string | undefined} */ (undefined);
  addEventListener('beforeprint', () => {
    before = root.dataset.theme;
    root.dataset.theme = 'light';
    board().resize(PAPER_WIDTH);
    board().redraw();
  });
  addEventListener('afterprint', () => {
    if (before === undefined) delete root.dataset.theme;
    else root.dataset.theme = before;
    board().resize();
    board().redraw();
  });
}

/** A page opened as a file may have no storage. */
function storedTheme() {
  try {
    return localStorage.getItem(KEPT_AS);
  } catch {
    return null;
  }
}

/** @param {string} choice */
function remember(choice) {
  try {
    localStorage.setItem(KEPT_AS, choice);
  } catch {
    // Without storage the choice holds for this page only.
  }
}
