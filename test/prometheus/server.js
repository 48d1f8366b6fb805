/** A real Prometheus, as Debian packages it, that scrapes pages every second into a folder of its own. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../helpers/anvil.js';

const START_TIMEOUT_MS = 30_000;

/** @type {Set<() => void>} */
const running = new Set();
after(() => running.forEach((kill) => kill()));

/** Why there is none; false if there is. */
export function noPrometheus() {
  const { error } = spawnSync('prometheus', ['--version']);
  return error !== undefined && 'prometheus is not installed: apt-get install prometheus';
}

/**
 * @param {...number} targetPorts of the pages
 * @returns {Promise<{query: (expr: string) => Promise<Array<{metric: Record<string, string>, value: [number, string]}>>}>}
 */
export async function startPrometheus(...targetPorts) {
  const folder = mkdtempSync(join(tmpdir(), 'stress-prometheus-'));
  const port = await freePort();
  const config = join(folder, 'prometheus.yml');
  const targets = JSON.stringify(targetPorts.map((target) => `127.0.0.1:${target}`));
  writeFileSync(
    config,
    `global: { scrape_interval: 1s, scrape_timeout: 1s }
scrape_configs: [{ job_name: stress, static_configs: [{ targets: ${targets} }] }]
`,
  );
  const child = spawn(
    'prometheus',
    [
      ...[`--config.file=${config}`, `--storage.tsdb.path=${join(folder, 'data')}`],
      ...[`--web.listen-address=127.0.0.1:${port}`, '--log.level=warn'],
    ],
    { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (chunk) => (words += chunk));
  running.add(() => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const ended = once(child, 'exit').then(() => true);
  const url = `http://127.0.0.1:${port}`;
  for (const deadline = Date.now() + START_TIMEOUT_MS; ;) {
    const isReady = await fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) break;
    const isOver = await Promise.race([ended, sleep(100, Date.now() > deadline)]);
    if (isOver) throw new Error(`prometheus did not start: ${words}`);
  }
  return {
    query: async (expr) => {
      const response = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query: expr })}`);
      const { status, data, error } = /** @type {any} */ (await response.json());
      if (status !== 'success') throw new Error(`${expr}: ${error}`);
      return data.result;
    },
  };
}
