import { borderless, textOf } from '../output/table.js';
import { printable } from '../output/format.js';
import { cellName } from './plan.js';
import { MARK, sweepTables } from './sweep-tables.js';

/** @import { SweepFile } from './sweep-file.js' */

/**
 * A sweep for the terminal.
 */

/** @type {Record<SweepFile['end'], string>} */
const ENDS = {
  running: 'not ended',
  complete: 'complete',
  incomplete: 'some runs measured nothing',
  interrupted: 'interrupted',
  failed: 'ended before its time',
};

/** How many runs that measured nothing are printed one by one. */
const SHOWN = 10;

/** @param {SweepFile} sweep */
export function sweepText(sweep) {
  const tables = sweepTables(sweep).map(({ title, head, rows }) => {
    const table = borderless({ head, colAligns: head.map((_, i) => (i === 0 ? 'left' : 'right')) });
    table.push(...rows);
    return [...(title === '' ? [] : [title]), textOf(table)].join('\n');
  });
  const isMeasured = runsOf(sweep) > 0;
  return printable(['', headline(sweep), ...(isMeasured ? ['', tables.join('\n\n')] : []), ...notes(sweep)].join('\n'));
}

/** @param {SweepFile} sweep */
function headline(sweep) {
  const { end, cells, repeat, environment, find } = sweep;
  const where = environment === null ? '' : `; ${environment.clientVersion ?? 'a node'} at ${environment.endpoint}`;
  if (find !== null) return `Search: ${ENDS[end]}, ${find.trials.length} runs${where}`;
  return `Sweep: ${ENDS[end]}, ${runsOf(sweep)} of ${cells.length * repeat} runs${repeat > 1 ? ` (mean ± standard deviation of ${repeat})` : ''}${where}`;
}

/** How many measured something. @param {SweepFile} sweep */
function runsOf({ cells }) {
  return cells.reduce((sum, { runs }) => sum + runs.filter(({ complaint }) => complaint === null).length, 0);
}

/** What stands below the tables. @param {SweepFile} sweep @returns {string[]} */
export function notes({ axes, cells, saturation, find, warnings }) {
  const isGrid = axes.length === 2 && cells.some(({ saturated }) => saturated);
  const failed = cells.flatMap(({ settings, runs }) =>
    runs.flatMap(({ repeat, exitCode, complaint }) => {
      if (exitCode === 0 && complaint === null) return [];
      return [
        `${cellName(settings)}, run ${repeat}: exit code ${exitCode}${complaint === null ? '' : `, ${complaint}`}`,
      ];
    }),
  );
  const lines = [
    ...(isGrid ? [`${MARK} saturated`] : []),
    ...saturation.map(({ words }) => words),
    ...(find === null || find.words === '' ? [] : [find.words]),
    ...failed.slice(0, SHOWN),
    ...(failed.length > SHOWN ? [`... and ${failed.length - SHOWN} more runs; sweep.json has them all`] : []),
    ...warnings,
  ];
  return lines.length === 0 ? [] : ['', ...lines];
}
