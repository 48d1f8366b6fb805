/**
 * Gas as a figure and as the unit of the rate, against a real anvil.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startAnvil } from '../helpers/anvil.js';

import { readJson, runStress } from '../helpers/cli.js';
import { temporaryFolder } from '../helpers/temporary.js';
import { assertRunFile } from '../helpers/run-file.js';

/** @import { TestContext } from 'node:test' */
/** @import { Anvil } from '../helpers/anvil.js' */
/** @import { RunFile } from '../../src/types.d.ts' */

/** @type {Anvil} */
let anvil;
before(async () => {
  anvil = await startAnvil({ args: ['--accounts', '30', '--block-time', '0.2', '--gas-limit', '30000000'] });
});
after(() => anvil.stop());

let nextIndex = 0;

/** @param {TestContext} t @param {string[]} args @returns {Promise<{code: number | null, stdout: string, stderr: string, run: RunFile}>} */
async function stress(t, args) {
  const out = join(temporaryFolder(t), 'run.json');
  const result = await runStress([
    '-t',
    '10',
    '-o',
    String(10 * nextIndex++),
    '--rpc',
    anvil.url,
    '--out',
    out,
    ...args,
  ]);
  const run = readJson(out);
  assertRunFile(run);
  return { ...result, run };
}

describe('gas', () => {
  test('the figures are those of the blocks of the window', async (t) => {
    const limits = ['gas>=1k', 'chain.gas>=0.001Mgas', 'gas.op<50k', 'fullness>0%', 'fullness.p90<=100%'];
    const { code, stdout, stderr, run } = await stress(t, ['-d', '2s', ...limits.map((one) => `--threshold=${one}`)]);
    assert.equal(code, 0, stderr);
    const {
      firstNumber,
      lastNumber,
      count,
      gasUsed,
      ours,
      transactions,
      own,
      fullnessSum = 0,
      fullness = {},
    } = run.blocks;
    let [gas, shares] = [0, 0];
    for (let number = Number(firstNumber); number <= Number(lastNumber); number += 1) {
      const block = await anvil.rpc('eth_getBlockByNumber', [`0x${number.toString(16)}`, false]);
      gas += Number(block.gasUsed);
      shares += Number(block.gasUsed) / Number(block.gasLimit);
    }
    assert.equal(gasUsed, gas);
    assert.ok(Math.abs(fullnessSum - shares) < 1e-9, `${fullnessSum} and ${shares}`);
    assert.equal(
      Object.values(fullness).reduce((a, b) => a + b, 0),
      count,
    );
    assert.deepEqual([own, ours], [{ transactions, gasUsed }, transactions]);
    assert.match(stdout, /^ {2}elapsed .* run TPS +Mgas\/s +avg ms/m);
    assert.match(
      stdout,
      /^ {2}gas +\d+\.\d Mgas\/s by this run, [\d,]+ an operation; \d+\.\d Mgas\/s in all blocks; blocks \d/m,
    );
  });

  test('--rate 1Mgas: the rate is set by the gas of an operation in the warm-up', async (t) => {
    const { code, stdout, stderr, run } = await stress(t, ['-d', '3s', '--rate', '1Mgas', '--in-flight', '4']);
    assert.equal(code, 0, stderr);
    const { gasPerSecond, gasPerOperation, perSecond } = run.gasRate ?? {};
    assert.equal(gasPerSecond, 1_000_000);
    // An increment takes 26,400 gas and a little more by its calldata; the first one of a counter 43,500.
    assert.ok(Number(gasPerOperation) > 26_000 && Number(gasPerOperation) < 27_500, `${gasPerOperation}`);
    assert.equal(perSecond, 1_000_000 / Number(gasPerOperation));
    const { askedPerSecond } = run.rates;
    assert.ok(Math.abs(Number(askedPerSecond) - Number(perSecond)) <= 1, `${askedPerSecond} and ${perSecond}`);
    assert.equal(run.config.ratePerSecond, null);
    assert.match(stdout, /^ {2}Mgas\/s +[\d.]+ {2}of 1\.0 asked for: 37\.\d operations per second of 26,\d+ gas$/m);
  });

  test('--rate 1Mgas in two workers, with random arrivals', async (t) => {
    const more = ['--workers', '2', '--arrival', 'poisson', '--in-flight', '4'];
    const { code, stderr, run } = await stress(t, ['-d', '2s', '--rate', '1Mgas', ...more]);
    assert.equal(code, 0, stderr);
    // Some first increments may be among them, because the warm-up is short.
    const { gasPerOperation } = run.gasRate ?? {};
    assert.ok(Number(gasPerOperation) > 26_000 && Number(gasPerOperation) < 35_000, `${gasPerOperation}`);
  });

  test('calls use no gas, and stages have rates of their own', async () => {
    const calls = await runStress([
      '-t',
      '1',
      '--rpc',
      anvil.url,
      '--workload',
      'rpc',
      '--method',
      'eth_blockNumber',
      '--rate',
      '1Mgas',
      '-d',
      '1s',
    ]);
    assert.deepEqual(
      [calls.code, calls.stderr.trim()],
      [64, 'stress: --rate in gas needs transactions: calls use no gas'],
    );
    const both = await runStress(['-t', '1', '--rate', '1Mgas', '--stages', '1/1s']);
    assert.deepEqual(
      [both.code, both.stderr.trim()],
      [64, 'stress: --rate and --stages exclude each other: leave one of them out'],
    );
  });
});
