/** stress learn and the load that it was made of: a chain is filled by a known mix, learned, loaded by what was learned, and learned again. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { selectorOf } from '../../src/workloads/contract-state.js';
import { rpcCall } from './anvil.js';
import { ROOT, exited, readJson } from './cli.js';
import { temporaryFolder } from './temporary.js';

/**
 * @import { TestContext } from 'node:test'
 *
 * @typedef {object} KnownMix
 * @property {object} config
 * @property {Record<string, string>} members names in the learned mix, by what its transactions begin with
 */

const [TRANSFER, SWAP] = ['transfer(address,uint256)', 'swap(uint256,uint256,uint256)'].map(selectorOf);
const [WRITE, COMPUTE] = ['write(uint256,uint256,uint256,uint256)', 'run(uint256)'].map(selectorOf);
const [TRADE, PROVIDE, COUNT] = ['swap(uint112,bool,uint256)', 'mint(uint256)', 'increment()'].map(selectorOf);
const pair = readJson(join(ROOT, 'docs', 'examples', 'pair.json')).workloads;
pair.buy.deploy = join(ROOT, pair.buy.deploy);

/** @type {Record<string, KnownMix>} */
export const MIXES = {
  'payments, tokens, swaps and mints': {
    config: { mix: ['transfer:40', 'erc20:25', 'swap:20', 'erc721:15'] },
    members: { '0x': 'transfer', [TRANSFER]: 'erc20', [SWAP]: 'swap', [PROVIDE]: 'erc721' },
  },
  'storage, computation and creations': {
    config: { mix: ['storage:40', 'compute:35', 'deploy:25'], set: ['storage.slots=8', 'compute.gas=150000'] },
    members: { [WRITE]: 'storage', [COMPUTE]: 'compute', create: 'deploy' },
  },
  'contracts of the user: two members of one selector are one group': {
    config: { workloads: pair, mix: ['buy:30', 'sell:30', 'provide:25', 'counter:15'] },
    members: { [TRADE]: `call_${TRADE.slice(2)}`, [PROVIDE]: `call_${PROVIDE.slice(2)}`, [COUNT]: 'counter' },
  },
};

/** @param {number} number */
const hex = (number) => `0x${number.toString(16)}`;

/** What the receipts of blocks say that was executed. @param {string} url @param {{from: number, to: number}} blocks @returns {Promise<Record<string, number>>} shares by what the transactions begin with */
async function executedIn(url, { from, to }) {
  /** @type {Record<string, number>} */
  const counts = {};
  let all = 0;
  for (let number = from; number <= to; number += 1) {
    const [{ transactions }, receipts] = await Promise.all([
      rpcCall(url, 'eth_getBlockByNumber', [hex(number), true]),
      rpcCall(url, 'eth_getBlockReceipts', [hex(number)]),
    ]);
    for (const [i, { status }] of receipts.entries()) {
      const { to: receiver, input } = transactions[i];
      assert.equal(status, '0x1');
      const start = receiver === null ? 'create' : input.slice(0, 10);
      counts[start] = (counts[start] ?? 0) + 1;
      all += 1;
    }
  }
  return Object.fromEntries(Object.entries(counts).map(([start, count]) => [start, count / all]));
}

/** Within 2 percentage points. @param {Record<string, number>} found @param {Record<string, number>} expected @param {string} words */
function assertShares(found, expected, words) {
  for (const [name, share] of Object.entries(expected))
    assert.ok(Math.abs((found[name] ?? 0) - share) <= 0.02, `${words}: ${name}: ${found[name]}, not ${share}`);
}

/**
 * @param {TestContext} t
 * @param {KnownMix} known
 * @param {{threads: number, seconds: number, blocks: number, start: () => Promise<{url: string, env?: NodeJS.ProcessEnv}>}} options blocks: of the load,
 *   without those of its set-up; start: a fresh chain
 */
export async function roundTrip(t, { config, members }, { threads, seconds, blocks, start }) {
  const folder = temporaryFolder(t);
  const [known, learned, again] = ['known', 'learned', 'again'].map((name) => join(folder, `${name}.json`));
  writeFileSync(known, JSON.stringify({ threads, ...config }));
  /** @param {string} url @param {string} file */
  const learn = async (url, file) => {
    const { stdout } = await exited(0, ['learn', '--rpc', url, '--blocks', `${blocks}`, '--out', file]);
    t.diagnostic(stdout);
    const { $learned: facts } = readJson(file);
    const executed = await executedIn(url, facts.blocks);
    /** @type {Record<string, number>} */
    const shares = {};
    for (const { name, share } of facts.members) shares[name] = share;
    return { facts, executed, shares };
  };
  const first = await start();
  await exited(0, ['--config', known, '--rpc', first.url, '-d', `${seconds}s`], { env: first.env });
  const one = await learn(first.url, learned);
  const expected = Object.fromEntries(Object.entries(members).map(([begin, name]) => [name, one.executed[begin]]));
  assertShares(one.shares, expected, 'learned');
  assert.ok(one.facts.fittedShare > 0.98, `${one.facts.fittedShare}`);

  const second = await start();
  const words = ['--config', learned, '--rpc', second.url, '--rate', 'chain', '-d', `${seconds}s`, '-o', '1000'];
  const { stdout } = await exited(0, words, { env: second.env });
  assert.match(stdout, /audit +exact/);
  const two = await learn(second.url, again);
  for (const [begin, name] of Object.entries(members)) {
    const predicted = one.facts.members.find((/** @type {any} */ member) => member.name === name).mix;
    const { share, chain } = two.facts.members.find((/** @type {any} */ member) => member.name === name);
    assert.ok(Math.abs(share - two.executed[begin]) <= 0.02, `again: ${name}: ${share}, not ${two.executed[begin]}`);
    assert.ok(Math.abs(chain.gas / predicted.gas - 1) < 0.05, `${name}: ${chain.gas} gas, not ${predicted.gas}`);
    assert.equal(chain.bytes, predicted.bytes, `${name}: bytes`);
  }
}
