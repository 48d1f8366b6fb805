/** Runs the steps of a GitHub workflow, or of action.yml, as a runner does: bash, expressions, outputs in files. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { load } from 'js-yaml';
import { ROOT, cleanEnvironment } from './cli.js';
import { temporaryFolder } from './temporary.js';

/**
 * @typedef {object} Step
 * @property {string} [id]
 * @property {string} [uses]
 * @property {string} [run]
 * @property {string} [if]
 * @property {string} [shell]
 * @property {Record<string, string>} [with]
 * @property {Record<string, string>} [env]
 * @property {string} [working-directory]
 * @property {boolean} [continue-on-error]
 *
 * @typedef {Record<string, any>} Contexts of expressions, by their first name
 */

export const ACTION = /** @type {any} */ (load(readFileSync(join(ROOT, 'action.yml'), 'utf8')));

/** What actions/checkout gives of this repository. @param {string} folder */
export function checkOut(folder) {
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
  for (const name of files.toString().split('\0').filter(Boolean)) {
    if (!existsSync(join(ROOT, name)) || name === 'node_modules') continue;
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    copyFileSync(join(ROOT, name), join(folder, name));
  }
}

/** A job in a workspace that is empty until its first step. */
export class Job {
  workspace;
  /** Paths that upload-artifact was given. @type {string[]} */
  uploaded = [];
  hasFailed = false;
  output = '';
  #folder;
  #env;

  /** @param {import('node:test').TestContext} t @param {NodeJS.ProcessEnv} [env] of all steps */
  constructor(t, env = {}) {
    this.#folder = temporaryFolder(t);
    this.workspace = join(this.#folder, 'workspace');
    mkdirSync(this.workspace);
    const files = { GITHUB_OUTPUT: join(this.#folder, 'output'), GITHUB_STEP_SUMMARY: join(this.#folder, 'summary') };
    for (const file of Object.values(files)) writeFileSync(file, '');
    this.#env = cleanEnvironment({ CI: 'true', GITHUB_ACTIONS: 'true', RUNNER_TEMP: this.#folder, ...files, ...env });
  }

  get summary() {
    return readFileSync(String(this.#env.GITHUB_STEP_SUMMARY), 'utf8');
  }

  /**
   * @param {Step[]} steps
   * @param {Contexts} contexts
   * @param {NodeJS.ProcessEnv} [env] of the step that uses the action of these steps
   * @returns {Promise<Record<string, {outputs: Record<string, string>}>>} outputs by the id of the step
   */
  async run(steps, contexts, env = {}) {
    /** @type {Record<string, {outputs: Record<string, string>}>} */
    const done = {};
    for (const [i, step] of steps.entries()) {
      const all = { ...contexts, steps: done };
      if (!holds(step.if ?? 'success()', all, this.hasFailed)) continue;
      const given = { ...env, ...expandAll(step.env, all) };
      if (step.run !== undefined) done[step.id ?? i] = { outputs: await this.#bash(step, all, given) };
      else done[step.id ?? i] = { outputs: await this.#use(String(step.uses), expandAll(step.with, all), given) };
    }
    return done;
  }

  /** @param {Step} step @param {Contexts} contexts @param {NodeJS.ProcessEnv} env */
  async #bash(step, contexts, env) {
    const script = join(this.#folder, 'step.sh');
    const { GITHUB_OUTPUT = '' } = this.#env;
    writeFileSync(script, expand(String(step.run), contexts));
    writeFileSync(GITHUB_OUTPUT, '');
    // The shells of `shell: bash` and of a step without a shell.
    const options = step.shell === 'bash' ? ['--noprofile', '--norc', '-eo', 'pipefail'] : ['-e'];
    const cwd = resolve(this.workspace, expand(step['working-directory'] ?? '', contexts));
    const child = spawn('bash', [...options, script], { cwd, env: { ...this.#env, ...env } });
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk) => (this.output += chunk));
    const [code] = await once(child, 'close');
    if (code !== 0 && step['continue-on-error'] !== true) this.hasFailed = true;
    const lines = readFileSync(GITHUB_OUTPUT, 'utf8').split('\n').filter(Boolean);
    return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
  }

  /** @param {string} action @param {Record<string, string>} given @param {NodeJS.ProcessEnv} env @returns {Promise<Record<string, string>>} */
  async #use(action, given, env) {
    const [name] = action.split('@');
    if (name === 'evm-stress/evm-stress') return this.#useStress(given, env);
    if (name === 'actions/checkout') {
      const folder = join(this.workspace, given.path ?? '');
      mkdirSync(folder, { recursive: true });
      if (given.repository === 'evm-stress/evm-stress') checkOut(folder);
    } else if (name === 'actions/upload-artifact') {
      for (const path of given.path.split('\n').filter(Boolean)) {
        const file = resolve(this.workspace, path);
        assert.ok(existsSync(file), `upload-artifact: there is no ${path}\n${this.output}`);
        this.uploaded.push(file);
      }
    } else assert.match(name, /^actions\/setup-/);
    return {};
  }

  /** @param {Record<string, string>} given @param {NodeJS.ProcessEnv} env */
  async #useStress(given, env) {
    const path = join(this.#folder, 'action');
    checkOut(path);
    return this.runAction(given, ACTION.runs.steps, { path, env });
  }

  /**
   * @param {Record<string, string>} given inputs
   * @param {Step[]} steps of the action
   * @param {{path: string, env?: NodeJS.ProcessEnv}} how path: the folder of the action
   */
  async runAction(given, steps, { path, env }) {
    const inputs = Object.fromEntries(
      Object.entries(ACTION.inputs).map(([name, { default: usual }]) => [name, given[name] ?? usual]),
    );
    for (const name of Object.keys(given)) assert.ok(name in inputs, `action.yml has no input ${name}`);
    const done = await this.run(steps, { github: { action_path: path }, inputs }, env);
    return Object.fromEntries(
      Object.entries(ACTION.outputs).map(([name, { value }]) => [name, expand(value, { steps: done })]),
    );
  }
}

/** @param {Record<string, unknown>} [texts] @param {Contexts} [contexts] */
function expandAll(texts = {}, contexts = {}) {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, expand(String(text), contexts)]));
}

/** @param {string} text @param {Contexts} contexts */
function expand(text, contexts) {
  return text.replaceAll(/\$\{\{ (\S+) \}\}/g, (_, path) => valueOf(path, contexts));
}

/** An output that was not set is empty; any other name must be known. @param {string} path @param {Contexts} contexts @returns {string} */
function valueOf(path, contexts) {
  const value = path.split('.').reduce((/** @type {any} */ all, name) => all?.[name], contexts);
  assert.ok(value !== undefined || path.includes('.outputs.'), `nothing is known of ${path}`);
  return String(value ?? '');
}

/** The conditions that the recipes have. @param {string} condition @param {Contexts} contexts @param {boolean} hasFailed */
function holds(condition, contexts, hasFailed) {
  const parts = condition.split(' && ');
  const values = parts.filter((part) => !part.endsWith('()')).map((part) => /^(\S+) != ''$/.exec(part)?.[1]);
  const isAlways = parts.includes('always()');
  return (isAlways || !hasFailed) && values.every((path) => valueOf(String(path), contexts) !== '');
}
