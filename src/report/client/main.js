import { Board } from './board.js';
import { follow } from './live.js';
import { offerNumbers } from './numbers.js';
import { offerThemes } from './theme.js';

/** @import { PageData } from '../html.js' */

/// <reference lib="dom" />

/** Draws the page from its data, and again after it was replaced. */

/** @param {PageData} data */
function drawPage(data) {
  const board = new Board(data);
  offerNumbers(board.plots);
  // For tests and for the browser's developer tools.
  const charts = Object.fromEntries(board.plots.map(({ chart, uplot }) => [chart.id, uplot]));
  Object.assign(globalThis, { __board: board, __charts: charts });
  return board;
}

document.documentElement.classList.add('has-script');
const text = document.getElementById('data')?.textContent ?? 'null';
const page = { board: drawPage(JSON.parse(text) ?? { time: null, charts: [] }) };
offerThemes(() => page.board);
new ResizeObserver(() => page.board.resize()).observe(document.body);
if (document.body.hasAttribute('data-live'))
  void follow({
    end: () => page.board.end(),
    draw: (data, place) => {
      page.board = drawPage(data);
      page.board.resume(place);
    },
  });
