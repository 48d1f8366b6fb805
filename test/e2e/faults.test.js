/** An endpoint that is slow, or answers wrongly, between the program and a real chain. */
import assert from 'node:assert/strict';
import { before, after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAnvil } from '../helpers/anvil.js';
import { readJson, runStress, startStress } from '../helpers/cli.js';
import { HANG_UP, passOn, serve } from '../helpers/endpoint.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** @type {Awaited<ReturnType<typeof startAnvil>>} */
let chain;
before(async () => {
  chain = await startAnvil({ args: ['--accounts', '60', '--block-time', '0.1'] });
});
after(() => chain.stop());

test('submissions that are late, by more than the time-out, are not foreign: exact', async (t) => {
  const out = `${temporaryFolder(t)}/run.json`;
  let sent = 0;
  const { url } = await serve(async (body) => {
    // The first ten are the deployments; of the load, every fifth is held back for a while.
    if (body.includes('eth_sendRawTransaction') && (sent += 1) > 10 && sent % 5 === 0) await sleep(2000);
    return passOn(chain.url, body);
  });
  const args = ['-t', '10', '-o', '0', '-d', '5m', '--iterations', '3', '--rpc', url, '--request-timeout', '1s'];
  const { code, stdout, stderr } = await runStress([...args, '--out', out]);
  const run = readJson(out);
  assert.ok(run.generator.resubmissions.repeated > 0, 'the fault happened');
  assert.deepEqual(run.failures, {}, 'what is sent again is one operation');
  assert.deepEqual(run.audit.foreign, [], stderr);
  assert.equal(run.audit.exact, true, stdout);
  assert.equal(code, 0, stderr);
  assertRunFile(run);
});

test('submissions that are under way when the drain ends: exact', async (t) => {
  const out = `${temporaryFolder(t)}/run.json`;
  const { url } = await serve(async (body) => {
    if (body.includes('eth_sendRawTransaction')) await sleep(150);
    return passOn(chain.url, body);
  });
  const args = ['-t', '20', '-o', '10', '--interval', '500ms', '--rpc', url, '--out', out, '--drain-timeout', '0s'];
  const stress = startStress(args);
  await stress.waitFor(/^ +\d+\.\d s +[\d,]+ +[1-9]/m);
  stress.child.kill('SIGINT');
  const { code, stdout, stderr } = await stress.done;
  assert.equal(code, 130, stdout + stderr);
  assert.equal(readJson(out).audit.exact, true);
});

test('a connection that is lost in the audit is used again', async (t) => {
  const out = `${temporaryFolder(t)}/run.json`;
  let lost = 0;
  const { url } = await serve((body) => {
    // Only the audit reads as of a block hash.
    if (body.includes('blockHash') && (lost += 1) === 1) return HANG_UP;
    return passOn(chain.url, body);
  });
  const { code, stdout, stderr } = await runStress(['-t', '5', '-o', '30', '-d', '1s', '--rpc', url, '--out', out]);
  assert.ok(lost > 1, 'the fault happened');
  assert.equal(code, 0, stdout + stderr);
  assert.equal(readJson(out).audit.exact, true);
});

test('a node without a latest block in the end: a summary, a run file, and no audit', async (t) => {
  const out = `${temporaryFolder(t)}/run.json`;
  let asked = 0;
  const { url } = await serve((body) => {
    const { id, method, params } = JSON.parse(body);
    // The set-up asks twice: what the chain is, and where the load begins.
    const isGone = method === 'eth_getBlockByNumber' && params[0] === 'latest' && (asked += 1) > 2;
    return isGone ? { body: JSON.stringify({ jsonrpc: '2.0', id, result: null }) } : passOn(chain.url, body);
  });
  const { code, stdout, stderr } = await runStress([
    ...['-t', '5', '-o', '40', '-d', '1s', '--rpc', url, '--out', out],
    ...['--drain-timeout', '1s', '--request-timeout', '1s'],
  ]);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /the audit is incomplete: .*has no latest block/);
  assert.match(stdout, /audit +INCOMPLETE: .*has no latest block/);
  const run = readJson(out);
  assert.equal(run.audit, null);
  assertRunFile(run);
});
