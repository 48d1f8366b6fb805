/**
 * One row of the fault matrix: a run against a real node, a fault in the middle of it, and what must hold in the end. What a
 * row found is kept for the document, whether all of it held or not.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { countersIn, rpcCall, startAnvil } from '../helpers/anvil.js';
import { readJson, spawnStress } from '../helpers/cli.js';
import { SHARE, WITHIN_MS, paceOf } from './pace.js';
import { startFaultProxy } from '../helpers/fault-proxy.js';
import { Problems, auditOf, brokenRow, expectRows, keepResult } from './results.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { StressResult } from '../helpers/cli.js'
 * @import { Pace } from './pace.js'
 * @import { Fault, FaultProxy } from '../helpers/fault-proxy.js'
 * @import { RowResult } from './results.js'
 * @import { TestContext } from 'node:test'
 */

/**
 * @typedef {object} RowNode
 * @property {string} url
 * @property {() => Promise<void>} stop
 *
 * @typedef {object} Scene
 * @property {any} node
 * @property {FaultProxy} proxy
 * @property {(method: string, params?: unknown[]) => Promise<any>} rpc asks the node itself
 * @property {{out: string, contracts: string}} files of the run
 *
 * @typedef {object} Row
 * @property {string} group the table that it is in
 * @property {string} fault in words; there is one row of that name
 * @property {string[]} [args] of stress, beside those of every row
 * @property {NodeJS.ProcessEnv} [env] of stress
 * @property {string[]} [via] words before the command of stress
 * @property {string} [host] the name of 127.0.0.1 in the URL that stress gets
 * @property {(t: TestContext) => Promise<RowNode>} [node] anvil with five blocks a second by default
 * @property {'http' | 'ws' | 'direct'} [path] through the proxy by default
 * @property {(scene: Scene) => Promise<unknown>} [setUp] before stress is started
 * @property {(scene: Scene) => Promise<unknown>} begin the fault
 * @property {number} [faultMs] how long it lasts at most
 * @property {(scene: Scene) => Promise<unknown>} [until] ends it earlier
 * @property {(scene: Scene) => Promise<unknown>} [end] the fault; by default the proxy is a faithful one again
 * @property {(scene: Scene, run: any) => string | Promise<string>} proof that it happened, with a count; throws if it did not
 * @property {number[]} [exitCodes] one of them is right; 0 by default
 * @property {RegExp} [says] what standard error must say
 * @property {boolean} [withoutPace] the run ends early, or the fault does not end: there is no pace to come back to
 * @property {boolean} [isOtherChain] so that there is nothing to audit
 * @property {string} [remark] why a figure may look odd
 */

const BEFORE_MS = 6000;
const FAULT_MS = 6000;
const AFTER_MS = 14_000;
/** Longer than any run takes to find out that there is nothing more to wait for. */
const END_MS = 60_000;

/** The first line of the report: the load has begun. */
const FIRST_INTERVAL = /^ +\d+\.\d s +[\d,]+ +/m;

/** Of every row that does not say otherwise. */
const COMMON = Object.freeze({ '-t': '20', '-o': '0', '--interval': '1s', '--tx-timeout': '20s' });

/** A test for each row. @param {Row[]} rows */
export function testRows(rows) {
  expectRows(rows);
  for (const row of rows) {
    test(`${row.group}: ${row.fault}`, async (t) => {
      const result = await carryOut(t, row).catch((error) => brokenRow(row, error));
      keepResult(t, result);
      assert.deepEqual(result.problems, []);
    });
  }
}

/** @param {TestContext} t @param {Row} row @returns {Promise<RowResult>} */
async function carryOut(t, row) {
  const node = await (row.node ?? fiveBlocksASecond)(t);
  const proxy = await startFaultProxy(node.url);
  t.after(proxy.close);
  const folder = temporaryFolder(t);
  const files = { out: join(folder, 'run.json'), contracts: join(folder, 'contracts.json') };
  // A node that was restarted needs no other one.
  const rpc = (/** @type {string} */ method, /** @type {unknown[]} */ params = []) => rpcCall(node.url, method, params);
  const scene = { node, proxy, rpc, files };
  await row.setUp?.(scene);
  const faultMs = row.faultMs ?? FAULT_MS;
  const seconds = Math.ceil((BEFORE_MS + faultMs + AFTER_MS) / 1000);
  const path = { http: proxy.url, ws: proxy.wsUrl, direct: node.url }[row.path ?? 'http'];
  const url = path.replace('127.0.0.1', row.host ?? '127.0.0.1');
  const given = ['--rpc', url, '-d', `${seconds}s`, '--out', files.out, '--contracts', files.contracts];
  // Contracts of an earlier run have counts of their own.
  const earlier = existsSync(files.contracts) ? await countersIn(node.url, files.contracts) : 0;
  const { args = [] } = row;
  const common = Object.entries(COMMON)
    .filter(([name]) => !args.includes(name))
    .flat();
  const startedMs = performance.now();
  const { env, via } = row;
  const stress = spawnStress([...common, ...given, ...args], { env, via, timeoutMs: seconds * 1000 + END_MS });
  await stress.waitFor(FIRST_INTERVAL);
  await sleep(BEFORE_MS - 1000);
  const beginMs = Date.now();
  await row.begin(scene);
  await Promise.race([sleep(faultMs), stress.done, ...(row.until === undefined ? [] : [row.until(scene)])]);
  await (row.end ?? (() => proxy.clear()))(scene);
  const endMs = Date.now();
  const ended = await stress.done;
  const run = existsSync(files.out) ? readJson(files.out) : null;
  const problems = new Problems();
  const proof = (await problems.note('the fault happened', () => row.proof(scene, run))) ?? '';
  await assertEnd(problems, row, ended, run);
  if (!row.isOtherChain) {
    await problems.note('the chain', () => assertChain(scene, earlier, run));
  }
  const startMs = Date.parse(run?.window.startedAt ?? 0);
  const pace = run && paceOf(run, { beginMs: beginMs - startMs, endMs: endMs - startMs });
  if (row.withoutPace !== true) await problems.note('the pace', () => assertPace(pace, run.generator.retiredWallets));
  return {
    group: row.group,
    fault: row.fault,
    proof,
    seconds: (performance.now() - startedMs) / 1000,
    verified: run?.counts.verified ?? 0,
    failures: run?.failures ?? {},
    timedOut: run?.counts.timedOut ?? 0,
    resubmissions: run?.generator.resubmissions ?? null,
    pace,
    exitCode: ended.code,
    audit: auditOf(run),
    remark: row.remark ?? '',
    client: run?.environment.clientVersion ?? null,
    problems: problems.list,
  };
}

/**
 * @param {Problems} problems
 * @param {Row} row
 * @param {StressResult} ended
 * @param {any} run
 */
async function assertEnd(problems, { exitCodes = [0], says, isOtherChain }, { code, stderr, stdout }, run) {
  await problems.note('the exit code', () => {
    assert.ok(exitCodes.includes(code ?? -1), `${code}, not ${exitCodes.join(' or ')}: ${stderr.slice(-1000)}`);
    assert.doesNotMatch(stderr + stdout, /\n +at .*:\d+:\d+/, 'a stack trace');
    if (says !== undefined) assert.match(stderr, says);
  });
  await problems.note('the run file', () => {
    assert.ok(run !== null, 'there is none');
    assert.equal(run.exitCode, code);
    assert.ok(run.counts.verified > 0, 'nothing was verified');
    assertRunFile(run);
  });
  await problems.note('the audit', () => {
    if (isOtherChain) return assert.equal(run.audit, null, 'claimed on another chain');
    assert.ok(run.audit !== null, run.unmeasured['/audit']);
    // Where the chain lost history the run may say so instead: the file's own checks ask for bounds and code 76.
    if (!exitCodes.includes(76)) assert.equal(run.audit.exact, true, JSON.stringify(run.audit).slice(0, 1500));
    else assert.equal(run.audit.exact, code !== 76);
  });
}

/**
 * What the run file says, asked of the chain without the program.
 * @param {Scene} scene
 * @param {number} earlier what the counters had before the run
 * @param {any} run
 */
async function assertChain({ node, files }, earlier, { audit, counts }) {
  const onChain = (await countersIn(node.url, files.contracts)) - earlier;
  if (audit?.exact) assert.equal(onChain, counts.verified + audit.includedLate - (audit.reorgedOut ?? 0));
  else assert.equal(String(onChain), audit?.effectsOnChain);
}

/** @param {Pace | null} pace @param {number} retired wallets */
function assertPace(pace, retired) {
  const { before, after } = pace ?? {};
  assert.ok(before, 'there is none before the fault');
  const words = `${after?.toFixed(1)} TPS at best within ${WITHIN_MS / 1000} s after the fault, ${before.toFixed(1)} before it, ${retired} wallets retired`;
  assert.ok((after ?? 0) >= before * SHARE, words);
}

/** Enough for a run that is limited by blocks, and not by this machine. @param {TestContext} t */
export async function fiveBlocksASecond(t) {
  const anvil = await startAnvil({ args: ['--accounts', '100', '--block-time', '0.2'] });
  t.after(anvil.stop);
  return anvil;
}

/** p: by default, so that the load goes on during the fault; enough: spoiled submissions that end it; least: that a row must have. */
export const SUBMISSIONS = Object.freeze({ wallets: 100, p: 0.3, enough: 150, least: 50 });

/**
 * A fault that only submissions meet. It ends when enough of them were met, so that the speed of this machine does not matter.
 * @param {Fault} fault
 * @param {string[]} [args] of stress
 */
export function ofSubmissions(fault, args = []) {
  const { begin, proof } = byProxy({ p: SUBMISSIONS.p, ...fault, methods: ['eth_sendRawTransaction'] });
  return {
    begin,
    args: ['-t', `${SUBMISSIONS.wallets}`, ...args],
    faultMs: 20_000,
    until: (/** @type {Scene} */ { proxy }) => proxy.met(SUBMISSIONS.enough),
    proof: async (/** @type {Scene} */ scene, /** @type {any} */ { failures, counts }) => {
      const { faultsOnSubmissions } = await scene.proxy.counts();
      assert.ok(faultsOnSubmissions >= SUBMISSIONS.least, `only ${faultsOnSubmissions} submissions were met`);
      const outcomes = { ...failures, timedOut: counts.timedOut };
      assert.deepEqual(outcomes, { timedOut: 0 }, 'each submission is repeated or found');
      return proof(scene);
    },
  };
}

/** A fault of the proxy, which counts how often it happened. @param {Fault} fault @param {number} [least] */
export function byProxy(fault, least = 1) {
  return {
    begin: (/** @type {Scene} */ { proxy }) => proxy.set(fault),
    proof: async (/** @type {Scene} */ { proxy }) => {
      const { faults, faultsOnSubmissions, requests } = await proxy.counts();
      assert.ok(faults >= least, `${faults} of ${requests} requests`);
      if (requests === 0) return `${faults} times`; // what WebSockets carry is not told apart
      return `${faults} requests, ${faultsOnSubmissions} with a transaction`;
    },
  };
}
