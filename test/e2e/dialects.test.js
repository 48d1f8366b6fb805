/** The command line before anvil, behind a proxy that answers as public chains do: one variant of each kind. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { anvilFor } from '../helpers/anvil.js';
import { startDialectProxy, startDialectSocket } from '../helpers/dialect-proxy.js';
import { ACCUSATIONS, DIALECTS, FUNDER } from '../helpers/dialects.js';
import { runOf, takeWallets } from '../helpers/run-of.js';

const chain = anvilFor('--accounts 10 --block-time 0.5', ({ rpc }) =>
  rpc('anvil_setBalance', [FUNDER.address, '0xd3c21bcecceda1000000']),
);

describe('a run before a chain that answers as', { concurrency: 4 }, () => {
  for (const variant of DIALECTS.filter(({ on = [] }) => on.includes('anvil'))) {
    const {
      row,
      name,
      args = '',
      exit = 0,
      isIncomplete = false,
      says = [],
      silent = [],
      transport,
      runs = 1,
    } = variant;
    test(`${row}. ${name}`, async (t) => {
      const isSocket = transport === 'ws';
      const { url } = isSocket
        ? await startDialectSocket(t, chain.url, variant)
        : await startDialectProxy(chain.url, variant);
      const words = [/(^| )-t /.test(args) ? '' : '-t 4', /(^| )-d /.test(args) ? '' : '-d 4s', args];
      if (transport !== undefined && !isSocket) words.push(`--transport ${transport}`);
      const offset = takeWallets(chain, Number(/-t (\d+)/.exec(args)?.[1] ?? 4));
      const own = { chain, rpc: url, offset, exit, env: variant.env };
      for (let i = 1; i < runs; i += 1) await runOf(t, `${words.join(' ')} -o ${offset}`, own);
      const { stdout, stderr, run } = await runOf(t, `${words.join(' ')} -o ${offset}`, own);
      const said = `${stdout}\n${stderr}`;
      for (const pattern of says) assert.match(said, pattern);
      for (const pattern of [...ACCUSATIONS.filter((one) => one !== variant.admits), ...silent])
        assert.doesNotMatch(said, pattern);
      if (exit !== 0) return;
      assert.ok(isIncomplete ? run.audit.result !== 'not_exact' : run.audit.exact, JSON.stringify(run.audit));
      assert.ok(run.counts.verified > 0);
      variant.check?.(run);
    });
  }
});
