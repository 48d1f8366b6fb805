/**
 * The throughput under a model of a chain: it does not depend on where the ends of a time fall between two blocks. The
 * sightings, the recorder and the sum over threads are the real ones.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Sightings } from '../../../src/inclusion/heads.js';
import { Recorder } from '../../../src/stats/recorder.js';
import { IntervalLog, Stats, rowOf } from '../../../src/stats/stats.js';
import { Series, Throughput, shareIn } from '../../../src/stats/throughput.js';
import { noBlocks } from '../../../src/stats/blocks.js';
import { blockOf, readingsOf, sampleOf } from '../../helpers/samples.js';

/** @import { Sighting } from '../../../src/contracts/chain.d.ts' */

const S = 1_000_000;
/** The load begins here, so that blocks were made before it. */
const LOAD_US = 100 * S;
const INTERVAL_US = 5 * S;

/**
 * @typedef {object} Model
 * @property {number} wallets each with one operation in flight
 * @property {number[]} blocksUs instants of blocks, in order
 * @property {number} warmupUs
 * @property {number} windowUs
 * @property {number | null} [periodUs] of the blocks before, as timestamps say
 * @property {(blockUs: number) => number} [seenUs] when the follower reads a block
 * @property {number} [firstUs] start of the follower
 * @property {number} [headAtUs] when the block before was made
 * @property {number} [confirmations]
 * @property {(k: number) => boolean} [hasOurs] whether our transactions get into a block
 * @property {number} [drainUs] length of the drain; default: until all operations have ended
 */

/** The recorder of one thread after such a load, with what it reported. @param {Model} model */
function runThread({
  wallets,
  blocksUs,
  warmupUs,
  windowUs,
  periodUs = null,
  seenUs = (us) => us,
  firstUs = LOAD_US - 10 * S,
  headAtUs,
  confirmations = 0,
  hasOurs = () => true,
  drainUs = Infinity,
}) {
  const [startUs, endUs] = [LOAD_US + warmupUs, LOAD_US + warmupUs + windowUs];
  const recorder = new Recorder(
    Array.from({ length: wallets }, (_, i) => i),
    LOAD_US,
  );
  recorder.open(LOAD_US, startUs, endUs);
  const sightings = new Sightings(firstUs, periodUs, confirmations, headAtUs);
  /** @type {Array<Sighting & {blocks: number}>} */
  const seen = [];
  // Blocks of one reading are one sighting.
  /** @type {Map<number, number[]>} */
  const readings = new Map();
  for (const us of blocksUs.filter((at) => at > firstUs))
    readings.set(seenUs(us), [...(readings.get(seenUs(us)) ?? []), us]);
  /** When the operations in flight began, and after which block they are in one. */
  let [beganUs, includedIn] = [LOAD_US, -1];
  let block = 0;
  let open = wallets;
  for (const [atUs, blocks] of readings) {
    if (atUs > endUs + drainUs) break;
    let isOurs = false;
    for (const [i, us] of blocks.entries()) {
      if (includedIn < 0 && us > beganUs && hasOurs(block + i)) includedIn = block + i;
      if (includedIn >= 0 && block + i >= includedIn + confirmations) isOurs = true;
    }
    block += blocks.length;
    const sighting = sightings.add(atUs, isOurs ? [beganUs] : []);
    sightings.end();
    seen.push({ ...sighting, blocks: blocks.length });
    if (!isOurs || open === 0) continue;
    for (let position = 0; position < wallets; position += 1) {
      recorder.start(position, beganUs);
      const instants = { intendedAtUs: beganUs, startedAtUs: beganUs, sentAtUs: beganUs, acceptedAtUs: beganUs };
      recorder.add(sampleOf({ position, ...instants, includedAtUs: atUs, endedAtUs: atUs, sighting }));
    }
    [beganUs, includedIn] = [atUs, -1];
    // After the window no operation begins.
    if (atUs >= endUs) open = 0;
  }
  const { lastUs } = sightings;
  const report = {
    spans: recorder.takeSpans(),
    settledUs: lastUs,
    sightedUs: lastUs,
    periodUs: sightings.periodUs,
    spanUs: null,
  };
  return { recorder, seen, startUs, endUs, open, report };
}

/** The rate of the window. @param {Model} model */
function tpsOf(model) {
  const { report, startUs, endUs } = runThread(model);
  return (S * rowsOf([report], startUs, endUs).throughput.inWindow.verified) / (endUs - startUs);
}

/** Blocks whose intervals differ by up to a share. */
const models = fc
  .record({
    wallets: fc.integer({ min: 1, max: 500 }),
    blockUs: fc.integer({ min: S / 10, max: 12 * S }),
    jitter: fc.double({ min: 0, max: 0.3, noNaN: true }),
    blocks: fc.double({ min: 3, max: 12, noNaN: true }),
    warmup: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 3, noNaN: true })),
    phase: fc.double({ min: 0, max: 1, noNaN: true }),
    draws: fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 60, maxLength: 60 }),
  })
  .map(({ wallets, blockUs, jitter, blocks, warmup, phase, draws }) => {
    const blocksUs = /** @type {number[]} */ ([]);
    let atUs = LOAD_US - Math.round((25 + phase) * blockUs);
    for (const draw of draws) blocksUs.push((atUs += Math.max(1, Math.round(blockUs * (1 + jitter * draw)))));
    const [warmupUs, windowUs] = [Math.round(warmup * blockUs), Math.round(blocks * blockUs)];
    return { wallets, blockUs, blocksUs, warmupUs, windowUs, firstUs: LOAD_US - 20 * blockUs };
  });

/** Block intervals in a time, fractions counted. @param {number[]} atUs @param {number} fromUs @param {number} toUs */
function intervalsIn(atUs, fromUs, toUs) {
  return atUs.slice(1).reduce((sum, us, i) => sum + shareIn({ fromUs: atUs[i], toUs: us }, fromUs, toUs), 0);
}

/** @param {number} actual @param {number} expected @param {number} tolerance relative */
function assertNear(actual, expected, tolerance) {
  assert.ok(Math.abs(actual - expected) <= tolerance * expected, `${actual} is not ${expected}`);
}

describe('throughput of a closed loop, a block for each operation', () => {
  it('is wallets times block intervals in the window, however its ends lie between two blocks', () => {
    fc.assert(
      fc.property(models, (model) => {
        const { wallets, blocksUs, warmupUs, windowUs } = model;
        const startUs = LOAD_US + warmupUs;
        const expected = (S * wallets * intervalsIn(blocksUs, startUs, startUs + windowUs)) / windowUs;
        assertNear(tpsOf(model), expected, 1e-3);
      }),
      { seed: 35, numRuns: 300 },
    );
  });

  it('seen by polling it is off by two poll periods of the window at most', () => {
    fc.assert(
      fc.property(models, fc.double({ min: 0.01, max: 0.1, noNaN: true }), (model, part) => {
        const { wallets, blocksUs, blockUs, warmupUs, windowUs } = model;
        const pollUs = Math.min(250_000, Math.round(part * blockUs));
        const startUs = LOAD_US + warmupUs;
        const expected = (S * wallets * intervalsIn(blocksUs, startUs, startUs + windowUs)) / windowUs;
        const seenUs = (/** @type {number} */ us) => Math.ceil(us / pollUs) * pollUs;
        // A poll moves each end by up to one period; an interval that is shortened by it weighs more by its jitter.
        assertNear(tpsOf({ ...model, seenUs }), expected, 1e-3 + (2 * 1.5 * pollUs) / windowUs);
      }),
      { seed: 36, numRuns: 300 },
    );
  });

  it('the integral over all time is the count, in rows and in the series', () => {
    fc.assert(
      fc.property(models, (model) => {
        const { recorder, report, startUs, endUs } = runThread(model);
        const { counts } = recorder.rest();
        const { rows, throughput } = rowsOf([report], startUs, endUs);
        assertNear(
          throughput.series.toJSON().verified.reduce((a, b) => a + b, 0),
          counts.verified,
          1e-4,
        );
        const inRows = rows.reduce((sum, row) => sum + ((row.tps ?? 0) * (row.endMs - row.startMs)) / 1000, 0);
        assert.ok(
          Math.abs(inRows - throughput.inWindow.verified) <= 1e-6 * counts.verified + 1e-9,
          `${inRows}, not ${throughput.inWindow.verified}`,
        );
      }),
      { seed: 37, numRuns: 100 },
    );
  });

  it('of several threads is the sum of theirs', () => {
    fc.assert(
      fc.property(models, fc.integer({ min: 1, max: 5000 }), (model, lateUs) => {
        const threads = [model, { ...model, seenUs: (/** @type {number} */ us) => us + lateUs }].map(runThread);
        const [{ startUs, endUs }] = threads;
        const { rows } = rowsOf(
          threads.map(({ report }) => report),
          startUs,
          endUs,
        );
        const inRows = rows.reduce((sum, row) => sum + ((row.tps ?? 0) * (row.endMs - row.startMs)) / 1000, 0);
        const sum = threads.reduce(
          (all, { report }) => all + rowsOf([report], startUs, endUs).throughput.inWindow.verified,
          0,
        );
        assertNear(inRows + 1, sum + 1, 1e-6);
      }),
      { seed: 38, numRuns: 50 },
    );
  });
});

/** The rows of the window, five seconds each, and the sum. @param {Array<ReturnType<typeof runThread>['report']>} reports @param {number} startUs @param {number} endUs */
function rowsOf(reports, startUs, endUs) {
  const log = new IntervalLog();
  const throughput = new Throughput(log);
  throughput.plan({ loadStartUs: LOAD_US, startUs, endUs });
  // Half of the spans are reported before the rows are there, and half after.
  const [before, after] = [0, 1].map((half) =>
    reports.map((report) => ({ ...report, spans: report.spans.filter((_, i) => i % 2 === half) })),
  );
  for (const report of before) throughput.add(report);
  for (let fromUs = startUs; fromUs < endUs; fromUs += INTERVAL_US) {
    const stats = new Stats(fromUs, Math.min(endUs, fromUs + INTERVAL_US));
    const known = { inFlight: 0, blocks: noBlocks(), probes: readingsOf() };
    log.add(rowOf(stats, { phase: 'load', loadStartUs: LOAD_US, ...known }));
  }
  for (const report of after) throughput.add(report);
  return { rows: log.rows, throughput };
}

/** A block a second, from 30 s before the load on. @param {number} count @param {number} [phaseUs] of the first block of the load */
const everySecond = (count, phaseUs = 0.4 * S) =>
  Array.from({ length: count + 30 }, (_, i) => LOAD_US + phaseUs + (i - 30) * S);

describe('throughput', () => {
  it('a stall of the chain lowers it by just the blocks that are missing', () => {
    const blocksUs = everySecond(30).filter((us) => us <= LOAD_US + 6 * S || us > LOAD_US + 11 * S);
    const model = { wallets: 20, blocksUs, warmupUs: 0, windowUs: 20 * S };
    assertNear(tpsOf(model), (20 * (20 - 5)) / 20, 1e-3);
    const { report, startUs, endUs } = runThread(model);
    const { rows } = rowsOf([report], startUs, endUs);
    // During the stall the rate is low, and after it there is no peak.
    const expected = [20, (0.4 * 20 + 4.6 * (20 / 6)) / 5, (1.4 * (20 / 6) + 3.6 * 20) / 5, 20];
    for (const [i, { tps }] of rows.entries()) assertNear(Number(tps), expected[i], 1e-6);
  });

  it('blocks that are read late, all at once, make no peak', () => {
    // From second 5 to 12 nothing is read.
    const seenUs = (/** @type {number} */ us) =>
      us > LOAD_US + 5 * S && us < LOAD_US + 12.4 * S ? LOAD_US + 12.4 * S : us;
    const { report, startUs, endUs } = runThread({
      wallets: 20,
      blocksUs: everySecond(40),
      seenUs,
      warmupUs: 0,
      windowUs: 20 * S,
    });
    const { rows } = rowsOf([report], startUs, endUs);
    assert.ok(
      rows.every(({ tps }) => Number(tps) <= 20.01),
      JSON.stringify(rows.map(({ tps }) => tps)),
    );
  });

  it('blocks made on demand do not spread over the pause before the load', () => {
    const blocksUs = Array.from({ length: 500 }, (_, i) => LOAD_US + 10_000 * (i + 1));
    for (const periodUs of [null, 30 * S])
      assertNear(tpsOf({ wallets: 1, blocksUs, periodUs, headAtUs: LOAD_US, warmupUs: 0, windowUs: 4 * S }), 100, 1e-3);
  });

  it('with confirmations the sighting counts that confirms', () => {
    const model = { wallets: 20, blocksUs: everySecond(80), warmupUs: 6 * S, windowUs: 31.7 * S, confirmations: 2 };
    assertNear(tpsOf(model), 20 / 3, 1e-3);
  });

  it('if the chain halts, the rest of the window is zero; if the drain is cut short, the rate ends with the last block', () => {
    const blocksUs = everySecond(10);
    const halted = runThread({ wallets: 20, blocksUs, warmupUs: 0, windowUs: 20 * S });
    const cut = runThread({ wallets: 20, blocksUs: everySecond(40), warmupUs: 0, windowUs: 20 * S, drainUs: 0 });
    for (const [{ report, startUs, endUs, open }, untilUs, expected] of /** @type {const} */ ([
      [halted, LOAD_US + 30 * S, Infinity],
      [cut, LOAD_US + 20 * S, LOAD_US + 19.4 * S],
    ])) {
      const { throughput } = rowsOf([report], startUs, endUs);
      assert.equal(throughput.endUs(untilUs, open), expected);
      assert.equal(throughput.endUs(untilUs, 0), Infinity, 'where nothing was in flight, nothing is missing');
    }
  });

  it('of a window without a block that is shorter than the time between two nothing is known', () => {
    const { report, startUs, endUs } = runThread({
      wallets: 5,
      blocksUs: everySecond(20),
      warmupUs: 0,
      windowUs: 0.3 * S,
    });
    assert.equal(rowsOf([report], startUs, endUs).throughput.endUs(endUs + 2 * S, 0), startUs);
  });

  it('an open loop is as steady as its arrivals, over windows of any phase', () => {
    const [everyUs, startUs, endUs] = [37_000, LOAD_US + 3.3 * S, LOAD_US + 16.05 * S];
    const recorder = new Recorder([0], LOAD_US);
    recorder.open(LOAD_US, startUs, endUs);
    const sightings = new Sightings(LOAD_US - S, S);
    let dueUs = LOAD_US;
    for (const atUs of everySecond(25).filter((us) => us > LOAD_US)) {
      const due = Array.from({ length: Math.ceil((atUs - dueUs) / everyUs) }, (_, i) => dueUs + i * everyUs);
      const sighting = sightings.add(atUs, due);
      sightings.end();
      for (const us of due) recorder.add(sampleOf({ startUs: us, includedAtUs: atUs, endedAtUs: atUs, sighting }));
      dueUs += due.length * everyUs;
    }
    const { lastUs: sightedUs, periodUs } = sightings;
    const report = { spans: recorder.takeSpans(), settledUs: sightedUs, sightedUs, periodUs, spanUs: null };
    const { verified } = rowsOf([report], startUs, endUs).throughput.inWindow;
    assertNear((S * verified) / (endUs - startUs), S / everyUs, 0.005);
  });

  it('nothing counts before what earlier sightings have settled, with confirmations as well', () => {
    for (const confirmations of [0, 1, 2, 5]) {
      const sightings = new Sightings(LOAD_US, S, confirmations);
      let settledUs = 0;
      for (const atUs of everySecond(20).filter((us) => us > LOAD_US)) {
        const sighting = sightings.add(atUs, [LOAD_US]);
        sightings.end();
        assert.ok(sighting.fromUs >= settledUs, `${sighting.fromUs}, settled ${settledUs}`);
        ({ settledUs } = sighting);
      }
      assert.ok(settledUs >= LOAD_US + (18 - confirmations) * S, 'rows do not wait longer than that');
      assert.equal(sightings.spanUs, (1 + confirmations) * S);
    }
  });

  it('an operation without a sighting counts at its instant, and one that failed does not count', () => {
    const recorder = new Recorder([0], 0);
    recorder.open(0, S, 2 * S);
    for (const endedAtUs of [S / 2, 1.5 * S, 2 * S, 2 * S + 1]) recorder.add(sampleOf({ endedAtUs }));
    recorder.add(sampleOf({ endedAtUs: 1.6 * S, outcome: 'failed', code: 'reverted' }));
    const spans = recorder.takeSpans();
    const report = { spans, settledUs: 3 * S, sightedUs: 3 * S, periodUs: null, spanUs: null };
    assert.equal(rowsOf([report], S, 2 * S).throughput.inWindow.verified, 2);
    assert.equal(
      spans.reduce((sum, { verified }) => sum + verified, 0),
      4,
    );
    assert.ok(
      spans.every(({ fromUs, toUs }) => toUs <= S || fromUs > S),
      'no span crosses the start of the window',
    );
    assert.deepEqual(recorder.takeSpans(), []);
  });

  it('gas of blocks is spread like operations', () => {
    const throughput = new Throughput(new IntervalLog());
    throughput.plan({ loadStartUs: 0, startUs: S, endUs: 3 * S });
    for (const [spreadFromUs, seenAtUs] of [
      [0.5 * S, 1.5 * S],
      [1.5 * S, 2.5 * S],
      [2.5 * S, 3.5 * S],
    ])
      throughput.addBlock(blockOf({ spreadFromUs, seenAtUs, gasUsed: 100 }));
    assert.equal(throughput.inWindow.gas, 200);
    assert.deepEqual(throughput.series.toJSON().gas, [50, 100, 100, 50]);
  });

  it('lately: of the last seconds before the newest block, and falling when no more come', () => {
    const throughput = new Throughput(new IntervalLog());
    throughput.plan({ loadStartUs: 0, startUs: 0, endUs: Infinity });
    const report = (/** @type {number} */ atUs) => ({ settledUs: atUs, sightedUs: atUs, periodUs: S, spanUs: S });
    assert.equal(throughput.lately(0.5 * S, 5000), null);
    for (let i = 1; i <= 20; i += 1)
      throughput.add({ spans: [{ fromUs: (i - 1) * S, toUs: i * S, verified: 60, included: 60 }], ...report(i * S) });
    assert.equal(throughput.lately(20.9 * S, 5000), 60);
    assert.equal(throughput.lately(24 * S, 5000), (60 * 3) / 5);
    assert.equal(throughput.lately(60 * S, 5000), 0);
    throughput.add({ spans: [], ...report(20 * S), spanUs: 5 * S });
    assert.equal(throughput.lately(24 * S, 5000), 60, 'operations that are confirmed later are not missing yet');
  });

  it('lately: a constant rate is constant, also after a day; of a time that is not kept nothing is said', () => {
    const throughput = new Throughput(new IntervalLog());
    throughput.plan({ loadStartUs: 0, startUs: 0, endUs: Infinity });
    const seen = new Set();
    for (let s = 1; s <= 24 * 3600; s += 1) {
      const spans = [{ fromUs: (s - 1) * S, toUs: s * S, verified: 100, included: 100 }];
      throughput.add({ spans, settledUs: s * S, sightedUs: s * S, periodUs: S, spanUs: S });
      if (s % 977 === 0 || s > 86_000) seen.add(throughput.lately(s * S, 5000));
    }
    assert.deepEqual([...seen], [100]);
    assert.equal(throughput.lately(24 * 3600 * S, 3600_000), 100);
    assert.ok(throughput.series.toJSON().verified.length <= 2000);
  });
});

describe('Series', () => {
  it('has at most 2,000 points, and keeps its sum and its resolution where it can', () => {
    const series = new Series();
    for (let s = -20; s < 5000; s += 1) series.add(1000 * s, 1000 * (s + 1), { verified: 3, gas: 7 });
    const { startMs, stepMs, verified, gas } = series.toJSON();
    assert.deepEqual([startMs, stepMs, verified.length], [-20_000, 4000, 1255]);
    assert.equal(
      verified.reduce((a, b) => a + b, 0),
      3 * 5020,
    );
    assert.equal(
      gas.reduce((a, b) => a + b, 0),
      7 * 5020,
    );
    assert.deepEqual(Series.from(series.toJSON()).toJSON(), series.toJSON());
  });

  it('between two instants a part of a point counts as its part of the time', () => {
    const series = new Series();
    series.add(0, 2000, { verified: 20 });
    assert.equal(series.between(500, 1250).verified, 7.5);
    assert.equal(series.between(-5000, 9000).verified, 20);
    assert.equal(series.between(3000, 4000).verified, 0);
  });
});
