/**
 * Scale-out over a real Kubernetes: etcd, API server, controller manager, scheduler and two kubelets on containerd, all
 * on this machine, and Jobs made from scripts/k8s. One file, because there can be one such cluster at a time.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Mnemonic } from 'ethers';
import { startGeth } from '../../scripts/nodes/geth.js';
import { exited, readJson, runStress } from '../helpers/cli.js';
import { BASE, documented, kustomization, onVolume, processesOf, startCluster } from './cluster.js';
import { readRows } from '../helpers/rows.js';
import { schemaErrors } from '../helpers/run-file.js';
import { assertScaledOut, assertUnseen, countersOf } from '../helpers/scale-out.js';

/**
 * @import { Cluster } from './cluster.js'
 * @import { TestContext } from 'node:test'
 */

/** A secret of its own, which must come through and must not be seen on the way. */
const MNEMONIC = Mnemonic.fromEntropy(randomBytes(16)).phrase;
const PORT = 18_400;
const INSTANCES = 4;
const THREADS = 5;
const JOB_TIMEOUT_MS = 180_000;
/** Clocks of pods on one machine are one clock, but its cores are few. */
const SKEW_MS = 1500;
/** How long two senders for one index are looked for after their node is given up, and how often. */
const WATCH_MS = 45_000;
const WATCH_EVERY_MS = 250;

/** @type {Cluster} */
let cluster;
/** @type {Awaited<ReturnType<typeof startGeth>>} */
let geth;
before(async () => {
  cluster = await startCluster(2);
  geth = await startGeth({ period: 1, port: PORT, signal: cluster.interrupted });
  await cluster.secret('stress-wallets', { STRESS_MNEMONIC: MNEMONIC });
  await cluster.secret('stress-funder', { STRESS_FUNDER_KEY: geth.funderKey });
});
after(async () => {
  await geth?.stop();
  cluster?.down();
});

/**
 * Settings of one test, with wallets that no other test has.
 * @param {number} offset
 * @param {Record<string, string | number>} more
 */
function settings(offset, more) {
  return {
    STRESS_RPC: geth.url,
    STRESS_CHAIN_ID: geth.chainId,
    STRESS_OFFSET: offset,
    STRESS_THREADS: THREADS,
    STRESS_INSTANCES: INSTANCES,
    STRESS_START_TIMEOUT: '2m',
    STRESS_INTERVAL: '1s',
    ...more,
  };
}

/** Pays the wallets of a test from here, where the Job has been shown to. @param {number} offset */
async function fund(offset) {
  const args = ['fund', '-t', `${THREADS * INSTANCES}`, '-o', `${offset}`, '--rpc', geth.url, '--fund-amount', '1'];
  await exited(0, args, {
    env: { STRESS_FUNDER_KEY: geth.funderKey, STRESS_MNEMONIC: MNEMONIC },
  });
}

/**
 * @param {TestContext} t
 * @param {string} folder of the kustomization
 * @returns {Promise<string>} the run's id, which is the uid of the Job
 */
async function startLoad(t, folder) {
  t.after(() => cluster.remove('load'));
  await cluster.apply(folder, 'load');
  return (await cluster.get('job', 'load')).metadata.uid;
}

/** Merges run files, and gives the result. @param {string[]} args */
async function merge(...args) {
  const { code, stdout, stderr } = await runStress(['merge', ...args, '--out', '-', '--quiet']);
  return { code, stderr, merged: stdout === '' ? null : JSON.parse(stdout) };
}

/** The same from the logs of the pods, as docs/scale-out.md says. @param {...string} args */
async function mergeLogs(...args) {
  const logs = await cluster.kubectl(['logs', '-l', 'phase=load', '--tail=-1', '--ignore-errors', '--prefix']);
  const { code, stdout } = await runStress(['merge', '-', '--out', '-', '--quiet', ...args], { input: logs });
  return { code, merged: stdout === '' ? null : JSON.parse(stdout) };
}

/** Which exit codes the pods of the load ended with. */
async function exitCodes() {
  const pods = await cluster.podsOf('load');
  return pods.map(({ status }) => status.containerStatuses?.[0].state.terminated?.exitCode);
}

/** Secrets of the pods. */
const secrets = () => [MNEMONIC, geth.funderKey.replace(/^0x/, '')];

/** Waits until all instances have written that they verified something: the load is on. @param {string} results @param {string} runId */
async function loading(results, runId) {
  for (const deadline = Date.now() + JOB_TIMEOUT_MS; ; await sleep(WATCH_EVERY_MS)) {
    const names = readdirSync(results).filter((name) => name.startsWith(runId) && name.endsWith('.json'));
    // An instance takes its name before there is anything to write.
    const files = names.map((name) => join(results, name)).filter((file) => statSync(file).size > 0);
    const runs = files.map(readJson);
    if (runs.length === INSTANCES && runs.every(({ counts }) => counts.verified > 0)) return;
    const { failed = 0, succeeded = 0 } = (await cluster.get('job', 'load')).status;
    if (failed + succeeded > 0 || Date.now() > deadline) assert.fail(await said());
  }
}

/** Waits until so many pods of the load have ended with an exit code. @param {number} count */
async function failed(count) {
  for (const deadline = Date.now() + JOB_TIMEOUT_MS; ; await sleep(WATCH_EVERY_MS)) {
    if ((await cluster.get('job', 'load')).status.failed === count) return;
    if (Date.now() > deadline) assert.fail(await said());
  }
}

/** @param {any} pod @returns {number} */
function indexOf({ metadata }) {
  return Number(metadata.labels['batch.kubernetes.io/job-completion-index']);
}

/** The logs of the instances, for a test that failed. */
async function said() {
  const logs = await cluster.kubectl(['logs', '-l', 'phase=load', '--tail=20', '--ignore-errors', '--prefix']);
  return logs.replace(/STRESS_RESULT .*/g, 'STRESS_RESULT ...');
}

test('the API server takes the manifests, each part of them, and they keep its strictest rules for pods', async (t) => {
  const labels = { 'pod-security.kubernetes.io/warn': 'restricted' };
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'restricted', labels } };
  await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(namespace));
  const dryRun = ['apply', '--dry-run=server', '--validate=strict', '-n', 'restricted', '-f', '-'];
  const whole = kustomization(t, { on: BASE, components: ['volume', 'prometheus'] });
  for (const folder of [BASE, whole, documented(t), onVolume(t, settings(0, {})).folder]) {
    const yaml = await cluster.kubectl(['kustomize', folder]);
    const images = [...new Set(yaml.match(/(?<= image: )\S+/g))];
    assert.equal(images.length, 1, `all Jobs have one image, and not ${images}`);
    assert.match(images[0], /:[^/]+$/, 'with a tag');
    const { stdout, stderr } = await cluster.run(dryRun, yaml);
    assert.match(stdout, /^job.batch\/load created/m);
    // Pods of this test are on their machine's network, which the rules forbid: that is what a warning looks like.
    const isOurs = yaml.includes('hostNetwork');
    assert.equal(/Warning: would violate PodSecurity/.test(stderr), isOurs, stderr);
    const misspelt = yaml.replace('podReplacementPolicy', 'podReplacePolicy');
    await assert.rejects(cluster.run(dryRun, misspelt), /unknown field "spec.podReplacePolicy"/);
  }
});

test('four pods load one geth: merged from the volume, in a pod and from the logs, all as the chain says', async (t) => {
  const { folder, results } = onVolume(t, settings(0, { STRESS_DURATION: '10s', STRESS_FUND_AMOUNT: '1' }));
  t.after(() => cluster.remove('fund', 'merge'));
  await cluster.apply(folder, 'fund');
  const funded = await cluster.ended('fund', JOB_TIMEOUT_MS);
  if (funded.succeeded !== 1) assert.fail(await cluster.kubectl(['logs', 'job/fund']));
  const runId = await startLoad(t, folder);
  const status = await cluster.ended('load', JOB_TIMEOUT_MS);
  if (status.succeeded !== INSTANCES) assert.fail(await said());
  const nodes = (await cluster.podsOf('load')).map(({ spec }) => spec.nodeName);
  assert.deepEqual(new Set(nodes), new Set(['n1', 'n2']), 'spread over the nodes');

  const { code, stderr, merged } = await merge(results, '--expect', `${INSTANCES}`, '--run-id', runId);
  assert.equal(code, 0, stderr);
  assert.deepEqual(schemaErrors(merged), []);
  const instances = Array.from({ length: INSTANCES }, (_, index) => ({
    run: readJson(join(results, `${runId}-${String(index).padStart(5, '0')}-0.json`)),
    rows: readRows(join(results, `samples-${index}.ndjson`)),
  }));
  const wallets = await countersOf({ url: geth.url, threads: THREADS * INSTANCES, mnemonic: MNEMONIC });
  assertScaledOut({ merged, instances, wallets, skewMs: SKEW_MS });
  t.diagnostic(`${merged.counts.verified} verified, start skew ${merged.merged.startSkewMs} ms`);

  const fromLogs = await mergeLogs('--expect', `${INSTANCES}`);
  assert.equal(fromLogs.code, 0);
  await cluster.kubectl(['create', 'configmap', 'merge', `--from-literal=STRESS_RUN_ID=${runId}`]);
  await cluster.apply(folder, 'merge');
  await cluster.ended('merge', JOB_TIMEOUT_MS);
  const inPod = JSON.parse(await cluster.kubectl(['logs', 'job/merge']));
  for (const other of [fromLogs.merged, inPod]) assert.deepEqual(figuresOf(other), figuresOf(merged));

  const logs = await cluster.kubectl(['logs', '-l', 'phase in (fund, load, merge)', '--tail=-1']);
  assert.match(logs, /STRESS_RESULT /);
  writeFileSync(join(results, 'logs'), logs);
  assertUnseen(secrets(), { folders: [results] });
});

test('a pod that is killed is missed by its index, and the audit says what is left open', async (t) => {
  await fund(1000);
  const { folder, results } = onVolume(t, settings(1000, { STRESS_DURATION: '20s' }));
  const runId = await startLoad(t, folder);
  await loading(results, runId);
  const alive = processesOf(runId);
  assert.equal(alive.length, INSTANCES);
  assertUnseen(secrets(), { folders: [results], pids: alive.map(({ pid }) => pid) });
  const [victim] = alive.filter(({ index }) => index === 2);
  process.kill(victim.pid, 'SIGKILL');
  const status = await cluster.ended('load', JOB_TIMEOUT_MS);
  assert.deepEqual([status.failedIndexes, status.completedIndexes, status.failed], ['2', '0,1,3', 1]);
  assert.deepEqual((await exitCodes()).sort(), [0, 0, 0, 137], 'nothing was started in its place');

  const expected = ['--expect', `${INSTANCES}`, '--run-id', runId];
  const refused = await merge(results, ...expected);
  assert.equal(refused.code, 75, refused.stderr);
  assert.match(refused.stderr, /3 of 4 instances are whole; ended before their runs did: .*\b2\b/);
  assert.equal((await mergeLogs(...expected)).code, 75, 'its log has no result');
  const { code, stderr, merged } = await merge(results, ...expected, '--partial');
  assert.equal(code, 0, stderr);
  assert.deepEqual(schemaErrors(merged), []);
  assert.equal(merged.audit.exact, false);
  const [open, ...others] = merged.merged.unresolved;
  assert.deepEqual([open.index, open.offset, open.threads, others], [2, 1000 + 2 * THREADS, THREADS, []]);
  assert.ok(open.inFlight > 0 && open.inFlight <= THREADS, `${open.inFlight} operations are open`);
});

test('a kubelet dies and its pods live on: never two processes for one index', async (t) => {
  await fund(2000);
  const { folder, results } = onVolume(t, settings(2000, { STRESS_DURATION: '5m' }));
  const runId = await startLoad(t, folder);
  await loading(results, runId);
  const cut = (await cluster.podsOf('load')).filter(({ spec }) => spec.nodeName === 'n2');
  assert.ok(cut.length > 0 && cut.length < INSTANCES, `${cut.length} pods are on n2`);
  const reconnect = cluster.cutOff('n2');
  t.after(reconnect);
  const most = new Map();
  let evicted = /** @type {string[]} */ ([]);
  // A kubelet is given up after 20 s; what a Job makes of that, it does 10 s later or more.
  let until = Date.now() + JOB_TIMEOUT_MS;
  for (let isGivenUp = false; Date.now() < until; await sleep(WATCH_EVERY_MS)) {
    const alive = processesOf(runId).map(({ index }) => index);
    for (const index of alive) most.set(index, Math.max(most.get(index) ?? 0, alive.filter((i) => i === index).length));
    if (isGivenUp) continue;
    const pods = await cluster.podsOf('load');
    evicted = pods.filter(({ metadata }) => metadata.deletionTimestamp).map(({ metadata }) => metadata.name);
    isGivenUp = evicted.length >= cut.length;
    if (isGivenUp) until = Date.now() + WATCH_MS;
  }
  const names = cut.map(({ metadata }) => metadata.name).sort();
  assert.deepEqual(evicted.sort(), names, 'the cluster has given up the pods of the node, and they live');
  const once = [0, 1, 2, 3].map((index) => [index, 1]);
  assert.deepEqual([...most].sort(), once);
  assert.equal(processesOf(runId).length, INSTANCES);

  // The logs of a node that is lost cannot be had, and those of the others can.
  const lost = cut.map(indexOf).sort();
  for (const { pid, index } of processesOf(runId)) if (!lost.includes(index)) process.kill(pid, 'SIGTERM');
  await failed(INSTANCES - cut.length);
  const { code, merged } = await mergeLogs('--expect', `${INSTANCES}`, '--partial');
  assert.equal(code, 143, 'that is how their runs ended');
  assert.deepEqual(merged.merged.missing, lost);
  reconnect();
  const status = await cluster.ended('load', JOB_TIMEOUT_MS);
  assert.equal(status.failed, INSTANCES, 'what was evicted has failed, too, and was not started again');
  await cluster.ready('n2');
});

test('a barrier with one instance missing ends by its timeout, with 75 in every pod', async (t) => {
  await fund(3000);
  const three = { op: 'replace', path: '/spec/completions', value: 3 };
  const patch = JSON.stringify([three, { ...three, path: '/spec/parallelism' }]);
  const given = settings(3000, { STRESS_DURATION: '5s', STRESS_START_TIMEOUT: '15s' });
  const { folder } = onVolume(t, given, [{ target: { kind: 'Job', name: 'load' }, patch }]);
  await startLoad(t, folder);
  const status = await cluster.ended('load', JOB_TIMEOUT_MS);
  assert.equal(status.failedIndexes, '0-2');
  assert.deepEqual(await exitCodes(), [75, 75, 75]);
  assert.match(await cluster.kubectl(['logs', '-l', 'phase=load']), /\b3\b/, 'it is said which index is missing');
});

test('what no instance can use ends the Job at once', async (t) => {
  const { folder } = onVolume(t, settings(4000, { STRESS_DURATION: '5m', STRESS_THREADS: 'abc' }));
  await startLoad(t, folder);
  const { last } = await cluster.ended('load', JOB_TIMEOUT_MS);
  assert.equal(last.reason, 'PodFailurePolicy', JSON.stringify(last));
  assert.match(last.message, /exit code 64 matching FailJob/);
});

test('what an instance refuses for safety ends that index, and not the others', async (t) => {
  const { folder } = onVolume(t, settings(4000, { STRESS_DURATION: '5m', STRESS_CHAIN_ID: 1 }));
  await startLoad(t, folder);
  const { last, failedIndexes } = await cluster.ended('load', JOB_TIMEOUT_MS);
  assert.deepEqual([last.reason, failedIndexes], ['FailedIndexes', '0-3'], JSON.stringify(last));
  assert.deepEqual(await exitCodes(), [77, 77, 77, 77]);
});

/** What must be the same wherever the run files came from. @param {any} merged */
function figuresOf({ counts, latency, lag, rates, window, audit, merged }) {
  const { startSkewMs } = merged;
  return { counts, latency, lag, rates, window, startSkewMs, exact: audit.exact, effects: audit.effectsOnChain };
}
