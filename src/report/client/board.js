import { Plot, wholeOf } from './plot.js';

/** @import { PageData } from '../html.js' */

/// <reference lib="dom" />

/**
 * All charts of the page. Charts over the time of the run show the same range.
 *
 * @typedef {{min: number, max: number}} Range
 * @typedef {{range: Range | null, focus: string | null}} Kept focus: the chart with the keyboard's focus
 */

export class Board {
  /** The visible range; null: all. @type {Range | null} */
  range = null;
  #isSetting = true;

  /** @param {PageData} data */
  constructor({ time, charts }) {
    this.time = time;
    // Charts without a figure are not shown on this page.
    const shown = charts.filter(({ id }) => document.getElementById(`plot-${id}`) !== null);
    this.plots = shown.map((chart) => {
      /** @type {Plot} */
      const plot = new Plot(chart, time, () => this.#follow(plot));
      plot.element.addEventListener('keydown', (event) => this.#onKey(plot, event));
      plot.element.addEventListener('dblclick', () => this.show(null));
      return plot;
    });
    this.#isSetting = false;
  }

  get timed() {
    return this.plots.filter(({ time }) => time !== null);
  }

  /** @param {Range | null} range null: all */
  show(range) {
    const [from, to] = wholeOf(this.time);
    const [min, max] = [Math.max(from, range?.min ?? from), Math.min(to, range?.max ?? to)];
    if (!(max > min)) return;
    this.range = min === from && max === to ? null : { min, max };
    this.#isSetting = true;
    for (const { uplot } of this.timed) uplot.batch(() => uplot.setScale('x', { min, max }));
    this.#isSetting = false;
  }

  /** Applies the zoom of one chart to the others. @param {Plot} plot */
  #follow(plot) {
    const { min, max } = plot.uplot?.scales.x ?? {};
    if (!this.#isSetting && typeof min === 'number' && typeof max === 'number') this.show({ min, max });
  }

  /** Around the value that is read, or the middle. @param {Plot} plot @param {number} factor of the visible length */
  #zoom({ uplot }, factor) {
    const [from, to] = wholeOf(this.time);
    const { min, max } = this.range ?? { min: from, max: to };
    const middle = uplot.data[0][uplot.cursor.idx ?? -1] ?? (min + max) / 2;
    const half = (factor * (max - min)) / 2;
    this.show({ min: middle - half, max: middle + half });
  }

  /** @param {Plot} plot @param {KeyboardEvent} event */
  #onKey(plot, event) {
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowLeft: () => plot.move(-1),
      ArrowRight: () => plot.move(1),
      '+': () => this.#zoom(plot, 0.5),
      '-': () => this.#zoom(plot, 2),
      0: () => this.show(null),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  }

  /** @returns {Kept} the user's place, for the board that replaces this one */
  end() {
    const focused = this.plots.find(({ element }) => element === document.activeElement);
    for (const { uplot } of this.plots) uplot.destroy();
    return { range: this.range, focus: focused?.chart.id ?? null };
  }

  /** @param {Kept} place */
  resume({ range, focus }) {
    if (range !== null) this.show(range);
    this.plots.find(({ chart }) => chart.id === focus)?.element.focus({ preventScroll: true });
  }

  /** Redraws with current colours. */
  redraw() {
    for (const { uplot } of this.plots) uplot.redraw(false, true);
  }

  /** @param {number} [width] */
  resize(width) {
    for (const plot of this.plots) plot.resize(width);
  }
}
