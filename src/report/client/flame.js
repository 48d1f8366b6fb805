/** @import { Flame } from '../flame.js' */

/// <reference lib="dom" />

/**
 * The graph of the stacks of a profile: callers above the functions that they called, each as wide as its CPU time. It is
 * zoomed, searched and read by mouse and keyboard.
 *
 * @typedef {object} FlameFrame
 * @property {string} name
 * @property {FlameFrame | null} caller
 * @property {FlameFrame[]} callees the widest first
 * @property {number} selfUs
 * @property {number} totalUs with the functions that it called
 * @property {number | null} moreUs in a difference: how much more of it the candidate has, with the functions that it called
 */

const FLAME_ROW_PX = 18;
/** A narrower frame is not drawn. */
const FLAME_LEAST_SHARE = 0.001;
const FLAME_COLORS = 6;
/** Shares of the whole CPU time from which on a difference has a stronger color. */
const FLAME_STEPS = [0.002, 0.01, 0.03];

/** @param {Flame} flame @returns {FlameFrame} all of it */
function flameTree({ names, frames, otherUs, isDifference = false }) {
  const more = (/** @type {number} */ us) => (isDifference ? us : null);
  /** @type {FlameFrame} */
  const all = { name: 'all', caller: null, callees: [], selfUs: 0, totalUs: 0, moreUs: more(0) };
  const nodes = frames.map(([, name, selfUs, moreUs = 0]) => {
    const frame = { name: names[name], caller: all, callees: [], selfUs, totalUs: selfUs, moreUs: more(moreUs) };
    return /** @type {FlameFrame} */ (frame);
  });
  const others = { name: 'other stacks', caller: all, callees: [], selfUs: otherUs, totalUs: otherUs, moreUs: more(0) };
  for (const [i, [caller]] of frames.entries()) nodes[i].caller = caller === -1 ? all : nodes[caller];
  // Callers come before the functions that they called.
  for (const { caller, totalUs, moreUs } of [...nodes].reverse()) {
    if (caller === null) continue;
    caller.totalUs += totalUs;
    if (caller.moreUs !== null) caller.moreUs += moreUs ?? 0;
  }
  for (const node of nodes) /** @type {FlameFrame} */ (node.caller).callees.push(node);
  if (otherUs > 0) all.callees.push(others);
  all.totalUs += otherUs;
  for (const { callees } of [all, ...nodes]) callees.sort((a, b) => b.totalUs - a.totalUs);
  return all;
}

class FlameGraph {
  #box;
  #status;
  #search;
  #all;
  #top;
  #selected;
  /** @type {Map<FlameFrame, HTMLElement>} */
  #drawn = new Map();

  /** @param {HTMLElement} box @param {Flame} flame */
  constructor(box, flame) {
    this.#box = box;
    this.#status = document.getElementById(`status-${flame.id}`);
    this.#search = /** @type {HTMLInputElement | null} */ (document.getElementById(`search-${flame.id}`));
    this.#all = flameTree(flame);
    this.#top = this.#all;
    this.#selected = this.#all;
    this.#search?.addEventListener('input', () => this.#draw());
    box.addEventListener('click', ({ target }) => this.#zoomTo(this.#frameAt(target)));
    box.addEventListener('mouseover', ({ target }) => this.#tell(this.#frameAt(target)));
    box.addEventListener('keydown', (event) => this.#onKey(event));
    this.#draw();
  }

  /** @param {EventTarget | null} target */
  #frameAt(target) {
    for (const [frame, element] of this.#drawn) if (element === target) return frame;
    return null;
  }

  /** @param {FlameFrame | null} frame */
  #zoomTo(frame) {
    if (frame === null) return;
    this.#top = frame;
    this.#selected = frame;
    this.#draw();
    this.#tell(frame);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const at = this.#selected;
    const beside = at.caller?.callees ?? [at];
    const place = beside.indexOf(at);
    const to = /** @type {Record<string, FlameFrame | null | undefined>} */ ({
      ArrowUp: at.caller,
      ArrowDown: at.callees[0],
      ArrowLeft: beside[place - 1],
      ArrowRight: beside[place + 1],
    })[event.key];
    if (event.key === 'Enter') this.#zoomTo(at);
    else if (event.key === 'Escape') this.#zoomTo(this.#all);
    else if (!event.key.startsWith('Arrow')) return;
    event.preventDefault();
    if (to === undefined || to === null) return;
    this.#selected = to;
    if (this.#drawn.has(to)) this.#mark();
    else this.#zoomTo(to.caller);
    this.#selected = to;
    this.#mark();
    this.#tell(to);
  }

  #mark() {
    for (const [frame, element] of this.#drawn) element.classList.toggle('is-selected', frame === this.#selected);
    this.#drawn.get(this.#selected)?.scrollIntoView({ block: 'nearest' });
  }

  /** @param {FlameFrame | null} frame */
  #tell(frame) {
    if (frame === null || this.#status === null) return;
    const share = (/** @type {number} */ us) => `${((100 * us) / Math.max(1, this.#all.totalUs)).toPrecision(3)} %`;
    const shares = `${share(frame.totalUs)}, ${share(frame.selfUs)} in itself`;
    const ms = (/** @type {number} */ us) => `${(us / 1000).toPrecision(3)} ms`;
    const { totalUs, moreUs } = frame;
    const difference =
      moreUs === null
        ? ''
        : `; ${ms(totalUs - moreUs / 2)} in the baseline, ${ms(totalUs + moreUs / 2)} in the candidate`;
    this.#status.textContent = `${frame.name}: ${shares}${difference}`;
  }

  #draw() {
    const wanted = this.#search?.value.trim().toLowerCase() ?? '';
    this.#drawn.clear();
    let [depth, foundUs] = [0, 0];
    /** @param {FlameFrame} frame @param {number} left @param {number} row @param {boolean} isCounted a caller was found */
    const place = (frame, left, row, isCounted) => {
      const share = frame.totalUs / Math.max(1, this.#top.totalUs);
      if (share < FLAME_LEAST_SHARE) return;
      const isFound = wanted !== '' && frame.name.toLowerCase().includes(wanted);
      if (isFound && !isCounted) foundUs += frame.totalUs;
      this.#add(frame, { left, share, row, isFound });
      depth = Math.max(depth, row + 1);
      let at = left;
      for (const callee of frame.callees) {
        place(callee, at, row + 1, isCounted || isFound);
        at += callee.totalUs / Math.max(1, this.#top.totalUs);
      }
    };
    place(this.#top, 0, 0, false);
    this.#box.replaceChildren(...this.#drawn.values());
    this.#box.style.height = `${Math.min(depth * FLAME_ROW_PX, 540)}px`;
    this.#mark();
    if (wanted !== '' && this.#status !== null)
      this.#status.textContent = `${((100 * foundUs) / Math.max(1, this.#top.totalUs)).toPrecision(3)} % of the CPU time has ${wanted} in its stack`;
  }

  /** @param {FlameFrame} frame @param {{left: number, share: number, row: number, isFound: boolean}} where */
  #add(frame, { left, share, row, isFound }) {
    const element = document.createElement('div');
    element.textContent = frame.name;
    element.title = frame.name;
    element.className = flameColor(frame, this.#all.totalUs);
    if (isFound) element.classList.add('is-found');
    element.style.left = `${100 * left}%`;
    element.style.width = `${100 * share}%`;
    element.style.top = `${row * FLAME_ROW_PX}px`;
    this.#drawn.set(frame, element);
  }
}

/** @param {FlameFrame} frame @param {number} allUs @returns {string} a class */
function flameColor({ name, moreUs }, allUs) {
  if (moreUs === null) return `c${[...name].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % FLAME_COLORS}`;
  const step = FLAME_STEPS.filter((least) => Math.abs(moreUs) >= least * allUs).length;
  return step === 0 ? 'same' : `${moreUs > 0 ? 'more' : 'less'}-${step}`;
}

/** @param {readonly Flame[]} flames */
export function drawFlames(flames) {
  for (const flame of flames) {
    const box = document.getElementById(flame.id);
    if (box !== null) new FlameGraph(box, flame);
  }
}
