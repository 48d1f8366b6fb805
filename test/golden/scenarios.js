/** Twelve runs that between them use every part of the program. Each is short and ends with an exact audit. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnStress } from '../helpers/cli.js';

/**
 * @typedef {object} Scenario
 * @property {string[]} args
 * @property {(stress: ReturnType<typeof spawnStress>, chain: Chain) => Promise<unknown>} [during] what happens to the run
 * @property {number} [code] expected exit code
 *
 * @typedef {{url: string, rpc: (method: string, params?: unknown[]) => Promise<any>}} Chain
 */

const CALLS = {
  schema: 'evm-stress/calls@1',
  calls: [
    { method: 'eth_blockNumber', params: [], weight: 3 },
    { name: 'balance', method: 'eth_getBalance', params: [`0x${'11'.repeat(20)}`, 'latest'] },
  ],
};

const USER_WORKLOAD = new URL('../../docs/examples/storage-writer.js', import.meta.url).pathname;
const CLOSED = ['-t', '5', '-o', '0', '-d', '2s', '--interval', '500ms'];

/** Once rows show that operations were verified. @param {ReturnType<typeof spawnStress>} stress */
const underLoad = (stress) => stress.waitFor(/^ +1\.\d s +[\d,]+ +[1-9]/m);

/** @type {Record<string, Scenario>} */
export const SCENARIOS = {
  'closed-loop': { args: CLOSED },
  'open-loop-with-drops': { args: [...CLOSED, '--rate', '200', '--warmup', '1s'] },
  stages: { args: [...CLOSED.slice(0, 4), '--interval', '500ms', '--stages', '5:30/1s,30/1s'] },
  workers: { args: [...CLOSED, '--workers', '2'] },
  'in-flight-8': { args: [...CLOSED, '--in-flight', '8'] },
  'two-endpoints': { args: CLOSED },
  reorg: {
    args: ['-t', '5', '-o', '0', '-d', '4s', '--interval', '500ms'],
    during: (stress, chain) => underLoad(stress).then(() => chain.rpc('anvil_reorg', [2, []])),
  },
  transfer: { args: [...CLOSED, '--workload', 'transfer', '--receivers', '20', '--payload', '100'] },
  'plain-calls': { args: [...CLOSED, '--workload', 'rpc', '--method', 'eth_blockNumber'] },
  'calls-file': { args: [...CLOSED, '--workload', 'rpc', '--calls', 'CALLS'] },
  'user-workload': { args: [...CLOSED, '--workload', USER_WORKLOAD] },
  interrupted: {
    args: ['-t', '5', '-o', '0', '-d', '1m', '--interval', '500ms'],
    during: (stress) => underLoad(stress).then(() => stress.child.kill('SIGINT')),
    code: 130,
  },
};

/**
 * @param {string} name of the scenario
 * @param {Chain} chain
 * @param {string} folder for the run file
 * @param {string} [script] bin/stress.js of another checkout
 * @returns {Promise<{code: number | null, stdout: string, stderr: string, file: string}>}
 */
export async function runScenario(name, chain, folder, script) {
  const { args, during } = SCENARIOS[name];
  mkdirSync(folder, { recursive: true });
  const calls = join(folder, 'calls.json');
  const file = join(folder, `${name}.json`);
  if (args.includes('CALLS')) writeFileSync(calls, JSON.stringify(CALLS));
  const endpoints = name === 'two-endpoints' ? [chain.url, chain.url.replace('127.0.0.1', 'localhost')] : [chain.url];
  const stress = spawnStress(
    [
      ...args.map((arg) => (arg === 'CALLS' ? calls : arg)),
      ...endpoints.flatMap((url) => ['--rpc', url]),
      '--out',
      file,
    ],
    { script, timeoutMs: 60_000 },
  );
  await during?.(stress, chain);
  const { code, stdout, stderr } = await stress.done;
  return { code, stdout, stderr, file };
}
