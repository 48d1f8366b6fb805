/**
 * @import { PageData } from '../html.js'
 * @import { Kept } from './board.js'
 */

/// <reference lib="dom" />

/** The page of a run that goes on: it asks for the next page, and shows that in its own place. */

/** Longest wait for the next page, and time until it asks again after an error. */
const LONGEST_MS = 60_000;
const RETRY_MS = 2000;

/**
 * @typedef {{end: () => Kept, draw: (data: PageData, place: Kept) => void}} Board of the page
 * @param {Board} board
 */
export async function follow(board) {
  let version = document.body.dataset.live;
  let coming = pageAfter(version);
  while (version !== undefined) {
    try {
      const page = await coming;
      version = page.body.dataset.live;
      // Before it is shown: the server can answer a request that is there when the run ends.
      if (version !== undefined) coming = pageAfter(version);
      show(page, board);
      say('live', 'is-live');
    } catch (error) {
      const { name, message } = /** @type {Error} */ (error);
      if (name !== 'TimeoutError') {
        say(name === 'Error' ? message : 'connection lost: the run may be over', 'is-lost');
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
      coming = pageAfter(version);
    }
  }
  say('the run is over: this page is complete', 'is-over');
}

/** @param {string | undefined} version of the page that is shown @returns {Promise<Document>} */
async function pageAfter(version) {
  const response = await fetch(`?after=${version}`, { signal: AbortSignal.timeout(LONGEST_MS) });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return new DOMParser().parseFromString(text, 'text/html');
}

/** @param {string} words @param {string} kind */
function say(words, kind) {
  const state = document.getElementById('live');
  if (state === null) return;
  if (state.textContent !== words) state.textContent = words;
  state.className = kind;
}

/** Replaces what differs, and keeps open what is open. @param {Document} page @param {Board} board */
function show(page, board) {
  const place = board.end();
  const open = [...document.querySelectorAll('details[open]')].map(({ id }) => id);
  const { scrollY } = globalThis;
  document.title = page.title;
  for (const selector of ['h1', '#lead', '#main'])
    document.querySelector(selector)?.replaceChildren(...(page.querySelector(selector)?.childNodes ?? []));
  board.draw(JSON.parse(page.getElementById('data')?.textContent ?? 'null'), place);
  for (const details of document.querySelectorAll('details')) details.open = open.includes(details.id) || details.open;
  scrollTo({ top: scrollY, behavior: 'instant' });
}
