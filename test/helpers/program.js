/** Servers of other projects, in folders of their own, that tests stop and start again. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './anvil.js';

const START_TIMEOUT_MS = 30_000;

/** @type {Set<() => void>} */
const running = new Set();
after(() => running.forEach((kill) => kill()));

/**
 * @param {string} binary
 * @param {object} program
 * @param {(port: number) => string} program.config written into its folder
 * @param {(config: string, port: number, folder: string) => string[]} program.args config: the name of the file
 * @param {(url: string) => Promise<boolean>} program.isReady may reject
 */
export async function startProgram(binary, { config, args, isReady }) {
  const folder = mkdtempSync(join(tmpdir(), 'stress-program-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const file = join(folder, 'config.yml');
  writeFileSync(file, config(port));
  /** @type {(signal: NodeJS.Signals) => Promise<unknown>} */
  let end;
  const start = async () => {
    const child = spawn(binary, args(file, port, folder), { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
    let words = '';
    child.stderr.setEncoding('utf8').on('data', (chunk) => (words = (words + chunk).slice(-4096)));
    const ended = once(child, 'exit').then(() => true);
    end = (signal) => {
      child.kill(signal);
      return ended;
    };
    for (const deadline = Date.now() + START_TIMEOUT_MS; ;) {
      if (await isReady(url).catch(() => false)) break;
      const isOver = await Promise.race([ended, sleep(100, Date.now() > deadline)]);
      if (isOver) throw new Error(`${binary} did not start: ${words}`);
    }
  };
  running.add(() => {
    void end('SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  await start();
  return { url, start, stop: async () => void (await end('SIGTERM')) };
}
