import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { UsageError } from '../errors.js';

/** Descriptors beside the connections: files, pipes, the event loop, the embedded chain. */
const SPARE_DESCRIPTORS = 32;

/** What a worker thread needs for itself. */
const DESCRIPTORS_PER_WORKER = 16;

/**
 * Running out of descriptors in the middle of a load looks like a fault of the endpoint, so it is found out before.
 * @param {number} connections
 * @param {number} workers
 * @throws {UsageError}
 */
export function checkDescriptors(connections, workers) {
  const limit = descriptorLimit();
  const forWorkers = workers > 1 ? workers * DESCRIPTORS_PER_WORKER : 0;
  const needed = connections + forWorkers + openDescriptors() + SPARE_DESCRIPTORS;
  if (limit === null || needed <= limit) return;
  throw new UsageError(
    `--connections ${connections}${workers > 1 ? ` with --workers ${workers}` : ''} needs about ${needed} file descriptors, and this process may have ${limit}: raise the limit (ulimit -n ${needed}), or use fewer connections`,
  );
}

/** @returns {number | null} null where there is no limit, or it is not known */
function descriptorLimit() {
  try {
    const limit = Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]);
    return Number.isInteger(limit) ? limit : null;
  } catch {
    return limitOfShell();
  }
}

/** Where there is no /proc; a child inherits the limit. @returns {number | null} */
function limitOfShell() {
  try {
    const text = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8', timeout: 2000 });
    return /^\d+\s*$/.test(text) ? Number(text) : null;
  } catch {
    return null;
  }
}

function openDescriptors() {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return SPARE_DESCRIPTORS;
  }
}
