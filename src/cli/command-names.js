/**
 * The commands, and the sets of them that options are for.
 *
 * @typedef {'run' | 'node' | 'fund' | 'reclaim' | 'prepare' | 'new-workload' | 'report' | 'sweep' | 'compare' | 'trend' | 'merge'} Command
 */

export const ALL = commandList('run', 'node', 'fund', 'reclaim', 'prepare', 'sweep', 'compare');
export const ANY = commandList(...ALL, 'new-workload', 'report', 'trend', 'merge');
export const REMOTE = commandList('run', 'fund', 'reclaim', 'prepare', 'sweep', 'compare');
export const ONE_ENDPOINT = commandList('run', 'fund', 'reclaim', 'prepare', 'sweep');
export const FUNDED = commandList('run', 'fund', 'prepare', 'sweep', 'compare');
/** What every run of a study has as well. */
export const LOAD = commandList('run', 'sweep', 'compare');
/** What is asked for also decides how much wallets need. */
export const NEEDED = commandList('run', 'fund', 'sweep', 'compare');
export const SWEPT = commandList('run', 'sweep');
export const JUDGED = commandList('run', 'sweep', 'merge');
export const RUN = commandList('run');
export const SUMMARY = commandList('run', 'report', 'merge');
export const PAGE = commandList('run', 'report', 'sweep', 'compare', 'merge');
export const RESULT = commandList('run', 'prepare', 'compare', 'trend', 'merge');
export const STUDY = commandList('sweep', 'compare');
export const SWEEP = commandList('sweep');
export const COMPARE = commandList('compare');
export const TREND = commandList('trend');
export const MERGE = commandList('merge');
/** The wallets of all instances. */
export const FUNDED_SLICES = commandList('run', 'fund', 'reclaim');
export const SHARED_NAME = commandList('run', 'merge');
export const NODE = commandList('node');
export const RECLAIM = commandList('reclaim');
export const PREPARE = commandList('prepare');

/** @param {...Command} names */
function commandList(...names) {
  return Object.freeze(names);
}

/** @type {Record<Command, string>} */
export const COMMANDS = {
  run: 'load an endpoint, or an embedded development chain when no --rpc is given',
  node: 'run the embedded development chain alone, so that several instances can share it',
  fund: 'top up the wallets of a slice, or of all --instances, from one funder (--fund-from)',
  reclaim:
    'send what is left in the wallets of a slice, or of all --instances, back to the funder (--fund-from) or to --to',
  prepare: 'put logs on a chain that --workload rpc can list page by page, and say in a file where they are',
  'new-workload': 'write a workload of your own to begin with, commented and ready to run',
  report:
    'print the summary of run files (--out), also of one that a run which was killed has left, or make a page of them (--html)',
  sweep:
    'run every combination of options that are given as lists or ranges, or search for the highest load that holds',
  compare: 'say whether one node, build or setting is faster than another, from run files or from runs made for it',
  trend: 'fit how each figure grows with an option that was swept',
  merge: 'add up the run files of all instances of one run, exactly: from a folder, files, or logs (-)',
};
