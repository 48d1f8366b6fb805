import { auditGaps, auditResult } from '../stats/audit-result.js';
import { blockIntervalMs } from '../stats/blocks.js';
import { LISTED_COUNTS, figureOf, nodeCpuPercent, socketWarnings } from '../stats/figures.js';
import { cutShort, shortWindow } from '../stats/growth.js';
import { count, counted, digits, filled, hanging, printable, seconds } from '../text.js';
import { amount, figure, megabytes } from './format.js';
import { auditWord, groupTables, instancesTable, latencyTable, overviewTable, thresholdsTable } from './run-tables.js';
import { tableText } from './table.js';
import { noPaint } from './terminal.js';

/**
 * The summary: what a run prints at its end, and `stress report` for run files.
 *
 * @import { Check } from '../contracts/load.d.ts'
 * @import { AuditReport, Merged, RunFile } from '../contracts/run-file.d.ts'
 * @import { Paint, Style } from './terminal.js'
 *
 * @typedef {{text: string, style: Style, word?: string}} Highlight word: the first one is painted; without it, all of the text
 */

/** Instances with their own line. */
const INSTANCES_SHOWN = 20;

/** @param {RunFile} run @returns {string[]} empty for one instance */
function mergedText(run) {
  const { merged = null } = run;
  if (merged === null) return [];
  return [tableText(instancesTable(run, merged, INSTANCES_SHOWN)), ...mergedLines(merged).map((line) => `  ${line}`)];
}

/** @param {Merged} merged @returns {string[]} lines on all instances */
export function mergedLines(merged) {
  const { superseded, damaged, common } = merged;
  return [
    startText(merged),
    common === null
      ? 'common      NONE: at no time were all of them in their windows'
      : `common      ${seconds(common.durationMs)} from ${common.startedAt} on`,
    ...superseded
      .slice(0, INSTANCES_SHOWN)
      .map(
        (one) =>
          `superseded  instance ${one.index}, attempt ${one.attempt}: its ${count(one.verified)} verified operations are in no figure`,
      ),
    ...damaged.slice(0, INSTANCES_SHOWN).map((one) => `damaged     ${one.name}: ${one.why}`),
    ...unresolvedText(merged),
    'latency, and figures of the generator, cover the own window of each instance; rates the common window',
  ];
}

/** @param {Merged} merged */
function startText({ instances, startSkewMs, rawStartSkewMs, clockSkewMs, clocksKnownToMs }) {
  const began = instances.filter(({ durationMs }) => durationMs > 0);
  const some = `${count(began.length)} of ${counted(instances.length, 'instance')} began`;
  if (began.length < 2) return `start       ${some}`;
  const all = began.length === instances.length ? 'all' : `${some},`;
  const start = `start       ${all} within ${count(startSkewMs)} ms`;
  const [{ host }] = began;
  if (host !== null && began.every((one) => one.host === host)) return `${start}, by the clock of ${host}`;
  const isRaw = Math.abs(rawStartSkewMs - startSkewMs) < 1;
  const raw = isRaw ? '' : ` (${seconds(rawStartSkewMs)} by their own clocks, which do not agree)`;
  if (clockSkewMs === null) return `${start}${raw}; nothing tells whether their clocks agree`;
  const known = clocksKnownToMs === undefined ? '' : `, and may be ${count(clocksKnownToMs)} ms off that`;
  return `${start}${raw}; their clocks are ${count(clockSkewMs)} ms apart, as far as blocks tell${known}`;
}

/** @param {Merged} merged @returns {string[]} */
function unresolvedText({ unresolved }) {
  const lines = unresolved.slice(0, INSTANCES_SHOWN).map((one) => {
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

/** @param {RunFile} run @returns {Array<string | Highlight>} empty without thresholds */
function thresholdLines(run) {
  if (run.thresholds.length === 0) return [];
  const [head, ...lines] = tableText(thresholdsTable(run)).split('\n');
  return [
    head,
    ...run.thresholds.map(({ passed }, i) => {
      return passed ? highlight('green', lines[i], 'passed') : highlight('red', lines[i], 'FAILED');
    }),
  ];
}

/**
 * @param {RunFile} run
 * @param {boolean} explain
 * @param {Paint} [paint]
 * @param {number} [columns] of the terminal
 * @returns {string} printable
 */
export function summaryText(run, explain, paint = noPaint, columns = Infinity) {
  const doubts = [shortWindow(run)?.words ?? null, cutShort(run)].filter((words) => words !== null);
  /** @type {Array<string | Highlight>} */
  const parts = [
    '',
    `Summary: ${headline(run)}, window ${seconds(run.window.durationMs)}`,
    ...mergedText(run),
    ...(run.end === 'running' && !run.merged
      ? [`  partial: the generator ended before the run did; figures up to ${run.endedAt}`]
      : []),
    tableText(overviewTable(run)),
    ...doubts.map((words) => highlight('yellow', wrapped('warning', words, columns))),
    ...Object.entries(run.failureWords).map(([code, words]) => `  first ${code}: ${words}`),
    ...[latencyTable(run), ...groupTables(run)].map((table) => tableText(table)),
    ...surroundings(run, columns),
    ...thresholdLines(run),
    ...(run.verdict === null
      ? []
      : [highlight('bold', wrapped('verdict', `${run.verdict.name}: ${run.verdict.evidence}`, columns))]),
    auditHighlight(run),
    ...consistencyHighlight(run),
  ];
  const counted = LISTED_COUNTS.map(({ name, help }) => [name, help]);
  if (explain) parts.push('', ...[...Object.entries(run.definitions), ...counted].map((line) => line.join(': ')));
  return parts.map((part) => painted(part, paint, columns)).join('\n');
}

/** @param {Style} style @param {string} text @param {string} [word] @returns {Highlight} */
function highlight(style, text, word) {
  return { style, text, word };
}

/**
 * Escape codes are added last, because printable() removes them.
 * @param {string | Highlight} part
 * @param {Paint} paint
 * @param {number} columns of the terminal
 */
function painted(part, paint, columns) {
  const { style = null, text, word } = typeof part === 'string' ? { text: part } : part;
  const lines = printable(text)
    .split('\n')
    .map((line) => hanging(line, columns))
    .join('\n');
  return style === null ? lines : lines.replace(word ?? lines, (found) => paint(style, found));
}

/** @param {RunFile} run @returns {string | Highlight} */
function auditHighlight(run) {
  const [first, ...lines] = auditLines(run);
  const text = [`  audit       ${first}`, ...lines.map((line) => `    ${line}`)].join('\n');
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

/** @param {RunFile} run @returns {Highlight[]} empty without --check */
function consistencyHighlight(run) {
  const [first, ...lines] = consistencyLines(run);
  if (first === undefined) return [];
  const text = [`  consistency ${first}`, ...lines.map((line) => `    ${line}`)].join('\n');
  const [word = 'no contradiction'] = /\d+ CONTRADICTIONS?|NOT CHECKED/.exec(first) ?? [];
  return [highlight(word === 'no contradiction' ? 'green' : 'red', text, word)];
}

/** How many instances there are, why they ended and the iterations made. @param {RunFile} run */
function headline(run) {
  const { end, verdict, config, counts, environment, merged } = run;
  const { length: present = 0 } = merged?.instances ?? [];
  const expected = merged?.expected ?? null;
  const of = expected === null || expected === present ? '' : ` of ${count(expected)}`;
  const words = `${merged ? `${count(present)}${of} instances as one, ` : ''}${endText(run)}`;
  // A run may reach its end although the endpoint was down.
  const down = verdict?.name === 'endpoint-down' && end === 'duration' ? ', but the endpoint was down' : '';
  if (typeof config.iterations !== 'number') return words + down;
  const perIteration = Number(environment.workload.callsPerIteration ?? 1);
  const made = Math.floor((counts.started - counts.abandoned) / perIteration);
  return `${words}${down} (${count(made)} of ${count(config.iterations * Number(config.threads))})`;
}

/** Why a run ended, by `end` of its run file. @type {Record<string, string>} */
const END_WORDS = {
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

/** Why a run ended; of a merge, the worst end, and how many instances have it. @param {RunFile} run */
export function endText(run) {
  const words = /** @type {Record<string, string>} */ (END_WORDS)[run.end] ?? run.end;
  const { instances } = run.merged ?? { instances: [] };
  const times = instances.filter(({ end }) => end === run.end).length;
  return times === 0 || times === instances.length ? words : `${count(times)} of ${count(instances.length)} ${words}`;
}

/** @param {RunFile} run @returns {string[]} empty without fees */
function feesText(run) {
  const { setUpWei, spentWei, leftWei = null, capWei } = run.spending;
  const [setUp, left, fees] = [setUpWei, leftWei, spentWei].map((wei) => (wei === null ? null : BigInt(wei)));
  if ((fees ?? (setUp ?? 0n) + (left ?? 0n)) === 0n) return [];
  const { refills } = run;
  const words = capWei === null ? [] : [`the limit is ${amount(BigInt(capWei))} (--max-spend)`];
  if (setUp !== null && setUp > 0n) words.push(`${amount(setUp)} for the set-up`);
  if (left !== null) {
    const { verified } = run.counts;
    const each = verified === 0 ? '' : `, ${amount(left / BigInt(verified))} an operation`;
    words.push(`${amount(left)} left the wallets in the load${each}${fees === null ? ', sent value included' : ''}`);
  }
  if (refills !== undefined && refills.transactions > 0)
    words.push(
      `${amount(BigInt(refills.gasWei))} for ${count(refills.payments)} refills (--refill-below), which paid ${amount(BigInt(refills.valueWei))} to the wallets`,
    );
  return [`  fees        ${fees === null ? 'total not known' : amount(fees)}: ${words.join('; ')}`];
}

/** Lines on blocks, fees, problems, machine and node. @param {RunFile} run @param {number} columns */
function surroundings(run, columns) {
  const { probes, generator } = run;
  const lines = [];
  const { headSource, inclusionResolutionMs } = generator;
  if (headSource === 'subscription') lines.push('  heads       pushed by the node');
  else if (inclusionResolutionMs !== null)
    lines.push(
      `  heads       polled every ${count(inclusionResolutionMs)} ms: inclusion times are up to ${count(inclusionResolutionMs)} ms late`,
    );
  lines.push(...gasText(run), ...feesText(run), ...troubles(run));
  const sockets = probes?.sockets ?? null;
  for (const words of sockets === null ? [] : socketWarnings(sockets)) lines.push(wrapped('machine', words, columns));
  const node = probes?.node ?? null;
  if (node !== null)
    lines.push(`  node        CPU ${count(nodeCpuPercent(run))} % of a core; peak memory ${megabytes(node.rssBytes)}`);
  return lines;
}

/** @param {RunFile} run @returns {string[]} */
function gasText(run) {
  const [own, chain, perOperation, mean, p50, p90] = GAS_FIGURES.map((name) => figureOf(name)?.read(run) ?? null);
  if (run.blocks.count === 0 || chain === null) return [];
  const ours = own === null ? '' : `${figure(own / 1e6)} Mgas/s by this run, ${count(perOperation)} an operation; `;
  const full =
    mean === null
      ? ''
      : `; blocks ${digits(mean)} % full on average, p50 ${digits(p50 ?? 0)} %, p90 ${digits(p90 ?? 0)} %`;
  return [`  gas         ${ours}${figure(chain / 1e6)} Mgas/s in all blocks${full}`];
}

const GAS_FIGURES = ['gas', 'chain.gas', 'gas.op', 'fullness', 'fullness.p50', 'fullness.p90'];

/** A stall is longer than STALL_MS and than STALL block intervals. */
const STALL_MS = 2000;
const STALL = 5;
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
  const usualMs = blockIntervalMs(blocks, window.durationMs);
  if (blocks.count > 1 && gapMs >= Math.max(STALL_MS, STALL * usualMs))
    lines.push(`  stall       no new block was seen for ${seconds(gapMs)}; ${seconds(usualMs)} is usual`);
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

/** The result of the audit, and what belongs to it. @param {RunFile} run @returns {string[]} the first line says the result */
export function auditLines(run) {
  const { audit } = run;
  const result = auditResult(run);
  const gaps = auditGaps(run);
  if (audit === null) return [result === null ? `none: ${run.unmeasured['/audit']}` : `INCOMPLETE: ${gaps[0]}`];
  const { includedLate, reorgedOut, bounds, checks = [], subject = 'counters grew by' } = audit;
  const gone = reorgedOut === 0 ? '' : ` - ${count(reorgedOut)} reorged out`;
  const ours = `${count(audit.verified)} verified + ${count(includedLate)} included late${gone}`;
  const grew = `${count(audit.wallets)} ${subject} ${count(Number(audit.effectsOnChain))}`;
  const range = [...new Set([bounds.atLeast, bounds.atMost])].join(' to ');
  const equation = result === 'exact' ? ` = ${ours}` : `; ours are ${range}: ${ours}`;
  // Of an exact audit these are replacements of the run itself.
  const open = audit.resolutions.filter(({ fate }) => result !== 'exact' && /pending|replaced/.test(fate));
  return [
    `${auditWord(run)}: ${grew}${equation}, at block ${count(audit.blockNumber)}`,
    ...listed(gaps, (words) => `not checked: ${words}`),
    ...listed(
      checks.filter(({ holds }) => holds !== null),
      checkText,
    ),
    ...listed(audit.mismatches, walletText, audit.mismatchCount),
    ...listed(
      audit.foreign,
      (f) => `not ours: ${f.hash} (wallet ${f.walletIndex}, nonce ${f.nonce}, block ${f.blockNumber})`,
    ),
    ...listed(
      open,
      (r) => `${r.fate}: ${r.hash} (wallet ${r.walletIndex}, nonce ${r.nonce})`,
      audit.pending + audit.replaced,
    ),
  ];
}

/** The result of --check consistency. @param {RunFile} run @returns {string[]} the first line says it; empty without the checks */
export function consistencyLines({ consistency, unmeasured }) {
  if (consistency === undefined) return [];
  const made = Object.values(consistency?.checks ?? {});
  if (consistency === null || made.length === 0)
    return [`NOT CHECKED: ${unmeasured['/consistency'] ?? 'the run ended before the first check'}`];
  const { off, violations, lag } = consistency;
  const found = Object.entries(violations);
  const all = found.reduce((sum, [, { count: times }]) => sum + times, 0);
  const result = all === 0 ? 'no contradiction' : `${count(all)} CONTRADICTION${all === 1 ? '' : 'S'}`;
  const checks = made.reduce((sum, times) => sum + times, 0);
  return [
    `${count(checks)} checks of ${made.length} kinds, ${result}`,
    ...found.map(([code, { count: times, examples }]) => {
      return `${code} ${count(times)}, the first at ${examples[0].endpoint}: ${examples[0].words}`;
    }),
    ...Object.entries(lag)
      .filter(([, { blocks }]) => blocks > 0)
      .map(
        ([endpoint, { blocks, ms }]) => `behind: ${endpoint}, by ${count(blocks)} blocks and ${seconds(ms)} at most`,
      ),
    ...Object.entries(off).map(([kind, why]) => `not checked: ${kind} (${why})`),
  ];
}

/** Limit of each list. */
const LISTED = 10;

/** @template T @param {readonly T[]} items @param {(item: T) => string} text @param {number} [all] where not all of them are in the run file */
function listed(items, text, all = items.length) {
  const more = all > LISTED ? [`... ${count(all)} in all; the run file (--out) lists more`] : [];
  return [...items.slice(0, LISTED).map(text), ...more];
}

/** @param {AuditReport['mismatches'][number]} mismatch */
function walletText({ walletIndex, address, effect, expectedEffect, nonce, expectedNonce, pendingNonce }) {
  return `wallet ${walletIndex} (${address}): effect ${effect}, expected ${expectedEffect}; nonce ${nonce}, expected ${expectedNonce}; pending ${pendingNonce - nonce}`;
}

/** @param {Check} check that was made */
function checkText({ words, expected, found, holds }) {
  return `${words}: ${found}, ${holds ? 'as it must be' : `and it must be ${expected}`}`;
}
