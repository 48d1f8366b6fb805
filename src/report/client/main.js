import { Board } from './board.js';
import { drawFlames } from './flame.js';
import { follow } from './live.js';
import { offerNumbers } from './numbers.js';

/** @import { PageData } from '../html.js' */

/// <reference lib="dom" />

/** Draws the page from its data, and again after it was replaced. */

/** @param {PageData} data */
function drawPage(data) {
  const board = new Board(data);
  offerNumbers(board.plots);
  drawFlames(data.flames ?? []);
  // A chart in a section that is closed has no width.
  for (const section of document.querySelectorAll('details.section'))
    section.addEventListener('toggle', () => board.resize());
  // For tests and for the browser's developer tools.
  const charts = Object.fromEntries(board.plots.map(({ chart, uplot }) => [chart.id, uplot]));
  Object.assign(globalThis, { __board: board, __charts: charts });
  return board;
}

/** Width of a plot on paper, in pixels. */
const PAPER_WIDTH = 670;

/** @param {string} scheme of colours; '': that of the system @param {number} [width] */
function print(scheme, width) {
  document.documentElement.style.colorScheme = scheme;
  page.board.resize(width);
  page.board.redraw();
}

document.documentElement.classList.add('has-script');
const text = document.getElementById('data')?.textContent ?? 'null';
const page = { board: drawPage(JSON.parse(text) ?? { time: null, charts: [] }) };
for (const query of ['(prefers-color-scheme: dark)', 'print'])
  matchMedia(query).addEventListener('change', () => page.board.redraw());
addEventListener('beforeprint', () => print('light', PAPER_WIDTH));
addEventListener('afterprint', () => print(''));
new ResizeObserver(() => {
  page.board.resize();
  for (const box of document.querySelectorAll('.scroll, pre')) {
    box.classList.toggle('is-wide', box.scrollWidth > box.clientWidth);
    box.classList.toggle('is-tall', box.scrollHeight > box.clientHeight);
  }
}).observe(document.body);
if (document.body.hasAttribute('data-live'))
  void follow({
    end: () => page.board.end(),
    draw: (data, place) => {
      page.board = drawPage(data);
      page.board.resume(place);
    },
  });
