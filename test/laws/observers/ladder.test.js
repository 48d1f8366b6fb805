import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toHex } from '../../../src/chain/answers.js';
import { Observers, RunObservers } from '../../../src/observers/index.js';
import { Ladder, RunLadder, chooseLevels } from '../../../src/observers/ladder.js';
import { RpcError, TransportError } from '../../../src/errors.js';
import { Distribution } from '../../../src/stats/histogram.js';
import { asJson, merge } from '../../../src/stats/merge.js';
import { RUN } from '../../../src/stats/metrics.js';
import { noReorgs } from '../../../src/stats/reorgs.js';
import { parseThreshold } from '../../../src/stats/thresholds.js';
import { recordedControl } from '../../helpers/control.js';
import { createFakeClock } from '../../helpers/clock.js';
import { equalBy } from '../../helpers/equal-by.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { hash32, runFileOf, sampleOf } from '../../helpers/samples.js';
import { simulate } from '../core/simulation.js';

/**
 * @import { EngineReport, TransactionStatus } from '../../../src/contracts/load.d.ts'
 * @import { Sample } from '../../../src/contracts/load.d.ts'
 * @import { Rung } from '../../../src/contracts/run-file.d.ts'
 * @import { LevelFigures } from '../../../src/observers/ladder.js'
 */

const BLOCK_MS = 300;
/** How late the pending block lists a transaction. */
const LISTED_MS = 90;
/** How long it lists a transaction that never gets into a block. */
const FORGOTTEN_MS = 1000;
/** The pending block is read ten times a block: every 60 ms, as the simulated detector says 600 ms. */
const SEEN_MS = 120;

/**
 * A simulated chain with pending, safe and finalized blocks: safe is one block behind, finalized three.
 * @param {{wallets: number, isLost: (n: number) => boolean, rungs: Rung[], txTimeoutMs?: number}} options isLost: whether the
 *   n-th transaction is promised and never gets into a block
 */
function chainWithRungs({ wallets, isLost, rungs, txTimeoutMs = 60_000 }) {
  /** When each transaction was sent. @type {Map<string, number>} */
  const sentAtUs = new Map();
  /** @type {Set<string>} */
  const lost = new Set();
  const run = simulate({
    wallets,
    inFlight: 1,
    // A wallet whose transaction is lost does nothing else.
    txTimeoutMs,
    observers: { ladder: { levels: rungs } },
  });
  const { handlers, clock, mined } = run;
  const { eth_sendRawTransaction: arrive, eth_getBlockByNumber: blockOf } = handlers;
  handlers.eth_sendRawTransaction = (raw) => {
    const { hash } = JSON.parse(raw);
    if (!sentAtUs.has(hash) && isLost(sentAtUs.size)) lost.add(hash);
    if (!sentAtUs.has(hash)) sentAtUs.set(hash, clock.nowUs());
    return lost.has(hash) ? hash : arrive(raw);
  };
  const newest = () => Number(handlers.eth_blockNumber());
  handlers.eth_getBlockByNumber = (tag) => {
    if (tag === 'safe') return blockOf(toHex(newest() - 1));
    if (tag === 'finalized') return blockOf(toHex(Math.max(newest() - 3, 100)));
    if (tag !== 'pending') return blockOf(tag);
    const isListed = (/** @type {[string, number]} */ [hash, atUs]) =>
      !mined.has(hash) && clock.nowUs() - atUs >= LISTED_MS * 1000 && clock.nowUs() - atUs < FORGOTTEN_MS * 1000;
    return { number: toHex(newest() + 1), transactions: [...sentAtUs].filter(isListed).map(([hash]) => hash) };
  };
  return {
    ...run,
    lost,
    sentAtUs,
    /** @param {number} count */
    mineBlocks: async (count) => {
      for (let i = 0; i < count; i += 1) {
        await run.advance(BLOCK_MS);
        run.see(run.mine());
        await run.settle();
      }
    },
    /** Ends the run. @param {Parameters<typeof run.end>[0]} [how] */
    finish: async (how) => {
      const side = new RunLadder({ levels: rungs, lacks: {}, asked: [] });
      /** @type {any} */
      let facts;
      const audit = await run.end({
        ...how,
        drained: async (ledger) => {
          facts = (await statsOf(run)).facts.ladder;
          side.drained(facts);
          ledger.onStatus = (operation, status) => side.status(operation, status);
        },
      });
      return { audit, ladder: facts.levels, found: await brokenOf(side, run.rpc) };
    },
  };
}

/** @param {RunLadder} side @param {any} rpc @returns {Promise<any>} of the run file */
async function brokenOf(side, rpc) {
  const load = { gas: { operations: 0, used: 0 }, intervals: [], reorgs: noReorgs() };
  await side.finish({ rpc, audit: null, noAudit: null, isAborted: false, ...load });
  return side.describe(undefined).members.ladder;
}

/** All figures. @param {ReturnType<typeof simulate>} run */
async function statsOf({ engine, clock }) {
  const { interval, rest } = await engine.snapshot(clock.nowUs(), true);
  return /** @type {EngineReport} */ (interval).stats.add(rest ?? assert.fail('it has figures'));
}

/** Least and largest latency of a rung in milliseconds, and how many operations reached it and did not. @param {LevelFigures} figures */
function timesOf({ latency, censored }) {
  return [latency.minUs / 1000, latency.maxUs / 1000, latency.count, censored.count];
}

const NONE = { lost: 0, replaced: 0, reorged: 0, unknown: 0 };

describe('the finality levels', () => {
  it('pending blocks that break 2 % of their promises: the broken ones are counted, and each rung is as late as it was', async () => {
    const rungs = /** @type {Rung[]} */ (['accepted', 'pending', 'latest', 'safe', 'finalized']);
    const run = chainWithRungs({ wallets: 100, isLost: (n) => n % 50 === 7, rungs });
    run.start();
    await run.settle();
    await run.mineBlocks(40);
    const { audit, ladder, found } = await run.finish({ mines: false });
    const { length: all } = run.samples;
    const isIn = run.samples.filter(({ outcome }) => outcome === 'verified').length;
    assert.equal(all, run.sentAtUs.size);
    assert.ok(run.lost.size >= 30);
    assert.ok(Math.abs(run.lost.size / all - 0.02) < 1 / all, `${run.lost.size} of ${all}`);
    assert.deepEqual(timesOf(ladder.accepted), [0, 0, all, 0]);
    // Those that began with the last block wait in the pool: too short for the pending block, and their end is unknown.
    const waiting = run.pool.size;
    const isLate = (/** @type {Sample} */ { intendedAtUs, endedAtUs }) => endedAtUs - intendedAtUs < SEEN_MS * 1000;
    const late = run.samples.filter(isLate).length;
    const lateLost = run.samples.filter((one) => isLate(one) && run.lost.has(one.hash ?? '')).length;
    assert.deepEqual(timesOf(ladder.pending), [SEEN_MS, SEEN_MS, all - late, late]);
    assert.deepEqual(timesOf(ladder.latest), [BLOCK_MS, BLOCK_MS, isIn, all - isIn]);
    const [safeLeast, safeMost, safe, notSafe] = timesOf(ladder.safe);
    assert.deepEqual([safeLeast, safeMost, safe + notSafe], [2 * BLOCK_MS, 2 * BLOCK_MS, all]);
    const [least, most, finalized, notFinalized] = timesOf(ladder.finalized);
    assert.deepEqual([least, most, finalized + notFinalized], [4 * BLOCK_MS, 4 * BLOCK_MS, all]);
    const inBlock = (/** @type {number} */ number) => run.samples.filter((one) => one.blockNumber === number).length;
    assert.equal(isIn - safe, inBlock(140), 'the last block is not safe');
    assert.equal(isIn - finalized, inBlock(138) + inBlock(139) + inBlock(140));
    const broken = { ...NONE, lost: run.lost.size, unknown: waiting };
    assert.deepEqual(found.broken, broken);
    assert.deepEqual([found.rungs.accepted.broken, found.rungs.accepted.restored], [broken, 0]);
    assert.deepEqual(found.rungs.pending.broken, { ...broken, lost: run.lost.size - lateLost, unknown: 0 });
    for (const rung of ['latest', 'safe', 'finalized']) assert.deepEqual(found.rungs[rung].broken, NONE, rung);
    assert.equal(audit.mismatchCount, 0);
  });

  it('a transaction that the node forgot and that was sent again is restored, not broken', async () => {
    const run = chainWithRungs({ wallets: 2, isLost: (n) => n === 0, rungs: ['accepted', 'latest'] });
    run.start();
    await run.settle();
    await run.mineBlocks(5);
    run.lost.clear();
    await run.mineBlocks(5);
    const { found } = await run.finish();
    assert.deepEqual([found.broken, found.restored], [NONE, 1]);
    assert.deepEqual([found.rungs.accepted.restored, found.rungs.latest.restored], [1, 0]);
  });

  it('an operation whose safe block left the chain, and which does not come back, is reorged at each of its rungs', async () => {
    const run = chainWithRungs({
      wallets: 3,
      isLost: () => false,
      rungs: ['accepted', 'latest', 'safe', 'finalized'],
      txTimeoutMs: 5000,
    });
    run.start();
    await run.settle();
    await run.mineBlocks(2);
    // Its block is safe: a later one was seen.
    const [{ transactions }] = [run.handlers.eth_getBlockByNumber(toHex(101))];
    run.lost.add(transactions[0].hash);
    run.reorg(2, true);
    run.pool.delete('0:0');
    await run.mineBlocks(30);
    const { ladder, found } = await run.finish();
    // Two later operations of the wallet wait behind it.
    assert.deepEqual(found.broken, { ...NONE, reorged: 1, unknown: 2 });
    equalBy(['accepted', 'latest', 'safe', 'finalized'], (rung) => found.rungs[rung].broken.reorged, [1, 1, 1, 0]);
    for (const rung of ['latest', 'safe', 'finalized'])
      assert.equal(ladder[rung].latency.count + ladder[rung].censored.count, run.samples.length, rung);
  });
});

it('an operation has reached its block before that has its confirmations, also if it leaves the chain then', async () => {
  const run = chainWithRungs({ wallets: 1, isLost: () => false, rungs: ['accepted', 'latest'], txTimeoutMs: 5000 });
  run.start();
  await run.settle();
  await run.advance(BLOCK_MS);
  const number = run.mine();
  const [hash] = run.mined.keys();
  run.watched.get(hash)?.setBlock?.({ number, seenAtUs: run.clock.nowUs() });
  await run.advance(2 * BLOCK_MS);
  run.notice(run.remove(1, false), [hash]);
  run.lost.add(hash);
  await run.advance(6000);
  const { ladder, found } = await run.finish({ mines: false });
  assert.deepEqual(timesOf(ladder.latest), [BLOCK_MS, BLOCK_MS, 1, 0]);
  const { reorged, unknown } = found.rungs.latest.broken;
  assert.equal(reorged + unknown, 1, 'it may be broken');
});

describe('the tracker', () => {
  /** @param {Record<string, (...params: any[]) => any>} handlers @param {number} [mostWaiting] */
  const trackerOf = (handlers, mostWaiting) => {
    const clock = createFakeClock();
    const tools = {
      ...{ rpc: fakeRpc(handlers), clock, blockMs: () => 100, isInWindow: () => true, isWatched: () => false },
      onBug: (/** @type {Error} */ error) => assert.fail(error),
    };
    const ladder = new Ladder({ levels: ['latest', 'safe'], mostWaiting }, /** @type {any} */ (tools));
    const end = (/** @type {number} */ blockNumber) => {
      const nowUs = clock.nowUs();
      const instants = { intendedAtUs: nowUs, acceptedAtUs: nowUs, includedAtUs: nowUs, endedAtUs: nowUs };
      ladder.operation(sampleOf({ ...instants, blockNumber }));
    };
    return { clock, ladder, end };
  };

  it('keeps at most so many operations: of more a rung is not measured', async () => {
    const { ladder, end } = trackerOf({ eth_getBlockByNumber: () => null }, 2);
    for (let i = 0; i < 5; i += 1) end(7);
    await ladder.finish();
    const { latency, censored, notMeasured } = ladder.interval(true).levels.safe;
    assert.deepEqual([latency.count, censored.count, notMeasured], [0, 2, 3]);
  });

  it('a tag that is not read any more: what is known ends with the last reading', async () => {
    let isAway = false;
    const { clock, ladder, end } = trackerOf({
      eth_getBlockByNumber: () => {
        if (isAway) throw new TransportError('no answer', 'timeout');
        return { number: '0x5', hash: hash32(5) };
      },
    });
    end(7);
    await clock.advance(300);
    ladder.block({ number: 7, hash: hash32(7) });
    await clock.settle();
    isAway = true;
    await clock.advance(200);
    end(8);
    await clock.advance(60_000);
    await ladder.finish();
    const { latency, censored, notMeasured } = ladder.interval(true).levels.safe;
    assert.deepEqual([latency.count, censored.count, censored.maxUs, notMeasured], [0, 1, 300_000, 1]);
  });

  it('of the pending block only those are not reached for which it was read', async () => {
    const clock = createFakeClock();
    let isAway = false;
    const handlers = {
      eth_getBlockByNumber: () => {
        if (isAway) throw new TransportError('no answer', 'timeout');
        return { number: '0x9', transactions: [] };
      },
    };
    const tools = {
      ...{ rpc: fakeRpc(handlers), clock, blockMs: () => 1000, isInWindow: () => true, isWatched: () => false },
      onBug: (/** @type {Error} */ error) => assert.fail(error),
    };
    const ladder = new Ladder({ levels: ['pending'] }, /** @type {any} */ (tools));
    ladder.begin();
    const end = (/** @type {number} */ sinceMs) => {
      const [sinceUs, nowUs] = [clock.nowUs() - sinceMs * 1000, clock.nowUs()];
      const instants = { intendedAtUs: sinceUs, startedAtUs: sinceUs, acceptedAtUs: sinceUs };
      ladder.operation(sampleOf({ ...instants, includedAtUs: nowUs, endedAtUs: nowUs }));
    };
    await clock.advance(1010);
    end(150);
    // Between two looks.
    end(5);
    isAway = true;
    await clock.advance(1000);
    end(150);
    const { censored, notMeasured } = ladder.interval(true).levels.pending;
    assert.deepEqual([censored.count, censored.maxUs, notMeasured], [1, 150_000, 2]);
    await ladder.finish();
  });

  it('believes no tag of another fork, and goes on after an error', async () => {
    const answers = [
      { number: '0x7', hash: hash32('other') },
      new TransportError('no answer', 'timeout'),
      { number: '0x7', hash: hash32('ours') },
    ];
    const { clock, ladder, end } = trackerOf({
      eth_getBlockByNumber: () => {
        const answer = answers.shift() ?? null;
        if (answer instanceof Error) throw answer;
        return answer;
      },
    });
    for (const number of [7, 8, 9]) {
      ladder.block({ number, hash: hash32(number === 7 ? 'ours' : number) });
      await clock.advance(100);
      if (number === 7) end(7);
    }
    const { latency } = ladder.interval(true).levels.safe;
    assert.deepEqual([latency.count, latency.maxUs], [1, 100_000]);
  });
});

describe('what is broken at the end', () => {
  const IN = hash32('in a block');
  const LEVELS = ['accepted', 'pending', 'preconfirmed', 'sync', 'latest'];

  it('by cause, and each is looked up once more by all its hashes', async () => {
    const levels = /** @type {Rung[]} */ (['accepted', 'pending']);
    const side = new RunLadder({ levels, lacks: {}, asked: [] });
    const operations = [
      { hashes: [hash32(1), IN] },
      { hashes: [IN], status: 'pending' },
      { status: 'replaced', reached: ['accepted', 'pending'] },
      { reached: ['accepted', 'latest'] },
      { status: 'pending' },
      {},
      { reached: [] },
    ].map(({ hashes = [hash32(1)], status = 'never_sent', reached = ['accepted'] }, nonce) => {
      const operation = { walletIndex: 0, nonce, startedAtUs: 7, hashes };
      return { operation, status: /** @type {TransactionStatus} */ (status), reached };
    });
    const bits = (/** @type {string[]} */ names) => names.reduce((sum, name) => sum | (1 << LEVELS.indexOf(name)), 0);
    const reached = operations.map(({ reached }, nonce) => [`0:${nonce}:7`, bits(reached)]);
    side.drained(/** @type {any} */ ({ levels: {}, kept: { reached, doubts: [], unchecked: 4 } }));
    for (const { operation, status } of operations) side.status(operation, status);
    const receipt = { transactionHash: IN, blockNumber: '0x1', status: '0x0' };
    const found = await brokenOf(
      side,
      fakeRpc({ eth_getTransactionReceipt: (hash) => (hash === IN ? receipt : null) }),
    );
    assert.deepEqual([found.broken, found.restored], [{ lost: 1, replaced: 1, reorged: 1, unknown: 5 }, 1]);
    assert.deepEqual(found.rungs.pending.broken, { ...NONE, replaced: 1 });
  });
});

describe('the ladders of two instances', () => {
  /** @param {number[]} us @param {number | null} lost */
  const ladderOf = (us, lost) => {
    const latency = new Distribution();
    us.forEach((value) => latency.record(value));
    const promises = { broken: lost === null ? null : { ...NONE, lost }, restored: lost };
    const times = { latency: latency.toJSON(), censored: new Distribution().toJSON() };
    const accepted = { reached: us.length, notReached: 0, notMeasured: 0, ...times, ...promises };
    return { ladder: { ...promises, rungs: { accepted, safe: null } } };
  };

  it('add up, and broken promises are not known if one has no audit', () => {
    const { ladder } = asJson(merge(RUN, ladderOf([10, 20], 1), ladderOf([30], 2)));
    const { accepted, safe } = ladder.rungs;
    assert.deepEqual([accepted.reached, accepted.latency.maxUs, accepted.broken.lost, safe], [3, 30, 3, null]);
    assert.deepEqual([ladder.broken, ladder.restored], [{ ...NONE, lost: 3 }, 3]);
    const { ladder: half } = merge(RUN, ladderOf([10], 1), ladderOf([10], null));
    assert.deepEqual([half.broken, half.rungs.accepted.restored], [null, null]);
  });
});

describe('the levels that a chain has', () => {
  const rpc = fakeRpc({
    eth_getBlockByNumber: (tag) => {
      if (tag === 'finalized') throw new RpcError('eth_getBlockByNumber', -39001, 'unknown block');
      return tag === 'safe' ? null : { number: '0x1', hash: hash32('a'), transactions: [] };
    },
  });

  it('those asked for, and why the others are off', async () => {
    const { levels, lacks } = await chooseLevels(rpc, ['auto'], false);
    assert.deepEqual(levels, ['accepted', 'latest']);
    assert.deepEqual(
      Object.entries(lacks).map(([rung, words]) => [rung, words.replace(/^.*? has/, 'it has')]),
      [
        ['pending', 'it has no pending block: it answers with the latest block'],
        ['safe', 'it has no safe block: it answers null'],
        ['finalized', 'it has no finalized block: unknown block'],
      ],
    );
  });

  it('with receipts as answers, accepted is sync', async () => {
    const { levels, lacks } = await chooseLevels(rpc, ['safe'], true);
    assert.deepEqual([levels, Object.keys(lacks)], [['sync', 'latest'], ['safe']]);
  });
});

describe('an observer that throws', () => {
  it('hears nothing more and asks no more, and the run says so; without observers an operation costs no call', async () => {
    const clock = createFakeClock();
    const rpc = fakeRpc({ eth_getBlockByNumber: () => ({ number: '0x1', hash: hash32(1), transactions: [] }) });
    let calls = 0;
    const isInWindow = () => {
      calls += 1;
      throw new Error('no window');
    };
    const tools = { clock, rpc, isInWindow, isWatched: () => false, blockMs: () => 100, onBug: assert.fail };
    const observers = new Observers({ ladder: { levels: ['pending'] } }, () => /** @type {any} */ (tools));
    observers.begin();
    await clock.advance(100);
    observers.operation?.(sampleOf());
    observers.operation?.(sampleOf());
    assert.equal(calls, 1);
    assert.match(
      observers.detached.ladder,
      /^the observer ladder failed during the run.*: no window. This is a bug of stress$/,
    );
    const asked = rpc.calls.length;
    await clock.advance(1000);
    assert.equal(rpc.calls.length, asked);
    assert.ok(asked > 1);
    assert.equal(new Observers().operation, null);
  });

  it('on the side of the run or in a thread: the run file has the reason in place of its figures', async () => {
    const rpc = fakeRpc({ eth_getBlockByNumber: () => ({ number: '0x1', hash: hash32(1), transactions: [] }) });
    const config = /** @type {any} */ ({
      load: { poolTarget: null, maxBaseFeeWei: null },
      chain: { flashblocks: null },
      network: { ladder: ['safe'], check: [] },
      outputs: { evidence: null },
    });
    const given = { rpc, wallets: [], inclusion: 'blocks', ratePerSecond: null, refill: null, before: { wei: 0n } };
    const open = () => RunObservers.open(config, /** @type {any} */ (given));
    /** @type {string[]} */
    const warnings = [];
    const warnOf = (/** @type {string} */ _kind, /** @type {string} */ words) => void warnings.push(words);
    const observers = await open();
    observers.begin({
      startUs: 0,
      warnOf,
      warnOnce: warnOf,
      control: recordedControl().control,
      noAnswer: new AbortController().signal,
    });
    assert.ok('ladder' in observers.describe({}).members);
    Object.assign(observers.all.get('ladder') ?? {}, {
      drained: async () => {
        throw new Error('no facts');
      },
    });
    await observers.drained({});
    assert.match(warnings.join(), /^the observer ladder failed .*: no facts. This is a bug of stress$/);
    assert.deepEqual(observers.describe({}), { members: {}, unmeasured: { '/ladder': warnings[0] } });
    const facts = { detached: { ladder: 'it threw' } };
    assert.deepEqual((await open()).describe(facts), { members: {}, unmeasured: { '/ladder': 'it threw' } });
    const { members, unmeasured } = (await open()).describe(facts);
    const run = runFileOf({ observed: members, unmeasured, thresholds: [parseThreshold('broken=0')] });
    assert.deepEqual([run.thresholds[0].passed, run.thresholds[0].why], [false, 'it threw']);
  });
});
