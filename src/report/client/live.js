import { coarser, countsOf, deltasOf } from './buckets.js';

/**
 * @import { Heat } from '../charts.js'
 * @import { PageData } from '../html.js'
 * @import { Board } from './board.js'
 */

/// <reference lib="dom" />

/** Applies the events of a run that goes on. */

/** @param {() => Board} board the current one @param {(data: PageData) => void} redraw everything */
export function listen(board, redraw) {
  const state = document.getElementById('live');
  const say = (/** @type {string} */ words, /** @type {string} */ kind) => {
    if (state === null) return;
    if (state.textContent !== words) state.textContent = words;
    state.className = kind;
  };
  const now = document.getElementById('now');
  const source = new EventSource(`events?after=${document.body.dataset.live}`);
  const on = (/** @type {string} */ name, /** @type {(data: any) => void} */ handle) =>
    source.addEventListener(name, (event) => handle(JSON.parse(/** @type {MessageEvent} */ (event).data)));
  source.addEventListener('open', () => say('live', 'is-live'));
  source.addEventListener('error', () => say('connection lost: the run may be over', 'is-lost'));
  on('reload', () => location.reload());
  on('row', (row) => {
    addRow(board(), row);
    if (now) now.textContent = row.now;
    board().refresh();
  });
  on('sections', replaceSections);
  on('final', ({ title, sections, data }) => {
    source.close();
    now?.remove();
    replaceSections(sections);
    document.title = title;
    const heading = document.querySelector('h1');
    if (heading) heading.textContent = title;
    redraw(data);
    say('the run is over: this page is complete', 'is-over');
  });
}

/** @param {Board} board @param {{time: any, values: Record<string, any>}} row */
function addRow({ time, plots }, { time: { from, to, phases, marks }, values }) {
  if (time === null) return;
  time.from.push(from);
  time.to.push(to);
  for (const phase of phases) {
    const last = time.phases.at(-1);
    if (last !== undefined && last.name === phase.name && last.to === phase.from) last.to = phase.to;
    else time.phases.push(phase);
  }
  time.marks.push(...marks);
  for (const { chart } of plots) {
    const value = values[chart.id];
    if (chart.heat !== undefined) addColumn(chart.heat, value);
    else chart.series.forEach((series, i) => series.values.push(value?.[i] ?? null));
  }
}

/** Added columns have the finest buckets. @param {Heat} heat @param {{perDecade: number, column: number[]}} added */
function addColumn(heat, { perDecade, column }) {
  const counts = coarser(countsOf(column), perDecade / heat.perDecade);
  heat.columns.push(deltasOf(counts));
  heat.first = Math.min(heat.first, ...counts.keys());
  heat.last = Math.max(heat.last, ...counts.keys());
}

/** HTML of the program, escaped, by element id. @param {Record<string, string>} sections */
function replaceSections(sections) {
  for (const [id, text] of Object.entries(sections)) {
    const element = document.getElementById(id);
    if (element === null || element.innerHTML === text) continue;
    // Opened details stay open.
    const open = [...element.querySelectorAll('details[open]')].map((details) => details.id);
    element.innerHTML = text;
    for (const name of open) if (name !== '') document.getElementById(name)?.setAttribute('open', '');
  }
}
