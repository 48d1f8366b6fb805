import * as parse from './parse.js';

/**
 * The options of evidence, and the command that checks it.
 *
 * @import { CommandRow, Row } from './options.js'
 */

/** @type {CommandRow} */
export const VERIFY = Object.freeze({
  usage: 'EVIDENCE... [RUN.json] [--rpc URL]',
  takes: 'files',
  help: 'check the evidence of a run (--evidence), with --rpc on the chain',
  examples: ['verify run.evidence run.json', 'verify run.evidence --rpc URL'],
});

// prettier-ignore
/** Rows of the table of options. @type {readonly Row[]} */
export const evidenceRows = Object.freeze([
  { name: 'evidence', argument: 'FILE', parse: parse.fileName, commands: ['run'], file: 'written',
    help: 'file with what others need to check the run on the chain (stress verify): blocks, wallets, nonces and figures, no keys or URLs; with .gz at its end it is compressed' },
  { name: 'sign', isFlag: true, commands: ['run'], needs: ['evidence'],
    help: 'sign the evidence with the key of each wallet: shows that whoever made the run has the keys' },
  { name: 'state', argument: 'FILE', parse: parse.fileName, commands: ['verify'], needs: ['rpc'], file: 'kept',
    help: 'file that keeps the progress of a verification; the same command resumes from it' },
]);
