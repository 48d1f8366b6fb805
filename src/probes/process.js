import { readFileSync } from 'node:fs';
import { PerformanceObserver, createHistogram, performance } from 'node:perf_hooks';

/**
 * Probes of this process: its CPU time and memory, and the event loop of the thread that creates the probe.
 *
 * @import { Stopped } from '../contracts/load.d.ts'
 * @import { LoopReading, SelfReading } from '../contracts/run-file.d.ts'
 */

/** Interval of the delay measurement. Shorter stalls are detected only by chance. */
const TICK_MS = 10;

export function createSelfProbe() {
  let last = process.cpuUsage();
  return {
    /** @returns {SelfReading} */
    sample: () => {
      const { user, system } = process.cpuUsage(last);
      last = process.cpuUsage();
      return { cpuUs: user + system, rssBytes: process.memoryUsage.rss() };
    },
  };
}

export function createLoopProbe() {
  const delaysUs = createHistogram();
  let lastTickMs = performance.now();
  let lastUse = performance.eventLoopUtilization();
  let gcMs = 0;
  let lastSchedule = scheduleUs();

  // monitorEventLoopDelay waits for one tick after reset(), so it would miss a stall around a sample, when the report of
  // the interval is made.
  const tick = () => {
    const nowMs = performance.now();
    delaysUs.record(Math.max(1, Math.round((nowMs - lastTickMs - TICK_MS) * 1000)));
    lastTickMs = nowMs;
  };
  const timer = setInterval(tick, TICK_MS).unref();

  /** @param {Array<{duration: number}>} entries in milliseconds */
  const count = (entries) => {
    for (const { duration } of entries) gcMs += duration;
  };
  const observer = new PerformanceObserver((list) => count(list.getEntries()));
  observer.observe({ entryTypes: ['gc'] });

  return {
    /** @returns {LoopReading} */
    sample: () => {
      // An overdue tick belongs to the time before the sample.
      if (performance.now() - lastTickMs >= TICK_MS) tick();
      count(observer.takeRecords());
      const use = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(use, lastUse);
      const hasDelays = delaysUs.count > 0;
      const schedule = scheduleUs();
      const reading = {
        utilization: Number.isFinite(utilization) ? Math.min(1, Math.max(0, utilization)) : 0,
        delayMeanUs: hasDelays ? Math.round(delaysUs.mean) : 0,
        delayP99Us: hasDelays ? delaysUs.percentile(99) : 0,
        delayMaxUs: hasDelays ? delaysUs.max : 0,
        gcUs: Math.round(gcMs * 1000),
        ...since(lastSchedule, schedule),
      };
      delaysUs.reset();
      lastUse = use;
      lastSchedule = schedule;
      gcMs = 0;
      return reading;
    },
    close: () => {
      clearInterval(timer);
      observer.disconnect();
    },
  };
}

/** Shortest time that counts as a stop. */
const STOP_MS = 1000;
const LOOK_MS = 100;
/** What was used is read less often: that opens a file. What is used before a stop counts as used in it. */
const USE_MS = 200;
/** A loop that is blocked by its own work uses a core, and one without a CPU waits for it: both are late, and were not stopped. */
const STOP_CPU = 0.25;
const STOP_WAIT = 0.25;

/**
 * Finds the times in which this process did not run: the clock goes on, and the process neither uses a CPU nor waits for one.
 * @param {{nowUs: () => number, used?: () => {cpuUs: number, waitedUs: number}}} options nowUs: monotonic; used: since the start
 */
export function createStopProbe({ nowUs, used = usedUs }) {
  /** @type {Stopped[]} */
  let stops = [];
  let lastUs = nowUs();
  let use = { atUs: lastUs, ...used() };
  const look = () => {
    const [atUs, fromUs] = [nowUs(), lastUs];
    const gapUs = atUs - fromUs;
    lastUs = atUs;
    if (gapUs < 1000 * STOP_MS && atUs - use.atUs < 1000 * USE_MS) return;
    const now = { atUs, ...used() };
    const isIdle = now.cpuUs - use.cpuUs < STOP_CPU * gapUs && now.waitedUs - use.waitedUs < STOP_WAIT * gapUs;
    if (gapUs >= 1000 * STOP_MS && isIdle) stops.push({ fromUs, toUs: atUs });
    use = now;
  };
  const timer = setInterval(look, LOOK_MS).unref();
  return {
    /** @returns {Stopped[]} since the last call */
    sample: () => {
      look();
      const found = stops;
      stops = [];
      return found;
    },
    close: () => clearInterval(timer),
  };
}

function usedUs() {
  const { user, system } = process.cpuUsage();
  return { cpuUs: user + system, waitedUs: scheduleUs()?.waitedUs ?? 0 };
}

/** CPU and wait time of this thread since its start; null on systems without them. @returns {{cpuUs: number, waitedUs: number} | null} */
function scheduleUs() {
  try {
    const [cpuNs, waitedNs] = readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ').map(Number);
    return { cpuUs: cpuNs / 1000, waitedUs: waitedNs / 1000 };
  } catch {
    return null;
  }
}

/** @param {ReturnType<typeof scheduleUs>} before @param {ReturnType<typeof scheduleUs>} now */
function since(before, now) {
  if (before === null || now === null) return {};
  return { cpuUs: Math.round(now.cpuUs - before.cpuUs), waitedUs: Math.round(now.waitedUs - before.waitedUs) };
}
