#!/usr/bin/env node
import module from 'node:module';
import { setFlagsFromString } from 'node:v8';

// Operations live for about a block and are garbage then. V8 would let four times as much of it pile up as there
// is live data before it collects; this bounds it, for a few per cent of CPU time.
setFlagsFromString('--heap-growing-percent=60');
// The space for new objects reaches its full size in one step: collections while modules are loaded and keys are derived
// copy what stays.
setFlagsFromString('--semi-space-growth-factor=8');

// Functions are compiled for speed after twice as many calls: fewer of them in a short run.
setFlagsFromString('--interrupt-budget=135168');

// Node >= 22.1 keeps what it has compiled for the next start.
/** @type {{enableCompileCache?: () => unknown}} */ (module).enableCompileCache?.();

const leave = () => void setTimeout(() => process.exit(), 500).unref();

// A signal in the last moment, when there is nothing left to end, must not take the exit code.
const begin = () => ['SIGINT', 'SIGTERM', 'SIGHUP'].forEach((signal) => process.on(signal, () => {}));

try {
  const { main } = await import('../src/cli/main.js');
  process.exitCode = await main(process.argv.slice(2), process.env, leave, begin);
} catch (error) {
  process.exitCode = 70;
  process.stderr.write(`stress: cannot start: ${String(error).split('\n')[0]}; install evm-stress again\n`);
}
