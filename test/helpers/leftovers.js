/** What a run left behind. A run whose TMPDIR is a folder of its own is known by that folder's name. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * The processes that carry the folder's name in their command line or environment: the program itself, its
 * keeper (by its arguments) and its chain (by its home folder), whatever their parent is now.
 * @param {string} folder
 * @returns {Array<{pid: number, command: string}>}
 */
export function processesOf(folder) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((name) => ({ pid: Number(name), command: procFile(name, 'cmdline'), environ: procFile(name, 'environ') }))
    .filter(({ command, environ }) => command.includes(folder) || environ.includes(folder))
    .map(({ pid, command }) => ({ pid, command }));
}

/** @param {string} pid @param {string} name @returns {string} empty when the process is gone */
function procFile(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return '';
  }
}

/**
 * The keeper and the chain of a run, as they are now.
 * @param {string} folder
 * @returns {{keeper: number | undefined, chain: number | undefined}} their process ids
 */
export function chainProcesses(folder) {
  const processes = processesOf(folder);
  return {
    keeper: processes.find(({ command }) => command.includes('keeper.js'))?.pid,
    chain: processes.find(({ command }) => /^\S*anvil(\.exe)? /.test(command))?.pid,
  };
}

/**
 * @param {string} folder that was the run's TMPDIR
 * @param {number} [withinMs] how long a process may take to go
 */
export async function assertNothingLeft(folder, withinMs = 0) {
  const deadline = Date.now() + withinMs;
  const left = () => ({ processes: processesOf(folder), files: readdirSync(folder) });
  let found = left();
  while ((found.processes.length > 0 || found.files.length > 0) && Date.now() < deadline) {
    await sleep(25);
    found = left();
  }
  assert.deepEqual(found, { processes: [], files: [] });
}

/**
 * Ends what a test that failed has left, so that it does not disturb the next one.
 * @param {string} folder
 */
export function endProcessesOf(folder) {
  for (const { pid } of processesOf(folder)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // it went by itself in the meantime
    }
  }
}
