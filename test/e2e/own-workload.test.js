/** Workloads of the user's own, from the template and the examples to those that go wrong in mid-run. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { id } from 'ethers';
import { anvilFor, rpcCall, startAnvil } from '../helpers/anvil.js';
import { ROOT, exited, readJson, runStress, spawnStress } from '../helpers/cli.js';
import { runOf, startOf } from '../helpers/run-of.js';
import { temporaryFolder } from '../helpers/temporary.js';
import { until } from '../helpers/until.js';

/**
 * @import { TestContext } from 'node:test'
 */

const CONTRACT = "export const contract = 'evm-stress/workload@1';\n";
const PAY = "next: () => ({ to: '0x' + '11'.repeat(20), value: 1n })";

const chain = anvilFor('--accounts 200 -b 0.1');

/** @param {TestContext} t @param {string} workload file @param {string} words @param {number} [exit] */
const run = (t, workload, words, exit) => runOf(t, `--workload ${workload} ${words}`, { chain, threads: 4, exit });

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
  for (const [name, words] of [
    ['storage-writer', '--set slots=3 --in-flight 2'],
    ['contract-deployment', '--set kilobytes=2'],
    ['access-list', '--set slots=3 --legacy'],
    ['set-code', '--in-flight 2 --workers 2'],
  ])
    it(`${name}: exact`, async (t) => {
      const file = join(ROOT, 'docs', 'examples', `${name}.js`);
      assert.ok(readFileSync(file, 'utf8').trimEnd().split('\n').length < 60);
      const { audit, counts } = (await run(t, file, `-d 1s ${words}`)).run;
      assert.ok(counts.verified > 0);
      assert.deepEqual([counts.failed, audit.exact, audit.effectsOnChain], [0, true, String(counts.verified)]);
    });

  it('token: a token that is on the chain already, exact; no other address', async (t) => {
    const { bytecode } = readJson(join(ROOT, 'contracts', 'artifacts', 'Token.json'));
    const [from] = await chain.rpc('eth_accounts');
    const send = async (/** @type {object} */ transaction) => {
      const hash = await chain.rpc('eth_sendTransaction', [{ from, ...transaction }]);
      await until(async () => (await chain.rpc('eth_getTransactionReceipt', [hash])) !== null);
      return chain.rpc('eth_getTransactionReceipt', [hash]);
    };
    const { contractAddress: to } = await send({ data: bytecode });
    const mint = id('mint(uint256)').slice(0, 10);
    await send({ to, data: mint + (1_000_000).toString(16).padStart(64, '0') });
    const file = join(ROOT, 'docs', 'examples', 'token.js');
    const { audit, counts } = (
      await runOf(t, `--workload ${file} -d 1s --set address=${to}`, { chain, threads: 4, offset: 0 })
    ).run;
    assert.ok(counts.verified > 0);
    assert.deepEqual([counts.failed, audit.exact, audit.effectsOnChain], [0, true, String(counts.verified)]);
    const none = await run(t, file, `-d 1s --set address=0x${'0'.repeat(35)}abcde`, 65);
    assert.match(none.stderr, /it is no token of this chain/);
    const mine = write(t, `next: () => ({ to: '0x${'0'.repeat(35)}abcde', data: '0x12345678' })`);
    assert.match((await run(t, mine, '-d 1s', 65)).stderr, /where this chain has no code/);
  });
});

for (const [workload, hardfork, words] of /** @type {Array<[string, string, RegExp]>} */ ([
  [join(ROOT, 'docs', 'examples', 'blobs.js'), 'shanghai', /eth_getBlockByNumber: excessBlobGas is not there: .+/],
  ['blobs', 'shanghai', /eth_getBlockByNumber: excessBlobGas is not there: .+/],
  ['set-code', 'cancun', /no requestsHash and there are no precompiles of the Prague fork: .+/],
]))
  it(`${workload.split('/').at(-1)} on a chain of the fork ${hardfork}: one line, before anything is sent`, async (t) => {
    // Its first block alone states blobs.
    const { url, stop } = await startAnvil({ args: ['--hardfork', hardfork, '-b', '0.1'] });
    t.after(stop);
    await until(async () => Number(await rpcCall(url, 'eth_blockNumber')) >= 1);
    const { stderr } = await exited(69, ['--rpc', url, '-t', '1', '-d', '5s', '--workload', workload]);
    assert.match(stderr, new RegExp(`^stress: http\\S+: .*${words.source}\n$`));
    const [from] = /** @type {string[]} */ (await rpcCall(url, 'eth_accounts'));
    assert.equal(Number(await rpcCall(url, 'eth_getTransactionCount', [from, 'pending'])), 0);
  });

it('--workload set-code: as many authorizations as operations, by the transactions of the chain', async (t) => {
  const before = Number(await chain.rpc('eth_blockNumber'));
  const { run: file, stdout } = await run(t, 'set-code', '-d 1s --in-flight 2 --workers 2');
  const count = Number(await chain.rpc('eth_blockNumber')) - before;
  const blocks = await Promise.all(
    Array.from({ length: count }, (_, i) =>
      chain.rpc('eth_getBlockByNumber', [`0x${(before + 1 + i).toString(16)}`, true]),
    ),
  );
  const setting = blocks
    .flatMap(({ transactions }) => transactions)
    .filter((/** @type {any} */ { type }) => type === '0x4');
  assert.deepEqual([file.counts.failed, file.audit.exact, setting.length], [0, true, file.counts.verified], stdout);
  for (const { authorizationList } of setting) assert.equal(authorizationList.length, 1);
  assert.match(stdout, /accounts whose nonce is the number of their authorizations: 4, as expected/);
  assert.match(stdout, /accounts that have the code of the contract: 4, as expected/);
});

describe('stress new-workload', () => {
  it('writes a workload that runs as it is, and never over another file', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'package.json'), '{"type":"commonjs"}');
    const made = await exited(0, ['new-workload', 'mine.mjs'], { cwd });
    assert.match(made.stdout, /^next: stress -t 5 -d 3s --workload mine\.mjs$/m);
    const again = await runStress(['new-workload', 'mine.mjs'], { cwd });
    assert.deepEqual([again.code, again.stderr], [73, 'stress: mine.mjs is there already: give another name\n']);
    assert.equal((await run(t, join(cwd, 'mine.mjs'), '-d 1s')).run.audit.exact, true);
  });
});

describe('stress new-workload FILE.sol', () => {
  const SOURCE = `contract Helper { function f() external {} }
contract Box {
  struct Item { uint8 kind; int8[2] pair; bytes3 tag; }
  uint256 public count;
  constructor(uint256 first, address owner) { require(owner != address(0)); count = first; }
  function add(Item[] calldata items, string calldata) external { count += items.length; }
  function pay(address to) external payable { require(to != address(0)); count += 1; }
  function look() external view returns (uint256) { return count; }
}`;

  it('writes a workload that deploys the contract and calls its functions, also in worker threads', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'Two.sol'), SOURCE);
    const unclear = await exited(65, ['new-workload', 'Two.sol'], { cwd });
    assert.match(
      unclear.stderr,
      /^stress: Two\.sol: name one of .*new-workload Two\.sol:NAME; the source has Box, Helper\n$/,
    );
    const { stdout } = await exited(0, ['new-workload', 'Two.sol:Box'], { cwd });
    assert.match(stdout, /^next: stress -t 5 -d 3s --workload box\.mjs$/m);
    const text = readFileSync(join(cwd, 'box.mjs'), 'utf8');
    assert.ok(!text.includes('look()') && text.includes('function pay(address to) payable'));
    writeFileSync(join(cwd, 'all.mjs'), text.replaceAll('  // ({ next', '  ({ next'));
    for (const file of [join(cwd, 'box.mjs'), join(cwd, 'all.mjs')]) {
      const { audit, counts, failures, failureWords } = (await run(t, file, '-d 1s --workers 2')).run;
      assert.ok(counts.verified > 0);
      assert.deepEqual([failures, audit.exact], [{}, true], JSON.stringify(failureWords));
    }
  });

  it('a contract that only reads, or is none, is refused in one line', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'Read.sol'), 'contract Read { function f() external pure {} }');
    assert.match(
      (await exited(65, ['new-workload', 'Read.sol'], { cwd })).stderr,
      /^stress: Read\.sol has no function that/,
    );
    const { stderr } = await exited(65, ['new-workload', 'none.sol'], { cwd });
    assert.equal(stderr, 'stress: cannot read none.sol: no such file\n');
  });
});

describe('what goes wrong in mid-run is counted, named and bounded', () => {
  it('next() throws: wallets are given up, and the run ends with the line', async (t) => {
    const file = write(t, `next() { if (n++ > 20) throw new Error('tired'); return { to: null, data: '0x00' }; }`);
    const { stderr, stdout, run: result } = await run(t, file, '', 65);
    assert.match(stderr, /mine\.mjs: next\(\) threw: tired \(at .*mine\.mjs:6:\d+\)/);
    assert.match(stdout, /workload_error +[\d,]+ +[\d.]+ % +.*mine\.mjs: next\(\) threw: tired/);
    const { end, audit, failures, counts } = result;
    assert.deepEqual([end, audit.exact, failures.workload_error], ['workload_failed', true, counts.failed]);
  });

  it('verify() throws, in worker threads, too: what it was asked about is found executed', async (t) => {
    const { audit, counts } = (await run(t, write(t, `${PAY}, verify() { throw 5; }`), '--workers 2', 65)).run;
    assert.equal(counts.verified, 0);
    assert.ok(audit.includedLate > 0 && audit.exact);
  });

  it('what it throws by itself ends the run, and not as a bug of stress', async (t) => {
    const stray = `next() { if (n++ === 20) setTimeout(() => { throw new Error('stray'); }); return { to: null }; }`;
    const { stderr, run: result } = await run(t, write(t, stray), '', 65);
    assert.match(stderr, /mine\.mjs: an error outside of its functions: stray \(at .*mine\.mjs:6:\d+\)/);
    assert.equal(result.audit.exact, true);
  });

  it('one that ends the process has not ended well', async (t) => {
    const ends = await run(t, write(t, `next() { process.exit(0); }`), '', 65);
    assert.match(ends.stderr, /mine\.mjs: the process was ended before the run was over/);
    const late = write(t, `next() { if (!isMain) process.exit(0); return { to: null, gasLimit: 60000n }; }`);
    const isMain = "(await import('node:worker_threads')).isMainThread";
    writeFileSync(late, `const isMain = ${isMain};\n${readFileSync(late, 'utf8')}`);
    assert.match((await run(t, late, '--workers 2', 65)).stderr, /mine\.mjs ended a worker thread/);
  });

  it('timers of its own keep no process alive', async (t) => {
    const file = write(t, PAY, 'setInterval(() => {}, 1000);');
    await runOf(t, `--workload ${file} -d 1s`, { chain, threads: 4, start: spawnStress });
  });

  for (const [what, code] of /** @type {Array<[string, string]>} */ ([
    ['an import', "process.stdout.write('begins\\n'); await new Promise(() => {});"],
    ['a prepare()', `${PAY}, prepare: () => { process.stdout.write('begins\\n'); return new Promise(() => {}); }`],
  ]))
    it(`${what} that never ends is ended by Ctrl-C`, async (t) => {
      const file = write(t, code);
      if (what === 'an import') writeFileSync(file, code);
      const stress = startOf(t, `--workload ${file}`, { chain, threads: 4, start: spawnStress });
      await stress.waitFor(/begins/);
      stress.child.kill('SIGINT');
      await stress.end(130);
    });
});
