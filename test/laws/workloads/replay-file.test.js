import assert from 'node:assert/strict';
import { appendFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { BATCH } from '../../../src/chain/rpc.js';
import { randomNumbers } from '../../../src/random.js';
import { checkReplayFile, isReplayFile, openReplay } from '../../../src/workloads/replay-file.js';
import { temporaryFile, temporaryFolder } from '../../helpers/temporary.js';

/** @import { TestContext } from 'node:test' */

/** @param {TestContext} t @param {string | Buffer} text */
const fileOf = (t, text) => temporaryFile(t, 'traffic.ndjson', text);

const IN_ORDER = { allowWrites: false, random: null };

/** @param {Awaited<ReturnType<typeof openReplay>>} replay @param {number} count */
const methodsOf = (replay, count) => Array.from({ length: count }, () => replay.next().method);

/** @param {number} count */
const lines = (count) => Array.from({ length: count }, (_, i) => `{"method":"m${i}"}\n`).join('');

describe('a file of recorded requests', () => {
  it('has a request or a batch a line; comments, empty lines and other members do not count', async (t) => {
    const text = `# of node 3\n\n {"jsonrpc":"2.0","id":7,"method":"a","params":[1],"ms":3}\r\n  # more\n[{"method":"b"},{"method":"c","params":{"x":1}}]`;
    const file = fileOf(t, text);
    assert.deepEqual(await checkReplayFile(file, false), ['a', 'batch']);
    const replay = await openReplay(file, IN_ORDER);
    assert.equal(replay.count, 2);
    assert.deepEqual(replay.next(), { name: 'a', method: 'a', params: [1], where: 'line 3' });
    const params = [
      { method: 'b', params: [] },
      { method: 'c', params: { x: 1 } },
    ];
    assert.deepEqual(replay.next(), { name: 'batch', method: BATCH, params, where: 'line 5' });
    assert.equal(replay.next().where, 'line 3', 'after the last line it begins again');
  });

  for (const [name, text] of [
    ['over several lines', '# two\n[\n  {"method": "a"},\n  # a batch\n  [{"method": "b"}]\n]\n'],
    ['in one line', '[{"method":"a"},[{"method":"b"}]]'],
  ])
    it(`is an array ${name}: each item is a request, or a batch`, async (t) => {
      const file = fileOf(t, text);
      assert.deepEqual(await checkReplayFile(file, false), ['a', 'batch']);
      const replay = await openReplay(file, IN_ORDER);
      assert.deepEqual([replay.count, ...methodsOf(replay, 3)], [2, 'a', BATCH, 'a']);
      assert.equal(replay.next().where, 'request 2');
    });

  for (const text of ['# of node 3\n{"method":"a"}', '{"method":"a"}', '[{"method":"a"}]'])
    it(`may begin with a byte order mark: ${text.slice(0, 3)}`, async (t) => {
      const file = fileOf(t, `\ufeff${text}\r\n`);
      assert.equal(isReplayFile(file), true);
      assert.deepEqual(await checkReplayFile(file, false), ['a']);
      assert.deepEqual(methodsOf(await openReplay(file, IN_ORDER), 2), ['a', 'a']);
    });

  it('begins with a batch: it still has lines', async (t) => {
    const replay = await openReplay(fileOf(t, '[{"method":"a"}]\n{"method":"b"}\n'), IN_ORDER);
    assert.deepEqual(methodsOf(replay, 2), [BATCH, 'b']);
  });

  it('is told from a calls file by its beginning', (t) => {
    for (const [text, expected] of /** @type {Array<[string, boolean]>} */ ([
      ['{"schema":"evm-stress/calls@1","calls":[]}', false],
      ['\n{\n  "calls": [\n', false],
      ['{}', false],
      ['{"method":"a"}', true],
      ['# of node 3\n{"jsonrpc":"2.0"}', true],
      ['', true],
      ['no JSON', true],
    ]))
      assert.equal(isReplayFile(fileOf(t, text)), expected, text);
    assert.equal(isReplayFile(temporaryFolder(t)), false);
    assert.equal(isReplayFile('/there/is/none'), false);
  });

  it('lines of any length at any place are read whole', async (t) => {
    const size = fc.oneof(fc.nat(300), fc.integer({ min: 200_000, max: 700_000 }));
    await fc.assert(
      fc.asyncProperty(fc.array(size, { minLength: 1, maxLength: 8 }), fc.boolean(), async (sizes, isEnded) => {
        const texts = sizes.map((length, i) => `{"method":"m","params":["${i}é${'x'.repeat(length)}"]}`);
        const replay = await openReplay(fileOf(t, texts.join('\n') + (isEnded ? '\n' : '')), IN_ORDER);
        for (const text of [...texts, texts[0]]) assert.deepEqual(replay.next().params, JSON.parse(text).params);
      }),
      { numRuns: 30 },
    );
  });

  const batch = (/** @type {number} */ count) => JSON.stringify(Array(count).fill({ method: 'a' }));
  /** @type {Array<[string, string | Buffer, RegExp]>} */
  const bad = [
    ['no JSON', '{"method":"a"}\n{"method":\n', / 2: it is not valid JSON; .* put # before it: a line is/],
    ['a number', '{"method":"a"}\n5', /line 2: it has no method, so it is no request/],
    ['null', 'null', /line 1: it has no method/],
    ['an answer', '{"jsonrpc":"2.0","id":1,"result":"0x1"}', /line 1: it has no method/],
    ['a method that is no name', '{"method":" eth_call"}', /line 1: " eth_call" is not the name of a method/],
    ['params that are a text', '{"method":"a","params":"0x1"}', /1: the params of a are neither an array nor an ob/],
    ['a log of HTTP requests', '{"method":"POST","body":"{}"}', /line 1: its method is POST: .*jq -r \.body/],
    ['an entry of a calls file', '{"method":"a","weight":2}', /line 1: check and weight are of a calls file/],
    ['a line of more than 1 MiB', `{"method":"a"}\n{"x":"${'x'.repeat(2 ** 20)}"}`, /line 2: it is longer than 1 MiB/],
    // After which nothing would be read.
    [
      'a comment that long',
      `{"method":"a"}\n#${'x'.repeat(2 ** 21)}\n{"method":"evm_mine"}`,
      /2: it is longer than 1 MiB/,
    ],
    ['a file that is compressed', gzipSync('{"method":"a"}'), /line 1: it is not UTF-8 text; unpack the file/],
    ['UTF-16', Buffer.from('\ufeff{"method":"a"}', 'utf16le'), /line 1: it is not UTF-8 text; .*iconv/],
    ['Latin-1', Buffer.from('{"method":"a"}\n{"method":"a","params":["\xe9"]}', 'latin1'), /line 2: it is not UTF-8/],
    ['an invalid array', '[\n  {"method":"a"},\n]', /ndjson: the array is not valid JSON; .*jq -c '\.\[\]'/],
    ['a first batch that is not valid', '[{"method":"a"},]\n{"method":"a"}', /line 1: it is not valid JSON/],
    ['a batch in a batch', '{"method":"a"}\n[[{"method":"a"}]]', /line 2: an item of the batch has no method/],
    ['a line that does not end', 'x'.repeat(3 * 2 ** 20), /line 1: it is longer than 1 MiB/],
    ['an empty batch', '{"method":"a"}\n[]', /line 2: the batch is empty/],
    ['a batch of 1,001', `{"method":"a"}\n${batch(1001)}`, /line 2: the batch has 1001 requests, and 1000 is/],
    ['an item that is no request', '{"method":"a"}\n[{"method":"a"},7]', /line 2: an item of the batch has no method/],
    ['an empty file', '', /traffic\.ndjson has no request: a line is/],
    ['an empty array', '[]', /traffic\.ndjson has no request/],
    ['comments only', '# a\n\n#b', /traffic\.ndjson has no request/],
  ];
  /** @type {typeof bad} */
  const writing = [
    ['a method that writes', '# x\n{"method":"eth_sendRawTransaction"}', / 2: eth_s.* may change .* --allow-writes$/],
    ['one in a batch', '{"method":"a"}\n[{"method":"evm_mine"}]', /line 2: evm_mine may change/],
    ['one in an array', '[{"method":"a"},{"method":"evm_mine"}]', /request 2: evm_mine may change/],
  ];
  for (const [name, text, words] of [...bad, ...writing])
    it(`${name}: one line that says so`, async (t) => {
      await assert.rejects(checkReplayFile(fileOf(t, text), false), (/** @type {any} */ error) => {
        assert.match(error.message, words);
        assert.match(error.message, /traffic\.ndjson/);
        assert.doesNotMatch(error.message, /\n/);
        assert.equal(error.exitCode, words.source.includes('may change') ? 77 : 65);
        return true;
      });
    });

  it('with the permission it may write; a batch of 1,000 is allowed', async (t) => {
    const file = fileOf(t, `{"method":"eth_sendRawTransaction"}\n${batch(1000)}`);
    assert.deepEqual(await checkReplayFile(file, true), ['eth_sendRawTransaction', 'batch']);
  });

  it('has more than a million requests: it has to be divided', async (t) => {
    const text = '{"method":"a"}\n'.repeat(1_000_000);
    const file = fileOf(t, text);
    assert.equal((await openReplay(file, IN_ORDER)).count, 1_000_000);
    appendFileSync(file, '{"method":"a"}\n');
    await assert.rejects(openReplay(file, IN_ORDER), {
      exitCode: 65,
      message: /more than 1000000 requests; divide it/,
    });
  });

  it('tells the first 63 names', async (t) => {
    assert.equal((await checkReplayFile(fileOf(t, lines(100)), false)).length, 63);
  });

  it('that changes during the run is no longer replayed, whatever it has now', async (t) => {
    const file = fileOf(t, '{"method":"eth_getBalance","params":[]}\n');
    const replay = await openReplay(file, IN_ORDER);
    writeFileSync(file, '{"method":"evm_mine"}\n');
    assert.throws(() => replay.next(), {
      code: 'workload_error',
      message: /^the file changed during the run: .*line 1: evm_mine/,
    });
  });
});

describe('the order of recorded requests', () => {
  it('is that of the file, or another one in each pass that has every request once', async (t) => {
    const file = fileOf(t, lines(200));
    const all = Array.from({ length: 200 }, (_, i) => `m${i}`);
    const inOrder = await openReplay(file, IN_ORDER);
    for (let pass = 0; pass < 2; pass += 1) assert.deepEqual(methodsOf(inOrder, 200), all);
    const shuffled = (/** @type {number} */ seed) =>
      openReplay(file, { allowWrites: false, random: randomNumbers(seed) });
    const random = await shuffled(1);
    const passes = [0, 1].map(() => methodsOf(random, 200));
    for (const pass of passes) assert.deepEqual([...pass].sort(), [...all].sort());
    assert.notDeepEqual(passes[0], passes[1]);
    assert.deepEqual(methodsOf(await shuffled(1), 200), passes[0], 'it follows from the seed');
    assert.notDeepEqual(methodsOf(await shuffled(2), 200), passes[0]);
  });

  it('threads divide the requests by their users: each is started once in a pass', async (t) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 0, max: 60 }),
        async (users, more) => {
          const of = users.reduce((sum, count) => sum + count, 0);
          const requests = of + more;
          const file = fileOf(t, lines(requests));
          let first = 0;
          const started = [];
          for (const count of users) {
            const own = { ...IN_ORDER, part: { first, count, of } };
            const replay = await openReplay(file, own);
            const size = Array.from({ length: requests }, (_, i) => i % of).filter(
              (i) => i >= first && i < first + count,
            );
            started.push(...methodsOf(replay, size.length));
            assert.equal(replay.count, requests);
            first += count;
          }
          assert.deepEqual(started.sort(), Array.from({ length: requests }, (_, i) => `m${i}`).sort());
        },
      ),
      { numRuns: 30 },
    );
  });

  it('a thread without a part, because there are more users than requests, has all', async (t) => {
    const replay = await openReplay(fileOf(t, lines(2)), { ...IN_ORDER, part: { first: 3, count: 3, of: 6 } });
    assert.deepEqual(methodsOf(replay, 3), ['m0', 'm1', 'm0']);
  });
});
