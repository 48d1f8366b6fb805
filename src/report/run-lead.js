import { auditResult } from '../metrics/audit-result.js';
import { countedWords, isPlain } from '../metrics/sample.js';
import { quantity } from './client/quantity.js';
import { sentence } from './charts.js';
import { censoredOf } from '../metrics/figures.js';
import { badge, keyFigure, latencyFigure } from './figures.js';
import { html } from './html.js';

/**
 * @import { RunFile } from '../metrics/summary.js'
 * @import { KeyFigure, LatencyName } from './figures.js'
 */

/**
 * The top of the page of a run: the verdict in one sentence, what went well and what did not, and the figures that most
 * people look for.
 */

/** @param {RunFile} run */
export function titleOf({ config, environment, startedAt }) {
  const endpoint = environment.embeddedChain === true ? 'the embedded chain' : environment.endpoint;
  const where = endpoint === undefined || endpoint === null ? '' : ` of ${endpoint}`;
  return `Run${where}, ${wallets(config)}${startedAt.slice(0, 16).replace('T', ' ')} UTC`;
}

/** @param {Record<string, unknown>} config */
function wallets({ threads }) {
  return typeof threads === 'number' ? `${quantity(threads, 'count')} wallets, ` : '';
}

/** @param {RunFile} run */
export function lead(run) {
  const censored = censoredOf(run);
  return html`<p class="verdict">${verdict(run, censored)}</p>
    <ul class="badges">
      ${badges(run)}
    </ul>
    <dl class="figures">${figures(run, censored).map(keyFigure)}</dl>`;
}

/** @typedef {Parameters<typeof latencyFigure>[1]} Censored */

/** @param {RunFile} run @param {Censored} censored */
function verdict(run, censored) {
  const { rates, latency } = run;
  const tps = rates.verifiedPerSecond;
  const p99 = latencyFigure(latency.total, censored, 'p99');
  const what = isPlain(run) ? 'calls' : 'operations verified';
  const speed =
    tps === null
      ? 'Nothing was measured'
      : `${quantity(tps, 'plain')} ${what} per second${p99.value === null ? '' : `, p99 ${p99.text}`}`;
  if (run.end === 'running') return html`So far: ${speed}. The run had not ended.`;
  return html`${speed}; ${limit(run)}; ${auditWords(run)}.`;
}

/** @param {RunFile} run */
function limit({ verdict: found }) {
  if (found === null) return 'there was nothing to judge';
  return (
    {
      'endpoint-down': 'the endpoint was down',
      funds: 'wallets without funds were the limit',
      'port-bound': 'local ports were the limit',
      'endpoint-limited': 'a limit that the endpoint sets (429, Retry-After) was the limit',
      'generator-bound': 'this generator was the limit',
      'rate-bound': 'the rate asked for was the limit',
      'node-bound': 'the node was the limit',
      'concurrency-bound': 'the number of wallets was the limit, not the node',
      unknown: 'what the limit was is not known',
    }[found.name] ?? found.name
  );
}

/** @param {RunFile} run */
function auditWords(run) {
  const result = auditResult(run);
  return result === null
    ? 'no audit'
    : html`<span class="${result === 'exact' ? 'good' : 'bad'}">audit ${result.replace('_', ' ')}</span>`;
}

/** @param {RunFile} run */
function badges(run) {
  const result = auditResult(run);
  const failed = run.thresholds.filter(({ passed }) => !passed).length;
  const broken = run.counts.failed + run.counts.timedOut;
  return [
    result === null
      ? run.end !== 'running' && badge('no audit', 'plain')
      : badge(`audit ${result.replace('_', ' ')}`, result === 'exact' ? 'good' : 'bad'),
    run.thresholds.length > 0 &&
      badge(
        failed === 0
          ? `all ${run.thresholds.length} thresholds hold`
          : `${failed} of ${run.thresholds.length} thresholds failed`,
        failed === 0 ? 'good' : 'bad',
      ),
    badge(
      broken === 0 ? 'no failures' : `${quantity(broken, 'count')} failed or timed out`,
      broken === 0 ? 'good' : 'bad',
    ),
    run.reorgs.count > 0 && badge(`${run.reorgs.count} reorgs`, 'bad'),
    run.warnings.length > 0 && badge(`${run.warnings.length} warning${run.warnings.length === 1 ? '' : 's'}`, 'bad'),
    badge(ENDS[run.end] ?? run.end, GOOD_ENDS.has(run.end) ? 'plain' : 'bad'),
    run.exitCode !== null && badge(`exit code ${run.exitCode}`, run.exitCode === 0 ? 'plain' : 'bad'),
  ];
}

const GOOD_ENDS = new Set(['duration', 'interrupted', 'running']);

/** @type {Record<string, string>} */
const ENDS = {
  running: 'not ended: figures so far',
  duration: 'ran for its duration',
  interrupted: 'interrupted, then drained',
  terminated: 'terminated, then drained',
  set_up_failed: 'ended before its load began',
};

/** @param {RunFile} run */
function droppedWords({ counts, window }) {
  const { dropped, scheduled } = window.counts;
  const where = dropped === counts.dropped ? '' : `${quantity(dropped, 'count')} of them in the window, `;
  return `no wallet was idle; ${where}where ${quantity(scheduled, 'count')} were due`;
}

/** @param {RunFile} run @param {Censored} censored @returns {KeyFigure[]} */
function figures(run, censored) {
  const { rates, latency, counts, generator, window } = run;
  const isOpenLoop = rates.askedPerSecond !== null;
  /** @param {LatencyName} name @param {string} label */
  const time = (name, label) => ({ name, label, ...latencyFigure(latency.total, censored, name) });
  /** @param {string} name @param {string} label @param {number | null} value */
  const rate = (name, label, value) => ({ name, label, value, text: quantity(value, 'plain') });
  /** @param {string} name @param {string} label @param {number} value */
  const count = (name, label, value) => ({ name, label, value, text: quantity(value, 'count') });
  const why = run.unmeasured['/generator/cpuUsPerVerified'];
  return [
    {
      ...rate('tps', isPlain(run) ? 'Calls per second' : 'TPS', rates.verifiedPerSecond),
      note: `${countedWords(isPlain(run)).verified} per second`,
    },
    ...(isOpenLoop
      ? [
          rate('asked', 'Asked per second', rates.askedPerSecond),
          ...(run.end === 'running' ? [] : [rate('achieved', 'Achieved per second', rates.achievedPerSecond)]),
        ]
      : []),
    time('p50', 'Latency p50'),
    time('p99', 'Latency p99'),
    time('max', 'Slowest'),
    count('counts.verified', isPlain(run) ? 'Answered' : 'Verified', counts.verified),
    count('counts.failed', 'Failed', counts.failed),
    count('counts.timedOut', 'Timed out', counts.timedOut),
    ...(isOpenLoop || counts.dropped > 0
      ? [{ ...count('counts.dropped', 'Dropped', counts.dropped), note: droppedWords(run) }]
      : []),
    { name: 'window', label: 'Window', value: window.durationMs, text: quantity(window.durationMs / 1000, 'seconds') },
    {
      name: 'cpu',
      label: `CPU per ${countedWords(isPlain(run)).one}`,
      value: generator.cpuUsPerVerified,
      text: generator.cpuUsPerVerified === null ? '–' : `${quantity(generator.cpuUsPerVerified, 'plain')} µs`,
      note: why === undefined ? 'of this generator' : sentence(why),
    },
  ];
}
