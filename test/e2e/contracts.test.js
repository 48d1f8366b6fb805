/** Calls of any contract, as a user gives them, against a real anvil; what happened is counted again from its receipts. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Interface } from 'ethers';
import { compile } from '../../src/workloads/solidity.js';
import { anvilFor } from '../helpers/anvil.js';
import { ROOT, readJson } from '../helpers/cli.js';
import { runOf } from '../helpers/run-of.js';
import { temporaryFolder } from '../helpers/temporary.js';
import { until } from '../helpers/until.js';

/** @import { TestContext } from 'node:test' */

const chain = anvilFor('--accounts 100 --block-time 0.2');
const TOKEN = new Interface(['function mint(uint256)', 'function transfer(address,uint256) returns (bool)']);
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

/** A contract with a limit, which takes coins. */
const LIMITED = `contract Limited {
  error Full(uint256 limit);
  uint256 public count;
  uint256 public limit;
  constructor(uint256 limit_) { limit = limit_; }
  function add() external { if (count >= limit) revert Full(limit); count += 1; }
  function pay() external payable {}
}`;

/** @param {object} transaction @returns {Promise<any>} its receipt */
async function send(transaction) {
  const [from] = await chain.rpc('eth_accounts');
  const hash = await chain.rpc('eth_sendTransaction', [{ from, ...transaction }]);
  await until(async () => (await chain.rpc('eth_getTransactionReceipt', [hash])) !== null);
  return chain.rpc('eth_getTransactionReceipt', [hash]);
}

/** Receipts of calls of an address. @param {string} to @returns {Promise<any[]>} */
async function receiptsOf(to) {
  const head = Number(await chain.rpc('eth_blockNumber'));
  const blocks = Array.from({ length: head }, (_, i) =>
    chain.rpc('eth_getBlockReceipts', [`0x${(i + 1).toString(16)}`]),
  );
  return (await Promise.all(blocks)).flat().filter((receipt) => receipt.to?.toLowerCase() === to.toLowerCase());
}

/** @param {TestContext} t @param {string} words @param {object} [options] */
const run = (t, words, options) => runOf(t, words, { chain, threads: 5, ...options });

/** Its artifact. */
const FILE = join(temporaryFolder({ after }), 'Limited.json');
before(async () => writeFileSync(FILE, JSON.stringify(await compile(LIMITED, { place: 'Limited.sol' }))));

describe('--workload contract', () => {
  it('loads a token that is on the chain already: exact, and as many as the receipts of the chain have', async (t) => {
    const { bytecode } = readJson(join(ROOT, 'contracts', 'artifacts', 'Token.json'));
    const { contractAddress: to } = await send({ data: bytecode });
    const words = `--workload contract --contract-address ${to} --function transfer(address,uint256) --args {{wallet.next}},1`;
    const { stderr } = await run(t, `${words} -d 1s`, { exit: 69 });
    assert.match(stderr, /transfer\(address,uint256\) fails for wallet \d+ \(0x\w{40}\): .*revert/);
    assert.equal((await receiptsOf(to)).length, 0);
    const { run: file, stdout } = await run(
      t,
      `${words} --before mint(uint256) --before-args 1000 --check-event Transfer(address,address,uint256) -d 2s --workers 2`,
    );
    const receipts = await receiptsOf(to);
    const paid = receipts.filter(({ logs: [{ topics }] }) => topics[0] === TRANSFER && !/^0x0+$/.test(topics[1]));
    assert.ok(file.counts.verified > 10);
    assert.deepEqual([paid.length, receipts.length], [file.counts.verified, file.counts.verified + 5], 'and the mints');
    assert.ok(receipts.every(({ status }) => status === '0x1'));
    assert.equal(file.audit.exact, true, stdout);
    assert.match(stdout, new RegExp(`operations with an event Transfer\\(.*: ${file.counts.verified}, as expected`));
  });

  it('an event that is not there makes the audit not exact, and names a transaction', async (t) => {
    const artifact = join(temporaryFolder(t), 'Silent.json');
    const { bytecode } = readJson(join(ROOT, 'contracts', 'artifacts', 'Nft.json'));
    writeFileSync(artifact, JSON.stringify({ abi: ['function mint(uint256)', 'event Gone(uint256)'], bytecode }));
    const words = `--workload contract --deploy ${artifact} --function mint --args {{unique}} --check-event Gone -d 1s`;
    const { run: file } = await run(t, words, { exit: 76 });
    assert.equal(file.audit.exact, false);
    const check = file.audit.checks.find((/** @type {any} */ one) => one.name === 'events');
    assert.match(check.found, /^0 \(0x[0-9a-f]{64} has none\)$/);
  });

  it('a call that reverts during the load says why, in words', async (t) => {
    const words = `--workload contract --deploy ${FILE} --deploy-args 12 --function add -d 2s`;
    const { run: file, stdout } = await run(t, words);
    assert.equal(file.counts.verified, 12);
    assert.ok(file.failures.reverted > 5 && file.audit.exact, stdout);
    assert.match(file.failureWords.reverted, /^transaction 0x\w+ in block \d+: reverted: Full\(limit 12\)$/);
  });

  it('no more value than --max-value is transferred', async (t) => {
    const words = `--workload contract --deploy ${FILE} --deploy-args 1 --function pay --call-value 3gwei`;
    const refused = await run(t, `${words} --max-value 5gwei -d 10s`, { exit: 77 });
    assert.match(refused.stderr, /expected to transfer .* gwei, and --max-value allows 5 gwei/);
    const { run: file, stdout } = await run(t, `${words} --max-value 100gwei --workers 2 --in-flight 2`, { exit: 77 });
    assert.match(stdout, /^value: 3 gwei with each operation, .*; --max-value 100 gwei$/m);
    const balance = BigInt(await chain.rpc('eth_getBalance', [file.environment.workload.contract, 'latest']));
    assert.equal(balance, 3_000_000_000n * BigInt(file.counts.verified));
    assert.ok(balance > 80_000_000_000n && balance <= 100_000_000_000n, String(balance));
    assert.equal(file.end, 'max_value');
    assert.equal(
      BigInt(file.spending.leftWei) - BigInt(file.spending.spentWei) + BigInt(file.spending.setUpWei),
      balance,
    );
  });
});

it('--workload erc20 loads a token that is on the chain already: exact, and as many as its receipts have', async (t) => {
  const { bytecode } = readJson(join(ROOT, 'contracts', 'artifacts', 'Token.json'));
  const { contractAddress: to } = await send({ data: bytecode });
  const poor = await run(t, `--workload erc20 --set address=${to} -d 1s`, { exit: 69 });
  assert.match(
    poor.stderr,
    /^stress: 5 of 5 wallets cannot pay [\d,]+ units? of the token .* has 0; pay the wallets tokens/,
  );
  const mints = `--workload contract --contract-address ${to} --function mint(uint256) --args 1000000 --iterations 1`;
  const { offset, run: minted } = await run(t, mints);
  const { run: file, stdout } = await run(t, `--workload erc20 --set address=${to} -d 2s --workers 2`, { offset });
  const receipts = await receiptsOf(to);
  assert.ok(file.counts.verified > 10 && file.counts.failed === 0);
  assert.equal(receipts.length, file.counts.verified + minted.counts.verified);
  assert.equal(file.audit.exact, true, stdout);
});

describe('docs/examples', () => {
  for (const name of ['erc20', 'erc721', 'pair'])
    it(`${name}.json: exact, with an event of each operation`, async (t) => {
      const file = join(ROOT, 'docs', 'examples', `${name}.json`);
      const { workloads = {} } = JSON.parse(readFileSync(file, 'utf8'));
      const { run: found, stdout } = await run(t, `--config ${file} -d 2s`, { cwd: ROOT });
      assert.ok(found.counts.verified > 10 && found.audit.exact, stdout);
      assert.equal(found.counts.failed, 0);
      for (const member of Object.keys(workloads)) assert.ok(found.byName[member].counts.verified > 0, member);
      const events = found.audit.checks.filter((/** @type {any} */ { words }) => /with an event/.test(words));
      const sum = events.reduce((/** @type {number} */ all, /** @type {any} */ one) => all + Number(one.found), 0);
      assert.equal(sum, found.counts.verified);
    });
});

it('a contract call is one that is sent, whatever its data: the token is called by its name in a mix', async (t) => {
  const data = TOKEN.encodeFunctionData('mint', [7]);
  const artifact = join(ROOT, 'contracts', 'artifacts', 'Token.json');
  const workloads = JSON.stringify({ raw: { deploy: artifact, calldata: data } });
  const { run: file } = await run(
    t,
    `--mix raw:50,counter:50 --workloads ${workloads} -d 1s --threshold calls.raw.failed=0`,
  );
  const { contract } = file.environment.workload.mix[0];
  assert.equal((await receiptsOf(contract)).length, file.byName.raw.counts.verified);
});
