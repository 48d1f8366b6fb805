/**
 * Parent process of a command: `node keeper.js OPTIONS COMMAND [ARGUMENT...]`; without arguments it is a command for the
 * shell. The command has a process group of its own, so that Ctrl-C does not reach it before the drain ends. When standard
 * input closes, which happens however the parent of the keeper ends, kill -9 included, the whole group is ended: by
 * SIGTERM, and by SIGKILL if some of it is left after the grace time. If the command itself ends first, so is what it left
 * running, unless it ended well and `leaves` says that it may: a script that restarts a node.
 *
 * OPTIONS is JSON: `graceMs`; `folder`, the working directory, home and temporary folder of the command, which is made
 * and removed here; `leaves`. Each line of standard input is a signal for the command. File descriptor 3 gets the process
 * id of the command.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 20;

const [, , options, command, ...args] = process.argv;
const { graceMs, folder = null, leaves = false } = JSON.parse(options);
if (folder !== null) mkdirSync(folder, { mode: 0o700 });
const child = spawn(command, args, {
  // The user wrote the command for the shell.
  // eslint-disable-next-line no-restricted-syntax
  shell: args.length === 0,
  stdio: ['ignore', 'inherit', 'inherit'],
  detached: true,
  ...(folder !== null && { cwd: folder, env: { ...process.env, HOME: folder, TMPDIR: folder } }),
});
const exited = new Promise((resolve) => child.on('exit', resolve).on('error', resolve));

/** @param {NodeJS.Signals | 0} signal 0: only looks whether a process is left */
function signalGroup(signal) {
  try {
    return child.pid !== undefined && process.kill(-child.pid, signal);
  } catch {
    return false;
  }
}

async function end() {
  const deadlineMs = performance.now() + graceMs;
  signalGroup('SIGTERM');
  // The shell may end before the node does.
  while (signalGroup(0) && performance.now() < deadlineMs) await sleep(POLL_MS);
  signalGroup('SIGKILL');
  // Windows has no process groups.
  child.kill('SIGKILL');
  await exited;
  if (folder !== null) rmSync(folder, { recursive: true, force: true });
  process.stdin.destroy();
}

const endNow = () => void end();
child.on('error', () => {
  process.exitCode = 127;
  endNow();
});
child.on('exit', (code, signal) => {
  process.exitCode = code ?? 128 + constants.signals[signal ?? 'SIGKILL'];
  if (leaves && code === 0) process.stdin.destroy();
  else endNow();
});
createInterface({ input: process.stdin }).on('line', (signal) => child.kill(/** @type {NodeJS.Signals} */ (signal)));
process.stdin.on('end', endNow).on('error', endNow);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, endNow);
try {
  if (child.pid !== undefined) writeSync(3, `${child.pid}\n`);
} catch {
  // The parent has ended, and standard input tells it.
}
