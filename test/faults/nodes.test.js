/** Nodes that die, come back with or without what they knew, are stopped, or have little room. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { exited } from '../helpers/cli.js';
import { startMortalAnvil, startMortalGeth } from './nodes.js';
import { FUNDER_KEY } from '../../scripts/nodes/geth.js';
import { testRows } from './row.js';

/**
 * @import { Scene } from './row.js'
 * @import { TestContext } from 'node:test'
 */

/** How long a node that was killed is away. */
const AWAY_MS = 2000;

/** Every state is written down, so that a node that was killed has lost next to nothing. */
const ARCHIVE = ['--gcmode', 'archive', '--state.scheme', 'hash'];

/** geth is as fast as the machine is at that moment; this is what it can always do. */
const STEADY = ['--rate', '40'];

const env = { STRESS_FUNDER_KEY: FUNDER_KEY };

/**
 * Leaves the contracts and the funds on the chain, and the chain on the disk: the load starts at its last block.
 * @param {Scene} scene
 * @param {number} [wallets]
 * @param {string[]} [more] arguments of geth from then on
 */
async function deployAndSave({ node, files }, wallets = 20, more = /** @type {string[]} */ ([])) {
  const words = `-t ${wallets} -d 1s --rpc ${node.url} --contracts ${files.contracts} --fund-amount 2`;
  await exited(0, words.split(' '), { env });
  await node.kill('SIGTERM');
  await node.start(more);
}

/** @param {{wiped?: boolean}} [options] */
function restarted({ wiped = false } = {}) {
  const seen = { before: 0, after: 0, refused: false };
  const begin = async (/** @type {Scene} */ { node, rpc }) => {
    await node.kill('SIGKILL');
    seen.refused = await rpc('eth_blockNumber').then(
      () => false,
      () => true,
    );
    if (wiped) node.wipe();
    await sleep(AWAY_MS);
    await node.start();
    seen.after = Number(await rpc('eth_blockNumber'));
  };
  return {
    faultMs: 0,
    begin: async (/** @type {Scene} */ scene) => {
      seen.before = Number(await scene.rpc('eth_blockNumber'));
      await begin(scene);
    },
    proof: () => {
      assert.ok(seen.refused, 'it was not there');
      return `killed at block ${seen.before}, back at block ${seen.after}`;
    },
  };
}

const OTHER_CHAIN = {
  exitCodes: [69],
  isOtherChain: true,
  withoutPace: true,
  says: /serves another chain now|has another block \d+ than the one at which|does not have the block \d+ at which the load began/,
};

function stoppedRow() {
  let isStopped = false;
  return {
    fault: 'geth stopped (SIGSTOP) for 20 s',
    faultMs: 20_000,
    args: [...STEADY, '--tx-timeout', '60s'],
    node: startMortalGeth,
    begin: (/** @type {Scene} */ { node }) => node.kill('SIGSTOP'),
    end: async (/** @type {Scene} */ { node, rpc }) => {
      isStopped = await Promise.race([rpc('eth_blockNumber').then(() => false), sleep(500).then(() => true)]);
      await node.kill('SIGCONT');
    },
    proof: () => {
      assert.ok(isStopped);
      return 'it did not answer in the end';
    },
  };
}

const SMALL_POOL = [
  ...['--txpool.globalslots', '8', '--txpool.globalqueue', '2', '--txpool.accountslots', '1'],
  ...['--txpool.accountqueue', '1', '--dev.period', '1'],
];

function smallPoolRow() {
  /** @type {number[]} */
  const sizes = [];
  const look = async (/** @type {Scene} */ { rpc }) => {
    const { pending, queued } = await rpc('txpool_status');
    sizes.push(Number(pending) + Number(queued));
  };
  return {
    fault: "geth's pool has room for 10 transactions of 50 wallets",
    args: ['-t', '50', '--in-flight', '2', '--fund-amount', '1'],
    node: startMortalGeth,
    setUp: (/** @type {Scene} */ scene) => deployAndSave(scene, 50, SMALL_POOL),
    path: /** @type {const} */ ('http'),
    withoutPace: true,
    remark: 'the pool is small all the time; geth refuses some transactions and forgets others without a word',
    begin: look,
    end: look,
    proof: async (/** @type {Scene} */ { proxy }, /** @type {any} */ run) => {
      const inFlight = Math.max(...run.intervals.map((/** @type {any} */ row) => row.inFlight));
      assert.ok(Math.max(...sizes) <= 10 && inFlight >= 50, `${sizes.join(' and ')} of ${inFlight}`);
      const { refusals } = await proxy.counts();
      return `${Math.max(...sizes)} in the pool of ${inFlight} in flight; ${refusals} refused`;
    },
  };
}

function lowGasLimitRow() {
  /** @type {bigint[]} */
  const fees = [];
  const look = async (/** @type {Scene} */ { rpc }) => {
    fees.push(BigInt((await rpc('eth_getBlockByNumber', ['latest', false])).baseFeePerGas));
  };
  return {
    fault: 'blocks of geth are full: the base fee rises all the time',
    node: (/** @type {TestContext} */ t) =>
      startMortalGeth(t, ['--dev.gaslimit', '1100000', '--miner.gaslimit', '1100000', '--dev.period', '1']),
    withoutPace: true,
    remark: 'a block a second has room for 41 increments of 40 wallets',
    args: ['-t', '40', '--fund-amount', '0.5'],
    // A payment to all wallets at once would not fit into a block.
    setUp: async (/** @type {Scene} */ { node }) => {
      for (const offset of [0, 10, 20, 30]) {
        const slice = ['-t', '10', '-o', `${offset}`, '--fund-amount', '1'];
        await exited(0, ['fund', ...slice, '--rpc', node.url], { env });
      }
    },
    faultMs: 12_000,
    begin: look,
    end: look,
    proof: () => {
      const times = Number(fees[1]) / Number(fees[0]);
      assert.ok(times > 2, `${times}`);
      return `${times.toFixed(1)} times the fee in 12 s`;
    },
  };
}

testRows(
  [
    {
      fault: 'geth killed with -9, restarted on its data folder, archive',
      node: (/** @type {TestContext} */ t) => startMortalGeth(t, ARCHIVE),
      ...restarted(),
    },
    {
      fault: 'geth killed with -9, restarted on its data folder, default: all states since its start are lost',
      node: startMortalGeth,
      ...restarted(),
      setUp: deployAndSave,
      args: [...STEADY, '--fund-amount', '1'],
      exitCodes: [0, 76],
      remark: 'geth keeps recent states in memory only: the chain itself loses all blocks of the load',
    },
    {
      fault: 'geth killed with -9, restarted without its data',
      node: startMortalGeth,
      ...restarted({ wiped: true }),
      ...OTHER_CHAIN,
    },
    {
      fault: 'anvil killed with -9, restarted',
      node: startMortalAnvil,
      env: {},
      args: [],
      ...restarted(),
      ...OTHER_CHAIN,
    },
    stoppedRow(),
    smallPoolRow(),
    lowGasLimitRow(),
  ].map((row) => ({ group: 'Nodes', path: /** @type {const} */ ('direct'), env, args: STEADY, ...row })),
);
