/**
 * stress learn on a chain in memory that answers as public chains do, filled by a load: it finds the shares that the chain has
 * executed, or says in one line what it lacks.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { join } from 'node:path';
import { Stop } from '../../src/core/stop.js';
import { StressError } from '../../src/errors.js';
import { learn } from '../../src/learn/learn.js';
import { readJson } from '../helpers/cli.js';
import { dialectTransport } from '../helpers/dialect-node.js';
import { DIALECTS } from '../helpers/dialects.js';
import { createMemoryChain } from '../helpers/memory-chain.js';
import { configOf, runConfig } from '../helpers/simulated-run.js';
import { temporaryFolder } from '../helpers/temporary.js';
import { VirtualTime, createSimulatedPlatform, loadModules } from '../simulation/platform.js';

/**
 * @import { Dialect } from '../helpers/dialect-node.js'
 * @import { Variant } from '../helpers/dialects.js'
 * @import { MemoryChainOptions } from '../helpers/memory-chain.js'
 */

const RPC = ['--rpc', 'http://127.0.0.1:1'];
const FOLDER = temporaryFolder({ after });
const MOST_MS = 600_000;
/** What a node may lack, in one line. */
const LACKING =
  /^\S+ has no block \d+.*: give fewer|do not state the gas|(hash|status) is not there; .* expected$|transactions is null; a list|the chain id is /;
let files = 0;

/**
 * A chain whose last blocks hold the operations of a load; it makes no more blocks.
 * @param {Omit<MemoryChainOptions, 'clock'>} options
 */
async function loadedChain(options) {
  const time = new VirtualTime();
  const clock = time.clock();
  const chain = createMemoryChain({ clock, ...options });
  try {
    const platform = createSimulatedPlatform(time, 1, { undici: dialectTransport({}, chain.ask, clock) });
    const load = await configOf([...RPC, ...'-t 8 -d 20s --mix transfer:60,counter:40'.split(' ')], {});
    const { code, lines } = await runConfig(load, { time, platform, outputs: [], stop: new Stop() });
    assert.equal(code, 0, lines.join('\n'));
    return { time, clock, chain };
  } finally {
    chain.stop();
  }
}

/**
 * @param {Awaited<ReturnType<typeof loadedChain>>} loaded
 * @param {Dialect} dialect of the node that is learned from
 * @returns {Promise<{facts: any, executed: Record<string, number> | null}>} executed: shares in the same blocks
 */
async function learned({ time, clock, chain }, dialect) {
  const out = join(FOLDER, `load-${(files += 1)}.json`);
  const config = await configOf(['learn', ...RPC, '--blocks', '15', '--out', out], {});
  const log = { info: () => {}, warn: () => {}, error: () => {}, fatal: () => {} };
  const context = {
    ...createSimulatedPlatform(time, 1, { undici: dialectTransport(dialect, chain.ask, clock) }),
    stop: new Stop(),
    version: '0',
    onProgress: () => {},
    log,
    say: () => {},
  };
  const learning = learn(config, context);
  // An error is looked at by the caller.
  await time.until(
    learning.catch(() => {}),
    MOST_MS,
  );
  await learning;
  const { $learned: facts } = readJson(out);
  const { from, to } = facts.blocks;
  const blocks = await Promise.all(
    Array.from({ length: to - from + 1 }, (_, i) =>
      chain.ask('eth_getBlockByNumber', [`0x${(from + i).toString(16)}`, true]),
    ),
  );
  // Some dialects number blocks otherwise.
  if (blocks.includes(null)) return { facts, executed: null };
  const own = blocks.flatMap(({ transactions }) => transactions);
  const shareOf = (/** @type {(input: string) => boolean} */ is) =>
    own.filter(({ input }) => is(input)).length / own.length;
  const executed = { transfer: shareOf((input) => input === '0x'), counter: shareOf((input) => input !== '0x') };
  return { facts, executed };
}

/** @param {any} facts @param {string} name */
const shareOf = ({ members }, name) => members.find((/** @type {any} */ member) => member.name === name)?.share ?? 0;

describe('stress learn on a chain that answers as', () => {
  /** One for all dialects, which differ in what is learned from it. @type {Awaited<ReturnType<typeof loadedChain>>} */
  let loaded;

  before(async () => {
    await loadModules();
    loaded = await loadedChain({});
  });

  for (const variant of [{ row: '-', name: 'geth does', words: 'geth' }, ...DIALECTS]) {
    const { row, name, on = ['memory'], chain = {} } = /** @type {Variant} */ (variant);
    // Blocks of others, or a load that does not come to its end, are for other tests.
    if (!on.includes('memory') || Object.keys(chain).length > 0) continue;
    it(`${row}. ${name}`, async (t) => {
      try {
        const { facts, executed } = await learned(loaded, /** @type {Variant} */ (variant));
        if (executed === null) return assert.ok(shareOf(facts, 'transfer') > 0.4 && shareOf(facts, 'counter') > 0.2);
        const known = facts.members.reduce((/** @type {number} */ sum, /** @type {any} */ { share }) => sum + share, 0);
        for (const member of /** @type {const} */ (['transfer', 'counter']))
          assert.ok(known < 0.98 || Math.abs(shareOf(facts, member) - executed[member]) < 0.02, JSON.stringify(facts));
        for (const [pointer, why] of Object.entries(facts.unmeasured)) assert.ok(pointer !== '' && why !== '');
      } catch (error) {
        if (!(error instanceof StressError) || error.exitCode === 70) throw error;
        assert.match(error.message, LACKING);
        t.diagnostic(error.message);
      }
    });
  }

  it('a chain without base fee, and one with transactions of others', async () => {
    const { facts, executed } = await learned(await loadedChain({ hasBaseFee: false }), {});
    assert.ok(Math.abs(shareOf(facts, 'transfer') - Number(executed?.transfer)) < 0.02);
    assert.deepEqual([facts.hasBaseFee, facts.mix.types], [false, { '0x0': 1 }]);
    const others = await learned(await loadedChain({ hasDeposits: true }), {});
    // A deposit costs more gas than a payment, so that it is to a contract.
    assert.match(others.facts.notFitted[0].words, /^payment \(2\): of 50000 gas, to contracts$/);
    const shares = [...others.facts.members, ...others.facts.notFitted].map(({ share }) => share);
    assert.ok(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 1) < 1e-9);
  });
});
