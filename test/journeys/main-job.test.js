/** The main job with nothing else running: one command starts a chain, loads it, audits itself and cleans up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countOf } from '../helpers/anvil.js';
import { spawnStress } from '../helpers/cli.js';
import { assertNothingLeft, chainProcesses } from '../helpers/leftovers.js';
import { runOf, startOf } from '../helpers/run-of.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** `-v`: wallet index, contract address, count. */
const VERIFIED_LINE = /^(\d+) (0x[0-9a-fA-F]{40}) (\d+)$/gm;

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
  // A busy machine may report late, and then for two intervals at once.
  assert.ok(elapsed.length >= 2 && elapsed.at(-1) === 3, `lines for intervals: ${elapsed.join()}`);
  assert.match(stdout, /^Summary: ran for its duration/m);
  const audit = /audit +exact: 20 counters grew by ([\d,]+) = ([\d,]+) verified \+ 0 included late/.exec(stdout);
  assert.ok(audit !== null, stdout);
  assert.equal(audit[1], audit[2]);
  const summary = stdout.slice(stdout.indexOf('\nSummary'));
  assert.match(summary, new RegExp(`^  verified +${audit[1]}\\b`, 'm'), 'the audit is of what the summary says');
  assert.match(summary, /^ {2}failed +0$/m);
  assert.ok(Number(audit[1].replaceAll(',', '')) >= 20, 'each wallet was used');
  await assertNothingLeft(TMPDIR);
});

test('-o 500: any slice can be used, and what -v says of each increment is on the chain', async (t) => {
  const stress = startOf(t, '-d 1500ms -v', { threads: 5, offset: 500, isAlone: true });
  const [, url] = await stress.waitFor(/^5 wallets \(500\.\.504 of .* at (http:\S+) \(.*chain 31337\)/m);
  const [, , address, count] = await stress.waitFor(/^(502) (0x[0-9a-fA-F]{40}) (\d+)$/m);
  const onChain = await countOf(url, [address]);
  assert.ok(onChain >= Number(count) && Number(count) >= 1, `the chain says ${onChain}, the line said ${count}`);
  const { run, stdout, stderr } = await stress.end();
  assert.equal(stderr, '');
  const lines = [...stdout.matchAll(VERIFIED_LINE)];
  assert.deepEqual([...new Set(lines.map(([, index]) => index))].sort(), ['500', '501', '502', '503', '504']);
  for (const index of ['500', '504']) {
    const counts = lines.filter((line) => line[1] === index).map((line) => Number(line[3]));
    const ordinals = counts.map((_, i) => i + 1);
    assert.deepEqual(counts, ordinals, 'each count is one more than the one before');
  }
  const { audit, counts } = run;
  assert.deepEqual([audit.exact, counts.verified, audit.effectsOnChain], [true, lines.length, String(lines.length)]);
});

test('the chain of one run does not get in the way of another', async (t) => {
  const own = { threads: 3, offset: 0, isAlone: true };
  for (const { stdout } of await Promise.all([runOf(t, '-d 500ms', own), runOf(t, '-d 500ms', own)]))
    assert.match(stdout, /audit +exact: 3 counters/);
});
