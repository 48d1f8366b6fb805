import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TEMPLATES, compile } from '../../../src/workloads/templates.js';
import { TemplateValues, newUser, random } from '../../../src/workloads/calls.js';

const ADDRESSES = [1, 2, 3].map((digit) => `0x${String(digit).repeat(40)}`);
const DATA = {
  address: `0x${'a'.repeat(40)}`,
  topic: `0x${'b'.repeat(64)}`,
  pageSize: 3,
  pages: [
    { fromBlock: 10, toBlock: 12, count: 3 },
    { fromBlock: 12, toBlock: 15, count: 2 },
  ],
};

/** @param {{number?: number, seed?: number, position?: number, page?: number}} [options] */
function drawOf({ number = 1000, seed = 7, position = 0, page = 0 } = {}) {
  const head = { number, blockHashes: ['0xb1', '0xb2'], transactions: ['0xt1', '0xt2', '0xt3'] };
  const user = { ...newUser(seed, position), page };
  return new TemplateValues(user, /** @type {any} */ ({ head, addresses: ADDRESSES, data: DATA }));
}

/** @param {unknown} value @param {Parameters<typeof drawOf>[0]} [options] @returns {any} */
const made = (value, options) => compile(value).make(drawOf(options));

describe('templates', () => {
  it('what has none stays the same object, and is known to be constant', () => {
    const value = [{ a: ['0x1', null, 1.5, true, { b: 'x {y} z' }] }, []];
    const { make, isConstant, needs } = compile(value);
    assert.equal(isConstant, true);
    assert.equal(make(drawOf()), value);
    assert.deepEqual([...needs], []);
  });

  it('a text that is one template becomes its value; within a longer one it is put in its place', () => {
    assert.equal(made('{{block.latest}}'), '0x3e8');
    assert.equal(made('{{ block.latest }}'), '0x3e8');
    assert.deepEqual(made([{ deep: ['{{page.count}}', 'n={{page.count}}!'] }]), [{ deep: [3, 'n=3!'] }]);
    assert.equal(
      made('0x70a08231{{address.own.word}}', { position: 1 }),
      `0x70a08231${'2'.repeat(40).padStart(64, '0')}`,
    );
  });

  it('recent is one of the last blocks, each of them some time, and never before the first', () => {
    const seen = new Set();
    for (let seed = 1; seed < 400; seed += 1) seen.add(Number(made('{{block.recent 4}}', { seed })));
    assert.deepEqual(
      [...seen].sort((a, b) => a - b),
      [997, 998, 999, 1000],
    );
    assert.equal(made('{{block.recent}}', { number: 0 }), '0x0');
    for (let seed = 1; seed < 200; seed += 1) assert.ok(Number(made('{{block.recent}}', { seed })) > 1000 - 128);
  });

  it('on a young chain all its blocks are as likely, and a range is as long as it can be', () => {
    /** @type {Record<string, number>} */
    const counts = {};
    /** @type {Set<string>} */
    const ranges = new Set();
    for (let seed = 1; seed <= 2000; seed += 1) {
      const number = Number(made('{{block.recent}}', { seed, number: 9 }));
      counts[number] = (counts[number] ?? 0) + 1;
      const { from, to } = made({ from: '{{range.from 8}}', to: '{{range.to 8}}' }, { seed, number: 9 });
      ranges.add(`${Number(from)}..${Number(to)}`);
    }
    assert.equal(Object.keys(counts).length, 10);
    for (const [number, count] of Object.entries(counts)) assert.ok(count > 120 && count < 280, `${number}: ${count}`);
    assert.deepEqual([...ranges].sort(), ['0..7', '1..8', '2..9']);
    assert.deepEqual(made(['{{range.from 50}}', '{{range.to 50}}'], { number: 9 }), ['0x0', '0x9']);
  });

  it('a range is as long as asked for, and its two ends belong together', () => {
    for (let seed = 1; seed < 100; seed += 1) {
      const { from, to } = made({ from: '{{range.from 50}}', to: '{{range.to 50}}' }, { seed });
      assert.equal(Number(to) - Number(from), 49);
      assert.ok(Number(to) <= 1000 && Number(to) > 1000 - 128);
    }
    assert.deepEqual(made(['{{range.from 50}}', '{{range.to 50}}'], { number: 3 })[0], '0x0');
    assert.deepEqual(made(['{{range.from 5 1}}', '{{range.to 5 1}}']), ['0x3e4', '0x3e8']);
  });

  it('what is drawn once for a call is the same all over it, and another one for the next', () => {
    const { make } = compile(['{{address}}', '0x{{address.word}}', '{{tx.recent}}', '{{tx.recent}}', '{{block.hash}}']);
    const user = newUser(3, 0);
    const seen = new Set();
    for (let i = 0; i < 50; i += 1) {
      const sources = /** @type {any} */ ({
        head: { number: 5, blockHashes: ['0xb'], transactions: ['0x1', '0x2'] },
        addresses: ADDRESSES,
        data: null,
      });
      const [address, word, a, b] = /** @type {any[]} */ (make(new TemplateValues(user, sources)));
      assert.equal(word.slice(-40), address.slice(2));
      assert.equal(a, b);
      seen.add(address);
    }
    assert.deepEqual([...seen].sort(), ADDRESSES);
  });

  it('a page is the one that its user is at', () => {
    const filter = {
      address: '{{data.address}}',
      from: '{{page.from}}',
      to: '{{page.to}}',
      topics: ['{{data.topic}}', '{{page.topic}}'],
    };
    assert.deepEqual(made(filter, { page: 1 }), {
      address: DATA.address,
      from: '0xc',
      to: '0xf',
      topics: [DATA.topic, `0x${'1'.padStart(64, '0')}`],
    });
  });

  it('says what it needs', () => {
    assert.deepEqual([...compile(['{{tx.recent}}', { a: '{{page.to}}' }]).needs].sort(), [
      'data',
      'head',
      'page',
      'transactions',
    ]);
  });

  it('every template gives a text or a number', () => {
    for (const [name, { numbers }] of Object.entries(TEMPLATES)) {
      const text = `{{${[name, ...numbers.map(() => 2)].join(' ')}}}`;
      assert.match(String(made(text)), /^(0x)?[0-9a-z]+$/, text);
    }
  });

  for (const [text, words] of /** @type {Array<[string, RegExp]>} */ ([
    ['{{block.lates}}', /"?\{\{block\.lates\}\}"? is no template: did you mean \{\{block\.latest\}\}\?/],
    ['{{nonsense}}', /is no template: there are block\.latest, /],
    ['{{}}', /is no template/],
    ['{{constructor}}', /is no template/],
    ['{{block.latest 5}}', /: it takes no numbers behind its name$/],
    ['{{range.from}}', /: give 1 to 2 numbers, each a whole number from 1 to 1000000000, behind its name$/],
    ['{{block.recent x}}', /: give 0 to 1 numbers, each a whole number from 1/],
    ['{{block.recent 0}}', /each a whole number from 1/],
    ['{{block.latest', /braces that do not close/],
    ['a}} {{block.latest}}', /braces that do not close/],
  ])) {
    it(`${text} is refused`, () => {
      assert.throws(() => compile([{ deep: text }]), { message: words });
    });
  }
});

describe('random figures of a user', () => {
  it('are those of the seed and of the position, from 0 up to 1, and evenly so', () => {
    const sequence = (/** @type {number} */ seed, /** @type {number} */ position) => {
      const user = newUser(seed, position);
      return Array.from({ length: 5000 }, () => random(user));
    };
    assert.deepEqual(sequence(1, 2), sequence(1, 2));
    const all = [sequence(1, 0), sequence(1, 1), sequence(2, 0), sequence(2 ** 32 - 1, 99_999)];
    assert.equal(new Set(all.map(([first]) => first)).size, all.length);
    for (const figures of all) {
      assert.ok(figures.every((figure) => figure >= 0 && figure < 1));
      const mean = figures.reduce((sum, figure) => sum + figure, 0) / figures.length;
      assert.ok(Math.abs(mean - 0.5) < 0.02, String(mean));
    }
  });
});
