import { FUNDED_SLICES, MERGE, RUN, SHARED_NAME } from './command-names.js';
import { fileName } from './file-names.js';
import { duration, flag, instant, runName, wholeNumber } from './values.js';

/** @import { Option } from './options.js' */

/** What instances on many machines are told, and their merge. See src/cli/options.js. */

/** The most instances of one run. */
const MOST_INSTANCES = 100_000;

// prettier-ignore
/** @type {readonly Option[]} */
export const INSTANCE_OPTIONS = Object.freeze([
  { name: 'index', key: 'index', argument: 'I|auto', parse: instanceIndex, commands: RUN,
    defaultText: 'auto where --instances is given',
    describe: 'which instance of a run this is, counted from 0: its wallets begin at -o + I x -t, and {index} in the names of --out, --samples, --blocks, --hlog, --html and --junit is I; auto: as Kubernetes or Slurm numbers it' },
  { name: 'instances', key: 'instances', argument: 'N', parse: wholeNumber(1, MOST_INSTANCES), commands: FUNDED_SLICES,
    defaultText: 'one, or as many as Slurm has started',
    describe: 'how many instances a run has, each with -t wallets of its own' },
  { name: 'attempt', key: 'attempt', argument: 'N', parse: wholeNumber(0, 1_000_000), commands: RUN,
    defaultText: '0; under --index auto what Slurm says',
    describe: 'how often this index was started before' },
  { name: 'run-id', key: 'runId', argument: 'NAME', parse: runName, commands: SHARED_NAME,
    describe: 'the name that all instances of one run have in common, on Slurm slurm-JOB unless it is given; a merge takes no others' },
  { name: 'start-at', key: 'startAtMs', argument: 'TIME', parse: instant, commands: RUN,
    describe: 'when the load of all instances begins: 2030-01-31T12:00:00Z, or Unix seconds' },
  { name: 'barrier', key: 'barrier', argument: 'FOLDER', parse: fileName, commands: RUN,
    describe: 'a folder that all instances share, where they wait for each other before the load' },
  { name: 'start-timeout', key: 'startTimeoutMs', argument: 'TIME', parse: duration(100), fallback: '10m', commands: RUN,
    describe: 'longest wait for the common start; exit code 75 if it is not reached' },
  { name: 'results', key: 'results', argument: 'FOLDER', parse: fileName, commands: RUN,
    describe: 'write the run file there, under the name of the run, the index and the attempt' },
  { name: 'expect', key: 'expect', argument: 'N', parse: wholeNumber(1, MOST_INSTANCES), commands: MERGE,
    defaultText: 'what the run files say',
    describe: 'how many instances there must be; exit code 75 if some are missing' },
  { name: 'partial', key: 'allowPartial', argument: '', isFlag: true, parse: flag, fallback: 'false', commands: MERGE,
    describe: 'merge what is there, although instances are missing or did not come to their end' },
]);

/** @param {string} text @returns {number | 'auto'} */
function instanceIndex(text) {
  return text === 'auto' ? text : wholeNumber(0, MOST_INSTANCES - 1)(text);
}
