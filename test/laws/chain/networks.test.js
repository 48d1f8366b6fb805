import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { mainnetsText } from '../../../scripts/make-networks.js';
import {
  DEV_CHAIN_IDS,
  PUBLIC_MAINNETS,
  checkChain,
  devMnemonicAllowed,
  isLocalChain,
  isLoopback,
} from '../../../src/chain/networks.js';
import { RefusedError } from '../../../src/errors.js';
import { caught } from '../../helpers/caught.js';

const LOCAL = 'http://127.0.0.1:8545';
const REMOTE = 'https://rpc.example.org/';

describe('isLoopback()', () => {
  /** @type {Array<[string, boolean]>} */
  const table = [
    ['http://127.0.0.1:8545', true],
    ['http://127.1', true], // a URL writes it out: 127.0.0.1
    ['http://localhost:1', true],
    ['http://[::1]:8545', true],
    ['http://user:pass@127.0.0.1/', true],
    ['http://128.0.0.1', false],
    ['http://[::2]', false],
    ['http://127.0.0.1.example.org', false],
    ['http://localhost.example.org', false],
    ['http://127.0.0.1@example.org/', false],
  ];
  for (const [url, expected] of table)
    it(`${url}: ${expected}`, () => assert.equal(isLoopback(new URL(url)), expected));
});

describe('devMnemonicAllowed()', () => {
  /** @type {Array<[string, number, boolean]>} */
  const table = [
    [LOCAL, 31337, true],
    [LOCAL, 1337, true],
    ['http://[::1]:9', 31337, true],
    [LOCAL, 43112, false],
    [LOCAL, 1, false],
    [REMOTE, 31337, false],
  ];
  for (const [url, chainId, expected] of table) {
    it(`chain ${chainId} at ${url}: ${expected}`, () =>
      assert.equal(devMnemonicAllowed(new URL(url), chainId), expected));
  }
});

it('a chain is local on this machine, or by the id of a development chain; a mainnet never is', () => {
  const isLocal = (/** @type {number} */ chainId, /** @type {string[]} */ ...urls) =>
    isLocalChain(
      urls.map((url) => new URL(url)),
      chainId,
    );
  assert.deepEqual([isLocal(5, LOCAL), isLocal(31337, REMOTE)], [true, true]);
  assert.deepEqual([isLocal(5, LOCAL, REMOTE), isLocal(1, LOCAL)], [false, false]);
});

describe('checkChain()', () => {
  /** @type {Array<[string, number, number | null, number | null, RegExp | null]>} URL, what it is, --chain-id, --allow-chain, refusal */
  const table = [
    [LOCAL, 31337, null, null, null],
    [LOCAL, 424242, null, null, null],
    [LOCAL, 31337, 1337, null, /^http:\/\/127\.0\.0\.1:8545 is chain 31337, not 1337 as --chain-id says$/],
    [LOCAL, 1, null, null, /^chain 1 is Ethereum, .*--allow-chain 1$/],
    [LOCAL, 1, null, 1, null],
    [REMOTE, 31337, null, null, null],
    [REMOTE, 1337, null, null, null],
    [REMOTE, 424242, null, null, /^chain 424242 is neither on this machine nor .*--chain-id 424242$/],
    [REMOTE, 424242, null, 424242, /--chain-id 424242$/],
    [REMOTE, 424242, 424242, null, null],
    [REMOTE, 137, 137, null, /^chain 137 is Polygon, .*--allow-chain 137$/],
    [REMOTE, 137, null, 137, /--chain-id 137$/],
    [REMOTE, 137, 137, 137, null],
    [REMOTE, 0, null, null, /--chain-id 0$/],
  ];
  for (const [url, chainId, expected, allowed, refusal] of table) {
    const flags = [expected && `--chain-id ${expected}`, allowed && `--allow-chain ${allowed}`].filter(Boolean);
    it(`chain ${chainId} at ${url} ${flags.join(' ')}: ${refusal === null ? 'goes on' : 'refused'}`, async () => {
      const check = () => checkChain(new URL(url), chainId, expected, allowed);
      if (refusal === null) return check();
      const error = await caught(check);
      assert.ok(error instanceof RefusedError, String(error));
      assert.equal(error.exitCode, 77);
      assert.match(error.message, refusal);
    });
  }

  it('refuses each public mainnet, near and far, unless it is allowed by its own id', async () => {
    for (const [chainId, name] of PUBLIC_MAINNETS) {
      for (const url of [LOCAL, REMOTE].map((text) => new URL(text))) {
        const { message } = await caught(() => checkChain(url, chainId, chainId, null));
        assert.ok(message.startsWith(`chain ${chainId} is ${name}, `), message);
        assert.throws(() => checkChain(url, chainId, chainId, chainId + 1), RefusedError);
        checkChain(url, chainId, chainId, chainId);
      }
    }
  });

  it('knows the networks whose coins are worth most, and takes no development chain for one', () => {
    const required = {
      ...{ Ethereum: 1, 'OP Mainnet': 10, 'Flare Mainnet': 14, 'Songbird Canary-Network': 19, Gnosis: 100 },
      ...{ 'BNB Smart Chain': 56, Monad: 143, Abstract: 2741, Plasma: 9745, HyperEVM: 999, 'X Layer Mainnet': 196 },
      ...{ Polygon: 137, Base: 8453, 'Arbitrum One': 42161, Avalanche: 43114 },
    };
    for (const [name, chainId] of Object.entries(required)) assert.equal(PUBLIC_MAINNETS.get(chainId), name);
    for (const chainId of DEV_CHAIN_IDS) assert.ok(!PUBLIC_MAINNETS.has(chainId), String(chainId));
  });
});

describe('src/chain/mainnets.json', () => {
  const isThere = existsSync(new URL('../../../node_modules/viem', import.meta.url));
  it('is what the script makes of the chains that viem knows', { skip: !isThere && 'viem is not installed' }, () => {
    const committed = readFileSync(new URL('../../../src/chain/mainnets.json', import.meta.url), 'utf8');
    assert.ok(committed === mainnetsText(), 'src/chain/mainnets.json is not up to date: npm run networks');
  });

  it('has no testnet and no local chain', () => {
    for (const chainId of [11155111, 17000, 560048, 80002, 43113, 84532, 421614, 1281])
      assert.ok(!PUBLIC_MAINNETS.has(chainId), String(chainId));
    assert.ok(PUBLIC_MAINNETS.size > 390, String(PUBLIC_MAINNETS.size));
  });
});
