/** Evidence of real runs: the honest file is confirmed, and each change of it is contradicted with its place. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { after, before, describe, it } from 'node:test';
import { createRpc, displayUrl } from '../../src/chain/rpc.js';
import { TransportError } from '../../src/errors.js';
import { createUndiciTransport } from '../../src/transport/undici.js';
import { anvilFor, startAnvil } from '../helpers/anvil.js';
import { readJson, runStress } from '../helpers/cli.js';
import {
  blocksOf,
  changeFigure,
  claimsIn,
  endOf,
  linesOf,
  seal,
  verified,
  walletsOf,
  withLateCounts,
} from '../helpers/evidence.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** @import { Lines } from '../helpers/evidence.js' */

/** A contract that reverts where the remainder of its argument by five is three. */
const FIFTH = JSON.stringify({
  abi: [
    {
      ...{ type: 'function', name: 'f', stateMutability: 'nonpayable', outputs: [] },
      inputs: [{ name: 'n', type: 'uint256' }],
    },
  ],
  bytecode: '0x6013600c60003960136000f3600560043506600314600d57005b60006000fd',
});

const folder = temporaryFolder({ after });
const chain = anvilFor('--accounts 1 --block-time 1');
const at = (/** @type {string} */ name) => join(folder, name);

/** The blocks with at least one operation of each outcome. @param {Lines} lines */
const mixedBlock = (lines) => {
  const row = blocksOf(lines).find(([, , , , , , succeeded, reverted]) => succeeded > 0 && reverted > 0);
  assert.ok(row, 'a block has operations of both outcomes');
  return row;
};
/** A block in the middle with operations. @param {Lines} lines */
const middle = (lines) => blocksOf(lines).filter((row) => row[6] > 0)[3];
/** @param {Lines} lines @param {Record<string, number>} changes */
function shiftFigures(lines, changes) {
  for (const [name, by] of Object.entries(changes)) changeFigure(lines, name, (value) => value + by);
}
/** @param {string} hash */
const otherHash = (hash) => `${hash.slice(0, -1)}${hash.endsWith('0') ? '1' : '0'}`;
/** All figures that follow from the counts of operations. @param {Lines} lines @param {number} by */
const fewer = (lines, by) =>
  shiftFigures(lines, { verified: -by, operationsVerified: -by, attempts: -by, noncesUsed: -by });

/**
 * What is changed, the claim that is contradicted, and the words that say where.
 * @type {Array<[name: string, change: (lines: Lines) => unknown, claim: string, words: RegExp | ((lines: Lines) => string), isUnsealed?: boolean]>}
 */
const CHANGED = [
  ['a count, without the digest', (lines) => (middle(lines)[6] += 1), 'digest', /have the SHA-256/, true],
  ['a count of successes', (lines) => (middle(lines)[6] += 1), 'sums', /^verified: it is \d+, and \d+ by its formula/],
  ['a count of reverts', (lines) => (mixedBlock(lines)[7] -= 1), 'sums', /^reverted: it is/],
  ['a negative count', (lines) => (middle(lines)[7] = -1), 'sums', /^block \d+: a count is negative/],
  [
    'more operations than transactions',
    (lines) => {
      const row = middle(lines);
      row[6] = row[5] + 1;
    },
    'sums',
    (lines) => `block ${middle(lines)[0]}: `,
  ],
  ['verified', (lines) => shiftFigures(lines, { verified: 1 }), 'sums', /^verified/],
  ['attempts', (lines) => shiftFigures(lines, { attempts: 5 }), 'sums', /^abandoned/],
  ['operations included late', (lines) => shiftFigures(lines, { includedLate: 2 }), 'sums', /^verified/],
  ['operations that left the chain', (lines) => shiftFigures(lines, { reorgedOut: 1 }), 'sums', /^verified/],
  ['a rate', (lines) => changeFigure(lines, 'verifiedPerSecond', (v) => 1.1 * v), 'sums', /^verifiedPerSecond/],
  [
    'a rate, with what it is computed of',
    (lines) => ['verifiedPerSecond', 'windowVerified'].forEach((name) => changeFigure(lines, name, (v) => 3 * v)),
    'throughput',
    /reported, and .* by the timestamps of blocks \d+ to \d+/,
  ],
  [
    'a rate, by a shorter window',
    (lines) => {
      changeFigure(lines, 'verifiedPerSecond', (v) => 4 * v);
      for (const name of ['spreadMs', 'windowMs']) changeFigure(lines, name, (v) => v / 4);
      changeFigure(lines, 'chainGasPerSecond', (v) => 4 * v);
    },
    'throughput',
    /the window has .* s by the timestamps of blocks \d+ to \d+/,
  ],
  [
    'a rate, by a part of the window',
    (lines) => {
      const valueOf = (/** @type {string} */ name) =>
        endOf(lines).figures.find((/** @type {any[]} */ one) => one[0] === name)[1];
      changeFigure(lines, 'spreadMs', () => 100);
      changeFigure(lines, 'verifiedPerSecond', () => 10 * valueOf('windowVerified'));
      changeFigure(lines, 'windowGas', () => valueOf('chainGasPerSecond') / 10);
    },
    'sums',
    /^throughput: \d+ operations in 0\.1 s, and blocks of \S+ s have at most \d+$/,
  ],
  .../** @type {Array<Record<string, number>>} */ ([{ skewMaxMs: 20_000 }, { reorgs: 1 }]).map(
    (excuse) =>
      /** @type {typeof CHANGED[number]} */ ([
        `a rate of a thousand times as many operations, with an excuse: ${Object.keys(excuse)[0]}`,
        (lines) => {
          ['verifiedPerSecond', 'windowVerified'].forEach((name) => changeFigure(lines, name, (v) => 1000 * v));
          shiftFigures(lines, excuse);
        },
        'sums',
        /^throughput: .* operations in the window, and all blocks have/,
      ]),
  ),
  [
    'the rate of gas, with what it is computed of',
    (lines) => ['chainGasPerSecond', 'windowGas'].forEach((name) => changeFigure(lines, name, (v) => 3 * v)),
    'gas per second',
    /by the timestamps of blocks/,
  ],
  ['fullness', (lines) => changeFigure(lines, 'fullness', (v) => 2 * v), 'sums', /^fullness/],
  ['gas of the window', (lines) => shiftFigures(lines, { windowGasUsed: 21_000 }), 'sums', /^windowGasUsed/],
  [
    'transactions of the window',
    (lines) => shiftFigures(lines, { windowTransactions: 1 }),
    'sums',
    /^windowTransactions/,
  ],
  ['the window itself', (lines) => shiftFigures(lines, { firstBlock: 2 }), 'sums', /^windowBlocks/],
  ['a formula', (lines) => (endOf(lines).figures[4][2] = 'attempts'), 'sums', /its formula is "attempts"/],
  ['a figure left out', (lines) => endOf(lines).figures.splice(3, 1), 'sums', /does not have it/],
  ['a wallet twice', (lines) => (walletsOf(lines)[1][0] = walletsOf(lines)[0][0]), 'sums', /a wallet is there twice/],
  [
    'a nonce below the first',
    (lines) => (lines.find((line) => line.next).next[2] = -1),
    'sums',
    /wallet 0x\w+: its next nonce -1 is below its first 0/,
  ],
  ['the block of the audit', (lines) => (endOf(lines).audit.block += 1), 'sums', /the audit was at/],
  [
    'an own transaction called foreign',
    (lines) => endOf(lines).foreign.push({ hash: `0x${'ab'.repeat(32)}`, wallet: 0, nonce: 1 }),
    'sums',
    /an exact audit with a transaction that is not of the run: 0xabab/,
  ],
  [
    'a reverted operation called verified',
    (lines) => {
      const row = mixedBlock(lines);
      row[6] += 1;
      row[7] -= 1;
      shiftFigures(lines, { verified: 1, operationsVerified: 1, reverted: -1, failed: -1 });
    },
    'operations',
    (lines) => `block ${mixedBlock(lines)[0]} (0x${mixedBlock(lines)[1]}): `,
  ],
  [
    'an operation moved to another block',
    (lines) => {
      const [from, to] = blocksOf(lines).filter((row) => row[6] > 1 && row[5] > 1);
      from[6] -= 1;
      from[7] += 1;
      to[6] += 1;
      to[7] -= 1;
      if (to[7] < 0) [to[7], from[7]] = [0, from[7] - 1];
      const sum = blocksOf(lines).reduce((all, row) => all + row[7], 0);
      const [, reverted] = endOf(lines).figures.find((/** @type {any[]} */ one) => one[0] === 'reverted');
      shiftFigures(lines, {
        reverted: sum - reverted,
        failed: sum - reverted,
        operationsVerified: 0,
        attempts: sum - reverted,
        noncesUsed: sum - reverted,
      });
    },
    'operations',
    /block \d+ \(0x\w+\): \d+ operations of the wallets succeeded, and \d+ in the file; transaction 0x/,
  ],
  [
    'the hash of a block',
    (lines) => (middle(lines)[1] = otherHash(middle(lines)[1])),
    'blocks',
    (lines) => `block ${middle(lines)[0]} is 0x`,
  ],
  [
    'a timestamp',
    (lines) => (middle(lines)[2] += 1),
    'blocks',
    /block \d+ \(0x\w+\): its timestamp is \d+, and \d+ in the file/,
  ],
  [
    'gas used',
    (lines) => ((middle(lines)[3] += 1), shiftFigures(lines, { windowGasUsed: 1 })),
    'blocks',
    /its gas used is/,
  ],
  ['a gas limit', (lines) => (middle(lines)[4] *= 2), 'blocks', /its gas limit is/],
  [
    'the number of transactions',
    (lines) => ((middle(lines)[5] += 1), shiftFigures(lines, { windowTransactions: 1 })),
    'blocks',
    /its number of transactions is/,
  ],
  [
    'a block left out',
    (lines) => {
      const row = middle(lines);
      lines.splice(lines.indexOf(row), 1);
      fewer(lines, row[6]);
      shiftFigures(lines, { reverted: -row[7], windowBlocks: -1, windowTransactions: -row[5], windowGasUsed: -row[3] });
    },
    'blocks',
    /the file leaves out block \d+ \(0x\w+\), the parent of block \d+/,
  ],
  [
    'a wallet swapped',
    (lines) => (walletsOf(lines)[0][0] = 'ab'.repeat(20)),
    'operations',
    /operations of the wallets/,
  ],
  [
    'a wallet left out',
    (lines) => {
      const [row] = walletsOf(lines);
      lines.splice(lines.indexOf(row), 1);
      const used = lines.find((line) => line.next).next.shift() - row[1];
      shiftFigures(lines, { noncesUsed: -used });
    },
    'operations',
    /operations of the wallets/,
  ],
  [
    'nonces of a wallet',
    (lines) => {
      walletsOf(lines)[1][1] += 1;
      lines.find((line) => line.next).next[1] += 1;
    },
    'nonces',
    (lines) => `wallet 0x${walletsOf(lines)[1][0]}: its first transaction 0x`,
  ],
  [
    'an operation of a wallet more',
    (lines) => {
      lines.find((line) => line.next).next[1] += 1;
      shiftFigures(lines, { noncesUsed: 1 });
    },
    'nonces',
    (lines) => `wallet 0x${walletsOf(lines)[1][0]}: `,
  ],
  [
    'the id of the chain',
    (lines) => (lines[0].chain.id = 1),
    'chain',
    /of chain 1, .* and its block \d+ \(0x\w+\) is one of chain 31337/,
  ],
  [
    'the genesis',
    (lines) => (lines[0].chain.genesis = `0x${'cd'.repeat(32)}`),
    'chain',
    /and its block \d+ \(0x\w+\) is one of/,
  ],
  ['the run', (lines) => (endOf(lines).run = 'ab'), 'run file', /is of run .*, and the evidence of ab/],
  ['the latency', (lines) => changeFigure(lines, 'p99Us', (v) => v / 10), 'run file', /p99Us is/],
  [
    'the digest of the run file',
    (lines) => (endOf(lines).runFileSha256 = 'ab'.repeat(32)),
    'run file',
    /has the SHA-256/,
  ],
  [
    'the header of a proof',
    (lines) => {
      const { proof } = lines.find((line) => line.proof);
      proof.header = otherHash(proof.header);
    },
    'proofs',
    /^block \d+: /,
  ],
  [
    'the block of a proof',
    (lines) => {
      const { proof } = lines.find((line) => line.proof);
      proof.block = middle(lines)[0] === proof.block ? middle(lines)[0] + 1 : middle(lines)[0];
    },
    'proofs',
    /the header has the hash/,
  ],
  [
    'the receipt of a proof',
    (lines) => {
      const { proof } = lines.find((line) => line.proof);
      proof.receipt[0] = otherHash(proof.receipt[0]);
    },
    'proofs',
    /the proof of the receipt does not lead to the root/,
  ],
  [
    'the transaction of a proof',
    (lines) => {
      const { proof } = lines.find((line) => line.proof);
      proof.transaction = [];
    },
    'proofs',
    /the proof of the transaction does not lead to the root/,
  ],
];

describe('stress verify', () => {
  /** @type {import('../../src/contracts/chain.d.ts').Rpc} */
  let rpc;
  /** @type {import('../../src/contracts/chain.d.ts').Transport} */
  let transport;
  /** @type {{lines: Lines, given: any}} */
  const honest = /** @type {any} */ ({});
  before(async () => {
    writeFileSync(at('fifth.json'), FIFTH);
    const workload = ['--workload', 'contract', '--deploy', at('fifth.json'), '--function', 'f(uint256)'];
    const pages = ['--html', at('run.html'), '--markdown', at('run.md')];
    const files = ['--evidence', at('run.evidence'), '--out', at('run.json'), ...pages];
    const load = ['-t', '6', '--in-flight', '2', '-d', '12s', '--interval', '1s'];
    const words = [...load, '--rpc', chain.url, ...workload, '--args', '["{{nonce}}"]', ...files];
    const { code, stderr } = await runStress(words);
    assert.equal(code, 0, stderr);
    // A contradiction needs a head beyond the last block.
    await chain.rpc('evm_mine');
    const url = new URL(chain.url);
    transport = createUndiciTransport({ url, connections: 8, timeoutMs: 10_000 });
    rpc = createRpc(transport, displayUrl(url));
    const text = readFileSync(at('run.json'), 'utf8');
    Object.assign(honest, {
      lines: withLateCounts(linesOf(at('run.evidence'))),
      given: { name: 'run.json', text, run: JSON.parse(text) },
    });
  });
  after(() => transport?.close());

  it('the honest file is confirmed, with the endpoint and without', async () => {
    const against = ['--rpc', chain.url, at('run.json')];
    const [alone, whole] = [
      await runStress(['verify', at('run.evidence')]),
      await runStress(['verify', at('run.evidence'), ...against]),
    ];
    assert.equal(alone.code, 0, alone.stdout + alone.stderr);
    assert.equal(whole.code, 0, whole.stdout + whole.stderr);
    for (const claim of ['digest', 'sums', 'run file', 'proofs', 'chain', 'blocks', 'operations', 'nonces', 'fullness'])
      assert.match(whole.stdout, new RegExp(`\n  ${claim} +confirmed: `));
    assert.match(whole.stdout, /latency +not checkable: .* by the clock of the reporter/);
    assert.doesNotMatch(whole.stdout, /CONTRADICTED/);
  });

  it('the page and the Markdown have the command, and what it does not show', () => {
    for (const name of ['run.html', 'run.md']) {
      const text = readFileSync(at(name), 'utf8').replaceAll('\\', '');
      assert.match(text, /stress verify run\.evidence run\.json --rpc URL/, name);
      assert.match(text, /who made the run \(the wallets have signed nothing: --sign\)/, name);
    }
  });

  it('the figures are those of the run file and of its audit', () => {
    const { audit } = honest.given.run;
    const sum = (/** @type {number} */ cell) => blocksOf(honest.lines).reduce((all, row) => all + row[cell], 0);
    assert.deepEqual([sum(6), sum(7)], [audit.verified + audit.includedLate, audit.reverted]);
    assert.ok(audit.reverted > 0 && audit.exact);
  });

  it(`each of ${CHANGED.length} changes is contradicted with its place`, async (t) => {
    assert.ok(CHANGED.length >= 30);
    for (const [name, change, claim, words, isUnsealed] of CHANGED)
      await t.test(name, async () => {
        const lines = structuredClone(honest.lines);
        change(lines);
        if (!isUnsealed) seal(lines);
        const claims = await verified(folder, lines, { rpc, given: claim === 'run file' ? honest.given : null });
        assert.equal(claims.exitCode, 76, JSON.stringify(claims.all, null, 1));
        const found = claims.all.filter((one) => one.state === 'contradicted' && one.name === claim);
        const isThere = (/** @type {string} */ text) =>
          typeof words === 'function' ? text.startsWith(words(honest.lines)) : words.test(text);
        assert.ok(
          found.some((one) => isThere(one.words)),
          `${words}: ${claimsIn(claims, 'contradicted').join('\n')}`,
        );
      });
  });

  it('a contradiction needs the same answer twice, and a head beyond the block', async () => {
    const lines = structuredClone(honest.lines).filter((line) => line.proof === undefined);
    middle(lines)[2] += 1;
    seal(lines);
    const head = middle(lines)[0];
    const behind = {
      ...rpc,
      call: async (/** @type {any[]} */ ...asked) =>
        asked[0] === 'eth_blockNumber' ? `0x${head.toString(16)}` : /** @type {any} */ (rpc.call)(...asked),
    };
    const claims = await verified(folder, lines, { rpc: /** @type {any} */ (behind) });
    assert.deepEqual(claimsIn(claims, 'contradicted'), []);
    assert.equal(claims.exitCode, 75);
    assert.match(
      claimsIn(claims, 'not checkable').join(),
      /its answers about block \d+ were not the same twice, or its head is not beyond/,
    );
  });

  it('blocks that the endpoint lacks are not checkable, and those of another chain are no contradiction', async () => {
    const lost = middle(honest.lines)[0];
    /** @param {(method: string, params: any[]) => unknown} change */
    const other = (change) => {
      const answer = (/** @type {any} */ method, /** @type {any} */ params, /** @type {any} */ purpose) =>
        change(method, params) === undefined
          ? rpc.gather(method, params, purpose)
          : Promise.resolve(change(method, params));
      return /** @type {any} */ ({ ...rpc, call: answer, gather: answer });
    };
    const pruned = other((method, [number]) =>
      method === 'eth_getBlockByNumber' && Number(number) === lost ? null : undefined,
    );
    const claims = await verified(folder, honest.lines, { rpc: pruned });
    assert.match(
      claimsIn(claims, 'not checkable').join('\n'),
      new RegExp(`blocks: the endpoint does not have block ${lost}`),
    );
    assert.equal(claims.exitCode, 75);
    const elsewhere = other((method) =>
      method === 'eth_chainId' ? '0x5' : method === 'eth_getBlockByNumber' ? null : undefined,
    );
    const apart = await verified(folder, honest.lines, { rpc: elsewhere });
    assert.match(
      claimsIn(apart, 'not checkable').join('\n'),
      /the endpoint is of chain 5, and the evidence is of chain 31337.*give an endpoint of that chain/,
    );
    assert.equal(apart.exitCode, 75);
  });

  it('without receipts of whole blocks they are read one by one', async () => {
    const refuse = async () => {
      const { RpcError } = await import('../../src/errors.js');
      throw new RpcError('eth_getBlockReceipts', -32601, 'the method does not exist', undefined, {
        status: 200,
        retryAfterMs: null,
      });
    };
    const without = {
      ...rpc,
      call: (/** @type {any[]} */ ...asked) =>
        asked[0] === 'eth_getBlockReceipts' ? refuse() : /** @type {any} */ (rpc.call)(...asked),
    };
    const claims = await verified(folder, honest.lines, { rpc: /** @type {any} */ (without) });
    assert.equal(claims.exitCode, 0, JSON.stringify(claims.all));
    assert.match(claimsIn(claims, 'confirmed').join('\n'), /operations: \d+ succeeded and \d+ were reverted/);
  });

  it('an endpoint that fails in the middle changes nothing of what was kept', async () => {
    let [state, left] = [/** @type {any} */ (null), 16];
    const failing = (/** @type {any[]} */ ...asked) => {
      left -= 1;
      if (left < 0) return Promise.reject(new TransportError('gone', 'reset'));
      return /** @type {any} */ (rpc.gather)(...asked);
    };
    const broken = /** @type {any} */ ({ ...rpc, gather: failing });
    const keep = (/** @type {any} */ now) => void (state = structuredClone(now));
    await assert.rejects(verified(folder, honest.lines, { rpc: broken, keep }), /gone/);
    assert.ok(state.next > 0 && state.next < blocksOf(honest.lines).length, `${state.next}`);
    const [rest, whole] = [
      await verified(folder, honest.lines, { rpc, known: state }),
      await verified(folder, honest.lines, { rpc }),
    ];
    assert.deepEqual(rest.all, whole.all);
  });

  it('a verification goes on where it was interrupted', async () => {
    const state = at('verify.state');
    const words = ['verify', at('run.evidence'), '--rpc', chain.url, '--state', state];
    const first = await runStress(words);
    assert.equal(first.code, 0, first.stderr);
    const kept = readJson(state);
    assert.equal(kept.next, blocksOf(honest.lines).length);
    // What the state of an interrupted one says is not read again.
    const seen = { ...kept.seen, succeeded: 12_000 };
    const again = async (/** @type {object} */ changes) => {
      writeFileSync(state, JSON.stringify({ ...kept, seen, ...changes }));
      return (await runStress(words)).stdout;
    };
    assert.match(await again({ next: kept.next - 1 }), /12,0\d\d succeeded/);
    for (const changes of [
      { next: kept.next - 1, fileSha256: 'ab' },
      {},
      { next: kept.next - 1, absent: [kept.last.number] },
    ])
      assert.doesNotMatch(await again(changes), /12,0\d\d succeeded/, JSON.stringify(changes));
  });

  it('what is no evidence file is bad input', async () => {
    writeFileSync(at('other.evidence'), '{"schema":"evm-stress/evidence@9"}\n');
    const { code, stderr } = await runStress(['verify', at('other.evidence')]);
    assert.equal(code, 65);
    assert.match(stderr, /other\.evidence, line 1: no evidence file of stress/);
    assert.equal((await runStress(['verify', at('none.evidence')])).code, 65);
    assert.equal((await runStress(['verify', at('run.json')])).code, 65);
  });

  it('a compressed file that is cut, or is none, is named so', async () => {
    const packed = gzipSync(
      readFileSync(fileURLToPath(new URL('../../docs/examples/evidence/run.evidence', import.meta.url))),
    );
    for (const [bytes, words] of /** @type {const} */ ([
      [packed.subarray(0, packed.length / 2), 'the compressed file is cut: copy it again'],
      ['hello', 'it is damaged, or not compressed by gzip'],
    ])) {
      writeFileSync(at('cut.evidence.gz'), bytes);
      const { code, stderr } = await runStress(['verify', at('cut.evidence.gz')]);
      assert.equal(code, 65);
      assert.ok(stderr.includes(words), stderr);
    }
  });
});

describe('after a reorg', () => {
  const own = anvilFor('--accounts 1 --block-time 1');

  it('the removed blocks are named, and nothing is called contradicted', async () => {
    const words = ['-t', '4', '-d', '6s', '--rpc', own.url, '--evidence', at('reorg.evidence')];
    assert.equal((await runStress(words)).code, 0);
    const last = blocksOf(linesOf(at('reorg.evidence'))).at(-1);
    await own.rpc('anvil_reorg', [4, []]);
    const { code, stdout } = await runStress(['verify', at('reorg.evidence'), '--rpc', own.url]);
    assert.equal(code, 75, stdout);
    assert.match(stdout, /blocks +reorged: no longer on the chain: block \d+\s+\(0x/);
    assert.match(stdout.replaceAll(/\s+/g, ' '), new RegExp(`${last?.[0]} \\(0x${last?.[1]}\\)`));
    assert.doesNotMatch(stdout, /CONTRADICTED/);
  });
});

describe('a signed run', () => {
  it('is of those who have the keys, and another signature is contradicted', async () => {
    const words = [
      '-t',
      '4',
      '-d',
      '3s',
      '--workers',
      '2',
      '--rpc',
      chain.url,
      '-o',
      '50',
      '--evidence',
      at('signed.evidence'),
      '--sign',
    ];
    const { code, stderr } = await runStress(words);
    assert.equal(code, 0, stderr);
    const lines = linesOf(at('signed.evidence'));
    const claims = await verified(folder, lines);
    assert.match(claimsIn(claims, 'confirmed').join('\n'), /signatures: 4 wallets signed this file/);
    const changes = [
      (/** @type {any[]} */ all) => all.reverse(),
      (/** @type {any[]} */ all) => all.pop(),
      (/** @type {any[]} */ all) => (all[0] = Buffer.alloc(65, 27).toString('base64')),
    ];
    for (const change of changes) {
      const changed = structuredClone(lines);
      change(changed.at(-1).signatures);
      const wrong = await verified(folder, changed);
      assert.equal(wrong.exitCode, 76);
      assert.match(claimsIn(wrong, 'contradicted').join('\n'), /signatures: /);
    }
    // What was signed is the whole file: other figures have no signature.
    const changed = structuredClone(lines);
    changeFigure(changed, 'p50Us', (value) => value / 2);
    assert.match(claimsIn(await verified(folder, changed), 'contradicted').join('\n'), /signatures: that of wallet 0x/);
  });
});

describe('the example of the docs', () => {
  // Made with: anvil --block-time 1 --accounts 1 --dump-state chain.json, and stress -t 5 -d 20s --interval 1s
  // --workload transfer --evidence run.evidence --sign --out run.json.
  const example = (/** @type {string} */ name) =>
    fileURLToPath(new URL(`../../docs/examples/evidence/${name}`, import.meta.url));

  it('is confirmed on its chain', async () => {
    writeFileSync(at('chain.json'), gunzipSync(readFileSync(example('chain.json.gz'))));
    const own = await startAnvil({ args: ['--no-mining', '--accounts', '1', '--load-state', at('chain.json')] });
    try {
      const words = ['verify', example('run.evidence'), example('run.json'), '--rpc', own.url];
      const { code, stdout, stderr } = await runStress(words);
      assert.equal(code, 0, stdout + stderr);
      for (const claim of ['run file', 'signatures', 'proofs', 'chain', 'blocks', 'operations', 'nonces', 'throughput'])
        assert.match(stdout, new RegExp(`\n  ${claim} +confirmed: `));
    } finally {
      await own.stop();
    }
  });
});

describe('instances', () => {
  const own = anvilFor('--accounts 1 --block-time 1');

  it('the evidence of each is confirmed, and adds up to the merged run', async () => {
    const files = [0, 1].map((index) => ({ evidence: at(`${index}.evidence`), out: at(`${index}.json`) }));
    const runs = files.map(({ evidence, out }, index) => {
      const place = [
        '--instances',
        '2',
        '--index',
        String(index),
        '--run-id',
        'both',
        '--chain-id',
        '31337',
        '--barrier',
        at('barrier'),
      ];
      const load = ['-t', '3', '-d', '6s', '--interval', '1s', '--workload', 'transfer', '--rpc', own.url];
      return runStress([...load, ...place, '--evidence', evidence, '--out', out]);
    });
    for (const { code, stderr } of await Promise.all(runs)) assert.equal(code, 0, stderr);
    const merged = await runStress(['merge', ...files.map(({ out }) => out), '--out', at('merged.json')]);
    assert.equal(merged.code, 0, merged.stderr);
    assert.match(merged.stdout, /stress verify EVIDENCE\.\.\. --rpc URL/);
    await own.rpc('evm_mine');
    const all = files.map(({ evidence }) => evidence);
    const whole = await runStress(['verify', ...all, at('merged.json'), '--rpc', own.url]);
    assert.equal(whole.code, 0, whole.stdout + whole.stderr);
    assert.match(whole.stdout, /instances +confirmed: 2 instances: their operations add up/);
    const part = await runStress(['verify', all[0], at('merged.json')]);
    assert.equal(part.code, 75);
    assert.match(part.stdout, /the evidence of 1 instance of 2 instances was not given/);
    const changed = readJson(at('merged.json'));
    changed.counts.verified += 1;
    changed.counts.failed -= 1;
    writeFileSync(at('changed.json'), JSON.stringify(changed));
    const wrong = await runStress(['verify', ...all, at('changed.json')]);
    assert.notEqual(wrong.code, 0);
  });
});
