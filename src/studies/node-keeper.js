/**
 * Parent process of a started node: `node node-keeper.js COMMAND`. The command is one for the shell, in a process group
 * of its own. When standard input closes, which happens however its own parent ends, kill -9 included, the whole group is
 * ended: by SIGTERM, and by SIGKILL if some of it is left after the grace time.
 */
import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** A node may have to write its database. */
const GRACE_MS = 10_000;
const POLL_MS = 20;

const child = spawn(process.argv[2], { shell: true, stdio: ['ignore', 'inherit', 'inherit'], detached: true });

/** @param {NodeJS.Signals | 0} signal 0: only looks whether a process is left */
function signalGroup(signal) {
  try {
    return child.pid !== undefined && process.kill(-child.pid, signal);
  } catch {
    return false;
  }
}

/** Whether all of the group are zombies, which the first process of some containers never collects. Linux only. */
function isDead() {
  try {
    const stats = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [statOf(name)] : []));
    return !stats.some(([state, , group]) => Number(group) === child.pid && state !== 'Z');
  } catch {
    return false;
  }
}

/** State, parent and group of a process, behind its name, which may have spaces. @param {string} pid */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return ['Z']; // it has ended meanwhile
  }
}

async function end() {
  const deadlineMs = performance.now() + GRACE_MS;
  signalGroup('SIGTERM');
  // The shell may end before the node does.
  while (signalGroup(0) && !isDead() && performance.now() < deadlineMs) await sleep(POLL_MS);
  signalGroup('SIGKILL');
  process.stdin.destroy();
}

child.on('error', () => {
  process.exitCode = 127;
  process.stdin.destroy();
});
child.on('exit', (code, signal) => {
  process.exitCode = code ?? 128 + constants.signals[signal ?? 'SIGKILL'];
  void end();
});
process.stdin
  .on('end', () => void end())
  .on('error', () => void end())
  .resume();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void end());
