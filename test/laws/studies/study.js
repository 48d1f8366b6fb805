/** Studies whose runs are made up: what a command line asks for, and what each run gives. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { readInvocation } from '../../../src/cli/config.js';
import { Stop } from '../../../src/core/stop.js';
import { createFakeClock } from '../../helpers/clock.js';
import { runOf } from './runs.js';

/**
 * @import { Config } from '../../../src/contracts/config.d.ts'
 * @import { Parts } from '../../../src/contracts/study.d.ts'
 * @import { Finished } from '../../../src/studies/experiment.js'
 *
 * @typedef {{args: readonly string[], env: NodeJS.ProcessEnv, number: number}} Asked number: from 1
 */

/** How long each run takes. */
const RUN_US = 10e6;

/**
 * @template T
 * @param {(config: Config, parts: Parts, tools: {runChild: (how: any) => Promise<Finished>}) => Promise<T>} study
 * @param {string[]} line the command line
 * @param {(asked: Asked) => Partial<Finished>} [answer] of each run; a plain run unless it says otherwise
 * @param {Stop} [stop]
 */
export function studied(study, line, answer = () => ({}), stop = new Stop()) {
  /** @type {string[]} */
  const lines = [];
  /** @type {number[]} */
  const rests = [];
  /** @type {string[]} labels of the progress bar */
  const progress = [];
  /** @type {Asked[]} */
  const runs = [];
  let nowUs = 0;
  const parts = /** @type {Parts} */ (
    /** @type {unknown} */ ({
      clock: {
        ...createFakeClock(),
        nowUs: () => nowUs,
        sleep: async (/** @type {number} */ ms) => void rests.push(ms),
      },
      stop,
      version: '1.0.0',
      env: {},
      onProgress: (/** @type {string} */ label) => progress.push(label),
      say: (/** @type {string} */ text) => lines.push(text),
      checkCell: (/** @type {string[]} */ args, /** @type {NodeJS.ProcessEnv} */ env) =>
        readInvocation(args, env, '1.0.0'),
    })
  );
  const result = (async () => {
    const invocation = await readInvocation(line, { STRESS_FUNDER_KEY: '', PATH: '/bin' }, '1.0.0');
    assert.ok(invocation.kind === 'command');
    const runChild = async (/** @type {any} */ { args, env, out }) => {
      const asked = { args, env, number: runs.length + 1 };
      runs.push(asked);
      nowUs += RUN_US;
      const finished = { exitCode: 0, run: runOf(asked.number), complaint: null, ...answer(asked) };
      if (finished.run !== null) writeFileSync(out, JSON.stringify(finished.run));
      return finished;
    };
    return study(invocation.config, parts, { runChild });
  })();
  return { result, lines, rests, runs, progress };
}
