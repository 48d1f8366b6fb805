import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { EXIT, displayName } from '../errors.js';
import { claimFile, isDevice, proveWritable, writeFileAtomically } from '../files.js';
import { readProfiles } from '../stats/node-profile.js';
import { runFileText } from '../stats/run-file.js';
import { columnsOf } from './terminal.js';
import { stdout } from './streams.js';

/**
 * @import { Output, OutputOptions } from '../contracts/output.d.ts'
 * @import { RunFile } from '../contracts/run-file.d.ts'
 */

/**
 * The run file: the figures so far from time to time, and the whole run at the end, each time by rename.
 * @param {OutputOptions} options
 * @returns {Output}
 */
export function createJsonOutput({ out }) {
  if (out === null || out === '-') return { finish: (run) => stdout.write(runFileText(run)) };
  return isDevice(out) ? { finish: (run) => writeFileAtomically(out, runFileText(run)) } : writingTo(out);
}

/** Exit codes of a run that a signal has ended. @type {readonly number[]} */
const INTERRUPTS = Object.freeze([EXIT.hangup, EXIT.interrupted, EXIT.terminated]);

/**
 * The run file in a folder shared by instances, under its own name. The name is reserved before anything is sent, so
 * that the second of two processes with one index does not start.
 * @param {OutputOptions} options
 * @returns {Output}
 */
export function createResultsOutput({ results, instance }) {
  const folder = results ?? '.';
  const { runId = null, index = null, attempt = 0 } = instance ?? {};
  const name = `${runId ?? 'run'}-${String(index ?? 0).padStart(5, '0')}-${attempt}.json`;
  const file = join(folder, name);
  const which = `${runId === null ? '' : `run ${runId}, `}index ${index}, attempt ${attempt}`;
  let release = () => {};
  const { close, finish, ...members } = writingTo(file);
  return {
    ...members,
    finish: async (run) => {
      // The name stays free for the next start.
      const isInterrupted = run.end === 'set_up_failed' && INTERRUPTS.includes(run.exitCode ?? EXIT.ok);
      if (!isInterrupted) await finish(run);
    },
    open: async () => {
      proveWritable(folder);
      release = claimFile(
        file,
        `${which} has a run file already in ${displayName(folder)}: another instance has this index, or it ran before: give another --run-id, or --attempt ${attempt + 1}`,
      );
    },
    close: async () => {
      await close();
      release();
    },
  };
}

/** The members of an output that keeps in a file how far the run has come. @param {string} file */
function writingTo(file) {
  /** Whether the file has a run whose load did not begin. */
  let isEmpty = false;
  let hasBegun = false;
  return {
    begin: () => {
      [hasBegun, isEmpty] = [true, false];
    },
    checkpoint: async (/** @type {RunFile} */ run) => {
      // Not indented, because it is written during the load.
      await writeFileAtomically(file, `${JSON.stringify(run)}\n`);
      isEmpty = !hasBegun;
    },
    finish: async (/** @type {RunFile} */ run) => {
      await writeFileAtomically(file, runFileText(run));
      isEmpty = false;
      if (readProfiles(run).length === 0) return;
      const { writeProfiles } = await import('./pprof.js');
      await writeProfiles(file, run);
    },
    close: async () => {
      if (isEmpty) rmSync(file, { force: true });
    },
  };
}

/** The run file as one line of a log, for clusters without shared storage: `stress merge` finds it there. */

const RESULT_SCHEMA = 'evm-stress/result@1';

/** @param {RunFile} run @returns {string} */
export function resultLine(run) {
  const text = JSON.stringify(run);
  const { runId = null, index = null, attempt = 0 } = run.instance ?? {};
  const bytes = Buffer.from(text);
  const result = {
    schema: RESULT_SCHEMA,
    runId,
    index,
    attempt,
    id: run.id,
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    gzip: gzipSync(bytes).toString('base64'),
  };
  return `STRESS_RESULT ${JSON.stringify(result)}`;
}

/** @param {OutputOptions} options @returns {Output} */
export function createResultLineOutput({ stream }) {
  // A terminal keeps no log that a merge could read.
  if (columnsOf(stream.stream) !== Infinity) return {};
  return {
    finish: (run) => {
      if (run.end !== 'set_up_failed') stream.write(`${resultLine(run)}\n`);
    },
  };
}
