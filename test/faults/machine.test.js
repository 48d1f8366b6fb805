/** What happens on the machine of the generator: its clock is set, a name gets another address, its disk is full. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { readJson } from '../helpers/cli.js';
import { temporaryFolder } from '../helpers/temporary.js';
import { fiveBlocksASecond, testRows } from './row.js';

/**
 * @import { TestContext } from 'node:test'
 * @import { Scene } from './row.js'
 */

const HOUR_MS = 3_600_000;
/** No operation waits longer for one of five blocks a second. */
const LONGEST_MS = 5000;

/** The time of day in all threads of stress is later by what a file says. @param {string} folder */
function settableClock(folder) {
  const [file, preload] = [join(folder, 'later.txt'), join(folder, 'clock.mjs')];
  writeFileSync(file, '0');
  const lines = [
    "import { readFileSync } from 'node:fs';",
    'const { now } = Date;',
    `Date.now = () => now() + Number(readFileSync(${JSON.stringify(file)}, 'utf8'));`,
  ];
  writeFileSync(preload, lines.join('\n'));
  return {
    env: { NODE_OPTIONS: `--import=${preload}` },
    set: (/** @type {number} */ ms) => writeFileSync(file, `${ms}`),
  };
}

const folder = temporaryFolder({ after });
const clock = settableClock(folder);

/** @param {number} laterMs */
function clockRow(laterMs) {
  return {
    fault: `the clock is set ${laterMs > 0 ? 'forward' : 'back'} by an hour, and right again`,
    env: clock.env,
    begin: async () => clock.set(laterMs),
    end: async () => clock.set(0),
    proof: (/** @type {Scene} */ _, /** @type {any} */ { blocks, latency, window, startedAt, endedAt }) => {
      const seenMs = laterMs > 0 ? blocks.skewMaxMs : blocks.skewMinMs;
      assert.ok(Math.abs(seenMs - laterMs) < LONGEST_MS, `${seenMs} ms`);
      const { minUs, maxUs } = latency.total;
      assert.ok(minUs > 0 && maxUs < LONGEST_MS * 1000, `latencies of ${minUs} to ${maxUs} us`);
      const tookMs = Date.parse(endedAt) - Date.parse(startedAt);
      assert.ok(tookMs >= window.durationMs && tookMs < window.durationMs + HOUR_MS / 60, `${tookMs} ms`);
      return `blocks seem ${Math.round(seenMs / 1000)} s old; the longest latency is ${Math.round(maxUs / 1000)} ms`;
    },
  };
}

/** Only root can mount. */
const isRoot = process.platform === 'linux' && process.getuid?.() === 0;

/** Stands in for /etc/hosts. */
const hosts = join(folder, 'hosts');
const pointTo = (/** @type {string} */ address) => writeFileSync(hosts, `${address} localhost\n`);

/** The node moves to another address, and the one before answers no more. */
function movedRow() {
  let connections = 0;
  pointTo('127.0.0.1');
  return {
    fault: 'the name of the endpoint gets another address, and the one before is closed',
    host: 'localhost',
    via: ['unshare', '-m', 'sh', '-c', `mount --bind ${hosts} /etc/hosts && exec "$@"`, 'sh'],
    faultMs: 3000,
    begin: async (/** @type {Scene} */ { node, proxy }) => {
      const other = createServer((socket) => {
        connections += 1;
        const far = connect(Number(new URL(node.url).port), '127.0.0.1');
        socket.on('error', () => far.destroy()).pipe(far);
        far.on('error', () => socket.destroy()).pipe(socket);
      }).unref();
      await proxy.close();
      // Nobody is there for a while.
      await sleep(1000);
      pointTo('127.0.0.2');
      await new Promise((resolve) => other.listen(Number(new URL(proxy.url).port), '127.0.0.2', () => resolve(null)));
    },
    end: async () => {},
    proof: () => {
      assert.ok(connections > 0, 'nobody came to the new address');
      return `${connections} connections to the new address`;
    },
  };
}

const disk = join(folder, 'disk');
const filler = join(disk, 'filler');
const files = {
  samples: join(disk, 'samples.csv'),
  intervals: join(disk, 'rows.ndjson'),
  blocks: join(disk, 'blocks.csv.gz'),
};

/** Checkpoints, samples, blocks and rows cannot be written meanwhile. */
function diskRow() {
  /** Of checkpoints at the end of the fault. @type {any} */
  let kept = null;
  return {
    fault: 'the disk of all files of the run is full for 20 s',
    faultMs: 20_000,
    args: Object.entries(files).flatMap(([name, file]) => [`--${name}`, file]),
    node: async (/** @type {TestContext} */ t) => {
      t.after(() => spawnSync('umount', ['-l', disk]));
      return fiveBlocksASecond(t);
    },
    setUp: async (/** @type {Scene} */ scene) => {
      mkdirSync(disk);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', disk]);
      scene.files.out = join(disk, 'run.json');
    },
    begin: async () => assert.throws(() => writeFileSync(filler, Buffer.alloc(16 << 20)), { code: 'ENOSPC' }),
    end: async (/** @type {Scene} */ scene) => {
      kept = readJson(scene.files.out);
      rmSync(filler);
    },
    says: /run\.json: the disk is full; the run continues without checkpoints/,
    proof: (/** @type {Scene} */ scene, /** @type {any} */ run) => {
      const lines = (/** @type {string | Buffer} */ text) => String(text).trimEnd().split('\n').length;
      assert.deepEqual([run.partial, kept.partial, kept.id], [false, true, run.id]);
      assert.ok(kept.counts.verified < run.counts.verified / 2, 'it was written during the fault');
      assert.equal(lines(readFileSync(files.samples)), 1 + run.counts.started);
      assert.equal(lines(readFileSync(files.intervals)), run.intervals.length);
      const [, ...blocks] = String(gunzipSync(readFileSync(files.blocks)))
        .trimEnd()
        .split('\n');
      assert.ok(blocks.every((line, i) => Number.parseInt(line) === run.blocks.firstNumber + i));
      assert.ok(blocks.length >= run.blocks.count);
      assert.deepEqual(
        readdirSync(disk).filter((name) => name.endsWith('.tmp')),
        [],
      );
      return `no room for 20 s; all ${run.counts.started} samples and ${run.intervals.length} rows are there, and the checkpoint before it stayed whole`;
    },
  };
}

const rows = [clockRow(HOUR_MS), clockRow(-HOUR_MS), ...(isRoot ? [movedRow(), diskRow()] : [])];
testRows(rows.map((row) => ({ group: 'Machine of the generator', ...row })));
