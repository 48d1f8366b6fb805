/**
 * Loaded before stress by bench:against --slower (node --import): uses BENCH_BURN_PERCENT of the CPU time of the process once more, so that
 * it is known how much slower this side is.
 */
import { isMainThread } from 'node:worker_threads';

const PERIOD_MS = 10;
const share = Number(process.env.BENCH_BURN_PERCENT) / 100;

let burntUs = 0;

function usedUs() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

function burn() {
  const startUs = usedUs();
  const owedUs = share * (startUs - burntUs) - burntUs;
  let nowUs = startUs;
  while (nowUs - startUs < owedUs) nowUs = usedUs();
  burntUs += nowUs - startUs;
}

if (isMainThread) {
  setInterval(burn, PERIOD_MS).unref();
  process.once('exit', burn);
}
