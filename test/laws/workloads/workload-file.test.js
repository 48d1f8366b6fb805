import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { RpcError } from '../../../src/errors.js';
import { createWorkload } from '../../../src/workloads/index.js';
import { strayErrorOf } from '../../../src/workloads/user-code.js';
import { loadWorkloadFile } from '../../../src/workloads/user-file.js';
import { isWorkloadFile } from '../../../src/files.js';
import { caught } from '../../helpers/caught.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { temporaryFolder } from '../../helpers/temporary.js';

/** @import { TestContext } from 'node:test' */

const CONTRACT = "export const contract = 'evm-stress/workload@1';\n";

/** @param {TestContext} t @param {string} text @param {string} [name] */
function write(t, text, name = 'mine.mjs') {
  const file = join(temporaryFolder(t), name);
  writeFileSync(file, text);
  return file;
}

describe('workload files', () => {
  it('a path or the name of a script is a file, and nothing else', () => {
    for (const file of ['./x', 'a/b', 'mine.js', 'mine.mjs', 'mine.cjs', '..\\mine', 'Mine.sol'])
      assert.ok(isWorkloadFile(file), file);
    for (const name of ['counter', 'rpc', 'js', 'mine.json', 'mine.js.txt', '']) assert.ok(!isWorkloadFile(name), name);
  });

  for (const [name, text, says] of /** @type {Array<[string, string, RegExp]>} */ ([
    [
      'a syntax error',
      `${CONTRACT}\nexport default function () { retrn 5; }`,
      /mine\.mjs: its import failed: .*; node \S+mine\.mjs shows the line$/,
    ],
    [
      'an import that throws',
      `${CONTRACT}\nnull.x;`,
      /mine\.mjs: its import failed: Cannot read.* \(at \S+mine\.mjs:3:6\)$/,
    ],
    ['a package that is not there', "import 'no-such-package';", /mine\.mjs: its import failed: .*no-such-package/],
    [
      'no contract',
      'export default () => {};',
      /must state the version of the workload interface .*evm-stress\/workload@1'; it is undefined$/,
    ],
    ['another version', CONTRACT.replace('@1', '@9'), /evm-stress\/workload@1'; it is 'evm-stress\/workload@9'$/],
    ['no default', CONTRACT, /lacks its default export/],
  ]))
    it(`${name} is named`, async (t) => {
      const error = await caught(() => loadWorkloadFile(write(t, text)));
      assert.match(error.message, says);
      assert.ok(!error.message.includes('\n'));
      assert.equal(error.exitCode, 65);
    });

  it('one that is not there is no workload, nor is a folder', async (t) => {
    const folder = temporaryFolder(t);
    assert.match((await caught(() => loadWorkloadFile(join(folder, 'none.js')))).message, /^there is no workload file/);
    assert.match((await caught(() => loadWorkloadFile(folder))).message, /^there is no workload file/);
  });

  it('a .js file in a package of CommonJS modules may be one, and an ES module is refused without an import', async (t) => {
    const commonJs = write(t, "module.exports = { contract: 'evm-stress/workload@1', default: () => 5 };", 'mine.js');
    const folder = dirname(commonJs);
    const [inner, esModule, broken] = ['inner', 'inner/es.js', 'broken.js'].map((name) => join(folder, name));
    mkdirSync(inner);
    writeFileSync(join(folder, 'package.json'), '{"type":"commonjs"}');
    writeFileSync(esModule, `await null;\n${CONTRACT}`);
    writeFileSync(broken, 'retrn 5;');
    assert.equal(/** @type {any} */ (await loadWorkloadFile(commonJs))(), 5);
    for (const [file, name] of [
      [esModule, 'es'],
      [broken, 'broken'],
    ]) {
      const { message } = await caught(() => loadWorkloadFile(file));
      assert.match(
        message,
        new RegExp(
          `${name}\\.js is no CommonJS module, as \\S+package\\.json says \\(.+\\): name an ES module ${name}\\.mjs$`,
        ),
      );
    }
    writeFileSync(join(inner, 'package.json'), '{"type":"module"}');
    writeFileSync(esModule, `${CONTRACT}export default () => 6;`);
    assert.equal(/** @type {any} */ (await loadWorkloadFile(esModule))(), 6);
  });

  it('members of a class count as those of an object', async (t) => {
    const file = write(
      t,
      `${CONTRACT}
      class Mine {
        get kind() { return 'transaction'; }
        get gas() { return { perWallet: 5n, perOperation: 7n }; }
        get subject() { return 'mine grew'; }
        get valueWei() { return 3n; }
        next() { return { to: '0x${'11'.repeat(20)}' }; }
      }
      class Calls {
        get kind() { return 'call'; }
        get callsPerIteration() { return 4; }
        next() { return { method: 'eth_chainId' }; }
      }
      export default ({ settings }) => (settings.set.calls ? new Calls() : new Mine());`,
    );
    const given = { rpc: fakeRpc({}), settings: {} };
    const mine = /** @type {any} */ (await createWorkload(file, /** @type {any} */ (given)));
    assert.deepEqual(
      [mine.kind, mine.subject, mine.valueWei, mine.gas.perWallet, mine.gas.perOperation],
      ['transaction', 'mine grew', 3n, 5n, 7n],
    );
    const settings = { set: [['calls', 'yes']] };
    const calls = /** @type {any} */ (await createWorkload(file, /** @type {any} */ ({ ...given, settings })));
    assert.deepEqual([calls.kind, calls.callsPerIteration], ['call', 4]);
  });

  it('CommonJS modules export the same two', async (t) => {
    const text = "module.exports = { contract: 'evm-stress/workload@1', default: () => 5 };";
    assert.equal(/** @type {any} */ (await loadWorkloadFile(write(t, text, 'mine.cjs')))(), 5);
  });

  it('create() is given the settings, in a worker thread those of the main one, and what was handed over', async (t) => {
    const file = write(
      t,
      `${CONTRACT}export default ({ settings, state }) =>
        ({ kind: 'call', next: () => ({ method: 'm', params: [settings.set.a, state ?? 'none'] }) });`,
    );
    const rpc = fakeRpc({});
    const main = await createWorkload(file, { rpc, settings: { set: [['a', '1']] } });
    assert.deepEqual(main.next(0, 0), { method: 'm', params: ['1', 'none'] });
    const state = { own: 'mine', kit: { tag: '00', first: 0, starts: [] } };
    const worker = await createWorkload(file, { rpc, settings: { set: [['a', '2']] }, state });
    assert.deepEqual(worker.next(0, 0), { method: 'm', params: ['2', 'mine'] });
  });

  it('what create() throws points into the file', async (t) => {
    const file = write(t, `${CONTRACT}export default () => {\n  throw new Error('no\\nidea');\n};`);
    const error = await caught(() => createWorkload(file, { rpc: fakeRpc({}), settings: {} }));
    assert.match(error.message, /mine\.mjs: create\(\) threw: no idea \(at .*mine\.mjs:3:9\)+$/);
  });

  it('an uncaught error is an error of the workload if its stack has the file of the workload', async (t) => {
    const file = write(t, `${CONTRACT}export default () => new Error('stray');`);
    const error = /** @type {any} */ (await loadWorkloadFile(file))();
    assert.match(strayErrorOf(file, error)?.message ?? '', /mine\.mjs: .*stray \(at .*mine\.mjs:2:22\)+$/);
    const ours = new Error('ours');
    ours.stack = `Error: ours\n    at f (${new URL('../../../src/core/engine.js', import.meta.url).href}:1:2)`;
    assert.equal(strayErrorOf(file, ours), null);
    assert.equal(strayErrorOf('counter', error), null);
  });

  it('an uncaught error is no bug of ours if its stack has no file of ours, or if a call of the workload failed', async (t) => {
    const file = write(t, CONTRACT);
    const fetched = new TypeError('fetch failed');
    fetched.stack = 'TypeError: fetch failed\n    at node:internal/deps/undici/undici:1:2';
    for (const thrown of [fetched, 'words', undefined, new RpcError('m', 1, 'no')])
      assert.match(strayErrorOf(file, thrown)?.message ?? '', /: an error outside of its functions: /);
    assert.equal(strayErrorOf('counter', 'words'), null);
  });

  it('a throw in a file that it imports names that one', async (t) => {
    const file = write(t, `import './helper.mjs';\n${CONTRACT}`);
    writeFileSync(join(dirname(file), 'helper.mjs'), '\nnull.x;');
    const { message } = await caught(() => loadWorkloadFile(file));
    assert.match(message, /mine\.mjs: its import failed: Cannot read.* \(at \S+helper\.mjs:2:6\)$/);
  });
});
