import { createServer } from 'node:http';
import { Registry } from 'prom-client';
import { listen } from './listen.js';
import { FAMILIES } from './prometheus-families.js';
import { PrometheusState } from './prometheus-state.js';

/**
 * A page that Prometheus can scrape, on a port of its own, from before the set-up to the end of the run.
 * @param {import('./index.js').OutputOptions} options
 * @returns {import('./index.js').Output}
 */
export function createPrometheusOutput({ prometheus, info }) {
  const { host, port } = /** @type {import('./index.js').Address} */ (prometheus);
  const state = new PrometheusState(info);
  const registry = registryOf(state);
  const server = createServer((request, response) => void answer(registry, request, response));
  return {
    notice: () => {},
    wantsSamples: false,
    sample: () => {},
    open: () => listen(server, { host, port }, 'prometheus'),
    start: ({ startedAtMs }) => {
      state.startedAtMs = startedAtMs;
    },
    interval: (row, totals) => state.add(row, totals),
    finish: () => {},
    close: async () => {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * prom-client's own metrics take one observation at a time; ours are read off the state as a whole.
 * @param {PrometheusState} state
 */
function registryOf(state) {
  const registry = new Registry();
  for (const { name, type, help, values } of FAMILIES) {
    const metric = { name, type, help, get: () => ({ name, type, help, values: values(state) }) };
    registry.registerMetric(/** @type {import('prom-client').Metric} */ (/** @type {unknown} */ (metric)));
  }
  return registry;
}

/**
 * @param {Registry} registry
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 */
async function answer(registry, { url = '' }, response) {
  if (url.split('?')[0] !== '/metrics') {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('the metrics are at /metrics\n');
    return;
  }
  response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics());
}
