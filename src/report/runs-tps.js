import { LOOKS } from './distributions.js';
import { rounded } from './figures.js';
import { perSecond } from './row-units.js';

/**
 * @import { Chart } from './charts.js'
 * @import { Row } from './run-charts.js'
 * @import { NamedRun } from './runs-page.js'
 */

/**
 * The rate of several runs over the time of each.
 */

/** More points than that on a line are a smear: neighbours are taken together. */
const MOST_POINTS = 120;

/** Reports of different runs come at the same twentieth of a second, but not at the same millisecond. */
const STEP_MS = 50;

/** @param {ReadonlyArray<NamedRun>} runs @param {string} title @returns {Chart | null} null: there is nothing to draw */
export function tpsChart(runs, title) {
  const series = runs.flatMap(({ name, run }, i) => {
    const points = pointsOf(run.intervals.filter(({ phase }) => phase === 'load'));
    if (points.length === 0) return [];
    return [{ label: name, ...LOOKS[i], x: points.map(({ x }) => x), values: points.map(({ y }) => y) }];
  });
  if (series.length === 0) return null;
  return {
    id: 'tps',
    title,
    kind: 'lines',
    unit: 'perSecond',
    series,
    xLabel: 'since the window began',
    xUnit: 'seconds',
  };
}

/** @param {ReadonlyArray<Row>} rows of a window @returns {Array<{x: number, y: number}>} */
function pointsOf(rows) {
  const size = Math.ceil(rows.length / MOST_POINTS);
  const groups = Array.from({ length: Math.ceil(rows.length / size) || 0 }, (_, i) =>
    rows.slice(i * size, (i + 1) * size),
  );
  return groups.flatMap((group) => {
    const [{ startMs }, { endMs }] = [group[0], group[group.length - 1]];
    const verified = group.reduce((sum, { counts }) => sum + counts.verified, 0);
    const y = rounded(perSecond({ ...group[0], endMs }, verified));
    const middleMs = (startMs + endMs) / 2 - rows[0].startMs;
    return y === null ? [] : [{ x: (STEP_MS * Math.round(middleMs / STEP_MS)) / 1000, y }];
  });
}
