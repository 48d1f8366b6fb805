/** docs/reliability.md, from the rows of the fault matrix. */
import { SHARE, WITHIN_MS } from './fault-pace.js';
import { SUBMISSIONS } from './fault-row.js';

/** @import { RowResult } from './fault-results.js' */

const INTRO = `# Reliability

<!-- Written by test/faults/zz-document.test.js: a change by hand does not last. -->

What happens to a run when the things around it break. Each row is a whole run of \`stress\` against a real node, with one fault in
the middle of it: network faults are made by a TCP proxy before the node, the others by the node itself or by signals. A row
holds only if a counter in the proxy or the node proves that the fault happened, operations were verified, the run ended in bounded
time with the right exit code, its run file is valid and adds up, the audit is exact, and the sum of all counters, read from the
chain without \`stress\`, is what the run file says. Where the fault ends before the run does, TPS must come back to ${SHARE * 100} % of
what it was within ${WITHIN_MS / 1000} s.

Faults of submissions (requests with a transaction) leave all other requests alone and end when they have met
${SUBMISSIONS.enough} submissions of a run with ${SUBMISSIONS.wallets} wallets; such a row fails with fewer than ${SUBMISSIONS.least},
or if an operation failed or timed out.

To repeat it: \`npm run test:faults\`. It takes some twenty minutes, builds geth once, and writes this page if every row holds.
`;

const HOW_TO_READ = `## How to read the tables

- **proof**: how often the fault happened, as the proxy or the node counted it.
- **not verified**: operations by why they failed, and those that timed out. None of them is lost: the audit says what became of each.
- **sent again**: transactions whose bytes were repeated after an answer that did not come, rebroadcast because the node had lost them,
  or replaced by one with a higher fee. _Lost_: those of them that the node did not know any more.
- **TPS**: verified operations per second. _Before_: over the one-second intervals that ended before the fault, without the first.
  _During_: all intervals that lie in the fault. _After_: the best three intervals in a row that begin within ${WITHIN_MS / 1000} s after its end.
- **back after**: from the end of the fault to the first of three intervals in a row that together held ${SHARE * 100} % of _before_; intervals
  are a second long, so it is up to a second too late.
- **seconds**: the whole process, from its start to its end.
`;

/** @param {RowResult[]} rows @returns {string} */
export function documentOf(rows) {
  const groups = [...new Set(rows.map(({ group }) => group))];
  const clients = [...new Set(rows.flatMap(({ client }) => client ?? []))].sort();
  const nodes = `Nodes of this table: ${clients.map((client) => `\`${client}\``).join(', ')}; Node.js ${process.version}.\n`;
  return [INTRO, nodes, HOW_TO_READ, ...groups.map((group) => tableOf(group, rows))].join('\n');
}

/** @param {string} group @param {RowResult[]} rows */
function tableOf(group, rows) {
  const own = rows.filter((row) => row.group === group);
  const hasPace = own.some(({ pace }) => pace !== null);
  const titles = ['fault', 'proof', 'seconds', 'verified', 'not verified', 'sent again'];
  const paceTitles = hasPace ? ['TPS before', 'during', 'after', 'back after'] : [];
  const head = [...titles, ...paceTitles, 'exit', 'audit'];
  const lines = own.map((row) => [
    ...[row.fault, row.proof, row.seconds.toFixed(1), String(row.verified), notVerified(row), sentAgain(row)],
    ...(hasPace ? pacesOf(row) : []),
    ...[row.exitCode === null ? 'killed' : String(row.exitCode), row.audit],
  ]);
  const remarks = own.filter(({ remark }) => remark !== '').map(({ fault, remark }) => `- ${fault}: ${remark}.`);
  const table = [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.map(escaped).join(' | ')} |`);
  return [`## ${group}`, '', ...table, '', ...new Set(remarks), ''].join('\n');
}

/** @param {string} cell */
function escaped(cell) {
  return cell.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

/** @param {RowResult} row */
function notVerified({ failures, timedOut }) {
  const all = { ...failures, ...(timedOut > 0 ? { 'timed out': timedOut } : {}) };
  return countsOf(all);
}

/** @param {RowResult} row */
function sentAgain({ resubmissions }) {
  return countsOf(resubmissions ?? {});
}

/** @param {Record<string, number>} counts */
function countsOf(counts) {
  const some = Object.entries(counts).filter(([, count]) => count > 0);
  return some.length === 0 ? '0' : some.map(([what, count]) => `${count} ${what.replaceAll('_', ' ')}`).join(', ');
}

/** @param {RowResult} row */
function pacesOf({ pace }) {
  const tps = [pace?.before, pace?.during, pace?.after].map((value) => value?.toFixed(0) ?? '–');
  const back = pace?.recoveredS ?? null;
  return [...tps, back === null ? '–' : `${back.toFixed(1)} s`];
}
