/** What every probe must be: plain JSON or a reason in one line, made without fail, closed as often as one likes. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { RpcError } from '../../src/errors.js';
import { probes } from '../../src/probes/index.js';
import { serve } from '../helpers/endpoint.js';
import { fakeRpc } from '../helpers/fake-rpc.js';

/** @import { Probe } from '../../src/probes/index.js' */

const page = await serve(() => ({ body: 'go_goroutines 75\n' }));
const html = await serve(() => ({ body: '<html>\n<body>' }));

const working = fakeRpc({ txpool_status: () => ({ pending: '0x1', queued: '0x2' }) });
const refusing = fakeRpc({
  txpool_status: () => {
    throw new RpcError('txpool_status', -32601, 'no such method');
  },
});
const stats = () => ({ requests: 5, connectionsOpened: 1 });

/** Each probe where there is something to see, and where there is nothing: then it has a reason. */
const cases = /** @type {Record<keyof typeof probes, {good: object, bad: object[]}>} */ ({
  self: { good: {}, bad: [] },
  loop: { good: {}, bad: [] },
  connections: { good: { stats }, bad: [] },
  sockets: { good: {}, bad: [{ proc: '/nowhere' }] },
  pool: { good: { rpc: working }, bad: [{ rpc: refusing }] },
  node: { good: { pid: process.pid }, bad: [{ pid: 4_194_304 }, { pid: 1, proc: '/nowhere' }] },
  metrics: {
    good: { url: new URL(page.url), series: null },
    bad: [
      { url: new URL(html.url), series: null },
      { url: new URL(page.url), series: ['x'] },
      { url: new URL('http://127.0.0.1:1'), series: null },
      { url: new URL('http://nobody.invalid'), series: null },
    ],
  },
});

/** Any probe, as its callers see it. */
const table = /** @type {Record<string, (options: any) => Probe<any>>} */ (probes);

it('the table is what is tested', () => assert.deepEqual(Object.keys(cases).sort(), Object.keys(probes).sort()));

for (const [name, { good, bad }] of Object.entries(cases)) {
  describe(`probe ${name}`, () => {
    const needsProc = ['sockets', 'node'].includes(name) && process.platform !== 'linux';

    it('gives plain JSON, each time', { skip: needsProc && 'needs /proc' }, async (t) => {
      const probe = table[name](good);
      t.after(() => probe.close?.());
      const first = await probe.sample();
      const second = await probe.sample();
      for (const reading of [first, second]) {
        assert.deepEqual(JSON.parse(JSON.stringify(reading)), reading);
        assert.deepEqual(Object.keys(reading), Object.keys(first));
      }
    });

    for (const options of bad) {
      it(`says in one line why there is no reading: ${JSON.stringify(options)}`, async (t) => {
        const probe = table[name](options);
        t.after(() => probe.close?.());
        for (let times = 0; times < 2; times += 1) {
          await assert.rejects(
            async () => probe.sample(),
            (error) => {
              assert.ok(error instanceof Error);
              assert.match(error.message, /^[^\n\u001b]{5,300}$/);
              return true;
            },
          );
        }
      });
    }

    it('can be closed before it was asked, and again', () => {
      const probe = table[name](good);
      probe.close?.();
      probe.close?.();
    });
  });
}

after(() => assert.ok(working.calls.every(({ purpose }) => purpose === 'probe')));
