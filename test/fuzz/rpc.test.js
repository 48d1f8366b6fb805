/** Whatever an endpoint answers: a result comes of it, or one line that says what is wrong, and never a bug of ours. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { toHex } from '../../src/chain/answers.js';
import { createRpc } from '../../src/chain/rpc.js';
import { readOptions } from '../../src/cli/config.js';
import { readChain } from '../../src/core/connect.js';
import { Stop } from '../../src/core/stop.js';
import { setUp } from '../../src/core/setup.js';
import { detectors } from '../../src/inclusion/index.js';
import { createWorkload } from '../../src/workloads/index.js';
import { anyJson, assertHides, fuzz, nonsense, outcomeOf, secretUrl } from './inputs.js';
import { honestBlock, honestChain, rushingClock, transportTo } from './hostile-chain.js';
import { createFakeClock } from '../helpers/clock.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** @import { Block } from '../../src/contracts/chain.d.ts' */

const URL_OF = new URL('http://127.0.0.1:1');
const DISPLAY = 'http://127.0.0.1:1';
const HASH = `0x${'a'.repeat(64)}`;

/** The first wallets of the test mnemonic. */
const OWNERS = ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'];

/** Results of the wrong kind, and of the right one with something wrong. */
const wrongResult = fc.oneof(
  anyJson,
  nonsense,
  fc.constantFrom(null, 0, -1, '0x', '0x0', '-0x1', '0xffffffffffffffffffff', `0x${'f'.repeat(5000)}`, [], {}, [null]),
  fc.constantFrom({ length: 1e9 }, { toString: 1, toJSON: 1 }, [[[[]]]], { number: '0x1' }, '\u001b]0;title\u0007'),
);

/** @typedef {{how: 'replace' | 'drop' | 'member' | 'error' | 'add', value: any, at: number}} Spoiling */

/** @type {fc.Arbitrary<Spoiling>} */
const spoiling = fc.record({
  how: fc.constantFrom('replace', 'drop', 'member', 'member', 'error', 'add'),
  value: wrongResult,
  at: fc.nat(20),
});

/** @param {any} result an honest one @param {Spoiling} spoiling */
function spoil(result, { how, value, at }) {
  if (how === 'error') return { error: value };
  if (how === 'replace' || result === null || typeof result !== 'object') return { result: value };
  const names = Object.keys(result);
  const name = names[at % names.length];
  const rest = Object.fromEntries(Object.entries(result).filter(([other]) => other !== name));
  if (how === 'drop') return { result: rest };
  return { result: { ...rest, [how === 'add' ? '__proto__' : name]: value } };
}

describe('fuzz: answers of an endpoint', () => {
  test('any text, of any status', (t) => {
    const member = fc.constantFrom('jsonrpc', 'id', 'result', 'error', 'error.code', 'error.message', 'error.data');
    const input = fc.record({
      status: fc.constantFrom(200, 200, 200, 400, 401, 404, 429, 500, 502, 503),
      retryAfterMs: fc.constantFrom(null, 0, 5),
      text: fc.oneof(
        nonsense,
        anyJson.map((json) => JSON.stringify(json)),
        fc.nat(5000).map((n) => '['.repeat(n)),
      ),
      members: fc.array(fc.tuple(member, wrongResult), { maxLength: 5 }),
      cut: fc.nat(400),
      isText: fc.boolean(),
      calls: fc.integer({ min: 1, max: 7 }),
      secret: secretUrl,
    });
    return fuzz(t, { input, runs: 600 }, async (given) => {
      const echoed = `cannot serve ${given.secret.text.replace(/^[a-z]*/, 'http')} for you`;
      let posts = 0;
      const post = async (/** @type {string} */ body) => {
        posts += 1;
        const answers = [JSON.parse(body)].flat().map(({ id }) => {
          /** @type {any} */
          const answer = { jsonrpc: '2.0', id, result: '0x1' };
          for (const [path, value] of given.members) {
            const [name, inner] = path.split('.');
            answer[name] = inner === undefined ? value : { code: 1, message: echoed, [inner]: value };
          }
          return answer;
        });
        const whole = JSON.stringify(body.startsWith('[') ? answers : answers[0]);
        const text = given.isText ? given.text : given.cut < 100 ? whole.slice(0, given.cut) : whole;
        return { status: given.status, text, retryAfterMs: given.retryAfterMs };
      };
      const rpc = createRpc({ post }, DISPLAY);
      const one = await outcomeOf(() => rpc.call('eth_chainId', [], 'setup'));
      const requests = Array.from({ length: given.calls }, () => ({ method: 'eth_chainId', params: [] }));
      const many = await outcomeOf(() => rpc.batch(requests, 'setup'));
      assertHides(one.said + many.said + JSON.stringify(rpc.batchFacts()), given.secret.secrets);
      if (many.value !== undefined) assert.equal(many.value.length, given.calls);
      assert.ok(posts <= 100, `${posts} posts`);
    });
  });

  const methods = [
    ...['eth_chainId', 'web3_clientVersion', 'eth_getBlockByNumber', 'eth_getBalance', 'eth_getTransactionCount'],
    ...['eth_gasPrice', 'eth_maxPriorityFeePerGas', 'eth_getCode', 'eth_estimateGas', 'eth_call'],
    ...['eth_sendRawTransaction', 'eth_getTransactionReceipt'],
  ];

  /** @param {Map<string, Spoiling>} spoiled by method */
  function endpoint(spoiled) {
    const honest = honestChain();
    return createRpc(
      transportTo((method, params) => {
        const how = spoiled.get(method);
        const result = honest(method, params);
        return how === undefined ? { result } : spoil(result, how);
      }),
      DISPLAY,
    );
  }

  const spoiledMethods = fc
    .array(fc.tuple(fc.constantFrom(...methods), spoiling), { minLength: 1, maxLength: 2 })
    .map((pairs) => new Map(pairs));

  /** As of the command line: the set-up gets no option that a run does not have. */
  const configOf = async () =>
    (await readOptions({ command: 'run', parsed: { threads: '2', duration: '1s', 'tx-timeout': '2s' } })).config;

  test('who the endpoint is', (t) =>
    fuzz(t, { input: spoiledMethods, runs: 300 }, async (spoiled) => {
      const { value } = await outcomeOf(() =>
        readChain(endpoint(spoiled), URL_OF, { chainId: null, allowChain: null }, createFakeClock()),
      );
      if (value === undefined) return;
      assert.equal(typeof value.chainId, 'number');
      assert.ok(value.genesisHash === null || typeof value.genesisHash === 'string', JSON.stringify(value.genesisHash));
      assert.ok(value.clientVersion === null || value.clientVersion.length <= 103);
    }));

  test('a whole set-up: chain, fees, funds, contracts', async (t) => {
    const config = await configOf();
    const contractsFile = join(temporaryFolder(t), 'contracts.json');
    const known = Object.fromEntries(OWNERS.map((owner) => [owner, owner]));
    const { hash: genesisHash } = honestBlock(0);
    return fuzz(t, { input: spoiledMethods, runs: 400, seconds: 5 }, async (spoiled) => {
      writeFileSync(contractsFile, JSON.stringify({ schema: 'evm-stress/contracts@1', genesisHash, contracts: known }));
      const rpc = endpoint(spoiled);
      const context = {
        clock: rushingClock(),
        outputs: [],
        onProgress: () => {},
        stop: new Stop(),
        log: { info: () => {}, warn: () => {} },
      };
      const workload = await createWorkload('counter', { rpc, settings: { contracts: contractsFile } });
      const endpoints = {
        rpc,
        rpcs: [rpc],
        sending: null,
        identity: null,
        urlCheck: { begin: async () => {}, again: async () => null },
      };
      const run = /** @type {any} */ ({
        ...{ config, context, isEmbedded: false, notice: () => {} },
        keys: { source: null, funder: null },
        network: { urls: [URL_OF], endpoints },
        plan: { own: config, workload, callLoad: null },
      });
      await outcomeOf(() => setUp(run));
    });
  });
});

describe('fuzz: blocks', () => {
  for (const name of Object.keys(detectors)) {
    test(`detector ${name}: after any block it goes on, and finds what is in the next one`, (t) => {
      const input = fc.record({
        spoiled: spoiling,
        spoiledMethod: fc.constantFrom('eth_blockNumber', 'eth_getBlockByNumber', 'eth_getTransactionReceipt'),
      });
      return fuzz(t, { input, runs: 250, seconds: 5 }, async ({ spoiled, spoiledMethod }) => {
        const clock = rushingClock();
        let isHostile = true;
        let head = 102;
        /** @type {Record<string, (param: any) => unknown>} */
        const honest = {
          eth_blockNumber: () => toHex(head),
          eth_getBlockByNumber: (number) =>
            Number(number) > head ? null : honestBlock(Number(number), Number(number) === 104 ? [HASH] : []),
          eth_getTransactionReceipt: () =>
            head < 104 ? null : { blockNumber: toHex(104), blockHash: honestBlock(104).hash, status: '0x1' },
        };
        const rpc = createRpc(
          transportTo((method, [param]) => {
            const result = honest[method](param);
            return isHostile && method === spoiledMethod ? spoil(result, spoiled) : { result };
          }),
          DISPLAY,
        );
        /** @type {Block[]} */
        const blocks = [];
        /** @type {string[]} */
        const found = [];
        const detector = detectors[name].create({ rpc, clock, head: 100, onBlock: (block) => blocks.push(block) });
        const watch = () => detector.watch(HASH, { setInclusion: (_, { hash }) => found.push(hash) });
        if (spoiledMethod === 'eth_getTransactionReceipt') watch();
        await turns(60);
        isHostile = false;
        await turns(60);
        head = 104;
        watch();
        await turns(200);
        const { lastError } = detector.stats();
        await detector.stop();
        for (const block of blocks) {
          assert.equal(typeof block.hash, 'string', JSON.stringify(block.hash));
          assert.ok(Number.isSafeInteger(block.transactions) && block.transactions >= 0);
        }
        assert.ok(found.length === 1, `found ${found.length} times; the last error: ${lastError?.stack}`);
      });
    });
  }

  /** @param {number} count of the event loop */
  async function turns(count) {
    for (let i = 0; i < count; i += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  test('an endpoint whose chain has no end does not keep a detector from stopping', async () => {
    for (const name of Object.keys(detectors)) {
      const rpc = createRpc(
        transportTo((method, [number]) => ({
          result: method === 'eth_blockNumber' ? '0x1fffffffffffff' : honestBlock(Number(number)),
        })),
        DISPLAY,
      );
      const detector = detectors[name].create({ rpc, clock: rushingClock(), head: 100, onBlock: () => {} });
      await turns(30);
      const stopped = detector.stop().then(() => 'stopped');
      const late = new Promise((resolve) => setTimeout(resolve, 2000, 'still reading').unref());
      assert.equal(await Promise.race([stopped, late]), 'stopped', name);
    }
  });
});
