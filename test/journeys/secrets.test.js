/** Secrets are planted in every place that takes one, and looked for in all that a program writes, prints, serves and sends. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { anvilFor, freePort } from '../helpers/anvil.js';
import { readJson, startStress } from '../helpers/cli.js';
import { makeRepository, startCommand } from '../helpers/slowed-repository.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { AddressInfo } from 'node:net'
 * @import { TestContext } from 'node:test'
 */

const chain = anvilFor('--accounts 1 --block-time 0.1');

/** That of the first account of anvil. */
const FUNDER_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';
const MNEMONIC = 'legal winner thank year wave sausage worth useful legal winner thank yellow';

/** Each is a part of a secret that has no other meaning. */
const PLANTED = [
  ...[FUNDER_KEY.slice(2), 'sausage', 'planted-'],
  ...['planted-user:planted-password', 'planted-pusher:planted-password', 'planted-api: planted-header'].map((text) =>
    Buffer.from(text).toString('base64'),
  ),
];

/** @param {string} user @param {string | number} address */
const secretUrl = (user, address, scheme = 'http') =>
  `${scheme}://${user}:planted-password@${String(address).replace(/^\w+:\/\//, '')}/?apikey=planted-query`;

/** Reads files of all folders, unpacked. @param {string} folder @returns {Array<[string, string]>} */
function filesIn(folder) {
  return readdirSync(folder).flatMap((name) => {
    const file = join(folder, name);
    if (statSync(file).isDirectory()) return filesIn(file);
    const bytes = readFileSync(file);
    return [[file, (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')]];
  });
}

/** @param {Iterable<readonly [string, string]>} texts by what they are */
function assertHidden(texts) {
  for (const [name, text] of texts)
    for (const secret of PLANTED) {
      const at = text.toLowerCase().indexOf(secret.toLowerCase());
      assert.ok(at < 0, `${secret} is in ${name}: ${text.slice(Math.max(0, at - 80), at + 80)}`);
    }
}

/** A receiver of --push. @param {TestContext} t */
async function receiverOf(t) {
  let texts = '';
  const server = createServer((request, response) => {
    request.setEncoding('utf8').on('data', (chunk) => (texts += chunk));
    request.on('end', () => response.end());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  t.after(() => server.closeAllConnections());
  const { port } = /** @type {AddressInfo} */ (server.address());
  return { address: `127.0.0.1:${port}`, textsOf: () => texts };
}

/** What is served during a run: the last answer of each, and that there was one. @param {string[]} urls @param {Promise<unknown>} done */
async function served(urls, done) {
  /** @type {Map<string, string>} */
  const texts = new Map();
  const over = new AbortController();
  void done.finally(() => over.abort()).catch(() => {});
  while (!over.signal.aborted) {
    for (const url of urls) {
      const signal = AbortSignal.timeout(300);
      const response = await fetch(url, { signal }).catch(() => null);
      // An event stream has no end.
      const reader = response?.body?.getReader();
      for (
        let part = await reader?.read().catch(() => undefined);
        part?.value;
        part = await reader?.read().catch(() => undefined)
      )
        texts.set(url, `${texts.get(url) ?? ''}${Buffer.from(part.value).toString('utf8')}`.slice(-1_000_000));
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return texts;
}

/** All secrets of a run at an endpoint, by names of options. @param {string} address @param {string} pushTo */
const secretsOf = (address, pushTo) => ({
  rpc: secretUrl('planted-user', address),
  'fund-from': FUNDER_KEY,
  mnemonic: MNEMONIC,
  header: 'planted-api: planted-header',
  'node-metrics': secretUrl('planted-user', address),
  'node-profile': secretUrl('planted-user', address),
  ...(pushTo === '' ? {} : { push: secretUrl('planted-pusher', pushTo), 'push-header': 'planted-api: planted-header' }),
});

/** @type {Record<string, string>} */
const VARIABLES = { 'fund-from': 'STRESS_FUNDER_KEY', push: 'STRESS_PUSH_URL' };

/** Options by where they stand. @param {Record<string, string>} secrets @param {'environment' | 'file' | 'flag'} place @param {string} folder @returns {{words: string[], env: NodeJS.ProcessEnv}} */
function given(secrets, place, folder) {
  const all = Object.entries(secrets);
  // Some are refused on the command line.
  const isRefused = (/** @type {string} */ name) => /header|push/.test(name);
  const flags = place === 'flag' ? all.filter(([name]) => !isRefused(name)) : [];
  const others = all.filter((one) => !flags.includes(one));
  const file = join(folder, '..', 'config.json');
  if (place === 'file') writeFileSync(file, JSON.stringify(Object.fromEntries(others)), { mode: 0o600 });
  const variable = (/** @type {string} */ name) =>
    VARIABLES[name] ?? `STRESS_${name.toUpperCase().replaceAll('-', '_')}`;
  return {
    words: [...flags.map(([name, text]) => `--${name}=${text}`), ...(place === 'file' ? ['--config', file] : [])],
    env: place === 'file' ? {} : Object.fromEntries(others.map(([name, text]) => [variable(name), text])),
  };
}

describe('a secret is in no output', () => {
  for (const place of /** @type {const} */ (['environment', 'file', 'flag']))
    test(`of a run, given in the ${place}`, async (t) => {
      const folder = join(temporaryFolder(t), 'results');
      const receiver = await receiverOf(t);
      const [page, figures] = [await freePort(), await freePort()];
      const secrets = secretsOf(chain.url, receiver.address);
      mkdirSync(folder);
      const names =
        'out run.json,html run.html,junit run.xml,markdown run.md,samples s.csv,blocks b.jsonl.gz,hlog h.hlog,evidence e.gz';
      const files = `${names},intervals i.ndjson,log-file run.log`
        .split(',')
        .flatMap((one) => [`--${one.split(' ')[0]}`, join(folder, one.split(' ')[1])]);
      const { words, env } = given(secrets, place, folder);
      const load = [
        '-t',
        '2',
        '-d',
        '1500ms',
        '--interval',
        '300ms',
        '--log-level',
        'debug',
        '--explain',
        '--sign',
        '--check',
        'consistency',
      ];
      const ports = ['--dashboard', `${page}`, '--prometheus', `${figures}`];
      const { done } = startStress([...load, ...ports, ...files, ...words], { env });
      const texts = await served(
        [`http://127.0.0.1:${page}/`, `http://127.0.0.1:${page}/?after=0`, `http://127.0.0.1:${figures}/metrics`],
        done,
      );
      const { code, stdout, stderr } = await done;
      assert.equal(code, 0, stderr);
      const written = filesIn(folder);
      assert.equal(written.length, files.length / 2);
      assert.ok(texts.size >= 2 && receiver.textsOf().includes('stress_operations_total'), `${[...texts.keys()]}`);
      // Whether it is printed depends on the verdict.
      const { findCommand } = readJson(join(folder, 'run.json')).environment;
      assert.match(findCommand.command, /STRESS_RPC="\$STRESS_RPC" STRESS_HEADER="\$STRESS_HEADER" .*stress find /);
      assertHidden([...written, ...texts, ['stdout', stdout], ['push', receiver.textsOf()]]);
      // The endpoint, the warnings and debug messages are on standard error.
      assertHidden([['stderr', stderr]]);
    });

  test('of a comparison, and of what is made of its run files', async (t) => {
    const folder = temporaryFolder(t);
    const { rpc, ...others } = secretsOf(chain.url, '');
    const { words, env } = given({ ...others, 'rpc-a': rpc, 'rpc-b': rpc }, 'environment', folder);
    const [runs, sweep] = [join(folder, 'runs'), join(folder, 'sweep')];
    const short = ['-d', '500ms', '--rest', '0s'];
    /** @type {Array<[name: string, command: string[], env?: NodeJS.ProcessEnv]>} */
    const commands = [
      ['compare', ['compare', '-t', '1', '--repeat', '2', ...short, '--dir', runs, ...words], env],
      ['merge', ['merge', join(runs, 'a-1.json')]],
      ['report', ['report', join(runs, 'b-1.json')]],
      ['sweep', ['sweep', '-t', '1,2,4', ...short, '--dir', sweep, '--rpc', rpc], env],
      ['trend', ['trend', sweep]],
    ];
    for (const [name, command, ofLoads = {}] of commands) {
      const page = ['report', 'sweep'].includes(name) ? [] : ['--out', join(folder, `${name}.json`)];
      const { code, stdout, stderr } = await startStress([...command, ...page], { env: ofLoads }).done;
      assert.equal(code, 0, stdout + stderr);
      assertHidden([
        ['stdout', stdout],
        ['stderr', stderr],
      ]);
    }
    assertHidden(filesIn(folder));
  });

  test('of studies, and of their runs and pages', async (t) => {
    const folder = temporaryFolder(t);
    const secrets = secretsOf(chain.url, '');
    const { words, env } = given(secrets, 'environment', folder);
    for (const study of [
      ['sweep', '-t', '1,2', '-d', '500ms', '--rest', '0s', '--before-cell', 'true planted-command'],
      ['find', '--rate', '5..20', '-t', '2', '-d', '1s', '--time-limit', '4s', '--rest', '0s'],
    ]) {
      const [name] = study;
      const files = [
        '--dir',
        join(folder, name),
        '--html',
        join(folder, `${name}.html`),
        '--markdown',
        join(folder, `${name}.md`),
      ];
      const { code, stdout, stderr } = await startStress([...study, ...files, ...words], { env }).done;
      // A search may end at its time limit.
      assert.ok(code === 0 || (name === 'find' && code === 99), stdout + stderr);
      assert.match(readFileSync(join(folder, `${name}.html`), 'utf8'), /STRESS_MNEMONIC/);
      assertHidden([
        ['stdout', stdout],
        ['stderr', stderr],
      ]);
    }
    const written = filesIn(folder);
    assert.ok(written.length > 8);
    assertHidden(written);
  });

  test('of a bisection, of its runs, and of a node that does not start', async (t) => {
    const folder = temporaryFolder(t);
    const repository = join(folder, 'repository');
    mkdirSync(repository);
    const ids = makeRepository(repository, { commits: 1, first: 2 });
    const port = await freePort();
    const { words, env } = given(secretsOf(`127.0.0.1:${port}`, ''), 'environment', folder);
    const range = ['--repository', repository, '--good', ids[0], '--bad', ids[1], '--build', ': planted-build'];
    const load = ['-t', '1', '-d', '500ms', '--warmup', '0s', '--rest', '0s', '--drain-timeout', '3s'];
    const files = ['--time-limit', '6s', '--markdown', join(folder, 'result.md')];
    for (const [start, exit] of /** @type {Array<[string, number]>} */ ([
      ['exit 1', 69],
      [startCommand(port), 75],
    ])) {
      const command = ['bisect', ...range, '--start', `: planted-command; ${start}`, ...load, ...files, ...words];
      const dir = join(folder, String(exit));
      const { code, stdout, stderr } = await startStress([...command, '--dir', dir], { env }).done;
      assert.equal(code, exit, stdout + stderr);
      assertHidden([
        ['stdout', stdout],
        ['stderr', stderr],
      ]);
    }
    assert.ok(readJson(join(folder, '75', 'bisect.json')).pairs.length > 0);
    // What is built is a copy of the user's repository.
    const written = filesIn(folder).filter(([file]) => !/\/(repository|builds\/\w+)\//.test(file));
    assert.ok(written.length > 5);
    assertHidden(written);
  });

  /** @type {Array<[string, string[], NodeJS.ProcessEnv]>} */
  const failures = [
    ['no endpoint', ['-t', '1', '-d', '1s', '--rpc', secretUrl('planted-user', '127.0.0.1:1')], {}],
    [
      'no endpoint of a web socket',
      ['-t', '1', '-d', '1s'],
      { STRESS_RPC: secretUrl('planted-user', '127.0.0.1:1', 'ws') },
    ],
    ['an unknown scheme', ['-t', '1', '--rpc', secretUrl('planted-user', 'x', 'htp')], {}],
    ['a mnemonic in the place of a file', ['-t', '1', '--keys', MNEMONIC], {}],
    ['a key in the place of a file', ['-t', '1', '--header-file', FUNDER_KEY], {}],
    ['a mistyped mnemonic', ['-t', '1', '-d', '1s'], { STRESS_MNEMONIC: `${MNEMONIC}x` }],
    ['a header on the command line', ['-t', '1', '--header', 'Authorization: planted-header'], {}],
    ['a receiver with a password on the command line', ['-t', '1', '--push', secretUrl('planted-user', 'x')], {}],
    ['a broken header', ['-t', '1', '-d', '1s'], { STRESS_HEADER: 'planted-header' }],
  ];
  for (const [name, words, env] of failures)
    test(`of an error: ${name}`, async (t) => {
      const folder = temporaryFolder(t);
      const files = [
        '--out',
        join(folder, 'run.json'),
        '--junit',
        join(folder, 'run.xml'),
        '--log-file',
        join(folder, 'log'),
      ];
      const { code, stdout, stderr } = await startStress([...words, ...files], { env }).done;
      assert.notEqual(code, 0);
      assertHidden([...filesIn(folder), ['stdout', stdout], ['stderr', stderr]]);
    });
});
