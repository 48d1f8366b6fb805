/** The barrier folder, on the real file system. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Barrier } from '../../../src/core/common-start.js';
import { IncompleteError, OutputError, RefusedError } from '../../../src/errors.js';
import { temporaryFolder } from '../../helpers/temporary.js';

/**
 * @import { Arrival } from '../../../src/core/common-start.js'
 * @import { TestContext } from 'node:test'
 */

/** @param {Partial<Arrival>} [differing] */
function arrivalOf(differing = {}) {
  const index = differing.index ?? 0;
  return {
    id: `run file ${index}`,
    index,
    attempt: 0,
    instances: 2,
    threads: 20,
    firstOffset: 0,
    chainId: 31337,
    genesisHash: '0x11',
    host: `host-${index}`,
    arrivedAt: '2026-01-01T00:00:00.000Z',
    ...differing,
  };
}

/** @param {TestContext} t */
function barriers(t) {
  const folder = temporaryFolder(t);
  const own = join(folder, 'demo');
  mkdirSync(own);
  return { folder, own, make: () => new Barrier(folder, 'demo') };
}

describe('Barrier.arrive()', () => {
  it('creates a complete file that others see', async (t) => {
    const { own, make } = barriers(t);
    const [a, b] = [make(), make()];
    await a.open(arrivalOf());
    await a.arrive(arrivalOf());
    await b.arrive(arrivalOf({ index: 1, attempt: 3 }));
    assert.deepEqual(readdirSync(own).sort(), ['0-0.json', '1-3.json'], 'and nothing beside it');
    assert.deepEqual(JSON.parse(readFileSync(join(own, '1-3.json'), 'utf8')), arrivalOf({ index: 1, attempt: 3 }));
    assert.deepEqual([...((await a.look())?.attempts ?? [])].sort(), [
      [0, 0],
      [1, 3],
    ]);
  });

  it('the same index cannot arrive twice; the message names the first one', async (t) => {
    const { make } = barriers(t);
    await make().arrive(arrivalOf());
    const again = make().arrive(arrivalOf({ id: 'another one' }));
    await assert.rejects(again, (/** @type {RefusedError} */ error) => {
      assert.ok(error instanceof RefusedError);
      assert.match(
        error.message,
        /^index 0 of run demo has arrived already on host-0 since 2026-01-01T00:00:00\.000Z: /,
      );
      assert.match(error.message, /--attempt 1$/);
      return true;
    });
    await assert.rejects(make().open({ index: 0, attempt: 0 }), RefusedError, 'known before anything is sent');
    await make().open({ index: 0, attempt: 1 });
  });

  it('of ten processes with the same index one arrives', async (t) => {
    const { own, make } = barriers(t);
    const all = await Promise.allSettled(
      Array.from({ length: 10 }, (_, i) => make().arrive(arrivalOf({ id: `process ${i}` }))),
    );
    const winner = all.findIndex(({ status }) => status === 'fulfilled');
    assert.equal(all.filter(({ status }) => status === 'fulfilled').length, 1);
    assert.equal(JSON.parse(readFileSync(join(own, '0-0.json'), 'utf8')).id, `process ${winner}`);
  });

  it('a link whose response was lost belongs to this process', async (t) => {
    const { make } = barriers(t);
    await make().arrive(arrivalOf());
    await make().arrive(arrivalOf());
  });

  it('withdraw() removes the arrival', async (t) => {
    const { own, make } = barriers(t);
    const barrier = make();
    await barrier.arrive(arrivalOf());
    await barrier.withdraw();
    await barrier.withdraw();
    assert.deepEqual(readdirSync(own), []);
  });
});

describe('Barrier.look()', () => {
  it('uses the highest attempt of each index and ignores other files', async (t) => {
    const { own, make } = barriers(t);
    for (const name of ['2-0.json', '2-11.json', '2-9.json', '.abc.tmp', 'x-1.json', '1-0.json.tmp', 'note.txt'])
      writeFileSync(join(own, name), 'half a fi');
    const seen = await make().look();
    assert.deepEqual([seen?.start, [...(seen?.attempts ?? [])]], [null, [[2, 11]]]);
  });

  it('an unreadable folder, or an incomplete start', async (t) => {
    const { own, make } = barriers(t);
    writeFileSync(join(own, 'start.json'), '{"at": "2026-');
    assert.equal((await make().look())?.start, null);
    rmSync(own, { recursive: true });
    assert.equal(await make().look(), null);
  });
});

describe('Barrier.compare()', () => {
  /** @param {TestContext} t @param {object} differing */
  const compared = async (t, differing) => {
    const { make } = barriers(t);
    const barrier = make();
    await barrier.arrive(arrivalOf());
    await make().arrive(arrivalOf({ index: 1, ...differing }));
    return barrier.compare(arrivalOf(), (await barrier.look())?.attempts ?? new Map());
  };

  it('instances that agree', async (t) => {
    assert.deepEqual(await compared(t, {}), { allRead: true, contradiction: null });
    assert.deepEqual(await compared(t, { genesisHash: null }), { allRead: true, contradiction: null });
  });

  for (const [words, differing] of /** @type {Array<[string, object]>} */ ([
    ['-t 20, index 1 (host-1) has -t 30', { threads: 30 }],
    ['-o 0, index 1 (host-1) has -o 5', { firstOffset: 5 }],
    ['--instances 2, index 1 (host-1) has --instances 3', { instances: 3 }],
    ['chain 31337, index 1 (host-1) has chain 1', { chainId: 1 }],
    ['first block 0x11, index 1 (host-1) has first block 0x22', { genesisHash: '0x22' }],
  ]))
    it(`reports the difference: ${words}`, async (t) => {
      const { contradiction } = await compared(t, differing);
      assert.equal(
        contradiction,
        `run demo: index 0 (host-0) has ${words}: all instances of a run need the same value`,
      );
    });

  it('an incomplete file is read again', async (t) => {
    const { own, make } = barriers(t);
    const barrier = make();
    await barrier.arrive(arrivalOf());
    const attempts = new Map([
      [0, 0],
      [1, 0],
    ]);
    writeFileSync(join(own, '1-0.json'), '{"index": 1, "thr');
    assert.deepEqual(await barrier.compare(arrivalOf(), attempts), { allRead: false, contradiction: null });
    writeFileSync(join(own, '1-0.json'), JSON.stringify(arrivalOf({ index: 1 })));
    assert.deepEqual(await barrier.compare(arrivalOf(), attempts), { allRead: true, contradiction: null });
  });

  it('compareAgain() reads all arrivals again: one may have left, or been replaced', async (t) => {
    const { own, make } = barriers(t);
    const barrier = make();
    const one = arrivalOf({ index: 1 });
    await barrier.arrive(arrivalOf());
    await make().arrive(one);
    const attempts = (await barrier.look())?.attempts ?? new Map();
    assert.equal((await barrier.compare(arrivalOf(), attempts)).allRead, true);
    assert.deepEqual((await barrier.compareAgain(arrivalOf(), attempts)).arrivals, [arrivalOf(), one]);

    rmSync(join(own, '1-0.json'));
    assert.deepEqual(await barrier.compareAgain(arrivalOf(), attempts), { arrivals: null, contradiction: null });
    await make().arrive(arrivalOf({ index: 1, id: 'another process', threads: 10 }));
    assert.match((await barrier.compareAgain(arrivalOf(), attempts)).contradiction ?? '', /has -t 10: /);
  });
});

describe('Barrier.begin()', () => {
  const start = { at: '2026-01-01T00:00:05.000Z', arrivals: [{ index: 0, attempt: 0, id: 'run file 0' }] };

  it('the first start is valid', async (t) => {
    const { make } = barriers(t);
    assert.deepEqual(await make().begin(start), start);
    assert.deepEqual(await make().begin({ refused: 'no' }), start);
    assert.deepEqual((await make().look())?.start, start);
  });

  it('a later instance is rejected', async (t) => {
    const { make } = barriers(t);
    await make().begin(start);
    await assert.rejects(make().open({ index: 1, attempt: 0 }), (/** @type {Error} */ error) => {
      assert.ok(error instanceof IncompleteError);
      assert.match(error.message, /^run demo started at 2026-01-01T00:00:05\.000Z, before this instance arrived; /);
      return true;
    });
  });
});

it('a folder that cannot be created, or is a file, is found when opened', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'demo'), 'a file');
  await assert.rejects(new Barrier(folder, 'demo').open({ index: 0, attempt: 0 }), OutputError);
  await assert.rejects(new Barrier('/proc/nobody/can', 'demo').open({ index: 0, attempt: 0 }), OutputError);
});
