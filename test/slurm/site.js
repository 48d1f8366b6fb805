/** A folder that jobs are submitted from, as docs/scale-out.md has it, and what the jobs leave there. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { Mnemonic } from 'ethers';
import { startGeth } from '../../scripts/nodes/geth.js';
import { equalBy } from '../helpers/equal-by.js';
import { STRESS, readJson } from '../helpers/cli.js';
import { readRows } from '../helpers/rows.js';
import { countersOf } from '../helpers/scale-out.js';
import { startSlurm } from './slurm.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { Job } from './slurm.js'
 * @import { TestContext } from 'node:test'
 */

/** Wallets of one instance. */
export const THREADS = 20;

/** What a job may take on a slow machine, with all that it waits for. */
export const PATIENCE_MS = 240_000;

/**
 * @typedef {ReturnType<typeof startSlurm>} Slurm
 * @typedef {Awaited<ReturnType<typeof startGeth>>} Geth
 * @typedef {{slurm: Slurm, geth: Geth}} Lab
 */

/**
 * A cluster and a chain for all tests of a file, there when the first one begins.
 * @returns {Lab}
 */
export function openLab() {
  const lab = /** @type {Lab} */ ({});
  before(async () => {
    lab.slurm = startSlurm();
    lab.geth = await startGeth({ period: 1 });
  });
  after(async () => {
    await lab.geth?.stop();
    lab.slurm?.stop();
  });
  return lab;
}

export class Site {
  #geth;
  #slurm;
  /** A secret of its own, which must come through and must not be seen on the way. */
  phrase = Mnemonic.fromEntropy(randomBytes(16)).phrase;

  /**
   * @param {TestContext} t
   * @param {Lab} lab
   * @param {string} [stress] lines of a shell, before the program takes its place: $i is the index of the instance
   */
  constructor(t, { slurm, geth }, stress = '') {
    this.#geth = geth;
    this.#slurm = slurm;
    this.folder = temporaryFolder(t);
    const settings = { rpc: geth.url, 'chain-id': geth.chainId, threads: THREADS, mnemonic: this.phrase };
    writeFileSync(join(this.folder, 'chain.json'), JSON.stringify(settings), { mode: 0o600 });
    writeFileSync(join(this.folder, 'funder.key'), geth.funderKey, { mode: 0o600 });
    const programs = join(this.folder, 'node_modules/.bin');
    mkdirSync(programs, { recursive: true });
    const shell = [
      ...['#!/bin/sh', 'i=${SLURM_ARRAY_TASK_ID:-$SLURM_PROCID}'],
      'case $1 in fund|merge) ;; *) set -- "$@" --samples "samples-$i.csv" ;; esac',
      ...[stress, `exec '${process.execPath}' '${STRESS}' "$@"`, ''],
    ];
    writeFileSync(join(programs, 'stress'), shell.join('\n'), { mode: 0o755 });
  }

  /** @param {string} script @param {Parameters<Slurm['submit']>[2]} [more] */
  submit(script, more) {
    return this.#slurm.submit(this.folder, script, more);
  }

  /** Funds the wallets of so many instances. @param {number} instances @returns {Promise<string>} the job */
  fund(instances) {
    return this.submit('fund.sbatch', { args: ['--instances', `${instances}`, '--fund-amount', '1'] });
  }

  /** A job that begins when the wallets have their funds. @param {string} fund @param {string[]} more options of sbatch */
  after(fund, ...more) {
    return [`--dependency=afterok:${fund}`, '--kill-on-invalid-dep=yes', ...more];
  }

  /**
   * Merges what the instances of a job have left, as a job of its own that waits for it.
   * @param {string} load the job
   * @param {string[]} more of its arguments
   */
  merge(load, ...more) {
    const args = ['--run-id', `slurm-${load}`, '--expect', '4', ...more];
    return this.submit('merge.sbatch', { options: [`--dependency=afterany:${load}`], args });
  }

  /**
   * Waits for a job to be over.
   * @param {string} id
   * @param {string[]} exitCodes of its elements, as Slurm has them: the code, a colon and the signal
   */
  async expect(id, ...exitCodes) {
    const jobs = await this.#slurm.ended(id, PATIENCE_MS).catch((error) => assert.fail(`${error}\n${this.logs()}`));
    equalBy(jobs, ({ ExitCode }) => ExitCode, exitCodes, `job ${id}\n${this.logs()}`);
    return jobs;
  }

  /** Secrets of the instances and of the job that funds. */
  get secrets() {
    return [this.phrase, this.#geth.funderKey.replace(/^0x/, '')];
  }

  /** What all jobs have said, without the long lines that are for programs. */
  logs() {
    const files = readdirSync(this.folder).filter((name) => name.endsWith('.log'));
    return files.map((name) => `== ${name}\n${this.log(name)}`).join('\n');
  }

  /** @param {string} name */
  log(name) {
    const text = readFileSync(join(this.folder, name), 'utf8');
    return text.replaceAll(/STRESS_RESULT .*/g, 'STRESS_RESULT ...');
  }

  /** @param {string} load the job @param {number} index @returns {any} */
  runFile(load, index) {
    return readJson(join(this.folder, 'results', `slurm-${load}-${String(index).padStart(5, '0')}-0.json`));
  }

  /** @param {string} load the job @param {number} index */
  instance(load, index) {
    return { run: this.runFile(load, index), rows: readRows(join(this.folder, `samples-${index}.csv`)) };
  }

  /** @returns {any} */
  merged() {
    return readJson(join(this.folder, 'merged.json'));
  }

  /** @param {number} instances @param {number} [first] index of the first of them */
  wallets(instances, first = 0) {
    const slices = { offset: first * THREADS, threads: instances * THREADS };
    return countersOf({ url: this.#geth.url, mnemonic: this.phrase, ...slices });
  }
}
