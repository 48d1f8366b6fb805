/** The run file of real runs, however they ended, and what is printed beside it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { linkSync, lstatSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAnvil } from '../helpers/anvil.js';
import { runStress, startStress } from '../helpers/cli.js';
import { DEV_MNEMONIC } from '../helpers/dev-wallets.js';
import { serveBetween } from '../helpers/endpoint.js';
import { assertRunFile, runFileValidator, schemaErrors } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { Anvil } from '../helpers/anvil.js'
 * @import { RunFile } from '../helpers/run-file.js'
 */

/** The public key of wallet 0 of the test mnemonic. */
const FUNDER_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';

/** A chain with a block every 100 ms. @type {Anvil} */
let chain;

before(async () => {
  chain = await startAnvil({ args: ['--block-time', '0.1', '--accounts', '40'] });
});

let nextIndex = 1;

/** The tests run side by side, each with wallets of its own. @param {number} threads @returns {string[]} options */
function takeWallets(threads) {
  const args = ['--rpc', chain.url, '-t', String(threads), '-o', String(nextIndex)];
  nextIndex += threads;
  return args;
}

/** @param {string} file @returns {RunFile} */
function read(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/**
 * A member that is missing, or one that is not ours, is found wherever it is.
 * @param {RunFile} run
 */
function assertSchemaIsStrict(run) {
  const validate = runFileValidator();
  /** Whose members depend on the run. */
  const open = new Set([
    ...['/failures', '/unmeasured', '/generator/rpcCalls', '/blocks/fullness', '/intervals/0/blocks/fullness'],
  ]);
  /** Members that run files of before have not, which are read as well. */
  const newer = new Set([
    '/instance',
    ...['commandLine', 'endpoints', 'transport/why', 'workload'].map((name) => `/environment/${name}`),
    '/generator/endpoints',
    ...['/byName', '/byEndpoint', '/intervals/0/byEndpoint', '/audit/subject', '/audit/checks'],
    ...['/environment/roundTripMs', '/generator/pauses', '/generator/outages'],
    ...['/generator/resubmissions/lost', '/audit/result', '/audit/incomplete'],
    ...['/blocks', '/intervals/0/blocks'].flatMap((blocks) =>
      ['full', 'gapMaxMs', 'own', 'fullness', 'fullnessSum'].map((name) => `${blocks}/${name}`),
    ),
    '/gas',
    ...['/probes', '/intervals/0/probes'].flatMap((probes) => [`${probes}/loop/cpuUs`, `${probes}/loop/waitedUs`]),
    ...['/latency/censored', '/latency/fromStartCensored', '/spending/leftWei'],
  ]);
  /** @param {any} object @param {string} path */
  const walk = (object, path) => {
    // The members of these follow from the workload, and from the table of options.
    if (path === '/environment/workload' || path === '/config') return;
    for (const name of Object.keys(object)) {
      const value = object[name];
      if (!open.has(path)) {
        delete object[name];
        assert.equal(validate(run), newer.has(`${path}/${name}`), `who misses ${path}/${name}`);
      }
      object[name] = Array.isArray(value) ? 'no array' : [];
      assert.ok(!validate(run), `${path}/${name} may be anything`);
      object[name] = value;
      if (value !== null && typeof value === 'object') walk(value, `${path}/${name}`);
    }
    if (Array.isArray(object)) return;
    object.$somethingElse = [];
    assert.ok(!validate(run), `${path} may have more`);
    delete object.$somethingElse;
  };
  run.intervals.splice(1);
  assert.ok(validate(run));
  walk(run, '');
  assert.deepEqual(schemaErrors(run), []);
}

describe('the run file', { concurrency: 3 }, () => {
  test('a run of its full duration, with -v and --explain', async (t) => {
    const out = join(temporaryFolder(t), 'run.json');
    const url = new URL(chain.url);
    const endpoint = `http://somebody:s3cr3t@${url.host}/?apikey=hidden`;
    const args = ['-t', '5', '-o', '25', '-d', '1500ms', '--interval', '500ms', '-v', '--explain', '--out', out];
    const { code, stdout, stderr } = await runStress([...args, '--rpc', endpoint], {
      env: { STRESS_MNEMONIC: DEV_MNEMONIC, STRESS_FUNDER_KEY: FUNDER_KEY },
    });
    assert.equal(code, 0, stderr);
    assert.equal(stderr, '');
    const run = read(out);
    assertRunFile(run);

    await t.test('says what the run was', () => {
      assert.deepEqual([run.end, run.exitCode, run.partial], ['duration', 0, false]);
      assert.equal(run.audit?.exact, true);
      assert.ok(run.intervals.length >= 2 && run.intervals.length <= 4, 'up to three of the load, one of the drain');
      assert.ok(run.window.durationMs >= 1500 && run.window.durationMs < 4000, `${run.window.durationMs} ms`);
      assert.ok(run.counts.verified > 5, `${run.counts.verified} verified`);
      const { threads, offset, durationMs, intervalMs, verbose, hdPath } = run.config;
      assert.deepEqual([threads, offset, durationMs, intervalMs, verbose], [5, 25, 1500, 500, true]);
      assert.equal(hdPath, "m/44'/60'/0'/0");
      const { chainId, embeddedChain, feeMode, node } = /** @type {any} */ (run.environment);
      assert.deepEqual([chainId, embeddedChain, feeMode, node], [31337, false, 'eip1559', process.version]);
    });

    await t.test('holds no secret', () => {
      const text = readFileSync(out, 'utf8');
      for (const secret of [DEV_MNEMONIC, 'junk', FUNDER_KEY.slice(2), 'somebody', 's3cr3t', 'hidden']) {
        assert.ok(!text.includes(secret), `${secret} is in the run file`);
        assert.ok(!stdout.includes(secret), `${secret} is printed`);
      }
      assert.deepEqual([run.config.mnemonic, run.config.fundFrom], ['[redacted]', '[redacted]']);
      assert.equal(run.config.rpc, `http://***@${url.host}?***`);
    });

    await t.test('-v prints index, contract and count of each verified increment', () => {
      const lines = [...stdout.matchAll(/^(\d+) (0x[0-9a-fA-F]{40}) (\d+)$/gm)];
      assert.equal(lines.length, run.counts.verified);
      /** @type {Map<number, {contract: string, count: number}>} */
      const last = new Map();
      for (const [line, index, contract, count] of lines) {
        const before = last.get(Number(index)) ?? { contract, count: 0 };
        assert.equal(contract, before.contract, line);
        assert.equal(Number(count), before.count + 1, line);
        last.set(Number(index), { contract, count: Number(count) });
      }
      assert.deepEqual([...last.keys()].sort(), [25, 26, 27, 28, 29]);
      assert.equal(new Set([...last.values()].map(({ contract }) => contract)).size, 5, 'a contract for each wallet');
    });

    await t.test('--explain prints each definition of the run file after the summary', () => {
      const [, behind] = stdout.split('\nSummary: ');
      for (const [name, text] of Object.entries(run.definitions))
        assert.ok(behind.includes(`\n${name}: ${text}\n`), name);
    });

    await t.test('the schema takes nothing away from it and nothing more', () => assertSchemaIsStrict(run));
  });

  test('a file that is there already is replaced as a whole, and --quiet prints nothing', async (t) => {
    const out = join(temporaryFolder(t), 'run.json');
    writeFileSync(out, '{"old": true}\n');
    // Written in place, the new text would appear under the other name too.
    linkSync(out, `${out}.other-name`);
    const { ino } = statSync(out);
    let reads = 0;
    let broken = '';
    const running = startStress([...takeWallets(2), '-d', '700ms', '--quiet', '--out', out]);
    let ended = false;
    const end = () => void (ended = true);
    running.done.then(end, end);
    const watching = (async () => {
      while (!ended) {
        const text = readFileSync(out, 'utf8');
        try {
          JSON.parse(text);
        } catch {
          broken = text;
        }
        reads += 1;
        await sleep(1);
      }
    })();
    const { code, stdout, stderr } = await running.done;
    await watching;
    await t.test('--quiet prints nothing', () => assert.deepEqual([code, stdout, stderr], [0, '', '']));
    await t.test('who reads the file all the time never sees a part of it', () => {
      assert.ok(reads > 20, `${reads} reads`);
      assert.equal(broken, '');
      assert.notEqual(statSync(out).ino, ino);
      assert.equal(readFileSync(`${out}.other-name`, 'utf8'), '{"old": true}\n');
      assert.deepEqual(readdirSync(join(out, '..')).sort(), ['run.json', 'run.json.other-name']);
    });
    assertRunFile(read(out));
  });

  test('--out - is standard output', async () => {
    const { code, stdout, stderr } = await runStress([...takeWallets(1), '-d', '500ms', '--out', '-']);
    assert.equal(code, 0, stderr);
    assertRunFile(JSON.parse(stdout));
  });

  test('--out=- puts the JSON on standard output, and all text on standard error', async () => {
    const { code, stdout, stderr } = await runStress(['-t', '2', '-d', '1s', '--interval', '400ms', '-v', '--out=-']);
    assert.equal(code, 0, stderr);
    const run = JSON.parse(stdout);
    assertRunFile(run);
    assert.equal(run.config.out, '-');
    assert.equal(run.environment.embeddedChain, true);
    assert.match(stderr, /embedded chain started/);
    assert.match(stderr, /^\d+ 0x[0-9a-fA-F]{40} \d+$/m);
    assert.match(stderr, /^Summary: ran for its duration, window \d\.\d s$/m);
  });

  test('interrupted: drained, audited, and 130', async (t) => {
    const out = join(temporaryFolder(t), 'run.json');
    const running = startStress([...takeWallets(5), '--interval', '300ms', '--out', out]);
    await running.waitFor(/^ +(0\.[6-9]|[1-9]\d*\.\d) s /m);
    running.child.kill('SIGINT');
    const { code, stdout } = await running.done;
    assert.equal(code, 130);
    assert.doesNotMatch(stdout, /^cpuUsPerVerified: /m, 'definitions come with --explain only');
    assert.match(stdout, /^Summary: interrupted, window/m);
    const run = read(out);
    assertRunFile(run);
    assert.deepEqual([run.end, run.exitCode, run.audit?.exact], ['interrupted', 130, true]);
    assert.equal(run.config.durationMs, null);
    assert.equal(run.counts.abandoned, 0);
  });

  test('a foreign transaction: the audit is not exact, and 76', async (t) => {
    const out = join(temporaryFolder(t), 'run.json');
    const running = startStress([
      '-t',
      '4',
      '-o',
      '30',
      '--rpc',
      chain.url,
      '-d',
      '10s',
      '--interval',
      '300ms',
      '--out',
      out,
    ]);
    await running.waitFor(/^ +\d+\.\d s /m);
    const from = (await chain.rpc('eth_accounts'))[32];
    /** @type {string[]} */
    const hashes = [];
    // One may lose the race for its nonce against a transaction of the run.
    let ended = false;
    const end = () => void (ended = true);
    running.done.then(end, end);
    while (!ended) {
      const transaction = { from, to: from, value: '0x1', gas: '0x5208' };
      await chain.rpc('eth_sendTransaction', [transaction]).then(
        (hash) => hashes.push(hash),
        () => {},
      );
      await sleep(50);
    }
    const { code, stderr } = await running.done;
    assert.equal(code, 76, stderr);
    const run = read(out);
    assertRunFile(run);
    assert.deepEqual([run.end, run.exitCode, run.audit?.exact], ['foreign_sender', 76, false]);
    const [foreign] = run.audit?.foreign ?? [];
    assert.equal(foreign.walletIndex, 32);
    assert.ok(hashes.includes(foreign.hash), foreign.hash);
    assert.match(stderr, /wallets 32 sent a transaction that is not of this run/);
  });

  test('on a chain that stops making blocks', async (t) => {
    const folder = temporaryFolder(t);
    const out = join(folder, 'run.json');
    const slow = await startAnvil();
    const common = ['-t', '3', '--rpc', slow.url, '--contracts', join(folder, 'contracts.json'), '--out', out];
    const { code } = await runStress([...common, '-d', '200ms', '--quiet']);
    assert.equal(code, 0);
    assertRunFile(read(out));
    // From here on the counters are there, so that the set-up needs no block.
    await slow.rpc('evm_setAutomine', [false]);

    await t.test('operations that time out and are included later', async () => {
      const running = startStress([...common, '-d', '10s', '--tx-timeout', '4s', '--interval', '200ms']);
      // A wallet whose transaction is not decided within another --tx-timeout is retired: the miner has that long to start.
      await running.waitFor(/ timed_out [1-3]$/m);
      const miner = setInterval(() => void slow.rpc('evm_mine').catch(() => {}), 100);
      const result = await running.done;
      clearInterval(miner);
      assert.equal(result.code, 0, result.stdout + result.stderr);
      const run = read(out);
      assertRunFile(run);
      assert.ok(run.counts.timedOut >= 3, `${run.counts.timedOut} timed out`);
      assert.ok(run.counts.verified >= 3, `${run.counts.verified} verified`);
      assert.deepEqual([run.audit?.exact, run.audit?.includedLate], [true, run.counts.timedOut]);
      assert.ok((run.latency.timedOut.minUs ?? 0) >= 3_999_000, 'counted with the time they were waited for');
    });

    await t.test('nothing is verified, and the audit finds it pending', async () => {
      const result = await runStress([...common, '-d', '400ms', '--interval', '100ms', '--drain-timeout', '300ms']);
      const run = read(out);
      assertRunFile(run);
      assert.equal(result.code, 1, 'nothing is proven to disagree');
      assert.deepEqual([run.counts.verified, run.counts.abandoned], [0, 3]);
      const { exact, result: word, pending, mismatchCount } = run.audit ?? {};
      assert.deepEqual([exact, word, pending, mismatchCount], [false, 'incomplete', 3, 0]);
      assert.match(
        result.stdout,
        /audit +INCOMPLETE: \d+ counters grew by [^]*not checked: the status of 3 operations of/,
      );
      assert.match(result.stderr, /the audit is incomplete: the status of 3 operations of wallets 0\.\.2 is unknown/);
      assert.equal(run.unmeasured['/generator/cpuUsPerVerified'], 'nothing was verified in the window');
    });

    await t.test('interrupted twice: no audit, and its reason', async () => {
      await slow.rpc('evm_mine');
      const running = startStress([...common, '--interval', '100ms']);
      await running.waitFor(/^ +\d+\.\d s /m);
      running.child.kill('SIGINT');
      await sleep(700); // sooner, it would be taken for the same wish
      running.child.kill('SIGINT');
      const result = await running.done;
      const run = read(out);
      assertRunFile(run);
      assert.equal(result.code, 130, result.stderr);
      assert.deepEqual([run.end, run.audit, run.counts.abandoned], ['interrupted', null, 3]);
      assert.match(run.unmeasured['/audit'], /\w/);
      assert.match(result.stdout, /audit +INCOMPLETE: it could not be made: /);
    });
  });

  test('a node that does not say what it is: its version is null, with a reason', async (t) => {
    const out = join(temporaryFolder(t), 'run.json');
    const { url } = await serveBetween(chain.url, ({ method }) =>
      method === 'web3_clientVersion' ? { error: { code: -32601, message: 'the method does not exist' } } : null,
    );
    const { code, stderr } = await runStress(['-t', '1', '-o', '20', '--rpc', url, '-d', '300ms', '--out', out]);
    assert.equal(code, 0, stderr);
    assert.equal(/** @type {any} */ (read(out).environment).clientVersion, null);
    assertRunFile(read(out));
  });

  test('a node without its first block: the hash is null, with a reason', async (t) => {
    const out = join(temporaryFolder(t), 'run.json');
    const { url } = await serveBetween(chain.url, ({ method, params }) =>
      method === 'eth_getBlockByNumber' && params[0] === '0x0' ? { result: null } : null,
    );
    const { code, stderr } = await runStress(['-t', '1', '-o', '21', '--rpc', url, '-d', '300ms', '--out', out]);
    assert.equal(code, 0, stderr);
    assert.equal(/** @type {any} */ (read(out).environment).genesisHash, null);
    assertRunFile(read(out));
  });

  test('of a name that is a link: the file behind it is written', async (t) => {
    const folder = temporaryFolder(t);
    const [out, link] = [join(folder, 'run.json'), join(folder, 'latest.json')];
    writeFileSync(out, 'old');
    symlinkSync(out, link);
    const { code, stderr } = await runStress([...takeWallets(1), '-d', '500ms', '--quiet', '--out', link]);
    assert.equal(code, 0, stderr);
    assert.ok(lstatSync(link).isSymbolicLink());
    assertRunFile(read(out));
  });

  test('a device stays a device: --out /dev/null', async (t) => {
    const device = join(temporaryFolder(t), 'null');
    if (spawnSync('mknod', [device, 'c', '1', '3']).status !== 0) return t.skip('only root can make a device');
    const { code, stderr } = await runStress([...takeWallets(1), '-d', '500ms', '--quiet', '--out', device]);
    assert.ok(code === 0 || code === 73, stderr);
    assert.ok(lstatSync(device).isCharacterDevice());
  });
});
