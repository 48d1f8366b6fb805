import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OF_CALLS, OF_OPERATIONS, TEMPLATES, compile } from '../../../src/workloads/templates.js';
import { randomNumbers } from '../../../src/random.js';
import { temporaryFile } from '../../helpers/temporary.js';

const ADDRESSES = [1, 2, 3].map((digit) => `0x${String(digit).repeat(40)}`);
const DATA = { address: `0x${'a'.repeat(40)}`, pageSize: 3, blocks: [10, 12] };

/** @param {{number?: number, seed?: number, index?: number, page?: number}} [options] @returns {any} */
function drawOf({ number = 1000, seed = 7, index = 0, page = 0 } = {}) {
  const random = randomNumbers(seed);
  /** @type {Map<string, number>} */
  const picked = new Map();
  const pick = (/** @type {string} */ key, /** @type {number} */ below) => {
    picked.set(key, picked.get(key) ?? Math.floor(random() * below));
    return picked.get(key);
  };
  const head = { number, blockHashes: ['0xb1', '0xb2'], transactions: ['0xt1', '0xt2', '0xt3'] };
  return { user: { index, random, page }, head, addresses: ADDRESSES, data: DATA, pick };
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
    assert.equal(made('0x70a08231{{address.own.word}}', { index: 1 }), `0x70a08231${'2'.repeat(40).padStart(64, '0')}`);
  });

  it('recent is one of the last blocks, each of them some time, and never before the first', () => {
    const seen = new Set();
    for (let seed = 1; seed < 400; seed += 1) seen.add(Number(made('{{block.recent 4}}', { seed })));
    const ascending = [...seen].sort((a, b) => a - b);
    assert.deepEqual(ascending, [997, 998, 999, 1000]);
    assert.equal(made('{{block.recent}}', { number: 0 }), '0x0');
    for (let seed = 1; seed < 200; seed += 1) assert.ok(Number(made('{{block.recent}}', { seed })) > 1000 - 128);
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

  it('what is drawn once for a call is the same all over it', () => {
    const { make } = compile(['{{address}}', '0x{{address.word}}', '{{tx.recent}}', '{{tx.recent}}', '{{block.hash}}']);
    const seen = new Set();
    for (let seed = 0; seed < 50; seed += 1) {
      const [address, word, a, b] = /** @type {any[]} */ (make(drawOf({ seed })));
      assert.equal(word.slice(-40), address.slice(2));
      assert.equal(a, b);
      seen.add(address);
    }
    assert.deepEqual([...seen].sort(), ADDRESSES);
  });

  it('a number is drawn from its range, an address from all of them, and a line from its file', (t) => {
    const file = temporaryFile(t, 'lines', 'a\n\n b \r\nc');
    const [numbers, addresses, lines] = [new Set(), new Set(), new Set()];
    for (let seed = 1; seed < 200; seed += 1) {
      numbers.add(made('{{number 9 11}}', { seed }));
      addresses.add(made('{{address.random}}', { seed }));
      lines.add(made(`{{line ${file}}}`, { seed }));
    }
    assert.deepEqual([...numbers].sort(), ['10', '11', '9']);
    assert.deepEqual([...lines].sort(), ['a', 'b', 'c']);
    assert.equal(addresses.size, 199);
    for (const address of addresses) assert.match(address, /^0x[0-9a-f]{40}$/);
    const [least, most] = ['1000000000000000000', '2000000000000000000'];
    const wei = BigInt(made(`{{number ${least} ${most}}}`));
    assert.ok(wei > BigInt(least) && wei < BigInt(most));
    assert.equal(made(`{{number ${most} ${most}}}`), most);
  });

  it('own and next wallets follow from the position, and the last one is followed by the first', () => {
    assert.deepEqual(made(['{{wallet.own}}', '{{wallet.next}}', '{{address.own}}'], { index: 2 }), [
      ADDRESSES[2],
      ADDRESSES[0],
      ADDRESSES[2],
    ]);
  });

  it('what only an operation has is no template of plain calls, and the other way round', () => {
    for (const name of ['nonce', 'unique', 'wallet.index', 'line.own x'])
      assert.throws(() => compile(`{{${name}}}`), /has no value here/);
    for (const name of ['block.latest', 'tx.recent', 'page.from'])
      assert.throws(() => compile(`{{${name}}}`, OF_OPERATIONS), /has no value here/);
    const values = { ...drawOf(), walletIndex: 3, nonce: 4 };
    const { make } = compile(['{{wallet.index}}', '{{nonce}}', '{{unique}}'], OF_OPERATIONS);
    assert.deepEqual(make(values), [3, 4, String((3n << 64n) + 4n)]);
  });

  it('every template gives a text or a number', (t) => {
    const file = temporaryFile(t, 'lines', 'abc');
    const everything = [...OF_CALLS, ...OF_OPERATIONS];
    for (const [name, { parameters = [] }] of Object.entries(TEMPLATES)) {
      const text = `{{${[name, ...parameters.map(({ shown }) => (shown === 'FILE' ? file : 2))].join(' ')}}}`;
      assert.match(String(compile(text, everything).make(drawOf())), /^(0x)?[0-9a-z]+$/, text);
    }
  });

  for (const [text, words] of /** @type {Array<[string, RegExp]>} */ ([
    ['{{block.lates}}', /\{\{block\.lates\}\} is no template; templates, with N from 1 to 1000000000: block\.latest, /],
    ['{{constructor}}', /is no template/],
    ['{{range.from}}', /must be \{\{range\.from N \[N\]\}\}$/],
    ['{{block.recent x}}', /must be \{\{block\.recent \[N\]\}\}$/],
    ['{{block.recent 0}}', /must be \{\{block\.recent \[N\]\}\}$/],
    ['{{block.latest 5}}', /must be \{\{block\.latest\}\}$/],
    ['{{number 2}}', /must be \{\{number FROM TO\}\}$/],
    ['{{number.word 2 1}}', /must be \{\{number\.word FROM TO\}\}$/],
    ['{{line}}', /must be \{\{line FILE\}\}, a name without spaces$/],
    ['{{line.word x}}', /\{\{line\.word x\}\} is no template; .* line FILE/],
    ['a}} {{block.latest}}', /braces that do not close/],
  ])) {
    it(`${text} is refused`, () => assert.throws(() => compile([{ deep: text }]), { message: words }));
  }
});
