/** Values of options, as they are typed. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { caught } from '../../helpers/caught.js';
import { flat, readCommand } from './read.js';

/** The start of the run of --start-at is soon. */
const NOW_MS = Date.UTC(2030, 0, 31, 11, 59);

/** What else an option needs. @type {Record<string, string[]>} */
const NEEDED = {
  'hd-path': ['--rpc=http://127.0.0.1:1'],
  to: ['reclaim', '--rpc=http://127.0.0.1:1'],
  'start-at': ['--run-id=a'],
};

/** @param {string} name @param {string} text */
async function valuesOf(name, text) {
  const argv = [...(NEEDED[name] ?? []), ...(name === 'threads' ? [] : ['--threads=5']), `--${name}=${text}`];
  return flat((await readCommand(argv, {}, { hasUsualConfig: false, nowMs: NOW_MS })).config);
}

/** @param {string} name @param {string} text @returns {Promise<string>} the message without the name of the option */
async function refusalOf(name, text) {
  const { message, code } = await caught(() => valuesOf(name, text));
  assert.equal(code, 'usage', message);
  // A sentence on one line.
  assert.doesNotMatch(message, /[\n\u001b]/);
  const [label, words] = /** @type {RegExpExecArray} */ (/^(--?[\w-]+(?: \(--[\w-]+\))?) (.*)$/.exec(message)).slice(1);
  assert.ok(label.includes(`--${name}`), message);
  return words;
}

/**
 * @param {string} name of the option
 * @param {string} key of its member of the configuration
 * @param {Array<[string, unknown]>} table text, and its value or the message that refuses it
 */
function describeTable(name, key, table) {
  describe(`--${name}`, () => {
    for (const [text, expected] of table) {
      if (expected instanceof RegExp)
        it(`refuses ${JSON.stringify(text)}`, async () => assert.match(await refusalOf(name, text), expected));
      else
        it(`reads ${JSON.stringify(text)}`, async () => assert.deepEqual((await valuesOf(name, text))[key], expected));
    }
  });
}

const NOT_WHOLE = /^must be a whole number, not "/;
describeTable('in-flight', 'inFlight', [
  ['+7', 7],
  ['0', /^must be at least 1, not "0"$/],
  ['1001', /^must be at most 1000, not "1001"$/],
  ['9'.repeat(400), /^must be at most 1000, not "9{60}\.\.\."$/],
  ['5\n', NOT_WHOLE],
  ['５', NOT_WHOLE],
]);

describeTable('threads', 'threads', [
  ['10k', 10_000],
  ['1.25k', 1250],
  ['1.0005k', /^must be a whole number/],
]);

it('every whole number in the range of an option is read, and no other', () =>
  fc.assert(
    fc.asyncProperty(fc.integer({ min: -(2 ** 33), max: 2 ** 33 }), async (value) => {
      if (value >= 0 && value < 2 ** 31) assert.equal((await valuesOf('offset', String(value))).offset, value);
      else assert.match(await refusalOf('offset', String(value)), /^must be at (least|most)/);
    }),
    { seed: 8 },
  ));

const NO_DURATION = /^must be a duration with its unit such as 250ms, 30s, 1m30s or 1h, not "/;
describeTable('interval', 'intervalMs', [
  ['250ms', 250],
  ['30s', 30_000],
  ['1m30s', 90_000],
  ['1h0.5m', 3_630_000],
  ['0.5s', 500],
  ['0596h', 2_145_600_000],
  ['99ms', /^must be at least 100ms, not "99ms"$/],
  ['597h', /^must be at most 24 days, not "597h"$/],
  ['30', NO_DURATION],
  ['5s\n', NO_DURATION],
]);
describeTable('drain-timeout', 'drainTimeoutMs', [['0s', 0]]);

const NO_RATE = /^must be operations per second, such as 500, 10k or 0\.5, or gas per second, such as 30Mgas, not "/;
describeTable('rate', 'ratePerSecond', [
  ['500', 500],
  ['500/s', 500],
  ['10k', 10_000],
  ['1.5k/s', 1500],
  ['0.5', 0.5],
  ['0', /^must be more than 0, not "0"$/],
  ['1000001', /^must be at most 1000000, not "1000001"$/],
  [`0.${'0'.repeat(400)}1`, /^must be more than 0/],
  ['-1', /^must be more than 0, not "-1"$/],
  ['0Mgas', NO_RATE],
]);

it('--rate in gas', async () => {
  assert.equal((await valuesOf('rate', '30Mgas')).gasPerSecond, 30_000_000);
  assert.equal((await valuesOf('rate', '1.5ggas/s')).gasPerSecond, 1_500_000_000);
});

/** @param {number} fromPerSecond @param {number} toPerSecond @param {number} durationUs */
const stage = (fromPerSecond, toPerSecond, durationUs) => ({ fromPerSecond, toPerSecond, durationUs });
const NO_STAGE = /^must be stages such as 0:100\/30s,100\/5m \(FROM:TO\/TIME or RATE\/TIME\), not "/;
describeTable('stages', 'stages', [
  ['100/30s', [stage(100, 100, 30e6)]],
  ['0:100/30s', [stage(0, 100, 30e6)]],
  ['1k:1.1k/5m', [stage(1000, 1100, 3e8)]],
  [
    '0:100/30s,100/5m,0/1h,100:0/500ms',
    [stage(0, 100, 3e7), stage(100, 100, 3e8), stage(0, 0, 36e8), stage(100, 0, 5e5)],
  ],
  [' 1/1s , 2/2s ', [stage(1, 1, 1e6), stage(2, 2, 2e6)]],
  ['1000001/1s', /^must be at most 1000000, not "1000001\/1s"$/],
  ['0/30s', /^must have a rate above 0: "0\/30s" has none$/],
  ['100/597h', /^must be at most 24 days/],
  ['100/30s,', NO_STAGE],
  ['1:2:3/30s', NO_STAGE],
]);

describeTable('fund-amount', 'fundAmountWei', [
  ['0.5', 5n * 10n ** 17n],
  ['0', 0n],
  ['2ether', 2n * 10n ** 18n],
  ['1000wei', 1000n],
  ['0.000000000000000001', 1n],
  ['0,5', /^must be an amount such as 0\.5, 2ether or 1000wei \(ether without a unit\), not "/],
  ['0.0000000000000000001', /^has more decimals than its unit, ether, has/],
]);
describeTable('tip', 'tipWei', [
  ['1.5', 1_500_000_000n],
  ['x', /^must be an amount such as 0\.5, 2gwei or 1000wei \(gwei without a unit\)/],
]);

describeTable('rpc', 'rpc', [
  ['http://127.0.0.1:8545', [new URL('http://127.0.0.1:8545')]],
  ['https://user:pass@example.org/rpc?key=1', [new URL('https://user:pass@example.org/rpc?key=1')]],
  ['wss://user:pass@example.org/ws/key', [new URL('wss://user:pass@example.org/ws/key')]],
  ['ftp://example.org', /^must be a URL/],
  ['localhost:8545', [new URL('http://localhost:8545')]],
  ['[::1]:8545', [new URL('http://[::1]:8545')]],
  ['localhost', /^must be a URL such as http:\/\/127\.0\.0\.1:8545, with http:\/\/, .* or wss:\/\/ before it$/],
  ['http//user:secret@example.org', /before it$/],
  ['http://us%er:secret@example.org', /^must be a URL/],
]);

describeTable('hd-path', 'hdPath', [
  ["m/44'/60'/0'/0", "m/44'/60'/0'/0"],
  ['m', 'm'],
  ["m/2147483647'", "m/2147483647'"],
  ["44'/60'", /^must be a derivation path such as m\/44'\/60'\/0'\/0/],
  ["m/44''", /^must be a derivation path/],
]);

describeTable('to', 'to', [
  ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'],
  ['0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266', /^must be an address .*valid checksum/],
  ['0xf39fd6e51aad88f6f4ce6ab8827279cfffb9226', /^must be an address/],
]);

describeTable('dashboard', 'dashboard', [
  ['9464', { host: '127.0.0.1', port: 9464 }],
  ['0.0.0.0:9464', { host: '0.0.0.0', port: 9464 }],
  ['[::1]:65535', { host: '::1', port: 65_535 }],
  ['0', /^must be at least 1, not "0"$/],
  ['65536', /^must be at most 65535, not "65536"$/],
  ['x', /^must be a port, or a host and a port such as 0\.0\.0\.0:9464, not "x"$/],
  ['::1:9464', /^must be a port/],
]);

const NO_INSTANT = /^must be an instant with/;
describeTable('start-at', 'startAtMs', [
  ['2030-01-31T12:00:00Z', Date.UTC(2030, 0, 31, 12)],
  ['2030-01-31T12:00:00.250Z', Date.UTC(2030, 0, 31, 12) + 250],
  ['2030-01-31T13:00:00+01:00', Date.UTC(2030, 0, 31, 12)],
  ['2030-01-31T06:30:00-05:30', Date.UTC(2030, 0, 31, 12)],
  ['1896091200.5', Date.UTC(2030, 0, 31, 12) + 500],
  ...[
    ...['now', 'tomorrow', '12:00', '2030-01-31', '2030-01-31T12:00:00', '2030-01-31 12:00:00Z', '+5m'],
    ...['2030-13-01T12:00:00Z', '2030-01-31T25:00:00Z', '2030-01-31T12:00:00CET'],
    ...['1893456000000', '189345600', '-1893456000', '1893456000Z', '1e10'],
  ].map((text) => /** @type {[string, RegExp]} */ ([text, NO_INSTANT])),
]);

describeTable('run-id', 'runId', [
  ...['a', '7', 'slurm-17', 'a.b_c-D', 'x'.repeat(63)].map((text) => /** @type {[string, string]} */ ([text, text])),
  ...['-a', '.', '..', '.a', 'a/b', 'a b', 'ü', 'a\nb', 'x'.repeat(64)].map(
    (text) => /** @type {[string, RegExp]} */ ([text, /^must be a name of up to 63 letters/]),
  ),
]);
