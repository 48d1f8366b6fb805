/**
 * The figures of a run file that evidence repeats, each with its formula: `stress verify` computes them again of the blocks and
 * wallets of the file. Without a formula a figure is what the reporter says.
 *
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { BlockRow, End, Evidence } from './format.js'
 *
 * @typedef {Record<string, number | null>} Values by name
 *
 * @typedef {object} FigureRow
 * @property {string} [formula]
 * @property {(run: RunFile) => number | null | undefined} read from a run file
 * @property {(body: Body, values: Values) => number | null} [compute] of the file; null: not known
 * @property {'exact' | 'steady'} [holdsIf] the formula holds of an exact audit, or if no block
 *   left the chain: those count in the window of a run file
 *
 * @typedef {Pick<Evidence, 'firstNonces' | 'nextNonces' | 'removed'> & {rows: readonly BlockRow[]}} Body
 */

/** @param {readonly BlockRow[]} rows @param {(row: BlockRow) => number} of */
const sumOf = (rows, of) => rows.reduce((sum, row) => sum + of(row), 0);

/** @param {Body} body @param {Values} values */
function windowRows({ rows }, { firstBlock, lastBlock }) {
  return rows.filter(({ number }) => number >= Number(firstBlock) && number <= Number(lastBlock));
}

const WINDOW = 'blocks firstBlock to lastBlock';
const REPORTED = 'stated by the reporter';

/** @param {number | null} amount @param {number | null} ms */
const perSecond = (amount, ms) => (amount === null || !ms ? null : (1000 * amount) / ms);

/** @param {Values} values @param {string[]} names */
const added = (values, ...names) => names.reduce((sum, name) => sum + Number(values[name]), 0);

/** Operations or gas whose throughput is spread over the time of the blocks. @param {RunFile} run @param {'verifiedPerSecond' | 'chainGasPerSecond'} rate */
const spread = ({ rates }, rate) =>
  rates[rate] === null || rates.spreadMs === undefined ? null : (Number(rates[rate]) * rates.spreadMs) / 1000;

/** Fullness is a sum of shares. @param {RunFile} run */
const fullness = ({ blocks: { count, fullnessSum = 0, gasLimit } }) =>
  count === 0 || gasLimit === 0 ? null : fullnessSum / count;

/** By name; each stands behind those that it is computed of. @type {Readonly<Record<string, FigureRow>>} */
export const FIGURES = Object.freeze({
  attempts: { read: ({ counts }) => counts.started },
  operationsVerified: { read: ({ counts }) => counts.verified },
  failed: { read: ({ counts }) => counts.failed },
  timedOut: { read: ({ counts }) => counts.timedOut },
  abandoned: {
    formula: 'attempts - operationsVerified - failed - timedOut',
    read: ({ counts }) => counts.abandoned,
    compute: (_, values) =>
      2 * Number(values.attempts) - added(values, 'attempts', 'operationsVerified', 'failed', 'timedOut'),
  },
  includedLate: { read: ({ audit }) => audit?.includedLate },
  reorgedOut: { read: ({ audit }) => audit?.reorgedOut },
  verified: {
    formula: 'succeeded operations of all blocks - includedLate + reorgedOut',
    read: ({ audit }) => audit?.verified,
    compute: ({ rows }, values) =>
      sumOf(rows, ({ succeeded }) => succeeded) - Number(values.includedLate) + Number(values.reorgedOut),
    holdsIf: 'exact',
  },
  calls: {
    formula: 'operationsVerified - verified',
    read: ({ counts, audit }) => (audit === null ? null : counts.verified - audit.verified),
    compute: (_, { operationsVerified, verified }) => Number(operationsVerified) - Number(verified),
    holdsIf: 'exact',
  },
  reverted: {
    formula: 'reverted operations of all blocks',
    read: ({ audit }) => audit?.reverted,
    compute: ({ rows }) => sumOf(rows, ({ reverted }) => reverted),
    holdsIf: 'exact',
  },
  noncesUsed: {
    formula: 'next nonce - first nonce of all wallets = verified + includedLate - reorgedOut + reverted',
    read: ({ audit }) =>
      audit === null ? null : audit.verified + audit.includedLate - audit.reorgedOut + audit.reverted,
    compute: ({ firstNonces, nextNonces }) => nextNonces.reduce((sum, nonce, i) => sum + nonce - firstNonces[i], 0),
    holdsIf: 'exact',
  },
  reorgs: { read: ({ reorgs }) => reorgs.count },
  firstBlock: { read: ({ blocks }) => (blocks.count === 0 ? null : blocks.firstNumber) },
  lastBlock: { read: ({ blocks }) => (blocks.count === 0 ? null : blocks.lastNumber) },
  windowBlocks: {
    formula: `number of ${WINDOW}`,
    read: ({ blocks }) => (blocks.count === 0 ? null : blocks.count),
    compute: (body, values) => windowRows(body, values).length,
    holdsIf: 'steady',
  },
  windowTransactions: {
    formula: `transactions of ${WINDOW}`,
    read: ({ blocks }) => (blocks.count === 0 ? null : blocks.transactions),
    compute: (body, values) => sumOf(windowRows(body, values), ({ transactions }) => transactions),
    holdsIf: 'steady',
  },
  windowGasUsed: {
    formula: `gas used of ${WINDOW}`,
    read: ({ blocks }) => (blocks.count === 0 ? null : blocks.gasUsed),
    compute: (body, values) => sumOf(windowRows(body, values), ({ gasUsed }) => gasUsed),
    holdsIf: 'steady',
  },
  fullness: {
    formula: `mean of gas used / gas limit of ${WINDOW}`,
    read: fullness,
    compute: (body, values) => {
      const rows = windowRows(body, values);
      return sumOf(rows, ({ gasUsed, gasLimit }) => (gasLimit > 0 ? gasUsed / gasLimit : 0)) / rows.length;
    },
    holdsIf: 'steady',
  },
  skewMinMs: { read: ({ blocks }) => blocks.skewMinMs },
  skewMaxMs: { read: ({ blocks }) => blocks.skewMaxMs },
  windowMs: { read: ({ window }) => window.durationMs },
  spreadMs: { read: ({ rates }) => rates.spreadMs },
  windowVerified: { read: (run) => spread(run, 'verifiedPerSecond') },
  verifiedPerSecond: {
    formula: '1000 * windowVerified / spreadMs',
    read: ({ rates }) => rates.verifiedPerSecond,
    compute: (_, { windowVerified, spreadMs }) => perSecond(windowVerified, spreadMs),
  },
  windowGas: { read: (run) => spread(run, 'chainGasPerSecond') },
  chainGasPerSecond: {
    formula: '1000 * windowGas / spreadMs',
    read: ({ rates }) => rates.chainGasPerSecond,
    compute: (_, { windowGas, spreadMs }) => perSecond(windowGas, spreadMs),
  },
  confirmations: { read: ({ config }) => Number(config.confirmations ?? 0) },
  p50Us: { read: ({ latency }) => latency.total.p50Us },
  p99Us: { read: ({ latency }) => latency.total.p99Us },
});

/** @param {RunFile} run @returns {End['figures']} */
export function figuresOf(run) {
  return Object.entries(FIGURES).map(([name, { read, formula = REPORTED }]) => [name, read(run) ?? null, formula]);
}

/** @param {End} end @returns {Values} */
export function valuesOf({ figures }) {
  return Object.fromEntries(figures.map(([name, value]) => [name, value]));
}

/** Sums of floating-point numbers in another order. */
const NEAR = 1e-9;

/** @param {number} a @param {number} b */
export function isNear(a, b) {
  return Math.abs(a - b) <= NEAR * Math.max(1, Math.abs(a), Math.abs(b));
}

/**
 * The figures that do not follow from the file.
 * @param {Body} body
 * @param {End} end
 * @returns {{wrong: Array<{name: string, words: string}>, checked: number}}
 */
export function wrongFigures(body, end) {
  const values = valuesOf(end);
  const isExact = end.audit?.result === 'exact';
  const isSteady = values.reorgs === 0 && body.removed === 0;
  /** @type {Array<{name: string, words: string}>} */
  const wrong = [];
  let checked = 0;
  for (const [name, { formula, compute, holdsIf }] of Object.entries(FIGURES)) {
    const stated = end.figures.find(([one]) => one === name);
    if (stated === undefined) {
      wrong.push({ name, words: 'the file does not have it' });
      continue;
    }
    const [, value, own] = stated;
    if (own !== (formula ?? REPORTED))
      wrong.push({ name, words: `its formula is "${own}", not "${formula ?? REPORTED}"` });
    if (value !== null && value < 0 && !name.startsWith('skew')) wrong.push({ name, words: `it is ${value}` });
    const isOpen = (holdsIf === 'exact' && !isExact) || (holdsIf === 'steady' && !isSteady);
    if (compute === undefined || value === null || isOpen) continue;
    const computed = compute(body, values);
    checked += 1;
    if (computed === null || !isNear(value, computed))
      wrong.push({ name, words: `it is ${value}, and ${computed} by its formula: ${formula}` });
  }
  return { wrong, checked };
}
