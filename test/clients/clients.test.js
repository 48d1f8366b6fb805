/** The same jobs on clients that no other suite runs: each audit must be exact. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startEthereumjs } from '../../scripts/nodes/ethereumjs.js';
import { startGeth } from '../../scripts/nodes/geth.js';
import { startHardhat } from '../../scripts/nodes/hardhat.js';
import { startAnvil } from '../helpers/anvil.js';
import { killedBy, runOf } from '../helpers/run-of.js';

/**
 * @typedef {{url: string, wsUrl?: string, funderKey?: string, stop: () => Promise<void>}} Node
 *
 * @typedef {object} Client
 * @property {() => Promise<Node>} start
 * @property {Record<string, string>} [lacks] why it cannot do a job, by the name of the job
 *
 * @typedef {{words: string, exit?: number, during?: (stress: any) => unknown, overWs?: boolean}} Job
 */

/** @type {Record<string, Client>} */
const CLIENTS = {
  'EthereumJS after the merge': { start: startEthereumjs },
  'hardhat, chain type op': { start: () => startHardhat({ chainType: 'op' }) },
  'anvil --disable-block-gas-limit': { start: () => startAnvil({ args: ['--disable-block-gas-limit'] }) },
  'geth with the transactions and states of the last blocks only': {
    start: () => startGeth({ flags: '--history.transactions 8 --history.state 128 --history.logs.disable'.split(' ') }),
  },
};

/** All have the same wallets, so each but the first one finds those of the job before. @type {Record<string, Job>} */
const JOBS = {
  counter: { words: '-d 5s' },
  'in flight 4': { words: '-d 5s --in-flight 4' },
  transfer: { words: '-d 5s --workload transfer' },
  erc20: { words: '-d 5s --workload erc20' },
  ws: { words: '-d 5s', overWs: true },
  'plain calls': { words: '-d 5s --workload rpc --calls wallet' },
  'Ctrl-C': { words: '-d 1h', exit: 130, during: killedBy('SIGINT') },
  'again after Ctrl-C': { words: '-d 5s' },
};

for (const [client, { start, lacks = {} }] of Object.entries(CLIENTS)) {
  describe(client, () => {
    /** @type {Node} */
    let node;
    before(async () => (node = await start()));
    after(() => node?.stop());
    for (const [name, { words, exit, during, overWs = false }] of Object.entries(JOBS)) {
      test(name, { skip: lacks[name] }, async (t) => {
        const { url, wsUrl = url.replace('http', 'ws'), funderKey } = node;
        const env = { STRESS_FUNDER_KEY: funderKey };
        const options = { rpc: overWs ? wsUrl : url, threads: 20, offset: 0, env, exit, during };
        const { run, stdout, stderr } = await runOf(t, words, options);
        const { counts, rates, failures, environment } = run;
        t.diagnostic(
          `${environment.clientVersion}: ${counts.verified} verified, ${rates.verifiedPerSecond} per second`,
        );
        if (stderr !== '') t.diagnostic(stderr);
        assert.ok(counts.verified > 0);
        assert.equal(counts.verified, counts.started, JSON.stringify(failures));
        assert.match(stdout, name === 'plain calls' ? /audit +none/ : /audit +exact/);
      });
    }
  });
}
