/** Sweep files of tests that need none from a real sweep. */
import { KEPT } from '../../src/studies/metrics.js';
import { schemaOf } from '../../src/studies/run-files.js';

/** @import { SweepFile } from '../../src/contracts/study.d.ts' */

/**
 *
 * @typedef {object} GivenCell
 * @property {Record<string, string>} settings
 * @property {Record<string, Array<number | null>>} [metrics] others are null
 * @property {number | null} [asked]
 * @property {string} [why] it is saturated
 */

/**
 * A sweep that is over.
 * @param {GivenCell[]} cells each with as many runs as it has values
 * @param {Partial<SweepFile>} [others]
 * @returns {SweepFile}
 */
export function sweepOf(cells, others = {}) {
  const repeat = Math.max(1, ...cells.map(({ metrics = {} }) => Object.values(metrics)[0]?.length ?? 1));
  const names = Object.keys(cells[0].settings);
  const axes = names.map((name) => ({ name, values: [...new Set(cells.map(({ settings }) => settings[name]))] }));
  const startedAt = '2026-01-01T00:00:00.000Z';
  return {
    schema: schemaOf('sweep'),
    id: 'dfc99759-8ea5-4bca-8e28-eb1db060a7d5',
    stress: '1.2.3',
    axes,
    repeat,
    restMs: 1000,
    beforeCell: null,
    options: { duration: '1s' },
    environment: null,
    saturation: [],
    find: null,
    warnings: [],
    startedAt,
    endedAt: '2026-01-01T00:01:00.000Z',
    end: 'complete',
    cells: cells.map(({ settings, metrics = {}, asked: rate = null, why = null }) => ({
      settings,
      asked: rate,
      runs: Array.from({ length: repeat }, (_, i) => ({
        repeat: i + 1,
        file: `cells/${Object.values(settings).join('_')}_${i + 1}.json`,
        exitCode: 0,
        startedAt,
        complaint: null,
      })),
      metrics: Object.fromEntries(KEPT.map((name) => [name, metrics[name] ?? Array(repeat).fill(null)])),
      saturated: why !== null,
      why,
    })),
    ...others,
  };
}
