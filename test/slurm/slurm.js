/** A real Slurm on this machine, by the scripts of the lab, and what its jobs came to. */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ROOT, cleanEnvironment } from '../helpers/cli.js';

/** Beside the checkout, unless the environment names another place. */
const LAB = resolve(ROOT, process.env.STRESS_LAB || '../shared/lab', 'slurm');
const UP_TIMEOUT_MS = 300_000;
const COMMAND_TIMEOUT_MS = 30_000;
const POLL_MS = 500;

/** States of a job that is over. */
const OVER = ['COMPLETED', 'FAILED', 'CANCELLED', 'TIMEOUT', 'NODE_FAIL', 'BOOT_FAIL', 'DEADLINE', 'OUT_OF_MEMORY'];

/**
 * @typedef {Record<string, string>} Job what `scontrol show job` says, by its own names; of an array one for each element
 *
 * @typedef {object} Instance a process of stress
 * @property {number} pid
 * @property {number} index
 */

/** Starts the lab, or what is missing of it. */
export function startSlurm() {
  if (!existsSync(join(LAB, 'up')))
    throw new Error(`no Slurm: there is no ${join(LAB, 'up')}; STRESS_LAB names the folder that has slurm/up`);
  return new Slurm();
}

class Slurm {
  #env;
  #stop = () => this.stop();
  #stopBySignal = (/** @type {NodeJS.Signals} */ signal) => {
    this.stop();
    process.kill(process.pid, signal);
  };

  constructor() {
    // A test takes its daemons with it, however it ends.
    process.once('exit', this.#stop).once('SIGTERM', this.#stopBySignal).once('SIGINT', this.#stopBySignal);
    this.#env = cleanEnvironment({ SLURM_CONF: this.up() });
  }

  /** Also boots nodes that were killed. @returns {string} where the configuration is */
  up() {
    // What the nodes have in their environment, their jobs have.
    const options = { env: cleanEnvironment(), timeout: UP_TIMEOUT_MS, encoding: /** @type {const} */ ('utf8') };
    const said = execFileSync(join(LAB, 'up'), { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
    const [, file] = /^export SLURM_CONF=(\S+)$/m.exec(said) ?? assert.fail(said);
    return file;
  }

  stop() {
    process.off('exit', this.#stop).off('SIGTERM', this.#stopBySignal).off('SIGINT', this.#stopBySignal);
    execFileSync(join(LAB, 'down'), { stdio: 'ignore', timeout: COMMAND_TIMEOUT_MS });
  }

  /** The folder that has Slurm's own state. */
  get folder() {
    return dirname(String(this.#env.SLURM_CONF));
  }

  /** @param {string} command @param {string[]} args @param {{cwd?: string, env?: NodeJS.ProcessEnv}} [options] @returns {Promise<string>} */
  async run(command, args, { cwd, env } = {}) {
    const options = { cwd, env: { ...this.#env, ...env }, timeout: COMMAND_TIMEOUT_MS };
    return (await promisify(execFile)(command, args, options)).stdout.trim();
  }

  /**
   * @param {string} folder where it is submitted
   * @param {string} script one of scripts/slurm
   * @param {{options?: string[], args?: string[], env?: NodeJS.ProcessEnv}} [more] of sbatch, and of the script
   * @returns {Promise<string>} the id of the job
   */
  submit(folder, script, { options = [], args = [], env } = {}) {
    const file = join(ROOT, 'scripts/slurm', script);
    return this.run('sbatch', ['--parsable', ...options, file, ...args], { cwd: folder, env });
  }

  /** @param {string} id @returns {Promise<Job[]>} of an array each element, in the order of their indexes */
  async jobs(id) {
    const lines = (await this.run('scontrol', ['--oneliner', 'show', 'job', id])).split('\n');
    const jobs = lines.map((line) =>
      Object.fromEntries([...line.matchAll(/(\S+?)=(\S*)/g)].map(([, name, value]) => [name, value])),
    );
    return jobs.sort((a, b) => Number(a.ArrayTaskId ?? 0) - Number(b.ArrayTaskId ?? 0));
  }

  /** @param {string} id @param {number} timeoutMs @returns {Promise<Job[]>} when all of them are over */
  async ended(id, timeoutMs) {
    return eventually(timeoutMs, async () => {
      const jobs = await this.jobs(id);
      const open = jobs.filter(({ JobState }) => !OVER.includes(JobState));
      if (open.length === 0) return jobs;
      throw new Error(`job ${id}: ${open.map(({ JobState, Reason }) => `${JobState} (${Reason})`).join(', ')}`);
    });
  }

  /** Kills a node and everything on it, as when its power fails. @param {string} node */
  killNode(node) {
    process.kill(Number(readFileSync(join(this.folder, `${node}.pid`), 'utf8').split(' ')[0]), 'SIGKILL');
  }
}

/**
 * The instances of a job that live, whichever node they are on: all nodes are on this kernel.
 * @param {string} id of the job
 * @returns {Instance[]}
 */
export function instancesOf(id) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const [command, environment] = ['cmdline', 'environ'].map((name) => readProc(pid, name));
      const variable = (/** @type {string} */ name) =>
        environment.find((one) => one.startsWith(`${name}=`))?.split('=')[1];
      const isOurs = (variable('SLURM_ARRAY_JOB_ID') ?? variable('SLURM_JOB_ID')) === id;
      // Not the shells and srun around it, which have its words in their command lines, too.
      if (!isOurs || !command[1]?.endsWith('stress.js')) return [];
      return [{ pid: Number(pid), index: Number(variable('SLURM_ARRAY_TASK_ID') ?? variable('SLURM_PROCID')) }];
    });
}

/** @param {string} pid @param {string} name @returns {string[]} */
function readProc(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8').split('\0');
  } catch {
    return []; // it has ended
  }
}

/**
 * @template T
 * @param {number} timeoutMs
 * @param {() => T | Promise<T>} look throws while it is not yet so
 * @returns {Promise<T>}
 */
export async function eventually(timeoutMs, look) {
  for (const deadline = performance.now() + timeoutMs; ; await sleep(POLL_MS)) {
    try {
      return await look();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
  }
}
