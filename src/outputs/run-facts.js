import { amount } from '../coin.js';
import { auditGaps, auditResult } from '../stats/audit-result.js';
import { blockIntervalMs } from '../stats/blocks.js';
import { LISTED_COUNTS, censoredOf, figureOf, shownFigure, socketWarnings } from '../stats/figures.js';
import { cutShort, shortWindow } from '../stats/growth.js';
import { profileText } from '../stats/node-profile.js';
import { isPlain } from '../stats/sample.js';
import { isUnknown } from '../stats/unknown.js';
import { endedIn, stoppedMs } from '../stats/verdict-facts.js';
import { LIMIT_WORDS, nextOf } from '../stats/verdict.js';
import { byCode, count, counted, digits, partOf, percent, quantity, seconds, shellWord } from '../text.js';
import { boundedMs } from './format.js';
import { auditWord } from './run-tables.js';
import { tableOf } from './table.js';

/**
 * Sentences about a run (its warnings, conditions, verdict, audit and answer) as tables of labels and words. A table without
 * rows is not shown.
 *
 * @import { Check } from '../contracts/load.d.ts'
 * @import { AuditReport, Merged, RunFile } from '../contracts/run-file.d.ts'
 * @import { Table } from './table.js'
 */

/** Limit of each list. */
const LISTED = 10;

/** @template T @param {readonly T[]} items @param {(item: T) => string} text @param {number} [all] where not all of them are in the run file */
function listed(items, text, all = items.length) {
  const more = all > LISTED ? [`... ${count(all)} in all; the run file (--out) lists more`] : [];
  return [...items.slice(0, LISTED).map(text), ...more];
}

/** @param {string} label @param {string[]} lines @returns {Array<[string, string]>} */
function labelled(label, lines) {
  return lines.map((words) => [label, words]);
}

/** What concerns all instances of a merge. @param {RunFile} run @returns {Table} */
export function mergeTable({ merged }) {
  if (!merged) return tableOf('instances', 'Instances', [], []);
  const { superseded, damaged, unresolved, common } = merged;
  const rows = [
    ['start', startText(merged)],
    ['common', common === null ? NEVER_TOGETHER : `${seconds(common.durationMs)} from ${common.startedAt} on`],
    ...labelled(
      'superseded',
      listed(superseded, ({ index, attempt, verified }) => {
        return `instance ${index}, attempt ${attempt}: no figure has its ${counted(verified, 'verified operation')}`;
      }),
    ),
    ...listed(damaged, ({ name, why }) => `${name}: ${why}`).map((words) => ['damaged', words]),
    ...labelled('unresolved', listed(unresolved, unresolvedText)),
  ];
  const covers =
    'rates cover the common window; latency and the figures of the generator cover the window of each instance';
  return tableOf('instances', 'Instances', [], rows, [covers]);
}

const NEVER_TOGETHER = 'NONE: the windows of the instances do not overlap';

/** @param {Merged} merged */
function startText({ instances, startSkewMs, rawStartSkewMs, clockSkewMs, clocksKnownToMs }) {
  const began = instances.filter(({ durationMs }) => durationMs > 0);
  const some = `${partOf(began.length, instances.length, 'instance')} began`;
  if (began.length < 2) return some;
  const start = `${began.length === instances.length ? 'all' : `${some},`} within ${count(startSkewMs)} ms`;
  const [{ host }] = began;
  if (host !== null && began.every((one) => one.host === host)) return `${start}, by the clock of ${host}`;
  const isRaw = Math.abs(rawStartSkewMs - startSkewMs) < 1;
  const raw = isRaw ? '' : ` (${seconds(rawStartSkewMs)} by their own clocks, which do not agree)`;
  if (clockSkewMs === null) return `${start}${raw}; whether their clocks agree is unknown`;
  const known = clocksKnownToMs === undefined ? '' : ` (± ${count(clocksKnownToMs)} ms)`;
  return `${start}${raw}; their clocks differ by ${count(clockSkewMs)} ms, estimated from blocks${known}`;
}

/** @param {Merged['unresolved'][number]} one */
function unresolvedText({ index, offset, threads, inFlight, lastKnownAt }) {
  const who = index === null ? '' : `instance ${index}, `;
  const what =
    lastKnownAt === null
      ? 'MISSING: nothing is known of it'
      : `PARTIAL: ${counted(inFlight, 'operation')} in flight at ${lastKnownAt}; the outcome of these and of later ones is unknown`;
  return `${who}wallets ${offset}..${offset + threads - 1}: ${what}`;
}

/** Why the figures may not be those of the whole window. @param {RunFile} run @returns {Table} */
export function doubtsTable(run) {
  const words = [shortWindow(run)?.words ?? null, cutShort(run)].filter((one) => one !== null);
  return tableOf('doubts', 'Limits of the figures', [], labelled('warning', words));
}

/** Blocks, fees, problems, machine and node. @param {RunFile} run @returns {Table} */
export function conditionsTable(run) {
  const { probes, generator } = run;
  const { headSource, inclusionResolutionMs: pollMs } = generator;
  const { sockets = null, node = null } = probes ?? {};
  const heads =
    headSource === 'subscription'
      ? 'pushed by the node'
      : pollMs !== null && `polled every ${count(pollMs)} ms: inclusion times are up to ${count(pollMs)} ms late`;
  /** @type {Array<[label: string, words: string | false | null]>} */
  const rows = [
    ['heads', heads],
    ['replay', replayText(run)],
    ['contract', contractText(run)],
    ['gas', gasText(run)],
    ['fees', feesText(run)],
    ...outages(run),
    ['stopped', stoppedText(run)],
    ['stall', stallText(run)],
    ['refused', refusedText(run)],
    ['node keeps', nodeLimitsText(run)],
    ['sent again', sentAgainText(run)],
    ['storm', stormText(run)],
    ['reorgs', reorgsText(run)],
    ...labelled('machine', sockets === null ? [] : socketWarnings(sockets)),
    [
      'node',
      node &&
        `CPU ${quantity(shownFigure('node.cpu', run), '%')} of a core; peak memory ${quantity(node.rssBytes / 1e6, 'MB')}`,
    ],
  ];
  const said = rows.flatMap(([label, words]) => (words ? [[label, words]] : []));
  return tableOf('conditions', 'Conditions of the run', [], said);
}

/** Where the one contract of a workload is, so that it can be loaded again. @param {RunFile} run */
function contractText({ environment: { workload }, config }) {
  const { contract } = /** @type {any} */ (workload);
  return typeof contract === 'string' && config.workload === 'contract' ? contract : null;
}

/** How often the recorded requests of --calls were started. @param {RunFile} run */
function replayText(run) {
  const { requests, order, calls } = /** @type {any} */ (run.environment.workload);
  if (requests === undefined) return null;
  const bounds = figureOf('differences')?.bounds?.(run) ?? null;
  const compared =
    bounds === null || isUnknown(bounds)
      ? ''
      : `; ${counted(bounds.value, 'difference')} from --check-rpc${differentText(run)}${bounds.censored === 0 ? '' : `, ${counted(bounds.censored, 'answer')} NOT COMPARED`}`;
  const passes = digits(run.counts.started / requests);
  const noun = passes === '1' ? 'pass' : 'passes';
  return `${counted(requests, 'request')} of ${calls} in ${order} order, ${passes} ${noun}${compared}`;
}

/** Between a difference and the two commands that show it. */
const COMMAND = /; (?=curl -s )/;

/** Differences by request; older run files have one of each method. @param {Pick<RunFile, 'failureWords'>} run */
function differentRequests({ failureWords }) {
  return Object.entries(failureWords).flatMap(([key, text]) => {
    const [, method, where] = /^answers_differ of ([^,]+)(?:, (.*))?$/.exec(key) ?? [];
    return method === undefined ? [] : [{ method, where, text }];
  });
}

/** How many of the recorded requests differ: one of them may be sent again and again. @param {RunFile} run */
function differentText(run) {
  const found = differentRequests(run);
  if (found.length === 0 || found.some(({ where }) => where === undefined)) return '';
  // Those above a limit have a common key.
  return `, of ${counted(found.length, 'request')}${run.failureWords.answers_differ === undefined ? '' : ' or more'}`;
}

/** The first difference from --check-rpc of each method. @param {RunFile} run @returns {Table} */
export function differencesTable(run) {
  const found = differentRequests(run);
  const first = found.filter(({ method }, i) => found.findIndex((one) => one.method === method) === i);
  const all = first.map(({ method, text }) => [method, ...text.split(COMMAND)]);
  const rows = all.map(([method, words]) => [method, words]);
  const commands = all.flatMap(([, , ...lines]) => lines);
  return tableOf('differences', 'Different answers', ['', 'the first of each method'], rows, commands);
}

const GAS_FIGURES = ['gas', 'chain.gas', 'gas.op', 'fullness', 'fullness.p50', 'fullness.p90'];

/** @param {RunFile} run */
function gasText(run) {
  const [own, chain, perOperation, mean, p50, p90] = GAS_FIGURES.map((name) => shownFigure(name, run));
  if (run.blocks.count === 0 || chain === null) return null;
  const ours =
    own === null ? '' : `${quantity(own / 1e6, 'Mgas/s')} by this run, ${count(perOperation)} an operation; `;
  const full =
    mean === null ? '' : `; blocks ${digits(mean)} % full on average, p50 ${digits(p50)} %, p90 ${digits(p90)} %`;
  return `${ours}${quantity(chain / 1e6, 'Mgas/s')} in all blocks${full}`;
}

/** @param {RunFile} run */
function feesText(run) {
  const { setUpWei, spentWei, leftWei = null, capWei } = run.spending;
  const [setUp, left, fees] = [setUpWei, leftWei, spentWei].map((wei) => (wei === null ? null : BigInt(wei)));
  // Plain calls are not paid for.
  if (setUp === null && fees === null && left === null) return null;
  if ((fees ?? (setUp ?? 0n) + (left ?? 1n)) === 0n) return null;
  const { refills, unmeasured } = run;
  const words = capWei === null ? [] : [`the limit is ${amount(BigInt(capWei))} (--max-spend)`];
  if (setUp !== null && setUp > 0n) words.push(`${amount(setUp)} for the set-up`);
  if (left !== null) {
    const { verified } = run.counts;
    const each = verified === 0 ? '' : `, ${amount(left / BigInt(verified))} an operation`;
    words.push(`${amount(left)} left the wallets in the load${each}${fees === null ? ', sent value included' : ''}`);
  }
  const why = unmeasured['/spending/leftWei'];
  if (why !== undefined) words.push(`not known what left the wallets in the load: ${why}`);
  if (refills !== undefined && refills.transactions !== 0) words.push(refillsText(refills));
  return [fees === null ? 'total not known' : amount(fees), words.join('; ')].filter(Boolean).join(': ');
}

/** @param {NonNullable<RunFile['refills']>} refills */
function refillsText({ payments, valueWei, gasWei }) {
  if (valueWei === null || gasWei === null) return 'not known what refills paid (--refill-below)';
  return `${amount(BigInt(gasWei))} for ${count(payments)} refills (--refill-below), which paid ${amount(BigInt(valueWei))} to the wallets`;
}

const LISTED_OUTAGES = 3;

/** @param {RunFile} run */
function outages({ generator: { outages: all = [] } }) {
  const lines = all.slice(0, LISTED_OUTAGES).map(({ fromMs, toMs, words }) => {
    const until = toMs === undefined ? 'to the end' : `for ${seconds(toMs - fromMs)}`;
    return `no answer ${until}, from ${seconds(fromMs)} after the start of the load: ${words}`;
  });
  if (all.length > LISTED_OUTAGES) lines.push(`and ${count(all.length - LISTED_OUTAGES)} more`);
  return labelled('outage', lines);
}

/** @param {RunFile} run */
function stoppedText({ generator: { stops = [] } }) {
  const times = stops.map(
    ({ fromMs, toMs }) => `for ${seconds(toMs - fromMs)}, from ${seconds(fromMs)} after the start of the load`,
  );
  return times.length > 0 && `stress did not run ${times.slice(0, LISTED_OUTAGES).join('; ')}`;
}

/** A stall is longer than STALL_MS and than STALL block intervals. */
const STALL_MS = 2000;
const STALL = 5;

/** @param {RunFile} run */
function stallText(run) {
  const { blocks, window } = run;
  // While stress was stopped it saw none.
  const gapMs = (blocks.gapMaxMs ?? 0) - stoppedMs(run, { startMs: 0, endMs: Infinity });
  const usualMs = blockIntervalMs(blocks, window.durationMs);
  const isStall = blocks.count > 1 && gapMs >= Math.max(STALL_MS, STALL * usualMs);
  return isStall && `no new block was seen for ${seconds(gapMs)}; ${seconds(usualMs)} is usual`;
}

/** @param {RunFile} run */
function sentAgainText({ generator }) {
  const { repeated, refused = null, rebroadcast, lost = 0, replaced, leftOut = 0 } = generator.resubmissions;
  /** @type {Array<[number, string]>} */
  const sentAgain = [
    [refused ?? 0, 'after a refusal'],
    [repeated - (refused ?? 0), refused === null ? 'after a refusal, or without an answer' : 'without an answer'],
    [lost, 'lost by the node'],
    [rebroadcast - lost, lost > 0 ? 'rebroadcast for other reasons' : 'rebroadcast'],
    [
      replaced,
      leftOut > 0 ? `with a higher fee (blocks had left out ${counted(leftOut, 'operation')})` : 'with a higher fee',
    ],
  ];
  return sentAgain.flatMap(([times, words]) => (times > 0 ? `${count(times)} ${words}` : [])).join(', ');
}

/** How many submissions of each class were refused: the most frequent first, with the words of its first one. @param {RunFile} run */
function refusedText({ generator: { refusals = {} } }) {
  const all = Object.entries(refusals).sort(([, a], [, b]) => b.count - a.count);
  return all
    .map(([name, { count: times }], i) => `${count(times)} ${name}${i === 0 ? ` (${all[0][1].words})` : ''}`)
    .join(', ');
}

/** @param {RunFile} run */
function nodeLimitsText({ generator: { nodeLimits = {} } }) {
  const { perWallet, pool } = nodeLimits;
  return [
    ...(perWallet === undefined
      ? []
      : [`the node takes about ${counted(perWallet, 'transaction')} of a wallet at a time`]),
    ...(pool === undefined ? [] : [`the node's pool keeps about ${counted(pool, 'transaction')} of this run`]),
  ].join('; ');
}

/** What a storm has sent. @param {RunFile} run */
function stormText({ generator: { storm }, config: { nonceOrder } }) {
  if (storm === undefined) return '';
  const { duplicates, duplicatesRefused, replacements, replacementsRefused, firstIncluded } = storm;
  const { replacementsTooDear: limited = 0, replacementsTooLate: late = 0, outOfOrder } = storm;
  const sent = (/** @type {number} */ taken, /** @type {number} */ refused, /** @type {string} */ noun) =>
    taken + refused === 0 ? [] : [`${count(taken)} ${noun} taken by the node and ${count(refused)} not`];
  const ordered = outOfOrder === undefined ? '' : `, ${counted(outOfOrder, 'transaction')} sent before a lower nonce`;
  return [
    ...(nonceOrder ? [`nonces ${nonceOrder}${ordered}`] : []),
    ...sent(duplicates, duplicatesRefused, 'duplicates'),
    ...sent(replacements, replacementsRefused, 'replacements'),
    ...(limited + late > 0 ? [`${count(limited + late)} not replaced`] : []),
    ...(replacements > 0 ? [`the first transaction got into a block ${counted(firstIncluded, 'time')}`] : []),
  ].join('; ');
}

/** @param {RunFile} run */
function reorgsText({ reorgs }) {
  const { count: times, deepest, operations } = reorgs;
  return (
    times > 0 && `${count(times)}, ${counted(deepest, 'block')} deep at most, with ${counted(operations, 'operation')}`
  );
}

/** Throughput and latency, in one clause. @param {RunFile} run */
export function speedText(run) {
  const { rates, latency } = run;
  const p99 = latency.total.count === 0 ? '' : `, p99 ${boundedMs(latency.total, censoredOf(run), ['p99'])} ms`;
  const what = isPlain(run) ? 'calls' : 'operations verified';
  const tps = rates.verifiedPerSecond;
  return tps === null ? 'nothing was measured' : `${digits(tps)} ${what} per second${p99}`;
}

/** The last lines on the terminal: the answer, and the command to try next. @param {RunFile} run @returns {Table} */
export function answerTable(run) {
  const { verdict } = run;
  const audit = auditResult(run)?.replace('_', ' ') ?? null;
  const limit = verdict === null ? null : (LIMIT_WORDS[verdict.name] ?? verdict.name);
  const words = [speedText(run), failedText(run), limit, audit && `audit ${audit}`].filter((part) => part !== null);
  const [why, ...commands] = nextStep(run);
  const next = why === undefined ? [] : [['next', why]];
  return tableOf('answer', 'Answer', [], [['result', words.join('; ')], ...next], commands);
}

/** Share of the operations from which on the result says how many failed. */
const SAID = 0.01;

/** @param {RunFile} run */
function failedText(run) {
  const { missed, ended } = endedIn(run);
  const share = missed / Math.max(1, ended);
  return share < SAID ? null : `${percent(share)} FAILED`;
}

/** Why, and the command; empty without one. @param {RunFile} run @returns {string[]} */
function nextStep(run) {
  const { config, environment, instance, merged, end } = run;
  const { instances = null, runId = null } = instance ?? {};
  if (instances !== null && instances > 1) {
    // Without --results the run files have names of their own, or are in the logs.
    const folder = config.results == null ? 'FILES' : shellWord(`${config.results}`);
    const named = runId === null ? [] : [`--run-id ${shellWord(runId)}`];
    const words = [folder, ...named, `--expect ${instances}`, '--out merged.json'];
    return [`when all ${count(instances)} instances have ended:`, ['stress merge', ...words].join(' ')];
  }
  const isWrong = (run.failures.answers_differ ?? 0) > 0;
  const { findCommand } = environment;
  // Run files of earlier versions have no command.
  const next = nextOf(run);
  if (next === null || merged || isWrong) return [];
  if ('repair' in next) return [next.repair];
  const hasFailed = run.thresholds.some(({ passed }) => !passed);
  if (findCommand === undefined || end !== 'duration' || hasFailed) return [];
  const { command, without, variables } = findCommand;
  const why = [
    'find the highest rate',
    without.length > 0 && `without ${without.join(', ')}, which a search does not have`,
    variables.length > 0 && `with the secrets of this run in ${variables.join(', ')}`,
  ];
  return [`${why.filter(Boolean).join(', ')}:`, command];
}

/** @param {RunFile} run @returns {Table} */
export function limitTable({ verdict }) {
  const rows = verdict === null ? [] : [['verdict', `${verdict.name}: ${verdict.evidence}`]];
  return tableOf('limit', 'What limited the run', [], rows);
}

/** The result of the audit, and what belongs to it. @param {RunFile} run @returns {Table} */
export function auditTable(run) {
  const result = auditResult(run);
  const gaps = auditGaps(run);
  /** @param {string} words @param {string[]} [notes] */
  const table = (words, notes) => tableOf('audited', 'Audit on the chain', [], [['audit', words]], notes);
  const { audit } = run;
  if (audit === null) return table(result === null ? `none: ${run.unmeasured['/audit']}` : `INCOMPLETE: ${gaps[0]}`);
  const { includedLate, reorgedOut, bounds, checks = [], subject = 'counters grew by' } = audit;
  const gone = reorgedOut === 0 ? '' : ` - ${count(reorgedOut)} reorged out`;
  const ours = `${count(audit.verified)} verified + ${count(includedLate)} included late${gone}`;
  const grew = `${count(audit.wallets)} ${subject} ${count(Number(audit.effectsOnChain))}`;
  const expected = audit.verified + includedLate - reorgedOut;
  const range = [...new Set([bounds.atLeast, bounds.atMost])].join(' to ');
  const equation =
    result === 'exact' ? ` = ${ours}` : `, of which ${range} are ours; expected ${count(expected)}: ${ours}`;
  // Those of an exact audit are replacements of the run itself.
  const open = audit.resolutions.filter(({ fate }) => result !== 'exact' && /pending|replaced|unknown/.test(fate));
  const made = checks.filter(({ holds }) => holds !== null);
  return table(`${auditWord(run)}: ${grew}${equation}, at block ${count(audit.blockNumber)}`, [
    ...listed(gaps, (words) => `not checked: ${words}`),
    ...listed(made, checkText),
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
  ]);
}

/** How others check the run, and what that does not show (--evidence). @param {RunFile} run @returns {Table} */
export function evidenceTable({ evidence, config, merged }) {
  if (evidence === undefined) return tableOf('evidence', 'Evidence', [], []);
  const nameOf = (/** @type {unknown} */ file) =>
    typeof file === 'string' && file !== '-' ? [shellWord(file.split('/').at(-1) ?? '')] : [];
  const own = merged ? 'EVIDENCE...' : (nameOf(config.evidence)[0] ?? 'EVIDENCE');
  const of = merged ? `, with the evidence of ${counted(evidence.sha256.length, 'instance')}` : '';
  const who = evidence.isSigned
    ? 'latency and failed submissions, which only the reporter has seen'
    : 'who made the run (the wallets have signed nothing: --sign), latency and failed submissions';
  const rows = [
    ['evidence', `others can check this run on the chain${of}:`],
    ['not shown', who],
  ];
  return tableOf('evidence', 'Evidence', [], rows, [
    `stress verify ${[own, ...nameOf(config.out)].join(' ')} --rpc URL`,
  ]);
}

/** @param {AuditReport['mismatches'][number]} mismatch */
function walletText({ walletIndex, address, effect, expectedEffect, nonce, expectedNonce, pendingNonce }) {
  return `wallet ${walletIndex} (${address}): effect ${effect}, expected ${expectedEffect}; nonce ${nonce}, expected ${expectedNonce}; pending ${pendingNonce - nonce}`;
}

/** @param {Check} check that was made */
function checkText({ words, expected, found, holds }) {
  return `${words}: ${found}, ${holds ? 'as expected' : `expected ${expected}`}`;
}

/** Where the CPU time of the nodes went (--node-profile). @param {RunFile} run @returns {Table} */
export function profileTable(run) {
  const { nodeProfile, unmeasured } = run;
  /** @param {string[][]} rows @param {string[]} [notes] */
  const table = (rows, notes) => tableOf('node-cpu', 'CPU time of the node', [], rows, notes);
  if (nodeProfile === undefined) return table([]);
  if (nodeProfile === null) return table([['node CPU', `unknown: ${unmeasured['/nodeProfile']}`]]);
  const isOne = nodeProfile.length === 1;
  const rows = nodeProfile.map(({ name, stacks, ...profile }, i) => {
    const text =
      stacks === null
        ? `unknown: ${unmeasured[`/nodeProfile/${i}/stacks`]}`
        : profileText({ name, stacks, ...profile }, run);
    return [isOne ? 'node CPU' : `node CPU, ${name}`, text];
  });
  const notes = nodeProfile.flatMap(({ name, missing, stacks }) =>
    stacks === null
      ? []
      : Object.entries(missing).map(([why, times]) => `${name}: ${counted(times, 'profile')} missing: ${why}`),
  );
  return table(rows, notes);
}

/** The result of --check consistency. @param {RunFile} run @returns {Table} */
export function consistencyTable({ consistency, unmeasured }) {
  /** @param {string[][]} rows @param {string[]} [notes] */
  const table = (rows, notes) => tableOf('consistent', 'Consistency of the answers', [], rows, notes);
  if (consistency === undefined) return table([]);
  const made = Object.values(consistency?.checks ?? {});
  if (consistency === null || made.length === 0) {
    const why = unmeasured['/consistency'] ?? 'the run ended before the first check';
    return table([['consistency', `NOT CHECKED: ${why}`]]);
  }
  const { off, violations, lag, undecided = {} } = consistency;
  const found = Object.entries(violations);
  const all = found.reduce((sum, [, { count: times }]) => sum + times, 0);
  const open = Object.values(undecided).reduce((sum, times) => sum + times, 0);
  const result = all === 0 ? 'no contradiction' : `${count(all)} CONTRADICTION${all === 1 ? '' : 'S'}`;
  const checks = made.reduce((sum, times) => sum + times, 0);
  const behind = Object.entries(lag).filter(([, { blocks }]) => blocks > 0);
  return table(
    [
      [
        'consistency',
        `${counted(checks, 'check')} of ${counted(made.length, 'kind')}, ${result}${open === 0 ? '' : `, ${counted(open, 'answer')} NOT JUDGED`}`,
      ],
    ],
    [
      ...found.map(([code, { count: times, examples }]) => {
        const [{ endpoint, words }] = examples;
        return `${code} ${count(times)}, the first at ${endpoint}: ${words}`;
      }),
      ...behind.map(([endpoint, { blocks, ms }]) => {
        return `behind: ${endpoint}, by ${counted(blocks, 'block')} and ${seconds(ms)} at most`;
      }),
      ...(open === 0 ? [] : [`not judged: ${byCode(undecided)}; each may be a contradiction`]),
      ...Object.entries(off).map(([kind, why]) => `not checked: ${kind} (${why})`),
    ],
  );
}

/** @param {RunFile} run @returns {Table} */
export function definitionsTable({ definitions }) {
  const listedCounts = LISTED_COUNTS.map(({ name, help }) => [name, help]);
  return tableOf('words', 'Definitions', [], [...Object.entries(definitions), ...listedCounts]);
}
