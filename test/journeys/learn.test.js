/** stress learn, against nodes with given blocks: what it finds, what it writes, and what it refuses. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { id } from 'ethers/hash';
import { selectorOf } from '../../src/workloads/contract-state.js';
import { exited, readJson, runStress, startStress } from '../helpers/cli.js';
import { serveBlocks } from '../helpers/listed-chain.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** @import { Listed, ListedOptions } from '../helpers/listed-chain.js' */

const WORD = '0'.repeat(63) + '1';
const TRANSFER = [id('Transfer(address,address,uint256)'), `0x${WORD}`, `0x${WORD}`];
const MINTED = [TRANSFER[0], `0x${'0'.repeat(64)}`, `0x${WORD}`, `0x${WORD}`];
const SWAP = [id('Swap(address,uint256,uint256,uint256,uint256,address)')];

/** @param {string} signature @param {number} [words] */
const data = (signature, words = 0) => selectorOf(signature) + WORD.repeat(words);

/** @type {Record<string, Listed>} */
const KINDS = {
  payment: {},
  token: { data: data('transfer(address,uint256)', 2), gas: 35_000, topics: [TRANSFER] },
  approval: {
    data: data('approve(address,uint256)', 2),
    gas: 46_000,
    topics: [[id('Approval(address,address,uint256)')]],
  },
  router: { data: data('swapAll(uint256)', 7), gas: 140_000, topics: [TRANSFER, SWAP, TRANSFER] },
  creation: { to: null, data: `0x${'61'.repeat(1016)}`, gas: 270_000 },
  mint: { data: data('mint(uint256)', 1), gas: 56_000, topics: [MINTED] },
  vote: { data: data('vote(uint256)', 1), gas: 90_000, topics: [[id('Voted(uint256)')]] },
  prove: { data: data('prove(bytes)', 20), gas: 900_000 },
  deposit: { type: 0x7e, gas: 50_000 },
  reverted: { data: data('vote(uint256)', 1), gas: 30_000, reverted: true },
};

/** Blocks of ten transactions each, by how many of each kind there are among ten. @param {Record<string, number>} parts @param {number} [blocks] @returns {Listed[][]} */
function blocksOf(parts, blocks = 20) {
  const one = Object.entries(parts).flatMap(([kind, count]) => Array.from({ length: count }, () => KINDS[kind]));
  return Array.from({ length: blocks }, () => one);
}

/** @param {string} url @param {string[]} [words] @param {object} [options] */
const learn = (url, words = [], options) => exited(0, ['learn', '--rpc', url, ...words], options);

/** @param {import('node:test').TestContext} t @param {Record<string, number>} parts @param {ListedOptions} [options] */
async function learned(t, parts, options) {
  const { url } = await serveBlocks(blocksOf(parts), options);
  const file = join(temporaryFolder(t), 'load.json');
  const { stdout, stderr } = await learn(url, ['--out', file]);
  const { $learned: facts, ...config } = readJson(file);
  /** @type {Record<string, number>} */
  const shares = Object.fromEntries(facts.members.map((/** @type {any} */ { name, share }) => [name, share]));
  return { url, file, stdout, stderr, facts, config, shares };
}

describe('stress learn', () => {
  it('tells kinds apart, and writes a mix of workloads with their shares', async (t) => {
    const parts = { payment: 3, token: 2, approval: 1, router: 1, creation: 1, mint: 1, vote: 1 };
    const { shares, config, facts, stdout } = await learned(t, parts);
    assert.deepEqual(shares, {
      transfer: 0.3,
      erc20: 0.2,
      approval_095ea7b3: 0.1,
      [`swap_${data('swapAll(uint256)').slice(2)}`]: 0.1,
      deploy: 0.1,
      erc721: 0.1,
      [`call_${data('vote(uint256)').slice(2)}`]: 0.1,
    });
    assert.deepEqual(config.set, ['deploy.bytes=1000']);
    assert.equal(config['chain-rate'], 5);
    assert.equal(facts.fittedShare.toFixed(6), '1.000000');
    assert.deepEqual(facts.notFitted, []);
    assert.match(stdout, /^ {2}approval approve\(\) +10 % +46,000 +4[56],\d{3} +68 +68 +approval_095ea7b3$/m);
    assert.match(stdout, /^ {2}verdict +100 % of the transactions are fitted by 7 workloads/m);
  });

  it('says what is not fitted, with its share and why', async (t) => {
    const { facts, stdout } = await learned(t, { payment: 6, deposit: 3, reverted: 1 });
    assert.deepEqual(facts.notFitted, [
      { words: 'type 0x7e', share: 0.3 },
      { words: 'reverted', share: 0.1 },
    ]);
    assert.match(stdout, /^ {2}not fitted: type 0x7e +30 % +-/m);
    assert.match(stdout, /^ {2}verdict +60 % of the transactions are fitted by 1 workload;/m);
    assert.match(stdout, /^ {2}type 0x7e +30 % +0 %$/m);
  });

  it('calls without events compute, with the gas and the bytes of the chain', async (t) => {
    const { config, facts } = await learned(t, { payment: 5, prove: 5 });
    const [name] = Object.keys(config.workloads);
    assert.equal(name, `compute_${data('prove(bytes)').slice(2)}`);
    const { deploy, calldata } = config.workloads[name];
    assert.equal(deploy, 'Work');
    assert.ok(calldata.startsWith(data('prove(bytes)')));
    assert.equal((calldata.length - 2) / 2, 4 + 20 * 32);
    const { mix } = facts.members.find((/** @type {any} */ one) => one.name === name);
    assert.ok(Math.abs(mix.gas - 900_000) < 200, `${mix.gas}`);
    assert.ok(facts.distance.gas.within5Percent < 0.001);
  });

  it('the chain has the rate, the fullness and the senders that its blocks state', async (t) => {
    const { facts } = await learned(t, { payment: 10 });
    const { transactionsPerSecond, gasPerSecond, fullness, sendersPerBlock, blockSeconds } = facts.chain;
    assert.deepEqual([transactionsPerSecond, gasPerSecond, sendersPerBlock, blockSeconds], [5, 105_000, 1, 2]);
    assert.equal(fullness.toFixed(6), '0.007000');
    assert.deepEqual(facts.unmeasured, {});
  });

  it('unknown is null with a reason: no timestamps, no base fee, no limits', async (t) => {
    const change = () => ({ timestamp: undefined, gasLimit: undefined });
    const { facts, config, stdout } = await learned(t, { payment: 10 }, { change, hasBaseFee: false });
    assert.deepEqual(
      [facts.chain.transactionsPerSecond, facts.chain.fullness, facts.chain.gasPerSecond],
      [null, null, null],
    );
    assert.equal(facts.unmeasured['/chain/transactionsPerSecond'], 'blocks have no timestamps');
    assert.equal(facts.unmeasured['/chain/fullness'], 'blocks have no gas limit');
    assert.match(stdout, /unknown: chain, transactionsPerSecond: blocks have no timestamps/);
    assert.match(stdout, /^ {2}transactions per second +- +-$/m);
    assert.ok(!('chain-rate' in config));
    assert.deepEqual(facts.mix.types, { '0x0': 1 });
  });

  it('reads single receipts where the node has none of whole blocks', async (t) => {
    const { shares } = await learned(t, { payment: 5, token: 5 }, { lacks: ['eth_getBlockReceipts'] });
    assert.deepEqual(shares, { erc20: 0.5, transfer: 0.5 });
  });

  it('legacy transactions are loaded as such where most are', async (t) => {
    const { url } = await serveBlocks([[{ type: 0 }, { type: 0 }, { type: 2 }]]);
    const file = join(temporaryFolder(t), 'load.json');
    await learn(url, ['--out', file]);
    assert.equal(readJson(file).legacy, true);
  });

  it('its file is a config file: --rate chain is its rate, and its mix that of the load', async (t) => {
    const { file } = await learned(t, { payment: 5, token: 5 });
    const { stdout } = await exited(0, ['--config', file, '--rate', 'chain', '--print-config']);
    const { mix, rate, 'chain-rate': chainRate } = JSON.parse(stdout);
    assert.deepEqual([mix, rate, chainRate], [['transfer:50', 'erc20:50'], 'chain', '5']);
  });

  it('is completed, with --blocks, and so is the rate of a chain', async () => {
    const { stdout: options } = await exited(0, ['completion', '--', 'learn', '--']);
    assert.ok(
      ['--blocks', '--last-blocks', '--out'].every((name) => options.split('\n').includes(name)),
      options,
    );
    assert.equal((await exited(0, ['completion', '--', '--rate', ''])).stdout, 'chain\n');
    assert.ok((await exited(0, ['completion', '--', ''])).stdout.split('\n').includes('learn'));
  });

  it('prints the config file to standard output, and the tables beside it', async () => {
    const { url } = await serveBlocks(blocksOf({ payment: 10 }));
    const { stdout, stderr } = await learn(url, ['--json', '--blocks', '5']);
    const { $learned: facts } = JSON.parse(stdout);
    assert.deepEqual(facts.blocks, { from: 16, to: 20, count: 5 });
    assert.match(stderr, /Learned: 5 blocks \(16 to 20\)/);
  });

  it('tells groups of one selector apart from twice the gas on, and not below', async (t) => {
    /** @param {number} gas */
    const vote = (gas) => ({ ...KINDS.vote, gas });
    /** @param {number} factor */
    const with2 = async (factor) => {
      const blocks = Array.from({ length: 10 }, () =>
        [60_000, 60_500, 61_000].flatMap((gas) => [vote(gas), vote(gas * factor)]),
      );
      const { url } = await serveBlocks(blocks);
      const file = join(temporaryFolder(t), 'load.json');
      await learn(url, ['--out', file]);
      return readJson(file).$learned.members.map((/** @type {any} */ { share }) => share);
    };
    assert.deepEqual(await with2(2.1), [0.5, 0.5]);
    assert.deepEqual(await with2(1.8), [1]);
  });
});

describe('stress learn on a chain', () => {
  it('without blocks at some heights', async (t) => {
    const blocks = blocksOf({ payment: 5, token: 5 });
    const { url } = await serveBlocks(blocks, { isGap: (number) => number % 3 === 1 });
    const file = join(temporaryFolder(t), 'load.json');
    await learn(url, ['--out', file]);
    const { $learned: facts } = readJson(file);
    assert.deepEqual(facts.blocks, { from: 2, to: 20, count: 13 });
    assert.equal(facts.transactions, 130);
  });
});

describe('stress learn refuses', () => {
  /** @param {string} name @param {() => ReturnType<typeof serveBlocks>} chain @param {number} exit @param {RegExp} says @param {string[]} [words] */
  const refuses = (name, chain, exit, says, words = []) =>
    void it(name, async () => {
      const { url } = await chain();
      const { stderr, stdout } = await exited(exit, ['learn', '--rpc', url, ...words]);
      assert.match(stderr, says);
      assert.equal(stderr.trim().replaceAll(/\n +/g, ' ').split('\n').length, 1, stderr);
      assert.equal(stdout, '');
    });
  const payments = blocksOf({ payment: 10 });

  refuses(
    'a node without receipts',
    () => serveBlocks(payments, { lacks: ['eth_getBlockReceipts', 'eth_getTransactionReceipt'] }),
    69,
    /stress: stress learn needs receipts of transactions: .* eth_getTransactionReceipt: the method .* does not exist/,
  );
  refuses(
    'blocks that the node has pruned',
    () => serveBlocks(payments, { keptFrom: 15 }),
    69,
    /has no block 1: give fewer --blocks, or the URL of a node that keeps more/,
  );
  refuses(
    'a chain whose blocks are all pruned',
    () => serveBlocks(blocksOf({ payment: 1 }, 3), { keptFrom: 15 }),
    69,
    /has no block 1: give fewer --blocks/,
  );
  refuses(
    'receipts that the node has pruned',
    () => serveBlocks(payments, { receiptsFrom: 15 }),
    69,
    /has no receipt of 0x\w{64} in block 1: give fewer --blocks/,
  );
  refuses('a chain without blocks', () => serveBlocks([]), 69, /has no blocks yet: there is nothing to learn/);
  refuses(
    'blocks without transactions',
    () => serveBlocks([[], [], []]),
    69,
    /the last 3 blocks \(to 3\) have no transactions: there is nothing to learn; give more --blocks/,
  );
  refuses(
    'transactions of which none can be fitted',
    () => serveBlocks(blocksOf({ deposit: 10 })),
    69,
    /no transaction can be fitted: type 0x7e \(100 %\)/,
  );
  refuses(
    'an answer that is no block',
    () => serveBlocks(payments, { change: () => ({ transactions: 'many' }) }),
    69,
    /eth_getBlockByNumber: transactions is many \(a string\); a list of transactions is expected/,
  );
  refuses('no blocks', () => serveBlocks(payments), 64, /--blocks must be at least 1, not "0"/, ['--blocks', '0']);
  refuses('a file of blocks', () => serveBlocks(payments), 64, /--blocks must be a whole number/, [
    '--blocks',
    'a.csv',
  ]);
  refuses('the number of blocks twice', () => serveBlocks(payments), 64, /--blocks and --last-blocks are one option/, [
    '--blocks',
    '5',
    '--last-blocks',
    '5',
  ]);
  refuses(
    'a place that cannot be written',
    () => serveBlocks(payments),
    73,
    /cannot write \S+: its folder does not exist/,
    ['--out', '/nowhere/load.json'],
  );

  it('no endpoint, two of them, and a dead one', async () => {
    assert.match((await exited(64, ['learn'])).stderr, /stress learn needs --rpc URL/);
    const two = ['--rpc', 'http://127.0.0.1:1', '--rpc', 'http://127.0.0.1:2'];
    assert.match((await exited(64, ['learn', ...two])).stderr, /stress learn takes one endpoint/);
    assert.match((await exited(69, ['learn', '--rpc', 'http://127.0.0.1:1'])).stderr, /127\.0\.0\.1:1.*refused/s);
  });

  it('a file of the user, which it does not replace', async (t) => {
    const { url } = await serveBlocks(payments);
    const folder = temporaryFolder(t);
    const file = join(folder, 'load.json');
    for (const content of ['{"threads": 5}', 'mine']) {
      writeFileSync(file, content);
      const { stderr } = await exited(73, ['learn', '--rpc', url, '--out', file]);
      assert.match(stderr, /is there already, and stress learn has not written it: give --out\s+another name/);
      assert.equal(readFileSync(file, 'utf8'), content);
    }
    mkdirSync(join(folder, 'sub'));
    assert.match((await exited(73, ['learn', '--rpc', url, '--out', join(folder, 'sub')])).stderr, /it is a folder/);
  });

  it('--rate chain without a rate, and a rate of a chain in gas', async (t) => {
    const { stderr } = await exited(64, ['-t', '2', '-d', '1s', '--rate', 'chain']);
    assert.match(stderr, /--rate chain needs the rate of a chain; give the file that stress learn has written/);
    const file = join(temporaryFolder(t), 'no-rate.json');
    const $learned = { unmeasured: { '/chain/transactionsPerSecond': 'blocks have no timestamps' } };
    writeFileSync(file, JSON.stringify({ threads: 2, $learned }));
    const why = await exited(64, ['--config', file, '-d', '1s', '--rate', 'chain']);
    assert.match(why.stderr, /a chain, which \S*no-rate\.json does not have: blocks have no timestamps; give/);
    const other = await exited(64, ['-t', '2', '-d', '1s', '--rate', 'chain', '--chain-rate', '30Mgas']);
    assert.match(other.stderr, /--chain-rate must be transactions per second, such as 12\.5, not "30Mgas"/);
  });
});

describe('an interrupted stress learn', () => {
  it('ends with what was read so far, and goes on from there', async (t) => {
    const blocks = blocksOf({ payment: 5, token: 5 }, 100);
    const file = join(temporaryFolder(t), 'load.json');
    let asked = 0;
    /** @type {(value?: unknown) => void} */
    let reached = () => {};
    const isThere = new Promise((resolve) => (reached = resolve));
    // The node answers no more when half of the blocks are read.
    const chain = await serveBlocks(blocks, {
      onBlock: async () => {
        asked += 1;
        if (asked < 60) return;
        reached();
        await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
      },
    });
    const stress = startStress(['learn', '--rpc', chain.url, '--blocks', '100', '--out', file]);
    await isThere;
    stress.child.kill('SIGINT');
    const { code, stdout } = await stress.done;
    assert.equal(code, 130);
    const [, read] = /Learned: interrupted, (\d+) of 100 blocks \(\d+ to 100\)/.exec(stdout) ?? [];
    assert.ok(Number(read) > 40 && Number(read) < 60, stdout);
    assert.equal(readJson(file).$learned.isInterrupted, true);
    const part = readJson(`${file}.part`);
    assert.ok(part.blocks.length >= Number(read));

    asked = -1000;
    const methods = chain.methods.length;
    const second = await learn(chain.url, ['--blocks', '100', '--out', file]);
    assert.match(
      second.stdout,
      new RegExp(`^${part.blocks.length} of 100 blocks kept, already in \\S+load\\.json\\.part`, 'm'),
    );
    assert.match(second.stdout, /Learned: 100 blocks \(1 to 100\), 1,000 transactions/);
    const read2 = chain.methods.slice(methods).filter((method) => method === 'eth_getBlockReceipts').length;
    assert.equal(read2, 100 - part.blocks.length, 'each block is read once');
    assert.ok(!existsSync(`${file}.part`));
    assert.equal(readJson(file).$learned.isInterrupted, false);
  });

  it('refuses blocks of another chain, replaced blocks, and a damaged file', async (t) => {
    const { url } = await serveBlocks(blocksOf({ payment: 10 }));
    const file = join(temporaryFolder(t), 'load.json');
    const block = { number: 20, hash: `0x${'1'.repeat(64)}`, timestampS: 1, gasUsed: 1, gasLimit: 1, senders: 1 };
    const part = { schema: 'evm-stress/learn-part@1', chainId: 1337, genesisHash: null, to: 20, blocks: [] };
    const whole = { ...block, hasBaseFee: true, transactions: [] };
    for (const [content, says] of /** @type {const} */ ([
      [{ ...part, chainId: 1 }, /load\.json\.part is of chain 1, and \S+ has chain 1337; remove it/],
      [{ ...part, genesisHash: `0x${'2'.repeat(64)}` }, /load\.json\.part is of another chain with the id 1337/],
      [
        { ...part, blocks: [whole] },
        /load\.json\.part has a block 20 that \S+ does not have, as after a reorg; remove it/,
      ],
      [
        { ...part, blocks: [{ ...whole, transactions: [['payment']] }] },
        /load\.json\.part has no blocks of stress learn/,
      ],
      [{ ...part, schema: 'x' }, /load\.json\.part has no blocks of stress learn; remove it/],
      ['{', /load\.json\.part is not valid JSON; remove it to read all blocks anew/],
    ])) {
      writeFileSync(`${file}.part`, typeof content === 'string' ? content : JSON.stringify(content));
      const { code, stderr } = await runStress(['learn', '--rpc', url, '--out', file]);
      assert.equal(code, 65, stderr);
      assert.match(stderr.replaceAll(/\n +/g, ' '), says);
    }
  });
});
