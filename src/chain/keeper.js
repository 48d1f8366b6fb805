/**
 * Parent process of one embedded chain: `node keeper.js FOLDER BINARY ARGUMENT...`. It kills the chain and removes the
 * folder when standard input closes, which happens however its own parent ends, kill -9 included. It has a process
 * group of its own, so that Ctrl-C does not reach the chain before the drain ends. It prints the chain's process id.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';

const [folder, binary, ...args] = process.argv.slice(2);
mkdirSync(folder, { mode: 0o700 });
const chain = spawn(binary, args, {
  stdio: ['ignore', 'ignore', 'inherit'],
  env: { ...process.env, HOME: folder, TMPDIR: folder },
  cwd: folder,
});

// The parent may close the pipe early.
process.stdout.on('error', () => {});
if (chain.pid !== undefined) process.stdout.write(`${chain.pid}\n`);

function end() {
  chain.kill('SIGKILL');
}

/** @param {number} exitCode */
function leave(exitCode) {
  rmSync(folder, { recursive: true, force: true });
  process.exitCode = exitCode;
  process.stdin.destroy();
}

chain.on('error', () => leave(127));
chain.on('exit', (code, signal) => {
  // A kill by this process is the expected end.
  if (!chain.killed && signal !== null) process.stderr.write(`killed by ${signal}`);
  leave(code ?? (chain.killed ? 0 : 1));
});
process.stdin.on('end', end).on('error', end).resume();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, end);
