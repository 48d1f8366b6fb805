/**
 * Parent process of a shell command: `node node-keeper.js COMMAND [leaves]`. The command has a process group of its own.
 * When standard input closes, which happens however the parent of the keeper ends, kill -9 included, the whole group is
 * ended: by SIGTERM, and by SIGKILL if some of it is left after the grace time. If the command itself ends first, so is
 * what it left running, unless it ended well and `leaves` says that it may: a script that restarts a node.
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** A node may have to write its database. */
const GRACE_MS = 10_000;
const POLL_MS = 20;

const [, , command, leaves] = process.argv;
// The user wrote the command for the shell.
// eslint-disable-next-line no-restricted-syntax
const child = spawn(command, { shell: true, stdio: ['ignore', 'inherit', 'inherit'], detached: true });

/** @param {NodeJS.Signals | 0} signal 0: only looks whether a process is left */
function signalGroup(signal) {
  try {
    return child.pid !== undefined && process.kill(-child.pid, signal);
  } catch {
    return false;
  }
}

async function end() {
  const deadlineMs = performance.now() + GRACE_MS;
  signalGroup('SIGTERM');
  // The shell may end before the node does.
  while (signalGroup(0) && performance.now() < deadlineMs) await sleep(POLL_MS);
  signalGroup('SIGKILL');
  process.stdin.destroy();
}

child.on('error', () => {
  process.exitCode = 127;
  process.stdin.destroy();
});
child.on('exit', (code, signal) => {
  process.exitCode = code ?? 128 + constants.signals[signal ?? 'SIGKILL'];
  if (leaves !== undefined && code === 0) process.stdin.destroy();
  else void end();
});
process.stdin
  .on('end', () => void end())
  .on('error', () => void end())
  .resume();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void end());
