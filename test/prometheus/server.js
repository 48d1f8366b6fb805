/** Real ones in folders of their own: Debian's scrapes pages every second, a newer one is pushed to. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureBuilt } from '../../scripts/nodes/build.js';
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

/** It takes OTLP, which Debian's does not; without what discovers services it is built in a third of the time. */
const PROMETHEUS_3 = {
  name: 'prometheus',
  module: 'github.com/prometheus/prometheus/cmd/prometheus',
  version: 'v0.316.0',
  tags: 'remove_all_sd',
};

/** It is built once. @returns {Promise<{binary: string, why: string | false}>} why there is none */
export async function buildPrometheus3() {
  try {
    return { binary: await ensureBuilt(PROMETHEUS_3), why: false };
  } catch (error) {
    return { binary: '', why: /** @type {Error} */ (error).message };
  }
}

/**
 * @typedef {{metric: Record<string, string>, value: [number, string]}} Series
 *
 * @typedef {object} Prometheus
 * @property {string} url
 * @property {(expr: string) => Promise<Series[]>} query
 * @property {() => Promise<void>} start again
 * @property {() => Promise<void>} stop it keeps its data
 */

/** @param {...number} targetPorts of the pages @returns {Promise<Prometheus>} */
export async function startPrometheus(...targetPorts) {
  const targets = JSON.stringify(targetPorts.map((target) => `127.0.0.1:${target}`));
  return startServer({
    config: `global: { scrape_interval: 1s, scrape_timeout: 1s }
scrape_configs: [{ job_name: stress, static_configs: [{ targets: ${targets} }] }]
`,
  });
}

/** One that is pushed to. @param {string} binary */
export const startPrometheus3 = (binary) =>
  startServer({ binary, config: 'global: {}', flags: ['--web.enable-otlp-receiver'] });

/** @param {{config: string, binary?: string, flags?: string[]}} program @returns {Promise<Prometheus>} */
async function startServer({ config, binary = 'prometheus', flags = [] }) {
  const folder = mkdtempSync(join(tmpdir(), 'stress-prometheus-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  writeFileSync(join(folder, 'prometheus.yml'), config);
  const args = [
    ...[`--config.file=${join(folder, 'prometheus.yml')}`, `--storage.tsdb.path=${join(folder, 'data')}`],
    ...[`--web.listen-address=127.0.0.1:${port}`, '--log.level=warn', ...flags],
  ];
  /** @type {(signal: NodeJS.Signals) => Promise<unknown>} */
  let end;
  const start = async () => {
    const child = spawn(binary, args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
    let words = '';
    child.stderr.setEncoding('utf8').on('data', (chunk) => (words += chunk));
    const ended = once(child, 'exit').then(() => true);
    end = (signal) => {
      child.kill(signal);
      return ended;
    };
    for (const deadline = Date.now() + START_TIMEOUT_MS; ;) {
      const isReady = await fetch(`${url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
      if (isReady) break;
      const isOver = await Promise.race([ended, sleep(100, Date.now() > deadline)]);
      if (isOver) throw new Error(`prometheus did not start: ${words}`);
    }
  };
  running.add(() => {
    void end('SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  await start();
  return {
    url,
    start,
    stop: async () => void (await end('SIGTERM')),
    query: async (expr) => {
      const response = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query: expr })}`);
      const { status, data, error } = /** @type {any} */ (await response.json());
      if (status !== 'success') throw new Error(`${expr}: ${error}`);
      return data.result;
    },
  };
}
