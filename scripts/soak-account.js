/**
 * One account of all parts of a soak (npm run soak -- --resume-soak DIR): each part is a run of its own, with its run file and its
 * evidence, on the chain of the node that the folder keeps. The parts follow one another without a gap: a part begins with
 * the nonces that the one before has left, and what the counters hold on the chain is the sum of all parts.
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readEvidence } from '../src/evidence/format.js';
import { tableOf, tableText } from '../src/outputs/table.js';
import { selectorOf } from '../src/workloads/contract-state.js';
import { call } from './nodes/build.js';

const PART = /^part-(\d+)$/;
const COUNT = selectorOf('count()');

/** Time limit of a request, and requests at once. */
const TIMEOUT_MS = 10_000;
const AT_ONCE = 50;

/**
 * @typedef {object} Part
 * @property {number} number
 * @property {any} run
 * @property {Awaited<ReturnType<typeof readEvidence>> | null} evidence null: it is not whole
 * @property {number} bytes of its files
 */

/** The files of a soak in parts. @param {string} folder */
export function filesOf(folder) {
  return { node: join(folder, 'node'), contracts: join(folder, 'contracts.json') };
}

/** Makes the folder of the next part. @param {string} folder @returns {{number: number, folder: string}} */
export function nextPart(folder) {
  const number = Math.max(0, ...numbersIn(folder)) + 1;
  const own = join(folder, `part-${number}`);
  mkdirSync(own, { recursive: true });
  return { number, folder: own };
}

/** @param {string} folder @returns {number[]} */
function numbersIn(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => PART.exec(name)?.slice(1).map(Number) ?? []);
}

/** @param {string} folder @returns {Promise<Part[]>} those that have ended, in their order */
async function partsIn(folder) {
  /** @type {Part[]} */
  const parts = [];
  for (const number of numbersIn(folder).sort((a, b) => a - b)) {
    const own = join(folder, `part-${number}`);
    const [out, evidence] = [join(own, 'run.json'), join(own, 'run.evidence')];
    if (!existsSync(out)) continue;
    const bytes = readdirSync(own).reduce((sum, name) => sum + statSync(join(own, name)).size, 0);
    // A part that was killed has none, or half of it.
    const read = await readEvidence(evidence).catch(() => null);
    parts.push({ number, run: JSON.parse(readFileSync(out, 'utf8')), evidence: read, bytes });
  }
  return parts;
}

/**
 * @param {string} folder
 * @param {string} url of the node
 * @returns {Promise<{isExact: boolean, text: string}>}
 */
export async function accountOf(folder, url) {
  const parts = await partsIn(folder);
  /** @type {string[]} */
  const faults = [];
  /** @type {Part | null} */
  let before = null;
  for (const part of parts) {
    faults.push(...faultsOf(part, before));
    before = part;
  }
  const growth = parts.reduce((sum, { run: { audit } }) => sum + grownBy(audit), 0);
  const counted = await countersIn(filesOf(folder).contracts, url);
  if (counted !== growth)
    faults.push(`the counters hold ${counted} on the chain, and the parts have added ${growth} to them`);
  const rows = parts.map(({ number, run, bytes }) => [
    ...[`${number}`, run.startedAt, (run.window.durationMs / 3_600_000).toFixed(2), `${run.counts.started}`],
    ...[`${run.counts.verified}`, `${run.audit?.includedLate ?? '-'}`, `${run.audit?.reorgedOut ?? '-'}`],
    ...[`${run.refills?.payments ?? '-'}`, run.audit?.result ?? 'none', (bytes / 1e6).toFixed(1)],
  ]);
  const columns = 'part,began,hours,started,verified,late,reorged out,refills,audit,MB of files'.split(',');
  const verdict =
    faults.length === 0
      ? `one account of ${parts.length} parts, exact: the counters hold ${counted} = ${growth} of all parts`
      : faults.map((fault) => `NOT EXACT: ${fault}`).join('\n');
  return { isExact: faults.length === 0, text: `${tableText(tableOf('', '', columns, rows))}\n\n${verdict}\n` };
}

/** What the counters have grown by in a part. @param {any} audit */
function grownBy(audit) {
  return audit === null ? 0 : audit.verified + audit.includedLate - audit.reorgedOut;
}

/** @param {Part} part @param {Part | null} before @returns {string[]} */
function faultsOf({ number, run, evidence }, before) {
  const faults = run.audit?.exact === true ? [] : [`the audit of part ${number} is not exact`];
  if (evidence === null) faults.push(`part ${number} was killed: what it sent is not known`);
  if (evidence === null || before === null || before.evidence === null) return faults;
  const { addresses, nextNonces, header } = before.evidence;
  if (JSON.stringify(evidence.header.chain) !== JSON.stringify(header.chain))
    faults.push(`part ${number} is on another chain than part ${before.number}`);
  if (before.evidence.end === null) return [...faults, `part ${before.number} was killed: what it sent is not known`];
  const gap = evidence.addresses.findIndex(
    (address, i) => address !== addresses[i] || evidence.firstNonces[i] !== nextNonces[i],
  );
  if (gap !== -1)
    faults.push(
      `part ${number} begins with ${evidence.addresses[gap]} at nonce ${evidence.firstNonces[gap]}, and part ${before.number} has left ${addresses[gap]} at ${nextNonces[gap]}`,
    );
  return faults;
}

/** The sum of all counters. @param {string} file of --contracts @param {string} url */
async function countersIn(file, url) {
  const contracts = Object.values(JSON.parse(readFileSync(file, 'utf8')).contracts);
  let sum = 0;
  for (let at = 0; at < contracts.length; at += AT_ONCE) {
    const counts = contracts
      .slice(at, at + AT_ONCE)
      .map((to) => call(url, 'eth_call', [{ to, data: COUNT }, 'latest'], TIMEOUT_MS));
    for (const count of await Promise.all(counts)) sum += Number(count);
  }
  return sum;
}
