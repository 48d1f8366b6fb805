/** Wallets of a run, and that keys stay secret. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { HDNodeWallet, Mnemonic, Wallet } from 'ethers';
import { anvilFor, freePort } from '../helpers/anvil.js';
import { readJson, spawnStress, startStress } from '../helpers/cli.js';
import { passOn, serve, serveBetween } from '../helpers/endpoint.js';
import { chainProcesses } from '../helpers/leftovers.js';
import { runOf } from '../helpers/run-of.js';
import { temporaryFolder } from '../helpers/temporary.js';
import { startWsBefore } from '../helpers/ws-server.js';

/**
 * @import { BaseWallet } from 'ethers'
 * @import { TestContext } from 'node:test'
 */

/** Enough for any run here. */
const PLENTY = '0xde0b6b3a7640000';

/** A chain with a block every 100 ms. */
const chain = anvilFor('--block-time 0.1');

/** @param {number} count @returns {Promise<BaseWallet[]>} unused wallets, with funds */
async function newWallets(count) {
  const wallets = Array.from({ length: count }, () => Wallet.createRandom());
  for (const { address } of wallets) await chain.rpc('anvil_setBalance', [address, PLENTY]);
  return wallets;
}

test('wallets of --hd-path have the addresses that ethers derives', async (t) => {
  const { phrase } = Mnemonic.fromEntropy(randomBytes(20));
  const parent = HDNodeWallet.fromPhrase(phrase, '', "m/44'/1'/7'");
  const addresses = [3, 4].map((index) => parent.deriveChild(index).address);
  for (const address of addresses) await chain.rpc('anvil_setBalance', [address, PLENTY]);
  const words = "--hd-path m/44'/1'/7' --iterations 1 --contracts DIR/contracts.json";
  const own = { chain, threads: 2, offset: 3, env: { STRESS_MNEMONIC: ` ${phrase.replaceAll(' ', '  ')}\n` } };
  const { folder } = await runOf(t, words, own);
  assert.deepEqual(Object.keys(readJson(join(folder, 'contracts.json')).contracts), addresses);
});

describe('no key and no mnemonic is shown', { concurrency: 3 }, () => {
  /**
   * @param {object} options
   * @param {Array<string | Buffer>} options.said
   * @param {BaseWallet[]} options.wallets
   * @param {string} [options.phrase]
   * @param {string[]} [options.texts] others that must not be seen
   */
  function assertHidden({ said, wallets, phrase, texts = [] }) {
    const text = said.map(String).join('\n').toLowerCase();
    for (const secret of texts) {
      const at = text.indexOf(secret.toLowerCase());
      assert.equal(at, -1, `a secret is shown: ${text.slice(Math.max(0, at - 200), at + 100)}`);
    }
    for (const { privateKey } of wallets) {
      const digits = privateKey.slice(2);
      for (const part of [digits.slice(0, 12), digits.slice(26, 38), digits.slice(-12)]) {
        assert.ok(!text.includes(part), `a part of a key is shown:\n${text}`);
      }
      assert.ok(!text.includes(BigInt(privateKey).toString()));
      for (const encoding of /** @type {const} */ (['base64', 'base64url']))
        assert.ok(!text.includes(Buffer.from(digits, 'hex').toString(encoding).toLowerCase()));
    }
    const words = phrase?.split(' ') ?? [];
    for (const [i, word] of words.slice(1).entries()) {
      assert.ok(!text.includes(`${words[i]} ${word}`), `words of the mnemonic are shown:\n${text}`);
    }
  }

  test('by a whole run against an endpoint that breaks and repeats all it was asked, with every output', async (t) => {
    const folder = temporaryFolder(t);
    const { phrase } = Mnemonic.fromEntropy(randomBytes(16));
    const parent = HDNodeWallet.fromPhrase(phrase, '', "m/44'/60'/0'/0");
    const [funder] = await newWallets(1);
    const [user, password, token, apiKey, other] = Array.from({ length: 5 }, () => randomBytes(16).toString('hex'));
    const basic = Buffer.from(`${user}:${password}`).toString('base64');
    /** @type {string[]} */
    const paths = [];
    let sent = 0;
    const { url } = await serve(async (body) => {
      const echo = `POST ${path} http://${user}:${password}@${host}${path} Authorization: Basic ${basic}\n\u001b[31m${body}`;
      const isSubmission = body.includes('eth_sendRawTransaction');
      if (isSubmission) sent += 1;
      // The first three are the funder's payment and the deployments, the next four are increments.
      if (isSubmission && sent > 7) {
        paths.push(echo);
        if (paths.length === 5) running.child.kill('SIGTERM');
        return [
          { body: JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, error: { code: -32000, message: echo } }) },
          { status: 500, headers: { 'content-type': 'text/html' }, body: `<h1>${echo}</h1>` },
          { body: echo },
          { status: 401, body: echo },
        ][sent % 4];
      }
      return passOn(chain.url, body);
    });
    const host = new URL(url).host;
    const path = `/v3/${token}?apikey=${apiKey}`;
    const secretUrl = `http://${user}:${password}@${host}${path}`;
    const port = await freePort();
    const files = ['run.json', 'samples.csv', 'blocks.ndjson', 'hlog', 'junit.xml', 'log', 'contracts.json'];
    const [out, samples, blocks, hlog, junit, log, contracts] = files.map((name) => join(folder, name));
    const args = [
      ...`-t 2 -d 100s --interval 250ms --tx-timeout 20s --drain-timeout 3s -v --explain --fund-amount 0.01`.split(' '),
      ...['--rpc', secretUrl, '--threshold', 'failed<1', '--node-metrics', `${secretUrl}&x=${other}`],
      ...['--out', out, '--samples', samples, '--blocks', blocks, '--hlog', hlog, '--junit', junit],
      ...['--contracts', contracts, '--log-level', 'debug', '--log-file', log, '--prometheus', String(port)],
    ];
    const running = startStress(args, { env: { STRESS_MNEMONIC: phrase, STRESS_FUNDER_KEY: funder.privateKey } });
    await running.waitFor(/^ +\d+\.\d s /m);
    const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const { code, stdout, stderr } = await running.done;

    const run = JSON.parse(readFileSync(out, 'utf8'));
    assert.ok(paths.length >= 4, `${paths.length} submissions were answered with what was in them`);
    assert.ok(run.counts.verified >= 1 && run.counts.verified < run.counts.started, JSON.stringify(run.counts));
    assert.notEqual(code, 0, stderr);
    assert.deepEqual(readdirSync(folder).sort(), [...files].sort(), 'every output is there, and nothing beside them');
    for (const name of files) assert.equal(statSync(join(folder, name)).mode & 0o022, 0, `others may change ${name}`);
    assert.match(page, /^stress_/m);
    const said = [stdout, stderr, page, ...files.map((name) => readFileSync(join(folder, name)))];
    const wallets = [parent.deriveChild(0), parent.deriveChild(1), parent, funder];
    assertHidden({ said, wallets, phrase, texts: [user, password, token, apiKey, other, basic] });
    assert.doesNotMatch(stdout + stderr, /\u001b/);
  });

  test('by a ws endpoint that says secrets of its URL, which look like words', async (t) => {
    const folder = temporaryFolder(t);
    const keys = join(folder, 'keys');
    const wallets = await newWallets(2);
    writeFileSync(keys, wallets.map(({ privateKey }) => privateKey).join('\n'), { mode: 0o600 });
    const [user, password, token] = ['nimbus', 'hunter pass', 'SuperSecretTokenOfThePath'];
    const [region, plain] = ['eu-north', 'nothing-but-words'];
    let sent = 0;
    const between = await serveBetween(chain.url, ({ method }) => {
      const words = `bad password: ${user}:${password} for /key/${token} in ${region} (${plain})`;
      if (method === 'web3_clientVersion') return { result: `Node of ${user} ${password} ${token}` };
      if (method !== 'eth_sendRawTransaction') return null;
      sent += 1;
      // Those before are deployments: the first increments are refused, however slow the machine is.
      if (sent <= 2) return null;
      return { error: { code: -32000, message: `${sent % 2 === 0 ? '-'.repeat(270) : ''}${words}` } };
    });
    const { host } = new URL((await startWsBefore(t, between.url)).url);
    const secretUrl = `ws://${user}:${encodeURIComponent(password)}@${host}/key/${token}?${plain}&region=${region}`;
    const words = `-t 2 --keys ${keys} -d 500ms --workers 2 -v --log-level debug --log-file DIR/log`;
    const { run, stdout, stderr, ...place } = await runOf(t, words, { rpc: secretUrl, exit: null });
    assert.match(run.failureWords.rejected, /bad password: \*\*\*|-{100}/, stderr);
    const said = [stdout, stderr, readFileSync(place.out), readFileSync(join(place.folder, 'log'))];
    const encoded = encodeURIComponent(password);
    const texts = [user, password, encoded, 'hunter', token, token.slice(0, 12), region, plain];
    assertHidden({ said, wallets, texts });
  });

  test('to the processes of the embedded chain', { skip: process.platform !== 'linux' }, async (t) => {
    const folder = temporaryFolder(t);
    const { phrase } = Mnemonic.fromEntropy(randomBytes(16));
    const [funder] = await newWallets(1);
    const password = randomBytes(16).toString('hex');
    const running = spawnStress(['-t', '1', '-d', '2s', '--interval', '200ms'], {
      env: {
        TMPDIR: folder,
        STRESS_MNEMONIC: phrase,
        STRESS_FUNDER_KEY: funder.privateKey,
        STRESS_NODE_METRICS: `http://user:${password}@127.0.0.1:1/${password}`,
      },
    });
    await running.waitFor(/^ +\d+\.\d s /m);
    const { keeper, chain: anvil } = chainProcesses(folder);
    assert.ok(keeper !== undefined && anvil !== undefined);
    const said = [keeper, anvil].flatMap((pid) =>
      ['cmdline', 'environ'].map((name) => readFileSync(`/proc/${pid}/${name}`)),
    );
    running.child.kill('SIGINT');
    const { stdout, stderr } = await running.done;
    assertHidden({ said: [...said, stdout, stderr], wallets: [funder], phrase, texts: [password] });
  });
});
