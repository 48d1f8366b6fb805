import { existsSync, readFileSync } from 'node:fs';

/** @import { NodeReading } from '../contracts/run-file.d.ts' */

/** A probe of a local node's process, by its files in /proc. */

/** CPU times in /proc are in ticks: 100 per second on every architecture of Node.js. */
const TICK_US = 10_000;

/** @param {{pid: number, proc?: string}} options proc: the folder of the proc file system */
export function createNodeProbe({ pid, proc = '/proc' }) {
  const folder = `${proc}/${pid}`;
  let last = baseline(folder);

  /**
   * Read at once: on a busy machine the time limit of a probe could be over before the answer to a request is seen.
   * @returns {Promise<NodeReading>}
   */
  async function sample() {
    let now, status;
    try {
      now = parseStat(readFileSync(`${folder}/stat`, 'latin1'));
      status = readFileSync(`${folder}/status`, 'latin1');
    } catch {
      if (!existsSync(`${proc}/self/stat`)) throw new Error('figures of a process need /proc, which is not here');
      throw new Error(`process ${pid} is gone`);
    }
    // Another start time means another process. A dead process keeps its number until its parent waits for it.
    if (now.startTicks !== last?.startTicks || now.isDead) throw new Error(`process ${pid} is gone`);
    const cpuUs = Math.max(0, now.cpuTicks - last.cpuTicks) * TICK_US;
    last = now;
    return { cpuUs, rssBytes: field(status, 'VmRSS') * 1024, threads: field(status, 'Threads') };
  }

  return { sample };
}

/** @param {string} folder */
function baseline(folder) {
  try {
    return parseStat(readFileSync(`${folder}/stat`, 'latin1'));
  } catch {
    return null;
  }
}

/** @param {string} text of /proc/PID/stat */
export function parseStat(text) {
  // The program's name is in brackets, and may itself contain brackets and spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [cpuTicks, startTicks] = [Number(fields[11]) + Number(fields[12]), Number(fields[19])];
  if (!Number.isFinite(cpuTicks + startTicks)) throw new Error('not the stat of a process');
  return { isDead: fields[0] === 'Z' || fields[0] === 'X', cpuTicks, startTicks };
}

/** @param {string} status of /proc/PID/status @param {string} name @returns {number} 0 if it is missing */
function field(status, name) {
  return Number(new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(status)?.[1] ?? 0);
}
