import { AuditSum } from './merge-audit.js';
import { Endpoints, GeneratorSum, mergeEnvironments } from './merge-generator.js';
import { Grid } from './merge-rows.js';
import { Spending } from './merge-spending.js';
import { Sums } from './merge-sums.js';
import { Verdicts } from './merge-verdict.js';
import { safe } from './merge-words.js';
import { WindowCounts, maxOf, minOf } from './merge-window.js';

/**
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Card } from './merge-card.js'
 * @import { Common } from './merge-window.js'
 */

/**
 * All that is added up, one run file after the other.
 */

/** Warnings of instances that are passed on, each once. */
const WARNINGS = 20;

export class Total {
  sums = new Sums();
  audit = new AuditSum();
  generator = new GeneratorSum();
  spending = new Spending();
  verdicts = new Verdicts();
  /** @type {Map<string, number>} how many instances said so */
  warnings = new Map();
  /** Why figures of instances are null. @type {Record<string, string>} */
  unmeasured = {};
  /** @type {Record<string, any>} */
  environment = {};
  /** @type {RunFile | null} without its intervals */
  first = null;
  isOpenLoop = false;
  /** @type {number | null} */
  ratePerSecond = null;

  /**
   * @param {Card[]} cards
   * @param {number[]} correctionsMs
   * @param {Common} common
   */
  constructor(cards, correctionsMs, common) {
    this.cards = cards;
    this.common = common;
    this.window = new WindowCounts(common);
    this.loadStartsMs = cards.map(({ loadStartMs }, i) => loadStartMs + correctionsMs[i]);
    const starts = cards.map((card, i) => card.windowStartMs + correctionsMs[i]);
    const measured = starts.filter((_, i) => cards[i].hasLoad);
    const windowStartMs = minOf(measured.length > 0 ? measured : starts);
    this.grid = new Grid({
      loadStartMs: minOf(this.loadStartsMs),
      windowStartMs,
      endMs: maxOf(cards.map(({ endedAtMs }, i) => endedAtMs + correctionsMs[i])),
      stepMs: maxOf(cards.map(({ intervalMs }) => intervalMs)),
    });
    this.ranks = ranksOf(cards);
  }

  /** @param {RunFile} given @param {number} i its place among the instances */
  add(given, i) {
    const run = withSafeWords(given);
    const { intervals, ...rest } = run;
    if (this.first === null) {
      this.first = { ...rest, intervals: [] };
      this.environment = run.environment;
      this.endpoints = new Endpoints(run.environment);
    }
    this.environment = mergeEnvironments(this.environment, run.environment);
    const endpointOf = /** @type {Endpoints} */ (this.endpoints).add(run.environment);
    const [share, rank, loadStartMs] = [this.common.shares[i], this.ranks[i], this.loadStartsMs[i]];
    const shiftMs = loadStartMs - this.grid.originMs;
    this.sums.add(run, { share, rank, shiftMs, endpointOf });
    this.grid.add(intervals, { loadStartMs, rank, endpointOf });
    for (const row of intervals) this.window.addRow(row, loadStartMs);
    this.window.addWindow(run, share);
    this.audit.add(run, this.cards[i]);
    this.generator.add(run, endpointOf, shiftMs);
    this.spending.add(run.spending);
    this.verdicts.add(run.verdict);
    this.isOpenLoop ||= run.rates.askedPerSecond !== null;
    const rate = /** @type {number | null} */ (run.config.ratePerSecond ?? null);
    if (rate !== null) this.ratePerSecond = (this.ratePerSecond ?? 0) + rate;
    this.unmeasured = { ...run.unmeasured, ...this.unmeasured };
    for (const words of run.warnings)
      if (this.warnings.has(words) || this.warnings.size < WARNINGS)
        this.warnings.set(words, (this.warnings.get(words) ?? 0) + 1);
  }
}

/** What is passed on of what somebody wrote. @param {RunFile} run @returns {RunFile} */
function withSafeWords(run) {
  const { warnings, failureWords, environment, audit, verdict, unmeasured, generator } = run;
  return { ...run, ...safe({ warnings, failureWords, environment, audit, verdict, unmeasured, generator }) };
}

/** Whose blocks are taken first: of a whole run rather than of a partial one, of a longer window rather than of a shorter. @param {Card[]} cards */
function ranksOf(cards) {
  const order = cards
    .map((card, i) => ({ i, partial: card.partial, lengthMs: card.windowEndMs - card.windowStartMs }))
    .sort((a, b) => Number(a.partial) - Number(b.partial) || b.lengthMs - a.lengthMs || a.i - b.i);
  /** @type {number[]} */
  const ranks = [];
  order.forEach(({ i }, rank) => (ranks[i] = rank));
  return ranks;
}
