/** Real ones in folders of their own: Debian's scrapes pages every second, a newer one is pushed to. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ensureBuilt } from '../../scripts/nodes/build.js';
import { startProgram } from '../helpers/program.js';

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
  const { url, start, stop } = await startProgram(binary, {
    config: () => config,
    args: (file, port, folder) => [
      ...[`--config.file=${file}`, `--storage.tsdb.path=${join(folder, 'data')}`],
      ...[`--web.listen-address=127.0.0.1:${port}`, '--log.level=warn', ...flags],
    ],
    isReady: async (url) => (await fetch(`${url}/-/ready`)).ok,
  });
  return {
    url,
    start,
    stop,
    query: async (expr) => {
      const response = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query: expr })}`);
      const { status, data, error } = /** @type {any} */ (await response.json());
      if (status !== 'success') throw new Error(`${expr}: ${error}`);
      return data.result;
    },
  };
}
