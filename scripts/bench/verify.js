/**
 * How long stress verify takes, and its memory: npm run bench:verify -- [--operations 1000000] [--block 1000]
 *
 * A server gives blocks and receipts of the size of geth's; the evidence is of a run at 1,000 operations per second, so that a tenth of its time is
 * the limit.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { FIGURES } from '../../src/evidence/figures.js';
import { blockLine, headerLine, lineOf, walletLine, walletLines } from '../../src/evidence/format.js';

/** @typedef {{operations: number, perBlock: number, wallets: number}} Size */

const STRESS = fileURLToPath(new URL('../../bin/stress.js', import.meta.url));
const KINDS = ['genesis', 'block', 'tx'];
const TPS = 1000;
const FIRST = 100;
const GENESIS = hashOf('genesis', 0);

/** @param {string} kind @param {number} number */
function hashOf(kind, number) {
  return `0x${KINDS.indexOf(kind)}${number.toString(16).padStart(63, '0')}`;
}

const hex = (/** @type {number} */ value) => `0x${value.toString(16)}`;
const addressOf = (/** @type {number} */ wallet) => `0xaa${wallet.toString(16).padStart(38, '0')}`;
const BLOOM = `0x${'00'.repeat(256)}`;

/** The operations of a block go round the wallets. @param {Size} size @param {number} i block of the run @returns {number[]} numbers of operations */
function operationsOf({ perBlock }, i) {
  return Array.from({ length: perBlock }, (_, at) => i * perBlock + at);
}

/** @param {Size} size @param {number} number */
function blockOf(size, number) {
  const transactions = number < FIRST ? [] : operationsOf(size, number - FIRST).map((n) => hashOf('tx', n));
  const header = { number: hex(number), hash: hashOf('block', number), parentHash: hashOf('block', number - 1) };
  const gas = { gasUsed: hex(21_000 * transactions.length), gasLimit: hex(300_000_000), timestamp: hex(number) };
  return { ...header, ...(number === 0 && { hash: GENESIS }), ...gas, transactions };
}

/** @param {Size} size @param {number} number */
function receiptsOf(size, number) {
  return operationsOf(size, number - FIRST).map((n, i) => ({
    ...{ transactionHash: hashOf('tx', n), transactionIndex: hex(i), blockHash: hashOf('block', number) },
    ...{ blockNumber: hex(number), from: addressOf(n % size.wallets), to: addressOf(n), contractAddress: null },
    ...{ cumulativeGasUsed: hex(21_000 * (i + 1)), gasUsed: '0x5208', effectiveGasPrice: '0x3b9aca00' },
    ...{ logs: [], logsBloom: BLOOM, status: '0x1', type: '0x2' },
  }));
}

/** @param {Size} size @param {{method: string, params: any[]}} request */
function answerTo(size, { method, params }) {
  const last = FIRST + size.operations / size.perBlock;
  if (method === 'eth_chainId') return '0x1';
  if (method === 'eth_blockNumber') return hex(last);
  if (method === 'eth_getBlockByNumber') return blockOf(size, params[0] === 'latest' ? last : Number(params[0]));
  if (method === 'eth_getBlockReceipts') return receiptsOf(size, Number(params[0]));
  // A transaction is looked up for its nonce: those of a wallet are the first and the last one.
  const [wallet, isLast] = nonces.get(params[0]) ?? [0, false];
  const each = size.operations / size.wallets;
  return { hash: params[0], from: addressOf(wallet), nonce: hex(isLast ? each - 1 : 0), gas: '0x5208', input: '0x' };
}

/** By hash: the wallet, and whether it is its last one. @type {Map<string, [number, boolean]>} */
const nonces = new Map();

/** @param {Size} size */
async function serve(size) {
  const { operations, wallets } = size;
  for (let wallet = 0; wallet < wallets; wallet += 1) {
    nonces.set(hashOf('tx', wallet), [wallet, false]);
    nonces.set(hashOf('tx', operations - wallets + wallet), [wallet, true]);
  }
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      const json = JSON.parse(body);
      const answers = [json].flat().map((one) => ({ jsonrpc: '2.0', id: one.id, result: answerTo(size, one) }));
      response.end(JSON.stringify(Array.isArray(json) ? answers : answers[0]));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  process.stdout.write(`${/** @type {import('node:net').AddressInfo} */ (server.address()).port}\n`);
}

/** @param {string} file @param {Size} size */
async function writeEvidence(file, { operations, perBlock, wallets }) {
  const body = createHash('sha256');
  const stream = createWriteStream(file);
  let bytes = 0;
  const add = (/** @type {string} */ line) => {
    body.update(line);
    bytes += line.length;
    stream.write(line);
  };
  add(headerLine('bench', { id: 1, genesis: GENESIS }));
  for (let wallet = 0; wallet < wallets; wallet += 1) add(walletLine({ address: addressOf(wallet), nonce: 0 }));
  const blocks = operations / perBlock;
  for (let number = FIRST; number < FIRST + blocks; number += 1) {
    const gas = { gasUsed: 21_000 * perBlock, gasLimit: 300_000_000, timestampS: number };
    const counts = { transactions: perBlock, succeeded: perBlock, reverted: 0 };
    add(blockLine({ number, hash: hashOf('block', number), ...gas, ...counts }));
  }
  for (const line of walletLines('next', Array(wallets).fill(operations / wallets))) add(line);
  const last = FIRST + blocks - 1;
  const audit = { block: last, hash: hashOf('block', last), result: 'exact' };
  const figures = Object.entries(FIGURES).map(([name, { formula = 'stated by the reporter' }]) => [
    name,
    null,
    formula,
  ]);
  const end = {
    run: 'bench',
    bodySha256: body.digest('hex'),
    runFileSha256: '0'.repeat(64),
    audit,
    foreign: [],
    isSigned: false,
    figures,
  };
  stream.end(lineOf({ end }));
  await once(stream, 'finish');
  return bytes;
}

const { values } = parseArgs({
  options: {
    operations: { type: 'string', default: '1000000' },
    block: { type: 'string', default: '1000' },
    wallets: { type: 'string', default: '1000' },
    serve: { type: 'boolean', default: false },
  },
});
const size = { operations: Number(values.operations), perBlock: Number(values.block), wallets: Number(values.wallets) };
if (values.serve) await serve(size);
else {
  const folder = mkdtempSync(join(tmpdir(), 'stress-verify-'));
  const file = join(folder, 'run.evidence');
  const bytes = await writeEvidence(file, size);
  const server = spawn(process.execPath, [...process.argv.slice(1), '--serve'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [port] = await once(server.stdout, 'data');
    const startedMs = Date.now();
    const child = spawn(process.execPath, [
      ...[
        '--import',
        `data:text/javascript,process.on('exit',()=>console.error('peak',process.resourceUsage().maxRSS,'cpu',process.cpuUsage().user))`,
      ],
      ...[STRESS, 'verify', file, '--rpc', `http://127.0.0.1:${String(port).trim()}`],
    ]);
    let text = '';
    for (const output of [child.stdout, child.stderr])
      output.setEncoding('utf8').on('data', (chunk) => (text += chunk));
    const [code] = await once(child, 'exit');
    const seconds = (Date.now() - startedMs) / 1000;
    const [, peak = '0', cpu = '0'] = /peak (\d+) cpu (\d+)/.exec(text) ?? [];
    const runS = size.operations / TPS;
    console.log(text.trim());
    console.log(
      `${size.operations} operations, exit ${code}: ${seconds.toFixed(1)} s of ${runS} s at ${TPS} per second (${((100 * seconds) / runS).toFixed(1)} %), CPU ${(Number(cpu) / 1e6).toFixed(1)} s, peak memory ${Math.round(Number(peak) / 1000)} MB; file ${(bytes / size.operations).toFixed(2)} bytes an operation`,
    );
  } finally {
    server.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}
