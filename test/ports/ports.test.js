/**
 * What happens when the local ports run out: the experiment of docs/limits.md. Each file of inside/ runs in a network
 * namespace of its own, which has no name, so that the kernel removes it with its last process however that ends.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { cleanEnvironment } from '../helpers/cli.js';

const FOLDER = join(import.meta.dirname, 'inside');
/** Longest time that one of the files may take. */
const TIMEOUT_MS = 150_000;

/** @returns {string | false} why it cannot be done here */
function obstacle() {
  if (process.platform !== 'linux') return 'network namespaces are a thing of Linux';
  if (process.getuid?.() !== 0) return 'only root may make a network namespace and set its range of ports';
  for (const [command, ...args] of [
    ['ip', '-V'],
    ['unshare', '--net', 'true'],
  ]) {
    const { status, error, stderr } = spawnSync(command, args, { encoding: 'utf8' });
    if (status !== 0) return `${command} does not work here: ${error?.message ?? stderr.trim()}`;
  }
  return false;
}

const skip = obstacle();
for (const name of readdirSync(FOLDER)) {
  test(name, { skip, timeout: TIMEOUT_MS }, async (t) => {
    const args = ['--net', process.execPath, '--test-reporter=tap', join(FOLDER, name)];
    const env = cleanEnvironment({ NAMESPACE_OUTSIDE: readlinkSync('/proc/self/ns/net') });
    const child = spawn('unshare', args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => (output += chunk));
    const [code] = await once(child, 'close');
    for (const [, line] of output.matchAll(/^ *# (.*TIME_WAIT)$/gm)) t.diagnostic(line);
    assert.equal(code, 0, output);
  });
}
