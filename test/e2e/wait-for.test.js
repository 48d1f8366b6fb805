/** --wait-for: a run that begins before its node. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { freePort } from '../helpers/anvil.js';
import { exited } from '../helpers/cli.js';
import { passOn, serve } from '../helpers/endpoint.js';
import { nodeFor, runOf } from '../helpers/run-of.js';
import { temporaryFolder } from '../helpers/temporary.js';

const WAITING = /^waiting up to (\d+) s \(--wait-for\) for http:\/\/127\.0\.0\.1:\d+ \(connection refused\)$/gm;

const node = nodeFor(10);

/** An endpoint at which nothing listens yet. */
async function lateEndpoint() {
  const port = await freePort();
  const begin = () => serve((body) => passOn(node.url, body), { port });
  return { url: `http://127.0.0.1:${port}`, begin };
}

describe('--wait-for', { concurrency: 4 }, () => {
  for (const isAlone of [true, false])
    test(`${isAlone ? 'an endpoint' : 'one of two endpoints'} that begins later`, async (t) => {
      const late = await lateEndpoint();
      const rpc = isAlone ? late.url : `${node.url},${late.url}`;
      const words = `--wait-for 60s -d 500ms --rpc ${rpc}`;
      const { stdout, run } = await runOf(t, words, {
        ...{ chain: node, rpc: null, threads: 2 },
        during: async (stress) => {
          await stress.waitFor(new RegExp(WAITING, 'm'));
          await late.begin();
        },
      });
      assert.equal(stdout.match(WAITING)?.length, 1);
      assert.equal(run.audit.exact, true);
      assert.equal(run.config.waitForMs, 60_000);
    });

  test('it precedes the barrier', async (t) => {
    const { url } = await lateEndpoint();
    const folder = temporaryFolder(t);
    const common = `--chain-id 31337 --instances 2 --index 0 --run-id demo --barrier ${folder}`;
    const { stderr } = await exited(69, `-t 1 -d 1s --wait-for 600ms --rpc ${url} ${common}`.split(' '));
    assert.match(stderr, /did not answer within 0\.6 s \(--wait-for\): connection refused\n$/);
    assert.deepEqual(readdirSync(join(folder, 'demo')), []);
  });
});
