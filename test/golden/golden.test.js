/**
 * The members of the run files of eight runs that between them use every part of the program. The first is held against
 * a file as a whole, the others against the members in which they differ from it.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startAnvil } from '../helpers/anvil.js';
import { spawnStress } from '../helpers/cli.js';
import { schemaErrors } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';
import { assertGolden, expected } from './assert-golden.js';
import { differences, masked } from './mask.js';

const CALLS = {
  schema: 'evm-stress/calls@1',
  calls: [
    { method: 'eth_blockNumber', params: [], weight: 3 },
    { name: 'balance', method: 'eth_getBalance', params: [`0x${'11'.repeat(20)}`, 'latest'] },
  ],
};
const BASE = 'closed-loop';
/** @type {Record<string, string>} options beside those of each run; CALLS: a calls file */
const SCENARIOS = {
  [BASE]: '-d 2s',
  'open-loop-with-drops': '-d 2s --rate 200 --warmup 1s',
  stages: '--stages 5:30/1s,30/1s',
  'two-endpoints': '-d 2s',
  reorg: '-d 4s',
  transfer: '-d 2s --workload transfer --receivers 20 --payload 100',
  'plain-calls': '-d 2s --workload rpc --method eth_blockNumber',
  'calls-file': '-d 2s --workload rpc --calls CALLS',
};

describe('run files keep their members', () => {
  for (const [name, options] of Object.entries(SCENARIOS)) {
    it(name, async (t) => {
      const chain = await startAnvil({ args: ['-b', '0.1'] });
      t.after(chain.stop);
      const folder = temporaryFolder(t);
      const [calls, out] = ['calls.json', 'run.json'].map((file) => join(folder, file));
      writeFileSync(calls, JSON.stringify(CALLS));
      const urls = [chain.url, ...(name === 'two-endpoints' ? [chain.url.replace('127.0.0.1', 'localhost')] : [])];
      const args = `-t 5 -o 0 --interval 500ms --rpc ${urls} ${options.replace('CALLS', calls)} --out ${out}`;
      const stress = spawnStress(args.split(' '), { timeoutMs: 60_000 });
      if (name === 'reorg') {
        await stress.waitFor(/^ +1\.\d s +[\d,]+ +[1-9]/m);
        await chain.rpc('anvil_reorg', [2, []]);
      }
      const { code, stderr } = await stress.done;
      assert.equal(code, 0, stderr);
      const run = JSON.parse(readFileSync(out, 'utf8'));
      assert.deepEqual(schemaErrors(run), []);
      assert.equal(run.audit?.exact ?? null, run.environment.inclusion === null ? null : true);
      const members = masked(run);
      const held = name === BASE ? members : differences(JSON.parse(expected(`run-${BASE}.json`)), members);
      assertGolden(`run-${name}.json`, `${JSON.stringify(held, null, 1)}\n`);
    });
  }
});
