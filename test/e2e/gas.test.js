/** Gas as a figure and as the unit of the rate, against a real anvil. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { anvilFor } from '../helpers/anvil.js';
import { runOf, sumOf } from '../helpers/run-of.js';

const chain = anvilFor('--accounts 30 --block-time 0.2 --gas-limit 30000000');

describe('gas', () => {
  test('the figures are those of the blocks of the window', async (t) => {
    const limits = ['gas>=1k', 'chain.gas>=0.001Mgas', 'gas.op<50k', 'fullness>0%', 'fullness.p90<=100%'];
    const words = `-d 1500ms ${limits.map((one) => `--threshold=${one}`).join(' ')}`;
    const { stdout, run } = await runOf(t, words, { chain, threads: 10 });
    const { firstNumber, lastNumber, count, gasUsed, ours, transactions, own, fullnessSum, fullness } = run.blocks;
    let [gas, shares] = [0, 0];
    for (let number = Number(firstNumber); number <= Number(lastNumber); number += 1) {
      const block = await chain.rpc('eth_getBlockByNumber', [`0x${number.toString(16)}`, false]);
      gas += Number(block.gasUsed);
      shares += Number(block.gasUsed) / Number(block.gasLimit);
    }
    assert.equal(gasUsed, gas);
    assert.ok(Math.abs(fullnessSum - shares) < 1e-9, `${fullnessSum} and ${shares}`);
    assert.equal(sumOf(Object.values(fullness)), count);
    assert.deepEqual([own, ours], [{ transactions, gasUsed }, transactions]);
    assert.match(stdout, /^ {2}elapsed .* run TPS +Mgas\/s +avg ms/m);
    const line = /^ {2}gas +[\d.]+ Mgas\/s by this run, [\d,]+ an operation; [\d.]+ Mgas\/s in all blocks; blocks \d/m;
    assert.match(stdout, line);
  });

  test('--rate 1Mgas: the rate is set by the gas of an operation in the warm-up', async (t) => {
    const { stdout, run } = await runOf(t, '-d 2s --rate 1Mgas --in-flight 4', { chain, threads: 10 });
    const { gasPerSecond, gasPerOperation, perSecond } = run.gasRate;
    // An increment takes 26,400 gas and a little more by its calldata; the first one of a counter 43,500.
    assert.ok(gasPerOperation > 26_000 && gasPerOperation < 27_500, `${gasPerOperation}`);
    assert.deepEqual([gasPerSecond, perSecond, run.config.ratePerSecond], [1e6, 1e6 / gasPerOperation, null]);
    const { askedPerSecond } = run.rates;
    assert.ok(Math.abs(askedPerSecond - perSecond) <= 1, `${askedPerSecond} and ${perSecond}`);
    assert.match(stdout, /^ {2}Mgas\/s +[\d.]+ {2}of 1 asked for: 37(\.\d)? operations per second of 26,\d+ gas$/m);
  });
});
