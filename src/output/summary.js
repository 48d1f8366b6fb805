import Table from 'cli-table3';
import { count, byCode, figure, megabytes, ms, seconds } from './format.js';

/**
 * The whole run at a glance.
 * @param {import('../metrics/summary.js').RunFile} run
 * @param {boolean} explain
 */
export function summaryText(run, explain) {
  const parts = [
    '',
    `Summary: ${ENDS[run.end] ?? run.end}, window ${seconds(run.window.durationMs)}`,
    overview(run),
    ...Object.entries(run.failureWords).map(([code, words]) => `  first ${code}: ${words}`),
    latencyTable(run),
    auditText(run),
  ];
  if (explain) parts.push('', ...Object.entries(run.definitions).map(([name, text]) => `${name}: ${text}`));
  return parts.join('\n');
}

/** @type {Record<string, string>} */
const ENDS = {
  duration: 'ran for its duration',
  interrupted: 'interrupted',
  terminated: 'terminated',
  hangup: 'terminal closed',
  foreign_sender: 'ended because another sender uses the wallets',
  no_wallets: 'ended because no wallet was left to work with',
  endpoint_lost: 'ended because the endpoint was lost',
  worker_died: 'ended because a worker thread died',
  chain_ended: 'ended because the embedded chain ended',
  internal: 'ended by a bug of stress',
  audit_failed: 'the audit could not be made',
  output_closed: 'ended because its output was closed',
};

const BORDERLESS = Object.freeze({
  ...{
    top: '',
    'top-mid': '',
    'top-left': '',
    'top-right': '',
    bottom: '',
    'bottom-mid': '',
    'bottom-left': '',
    'bottom-right': '',
  },
  ...{ left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '  ' },
});
const STYLE = Object.freeze({ 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true });

/** @param {import('../metrics/summary.js').RunFile} run */
function overview(run) {
  const { counts, window, rates, generator } = run;
  const table = new Table({ chars: BORDERLESS, style: { ...STYLE } });
  /** @type {Array<[string, string, string]>} */
  const rows = [
    [
      '  TPS',
      figure(rates.verifiedPerSecond),
      `verified per second of the window (${count(window.counts.verified)} in it)`,
    ],
    ['  attempts', count(counts.started), ''],
    ['  verified', count(counts.verified), ''],
    ['  failed', count(counts.failed), byCode(run.failures)],
    ['  timed out', count(counts.timedOut), ''],
    ['  abandoned', count(counts.abandoned), counts.abandoned > 0 ? 'still open when the drain ended' : ''],
    [
      '  generator',
      figure(generator.cpuUsPerVerified),
      `us of CPU per verified operation; peak memory ${megabytes(generator.peakRssBytes)}`,
    ],
  ];
  rows.forEach(([name, value, note]) => table.push([name, { content: value, hAlign: 'right' }, note]));
  return trimLines(table.toString());
}

/** @param {import('../metrics/summary.js').RunFile} run */
function latencyTable({ latency }) {
  const table = new Table({
    chars: BORDERLESS,
    style: { ...STYLE },
    head: ['', 'avg', 'min', 'p50', 'p90', 'p99', 'p99.9', 'max'].map((name) => name),
    colAligns: ['left', ...Array(7).fill('right')],
  });
  const rows = [
    ['  latency ms', latency.total],
    ['    queued', latency.stages.queued],
    ['    submit', latency.stages.submit],
    ['    inclusion', latency.stages.inclusion],
    ['    read-back', latency.stages.readBack],
  ];
  for (const [name, d] of /** @type {Array<[string, import('../metrics/distribution.js').DistributionJson]>} */ (
    rows
  )) {
    table.push([name, ...[d.meanUs, d.minUs, d.p50Us, d.p90Us, d.p99Us, d.p999Us, d.maxUs].map(ms)]);
  }
  return trimLines(table.toString());
}

/** @param {import('../metrics/summary.js').RunFile} run */
function auditText(run) {
  const audit = /** @type {import('../run/audit.js').AuditReport | null} */ (run.audit);
  if (audit === null) return `  audit       none: ${run.unmeasured['/audit']}`;
  const { blockNumber, wallets, includedLate, effectsOnChain } = audit;
  if (audit.exact) {
    return `  audit       exact: ${count(wallets)} counters grew by ${count(Number(effectsOnChain))} = ${count(audit.verified)} verified + ${count(includedLate)} included late, at block ${count(blockNumber)}`;
  }
  const lines = [
    `  audit       NOT EXACT at block ${count(blockNumber)}: ${count(audit.verified)} verified + ${count(includedLate)} included late, but the counters grew by ${count(Number(effectsOnChain))}` +
      ` (ours are at least ${audit.bounds.atLeast}, at most ${audit.bounds.atMost}); ${count(audit.pending)} pending, ${count(audit.replaced)} replaced`,
    ...audit.mismatches
      .slice(0, SHOWN)
      .map(
        (m) =>
          `    wallet ${m.walletIndex} (${m.address}): effect ${m.effect}, expected ${m.expectedEffect}; nonce ${m.nonce}, expected ${m.expectedNonce}; pending ${m.pendingNonce - m.nonce}`,
      ),
    ...audit.foreign
      .slice(0, SHOWN)
      .map((f) => `    not ours: ${f.hash} (wallet ${f.walletIndex}, nonce ${f.nonce}, block ${f.blockNumber})`),
    ...audit.resolutions
      .filter(({ fate }) => fate === 'pending' || fate === 'replaced')
      .slice(0, SHOWN)
      .map((r) => `    ${r.fate}: ${r.hash} (wallet ${r.walletIndex}, nonce ${r.nonce})`),
  ];
  if (audit.mismatchCount > SHOWN)
    lines.push(`    ... ${audit.mismatchCount} wallets in all; the run file (--out) lists more`);
  return lines.join('\n');
}

/** How many wallets, transactions and operations are printed one by one. */
const SHOWN = 10;

/** @param {string} text */
function trimLines(text) {
  return text.replace(/[ \t]+$/gm, '');
}
