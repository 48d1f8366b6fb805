import { auditGaps, auditResult } from '../stats/audit-result.js';
import { heldRate, shortWindow } from '../stats/growth.js';
import { LISTED_COUNTS } from '../stats/metrics.js';
import { censoredOf, figureOf, nodeCpuPercent, socketWarnings } from '../stats/figures.js';
import { endpointsOf } from '../stats/recorder.js';
import { STAGES, countedWords, isPlain } from '../stats/sample.js';
import { byCode, count, filled, hanging, printable, seconds, tenths } from '../text.js';
import { amount, boundedMs, figure, figuresTable, megabytes, textOf } from './format.js';
import { noPaint } from './terminal.js';

/**
 * @import { AuditReport, Check, DistributionJson, RunFile, ThresholdResult } from '../types.d.ts'
 * @import { Paint, Style } from './terminal.js'
 *
 * @typedef {{text: string, style: Style, word?: string}} Highlight word: the first one is painted; without it, all of the text
 */

/**
 * The summary: what a run prints at its end, and `stress summary` for run files.
 * @param {RunFile} run
 * @returns {string[]} empty with one endpoint
 */
function endpointsTable(run) {
  const endpoints = endpointsOf(run);
  if (endpoints.length === 0) return [];
  const words = countedWords(isPlain(run));
  const rows = endpoints.map(({ display, group: { counts, latency, censored }, tps, left, awayMs }) => [
    ...[`  ${display}`, count(counts.verified), count(counts.failed), count(counts.timedOut), figure(tps)],
    ...boundedMs(latency, censored, ['avg', 'p50', 'p99']),
    ...[count(left), left === 0 ? '' : seconds(awayMs)],
  ]);
  const counted = ['  endpoint', words.verified, 'failed', 'timed out', words.tps];
  return [figuresTable([...counted, 'avg ms', 'p50', 'p99', 'outages', 'down'], rows)];
}

/** @typedef {any} Merged see docs/run.schema.json */

/** Instances with their own line. */
const INSTANCES_SHOWN = 20;

/** @param {RunFile} run @returns {Merged | null} */
export function mergedOf(run) {
  return /** @type {any} */ (run).merged ?? null;
}

/** @param {RunFile} run @returns {string[]} empty for one instance */
function mergedText(run) {
  const merged = mergedOf(run);
  if (merged === null) return [];
  const { instances } = merged;
  return [
    instancesTable(instances, countedWords(isPlain(run))),
    ...(instances.length > INSTANCES_SHOWN
      ? [`  ... and ${count(instances.length - INSTANCES_SHOWN)} more instances`]
      : []),
    ...mergedLines(run).map((line) => `  ${line}`),
  ];
}

/** @param {RunFile} run @returns {string[]} lines on all instances */
export function mergedLines(run) {
  const merged = mergedOf(run);
  const { superseded, damaged, common } = merged;
  return [
    startText(merged),
    common === null
      ? 'common      NONE: at no time were all of them in their windows'
      : `common      ${seconds(common.durationMs)} from ${common.startedAt} on`,
    ...superseded
      .slice(0, INSTANCES_SHOWN)
      .map(
        (/** @type {any} */ one) =>
          `superseded  instance ${one.index}, attempt ${one.attempt}: its ${count(one.verified)} verified operations are in no figure`,
      ),
    ...damaged.slice(0, INSTANCES_SHOWN).map((/** @type {any} */ one) => `damaged     ${one.name}: ${one.why}`),
    ...unresolvedText(merged),
    'latency, and figures of the generator, cover the own window of each instance; rates the common window',
  ];
}

/** @param {any[]} instances @param {ReturnType<typeof countedWords>} words */
function instancesTable(instances, words) {
  const rows = instances.slice(0, INSTANCES_SHOWN).map((one) => {
    const { index, attempt, offset, threads, counts, partial, host } = one;
    return [
      `  ${index ?? '-'}${attempt > 0 ? `, attempt ${attempt}` : ''}`,
      ...[`${offset}..${offset + threads - 1}`, one.windowStartedAt.slice(11, 23), seconds(one.durationMs)],
      ...[count(counts.verified), count(counts.failed + counts.timedOut + counts.abandoned)],
      ...[figure(one.verifiedPerSecond), auditWord(one), partial ? 'PARTIAL' : (host ?? '')],
    ];
  });
  const head = ['  instance', 'wallets', 'began', 'window', words.verified, 'failed', words.tps, 'audit', 'host'];
  const colAligns = ['left', 'left', 'left', 'right', 'right', 'right', 'right', 'left', 'left'];
  return textOf(Object.assign(rows, { head, colAligns }));
}

/** @param {any} instance @returns {string} the result of its audit */
export function auditWord({ auditExact, auditResult = null }) {
  if (auditResult === 'incomplete') return 'INCOMPLETE';
  return auditExact === null ? 'none' : auditExact ? 'exact' : 'NOT EXACT';
}

/** @param {Merged} merged */
function startText({ startSkewMs, rawStartSkewMs, clockSkewMs, clocksKnownToMs = null }) {
  const start = `start       all within ${count(startSkewMs)} ms`;
  const isRaw = Math.abs(rawStartSkewMs - startSkewMs) < 1;
  const raw = isRaw ? '' : ` (${seconds(rawStartSkewMs)} by their own clocks, which do not agree)`;
  if (clockSkewMs === null) return `${start}${raw}; nothing tells whether their clocks agree`;
  const known = clocksKnownToMs === null ? '' : `, and may be ${count(clocksKnownToMs)} ms off that`;
  return `${start}${raw}; their clocks are ${count(clockSkewMs)} ms apart, as far as blocks tell${known}`;
}

/** @param {Merged} merged @returns {string[]} */
function unresolvedText({ unresolved }) {
  const lines = unresolved.slice(0, INSTANCES_SHOWN).map((/** @type {any} */ one) => {
    const who = one.index === null ? '' : `instance ${one.index}, `;
    const what =
      one.lastKnownAt === null
        ? 'MISSING: nothing is known of it'
        : `PARTIAL: ${count(one.inFlight)} operations in flight at ${one.lastKnownAt}; the outcome of these and of later ones is unknown`;
    return `unresolved  ${who}wallets ${one.offset}..${one.offset + one.threads - 1}: ${what}`;
  });
  const more = unresolved.length - INSTANCES_SHOWN;
  return more > 0 ? [...lines, `... and ${count(more)} more of them`] : lines;
}

/**
 * Figures by operation name, the most frequent first; empty with one name.
 * @param {Pick<RunFile, 'byName' | 'window'>} run
 * @returns {string[]} one table
 */
function namesTable({ byName = {}, window }) {
  const groups = Object.entries(byName).sort(([, a], [, b]) => endedOf(b) - endedOf(a));
  if (groups.length === 0) return [];
  const isGasKnown = groups.some(([, { gas }]) => (gas?.operations ?? 0) > 0);
  const rows = groups.map(([name, { counts, windowVerified, gas, latency, censored }]) => {
    const perSecond = window.durationMs === 0 ? null : (1000 * windowVerified) / window.durationMs;
    return [
      ...[`    ${name}`, count(endedOf({ counts })), figure(perSecond), count(counts.failed)],
      ...(isGasKnown ? [count(gas && gas.operations > 0 ? gas.used / gas.operations : null)] : []),
      ...boundedMs(latency, censored, ['avg', 'p50', 'p90', 'p95', 'p99', 'max']),
    ];
  });
  const gasHead = isGasKnown ? ['gas'] : [];
  const head = ['  by name', 'count', 'per second', 'failed', ...gasHead, 'avg ms', 'p50', 'p90', 'p95', 'p99', 'max'];
  return [figuresTable(head, rows)];
}

/** The shares of the members of --mix in the verified operations. @param {RunFile} run @param {number} columns @returns {string[]} */
function mixText({ byName = {}, counts, config, rates, environment }, columns) {
  const { mix = [], calls = null } = /** @type {any} */ (environment.workload) ?? {};
  if (mix.length === 0 || counts.verified === 0) return [];
  const sumOf = (/** @type {Array<{weight: number}>} */ members) => sum(members.map(({ weight }) => weight));
  const verifiedOf = (/** @type {{name: string}} */ { name }) => byName[name]?.counts.verified ?? 0;
  const all = sumOf(mix) + (calls?.weight ?? 0);
  // In a closed loop users make calls as fast as they are answered.
  const isByUsers = calls !== null && rates.askedPerSecond === null;
  const asked = isByUsers ? 'of the users' : 'asked for';
  const users = calls === null ? 0 : calls.users / Number(config.threads);
  const shareOf = (/** @type {{weight: number}} */ { weight }) =>
    isByUsers ? ((1 - users) * weight) / sumOf(mix) : weight / all;
  /** @type {Array<[name: string, verified: number, share: number]>} */
  const rows = mix.map((/** @type {{name: string, weight: number}} */ member) => [
    member.name,
    verifiedOf(member),
    shareOf(member),
  ]);
  const transactions = sum(rows.map(([, verified]) => verified));
  if (calls !== null) rows.push(['calls', counts.verified - transactions, isByUsers ? users : calls.weight / all]);
  const shares = rows.map(
    ([name, verified, share]) =>
      `${name} ${tenths((100 * verified) / counts.verified)} % (${tenths(100 * share)} % ${asked})`,
  );
  return [wrapped('mix', shares.join(', '), columns)];
}

/** Figures of the stages of --stages. @param {RunFile} run @returns {string[]} one table; empty without them */
function stagesTable({ byStage = [] }) {
  if (byStage.length === 0) return [];
  const rows = byStage.map(({ stage, startMs, endMs, fromPerSecond: from, toPerSecond: to, counts, tps, ...group }) => [
    ...[`    ${stage}`, seconds(startMs), seconds(endMs)],
    ...[from === to ? figure(to) : `${figure(from)}..${figure(to)}`, count(counts.scheduled)],
    ...[count(counts.dropped), count(counts.verified), figure(tps)],
    ...boundedMs(group.latency, group.censored, ['avg', 'p50', 'p99']),
  ]);
  const head = ['  load stage', 'from', 'to', 'asked/s', 'due', 'dropped', 'verified', 'TPS', 'avg ms', 'p50', 'p99'];
  return [figuresTable(head, rows)];
}

/** Operations of the whole run that ended. @param {{counts: Record<string, number>}} group */
function endedOf({ counts }) {
  return Object.values(counts).reduce((sum, value) => sum + value, 0);
}

/** Six digits, because 99.96 must not look like 100. */
const precise = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 6 });

/** @param {readonly ThresholdResult[]} results @returns {Highlight[]} a line for each */
function thresholdLines(results) {
  const rows = results.map((result, i) => [
    i === 0 ? '  thresholds' : '',
    result.passed ? 'passed' : 'FAILED',
    result.expression.replace(/\s+/g, ' '),
    measuredText(result),
  ]);
  const lines = textOf(rows).split('\n');
  return results.map(({ passed }, i) => {
    return { text: lines[i], style: passed ? 'green' : 'red', word: passed ? 'passed' : 'FAILED' };
  });
}

/** @param {ThresholdResult} result */
export function measuredText({ value, unit, why, atMost, censored }) {
  if (value === null) return `not measured: ${why}`;
  if (typeof value === 'string') return value;
  if (atMost === undefined) return valueText(value, unit);
  const bounds =
    atMost === null ? `>= ${valueText(value, unit)}` : `${valueText(value, unit)} to ${valueText(atMost, unit)}`;
  return `${bounds}; ${count(censored ?? null)} censored`;
}

/** @param {number} value @param {ThresholdResult['unit']} unit */
function valueText(value, unit) {
  const text = precise.format(value);
  if (unit === 'us') return Math.abs(value) < 1000 ? `${text} us` : `${precise.format(value / 1000)} ms`;
  if (unit === 'bytes') return `${precise.format(value / 1e6)} MB`;
  if (unit === 'percent') return `${text} %`;
  if (unit === 'gasPerSecond') return `${precise.format(value / 1e6)} Mgas/s`;
  return unit === 'perSecond' ? `${text} per second` : count(value);
}

/**
 * @param {RunFile} run
 * @param {boolean} explain
 * @param {Paint} [paint]
 * @param {number} [columns] of the terminal
 * @returns {string} printable
 */
export function summaryText(run, explain, paint = noPaint, columns = Infinity) {
  const short = shortWindow(run);
  /** @type {Array<string | Highlight>} */
  const parts = [
    '',
    `Summary: ${headline(run)}, window ${seconds(run.window.durationMs)}`,
    ...mergedText(run),
    ...(run.end === 'running' && mergedOf(run) === null
      ? [`  partial: the generator ended before the run did; figures up to ${run.endedAt}`]
      : []),
    overview(run),
    ...(short === null ? [] : [highlight('yellow', wrapped('warning', short.words, columns))]),
    ...Object.entries(run.failureWords).map(([code, words]) => `  first ${code}: ${words}`),
    latencyTable(run),
    ...namesTable(run),
    ...mixText(run, columns),
    ...endpointsTable(run),
    ...stagesTable(run),
    ...surroundings(run, columns),
    ...thresholdLines(run.thresholds),
    ...(run.verdict === null
      ? []
      : [highlight('bold', wrapped('verdict', `${run.verdict.name}: ${run.verdict.evidence}`, columns))]),
    auditHighlight(run),
  ];
  const counted = LISTED_COUNTS.map(({ name, help }) => [name, help]);
  if (explain) parts.push('', ...[...Object.entries(run.definitions), ...counted].map((line) => line.join(': ')));
  return parts.map((part) => painted(part, paint, columns)).join('\n');
}

/** @param {Style} style @param {string} text @returns {Highlight} */
function highlight(style, text) {
  return { style, text };
}

/**
 * Escape codes are added last, because printable() removes them.
 * @param {string | Highlight} part
 * @param {Paint} paint
 * @param {number} columns of the terminal
 */
function painted(part, paint, columns) {
  const { style = null, text, word = null } = typeof part === 'string' ? { text: part } : part;
  const lines = printable(text)
    .split('\n')
    .map((line) => hanging(line, columns))
    .join('\n');
  return style === null ? lines : lines.replace(word ?? lines, (found) => paint(style, found));
}

/** @param {RunFile} run @returns {string | Highlight} */
function auditHighlight(run) {
  const text = auditText(run);
  const result = auditResult(run);
  if (result === null) return text;
  return { text, ...AUDIT_STYLES[result] };
}

/** @type {Readonly<Record<NonNullable<ReturnType<typeof auditResult>>, {style: Style, word: string}>>} */
const AUDIT_STYLES = Object.freeze({
  exact: { style: 'green', word: 'exact' },
  incomplete: { style: 'yellow', word: 'INCOMPLETE' },
  not_exact: { style: 'red', word: 'NOT EXACT' },
});

/** How many instances there are, why they ended and the iterations made. @param {RunFile} run */
function headline(run) {
  const { end, verdict, config, counts, environment } = run;
  const { instances = null, expected = null } = mergedOf(run) ?? {};
  const of = expected === null || expected === instances.length ? '' : ` of ${count(expected)}`;
  const words = `${instances === null ? '' : `${count(instances.length)}${of} instances as one, `}${END_WORDS[end] ?? end}`;
  // A run may reach its end although the endpoint was down.
  const down = verdict?.name === 'endpoint-down' && end === 'duration' ? ', but the endpoint was down' : '';
  if (typeof config.iterations !== 'number') return words + down;
  const perIteration = Number(/** @type {any} */ (environment.workload)?.callsPerIteration ?? 1);
  const made = Math.floor((counts.started - counts.abandoned) / perIteration);
  return `${words}${down} (${count(made)} of ${count(config.iterations * Number(config.threads))})`;
}

/** Why a run ended, by `end` of its run file. @type {Record<string, string>} */
export const END_WORDS = {
  running: 'not ended',
  duration: 'ran for its duration',
  iterations: 'all iterations were made',
  interrupted: 'interrupted',
  terminated: 'terminated',
  hangup: 'terminal closed',
  foreign_sender: 'ended because a transaction of the wallets is not of this run',
  max_spend: 'ended because its spend cap was reached',
  no_wallets: 'ended because no wallet was left to work with',
  workload_failed: 'ended because its workload failed',
  endpoint_lost: 'ended because the endpoint was lost',
  chain_replaced: 'ended because the endpoint does not serve the chain as it was at the start',
  worker_died: 'ended because a worker thread died',
  chain_ended: 'ended because the embedded chain ended',
  internal: 'ended by a bug of stress',
  audit_failed: 'the audit could not be made',
  set_up_failed: 'ended before its load began',
  output_closed: 'ended because its output was closed',
};

/** @param {RunFile} run */
function overview(run) {
  const { counts, window, rates, generator } = run;
  const isOpenLoop = rates.askedPerSecond !== null;
  const words = countedWords(isPlain(run));
  const hasCalls = /** @type {any} */ (run.environment.workload)?.calls !== undefined && !isPlain(run);
  /** @type {string[][]} */
  const rows = [
    [
      `  ${words.tps}`,
      figure(rates.verifiedPerSecond),
      `${words.verified} per second of the window (${count(window.counts.verified)} in it)${hasCalls ? ', calls included' : ''}`,
    ],
    isOpenLoop
      ? rateRow(run)
      : [
          '  achieved',
          figure(rates.achievedPerSecond),
          `begun in the window and ${words.verified}, also after its end, per second`,
        ],
    ...gasRateRow(run),
    ['  attempts', count(counts.started), ''],
    ...(isOpenLoop || counts.dropped > 0 ? [droppedRow(run)] : []),
    [`  ${words.verified}`, count(counts.verified), ''],
    ['  failed', count(counts.failed), byCode(run.failures)],
    ['  timed out', count(counts.timedOut), ''],
    ...LISTED_COUNTS.map(({ name, label, help }) => {
      const value = /** @type {Record<string, number>} */ (counts)[name] ?? null;
      return [`  ${label}`, count(value), help];
    }),
    ...(run.inFlight > 0 ? [['  in flight', count(run.inFlight), '']] : []),
    ['  abandoned', count(counts.abandoned), counts.abandoned > 0 ? 'still open when the drain ended' : ''],
    [
      '  generator',
      figure(generator.cpuUsPerVerified),
      `us of CPU per ${words.verified} ${words.one}; peak memory ${megabytes(generator.peakRssBytes)}`,
    ],
  ];
  return textOf(Object.assign(rows, { colAligns: ['left', 'right'] }));
}

/** @param {RunFile} run @returns {string[]} empty without fees */
function feesText(run) {
  const { setUpWei, spentWei, leftWei = null, capWei } = run.spending;
  const [setUp, left, fees] = [setUpWei, leftWei, spentWei].map((wei) => (wei === null ? null : BigInt(wei)));
  if ((fees ?? (setUp ?? 0n) + (left ?? 0n)) === 0n) return [];
  const words = capWei === null ? [] : [`the limit is ${amount(BigInt(capWei))} (--max-spend)`];
  if (setUp !== null && setUp > 0n) words.push(`${amount(setUp)} for the set-up`);
  if (left !== null) {
    const { name, verified } = verifiedTransactions(run);
    const each = verified === 0 ? '' : `, ${amount(left / BigInt(verified))} ${name}`;
    words.push(`${amount(left)} left the wallets in the load${each}${fees === null ? ', sent value included' : ''}`);
  }
  return [`  fees        ${fees === null ? 'total not known' : amount(fees)}: ${words.join('; ')}`];
}

/** Without the calls of a mix. @param {RunFile} run */
function verifiedTransactions({ counts, byName = {}, environment }) {
  const { mix = [], calls } = /** @type {any} */ (environment.workload) ?? {};
  if (calls === undefined || mix.length === 0) return { name: 'an operation', verified: counts.verified };
  const verified = mix.map((/** @type {{name: string}} */ { name }) => byName[name]?.counts.verified ?? 0);
  return { name: 'a transaction', verified: sum(verified) };
}

/** @param {number[]} values */
function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

/** Two digits, so that small shares do not look like 0. */
const twoDigits = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 2 });

/** @param {RunFile} run @returns {[string, string, string]} */
function rateRow(run) {
  const held = heldRate(run);
  // A merge may know the asked rate without the achieved rate.
  if (held === null) return ['  rate', '-', `achieved of ${tenths(run.rates.askedPerSecond ?? 0)} asked per second`];
  const { asked, rate, isHeld, growth } = held;
  const of =
    growth === null
      ? `achieved of ${tenths(asked)} asked per second`
      : `of ${tenths(asked)} asked per second in the window, the rest after it`;
  const short = isHeld ? '' : `: ${tenths(100 - (100 * rate) / asked)} % SHORT of the rate asked for`;
  return ['  rate', tenths(rate), of + short];
}

/** Drops in the window, as in thresholds and warnings. @param {RunFile} run @returns {[string, string, string]} */
function droppedRow({ window, counts }) {
  const { dropped, scheduled } = window.counts;
  const share = twoDigits.format(scheduled === 0 ? 0 : (100 * dropped) / scheduled);
  const why = dropped === 0 ? '' : ': no wallet was idle';
  const others = counts.dropped - dropped;
  const outside = others > 0 ? `; ${count(others)} more outside of it` : '';
  return ['  dropped', count(dropped), `${share} % of ${count(scheduled)} due in the window${why}${outside}`];
}

/** @param {RunFile} run */
function latencyTable(run) {
  const { latency, rates } = run;
  const { stages } = latency;
  const names = /** @type {const} */ (['avg', 'min', 'p50', 'p90', 'p99', 'p99.9', 'max']);
  const censored = censoredOf(run);
  const shown = STAGES.filter((stage) => !isPlain(run) || stage === 'queued' || stage === 'submit');
  /** @type {Array<[string, DistributionJson, DistributionJson?]>} */
  const rows = [
    ['  latency ms', latency.total, censored],
    ['  from start', latency.fromStart, latency.fromStartCensored ?? censored],
    ...shown.map((stage) => {
      const name = `    ${stage === 'readBack' ? 'read-back' : stage}`;
      return /** @type {[string, DistributionJson]} */ ([name, stages[stage]]);
    }),
  ];
  // In a closed loop an operation is due when it starts.
  if (rates.askedPerSecond === null) rows.splice(1, 1);
  const text = figuresTable(
    ['', ...names],
    rows.map(([name, json, others]) => [name, ...boundedMs(json, others, names)]),
  );
  if (censored.count === 0) return text;
  const words = `${count(censored.count)} of ${count(latency.total.count)} operations got no good answer in time`;
  return `${text}\n  censored    ${words}: figures with >= are lower bounds; stages leave these operations out`;
}

/** Lines on blocks, fees, problems, machine and node. @param {RunFile} run @param {number} columns */
function surroundings(run, columns) {
  const { blocks, probes, generator } = run;
  const lines = [];
  const { headSource, inclusionResolutionMs } = generator;
  if (headSource === 'subscription') lines.push('  heads       pushed by the node');
  else if (inclusionResolutionMs !== null)
    lines.push(
      `  heads       polled every ${count(inclusionResolutionMs)} ms: inclusion times are up to ${count(inclusionResolutionMs)} ms late`,
    );
  const { count: seen, skewSumMs, skewMinMs, skewMaxMs } = blocks;
  if (seen > 0 && skewMinMs !== null && skewMaxMs !== null) {
    const isAhead = skewSumMs < 0;
    const [mean, least, most] = isAhead
      ? [-skewSumMs / seen, -skewMaxMs, -skewMinMs]
      : [skewSumMs / seen, skewMinMs, skewMaxMs];
    const figures = `${seconds(mean)} ${isAhead ? 'before' : 'after'} their timestamps on average (${tenths(least / 1000)} to ${seconds(most)})`;
    lines.push(
      `  block skew  seen ${figures}; ${isAhead ? 'the timestamps of this node are ahead of the clock' : 'their resolution is 1 s'}`,
    );
  }
  lines.push(...gasText(run), ...feesText(run), ...troubles(run));
  const sockets = probes?.sockets ?? null;
  for (const words of sockets === null ? [] : socketWarnings(sockets)) lines.push(wrapped('machine', words, columns));
  const node = probes?.node ?? null;
  if (node !== null)
    lines.push(`  node        CPU ${count(nodeCpuPercent(run))} % of a core; peak memory ${megabytes(node.rssBytes)}`);
  return lines;
}

/** What --rate 30Mgas asked for. @param {RunFile} run @returns {string[][]} */
function gasRateRow(run) {
  const { gasRate } = run;
  if (gasRate === undefined) return [];
  const { gasPerSecond, gasPerOperation, perSecond } = gasRate;
  const own = figureOf('gas')?.read(run) ?? null;
  const percent = own === null ? '' : ` (${twoDigits.format((100 * own) / gasPerSecond)} %)`;
  const measured = gasPerOperation === null ? 'of an estimated gas' : `of ${count(gasPerOperation)} gas in the warm-up`;
  return [
    [
      '  Mgas/s',
      figure(own === null ? null : own / 1e6),
      `of ${figure(gasPerSecond / 1e6)} asked for${percent}: ${figure(perSecond)} operations per second ${measured}`,
    ],
  ];
}

/** @param {RunFile} run @returns {string[]} */
function gasText(run) {
  const [own, chain, perOperation, mean, p50, p90] = GAS_FIGURES.map((name) => figureOf(name)?.read(run) ?? null);
  if (run.blocks.count === 0 || chain === null) return [];
  const ours = own === null ? '' : `${figure(own / 1e6)} Mgas/s by this run, ${count(perOperation)} an operation; `;
  const full =
    mean === null
      ? ''
      : `; blocks ${tenths(mean)} % full on average, p50 ${tenths(p50 ?? 0)} %, p90 ${tenths(p90 ?? 0)} %`;
  return [`  gas         ${ours}${figure(chain / 1e6)} Mgas/s in all blocks${full}`];
}

const GAS_FIGURES = ['gas', 'chain.gas', 'gas.op', 'fullness', 'fullness.p50', 'fullness.p90'];

/** A stall is longer than STALL_MS and than STALL block intervals. */
const STALL_MS = 2000;
const STALL = 10;
const LISTED_OUTAGES = 3;

/** Lines on outages, stalls, resubmissions and reorgs. @param {RunFile} run */
function troubles({ generator, reorgs, blocks, window }) {
  const outages = generator.outages ?? [];
  const lines = outages.slice(0, LISTED_OUTAGES).map(({ fromMs, toMs, words }) => {
    const until = toMs === undefined ? 'to the end' : `for ${seconds(toMs - fromMs)}`;
    return `  outage      no answer ${until}, from ${seconds(fromMs)} after the load began on: ${words}`;
  });
  if (outages.length > LISTED_OUTAGES) lines.push(`  outage      and ${count(outages.length - LISTED_OUTAGES)} more`);
  const gapMs = blocks.gapMaxMs ?? 0;
  if (blocks.count > 1 && gapMs >= Math.max(STALL_MS, STALL * (window.durationMs / blocks.count)))
    lines.push(
      `  stall       no new block was seen for ${seconds(gapMs)}; ${seconds(window.durationMs / blocks.count)} is the average`,
    );
  const { repeated, rebroadcast, lost = 0, replaced } = generator.resubmissions;
  /** @type {Array<[number, string]>} */
  const sentAgain = [
    [repeated, 'without an answer, or while the node was busy'],
    [lost, 'lost by the node'],
    [rebroadcast - lost, lost > 0 ? 'rebroadcast for other reasons' : 'rebroadcast'],
    [replaced, 'with a higher fee'],
  ];
  const parts = sentAgain.flatMap(([times, words]) => (times > 0 ? `${count(times)} ${words}` : []));
  if (parts.length > 0) lines.push(`  sent again  ${parts.join(', ')}`);
  if (reorgs.count > 0)
    lines.push(
      `  reorgs      ${count(reorgs.count)}, ${count(reorgs.deepest)} blocks deep at most; ${count(reorgs.operations)} operations were in these blocks`,
    );
  return lines;
}

/** A sentence of any length. @param {string} label @param {string} words @param {number} columns of the terminal */
function wrapped(label, words, columns) {
  const lines = filled(words, Math.min(columns, LINE_LENGTH) - INDENT);
  return `  ${label}`.padEnd(INDENT) + lines.join(`\n${' '.repeat(INDENT)}`);
}

/** In files and pipes. */
const LINE_LENGTH = 100;
/** Columns before the words. */
const INDENT = 14;

/** @param {RunFile} run @returns {string} lines, the first with a label */
export function auditText(run) {
  const audit = /** @type {AuditReport | null} */ (run.audit);
  const result = auditResult(run);
  if (audit === null) {
    const [why] = auditGaps(run);
    return result === null ? `  audit       none: ${run.unmeasured['/audit']}` : `  audit       INCOMPLETE: ${why}`;
  }
  const { blockNumber, includedLate, reorgedOut, effectsOnChain, subject = 'counters grew by', checks = [] } = audit;
  const gone = reorgedOut === 0 ? '' : ` - ${count(reorgedOut)} reorged out`;
  const ours = `${count(audit.verified)} verified + ${count(includedLate)} included late${gone}`;
  const grew = `${subject} ${count(Number(effectsOnChain))}`;
  const equation = `${count(audit.wallets)} ${grew} = ${ours}, at block ${count(blockNumber)}`;
  if (result === 'exact') return [`  audit       exact: ${equation}`, ...checks.map(checkText)].join('\n');
  if (result === 'incomplete') {
    const exactFor = exactInstances(run);
    const words =
      exactFor === null
        ? `nothing disagrees at block ${count(blockNumber)}: ${ours}, and the ${grew}`
        : `${exactFor}: ${equation}`;
    const held = checks.filter(({ holds }) => holds).map(checkText);
    return [`  audit       INCOMPLETE: ${words}`, ...gapLines(run), ...openLines(audit), ...held].join('\n');
  }
  const lines = [
    `  audit       NOT EXACT at block ${count(blockNumber)}: ${ours}, ${audit.mismatchCount > 0 ? 'but' : 'and'} the ${grew}` +
      ` (ours are at least ${audit.bounds.atLeast}, at most ${audit.bounds.atMost}); ${count(audit.pending)} pending, ${count(audit.replaced)} replaced`,
    ...checks.filter(({ holds }) => holds !== null).map(checkText),
    ...gapLines(run),
    ...audit.mismatches
      .slice(0, LISTED)
      .map(
        (m) =>
          `    wallet ${m.walletIndex} (${m.address}): effect ${m.effect}, expected ${m.expectedEffect}; nonce ${m.nonce}, expected ${m.expectedNonce}; pending ${m.pendingNonce - m.nonce}`,
      ),
    ...audit.foreign
      .slice(0, LISTED)
      .map((f) => `    not ours: ${f.hash} (wallet ${f.walletIndex}, nonce ${f.nonce}, block ${f.blockNumber})`),
    ...openLines(audit),
  ];
  if (audit.mismatchCount > LISTED)
    lines.push(`    ... ${audit.mismatchCount} wallets in all; the run file (--out) lists more`);
  return lines.join('\n');
}

/** @param {AuditReport} audit */
function openLines({ resolutions }) {
  return resolutions
    .filter(({ fate }) => fate === 'pending' || fate === 'replaced')
    .slice(0, LISTED)
    .map((r) => `    ${r.fate}: ${r.hash} (wallet ${r.walletIndex}, nonce ${r.nonce})`);
}

/** @param {RunFile} run @returns {string | null} the instances of a merge with an exact audit; null: some are not exact */
function exactInstances(run) {
  const instances = /** @type {Array<{auditExact: boolean | null}>} */ (mergedOf(run)?.instances ?? []);
  const exact = instances.filter(({ auditExact }) => auditExact).length;
  if (exact === 0 || instances.some(({ auditExact }) => auditExact === false)) return null;
  const of = exact === instances.length ? '' : `${count(exact)} of `;
  return `exact for ${of}the ${count(instances.length)} instances present`;
}

/** @param {RunFile} run */
function gapLines(run) {
  const gaps = auditGaps(run);
  const more = gaps.length > LISTED ? [`    ... ${gaps.length} in all; the run file (--out) lists them`] : [];
  return [...gaps.slice(0, LISTED).map((words) => `    not checked: ${words}`), ...more];
}

/** @param {Check} check that was made */
function checkText({ words, expected, found, holds }) {
  return `    ${words}: ${holds ? `${found}, as it must be` : `${found}, and it must be ${expected}`}`;
}

/** Limit of each list. */
const LISTED = 10;
