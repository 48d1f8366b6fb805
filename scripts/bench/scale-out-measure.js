/** The constants that scale-out.js counts with, each measured on its own. */
import { execFile } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { computeAddress } from 'ethers';
import { DEV_MNEMONIC, mnemonicSource } from '../../src/chain/keys.js';
import { createClock } from '../../src/clock.js';
import { CommonStart } from '../../src/scale-out/start.js';
import { Stop } from '../../src/core/stop.js';
import { call } from '../nodes/build.js';
import { freePort, runStress, stress } from './lib.js';

/**
 * @import { RunFile } from '../../src/types.d.ts'
 * @import { Node } from './lib.js'
 */

const MERGE = fileURLToPath(new URL('merge.js', import.meta.url));

/** Longer than any set-up takes here. */
const TIMEOUT_MS = 300_000;

/** Between the starts of two processes. */
const STAGGER_MS = 500;

/** The first of the wallets that measureGas() funds. */
export const FUNDED_FROM = 1_000_000;

/** @param {number} count of wallets @returns {number} seconds that their keys take */
export function deriveSeconds(count) {
  const source = mnemonicSource(DEV_MNEMONIC);
  const startMs = performance.now();
  for (let index = 0; index < count; index += 1) source.wallet(index);
  return (performance.now() - startMs) / 1000;
}

/**
 * One instance that has as many wallets as each will have, on a chain that is not the limit.
 * @param {Node} node
 * @param {number} wallets
 * @param {number} seconds
 */
export async function measureInstance(node, wallets, seconds) {
  const { run, startMs } = await runStress(['--rpc', node.url, '-t', `${wallets}`, '--interval', '1s'], seconds);
  const { generator, rates } = /** @type {any} */ (run);
  if (rates.verifiedPerSecond === 0) throw new Error('this machine is too busy to measure anything');
  return {
    startS: startMs / 1000,
    rssMb: generator.peakRssBytes / 2 ** 20,
    cpuUs: generator.cpuUsPerVerified,
    tps: rates.verifiedPerSecond,
    connections: generator.transport.connectionsOpened,
    setUpCalls: generator.rpcCalls.setup / wallets,
    ...sizeOf(run),
  };
}

/** What a run file and the line of it take: without its intervals, and for each of them. @param {RunFile} run */
function sizeOf(run) {
  const bare = { ...run, intervals: [] };
  const [all, none] = [run, bare].map((file) => JSON.stringify(file));
  const [allZip, noneZip] = [all, none].map((text) => gzipSync(text).toString('base64'));
  const rows = run.intervals.length;
  return {
    fileBytes: none.length,
    rowBytes: (all.length - none.length) / rows,
    lineBytes: noneZip.length,
    rowLineBytes: (allZip.length - noneZip.length) / rows,
  };
}

/** What it costs to pay a wallet, to deploy its contract, and to use it. @param {Node} node @param {number} wallets */
export async function measureGas(node, wallets) {
  const slice = ['--rpc', node.url, '-t', `${wallets}`, '-o', `${FUNDED_FROM}`];
  const before = Number(await call(node.url, 'eth_blockNumber'));
  const startMs = performance.now();
  await fund(node, wallets);
  const fundS = (performance.now() - startMs) / 1000;
  const used = { fund: 0, deploy: 0, deployed: 0, call: Infinity, blockBytes: 0, blockTransactions: 0, hash: '' };
  const { startMs: startupMs } = await runStress(slice, 6);
  const funder = computeAddress(node.funderKey).toLowerCase();
  const last = Number(await call(node.url, 'eth_blockNumber'));
  for (let number = before + 1; number <= last; number += 1) {
    const tag = `0x${number.toString(16)}`;
    const receipts = /** @type {any[]} */ (await call(node.url, 'eth_getBlockReceipts', [tag]));
    for (const { from, contractAddress, gasUsed } of receipts) {
      if (from.toLowerCase() === funder) used.fund += Number(gasUsed);
      else if (contractAddress !== null) {
        used.deploy += Number(gasUsed);
        used.deployed += 1;
      } else used.call = Math.min(used.call, Number(gasUsed)); // the first of a counter costs more
    }
    if (receipts.length <= used.blockTransactions) continue;
    used.hash = receipts[0].transactionHash;
    used.blockTransactions = receipts.length;
    used.blockBytes = JSON.stringify(await call(node.url, 'eth_getBlockByNumber', [tag, false])).length;
  }
  return {
    fundS,
    startS: startupMs / 1000,
    fundGas: used.fund / wallets,
    deployGas: used.deploy / used.deployed,
    callGas: used.call,
    hashBytes: used.blockBytes / used.blockTransactions,
    hash: used.hash,
  };
}

/** Pays the first of FUNDED_FROM. @param {Node} node @param {number} wallets */
export async function fund(node, wallets) {
  const args = ['--rpc', node.url, '-t', `${wallets}`, '-o', `${FUNDED_FROM}`, '--fund-amount', '1'];
  await stress(['fund', ...args], { env: { STRESS_FUNDER_KEY: node.funderKey } });
}

/**
 * Instances that meet at a barrier and load together: how far apart they begin, and what the node has to answer.
 * @param {string} url
 * @param {{processes: number, threads: number, seconds: number, chainId: number, offset?: number}} options
 */
export async function measureTogether(url, { processes, threads, seconds, chainId, offset = 0 }) {
  const folder = mkdtempSync(join(tmpdir(), 'stress-scale-out-'));
  const over = new AbortController();
  setMaxListeners(0, over.signal);
  try {
    const common = [
      ...['--rpc', url, '--chain-id', `${chainId}`, '-t', `${threads}`, '-o', `${offset}`],
      ...['-d', `${seconds}s`, '--quiet'],
      ...['--instances', `${processes}`, '--run-id', 'bench', '--results', join(folder, 'results')],
      ...['--barrier', join(folder, 'barrier')],
    ];
    const port = await freePort();
    const starting = Array.from({ length: processes }, async (_, i) => {
      await sleep(i * STAGGER_MS); // at once they would wait for each other's start-up
      const page = i === 0 ? ['--prometheus', `${port}`] : [];
      return stress([...common, '--index', `${i}`, ...page], { signal: over.signal });
    });
    const all = Promise.all(starting);
    const page = await pageOf(port, all);
    await all;
    const results = join(folder, 'results');
    const runs = readdirSync(results).map((name) => JSON.parse(readFileSync(join(results, name), 'utf8')));
    return { ...together(runs), series: page.split('\n').filter((line) => line !== '' && line[0] !== '#').length };
  } finally {
    over.abort(); // one that failed must not leave the others waiting for it
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {any[]} runs */
function together(runs) {
  const startsMs = runs.map(({ window }) => Date.parse(window.startedAt));
  /** @type {Record<string, number>} */
  const callsPerS = {};
  for (const { generator, window, endedAt } of runs)
    for (const [purpose, calls] of Object.entries(generator.rpcCalls)) {
      const seconds = LISTENING_S + (Date.parse(endedAt) - Date.parse(window.startedAt)) / 1000;
      callsPerS[purpose] = (callsPerS[purpose] ?? 0) + calls / seconds / runs.length;
    }
  return {
    skewMs: Math.max(...startsMs) - Math.min(...startsMs),
    lateMs: Math.max(...runs.map(({ instance }) => instance.start.lateMs)),
    inclusionPerS: callsPerS.inclusion,
    cores:
      runs.reduce((sum, { generator, window }) => sum + generator.cpuUs / window.durationMs / 1000, 0) / runs.length,
    rssMb: runs.reduce((sum, { generator }) => sum + generator.peakRssBytes / 2 ** 20, 0) / runs.length,
  };
}

/** An instance watches the chain from so long before the common start on. */
const LISTENING_S = 5;

/**
 * The barrier itself, with the arrivals of as many instances as there will be, of which index 0 waits in this process:
 * from the last arrival until it says when the load begins.
 * @param {number} instances
 */
export async function measureBarrier(instances) {
  const folder = mkdtempSync(join(tmpdir(), 'stress-barrier-'));
  const [clock, stop] = [createClock(), new Stop()];
  const chain = { chainId: 1337, genesisHash: null };
  const common = { instances, attempt: 0, threads: 10_000, firstOffset: 0 };
  const config = { ...common, index: 0, runId: 'bench', startAtMs: null, barrier: folder, startTimeoutMs: TIMEOUT_MS };
  const start = new CommonStart({ id: '0', config, clock, stop, notice: () => {}, workers: 1 });
  try {
    await start.open();
    const met = start.wait(chain);
    const facts = { ...chain, host: 'bench', arrivedAt: new Date(clock.wallMs()).toISOString() };
    for (let index = 1; index < instances; index += 1)
      writeFileSync(
        join(folder, 'bench', `${index}-0.json`),
        JSON.stringify({ ...common, ...facts, id: `${index}`, index }),
      );
    const lastMs = clock.wallMs();
    await met;
    await start.begin();
    return (Date.parse(start.facts().at ?? '') - LISTENING_S * 1000 - lastMs) / 1000;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A merge of so many run files, by its own benchmark. @param {number} instances @param {number} intervals */
export async function measureMerge(instances, intervals) {
  const { stdout } = await promisify(execFile)(process.execPath, [MERGE, `${instances}`, `${intervals}`]);
  const [, s, cpuS, mb] = /([\d.]+) s \(CPU ([\d.]+) s\), peak memory (\d+) MB/.exec(stdout) ?? [];
  return { instances, intervals, s: Number(s), cpuS: Number(cpuS), mb: Number(mb) };
}

/** The page of an instance, shortly before it goes: the last that was had. @param {number} port @param {Promise<unknown>} ended */
async function pageOf(port, ended) {
  let [page, isOver] = ['', false];
  const over = () => (isOver = true);
  ended.then(over, over);
  while (!isOver) {
    page = await fetch(`http://127.0.0.1:${port}/metrics`).then(
      (response) => response.text(),
      () => page,
    );
    await sleep(500);
  }
  return page;
}
