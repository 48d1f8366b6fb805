/** stress fund on the chain in memory, and the run after it. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Transaction, Wallet } from 'ethers';
import { commands } from '../../src/cli/commands.js';
import { Stop } from '../../src/core/stop.js';
import { dialectTransport } from '../helpers/dialect-node.js';
import { createMemoryChain } from '../helpers/memory-chain.js';
import { configOf, runConfig, simulatedRun } from '../helpers/simulated-run.js';
import { FUNDER, FUNDER_KEY } from './features.js';
import { VirtualTime, createSimulatedPlatform, loadModules } from './platform.js';

/** @import { Dialect } from '../helpers/dialect-node.js' */

const MOST_MS = 600_000;

for (const [mix, used] of /** @type {const} */ ([
  ['counter:40,calls:60', 4],
  ['counter:20,transfer:20,calls:60', 4],
  ['counter:50,transfer:50', 10],
]))
  it(`stress fund --mix ${mix} pays the wallets that the run uses, and no other`, async () => {
    const time = new VirtualTime();
    const clock = time.clock();
    const chain = createMemoryChain({ clock, rich: FUNDER });
    const platform = createSimulatedPlatform(time, 1, { undici: dialectTransport({}, chain.ask, clock) });
    const words = `--rpc http://127.0.0.1:1 -t 10 --mix ${mix}`.split(' ');
    try {
      await loadModules();
      const config = await configOf(['fund', ...words], { STRESS_FUNDER_KEY: FUNDER_KEY });
      const context = {
        ...platform,
        ...{ stop: new Stop(), outputs: [], version: '0', onProgress: () => {} },
        log: { info: () => {}, warn: () => {}, error: () => {}, fatal: () => {} },
      };
      const funded = commands.fund(config, /** @type {any} */ (context));
      await time.until(funded, MOST_MS);
      assert.equal(await funded, 0);
      const { balances } = chain.head().state;
      // Contracts have no balance.
      const paid = [...balances].filter(([address, wei]) => wei > 0n && address !== FUNDER).map(([address]) => address);
      const before = chain.submissions.length;

      const run = { time, platform, outputs: [], stop: new Stop() };
      const { code, lines } = await runConfig(
        await configOf([...words, ...(mix.includes('calls') ? ['--method', 'eth_blockNumber'] : []), '-d', '6s'], {}),
        run,
      );
      assert.equal(code, 0, lines.join('\n'));
      const senders = new Set(chain.submissions.slice(before).map(({ from }) => from));
      assert.deepEqual([...senders].sort(), paid.sort());
      assert.equal(senders.size, used);
    } finally {
      chain.stop();
    }
  });

for (const [what, isDropped] of /** @type {const} */ ([
  ['refused', false],
  ['dropped', true],
]))
  it(`another program that takes the nonce of a payment that is ${what}: the payments are planned again, and none is made twice`, async () => {
    /** Payments by nonce of the funder. @type {Map<number, bigint>} */
    const paid = new Map();
    const { code, words, run, executed } = await simulatedRun(
      '-t 4 -d 4s --fund-amount 30000000wei --max-spend 1',
      {
        before: async ({ method, params }, { node, count }) => {
          if (method !== 'eth_sendRawTransaction') return undefined;
          const { from, nonce, chainId, value, hash } = Transaction.from(params[0]);
          if (from?.toLowerCase() !== FUNDER) return undefined;
          paid.set(nonce, value);
          if (count('payments') > 1) return undefined;
          const other = { chainId, nonce, to: FUNDER, value: 0n, gasLimit: 21_000n, type: 0, gasPrice: 100n };
          await node('eth_sendRawTransaction', [await new Wallet(FUNDER_KEY).signTransaction(other)]);
          return isDropped ? { result: hash } : undefined;
        },
      },
      { chain: { rich: FUNDER }, env: { STRESS_FUNDER_KEY: FUNDER_KEY } },
    );
    assert.equal(code, 0, words);
    assert.match(
      words,
      /another sender has used nonce 0 of the funder \(0x[0-9a-f]+\): the payments are planned again/,
    );
    assert.deepEqual(
      [...paid],
      [
        [0, 120_000_000n],
        [1, 120_000_000n],
      ],
    );
    assert.equal(run.audit.result, 'exact');
    assert.ok(executed > 0);
    // What was reserved for the payment that is void is not spent.
    assert.notEqual(run.spending.spentWei, null, run.unmeasured['/spending/spentWei']);
  });

it('a payment that a gateway holds back is not made again when another program takes a nonce', async () => {
  const time = new VirtualTime();
  const clock = time.clock();
  const chain = createMemoryChain({ clock, rich: FUNDER });
  let takenAtMs = 0;
  let againAtMs = 0;
  /** The first transactions with these nonces. @type {Map<number, string>} */
  const first = new Map();
  /** @type {Dialect} */
  const gateway = {
    before: async ({ method, params }, { node, nowMs, sleep, count }) => {
      if (method !== 'eth_sendRawTransaction') return undefined;
      const { nonce, chainId } = Transaction.from(params[0]);
      if (nonce === 1 && count('second payment') === 1) {
        takenAtMs = nowMs();
        const other = { chainId, nonce, to: FUNDER, value: 0n, gasLimit: 21_000n, type: 0, gasPrice: 1000n };
        await node('eth_sendRawTransaction', [await new Wallet(FUNDER_KEY).signTransaction(other)]);
      }
      if (nonce < 2) return undefined;
      const isFirst = nonce < 4 && (first.get(nonce) ?? params[0]) === params[0];
      if (isFirst) first.set(nonce, params[0]);
      else againAtMs ||= nowMs();
      // The first ones arrive between the new ones.
      for (let i = 0; isFirst && againAtMs === 0 && i < 80; i += 1) await sleep(100);
      if (!isFirst && nonce > 2) await sleep(300);
      return undefined;
    },
  };
  const platform = createSimulatedPlatform(time, 1, { undici: dialectTransport(gateway, chain.ask, clock) });
  /** @type {string[]} */
  const lines = [];
  const say = (/** @type {string} */ line) => void lines.push(line);
  try {
    await loadModules();
    const words = 'fund --rpc http://127.0.0.1:1 -t 650 --fund-amount 30000000wei'.split(' ');
    const config = await configOf(words, { STRESS_FUNDER_KEY: FUNDER_KEY });
    const context = {
      ...platform,
      ...{ stop: new Stop(), outputs: [], version: '0', onProgress: () => {} },
      log: { info: say, warn: say, error: say, fatal: say },
    };
    const funded = commands.fund(config, /** @type {any} */ (context));
    await time.until(funded, MOST_MS);
    assert.equal(await funded, 0, lines.join('\n'));
    const { balances } = chain.head().state;
    const paid = [...balances].filter(([address, wei]) => wei > 0n && address !== FUNDER).map(([, wei]) => wei);
    assert.deepEqual([paid.length, [...new Set(paid)]], [650, [30_000_000n]]);
    // Three blocks on top of that of the other one prove that the payment is void.
    assert.ok(againAtMs - takenAtMs > 3000, `${againAtMs - takenAtMs}`);
    assert.ok(!lines.some((line) => line.includes('nonce 2 of the funder')), lines.join('\n'));
  } finally {
    chain.stop();
  }
});

/** With a base fee of 7 wei: the command line, the offers of both commands (whole price, tip), and what reclaim leaves in a wallet. */
for (const [words, funding, reclaiming, leftWei] of /** @type {const} */ ([
  ['', [36n, 1n], [36n, 36n], 0n],
  ['--tip 3wei', [38n, 3n], [38n, 3n], 28n * 21_000n],
  ['--legacy --tip 3wei', [17n, null], [17n, null], 0n],
]))
  it(`stress fund and reclaim ${words} offer ${reclaiming[0]} wei at most, and this tip: ${reclaiming[1] ?? 'none'}`, async () => {
    const time = new VirtualTime();
    const clock = time.clock();
    const chain = createMemoryChain({ clock, rich: FUNDER });
    /** @type {Transaction[]} */
    const sent = [];
    /** @type {Dialect} */
    const noting = {
      before: async ({ method, params }) => {
        if (method === 'eth_sendRawTransaction') sent.push(Transaction.from(params[0]));
        return undefined;
      },
    };
    const platform = createSimulatedPlatform(time, 1, { undici: dialectTransport(noting, chain.ask, clock) });
    const context = {
      ...platform,
      ...{ stop: new Stop(), outputs: [], version: '0', onProgress: () => {} },
      log: { info: () => {}, warn: () => {}, error: () => {}, fatal: () => {} },
    };
    try {
      await loadModules();
      for (const command of /** @type {const} */ (['fund', 'reclaim'])) {
        const given = `${command} --rpc http://127.0.0.1:1 -t 3 ${words}`.split(' ').filter(Boolean);
        const amount = command === 'fund' ? ['--fund-amount', '30000000wei'] : [];
        const config = await configOf([...given, ...amount], { STRESS_FUNDER_KEY: FUNDER_KEY });
        const done = commands[command](config, /** @type {any} */ (context));
        await time.until(done, MOST_MS);
        assert.equal(await done, 0);
      }
      const offers = sent.map((one) => [one.gasPrice ?? one.maxFeePerGas, one.maxPriorityFeePerGas]);
      assert.deepEqual(offers, [funding, reclaiming, reclaiming, reclaiming]);
      const { balances } = chain.head().state;
      const left = [...balances].filter(([address]) => address !== FUNDER).map(([, wei]) => wei);
      assert.deepEqual(
        left.filter((wei) => wei !== leftWei),
        [],
      );
    } finally {
      chain.stop();
    }
  });
