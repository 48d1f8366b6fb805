/** Output that is not read: a terminal that was stopped with Ctrl-S, a pipe whose reader is busy. The load goes on. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startNullChain } from '../../scripts/bench/null-chain.js';
import { STRESS, cleanEnvironment, readJson } from '../helpers/cli.js';
import { spawnOnTerminal } from '../helpers/pty.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { NullChain } from '../../scripts/bench/null-chain.js'
 * @import { TestContext } from 'node:test'
 */

const CTRL_S = '\x13';
const CTRL_Q = '\x11';
const STOPPED_MS = 4000;

/** @type {NullChain} */
let chain;
before(async () => (chain = await startNullChain()));
after(() => chain.stop());

/** @param {string} out @param {number} offset of wallets that no other test uses @param {string[]} [more] */
const argsOf = (out, offset, more = ['-t', '100', '--iterations', '100', '-d', '2m', '--interval', '250ms']) => [
  ...['--rpc', chain.url, '-o', String(offset), '-v', '--out', out, ...more],
];

test('a terminal that is stopped for 4 s: operations are verified in every interval of that time', async (t) => {
  const out = join(temporaryFolder(t), 'run.json');
  // Intervals of five blocks: on a busy machine a shorter one may be empty without any waiting for the terminal.
  const stress = spawnOnTerminal(argsOf(out, 0, ['-t', '40', '-d', '6s', '--interval', '500ms']));
  const [, elapsed] = await stress.waitFor(/^ +(1\.\d) s /m);
  stress.type(CTRL_S);
  await sleep(STOPPED_MS);
  stress.type(CTRL_Q);
  const { code, output } = await stress.done;
  assert.equal(code, 0, output);
  assert.match(output, /^Summary: /m);
  // What was typed takes a moment to arrive.
  const fromMs = Number(elapsed) * 1000 + 500;
  const run = readJson(out);
  const during = run.intervals.filter((/** @type {any} */ row) => row.startMs > fromMs && row.endMs < fromMs + 3000);
  // Six at most; the first and the last one may cross the borders, and a late one is longer.
  assert.ok(during.length >= 4, `${during.length} intervals in 3 s`);
  for (const { startMs, counts } of during) assert.ok(counts.verified > 0, `nothing was verified after ${startMs} ms`);
});

/** @param {string[]} args @param {TestContext} t */
function unreadRun(args, t) {
  const child = spawn(process.execPath, [STRESS, ...args], {
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  const text = { stdout: '', stderr: '' };
  const read = () => {
    for (const name of /** @type {const} */ (['stdout', 'stderr']))
      child[name].setEncoding('utf8').on('data', (chunk) => (text[name] += chunk));
  };
  return { child, text, read, closed: once(child, 'close') };
}

/** @param {string} file @returns {Promise<any>} the run file when the run is over */
async function whenOver(file) {
  for (;;) {
    if (existsSync(file) && readJson(file).end !== 'running') return readJson(file);
    await sleep(50);
  }
}

test('a pipe that is never read: a signal ends the wait, and the exit code is that of the run', async (t) => {
  const out = join(temporaryFolder(t), 'run.json');
  const { child, closed } = unreadRun(argsOf(out, 200), t);
  await whenOver(out);
  await sleep(500);
  assert.equal(child.exitCode, null, 'it waits for its reader');
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
  child.stdout.resume();
  child.stderr.resume();
  await closed;
});

test('--out -: a run file larger than a pipe arrives whole at a reader who begins late', async (t) => {
  const thresholds = Array.from({ length: 2000 }, (_, i) => ['--threshold', `p${(i + 1) / 100}<60s`]).flat();
  const { child, text, read, closed } = unreadRun(argsOf('-', 300, ['-t', '20', '-d', '1s', ...thresholds]), t);
  child.stderr.setEncoding('utf8').on('data', (chunk) => (text.stderr += chunk));
  while (!text.stderr.includes('Summary: ') && child.exitCode === null) await sleep(50);
  await sleep(500);
  assert.equal(child.exitCode, null, `it waits for its reader: ${text.stderr}`);
  read();
  assert.deepEqual(await closed, [0, null], text.stderr);
  assert.ok(text.stdout.length > 2 * 65_536, `${text.stdout.length} characters`);
  assert.equal(JSON.parse(text.stdout).end, 'duration');
});
