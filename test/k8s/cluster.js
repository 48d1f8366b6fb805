/** A real Kubernetes on this machine, from the scripts of the lab, and Jobs of scripts/k8s on it. */
import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ROOT } from '../helpers/cli.js';

/** @import { TestContext } from 'node:test' */

const LAB = resolve(ROOT, process.env.STRESS_LAB || '../shared/lab', 'k8s');
export const OVERLAY = join(ROOT, 'test', 'k8s', 'overlay');
export const BASE = join(ROOT, 'scripts', 'k8s');
const IMAGE = 'evm-stress:test';
const MINUTE_MS = 60_000;
const POLL_MS = 250;
const EVICTION_MS = 3000;
const run = promisify(execFile);

/** @typedef {Record<string, any>} Json of an object of the cluster */

/** Why there can be no cluster here; null if there can. */
function obstacle() {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'the lab needs Linux, and root';
  return existsSync(join(LAB, 'up')) ? null : `there is no lab in ${LAB}: give its folder in STRESS_LAB`;
}

/**
 * The program and what it needs, put together by the steps of the Dockerfile: its RUN lines, its COPY lines.
 * @param {string} folder
 */
async function fillImage(folder) {
  const lines = readFileSync(join(ROOT, 'scripts', 'docker', 'Dockerfile'), 'utf8').split('\n');
  for (const line of lines) {
    const [instruction, ...words] = line.split(' ');
    if (instruction === 'RUN') await run('sh', ['-c', words.join(' ')], { cwd: folder, timeout: 5 * MINUTE_MS });
    // What comes from the first stage is in the folder already: here both stages are one.
    if (instruction !== 'COPY' || words[0].startsWith('--from')) continue;
    for (const name of words.slice(0, -1)) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
}

/**
 * Starts the cluster, with the program's image on it. One that is up already is taken down first: its state is
 * another user's. It ends with this process at the latest.
 * @param {number} nodes
 */
export async function startCluster(nodes) {
  const why = obstacle();
  if (why !== null) throw new Error(`test:k8s cannot be run: ${why}`);
  const down = () => void spawnSync(join(LAB, 'down'), { stdio: 'ignore' });
  process.once('exit', down);
  const interrupted = new AbortController();
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    // A signal that is not caught ends this process without its exit handlers.
    process.once(signal, () => {
      interrupted.abort();
      down();
      process.kill(process.pid, signal);
    });
  }
  await run(join(LAB, 'build'), { timeout: 30 * MINUTE_MS });
  down();
  const folder = mkdtempSync(join(tmpdir(), 'stress-k8s-image-'));
  chmodSync(folder, 0o755); // it becomes /app, and pods are not root
  try {
    await fillImage(folder);
    await run(join(LAB, 'image'), [IMAGE, folder, '--', 'node', 'bin/stress.js'], { timeout: 5 * MINUTE_MS });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const { stdout } = await run(join(LAB, 'up'), [String(nodes)], { timeout: 5 * MINUTE_MS });
  const kubeconfig = /^export KUBECONFIG=(.+)$/m.exec(stdout)?.[1];
  if (kubeconfig === undefined) throw new Error(`the lab does not say where its KUBECONFIG is: ${stdout}`);
  return new Cluster(kubeconfig, down, interrupted.signal);
}

/** A cluster, as kubectl sees it. */
export class Cluster {
  /** @param {string} kubeconfig @param {() => void} down @param {AbortSignal} interrupted with the test */
  constructor(kubeconfig, down, interrupted) {
    this.kubeconfig = kubeconfig;
    this.down = down;
    this.interrupted = interrupted;
  }

  /**
   * @param {readonly string[]} args
   * @param {string} [input]
   * @returns {Promise<{stdout: string, stderr: string}>} rejects with its words when it fails
   */
  async run(args, input = '') {
    const options = { env: { ...process.env, KUBECONFIG: this.kubeconfig }, maxBuffer: 2 ** 30, timeout: MINUTE_MS };
    const running = run('kubectl', [...args], options);
    running.child.stdin?.end(input);
    return running;
  }

  /** @param {readonly string[]} args @param {string} [input] @returns {Promise<string>} its standard output */
  async kubectl(args, input) {
    return (await this.run(args, input)).stdout;
  }

  /** @param {...string} what @returns {Promise<Json>} */
  async get(...what) {
    return JSON.parse(await this.kubectl(['get', ...what, '-o', 'json']));
  }

  /** @param {string} job @returns {Promise<Json[]>} its pods, those of the past included */
  async podsOf(job) {
    return (await this.get('pods', '-l', `batch.kubernetes.io/job-name=${job}`)).items;
  }

  /** @param {string} name @param {Record<string, string>} values */
  async secret(name, values) {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: values };
    await this.kubectl(['apply', '-f', '-'], JSON.stringify(secret));
  }

  /** Applies one phase of a kustomization, as docs/scale-out.md says. @param {string} folder @param {string} phase */
  async apply(folder, phase) {
    await this.kubectl(['apply', '-k', folder, '-l', `phase in (settings, ${phase})`]);
  }

  /**
   * Waits until a Job has ended, well or not, and its pods with it.
   * @param {string} name
   * @param {number} withinMs
   * @returns {Promise<Json>} its status
   */
  async ended(name, withinMs) {
    for (const deadline = Date.now() + withinMs; ; await sleep(POLL_MS)) {
      const { status } = await this.get('job', name);
      const last = status.conditions?.find((/** @type {Json} */ { type }) => ['Complete', 'Failed'].includes(type));
      if (last?.status === 'True') return { ...status, last };
      if (Date.now() > deadline) throw new Error(`Job ${name} has not ended: ${JSON.stringify(status)}`);
    }
  }

  /** @param {...string} names of Jobs, which go with their pods */
  async remove(...names) {
    await this.kubectl(['delete', 'job', ...names, '--ignore-not-found', '--wait=true']);
  }

  /**
   * Stops the kubelet of a node, and nothing else on it: the cluster takes the node for lost, its pods live on.
   * @param {string} node
   * @returns {() => void} lets it go on
   */
  cutOff(node) {
    const pid = Number(readFileSync(join(this.kubeconfig, '..', node, 'kubelet.pid'), 'utf8'));
    process.kill(pid, 'SIGSTOP');
    return () => void process.kill(pid, 'SIGCONT');
  }

  /**
   * Waits until pods can be started on a node again. The controller that evicts pods learns of the end of a taint a
   * little later than the scheduler, and would evict new ones.
   * @param {string} node
   */
  async ready(node) {
    const deadlineMs = Date.now() + MINUTE_MS;
    while ((await this.get('node', node)).spec.taints !== undefined) {
      if (Date.now() > deadlineMs) throw new Error(`node ${node} still has a taint`);
      await sleep(POLL_MS);
    }
    await sleep(EVICTION_MS);
  }
}

/**
 * A kustomization of a test's own, on top of another one: settings, and more.
 * @param {TestContext} t
 * @param {object} options
 * @param {string} options.on the folder of the other one
 * @param {Record<string, string | number>} [options.settings]
 * @param {readonly string[]} [options.components] of scripts/k8s
 * @param {readonly Json[]} [options.patches] behind all others
 * @returns {string} its folder
 */
export function kustomization(t, { on, settings = {}, components = [], patches = [] }) {
  const folder = mkdtempSync(join(tmpdir(), 'stress-k8s-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const literals = Object.entries(settings).map(([key, value]) => `${key}=${value}`);
  const whole = {
    resources: [relative(folder, on)],
    components: [...components, 'count'].map((name) => relative(folder, join(BASE, name))),
    configMapGenerator: literals.length === 0 ? [] : [{ name: 'settings', behavior: 'merge', literals }],
    patches,
  };
  writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(whole)); // JSON is YAML
  return folder;
}

/**
 * The kustomization of a user's own that docs/scale-out.md shows.
 * @param {TestContext} t
 * @returns {string} its folder
 */
export function documented(t) {
  const document = readFileSync(join(ROOT, 'docs', 'scale-out.md'), 'utf8');
  const shown = /### Settings of your own\n[\s\S]*?\n((?: {4}.*\n)+)/.exec(document)?.[1];
  if (shown === undefined) throw new Error('docs/scale-out.md shows no kustomization');
  const folder = mkdtempSync(join(tmpdir(), 'stress-k8s-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const there = shown.replace(/^ {4}/gm, '').replaceAll('../../scripts/k8s', relative(folder, BASE));
  writeFileSync(join(folder, 'kustomization.yaml'), there);
  return folder;
}

/**
 * One for this cluster, with a folder of this machine for the volume.
 * @param {TestContext} t
 * @param {Record<string, string | number>} settings
 * @param {readonly Json[]} [patches] behind all others
 * @returns {{folder: string, results: string}} the kustomization's, and the volume's
 */
export function onVolume(t, settings, patches = []) {
  const results = mkdtempSync(join(tmpdir(), 'stress-k8s-results-'));
  t.after(() => rmSync(results, { recursive: true, force: true }));
  chmodSync(results, 0o777); // pods are not root
  const volume = [{ op: 'replace', path: '/spec/template/spec/volumes/0/hostPath/path', value: results }];
  const place = { target: { kind: 'Job', name: 'load|merge' }, patch: JSON.stringify(volume) };
  return { folder: kustomization(t, { on: OVERLAY, settings, patches: [place, ...patches] }), results };
}

/**
 * Processes of a run, by what a pod's environment says, wherever on this machine they are.
 * @param {string} runId
 * @returns {Array<{pid: number, index: number}>}
 */
export function processesOf(runId) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const variables = environmentOf(name);
      if (variables.STRESS_RUN_ID !== runId) return [];
      return [{ pid: Number(name), index: Number(variables.JOB_COMPLETION_INDEX) }];
    });
}

/** @param {string} pid @returns {NodeJS.ProcessEnv} empty when the process is gone, or one of the kernel's */
function environmentOf(pid) {
  try {
    const lines = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    return Object.fromEntries(lines.map((line) => [line.split('=', 1)[0], line.slice(line.indexOf('=') + 1)]));
  } catch {
    return {};
  }
}
