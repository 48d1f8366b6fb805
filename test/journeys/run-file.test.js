/** The run file of real runs, however they ended, and what is printed beside it. */
import assert from 'node:assert/strict';
import { linkSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { anvilFor, pending, startMinedChain } from '../helpers/anvil.js';
import { exited, readJson } from '../helpers/cli.js';
import { DEV_MNEMONIC } from '../helpers/dev-wallets.js';
import { serveBetween } from '../helpers/endpoint.js';
import { assertRunFile, runFileValidator, schemaErrors } from '../helpers/run-file.js';
import { SECOND_WISH_MS, runOf, startOf } from '../helpers/run-of.js';
import { temporaryFile, temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { RunFile } from '../helpers/run-file.js'
 */

/** The public key of wallet 0 of the test mnemonic. */
const FUNDER_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';

/** A chain with a block every 100 ms. */
const chain = anvilFor('--block-time 0.1 --accounts 40');

/**
 * A member that is missing, or one that is not ours, is found wherever it is.
 * @param {RunFile} run
 */
function assertSchemaIsStrict(run) {
  const validate = runFileValidator();
  /** Whose members depend on the run. */
  const open = new Set([
    ...['/failures', '/unmeasured', '/generator/rpcCalls', '/blocks/fullness', '/intervals/0/blocks/fullness'],
    '/generator/refusals',
  ]);
  /** Members that run files of before have not, which are read as well. */
  const newer = new Set([
    '/environment/findCommand',
    ...['leftOut', 'leftOutMs', 'lostMs', 'refused'].map((name) => `/generator/resubmissions/${name}`),
    ...['/environment/commandLine', '/environment/endpoints', '/environment/transport/why', '/intervals/0/byEndpoint'],
    ...[
      '/environment/roundTripMs',
      '/generator/pauses',
      '/generator/pauses/refusedMs',
      '/generator/pauses/unpaidMs',
      '/generator/outages',
    ],
    '/nodeProfile/0/stacks/packages',
    ...['/generator/resubmissions/lost', '/audit/result', '/audit/incomplete'],
    ...['', '/perWallet', '/pool'].map((name) => `/generator/nodeLimits${name}`),
    '/generator/refusals',
    ...['/blocks', '/intervals/0/blocks'].flatMap((blocks) =>
      ['full', 'gapMaxMs', 'own', 'fullness', 'fullnessSum', 'aboveMaxFee', 'firstSeenAtMs', 'lastSeenAtMs'].map(
        (name) => `${blocks}/${name}`,
      ),
    ),
    ...['/gas', '/series', '/rates/chainGasPerSecond', '/rates/spreadMs', '/intervals/0/perSecond'],
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
  test('a run of its full duration', async (t) => {
    const url = new URL(chain.url);
    const { run, stdout, stderr, out } = await runOf(t, '-d 4s', {
      ...{ chain, rpc: `http://somebody:s3cr3t@${url.host}/?apikey=hidden`, threads: 5, offset: 25 },
      env: { STRESS_MNEMONIC: DEV_MNEMONIC, STRESS_FUNDER_KEY: FUNDER_KEY },
    });
    assert.equal(stderr, '');

    await t.test('says what the run was', () => {
      assert.deepEqual([run.end, run.exitCode, run.partial], ['duration', 0, false]);
      assert.equal(run.audit.exact, true);
      assert.ok(run.intervals.length >= 2 && run.window.durationMs >= 4000, `${run.window.durationMs} ms`);
      assert.ok(run.counts.verified > 5, `${run.counts.verified} verified`);
      const { threads, offset, durationMs, intervalMs, hdPath } = run.config;
      assert.deepEqual([threads, offset, durationMs, intervalMs], [5, 25, 4000, 500]);
      assert.equal(hdPath, "m/44'/60'/0'/0");
      const { chainId, embeddedChain, feeMode, node } = run.environment;
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

    await t.test('the schema takes nothing away from it and nothing more', () => assertSchemaIsStrict(run));
  });

  test('a file that is there already is replaced as a whole, and --quiet prints nothing', async (t) => {
    const out = temporaryFile(t, 'run.json', '{"old": true}\n');
    // Written in place, the new text would appear under the other name too.
    linkSync(out, `${out}.other-name`);
    const { ino } = statSync(out);
    let reads = 0;
    let broken = '';
    const running = startOf(t, `-d 700ms --quiet --out ${out}`, { chain, threads: 2 });
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
      assert.ok(reads > 5, `${reads} reads`);
      assert.equal(broken, '');
      assert.notEqual(statSync(out).ino, ino);
      assert.equal(readFileSync(`${out}.other-name`, 'utf8'), '{"old": true}\n');
      assert.deepEqual(readdirSync(join(out, '..')).sort(), ['run.json', 'run.json.other-name']);
    });
    assertRunFile(readJson(out));
  });

  test('--out=- puts the JSON on standard output, and all text on standard error', async (t) => {
    const { stdout, stderr } = await runOf(t, '-t 2 -d 1s --interval 400ms -v --out=-');
    const run = JSON.parse(stdout);
    assertRunFile(run);
    assert.equal(run.config.out, '-');
    assert.equal(run.environment.embeddedChain, true);
    assert.match(stderr, /embedded chain started/);
    assert.match(stderr, /^\d+ 0x[0-9a-fA-F]{40} \d+$/m);
    assert.match(stderr, /^Summary: ran for its duration, window \d\.\d s$/m);
  });

  test('interrupted twice in a drain, of two workers: nothing is verified, no audit, and its reason', async (t) => {
    const { anvil, miner } = await startMinedChain(t);
    const words = '--workers 2 --contracts DIR/contracts.json --interval 1m --drain-timeout 1h --tx-timeout 1h';
    const stress = startOf(t, words, { chain: anvil, threads: 3 });
    await stress.waitFor(/^Ctrl-C|^3 wallets/m);
    const contracts = join(stress.folder, 'contracts.json');
    while (!readdirSync(stress.folder).includes('contracts.json') || !readFileSync(contracts, 'utf8').includes('0x'))
      await sleep(20);
    await miner.pause();
    await pending(anvil, 3);
    await sleep(SECOND_WISH_MS);
    stress.child.kill('SIGINT');
    await stress.waitFor(/^ +\d+\.\d s /m);
    await sleep(SECOND_WISH_MS);
    stress.child.kill('SIGINT');
    const { run, stdout, stderr } = await stress.end(130);
    assert.equal(stderr, 'ERROR: the audit is incomplete: it could not be made: aborted by the user\n');
    assert.deepEqual([run.end, run.audit, run.counts.abandoned], ['interrupted', null, 3]);
    assert.match(run.unmeasured['/audit'], /\w/);
    assert.match(stdout, /audit +INCOMPLETE: it could not be made: aborted by the user/);
  });

  /** @type {Array<[string, (method: string, params: any[]) => object | null, string]>} */
  const silent = [
    [
      'that does not say what it is',
      (method) => (method === 'web3_clientVersion' ? { error: { code: -32601, message: 'no such method' } } : null),
      'clientVersion',
    ],
    [
      'without its first block',
      (method, [block]) => (method === 'eth_getBlockByNumber' && block === '0x0' ? { result: null } : null),
      'genesisHash',
    ],
  ];
  for (const [what, intercept, name] of silent)
    test(`a node ${what}: the ${name} is null, with a reason`, async (t) => {
      const { url } = await serveBetween(chain.url, ({ method, params }) => intercept(method, params));
      const { run } = await runOf(t, '-d 300ms', { chain, rpc: url, threads: 1 });
      assert.equal(run.environment[name], null);
    });
});

test('a run file of release 0.2 is valid, and is read', async (t) => {
  const file = fileURLToPath(new URL('../fixtures/runs-0.2/closed-loop.json', import.meta.url));
  assert.deepEqual(schemaErrors(readJson(file)), []);
  const page = join(temporaryFolder(t), 'page.html');
  const { stdout } = await exited(0, ['report', file, '--html', page]);
  assert.match(stdout, /^ {2}audit +exact: 4 counters grew by 84 = 84 verified/m);
  assert.match(readFileSync(page, 'utf8'), /concurrency-bound/);
});
