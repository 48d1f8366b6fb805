/** What every workload must do, against a real chain: anvil, which makes a block for each transaction. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readBlobFees } from '../../src/chain/blobs.js';
import { createFees } from '../../src/chain/fees.js';
import { Wallet, createSigner } from '../../src/chain/keys.js';
import { toHex, toNumber } from '../../src/chain/answers.js';
import { createRpc } from '../../src/chain/rpc.js';
import { createClock } from '../../src/clock.js';
import { RpcError, TransportError } from '../../src/errors.js';
import { transports } from '../../src/transport/index.js';
import { createWorkload } from '../../src/workloads/index.js';
import { WORKLOADS } from '../../src/workloads/table.js';
import { anvilFor } from '../helpers/anvil.js';
import { caught } from '../helpers/caught.js';
import { equalBy } from '../helpers/equal-by.js';
import { fakeRpc } from '../helpers/fake-rpc.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { Rpc } from '../../src/contracts/chain.d.ts'
 * @import { Preparation, TransactionWorkload as Workload } from '../../src/contracts/load.d.ts'
 * @import { Executed } from '../../src/contracts/workload.d.ts'
 * @import { TestContext } from 'node:test'
 * @import { Settings } from '../../src/workloads/table.js'
 */

const LIMIT = Object.freeze({ timeout: 300_000 });
/** anvil takes seconds for the first blobs. */
const ANSWER_MS = 60_000;
const PRICE_WEI = 10n ** 10n;
const BALANCE = toHex(10n ** 21n);

/** Of a run. */
const newTag = () => (0x11111111 + (nextIndex += 1)).toString(16);

/** Exactly that many executed. @param {number} n @returns {Executed} */
const one = (n) => ({ least: n, most: n, latest: n });

/** Those that say by an operation what it was done to want its nonce. */
const SENT = Object.freeze({ nonce: 0, hash: `0x${'ab'.repeat(32)}` });

/** An operation with less gas than this runs out of it in mid-execution, where there is any. */
const STARVED_GAS = 24_000n;
/** An authorization takes 25,000 gas more. */
const STARVED_WITH_CODE_GAS = 50_000n;

/** Their effects are told by how many operations a wallet has executed, and not by receipts. */
const COUNTED = Object.freeze(['counter', 'logs', 'compute']);

/** Each run deploys a contract of its own. */
const DEPLOYED = Object.freeze([
  'erc20',
  'erc721',
  'storage',
  'deploy',
  'compute',
  'swap',
  'contention',
  'logs',
  'set-code',
  'contract',
]);

/** What --workload contract calls here. */
const CALL = Object.freeze({
  deploy: fileURLToPath(new URL('../../contracts/artifacts/Token.json', import.meta.url)),
  function: 'transfer(address,uint256)',
  args: ['{{wallet.next}}', '{{number 1 3}}'],
  before: 'mint',
  beforeArgs: ['1000'],
});

const anvil = anvilFor('--accounts 1 --base-fee 1000000000');
/** Of the next wallet that no test has used. */
let nextIndex = 0;

/**
 * Wallets of their own for each test, with coins, and what a workload is prepared with.
 * @param {TestContext} t
 * @param {number} count
 */
async function setUp(t, count) {
  const url = new URL(anvil.url);
  const transport = transports.undici({ url, connections: 4, timeoutMs: ANSWER_MS });
  t.after(() => transport.close());
  const rpc = createRpc(transport, 'anvil');
  const wallets = Array.from({ length: count }, () => {
    nextIndex += 1;
    return new Wallet(nextIndex + 100, `0x${(nextIndex + 1000).toString(16).padStart(64, '0')}`);
  });
  for (const { address } of wallets) await anvil.rpc('anvil_setBalance', [address, BALANCE]);
  const fees = createFees({ baseFeeWei: null, tipWei: PRICE_WEI, legacy: true, maxFeeWei: null });
  fees.payForBlobs(await readBlobFees(rpc));
  const chainId = toNumber(await anvil.rpc('eth_chainId'));
  const { hash: genesisHash } = await anvil.rpc('eth_getBlockByNumber', ['0x0', false]);
  const { signal } = new AbortController();
  const sender = { rpc, clock: createClock(), signer: await createSigner(), fees, chainId, timeoutMs: 10_000, signal };
  /** @type {Array<[string, number, number]>} */
  const progress = [];
  const preparation = {
    wallets,
    sender,
    chain: { chainId, genesisHash },
    onProgress: (/** @type {[string, number, number]} */ ...step) => void progress.push(step),
  };
  return { rpc, wallets, sender, preparation, progress };
}

/**
 * Sends the wallet's next operation, as the load does, and waits until it is in a block.
 * @param {Awaited<ReturnType<typeof setUp>>} setting
 * @param {Workload} workload
 * @param {number} position
 */
async function send({ rpc, wallets, sender }, workload, position) {
  const wallet = wallets[position];
  const call = workload.next(position, wallet.nonce);
  const transaction = { chainId: sender.chainId, nonce: wallet.nonce, call, fee: sender.fees.current() };
  const { raw, hash } = wallet.sign(transaction, sender.signer);
  assert.equal(await rpc.call('eth_sendRawTransaction', [raw], 'submit'), hash);
  wallet.nonce += 1;
  return { ...(await included(hash)), sent: { nonce: wallet.nonce - 1, hash } };
}

/**
 * anvil makes a block for each transaction, but answers before it has.
 * @param {string} hash
 * @returns {Promise<{number: number, gasUsed: bigint, status: string}>}
 */
async function included(hash) {
  for (let tries = 0; tries < 1000; tries += 1) {
    const receipt = await anvil.rpc('eth_getTransactionReceipt', [hash]);
    if (receipt !== null) {
      const { blockNumber, gasUsed, status } = receipt;
      return { number: toNumber(blockNumber), gasUsed: BigInt(gasUsed), status };
    }
    await sleep(2);
  }
  return assert.fail(`${hash} is in no block`);
}

/** What a wallet has paid for, by its balance: every price here is the same. @param {Wallet} wallet */
async function gasPaid({ address }) {
  const balance = BigInt(await anvil.rpc('eth_getBalance', [address, 'latest']));
  return (BigInt(BALANCE) - balance) / PRICE_WEI;
}

/** @param {Workload} workload @param {string} hash @param {number} number @returns {Promise<bigint[]>} by wallet */
async function grownAt(workload, hash, number) {
  const readings = (await workload.audit?.(hash, number)) ?? [];
  return readings.map(({ start, now }) => now - start);
}

/** Of a workload that counts its operations on the chain; those of the others are nonces. @param {Workload} workload @param {bigint[]} expected by wallet */
async function assertGrown(workload, expected) {
  if (workload.audit === undefined) return;
  const { hash, number } = await anvil.rpc('eth_getBlockByNumber', ['latest', false]);
  assert.deepEqual(await grownAt(workload, hash, toNumber(number)), expected);
}

/** @param {string} name @param {any} options @returns {Promise<Workload>} */
const creating = async (name, options) => /** @type {Workload} */ (await createWorkload(name, options));

for (const name of Object.keys(WORKLOADS).filter((name) => WORKLOADS[name].isCall !== true)) {
  /** Of blobs, whose proofs take half a minute: made once for all tests. @type {any} */
  let proved;

  /** Logs are few and short: anvil takes long for the usual ones. @param {any} options */
  const create = ({ settings, ...options }) => {
    const own = { contract: CALL, blobs: { set: [['sidecars', '1']] } }[name];
    return creating(name, {
      ...(proved && { state: { ...proved, kit: { ...proved.kit, tag: newTag() } } }),
      ...options,
      settings: { pageSize: 3, logBytes: 64, ...own, ...settings },
    });
  };

  /** @param {TestContext} t @param {number} count of wallets @param {object} [settings] */
  async function prepared(t, count, settings = {}) {
    const setting = await setUp(t, count);
    const workload = await create({ rpc: setting.rpc, settings });
    await workload.prepare(setting.preparation);
    if (name === 'blobs') proved = structuredClone(workload.handOver(0, count));
    return { setting, workload };
  }

  describe(`workload ${name}`, LIMIT, () => {
    it('prepares each wallet, reports how far it is, and leaves the nonces right', async (t) => {
      const { setting, workload } = await prepared(t, 7);
      for (const { address, nonce } of setting.wallets) {
        assert.equal(toNumber(await anvil.rpc('eth_getTransactionCount', [address, 'latest'])), nonce);
      }
      for (const [label, done, all] of setting.progress) {
        assert.match(label, /^\w/);
        assert.ok(done >= 0 && done <= all && all <= 7, `${done} of ${all}`);
      }
      for (const [position] of setting.wallets.entries()) {
        const call = workload.next(position, setting.wallets[position].nonce);
        assert.match(String(call.to), name === 'deploy' ? /^null$/ : /^0x[0-9a-fA-F]{40}$/);
        assert.match(call.data, /^0x([0-9a-f]{2})*$/);
        assert.ok(call.value >= 0n && call.gasLimit >= 21_000n);
      }
      assert.equal(workload.audit !== undefined, COUNTED.includes(name));
      await assertGrown(workload, new Array(7).fill(0n));
    });

    it('an operation is verified as of its block, one after the other', async (t) => {
      const { setting, workload } = await prepared(t, 2);
      for (let ordinal = 1; ordinal <= 3; ordinal += 1) {
        for (const position of [0, 1]) {
          const inclusion = await send(setting, workload, position);
          assert.equal(inclusion.status, '0x1');
          for (const attempt of [0, 1]) {
            const verdict = await workload.verify(position, one(ordinal), inclusion, attempt, inclusion.sent);
            assert.equal(verdict.state, 'ok');
            assert.equal(typeof verdict.target, 'string');
          }
        }
      }
      assert.deepEqual(Object.keys(setting.rpc.callCounts()), ['setup', 'submit', 'readback']);
    });

    if (COUNTED.includes(name)) {
      it('an operation that is not in its block is missing, by the latest state behind; one too many is wrong', async (t) => {
        const { setting, workload } = await prepared(t, 2);
        const first = await send(setting, workload, 0);
        assert.equal((await workload.verify(0, one(2), first, 0, SENT)).state, 'missing');
        assert.equal((await workload.verify(0, one(2), first, 1, SENT)).state, 'behind');
        assert.equal((await workload.verify(1, one(1), first, 0, SENT)).state, 'missing'); // nothing was done with this wallet

        const second = await send(setting, workload, 0);
        assert.equal((await workload.verify(0, one(1), second, 0, SENT)).state, 'wrong');
        assert.equal((await workload.verify(0, one(1), second, 1, SENT)).state, 'wrong');
        assert.equal((await workload.verify(0, one(2), second, 0, SENT)).state, 'ok');
        // As of the block of the first one there was one, whatever came later.
        assert.equal((await workload.verify(0, one(1), first, 0, SENT)).state, 'ok');
      });

      it('while it is not known how many there must be, all that there may be are right, as of the block and of a later one', async (t) => {
        const { setting, workload } = await prepared(t, 2);
        await send(setting, workload, 0);
        const second = await send(setting, workload, 0);
        await send(setting, workload, 0);
        /** @param {number} least @param {number} most @param {number} latest @param {number} attempt */
        const state = async (least, most, latest, attempt) =>
          (await workload.verify(0, { least, most, latest }, second, attempt, SENT)).state;
        // Two as of the block, three as of the latest one.
        assert.equal(await state(2, 3, 3, 0), 'likely', 'and whose they are cannot be seen');
        assert.equal(await state(1, 2, 3, 0), 'ok');
        assert.equal(await state(0, 1, 3, 0), 'wrong', 'what may come later has no part in the block');
        assert.equal(await state(3, 4, 4, 0), 'missing');
        assert.equal(await state(2, 2, 3, 1), 'ok');
        assert.equal(await state(2, 2, 4, 1), 'likely');
        assert.equal(await state(2, 2, 2, 1), 'wrong');
        assert.equal(await state(4, 4, 5, 1), 'behind');
      });

      it('the audit reads all wallets at the block that it is told', async (t) => {
        const { setting, workload } = await prepared(t, 3);
        for (const position of [0, 1, 1]) await send(setting, workload, position);
        const { hash, number } = await anvil.rpc('eth_getBlockByNumber', ['latest', false]);
        await send(setting, workload, 2);
        await send(setting, workload, 0);
        assert.deepEqual(await grownAt(workload, hash, toNumber(number)), [1n, 2n, 0n]);
        await assertGrown(workload, [2n, 2n, 1n]);
        assert.equal(setting.rpc.callCounts().audit, 2 * 3);
      });

      it('the audit does not go by number where the block has left the chain', async (t) => {
        const { workload } = await prepared(t, 2);
        const number = toNumber(await anvil.rpc('eth_blockNumber'));
        await assert.rejects(grownAt(workload, `0x${'ab'.repeat(32)}`, number), RpcError);
      });
    }

    it('a block that the node does not have yet is behind, and no error', async (t) => {
      const { setting, workload } = await prepared(t, 2);
      const { number, sent } = await send(setting, workload, 0);
      assert.equal((await workload.verify(0, one(1), { number: number + 1000 }, 0, sent)).state, 'behind');
      // The latest state says enough where the count is the wallet's own.
      const later = (await workload.verify(0, one(1), { number: number + 1000 }, 1, sent)).state;
      assert.equal(later, COUNTED.includes(name) ? 'ok' : 'behind');
      assert.equal((await workload.verify(0, one(1), { number }, 2, sent)).state, 'ok');
    });

    it('a reverted operation has no effect', async (t) => {
      const { setting, workload } = await prepared(t, 2);
      const call = workload.next(0, setting.wallets[0].nonce);
      // A contract runs out of gas, and so does a payment to an address that has code now.
      const isPayment = call.gasLimit < STARVED_GAS;
      if (isPayment) await anvil.rpc('anvil_setCode', [call.to, '0x60006000fd']);
      const leastGas = call.authorizationList === undefined ? STARVED_GAS : STARVED_WITH_CODE_GAS;
      const starvedGas = call.to === null ? call.gasLimit / 2n : leastGas;
      const starved = { ...workload, next: () => ({ ...call, gasLimit: isPayment ? call.gasLimit : starvedGas }) };
      const inclusion = await send(setting, starved, 0);
      assert.equal(inclusion.status, '0x0');
      assert.equal((await workload.verify(0, one(1), inclusion, 0, inclusion.sent)).state, 'missing');
      assert.match((await workload.verify(0, one(1), inclusion, 1, inclusion.sent)).state, /^(missing|behind)$/);
      await assertGrown(workload, [0n, 0n]);
    });

    it('an endpoint that is gone is an error, not a verdict', async (t) => {
      const setting = await setUp(t, 2);
      const down = Object.create(setting.rpc);
      const workload = await create({ rpc: down, settings: {} });
      await workload.prepare(setting.preparation);
      const gone = async () => assert.fail(new TransportError('connection refused', 'refused'));
      Object.assign(down, { call: gone, gather: gone, batch: gone });
      assert.ok((await caught(() => workload.verify(0, one(1), { number: 1 }, 0, SENT))) instanceof TransportError);
      if (COUNTED.includes(name))
        assert.ok((await caught(() => grownAt(workload, `0x${'0'.repeat(64)}`, 1))) instanceof TransportError);
    });

    it('a second run starts from where the first one ended', async (t) => {
      const contractsFile = join(temporaryFolder(t), 'contracts.json');
      const setting = await setUp(t, 3);
      const first = await create({ rpc: setting.rpc, settings: { contracts: contractsFile } });
      await first.prepare(setting.preparation);
      for (const position of [0, 0, 2]) await send(setting, first, position);
      const nonces = setting.wallets.map(({ nonce }) => nonce);

      const second = await create({ rpc: setting.rpc, settings: { contracts: contractsFile } });
      await second.prepare(setting.preparation);
      if (!DEPLOYED.includes(name))
        equalBy(setting.wallets, ({ nonce }) => nonce, nonces, 'it prepared what was prepared already');
      const inclusion = await send(setting, second, 0);
      assert.equal((await second.verify(0, one(1), inclusion, 0, inclusion.sent)).state, 'ok');
      await assertGrown(second, [1n, 0n, 0n]);
    });

    it('its gas figures are upper bounds of what is really used, and offered', async (t) => {
      const setting = await setUp(t, 3);
      const { wallets } = setting;
      const workload = await create({ rpc: setting.rpc, settings: {} });
      const { perWallet, perOperation } = workload.gas;
      await workload.prepare(setting.preparation);
      for (const wallet of wallets) {
        const paid = await gasPaid(wallet);
        assert.ok(paid <= perWallet, `to prepare a wallet took ${paid} gas, more than ${perWallet}`);
        for (let nonce = 0; nonce < wallet.nonce; nonce += 1) {
          const { gas } = await transactionOf(wallet, nonce);
          // A node wants the whole limit covered, not only what is used.
          assert.ok(BigInt(gas) <= perWallet, `${BigInt(gas)} gas were offered`);
        }
      }
      for (const [position] of wallets.entries()) {
        const { gasLimit } = workload.next(position, 0);
        assert.ok(gasLimit <= perOperation, `an operation offers ${gasLimit} gas, more than ${perOperation}`);
        for (let i = 0; i < 3; i += 1) {
          const { gasUsed, status } = await send(setting, workload, position);
          assert.equal(status, '0x1');
          assert.ok(gasUsed <= gasLimit);
        }
      }
    });

    it('another thread that is handed a part of the wallets does the same with them', async (t) => {
      const { setting, workload } = await prepared(t, 3);
      const state = structuredClone(workload.handOver(1, 2));
      const addresses = setting.wallets.slice(1).map(({ address }) => address);
      const other = await create({ rpc: setting.rpc, settings: {}, state, addresses });
      for (const position of [0, 1])
        for (const nonce of [0, 1, 300])
          assert.deepEqual(other.next(position, nonce), workload.next(position + 1, nonce));
      const inclusion = await send({ ...setting, wallets: setting.wallets.slice(1) }, other, 1);
      assert.equal((await other.verify(1, one(1), inclusion, 0, inclusion.sent)).state, 'ok');
      await assertGrown(workload, [0n, 0n, 1n]);
    });

    if (name === 'counter' || name === 'transfer')
      it('with --payload each operation has calldata of that size, other bytes in each, and gas that suffices', async (t) => {
        const { setting, workload } = await prepared(t, 2, { payload: 1024 });
        const seen = new Set();
        for (const position of [0, 1, 0, 1]) {
          const { data, gasLimit } = workload.next(position, setting.wallets[position].nonce);
          assert.equal(data.length, 2 + 2 * 1024);
          seen.add(data);
          assert.ok(gasLimit <= workload.gas.perOperation);
          const { status, gasUsed } = await send(setting, workload, position);
          assert.equal(status, '0x1');
          assert.ok(gasUsed <= workload.gas.likely.perOperation || position === 0, String(gasUsed));
        }
        assert.equal(seen.size, 4);
        await assertGrown(workload, [2n, 2n]);
        const state = structuredClone(workload.handOver(1, 1));
        const again = await create({ rpc: setting.rpc, settings: { payload: 1024 }, state });
        assert.deepEqual(again.next(0, 5), workload.next(1, 5));
      });
  });
}

/**
 * Whether each check of the workload holds at the newest block.
 * @param {Awaited<ReturnType<typeof creating>>} workload
 * @param {{startBlock: number, startNonces: number[], executed: number[]}} run
 */
async function checksOf(workload, { startBlock, startNonces, executed }) {
  const { hash, number } = await anvil.rpc('eth_getBlockByNumber', ['latest', false]);
  const none = executed.map(() => 0);
  const all = await workload.reconcile?.({
    ...{ blockHash: hash, blockNumber: toNumber(number), startBlock, startNonces, areOurs: true },
    ...{ executed, reverted: none, undecided: none, signal: new AbortController().signal },
    nonces: executed.map((count, i) => startNonces[i] + count),
  });
  return Object.fromEntries((all ?? []).map(({ name, holds }) => [name, holds]));
}

describe('workload transfer: receivers', LIMIT, () => {
  const COUNT = 450;

  /** Two wallets have made two payments and one. @param {TestContext} t @param {Settings} settings */
  async function paid(t, settings) {
    const setting = await setUp(t, 2);
    const workload = await creating('transfer', { rpc: setting.rpc, settings: { threads: 2, ...settings } });
    await workload.prepare(setting.preparation);
    const startNonces = setting.wallets.map(({ nonce }) => nonce);
    const startBlock = toNumber(await anvil.rpc('eth_blockNumber'));
    const targets = [];
    for (const position of [0, 1, 0]) {
      targets.push(workload.next(position, setting.wallets[position].nonce).to);
      assert.equal((await send(setting, workload, position)).status, '0x1');
    }
    const checks = () => checksOf(workload, { startBlock, startNonces, executed: [2, 1] });
    return { ...setting, workload, targets, checks, startNonces };
  }

  for (const createReceivers of /** @type {const} */ (['before', 'during']))
    it(`created ${createReceivers} the load: each wallet and each receiver has what follows from the receipts, and a stranger's wei is found`, async (t) => {
      const { wallets, workload, targets, checks, startNonces, progress } = await paid(t, {
        receivers: COUNT,
        createReceivers,
      });
      assert.deepEqual(await checks(), { receipts: true, wallets: true, receivers: true });
      const isBefore = createReceivers === 'before';
      assert.deepEqual(startNonces, isBefore ? [2, 1] : [0, 0], 'hundreds in one transaction, from both wallets');
      assert.equal(
        await workload.unprepared({ wallets, chain: { chainId: 31337, genesisHash: null } }),
        isBefore ? 2 : 0,
      );
      if (isBefore) assert.deepEqual(progress.at(-1), ['creating receivers', COUNT, COUNT]);
      const { seed, valueWei, ...facts } = /** @type {any} */ (workload).facts();
      assert.deepEqual(facts, {
        receivers: COUNT,
        created: isBefore ? 'before the load' : 'by the load',
        payloadBytes: 0,
      });
      assert.ok(Number.isSafeInteger(seed) && BigInt(valueWei) > 0n);

      const balance = BigInt(await anvil.rpc('eth_getBalance', [targets[0], 'latest']));
      assert.ok(balance >= BigInt(valueWei));
      await anvil.rpc('anvil_setBalance', [targets[0], toHex(balance + 1n)]);
      await anvil.rpc('evm_mine');
      assert.deepEqual(await checks(), { receipts: true, wallets: true, receivers: false });
    });

  it('the wallets themselves: each has what it had and got, less what it sent and its fees', async (t) => {
    const { wallets, targets, checks, workload } = await paid(t, { receivers: null });
    const others = [1, 0, 1].map((i) => wallets[i].address);
    assert.deepEqual(targets, others);
    assert.equal(workload.next(0, 9).gasLimit, 21_000n);
    assert.deepEqual(await checks(), { receipts: true, wallets: true });
    assert.equal(/** @type {any} */ (workload).facts().receivers, 'the wallets of the slice');
    const [{ address }] = wallets;
    const balance = BigInt(await anvil.rpc('eth_getBalance', [address, 'latest']));
    await anvil.rpc('anvil_setBalance', [address, toHex(balance - 1n)]);
    await anvil.rpc('evm_mine');
    assert.deepEqual(await checks(), { receipts: true, wallets: false });
  });

  it('a wallet with code is refused before the load, and a single wallet has no receiver', async (t) => {
    const { rpc, preparation, wallets } = await setUp(t, 2);
    await anvil.rpc('anvil_setCode', [wallets[1].address, '0x00']);
    const workload = /** @type {Workload} */ (await creating('transfer', { rpc, settings: {} }));
    await assert.rejects(async () => workload.check?.(wallets), {
      code: 'unavailable',
      message: new RegExp(
        `^wallet ${wallets[1].index} \\(${wallets[1].address}\\) has code on this chain.*--receivers\\)$`,
      ),
    });
    const alone = { ...preparation, wallets: wallets.slice(0, 1) };
    await assert.rejects(workload.prepare(alone), { code: 'usage', message: /use at least two \(-t 2\)/ });
  });

  it('two runs with the same wallets never send the same transaction', async (t) => {
    const { rpc, preparation } = await setUp(t, 2);
    const calls = [];
    for (let i = 0; i < 2; i += 1) {
      const workload = await creating('transfer', { rpc, settings: { receivers: 1_000_000 } });
      await workload.prepare(preparation);
      calls.push(workload.next(0, 0).to);
    }
    assert.notEqual(calls[0], calls[1]);
  });
});

describe('workload erc20: the audit', LIMIT, () => {
  it('receivers: balances and the total supply agree, and a token minted by a stranger is found', async (t) => {
    const { rpc, preparation, wallets, ...setting } = await setUp(t, 3);
    const workload = await creating('erc20', { rpc, settings: { receivers: 450 } });
    await workload.prepare(preparation);
    const startNonces = wallets.map(({ nonce }) => nonce);
    const startBlock = toNumber(await anvil.rpc('eth_blockNumber'));
    for (const position of [0, 1, 0])
      assert.equal((await send({ ...setting, rpc, preparation, wallets }, workload, position)).status, '0x1');
    const checks = () => checksOf(workload, { startBlock, startNonces, executed: [2, 1, 0] });
    const holding = { receipts: true, wallets: true, receivers: true, supply: true };
    assert.deepEqual(await checks(), holding);

    // Another wallet mints, and pays a unit to a receiver.
    const { to, data } = workload.next(0, startNonces[0]);
    const [, { address: from }] = (await setUp(t, 2)).wallets;
    await anvil.rpc('anvil_impersonateAccount', [from]);
    for (const call of [`0xa0712d68${'1'.padStart(64, '0')}`, `${data.slice(0, 74)}${'1'.padStart(64, '0')}`])
      await included(await anvil.rpc('eth_sendTransaction', [{ from, to, data: call }]));
    assert.deepEqual(await checks(), { ...holding, receivers: false, supply: false });
  });
});

describe('workload erc20: a token that is on the chain already', LIMIT, () => {
  /** Wallets that have units of a token of another run. @param {TestContext} t @param {Settings} [settings] */
  async function withToken(t, settings = {}) {
    const setting = await setUp(t, 3);
    const owner = await creating('erc20', { rpc: setting.rpc, settings: {} });
    await owner.prepare(setting.preparation);
    const address = String(owner.next(0, 0).to);
    const workload = await creating('erc20', {
      rpc: setting.rpc,
      settings: { set: [['address', address]], ...settings },
    });
    return { ...setting, workload, address };
  }

  for (const receivers of [null, 450])
    it(`nothing is sent before the load, gas suffices, and balances agree, with ${receivers ?? 'no'} receivers`, async (t) => {
      const { workload, ...setting } = await withToken(t, { receivers });
      const { wallets, preparation } = setting;
      const startNonces = wallets.map(({ nonce }) => nonce);
      await workload.measure?.(wallets);
      const { perWallet, perOperation } = workload.gas;
      assert.ok(perWallet === 0n && perOperation > 45_000n && perOperation < 120_000n, String(perOperation));
      assert.equal(await workload.unprepared(/** @type {any} */ (preparation)), 0);
      await workload.prepare(preparation);
      equalBy(wallets, ({ nonce }) => nonce, startNonces);
      const startBlock = toNumber(await anvil.rpc('eth_blockNumber'));
      for (const position of [0, 1, 0]) {
        const { gasUsed, status } = await send(setting, workload, position);
        assert.ok(status === '0x1' && gasUsed <= perOperation);
      }
      const checks = await checksOf(workload, { startBlock, startNonces, executed: [2, 1, 0] });
      assert.deepEqual(checks, { receipts: true, wallets: true, ...(receivers && { receivers: true }) });
    });

  it('wallets without its units, and what is no token, are refused before anything is paid', async (t) => {
    const { address, workload, wallets } = await withToken(t);
    const [, poor] = (await setUp(t, 2)).wallets;
    assert.match(
      (await caught(async () => workload.measure?.([wallets[0], poor]))).message,
      new RegExp(
        `^1 of 2 wallets cannot pay [\\d,]+ units? of .*: wallet ${poor.index} \\(${poor.address}\\) has 0; pay the`,
      ),
    );
    const { rpc } = await setUp(t, 1);
    for (const [of, words] of /** @type {Array<[string, RegExp]>} */ ([
      [poor.address, /^the token of --set address 0x\w+ has no code on this chain/],
      [`0x${'0'.repeat(39)}4`, /has no code on this chain/],
    ])) {
      const other = await creating('erc20', { rpc, settings: { set: [['address', of]] } });
      assert.match((await caught(async () => other.measure?.(wallets))).message, words);
    }
    await anvil.rpc('anvil_setCode', [address, '0x60006000fd']);
    assert.match(
      (await caught(async () => workload.measure?.(wallets))).message,
      /has no balanceOf .*: it is no token$/,
    );
    const wrong = `0x5FbDB2315678afecb367f032d93F642f64180aA3`;
    await assert.rejects(creating('erc20', { rpc, settings: { set: [['address', wrong]] } }), { code: 'usage' });
  });
});

/** @param {Wallet} wallet @param {number} nonce @returns {Promise<any>} its transaction, from the block that holds it */
async function transactionOf({ address }, nonce) {
  for (let number = toNumber(await anvil.rpc('eth_blockNumber')); number > 0; number -= 1) {
    const { transactions } = await anvil.rpc('eth_getBlockByNumber', [toHex(number), true]);
    const found = transactions.find(
      (/** @type {any} */ tx) => tx.from.toLowerCase() === address.toLowerCase() && toNumber(tx.nonce) === nonce,
    );
    if (found !== undefined) return found;
  }
  assert.fail(`no transaction ${nonce} of ${address}`);
}

describe('workload counter: --contracts', LIMIT, () => {
  /** @param {TestContext} t @param {number} count */
  async function prepared(t, count) {
    const contractsFile = join(temporaryFolder(t), 'contracts.json');
    const setting = await setUp(t, count);
    const workload = await creating('counter', { rpc: setting.rpc, settings: { contracts: contractsFile } });
    await workload.prepare(setting.preparation);
    return { ...setting, contractsFile, targets: setting.wallets.map((_, i) => workload.next(i, 0).to) };
  }

  /** @param {Awaited<ReturnType<typeof prepared>>} setting @param {Partial<Preparation>} [given] */
  async function again({ rpc, contractsFile, preparation }, given = {}) {
    const workload = await creating('counter', { rpc, settings: { contracts: contractsFile } });
    await workload.prepare({ ...preparation, ...given });
    return workload;
  }

  it('names the owner of each contract, and the chain', async (t) => {
    const { contractsFile, wallets, targets, preparation } = await prepared(t, 2);
    const { schema, chainId, genesisHash, contracts } = JSON.parse(readFileSync(contractsFile, 'utf8'));
    assert.equal(schema, 'evm-stress/contracts@1');
    assert.deepEqual({ chainId, genesisHash }, preparation.chain);
    assert.deepEqual(contracts, Object.fromEntries(wallets.map(({ address }, i) => [address, targets[i]])));
  });

  it('deploys only what is missing, and keeps what other wallets have', async (t) => {
    const setting = await prepared(t, 3);
    const file = JSON.parse(readFileSync(setting.contractsFile, 'utf8'));
    delete file.contracts[setting.wallets[1].address];
    writeFileSync(setting.contractsFile, JSON.stringify(file));
    const nonces = setting.wallets.map(({ nonce }) => nonce);
    const workload = await again(setting, { wallets: setting.wallets.slice(0, 2) });
    equalBy(setting.wallets, ({ nonce }, i) => nonce - nonces[i], [0, 1, 0]);
    assert.equal(workload.next(0, 0).to, setting.targets[0]);
    assert.notEqual(workload.next(1, 0).to, setting.targets[1]);
    const { contracts } = JSON.parse(readFileSync(setting.contractsFile, 'utf8'));
    assert.equal(contracts[setting.wallets[2].address], setting.targets[2]);
  });

  it('does not take what has no code, or another owner, for a counter of its own', async (t) => {
    const setting = await prepared(t, 3);
    const file = JSON.parse(readFileSync(setting.contractsFile, 'utf8'));
    const [a, b, c] = setting.wallets.map(({ address }) => address);
    file.contracts[a] = setting.targets[1];
    file.contracts[b] = b;
    writeFileSync(setting.contractsFile, JSON.stringify(file));
    // A function without a fallback reverts.
    await anvil.rpc('anvil_setCode', [setting.targets[2], '0x60006000fd']);
    const workload = await again(setting);
    const { contracts } = JSON.parse(readFileSync(setting.contractsFile, 'utf8'));
    [a, b, c].forEach((address, i) => {
      assert.ok(!setting.targets.includes(workload.next(i, 0).to));
      assert.equal(contracts[address], workload.next(i, 0).to);
    });
  });

  it('starts anew on another chain', async (t) => {
    const setting = await prepared(t, 1);
    const chain = { ...setting.preparation.chain, genesisHash: `0x${'99'.repeat(32)}` };
    const workload = await again(setting, { chain });
    assert.notEqual(workload.next(0, 0).to, setting.targets[0]);
    assert.equal(JSON.parse(readFileSync(setting.contractsFile, 'utf8')).genesisHash, chain.genesisHash);
  });

  /** @type {Array<[string, string]>} */
  const bad = [
    ['no JSON', '{'],
    ['a file of something else', '{"a": 1}'],
    ['a run file', '{"schema": "evm-stress/run@1"}'],
    ['null', 'null'],
    ['an entry that is no address', '{"schema": "evm-stress/contracts@1", "contracts": {"0x1": "0x2"}}'],
  ];
  for (const [kind, text] of bad) {
    it(`refuses ${kind}, before anything is sent, and leaves it alone`, async (t) => {
      const contractsFile = join(temporaryFolder(t), 'contracts.json');
      writeFileSync(contractsFile, text);
      const setting = await setUp(t, 1);
      const workload = await creating('counter', { rpc: setting.rpc, settings: { contracts: contractsFile } });
      await assert.rejects(async () => workload.prepare(setting.preparation), { name: 'InputError' });
      assert.equal(setting.wallets[0].nonce, 0);
      assert.equal(readFileSync(contractsFile, 'utf8'), text);
    });
  }

  it('an answer that is no count is no count of ours', async (t) => {
    const setting = await prepared(t, 1);
    const workload = await again(setting);
    const verify = (/** @type {unknown} */ answer) => {
      const rpc = fakeRpc({ eth_call: () => answer });
      setting.rpc.gather = rpc.gather;
      return workload.verify(0, one(1), { number: 1 }, 0, SENT);
    };
    assert.equal((await verify('0x')).state, 'missing'); // no code there: a block from before the deployment
    assert.equal((await verify(`0x${'0'.repeat(63)}1`)).state, 'ok');
    assert.equal((await verify(`0x${'f'.repeat(64)}`)).state, 'wrong');
    await assert.rejects(async () => verify('hello'), {
      message: /the answer is hello \(a string\); a quantity such as/,
    });
  });
});
