import {
  COUNTERS,
  addText,
  both,
  first,
  histogram,
  knownOf,
  latestOrFirst,
  listed,
  max,
  merge,
  min,
  onPage,
  sum,
  sumOrMax,
  sumText,
  unknownIfAny,
} from './merge.js';
import { NODE_PROFILE, PROFILE_FIGURES } from './node-profile.js';
import { unknown } from './unknown.js';

/**
 * The figures of observers: how the facts that threads hand over add up, how their members of run files are merged, and
 * what thresholds and studies can name of them.
 *
 * @import { FigureBounds, RunFile, Unknown } from '../contracts/run-file.d.ts'
 * @import { ScalarRow } from './figures.js'
 * @import { Rule } from './merge.js'
 */

/** Operations by a finality level; censored: those that did not reach it. */
export const LEVEL = {
  members: {
    latency: onPage(histogram, 'stress_promise_seconds', 'From due to each finality level of --ladder'),
    censored: histogram,
    notMeasured: sum,
  },
};

/** The facts of the threads, by observer; detached: why one has none. */
export const FACTS = {
  members: {
    detached: { members: {} },
    ladder: {
      members: {
        levels: { each: LEVEL, tag: 'rung' },
        kept: { members: { reached: listed(Infinity), doubts: listed(Infinity), unchecked: sum } },
      },
    },
  },
};

/** Looks at the pool; near: those at which its depth was near the target. */
export const DEPTH = { members: { samples: sum, near: sum, sum, min, max } };

/** The part of the window in which operations were due: not in the pauses of --max-base-fee. @param {number} durationMs @param {Pick<RunFile, 'pace'>} run */
export function dueMs(durationMs, { pace }) {
  return durationMs - (pace?.pausedMs ?? 0);
}

/** In ether: an amount in wei is no number of OpenTelemetry. @param {'valueWei' | 'gasWei' | 'funderWei'} name */
const ether =
  (name) =>
  (/** @type {Record<string, string | undefined>} */ { [name]: wei }) =>
    wei === undefined ? null : Number(wei) / 1e18;

/** Their members of the row of an interval. */
export const OF_ROW = {
  refills: {
    members: {
      payments: onPage(sum, 'stress_refills_total', 'Payments of the funder to wallets (--refill-below)'),
      valueWei: onPage(
        sumText,
        'stress_refill_value_ether_total',
        'What wallets got from the funder in the load',
        {},
        ether('valueWei'),
      ),
      gasWei: onPage(
        sumText,
        'stress_refill_fees_ether_total',
        'What the funder paid for that in fees',
        {},
        ether('gasWei'),
      ),
      funderWei: onPage(
        latestOrFirst,
        'stress_funder_balance_ether',
        'What the funder has left',
        {},
        ether('funderWei'),
      ),
    },
  },
  violations: { each: onPage(sum, 'stress_violations_total', 'Contradictions found by --check, by code'), tag: 'code' },
  pace: {
    members: {
      pausedMs: onPage(
        sumOrMax,
        'stress_pace_paused_seconds_total',
        'Time for which --max-base-fee held operations back',
      ),
      depth: knownOf((a, b) => merge(DEPTH, a, b)),
    },
  },
};

/** Operations not in the chain are not known of an instance without an audit. */
const BROKEN = { broken: unknownIfAny((a, b) => merge(COUNTERS, a, b)), restored: unknownIfAny((a, b) => a + b) };

/** Examples of violations of each code in the run file. */
const MOST_EXAMPLES = 3;

const CONSISTENCY = {
  members: {
    share: first,
    requests: sum,
    checks: COUNTERS,
    undecided: COUNTERS,
    off: { members: {} },
    violations: { each: { members: { count: sum, examples: listed(MOST_EXAMPLES) } } },
    lag: { each: { members: { blocks: max, ms: max } } },
  },
};

/** What a funder paid is not known where the thread that pays did not end. */
const [amount, wei] = [unknownIfAny((a, b) => a + b), unknownIfAny(addText)];

/** Their members of the run file. @type {Record<string, Rule>} */
export const OF_RUN = {
  ladder: {
    members: {
      ...BROKEN,
      rungs: { each: { members: { reached: sum, notReached: sum, ...LEVEL.members, ...BROKEN } } },
    },
  },
  nodeProfile: NODE_PROFILE,
  consistency: unknownIfAny((a, b) => merge(CONSISTENCY, a, b)),
  refills: { members: { transactions: amount, payments: amount, valueWei: wei, gasWei: wei } },
  pace: {
    members: {
      poolTarget: first,
      depth: knownOf((a, b) => merge(DEPTH, a, b)),
      maxBaseFeeWei: first,
      pauses: max,
      pausedMs: max,
    },
  },
  evidence: { members: { sha256: listed(Infinity), isSigned: both } },
};

/** @type {ReadonlyArray<ScalarRow & {option: string, needs: string}>} */
export const OBSERVED_FIGURES = Object.freeze([
  ...PROFILE_FIGURES,
  {
    name: 'violations',
    unit: 'count',
    label: 'contradictions',
    words: 'proven contradictions between answers of the endpoints (--check consistency)',
    bounds: violationsIn,
    option: 'check',
    needs: 'the checks that find them: --check consistency',
  },
  {
    name: 'broken',
    unit: 'count',
    label: 'broken operations',
    words: 'operations due in the window that reached a finality level and are not in the chain at the end (--ladder)',
    bounds: brokenIn,
    option: 'ladder',
    needs: 'finality levels: --ladder auto',
  },
]);

/** Answers that could not be judged may have been contradictions. @param {RunFile} run @returns {FigureBounds | Unknown} */
function violationsIn({ consistency = null, unmeasured }) {
  if (consistency === null) return unknown(unmeasured['/consistency'] ?? '--check consistency was not given');
  if (Object.keys(consistency.checks).length === 0) return unknown('no check was made');
  const value = Object.values(consistency.violations).reduce((sum, { count }) => sum + count, 0);
  const censored = Object.values(consistency.undecided ?? {}).reduce((sum, count) => sum + count, 0);
  return { value, atMost: value + censored, censored };
}

/** Operations that are lost for certain: nothing proves it of the unknown ones. @param {RunFile} run @returns {FigureBounds | Unknown} */
function brokenIn({ ladder, unmeasured }) {
  const given = ladder === undefined ? '--ladder was not given' : 'no level was followed';
  if (!ladder?.broken) return unknown(unmeasured['/ladder/broken'] ?? unmeasured['/ladder'] ?? given);
  const { lost, replaced, reorged, unknown: censored } = ladder.broken;
  const value = lost + replaced + reorged;
  return { value, atMost: value + censored, censored };
}
