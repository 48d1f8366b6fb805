import { windowMs } from '../stats/figures.js';
import { count, hangingIndent, printable, seconds } from '../text.js';
import * as facts from './run-facts.js';
import * as figures from './run-tables.js';
import { tableText } from './table.js';
import { noPaint } from './terminal.js';

/**
 * The tables of a run in their order, and the summary: what a run prints at its end, and `stress report` for run files.
 *
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { Table } from './table.js'
 * @import { Paint } from './terminal.js'
 */

/** For the terminal, Markdown and the page. @param {RunFile} run @returns {Table[]} those with rows */
export function runTables(run) {
  return [
    figures.instancesTable(run),
    facts.mergeTable(run),
    figures.overviewTable(run),
    facts.doubtsTable(run),
    figures.failuresTable(run),
    facts.differencesTable(run),
    figures.latencyTable(run),
    ...figures.groupTables(run),
    facts.conditionsTable(run),
    figures.thresholdsTable(run),
    facts.limitTable(run),
    facts.auditTable(run),
    facts.evidenceTable(run),
    facts.consistencyTable(run),
    facts.profileTable(run),
  ].filter(({ rows }) => rows.length > 0);
}

/**
 * @param {RunFile} run
 * @param {boolean} explain
 * @param {Paint} [paint]
 * @param {number} [width] of the terminal
 * @returns {string} printable
 */
export function summaryText(run, explain, paint = noPaint, width = Infinity) {
  const text = (/** @type {Table} */ table) => tableText(table, width, [], paint);
  const partial = `  partial: the generator ended before the run did; figures up to ${run.endedAt}`;
  return [
    '',
    hangingIndent(printable(`Summary: ${headline(run)}, window ${seconds(windowMs(run))}`), width),
    ...(run.end === 'running' && !run.merged ? [hangingIndent(printable(partial), width)] : []),
    ...runTables(run).map(text),
    text(facts.answerTable(run)),
    ...(explain ? ['', text(facts.definitionsTable(run))] : []),
  ].join('\n');
}

/** How many instances there are, why they ended and the iterations made. @param {RunFile} run */
function headline(run) {
  const { end, verdict, config, counts, environment, merged } = run;
  const { length: present = 0 } = merged?.instances ?? [];
  const expected = merged?.expected ?? null;
  const of = expected === null || expected === present ? '' : ` of ${count(expected)}`;
  const words = `${merged ? `${count(present)}${of} ${present === 1 && of === '' ? 'instance' : 'instances as one'}, ` : ''}${endText(run)}`;
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
  max_value: 'ended because its limit of value was reached',
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
  const words = END_WORDS[run.end] ?? run.end;
  const { instances } = run.merged ?? { instances: [] };
  const times = instances.filter(({ end }) => end === run.end).length;
  return times === 0 || times === instances.length ? words : `${count(times)} of ${count(instances.length)} ${words}`;
}
