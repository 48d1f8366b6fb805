import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFileAtomically } from '../files.js';
import { SCHEMAS, readDocument } from './document.js';

/**
 * @import { Axis } from '../cli/study-config.js'
 * @import { InputError } from '../errors.js'
 * @import { RunFile } from '../metrics/summary.js'
 */

/**
 * sweep.json: a whole sweep as one document, also while it goes on. docs/sweep.schema.json describes it.
 *
 * @typedef {object} SweepRun one run of a cell
 * @property {number} repeat from 1
 * @property {string} file its run file, seen from the folder of sweep.json
 * @property {number} exitCode
 * @property {string} startedAt
 * @property {string | null} complaint why it measured nothing
 *
 * @typedef {object} SweepCell one combination of settings
 * @property {Record<string, string>} settings by the name of the option
 * @property {Record<string, string>} derived what the sweep itself has worked out, by the name of the option
 * @property {number | null} asked operations per second, of all connections together
 * @property {SweepRun[]} runs
 * @property {Record<string, Array<number | null>>} metrics one value for each of its runs
 * @property {string[]} [atLeast] metrics that may be larger in some run, because operations are censored
 * @property {boolean} saturated
 * @property {string | null} why
 *
 * @typedef {object} Saturation of one line of cells
 * @property {string} along the option that raises the load
 * @property {Record<string, string>} at the other settings of the line
 * @property {Record<string, string> | null} settings of the first cell from which on all are saturated
 * @property {string} words
 *
 * @typedef {object} Trial
 * @property {number} value
 * @property {boolean} holds
 * @property {string[]} failed what does not hold, with its figures
 * @property {string} file
 * @property {string} startedAt
 * @property {{name: string, evidence: string} | null} [verdict] what limited its run
 *
 * @typedef {object} Find
 * @property {string} name of the option
 * @property {readonly string[]} until
 * @property {number | null} estimate
 * @property {number | null} low
 * @property {number | null} high
 * @property {number} confidence
 * @property {boolean} [rateHeld] whether the rate had to be held as well, although no condition says so
 * @property {boolean} sharp
 * @property {string} words
 * @property {Trial[]} trials
 *
 * @typedef {object} SweepFile
 * @property {string} schema
 * @property {string} id
 * @property {string} startedAt
 * @property {string | null} endedAt
 * @property {'running' | 'complete' | 'incomplete' | 'interrupted' | 'failed'} end
 * @property {string} stress its version
 * @property {string | null} preset
 * @property {readonly Axis[]} axes
 * @property {number} repeat
 * @property {number} restMs
 * @property {string | null} [beforeCell] how the SHA-256 of the command of --before-cell begins; older files lack it
 * @property {Readonly<Record<string, unknown>>} options what all runs are given, without secrets
 * @property {Environment | null} environment of the first run
 * @property {SweepCell[]} cells
 * @property {Saturation[]} saturation
 * @property {Find | null} find
 * @property {string[]} warnings
 *
 * @typedef {object} Environment
 * @property {string} endpoint
 * @property {string | null} clientVersion
 * @property {number | null} chainId
 * @property {string} cpu
 * @property {number} cores
 * @property {string} node version of Node.js
 */

export const SWEEP_SCHEMA = SCHEMAS.sweep;
const SCHEMA_FILE = new URL('../../docs/sweep.schema.json', import.meta.url);
const KIND = Object.freeze({ name: 'sweep file', schema: SWEEP_SCHEMA, schemaFile: SCHEMA_FILE });

/**
 * A sweep that begins.
 * @param {Pick<SweepFile, 'stress' | 'preset' | 'axes' | 'repeat' | 'restMs' | 'beforeCell' | 'options'>} asked
 * @param {number} nowMs time of day
 * @returns {SweepFile}
 */
export function newSweep(asked, nowMs) {
  const { stress, preset, axes, repeat, restMs, beforeCell = null, options } = asked;
  return {
    schema: SWEEP_SCHEMA,
    id: randomUUID(),
    startedAt: new Date(nowMs).toISOString(),
    endedAt: null,
    end: 'running',
    stress,
    preset,
    axes,
    repeat,
    restMs,
    beforeCell,
    options,
    environment: null,
    cells: [],
    saturation: [],
    find: null,
    warnings: [],
  };
}

/** @param {RunFile} run @returns {Environment} */
export function environmentOf({ environment }) {
  const { endpoint, clientVersion, chainId, cpu, cores, node } = /** @type {any} */ (environment);
  return { endpoint, clientVersion, chainId, cpu, cores, node };
}

/** @param {string} file @param {SweepFile} sweep */
export function writeSweep(file, sweep) {
  return writeFileAtomically(file, `${JSON.stringify(sweep, null, 2)}\n`);
}

/**
 * @param {string} file
 * @returns {Promise<SweepFile>}
 * @throws {InputError}
 */
export function readSweep(file) {
  return readDocument(file, KIND);
}

/** @param {string} file @returns {Promise<SweepFile | null>} null where there is none yet */
export async function readSweepIfAny(file) {
  return existsSync(file) ? readSweep(file) : null;
}
