/** The main job with nothing else running: one command starts a chain, loads it, audits itself and cleans up. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { rpcCall } from '../helpers/anvil.js';
import { readJson, runStress, spawnStress, startStress } from '../helpers/cli.js';
import { assertNothingLeft, chainProcesses } from '../helpers/leftovers.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** `-v`: wallet index, contract address, count. */
const VERIFIED_LINE = /^(\d+) (0x[0-9a-fA-F]{40}) (\d+)$/gm;
const COUNT_SELECTOR = '0x06661abd';

test('-t 20 -o 0 starts a chain, funds the wallets, reports, audits and leaves nothing', async (t) => {
  const TMPDIR = temporaryFolder(t);
  const stress = spawnStress(['-t', '20', '-o', '0', '-d', '3s', '--interval', '1s'], { env: { TMPDIR } });
  await stress.waitFor(/^ +\d\.\d s /m);
  const { keeper, chain } = chainProcesses(TMPDIR);
  assert.ok(keeper !== undefined && chain !== undefined, 'the chain runs under its keeper');
  const { code, stdout, stderr } = await stress.done;

  assert.equal(stderr, '');
  assert.equal(code, 0);
  const started = stdout.split('\n').filter((line) => line.includes('embedded chain started'));
  assert.equal(started.length, 1, 'one line says that the chain was started');
  assert.match(started[0], /its 20 wallets funded/);
  assert.match(started[0], /stress node -t 20/, 'and how to share one');
  const elapsed = [...stdout.matchAll(/^ +(\d+\.\d) s +[\d,]+ /gm)].map(([, seconds]) => Math.round(Number(seconds)));
  assert.deepEqual(elapsed, [1, 2, 3], 'a line for each interval');
  assert.match(stdout, /^Summary: ran for its duration/m);
  const audit = /audit +exact: 20 counters grew by ([\d,]+) = ([\d,]+) verified \+ 0 included late/.exec(stdout);
  assert.ok(audit !== null, stdout);
  assert.equal(audit[1], audit[2]);
  const summary = stdout.slice(stdout.indexOf('\nSummary'));
  assert.match(summary, new RegExp(`^  verified +${audit[1]}$`, 'm'), 'the audit is of what the summary says');
  assert.match(summary, /^ {2}failed +0$/m);
  assert.ok(Number(audit[1].replaceAll(',', '')) >= 20, 'each wallet was used');
  await assertNothingLeft(TMPDIR);
});

test('-o 500: any slice can be used, and what -v says of each increment is on the chain', async (t) => {
  const TMPDIR = temporaryFolder(t);
  const out = join(temporaryFolder(t), 'run.json');
  const stress = startStress(['-t', '5', '-o', '500', '-d', '1500ms', '--interval', '500ms', '-v', '--out', out], {
    env: { TMPDIR },
  });
  const [, url] = await stress.waitFor(/^5 wallets \(500\.\.504 of .* at (http:\S+) \(.*chain 31337\)/m);
  const [, , address, count] = await stress.waitFor(/^(502) (0x[0-9a-fA-F]{40}) (\d+)$/m);
  const onChain = Number(await rpcCall(url, 'eth_call', [{ to: address, data: COUNT_SELECTOR }, 'latest']));
  assert.ok(onChain >= Number(count) && Number(count) >= 1, `the chain says ${onChain}, the line said ${count}`);
  const { code, stdout, stderr } = await stress.done;

  assert.equal(stderr, '');
  assert.equal(code, 0);
  const lines = [...stdout.matchAll(VERIFIED_LINE)];
  assert.deepEqual([...new Set(lines.map(([, index]) => index))].sort(), ['500', '501', '502', '503', '504']);
  for (const index of ['500', '504']) {
    const mine = lines.filter((line) => line[1] === index);
    assert.deepEqual(
      mine.map((line) => Number(line[3])),
      mine.map((_, i) => i + 1),
      'each count is one more than the one before',
    );
  }
  const { audit, counts, exitCode } = readJson(out);
  assert.equal(exitCode, 0);
  assert.equal(audit.exact, true);
  assert.equal(counts.verified, lines.length);
  assert.equal(audit.effectsOnChain, String(lines.length));
  await assertNothingLeft(TMPDIR);
});

test('the chain of one run does not get in the way of another', async (t) => {
  const runs = [temporaryFolder(t), temporaryFolder(t)].map(async (TMPDIR) => {
    const { code, stdout, stderr } = await runStress(['-t', '3', '-o', '0', '-d', '500ms'], { env: { TMPDIR } });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /audit +exact: 3 counters/);
    await assertNothingLeft(TMPDIR);
  });
  await Promise.all(runs);
});
