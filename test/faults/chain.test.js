/** Chains that take back what they said, lose transactions, get dear, or stand still. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAnvil, startMiner } from '../helpers/anvil.js';
import { testRows } from './row.js';

/**
 * @import { Scene } from './row.js'
 * @import { TestContext } from 'node:test'
 */

const REORGS = 3;
const BETWEEN_REORGS_MS = 1500;

/** @param {Scene} scene @param {number | string} number */
function blockAt({ rpc }, number) {
  return rpc('eth_getBlockByNumber', [typeof number === 'number' ? `0x${number.toString(16)}` : number, false]);
}

/** A chain whose blocks the test makes, so that it can pause them. */
function minedChain() {
  /** @type {ReturnType<typeof startMiner>} */
  let miner;
  return {
    miner: () => miner,
    node: async (/** @type {TestContext} */ t) => {
      const anvil = await startAnvil({ args: ['--accounts', '40', '--no-mining'] });
      miner = startMiner(anvil, 200);
      t.after(() => miner.pause().then(anvil.stop));
      return anvil;
    },
  };
}

/** @param {number} depth @param {number} confirmations */
function reorgRow(depth, confirmations) {
  const { miner, node } = minedChain();
  let replaced = 0;
  const begin = async (/** @type {Scene} */ scene) => {
    for (let i = 0; i < REORGS; i += 1) {
      await miner().pause();
      const before = await blockAt(scene, 'latest');
      await scene.rpc('anvil_reorg', [depth, []]);
      const after = await blockAt(scene, Number(before.number));
      miner().resume();
      if (after.hash !== before.hash) replaced += 1;
      if (i < REORGS - 1) await sleep(BETWEEN_REORGS_MS);
    }
  };
  return {
    fault: `${REORGS} reorgs, ${depth} deep, --confirmations ${confirmations}`,
    faultMs: 0,
    node,
    begin,
    // As many in flight as have to wait: a wallet sends one for each block.
    args: confirmations === 0 ? [] : ['--confirmations', `${confirmations}`, '--in-flight', `${confirmations + 1}`],
    proof: (/** @type {Scene} */ _, /** @type {any} */ run) => {
      assert.equal(replaced, REORGS, 'the chain has other blocks there');
      const reorgs = run.reorgs ?? run.generator.reorgs;
      assert.equal(reorgs.count, REORGS, 'each is an event');
      assert.ok(reorgs.deepest >= depth && reorgs.deepest <= depth + 1, `${reorgs.deepest} deep`);
      // Deeper than the reorgs: what counts as included was out of their reach.
      if (confirmations >= depth) assert.equal(run.audit.reorgedOut, 0);
      else assert.ok(reorgs.operations > 0, 'operations that were included were touched');
      return `${replaced} blocks have another hash; ${reorgs.operations} operations touched`;
    },
  };
}

/** @param {string[]} args */
function dropRow(args) {
  const ending = new AbortController();
  let dropped = 0;
  const drop = async (/** @type {Scene} */ { rpc }) => {
    const { pending } = await rpc('txpool_content');
    const hashes = Object.values(pending).flatMap((byNonce) => Object.values(byNonce).map(({ hash }) => hash));
    for (const hash of hashes.filter((_, i) => i % 20 === 0)) {
      if ((await rpc('anvil_dropTransaction', [hash])) === hash) dropped += 1;
    }
  };
  return {
    fault: `a twentieth of the pool is dropped ten times a second${args.length === 0 ? '' : `, ${args.join(' ')}`}`,
    args,
    // A busy machine makes fewer looks.
    faultMs: 12_000,
    begin: (/** @type {Scene} */ scene) => repeat(() => drop(scene), 100, ending.signal),
    end: async () => ending.abort(),
    proof: () => {
      assert.ok(dropped > 10, `${dropped} dropped`);
      return `${dropped} transactions`;
    },
  };
}

function baseFeeRow() {
  const ending = new AbortController();
  let offered = 0n;
  let highest = 0n;
  const raise = async (/** @type {Scene} */ scene) => {
    await scene.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${(offered * 10n).toString(16)}`]);
    const fee = BigInt((await blockAt(scene, 'latest')).baseFeePerGas);
    if (fee > highest) highest = fee;
  };
  return {
    fault: 'the base fee is ten times what transactions offer, from one block to the next',
    begin: async (/** @type {Scene} */ scene) => {
      while (offered === 0n) {
        const { transactions } = await scene.rpc('eth_getBlockByNumber', ['latest', true]);
        offered = BigInt(transactions[0]?.maxFeePerGas ?? 0);
      }
      await repeat(() => raise(scene), 40, ending.signal);
    },
    end: async () => ending.abort(),
    proof: (/** @type {Scene} */ _, /** @type {any} */ run) => {
      assert.ok(highest >= offered * 9n, `${highest}, ${offered} offered`);
      assert.ok(run.generator.resubmissions.replaced > 0, 'nothing was replaced');
      return `${(Number(highest) / Number(offered)).toFixed(0)} times the offer`;
    },
  };
}

/**
 * @param {() => Promise<void>} work
 * @param {number} everyMs
 * @param {AbortSignal} signal ends it
 */
async function repeat(work, everyMs, signal) {
  const next = () => {
    if (signal.aborted) return;
    // What goes wrong once is done again; that it happened is what the row has to prove.
    work()
      .catch(() => {})
      .then(() => sleep(everyMs))
      .then(next, next);
  };
  next();
}

function standstillRow() {
  const { miner, node } = minedChain();
  const seen = { before: 0, after: -1 };
  return {
    fault: 'no block for 8 s',
    faultMs: 8000,
    node,
    begin: async (/** @type {Scene} */ { rpc }) => {
      await miner().pause();
      seen.before = Number(await rpc('eth_blockNumber'));
    },
    end: async (/** @type {Scene} */ { rpc }) => {
      seen.after = Number(await rpc('eth_blockNumber'));
      miner().resume();
    },
    proof: () => {
      assert.equal(seen.after, seen.before);
      return `block ${seen.before} was the latest all the time`;
    },
  };
}

testRows(
  [
    ...[1, 3, 8].flatMap((depth) => [reorgRow(depth, 0), reorgRow(depth, depth)]),
    dropRow([]),
    dropRow(['--in-flight', '4']),
    baseFeeRow(),
    standstillRow(),
  ].map((row) => ({ group: 'Chains', path: /** @type {const} */ ('direct'), ...row })),
);
