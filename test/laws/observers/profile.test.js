import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { openPages } from '../../../src/node-page.js';
import { groupOf, isSystemCall, packageOf } from '../../../src/observers/profile/groups.js';
import { profile } from '../../../src/observers/profile/index.js';
import { stacksIn } from '../../../src/observers/profile/perf.js';
import { LOCKS, NoProfile, readProfile } from '../../../src/observers/profile/pprof.js';
import { LockWaits, Stacks } from '../../../src/observers/profile/stacks.js';
import profileNodes from '../../../src/observers/profile/thread.js';
import { encoded } from '../../../src/outputs/pprof.js';
import { figureOf } from '../../../src/stats/figures.js';
import { unknown } from '../../../src/stats/unknown.js';
import { createFakeClock } from '../../helpers/clock.js';
import { profileOf } from '../../helpers/pprof-body.js';

const HASH = ['main', 'eth/trie.(*hasher).hash', 'crypto/keccak.keccakF1600'];
const STACKS = /** @type {Array<[string[], number]>} */ ([
  [HASH, 30_000_000],
  [['main', 'core/vm.(*EVM).Call'], 20_000_000],
  [HASH, 10_000_000],
]);

describe('a CPU profile in the form of pprof', () => {
  it('is read with its stacks and their CPU time, compressed or not', () => {
    const body = profileOf(STACKS, { durationMs: 1500 });
    for (const one of [body, gzipSync(body)])
      assert.deepEqual(readProfile(one), {
        stacks: STACKS.map(([names, ns]) => ({ names, us: ns / 1000 })),
        durationMs: 1500,
      });
  });

  const refused = /** @type {Array<[string, Buffer, RegExp]>} */ ([
    ['another profile', profileOf([], { types: [['inuse_space', 'bytes']] }), /no CPU profile but one of inuse_space/],
    ['HTML', Buffer.from('<!doctype html><p>hello</p>'), /no profile of pprof/],
    ['an empty body', Buffer.alloc(0), /no profile of pprof/],
    ['more than 32 MB', gzipSync(Buffer.alloc(33 * 1024 * 1024)), /larger than 32 MB/],
  ]);
  for (const [words, body, message] of refused)
    it(`is not looked for again after ${words}`, () =>
      assert.throws(
        () => readProfile(body),
        (error) => error instanceof NoProfile && message.test(error.message),
      ));

  it('that ends early is looked for again', () => {
    const body = gzipSync(profileOf(STACKS));
    assert.throws(
      () => readProfile(body.subarray(0, body.length - 12)),
      (error) => !(error instanceof NoProfile) && /ended early/.test(/** @type {Error} */ (error).message),
    );
  });
});

describe('the stacks of profiles', () => {
  const sumOf = (/** @type {number[]} */ all) => all.reduce((sum, one) => sum + one, 0);
  /** @param {number} [most] */
  const reportOf = (most) => {
    const stacks = new Stacks(most);
    for (const [names, ns] of STACKS) stacks.add(names, ns / 1000);
    return stacks.report();
  };

  it('are added up: by stack, by function, and by what functions are for', () => {
    const { cpuUs, groups, functions, frames, names, otherUs } = reportOf();
    assert.equal(cpuUs, 60_000);
    assert.deepEqual(groups, [
      { name: 'state trie', selfUs: 40_000, functions: [HASH[1]] },
      { name: 'EVM execution', selfUs: 20_000, functions: ['core/vm.(*EVM).Call'] },
    ]);
    const byName = Object.fromEntries(functions.map(({ name, ...us }) => [name, us]));
    assert.deepEqual(byName.main, { selfUs: 0, totalUs: 60_000 });
    assert.deepEqual(byName[HASH[2]], { selfUs: 40_000, totalUs: 40_000 });
    assert.equal(otherUs, 0);
    assert.equal(sumOf(frames.map(([, , us]) => us)), 60_000);
    assert.deepEqual(names, [...HASH, 'core/vm.(*EVM).Call']);
  });

  it('are bounded, and what is left out is in otherUs', () => {
    const { frames, otherUs, groups, cpuUs } = reportOf(1);
    assert.deepEqual([frames.length, otherUs], [3, 20_000]);
    assert.equal(sumOf(frames.map(([, , us]) => us)) + otherUs, cpuUs);
    assert.equal(sumOf(groups.map(({ selfUs }) => selfUs)), cpuUs);
  });

  it('have CPU time by package that adds up, the smallest packages as "other"', () => {
    const stacks = new Stacks();
    for (let i = 0; i < 60; i += 1) stacks.add(['main.main', `some/package${i}.f`], 100 + i);
    stacks.add(['main.main', 'do_syscall_64'], 1000);
    const { packages = [], cpuUs } = stacks.report();
    assert.deepEqual(packages[0], { name: 'some/package59', selfUs: 159 });
    assert.deepEqual([packages.length, packages.at(-1)], [51, { name: 'other', selfUs: 1000 + 10 * 104.5 }]);
    assert.equal(sumOf(packages.map(({ selfUs }) => selfUs)), cpuUs);
  });

  it('a function that calls itself counts once', () => {
    const stacks = new Stacks();
    stacks.add(['main', 'loop', 'loop'], 10);
    const { functions } = stacks.report();
    assert.deepEqual(
      functions.find(({ name }) => name === 'loop'),
      { name: 'loop', selfUs: 10, totalUs: 10 },
    );
  });

  it('are written for go tool pprof as they were read', () => {
    const stacks = reportOf(1);
    const profile = { name: 'node', source: 'perf', pieces: 1, profiledMs: 1000, missing: {}, stacks };
    const again = readProfile(Buffer.from(encoded(profile, 0)));
    assert.deepEqual(again, {
      stacks: [
        { names: HASH, us: 40_000 },
        { names: ['other stacks'], us: 20_000 },
      ],
      durationMs: 1000,
    });
  });
});

describe('waiting for locks', () => {
  const ADD = 'core/txpool/legacypool.(*LegacyPool).Add';
  const types = /** @type {Array<[string, string]>} */ ([
    ['contentions', 'count'],
    ['delay', 'nanoseconds'],
  ]);

  it('is added up by the function that held the lock', () => {
    const body = profileOf(
      [
        [['main', ADD, 'sync.(*Mutex).Unlock'], 3_000_000],
        [['runtime.unlock'], 1_000_000],
      ],
      { types },
    );
    const locks = new LockWaits();
    for (const { names, us } of readProfile(body, LOCKS).stacks) locks.add(names, us);
    assert.deepEqual(locks.report(), {
      waitUs: 4000,
      functions: [
        { name: ADD, waitUs: 3000 },
        { name: 'runtime.unlock', waitUs: 1000 },
      ],
    });
    assert.equal(new LockWaits().report(), null);
    assert.throws(() => readProfile(profileOf(STACKS), LOCKS), /it is no profile of locks but one of samples, cpu/);
  });
});

describe('what functions are for', () => {
  const rows = /** @type {Array<[string, string[]]>} */ ([
    ['garbage collection', ['runtime.scanobject', 'runtime.gcDrain', 'runtime.gcBgMarkWorker']],
    ['garbage collection', ['runtime.gcAssistAlloc', 'core/vm.(*EVM).Call']],
    ['state trie', ['runtime.mallocgc', 'github.com/ethereum/go-ethereum/trie.(*Trie).insert', 'core/vm.run']],
    ['signature recovery', ['runtime.cgocall', 'github.com/ethereum/go-ethereum/crypto/secp256k1._Cfunc_x']],
    ['memory allocation', ['runtime.mallocgc', 'main.main']],
    ['EVM execution', ['revm_interpreter::instructions::host::sload', 'anvil::eth::backend']],
    ['RPC', ['encoding/json.Marshal', 'main']],
    ['scheduling', ['runtime.futex', 'runtime.schedule']],
    ['other', ['main.own']],
  ]);
  for (const [group, names] of rows) it(`${names[0]}: ${group}`, () => assert.equal(groupOf(names).group, group));

  const packages = /** @type {Array<[string, string]>} */ ([
    ['github.com/ethereum/go-ethereum/trie.(*Trie).Hash', 'github.com/ethereum/go-ethereum/trie'],
    ['github.com/cockroachdb/pebble/v2.(*DB).Get', 'github.com/cockroachdb/pebble/v2'],
    ['slices.insertionSortCmpFunc[go.shape.struct { a/b.c int }]', 'slices'],
    ['runtime.mallocgc', 'runtime'],
    ['<&mut reth_trie::Node<T> as alloy_rlp::Encodable>::encode', 'reth_trie'],
    ['evmone::execute(evmone::State&)', 'evmone'],
    ['do_syscall_64', 'other'],
    ['[unknown]', 'other'],
  ]);
  for (const [name, of] of packages) it(`${name} is of ${of}`, () => assert.equal(packageOf(name), of));

  it('system calls are told apart', () => {
    assert.deepEqual(
      ['internal/runtime/syscall/linux.Syscall6', 'syscall.RawSyscall', 'main.syscalls'].map(isSystemCall),
      [true, true, false],
    );
  });
});

describe('the CPU time of nodes for an operation', () => {
  const stacks = new Stacks();
  for (const [names, ns] of STACKS) stacks.add(names, ns / 1000);
  const profile = { name: 'a', source: 'perf', pieces: 1, profiledMs: 1000, missing: {}, stacks: stacks.report() };
  /** @param {object[]} nodeProfile */
  const runOf = (nodeProfile) =>
    /** @type {any} */ ({
      nodeProfile,
      rates: { verifiedPerSecond: 10 },
      unmeasured: { '/nodeProfile/1/stacks': 'HTTP 404' },
    });

  it('is that of all profiled nodes', () => {
    assert.equal(figureOf('node.cpu_per_op')?.read(runOf([profile])), 6000);
    assert.equal(figureOf('node.cpu_per_op')?.read(runOf([profile, { ...profile, name: 'b' }])), 12_000);
    assert.equal(figureOf('node.cpu_per_op.evm_execution')?.read(runOf([profile])), 2000);
  });

  it('is unknown where the profile of one of them is missing', () => {
    const found = figureOf('node.cpu_per_op')?.read(runOf([profile, { ...profile, name: 'b', stacks: null }]));
    assert.deepEqual(found, unknown('HTTP 404'));
  });
});

it('the text of perf has a stack for each sample', () => {
  const text = `  10101010 \n\t  86c2 cmpbody\n\t  d38f core::fmt::write::h0123456789abcdef\n\n   5000000 \n\t  1 main\n`;
  assert.deepEqual(stacksIn(text), [
    { names: ['core::fmt::write', 'cmpbody'], us: 10_101 },
    { names: ['main'], us: 5000 },
  ]);
});

describe('the thread of profiles', () => {
  /**
   * @param {(seconds: number) => {status?: number, body: Buffer | string}} answer
   * @param {(profiles: any[]) => boolean} isEnough
   */
  const profiled = async (answer, isEnough) => {
    /** @type {string[]} */
    const asked = [];
    // A busy machine takes nothing from the window.
    const clock = createFakeClock();
    const server = createServer(({ url = '', headers }, response) => {
      asked.push(`${url} ${headers.authorization ?? ''}`);
      const { status = 200, body } = answer(Number(new URL(url, 'http://h').searchParams.get('seconds')));
      response.writeHead(status).end(body);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    /** @type {(message: object) => void} */
    let tell = () => {};
    const source = { name: 'node', url: `http://user:hush@127.0.0.1:${port}/profile`, pid: null };
    const result = profileNodes({ sources: [source], insecure: false }, [], {
      onMessage: (listener) => (tell = listener),
      post: (message) =>
        'profiles' in message && isEnough(/** @type {any} */ (message).profiles) && tell({ isOver: true }),
      clock,
      random: Math.random,
      openPages,
    });
    tell({ windowMs: 3600 });
    await clock.advance(0);
    const [profile] = await result;
    server.closeAllConnections();
    server.close();
    return { profile, asked };
  };

  it('asks for pieces that fit the window, with the credentials of the URL, which it does not show', async () => {
    const body = profileOf(STACKS, { durationMs: 3000 });
    const { profile, asked } = await profiled(
      () => ({ body }),
      () => true,
    );
    assert.deepEqual(asked, ['/profile?seconds=3 Basic dXNlcjpodXNo']);
    assert.ok(!JSON.stringify(profile).includes('hush'));
    assert.deepEqual([profile.pieces, profile.profiledMs, profile.stacks?.cpuUs], [1, 3000, 60_000]);
  });

  const failures = /** @type {Array<[string, {status?: number, body: string}, RegExp]>} */ ([
    ['a page that is not there', { status: 404, body: '404 page not found' }, /^HTTP 404: 404 page not found$/],
    ['a redirect', { status: 302, body: '' }, /^HTTP 302$/],
    [
      'a profile that is being made already',
      { status: 500, body: 'Could not enable CPU profiling: cpu profiling already in use\n' },
      /^another CPU profile of this node is being made$/,
    ],
    ['a page for people', { body: '<html><body>hello' }, /^the body is no profile of pprof$/],
  ]);
  for (const [words, answer, why] of failures)
    it(`names ${words}`, async () => {
      const { profile } = await profiled(
        () => answer,
        () => true,
      );
      assert.equal(profile.stacks, null);
      assert.match(Object.keys(profile.missing)[0], why);
    });
});

it('profiles end with the load: a piece that would reach beyond it is given up', async () => {
  const drain = new AbortController();
  /** @type {object[]} */
  const posted = [];
  const openThread = (
    /** @type {URL} */ _module,
    /** @type {object} */ _task,
    /** @type {(message: object) => void} */ onMessage,
  ) => {
    onMessage({});
    return { post: (/** @type {object} */ message) => void posted.push(message), result: new Promise(() => {}) };
  };
  const config = {
    load: { warmupMs: 0, durationMs: 60_000 },
    network: { insecure: false },
    chain: { nodeProfile: [{ name: 'node', url: new URL('http://127.0.0.1:1/') }] },
  };
  const given = {
    openThread,
    unlessStopped: (/** @type {() => unknown} */ act) => act(),
    nodePid: null,
    clock: createFakeClock(),
  };
  const opened = await profile.open(
    /** @type {any} */ (config),
    /** @type {any} */ ({ ...given, stop: { drain: drain.signal } }),
  );
  opened?.begin?.(/** @type {any} */ ({}));
  drain.abort();
  assert.deepEqual(posted, [{ startMs: 0, windowMs: 60_000 }, { isOver: true }]);
});
