/** What each check calls a contradiction, and what it does not. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CHECKS, isInBloom } from '../../../src/observers/consistency/checks.js';

/** @import { CheckedBlock, Subject } from '../../../src/observers/consistency/checks.js' */

const hashOf = (/** @type {number} */ n) => `0x${n.toString(16).padStart(64, '0')}`;
const hex = (/** @type {number} */ n) => `0x${n.toString(16)}`;
const ADDRESS = `0x${'ab'.repeat(20)}`;
const FULL = `0x${'ff'.repeat(256)}`;
const EMPTY = `0x${'00'.repeat(256)}`;

/** @param {number} number @param {string} [logsBloom] @returns {CheckedBlock} with two transactions */
function blockOf(number, logsBloom = FULL) {
  const hash = hashOf(number);
  const transactions = [1, 2].map((i) => hashOf(1000 * number + i));
  const header = { hash, number: hex(number), parentHash: hashOf(number - 1), transactions, logsBloom, miner: ADDRESS };
  return { number, hash, transactions, header };
}

/** @param {CheckedBlock} block @param {number} index */
const placed = ({ number, hash, transactions }, index) => {
  const place = { blockHash: hash, blockNumber: hex(number), transactionIndex: hex(index) };
  return { hash: transactions[index], transactionHash: transactions[index], ...place };
};
/** @param {CheckedBlock} block @param {number} index */
const logOf = (block, index) => ({
  ...placed(block, index),
  logIndex: hex(index),
  address: ADDRESS,
  topics: [hashOf(7)],
  data: '0x',
});
/** @param {CheckedBlock} block */
const receiptsOf = (block) => [0, 1].map((i) => ({ ...placed(block, i), logs: [logOf(block, i)] }));

const BLOCK = blockOf(9);
const BEFORE = blockOf(8);
const [FIRST, SECOND] = BLOCK.transactions;
const OPERATION = {
  address: ADDRESS,
  nonce: 4,
  hash: FIRST,
  blockNumber: 9,
  read: { call: { to: ADDRESS }, least: '5' },
};
/** @type {Subject} */
const SUBJECT = {
  block: BLOCK,
  blocks: [BEFORE, BLOCK],
  index: 1,
  operation: OPERATION,
  home: BLOCK,
  unknownHash: hashOf(0xbad),
  isRange: false,
};
const RANGE = { ...SUBJECT, isRange: true };
const DARK = blockOf(9, EMPTY);
const LOGS = receiptsOf(BLOCK).flatMap(({ logs }) => logs);
const RECEIPTS = [receiptsOf(BEFORE), receiptsOf(BLOCK)];
const ALL_LOGS = RECEIPTS.flat().flatMap(({ logs }) => logs);

/** The check, what is judged, its answers, and the code that it must find. @type {Array<[string, string, Subject, any[], string | null]>} */
const CASES = [
  ['block', 'the same', SUBJECT, [{ ...BLOCK.header, miner: ADDRESS.toUpperCase().replace('0X', '0x') }], null],
  ['block', 'another root', SUBJECT, [{ ...BLOCK.header, stateRoot: hashOf(3) }], 'block_changed'],
  ['block', 'none', SUBJECT, [null], 'stale_read'],
  ['receipt', 'its own', SUBJECT, [placed(BLOCK, 1)], null],
  ['receipt', "the neighbour's", SUBJECT, [placed(BLOCK, 0)], 'receipt_mismatch'],
  ['receipt', 'of another block', SUBJECT, [{ ...placed(BLOCK, 1), blockHash: hashOf(8) }], 'receipt_mismatch'],
  ['receipt', 'at another place', SUBJECT, [{ ...placed(BLOCK, 1), transactionIndex: '0x0' }], 'receipt_mismatch'],
  ['receipt', 'none', SUBJECT, [null], 'stale_read'],
  ['index', 'its own', SUBJECT, [placed(BLOCK, 1)], null],
  ['index', "the neighbour's", SUBJECT, [placed(BLOCK, 0)], 'index_mismatch'],
  ['index', 'none', SUBJECT, [null], 'index_mismatch'],
  ['logs', 'the same', SUBJECT, [receiptsOf(BLOCK), LOGS], null],
  ['logs', 'the same, by range', RANGE, [...RECEIPTS, ALL_LOGS], null],
  ['logs', 'one missing', SUBJECT, [receiptsOf(BLOCK), LOGS.slice(1)], 'logs_missing'],
  ['logs', 'one missing of a range', RANGE, [...RECEIPTS, ALL_LOGS.slice(1)], 'logs_missing'],
  ['logs', 'one twice', SUBJECT, [receiptsOf(BLOCK), [...LOGS, LOGS[0]]], 'logs_foreign'],
  ['logs', 'one of another block', SUBJECT, [receiptsOf(BLOCK), [...LOGS, logOf(BEFORE, 0)]], 'logs_foreign'],
  ['logs', 'one with other data', SUBJECT, [receiptsOf(BLOCK), [{ ...LOGS[0], data: '0x1' }, LOGS[1]]], 'logs_foreign'],
  ['logs', 'a receipt less', SUBJECT, [receiptsOf(BLOCK).slice(1), LOGS], 'receipt_mismatch'],
  ['logs', 'receipts of another block', SUBJECT, [receiptsOf(BEFORE), LOGS], 'receipt_mismatch'],
  ['logs', 'no receipts', SUBJECT, [null, LOGS], 'stale_read'],
  ['logs', 'no list', SUBJECT, [receiptsOf(BLOCK), null], 'stale_read'],
  ['logs', 'an empty filter', { ...SUBJECT, block: DARK }, [receiptsOf(DARK), LOGS], 'bloom'],
  ['unknown', 'refused, or null', SUBJECT, [null, null], null],
  ['unknown', 'no logs', SUBJECT, [[], null], 'unknown_block_list'],
  ['unknown', 'no receipts', SUBJECT, [null, []], 'unknown_block_list'],
  ['nonce', 'counted', SUBJECT, ['0x5'], null],
  ['nonce', 'not counted', SUBJECT, ['0x4'], 'stale_nonce'],
  ['effect', 'visible', SUBJECT, [hashOf(5)], null],
  ['effect', 'a later one', SUBJECT, [hashOf(6)], null],
  ['effect', 'an older one', SUBJECT, [hashOf(4)], 'stale_read'],
  ['effect', 'a receipt', { ...SUBJECT, operation: { ...OPERATION, read: null } }, [placed(BLOCK, 0)], null],
  ['effect', 'no receipt', { ...SUBJECT, operation: { ...OPERATION, read: null } }, [null], 'stale_read'],
];

describe('the checks', () => {
  for (const [name, answer, subject, answers, code] of CASES) {
    it(`${name}: ${answer}`, () => {
      const asked = CHECKS[name].ask(subject);
      assert.equal(asked.length, answers.length);
      const found = CHECKS[name].judge(subject, answers);
      assert.equal(found?.code ?? null, code, found?.words);
      if (found === null) return;
      assert.equal(found.requests.length, 2);
      assert.ok(!/undefined|null|NaN/.test(found.words), found.words);
      // What a reorg may explain is checked again.
      assert.equal(found.blocks.length > 0, name !== 'unknown');
    });
  }

  it('ask for what the latest state has', () => {
    const asked = ['nonce', 'effect'].flatMap((name) => CHECKS[name].ask(SUBJECT).map(({ params }) => params));
    assert.deepEqual(asked, [
      [ADDRESS, 'latest'],
      [OPERATION.read.call, 'latest'],
    ]);
  });

  it('ask nothing where there is nothing to compare', () => {
    const block = { ...BLOCK, transactions: [] };
    const subject = { ...SUBJECT, block, blocks: [block], operation: null };
    const asking = Object.keys(CHECKS).filter((name) => CHECKS[name].ask(subject).length > 0);
    assert.deepEqual(asking, ['block', 'unknown']);
  });

  it('do not ask for the receipts of very large blocks', () => {
    const block = { ...BLOCK, transactions: Array.from({ length: 3000 }, () => SECOND) };
    assert.deepEqual(CHECKS.logs.ask({ ...SUBJECT, block }), []);
  });
});

// Mainnet block 46147 of go-ethereum's tests of bloom9: the bits of 0x095e7baea6a6c7c4c2dfeb977efac326af552d87.
it('isInBloom: finds the three bits of a value, and not those of others', () => {
  const withBits = (/** @type {number[]} */ bits) => {
    const bytes = Buffer.alloc(256);
    for (const bit of bits) bytes[255 - Math.floor(bit / 8)] |= 1 << (bit % 8);
    return `0x${bytes.toString('hex')}`;
  };
  const value = '0x095e7baea6a6c7c4c2dfeb977efac326af552d87';
  const bits = Array.from({ length: 2048 }, (_, bit) => bit);
  const needed = bits.filter((bit) => !isInBloom(withBits(bits.filter((other) => other !== bit)), value));
  assert.equal(needed.length, 3);
  assert.ok(isInBloom(withBits(needed), value));
  assert.ok(!isInBloom(withBits(needed), ADDRESS));
});
