import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { foreignSender, fundsMissing, mineQueued, settleWallets, shortfalls } from '../../../src/chain/funding.js';
import { listWallets } from '../../../src/chain/wallet-states.js';
import { Wallet } from '../../../src/chain/keys.js';
import { InterruptedError, RpcError, UnavailableError } from '../../../src/errors.js';
import { indexRanges } from '../../../src/text.js';
import { caught } from '../../helpers/caught.js';
import { createFakeClock } from '../../helpers/clock.js';
import { fails, fakeRpc } from '../../helpers/fake-rpc.js';
import { hash32 } from '../../helpers/samples.js';

const ETHER = 10n ** 18n;

/** @param {number} index */
const wallet = (index) => new Wallet(index, `0x${(index + 1).toString(16).padStart(64, '0')}`, `0xaddress${index}`);

describe('indexRanges()', () => {
  /** @type {Array<[number[], string]>} */
  const table = [
    [[], ''],
    [[0, 1, 2, 5], '0..2, 5'],
    [[9, 10, 11], '9..11'], // by number, not by text
    [Array.from({ length: 10 }, (_, i) => 2 * i), '0, 2, 4, 6, 8, 10, 12, 14, 16, 18'],
    [Array.from({ length: 11 }, (_, i) => 2 * i), '0, 2, 4, 6, 8, 10, 12, 14, 16, 18, ... (11 in all)'],
  ];
  for (const [indexes, expected] of table) {
    it(`${indexes.slice(0, 12).join(',')}: ${expected}`, () => assert.equal(indexRanges(indexes), expected));
  }

  it('listWallets() says what they are', () => assert.equal(listWallets([wallet(4), wallet(3)]), 'wallets 3..4'));
});

it('shortfalls(): is what each wallet has less than it needs, to the wei', () => {
  const wallets = [wallet(0), wallet(1), wallet(2), wallet(3)];
  const states = [0n, 9n, 10n, 11n].map((balanceWei) => ({ balanceWei, latest: 0, pending: 0 }));
  assert.deepEqual(shortfalls(wallets, states, 10n), [
    { wallet: wallets[0], missingWei: 10n },
    { wallet: wallets[1], missingWei: 1n },
  ]);
  assert.deepEqual(shortfalls(wallets, states, 0n), []);
});

describe('fundsMissing()', () => {
  it('one wallet', () => {
    const error = fundsMissing([{ wallet: wallet(5), missingWei: ETHER / 2n }], 2n * ETHER);
    assert.ok(error instanceof UnavailableError);
    assert.equal(error.exitCode, 69);
    assert.equal(
      error.message,
      "1 wallet has less than the 2 ether this run may need, 0.5 ether in all: wallet 5 (0xaddress5) lacks 0.5 ether; fund them with --fund-from or 'stress fund', or set the need with --fund-amount",
    );
  });

  it('many wallets: how many, the first three, how much in all', () => {
    const missing = Array.from({ length: 200 }, (_, i) => ({ wallet: wallet(i), missingWei: ETHER }));
    const { message } = fundsMissing(missing, ETHER);
    assert.match(message, /^200 wallets have less than the 1 ether this run may need, 200 ether in all: /);
    assert.match(message, /lacks 1 ether, 2 \(0xaddress2\) lacks 1 ether, \.\.\.; fund them/);
    assert.ok(!message.includes('0xaddress3'));
    assert.ok(!fundsMissing(missing.slice(0, 3), ETHER).message.includes('...'));
    assert.match(fundsMissing(missing, ETHER, 'do so').message, /; do so, or set the need with --fund-amount$/);
  });
});

describe('settleWallets()', () => {
  /**
   * A node that tells of each wallet, each time it is asked, the next of its states; the last one stays.
   * @param {Record<string, string>} texts by address
   * @param {number} [oldMs] so long its newest block is one of before the run
   */
  function node(texts, oldMs = 0) {
    const statesOf = (/** @type {string} */ text) => text.split(' ').map((one) => one.split('/').map(Number));
    const states = Object.fromEntries(Object.entries(texts).map(([address, text]) => [address, statesOf(text)]));
    /** @type {Record<string, number>} */
    const asked = {};
    const clock = createFakeClock();
    const startUs = clock.nowUs();
    const rpc = fakeRpc({
      eth_getBalance: () => '0x5',
      eth_blockNumber: () => '0x1',
      eth_getBlockByNumber: () => ({
        ...{ number: '0x1', hash: `0x${'b'.repeat(64)}` },
        transactions: Array.from({ length: 100 }, (_, nonce) => ({
          ...{ hash: `0x${'f0'.repeat(32)}`, from: Object.keys(states)[0], nonce: `0x${nonce.toString(16)}` },
        })),
        timestamp:
          clock.nowUs() < startUs + 1000 * oldMs ? '0x1' : `0x${Math.floor(clock.wallMs() / 1000).toString(16)}`,
      }),
      eth_getTransactionCount: (address, tag) => {
        const k = Math.min((asked[address + tag] = (asked[address + tag] ?? -1) + 1), states[address].length - 1);
        return `0x${states[address][k][tag === 'latest' ? 0 : 1].toString(16)}`;
      },
    });
    const controller = new AbortController();
    return { rpc, clock, controller, tools: { rpc, clock, signal: controller.signal, timeoutMs: 1000 } };
  }

  const forEver = Array.from({ length: 60 }, (_, i) => `${3 + i}/${4 + i}`).join(' ');
  const STRANGER = /^76 wallets 0 sent a transaction that is not of this run: 0x(f0){32} \(wallet 0, nonce 28\) was /;
  /** States (latest/pending) of each wallet, milliseconds until the end, the nonces or the error, and requests. @type {Array<[string, string[], number, number[] | RegExp, number?]>} */
  const rows = [
    ['wallets that are settled', ['3/3', '0/0'], 0, [3, 0], 6],
    ['what is pending, asked only for the wallets that are open', ['3/3', '5/7 6/7 7/7'], 400, [3, 7], 12],
    ['an endpoint that lags behind an earlier run, which is no other sender', ['3/4 6/7 8/8'], 400, [8]],
    [
      'what is never mined',
      ['3/4', '1/1'],
      1300,
      /^69 transactions of wallets 0 are still in the node's pool after 1 s/,
    ],
    ['another sender, who goes on for longer than an endpoint lags', [forEver, '3/3'], 7000, STRANGER],
  ];
  for (const [name, all, ms, expected, count] of rows)
    it(`waits for ${name}`, async () => {
      const addresses = all.map((_, i) => `0x${`a${i}`.repeat(20)}`);
      const { tools, rpc, clock } = node(Object.fromEntries(addresses.map((address, i) => [address, all[i]])));
      const wallets = addresses.map((address, i) => new Wallet(i, `0x${'1'.repeat(64)}`, address));
      let isOver = false;
      const timeoutMs = ms > 5000 ? 10_000 : 1000;
      const settled = settleWallets({ ...tools, timeoutMs }, wallets)
        .then(
          () => wallets.map(({ nonce }) => nonce),
          (error) => `${error.exitCode} ${error.message}`,
        )
        .finally(() => (isOver = true));
      await clock.advance(ms / 2);
      assert.equal(isOver, ms === 0);
      await clock.advance(ms / 2);
      if (expected instanceof RegExp) assert.match(String(await settled), expected);
      else assert.deepEqual(await settled, expected);
      assert.equal(rpc.count(), count ?? rpc.count());
    });

  it('waits for an endpoint that lags for long, and for what an earlier run had in the pool when it has caught up', async () => {
    const lagging = Array.from({ length: 30 }, () => '0/1').join(' ');
    const address = `0x${'a0'.repeat(20)}`;
    const { tools, clock } = node({ [address]: `${lagging} 5/8 8/8` }, 6200);
    const one = new Wallet(0, `0x${'1'.repeat(64)}`, address);
    const settled = settleWallets({ ...tools, timeoutMs: 10_000 }, [one]);
    await clock.advance(8000);
    await settled;
    assert.equal(one.nonce, 8);
  });

  it('names the funder, which has no number, and another one as the remedy', async () => {
    const { tools, clock } = node({ '0xaddress-1': '3/4' });
    const failed = caught(() => settleWallets({ ...tools, timeoutMs: 1000 }, [wallet(-1)]));
    await clock.advance(2000);
    assert.match((await failed).message, /^transactions of the funder are still .*, or use another funder$/);
    const { message } = foreignSender([wallet(-1)], { hash: '0x1', nonce: 5 });
    assert.match(message, /^the funder sent .*: 0x1 \(nonce 5\) was mined; .*: give each run its own funder$/);
  });

  it('ends when it is interrupted', async () => {
    const { tools, clock, controller } = node({ '0xaddress0': '3/4' });
    const failed = caught(() => settleWallets(tools, [wallet(0)]));
    await clock.settle();
    controller.abort();
    assert.ok((await failed) instanceof InterruptedError);
    assert.equal(clock.pending(), 0);
  });
});

describe('mineQueued()', () => {
  /**
   * A chain with a block every 200 ms, and a pool. Nonces begin at 5.
   * @param {{queued?: number[][], hidden?: string[]}} options queued: nonces in the pool, by wallet; hidden: methods that it lacks
   */
  function chain({ queued = [], hidden = [] }) {
    const clock = createFakeClock();
    const addresses = ['0xaddress0', '0xaddress1'];
    const nonces = addresses.map(() => 5);
    const pools = addresses.map((_, i) => new Set(queued[i] ?? []));
    /** @type {Set<string>} */
    const mined = new Set();
    const mine = () => {
      for (const [i, pool] of pools.entries())
        while (pool.delete(nonces[i])) {
          mined.add(hash32(`${i}:${nonces[i]}`));
          nonces[i] += 1;
        }
      clock.after(mine, 200);
    };
    clock.after(mine, 200);
    const at = (/** @type {string} */ address) => addresses.indexOf(address);
    const partOf = (/** @type {number} */ i) => Object.fromEntries([...pools[i]].map((nonce) => [nonce, {}]));
    /** @type {string[]} */
    const sent = [];
    const all = {
      txpool_status: () => ({
        pending: '0x0',
        queued: `0x${pools.reduce((sum, { size }) => sum + size, 0).toString(16)}`,
      }),
      txpool_contentFrom: (/** @type {string} */ address) => ({ pending: {}, queued: partOf(at(address)) }),
      txpool_content: () => ({ pending: {}, queued: { '0xADDRESS0': partOf(0), '0xADDRESS1': partOf(1) } }),
    };
    const shown = Object.entries(all).map(([method, answer]) => [
      method,
      hidden.includes(method) ? fails(new RpcError(method, -32601, 'Method not found')) : answer,
    ]);
    const rpc = fakeRpc({
      ...Object.fromEntries(shown),
      eth_getBalance: () => '0x5',
      eth_estimateGas: () => '0x5208',
      eth_getTransactionCount: (address) => `0x${nonces[at(address)].toString(16)}`,
      eth_sendRawTransaction: (raw) => {
        const [i, nonce] = raw.split(':').map(Number);
        sent.push(raw);
        pools[i].add(nonce);
        return hash32(raw);
      },
      eth_getTransactionReceipt: (hash) =>
        mined.has(hash) ? { transactionHash: hash, blockNumber: '0x1', status: '0x1' } : null,
      eth_blockNumber: () => '0x1',
    });
    const wallets = addresses.map((_, i) => {
      const own = wallet(i);
      own.nonce = 5;
      own.signOnce = ({ nonce }) => ({ raw: `${i}:${nonce}`, hash: hash32(`${i}:${nonce}`) });
      return own;
    });
    const fees = { current: () => ({}), worstPriceWei: () => 1n };
    const { signal } = new AbortController();
    const sender = /** @type {any} */ ({ rpc, clock, fees, signal, chainId: 1, signer: {}, timeoutMs: 5000 });
    /** @type {string[]} */
    const notices = [];
    const run = async () => {
      const ended = mineQueued(sender, wallets, (line) => notices.push(line)).then(
        () => null,
        (error) => error,
      );
      await clock.advance(30_000);
      return ended;
    };
    return { run, rpc, sent, notices, nonces: () => wallets.map(({ nonce }) => nonce), pools };
  }

  /** Nonces in the pool by wallet, methods that the node lacks, what is sent, and the next nonces. @type {Array<[string, number[][], string[], string[], number[]]>} */
  const rows = [
    ['nothing', [], [], [], [5, 5]],
    ['gaps, which it fills', [[8, 9, 12], []], [], ['0:5', '0:6', '0:7', '0:10', '0:11'], [13, 5]],
    ['anvil shows its pool as a whole', [[6], []], ['txpool_contentFrom'], ['0:5'], [7, 5]],
    ['what is mined by itself', [[5, 6], [5]], [], [], [7, 6]],
    ['a pool that is not shown', [[8]], ['txpool_status'], [], [5, 5]],
    ['a pool whose content is not shown', [[8]], ['txpool_contentFrom', 'txpool_content'], [], [5, 5]],
  ];
  for (const [name, queued, hidden, expected, after] of rows)
    it(name, async () => {
      const { run, rpc, sent, notices, nonces } = chain({ queued, hidden });
      assert.equal(await run(), null);
      assert.deepEqual([sent, nonces()], [expected, after]);
      if (queued.length === 0) assert.equal(rpc.count(), 1);
      assert.equal(notices.length, sent.length > 0 ? 1 : 0);
      for (const notice of notices)
        assert.match(notice, /^transactions of wallets 0 in the node's pool wait for a missing nonce/);
    });

  it('a gap that is too wide is refused', async () => {
    const { run, sent } = chain({ queued: [[5 + 65]] });
    const error = await run();
    assert.ok(error instanceof UnavailableError);
    assert.match(
      error.message,
      /^wallet 0 \(0xaddress0\) has a transaction with nonce 70 in the node's pool, and its next nonce is 5: /,
    );
    assert.deepEqual(sent, []);
  });
});
