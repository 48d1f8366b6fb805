import { auditGaps, auditResult } from '../metrics/audit-result.js';
import { backlog, shortWindow } from '../metrics/pace.js';
import { censoredOf, nodeCpuPercent } from '../metrics/figures.js';
import { countedWords, isPlain, shownStages } from '../metrics/sample.js';
import { amount, boundedMs, count, byCode, figure, megabytes, seconds } from './format.js';
import { endpointsTable } from './endpoints.js';
import { mergedOf, mergedText } from './merged.js';
import { namesTable } from './names.js';
import { borderless, textOf } from './table.js';
import { thresholdsTable } from './thresholds.js';

/**
 * @import { DistributionJson } from '../metrics/distribution.js'
 * @import { RunFile } from '../metrics/summary.js'
 * @import { AuditReport } from '../run/audit.js'
 * @import { Check } from '../workload/index.js'
 */

/**
 * The whole run at a glance.
 * @param {RunFile} run
 * @param {boolean} explain
 */
export function summaryText(run, explain) {
  const parts = [
    '',
    `Summary: ${instancesOf(run)}${ENDS[run.end] ?? run.end}${downText(run)}${iterationsText(run)}, window ${seconds(run.window.durationMs)}`,
    ...mergedText(run),
    ...(run.end === 'running' && mergedOf(run) === null
      ? [`  partial: the generator ended before the run did; figures up to ${run.endedAt}`]
      : []),
    overview(run),
    ...windowText(run),
    ...Object.entries(run.failureWords).map(([code, words]) => `  first ${code}: ${words}`),
    latencyTable(run),
    ...namesTable(run),
    ...endpointsTable(run),
    ...surroundings(run),
    ...(run.thresholds.length === 0 ? [] : [thresholdsTable(run.thresholds)]),
    ...(run.verdict === null ? [] : [wrapped('verdict', `${run.verdict.name}: ${run.verdict.evidence}`)]),
    auditText(run),
  ];
  if (explain) parts.push('', ...Object.entries(run.definitions).map(([name, text]) => `${name}: ${text}`));
  return parts.join('\n');
}

/** @param {RunFile} run */
function instancesOf(run) {
  const merged = mergedOf(run);
  if (merged === null) return '';
  const { instances, expected } = merged;
  const of = expected === null || expected === instances.length ? '' : ` of ${count(expected)}`;
  return `${count(instances.length)}${of} instances as one, `;
}

/** What went on for as long as it was meant to may have had nothing to ask. @param {RunFile} run */
function downText({ verdict, end }) {
  return verdict?.name === 'endpoint-down' && end === 'duration' ? ', but the endpoint was down' : '';
}

/** How many were made, where so many were asked for. @param {RunFile} run */
function iterationsText({ config, counts, environment }) {
  if (typeof config.iterations !== 'number') return '';
  const perIteration = Number(/** @type {any} */ (environment.workload)?.callsPerIteration ?? 1);
  const made = Math.floor((counts.started - counts.abandoned) / perIteration);
  return ` (${count(made)} of ${count(config.iterations * Number(config.threads))})`;
}

/** @type {Record<string, string>} */
const ENDS = {
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
  const table = borderless();
  /** @type {Array<[string, string, string]>} */
  const rows = [
    [
      `  ${words.tps}`,
      figure(rates.verifiedPerSecond),
      `${words.verified} per second of the window (${count(window.counts.verified)} in it)`,
    ],
    isOpenLoop
      ? rateRow(run)
      : [
          '  achieved',
          figure(rates.achievedPerSecond),
          `begun in the window and ${words.verified}, also after its end, per second`,
        ],
    ['  attempts', count(counts.started), ''],
    ...(isOpenLoop || counts.dropped > 0 ? [droppedRow(run)] : []),
    [`  ${words.verified}`, count(counts.verified), ''],
    ['  failed', count(counts.failed), byCode(run.failures)],
    ['  timed out', count(counts.timedOut), ''],
    ...(run.inFlight > 0 ? [/** @type {[string, string, string]} */ (['  in flight', count(run.inFlight), ''])] : []),
    ['  abandoned', count(counts.abandoned), counts.abandoned > 0 ? 'still open when the drain ended' : ''],
    [
      '  generator',
      figure(generator.cpuUsPerVerified),
      `us of CPU per ${words.verified} ${words.one}; peak memory ${megabytes(generator.peakRssBytes)}`,
    ],
  ];
  rows.forEach(([name, value, note]) => table.push([name, { content: value, hAlign: 'right' }, note]));
  return textOf(table);
}

/** @param {RunFile} run @returns {string[]} none where nothing is paid */
function feesText({ spending, counts }) {
  const { setUpWei, spentWei, leftWei = null, capWei } = spending;
  const [setUp, left, fees] = [setUpWei, leftWei, spentWei].map((wei) => (wei === null ? null : BigInt(wei)));
  if ((fees ?? (setUp ?? 0n) + (left ?? 0n)) === 0n) return [];
  const words = capWei === null ? [] : [`at most, of ${amount(BigInt(capWei))} (--max-spend)`];
  if (setUp !== null && setUp > 0n) words.push(`${amount(setUp)} for the set-up`);
  if (left !== null) {
    const each = counts.verified === 0 ? '' : `, ${amount(left / BigInt(counts.verified))} an operation`;
    words.push(`${amount(left)} left the wallets in the load${each}${fees === null ? ', sent value included' : ''}`);
  }
  return [`  fees        ${fees === null ? 'not known apart' : amount(fees)}: ${words.join('; ')}`];
}

/** A share may be small, and is not 0 for that. */
const twoDigits = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 2 });
const oneDecimal = new Intl.NumberFormat('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** However large: 498.9 of 500.0 is not 499 of 500. @param {number} value */
function tenths(value) {
  return oneDecimal.format(value);
}

/** With less of the rate than this, of 1, it is said in capitals. */
const HELD = 0.95;

/** @param {RunFile} run @returns {[string, string, string]} */
function rateRow(run) {
  const { askedPerSecond, achievedPerSecond, verifiedPerSecond } = run.rates;
  const [asked, achieved, verified] = [askedPerSecond ?? 0, achievedPerSecond ?? 0, verifiedPerSecond ?? 0];
  const words = `achieved of ${tenths(asked)} asked per second`;
  const short = (/** @type {number} */ rate) => `${tenths(100 - (100 * rate) / asked)} % SHORT of the rate asked for`;
  if (achieved < HELD * asked) return ['  rate', tenths(achieved), `${words}: ${short(achieved)}`];
  if (backlog(run) === null) return ['  rate', tenths(achieved), words];
  return [
    '  rate',
    tenths(verified),
    `of ${tenths(asked)} asked per second in the window, the rest after it: ${short(verified)}`,
  ];
}

/** Of the window, as thresholds and warnings have it. @param {RunFile} run @returns {[string, string, string]} */
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
  const names = /** @type {const} */ (['avg', 'min', 'p50', 'p90', 'p99', 'p99.9', 'max']);
  const table = borderless({ head: ['', ...names], colAligns: ['left', ...Array(names.length).fill('right')] });
  const censored = censoredOf(run);
  const rows = [
    ['  latency ms', latency.total, censored],
    // The two differ where operations begin later than they were due, which a closed loop does not know.
    ...(rates.askedPerSecond === null
      ? []
      : [['  from start', latency.fromStart, latency.fromStartCensored ?? censored]]),
    ['    queued', latency.stages.queued],
    ['    submit', latency.stages.submit],
    ...(isPlain(run) ? [] : [['    inclusion', latency.stages.inclusion]]),
    ...(shownStages(latency.stages).includes('visibility') ? [['    visibility', latency.stages.visibility]] : []),
    ...(isPlain(run) ? [] : [['    read-back', latency.stages.readBack]]),
  ];
  for (const [name, json, others] of /** @type {Array<[string, DistributionJson, DistributionJson?]>} */ (rows))
    table.push([name, ...boundedMs(json, others, names)]);
  if (censored.count === 0) return textOf(table);
  const words = `${count(censored.count)} of ${count(latency.total.count)} operations got no good answer in time`;
  return `${textOf(table)}\n  censored    ${words}: figures with >= may be any larger; stages are of the others`;
}

/** What was seen beside the load, a line each. @param {RunFile} run */
function surroundings(run) {
  const { blocks, probes, generator } = run;
  const lines = [];
  const { headSource, inclusionResolutionMs } = generator;
  if (headSource === 'subscription') lines.push('  heads       pushed by the node');
  else if (inclusionResolutionMs !== null)
    lines.push(
      `  heads       asked for every ${count(inclusionResolutionMs)} ms: inclusion is seen that much late at most`,
    );
  const { count: seen, skewSumMs, skewMinMs, skewMaxMs } = blocks;
  if (seen > 0 && skewMinMs !== null && skewMaxMs !== null)
    lines.push(
      `  block skew  seen ${seconds(skewSumMs / seen)} after their timestamps on average (${tenths(skewMinMs / 1000)} to ${seconds(skewMaxMs)}); their resolution is 1 s`,
    );
  lines.push(...feesText(run), ...troubles(run));
  const sockets = probes?.sockets ?? null;
  if (sockets !== null) {
    const [fewest] = [...sockets.endpoints].sort((a, b) => a.portsLeft - b.portsLeft);
    const ports = `, ${count(fewest?.portsLeft ?? null)} of ${count(sockets.range.ports)} ports left towards ${fewest?.endpoint}`;
    lines.push(
      `  machine     at worst ${count(sockets.timeWait)} sockets in TIME_WAIT${fewest === undefined ? '' : ports}`,
    );
  }
  const node = probes?.node ?? null;
  if (node !== null)
    lines.push(`  node        CPU ${count(nodeCpuPercent(run))} % of a core; peak memory ${megabytes(node.rssBytes)}`);
  return lines;
}

/** Longer than this, and than so many block intervals, is no chance. */
const STALL_MS = 2000;
const STALL = 10;
const SHOWN_OUTAGES = 3;

/** What had to be overcome, if anything had. @param {RunFile} run */
function troubles({ generator, reorgs, blocks, window }) {
  const outages = generator.outages ?? [];
  const lines = outages.slice(0, SHOWN_OUTAGES).map(({ fromMs, toMs, words }) => {
    const until = toMs === undefined ? 'to the end' : `for ${seconds(toMs - fromMs)}`;
    return `  outage      no answer ${until}, from ${seconds(fromMs)} after the load began on: ${words}`;
  });
  if (outages.length > SHOWN_OUTAGES) lines.push(`  outage      and ${count(outages.length - SHOWN_OUTAGES)} more`);
  const gapMs = blocks.gapMaxMs ?? 0;
  if (blocks.count > 1 && gapMs >= Math.max(STALL_MS, STALL * (window.durationMs / blocks.count)))
    lines.push(
      `  stall       no new block was seen for ${seconds(gapMs)}; ${seconds(window.durationMs / blocks.count)} is the average`,
    );
  const { fromMs: stallMs = 0, toMs: stallEndMs = 0, words: refusal } = generator.submissionStall ?? {};
  // In an outage nothing is accepted, and it is said already.
  const isSaid = outages.some(({ fromMs, toMs = Infinity }) => fromMs <= stallEndMs && toMs >= stallMs);
  if (stallEndMs - stallMs >= STALL_MS && !isSaid)
    lines.push(
      `  stall       no submission was accepted for ${seconds(stallEndMs - stallMs)}, from ${seconds(stallMs)} after the load began on: ${refusal}`,
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

/** A long sentence is broken where it would not fit. @param {string} label @param {string} words */
function wrapped(label, words) {
  const lines = [`  ${label}`.padEnd(INDENT)];
  for (const word of words.split(' ')) {
    if (`${lines.at(-1)} ${word}`.length > LINE_LENGTH) lines.push(' '.repeat(INDENT));
    lines.push(`${lines.pop()} ${word}`);
  }
  return lines.join('\n');
}

const LINE_LENGTH = 100;
/** One less than where the words of these lines begin. */
const INDENT = 13;

/** How far the figures above may be off. @param {RunFile} run @returns {string[]} */
function windowText(run) {
  const short = shortWindow(run);
  return short === null ? [] : [wrapped('warning', short.words)];
}

/** @param {RunFile} run */
function auditText(run) {
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
      .slice(0, SHOWN)
      .map(
        (m) =>
          `    wallet ${m.walletIndex} (${m.address}): effect ${m.effect}, expected ${m.expectedEffect}; nonce ${m.nonce}, expected ${m.expectedNonce}; pending ${m.pendingNonce - m.nonce}`,
      ),
    ...audit.foreign
      .slice(0, SHOWN)
      .map((f) => `    not ours: ${f.hash} (wallet ${f.walletIndex}, nonce ${f.nonce}, block ${f.blockNumber})`),
    ...openLines(audit),
  ];
  if (audit.mismatchCount > SHOWN)
    lines.push(`    ... ${audit.mismatchCount} wallets in all; the run file (--out) lists more`);
  return lines.join('\n');
}

/** @param {AuditReport} audit */
function openLines({ resolutions }) {
  return resolutions
    .filter(({ fate }) => fate === 'pending' || fate === 'replaced')
    .slice(0, SHOWN)
    .map((r) => `    ${r.fate}: ${r.hash} (wallet ${r.walletIndex}, nonce ${r.nonce})`);
}

/** @param {RunFile} run @returns {string | null} for which instances of a merge the audit is exact, if it is for all that have one */
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
  const more = gaps.length > SHOWN ? [`    ... ${gaps.length} in all; the run file (--out) lists them`] : [];
  return [...gaps.slice(0, SHOWN).map((words) => `    not checked: ${words}`), ...more];
}

/** @param {Check} check one that could be made */
function checkText({ words, expected, found, holds }) {
  return `    ${words}: ${holds ? `${found}, as it must be` : `${found}, and it must be ${expected}`}`;
}

/** How many wallets, transactions and operations are printed one by one. */
const SHOWN = 10;
