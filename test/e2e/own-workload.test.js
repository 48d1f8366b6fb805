/** Workloads of the user's own, from the template and the examples to those that go wrong in mid-run. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startAnvil } from '../helpers/anvil.js';
import { ROOT, runStress, spawnStress } from '../helpers/cli.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { Anvil } from '../helpers/anvil.js'
 * @import { TestContext } from 'node:test'
 */

const CONTRACT = "export const contract = 'evm-stress/workload@1';\n";
const PAY = "next: () => ({ to: '0x' + '11'.repeat(20), value: 1n })";

/** @type {Anvil} */
let anvil;
let offset = 0;

before(async () => {
  anvil = await startAnvil({ args: ['--accounts', '1', '-b', '0.1'] });
});
after(() => anvil.stop());

/**
 * A run with wallets of its own.
 * @param {TestContext} t
 * @param {string} workload file
 * @param {string[]} args
 */
async function prepared(t, workload, args) {
  const out = join(temporaryFolder(t), 'run.json');
  offset += 4;
  const funder = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';
  const given = ['-t', '4', '-o', String(offset), '--rpc', anvil.url, '--fund-amount', '1', '--out', out];
  return { args: [...given, '--workload', workload, ...args], env: { STRESS_FUNDER_KEY: funder }, out };
}

/** @param {TestContext} t @param {string} workload @param {string[]} args @param {typeof runStress} [start] */
async function run(t, workload, args, start = runStress) {
  const { args: words, env, out } = await prepared(t, workload, args);
  const result = await start(words, { env });
  return { ...result, file: () => JSON.parse(readFileSync(out, 'utf8')) };
}

/** @param {TestContext} t @param {string} parts of the workload @param {string} [before] */
function write(t, parts, before = '') {
  const file = join(temporaryFolder(t), 'mine.mjs');
  writeFileSync(
    file,
    `${CONTRACT}let n = 0;\nexport default function create({ kit }) {\n${before}
  return { kind: 'transaction',\n${parts} };\n}\n`,
  );
  return file;
}

describe('examples', () => {
  for (const [name, ...args] of [
    ['storage-writer', '--set', 'slots=3', '--in-flight', '2', '--workers', '2'],
    ['contract-deployment', '--set', 'kilobytes=2'],
    ['access-list', '--set', 'slots=3', '--legacy'],
    ['set-code', '--in-flight', '2', '--workers', '2'],
  ])
    it(`${name}: exact`, async (t) => {
      const file = join(ROOT, 'docs', 'examples', `${name}.js`);
      assert.ok(readFileSync(file, 'utf8').trimEnd().split('\n').length < 60);
      const { code, stderr, file: result } = await run(t, file, ['-d', '1s', ...args]);
      assert.equal(code, 0, stderr);
      const { audit, counts } = result();
      assert.ok(counts.verified > 0);
      assert.equal(counts.failed, 0);
      assert.equal(audit.exact, true);
      assert.equal(audit.effectsOnChain, String(counts.verified));
    });
});

describe('stress new-workload', () => {
  it('writes a workload that runs as it is, and never over another file', async (t) => {
    const cwd = temporaryFolder(t);
    const made = await runStress(['new-workload', 'mine.js'], { cwd });
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stdout, /^next: stress -t 5 -d 3s --workload mine\.js$/m);
    const again = await runStress(['new-workload', 'mine.js'], { cwd });
    assert.deepEqual([again.code, again.stderr], [73, 'stress: mine.js is there already: give another name\n']);
    const { code, stderr, file } = await run(t, join(cwd, 'mine.js'), ['-d', '1s']);
    assert.equal(code, 0, stderr);
    assert.equal(file().audit.exact, true);
  });
});

describe('what goes wrong in mid-run is counted, named and bounded', () => {
  it('next() throws: wallets are given up, and the run ends with the line', async (t) => {
    const file = write(t, `next() { if (n++ > 20) throw new Error('tired'); return { to: null, data: '0x00' }; }`);
    const { code, stderr, stdout, file: result } = await run(t, file, []);
    assert.equal(code, 65, stderr);
    assert.match(stderr, /mine\.mjs: next\(\) threw: tired \(at .*mine\.mjs:6:\d+\)/);
    assert.match(stdout, /first workload_error: .*mine\.mjs: next\(\) threw: tired/);
    const { end, audit, failures, counts } = result();
    assert.equal(end, 'workload_failed');
    assert.equal(audit.exact, true);
    assert.equal(failures.workload_error, counts.failed);
  });

  it('verify() throws, in worker threads, too: what it was asked about is found executed', async (t) => {
    const { code, stderr, file } = await run(t, write(t, `${PAY}, verify() { throw 5; }`), ['--workers', '2']);
    assert.equal(code, 65, stderr);
    const { audit, counts } = file();
    assert.equal(counts.verified, 0);
    assert.ok(audit.includedLate > 0 && audit.exact);
  });

  it('what it throws by itself ends the run, and not as a bug of stress', async (t) => {
    const stray = `next() { if (n++ === 20) setTimeout(() => { throw new Error('stray'); }); return { to: null }; }`;
    const { code, stderr, file } = await run(t, write(t, stray), []);
    assert.equal(code, 65, stderr);
    assert.match(stderr, /mine\.mjs: an error outside of its functions: stray \(at .*mine\.mjs:6:\d+\)/);
    assert.equal(file().audit.exact, true);
  });

  it('an operation that is reverted is a failure, which the audit by nonce knows', async (t) => {
    const file = write(t, "next: (_, nonce) => ({ to: null, data: nonce % 2 ? '0xfe' : '0x00', gasLimit: 60000n })");
    const { code, stderr, stdout, file: result } = await run(t, file, ['-d', '2s']);
    assert.equal(code, 0, stderr);
    const { audit, failures, failureWords } = result();
    assert.ok(failures.reverted > 0);
    assert.match(failureWords.reverted, /^transaction 0x[0-9a-f]{64} in block \d+: .*InvalidFEOpcode/);
    assert.ok(stdout.includes(`  first reverted: ${failureWords.reverted}\n`), stdout);
    assert.match(stdout, /\nwritten: \S+\.json\n$/);
    assert.equal(audit.exact, true);
  });

  it('a worker thread in which it cannot be made ends the run before the load', async (t) => {
    const before = "if (!isMainThread) throw new Error('not here');";
    const file = write(t, PAY, before);
    writeFileSync(file, `import { isMainThread } from 'node:worker_threads'; ${readFileSync(file, 'utf8')}`);
    const { code, stderr } = await run(t, file, ['-d', '1s', '--workers', '2']);
    assert.equal(code, 65, stderr);
    assert.match(stderr, /^stress: .*mine\.mjs: create\(\) threw: not here \(at .*mine\.mjs:4:\d+\)+$/m);
  });

  it('what the run file cannot state ends the run before the load', async (t) => {
    const { code, stderr } = await run(
      t,
      write(t, `${PAY}, facts() { const a = {}; return Object.assign(a, { a }); }`),
      [],
    );
    assert.equal(code, 65, stderr);
    assert.match(stderr, /mine\.mjs: facts\(\) threw: Converting circular structure to JSON/);
  });

  it('one that ends the process has not ended well, and timers of its own keep no process alive', async (t) => {
    const ends = await run(t, write(t, `next() { process.exit(0); }`), []);
    assert.equal(ends.code, 65, ends.stderr);
    assert.match(ends.stderr, /mine\.mjs: the process was ended before the run was over/);
    const isMain = "(await import('node:worker_threads')).isMainThread";
    const late = write(t, `next() { if (!isMain) process.exit(0); return { to: null, gasLimit: 60000n }; }`);
    writeFileSync(late, `const isMain = ${isMain};\n${readFileSync(late, 'utf8')}`);
    const inThread = await run(t, late, ['--workers', '2']);
    assert.equal(inThread.code, 65, inThread.stderr);
    assert.match(inThread.stderr, /mine\.mjs ended a worker thread/);
    const ticks = await run(t, write(t, PAY, 'setInterval(() => {}, 1000);'), ['-d', '1s'], (args, options) => {
      return spawnStress(args, options).done;
    });
    assert.equal(ticks.code, 0, ticks.stderr);
  });

  it('an import that never ends is ended by Ctrl-C', async (t) => {
    const file = join(temporaryFolder(t), 'mine.mjs');
    writeFileSync(file, "process.stdout.write('imports\\n'); await new Promise(() => {});");
    const { args, env } = await prepared(t, file, []);
    const { child, waitFor, done } = spawnStress(args, { env });
    await waitFor(/imports/);
    child.kill('SIGINT');
    const { code, stderr } = await done;
    assert.equal(code, 130, stderr);
  });

  it('a prepare() that never ends is ended by Ctrl-C', async (t) => {
    const file = write(
      t,
      `${PAY}, prepare: () => { process.stdout.write('prepares\\n'); return new Promise(() => {}); }`,
    );
    const { args, env } = await prepared(t, file, []);
    const { child, waitFor, done } = spawnStress(args, { env });
    await waitFor(/prepares/);
    child.kill('SIGINT');
    const { code, stderr } = await done;
    assert.equal(code, 130, stderr);
  });
});
