import { createServer } from 'node:http';
import { foreignHost, isOwnHost, listen } from './listen.js';
import { FAMILIES } from './prometheus-families.js';
import { PrometheusState } from './prometheus-state.js';

/**
 * @import { Address, Output, OutputOptions } from './index.js'
 * @import { IncomingMessage, ServerResponse } from 'node:http'
 * @import { Metric, Registry } from 'prom-client'
 */

/**
 * A page that Prometheus can scrape, on a port of its own, from before the set-up to the end of the run.
 * @param {OutputOptions} options
 * @returns {Output}
 */
export function createPrometheusOutput({ prometheus, info, instance = null }) {
  const { host, port } = /** @type {Address} */ (prometheus);
  const state = new PrometheusState(info, instance?.instances);
  /** Its library is loaded only where somebody wants the page. */
  const registry = registryOf(state, labelsOf(instance));
  const server = createServer((request, response) => {
    if (isOwnHost(request, host)) void registry.then((ready) => answer(ready, request, response));
    else response.writeHead(403, { 'content-type': 'text/plain' }).end(`${foreignHost('prometheus')}\n`);
  });
  return {
    notice: () => {},
    wantsSamples: false,
    sample: () => {},
    open: async () => {
      await registry;
      await listen(server, { host, port }, 'prometheus');
    },
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
 * What every series of an instance of a larger run carries. `instance` and `job` are names that Prometheus gives itself.
 * @param {OutputOptions['instance']} [instance]
 * @returns {Record<string, string>}
 */
function labelsOf(instance) {
  const { runId = null, index = null } = instance ?? {};
  return { ...(runId !== null && { run_id: runId }), ...(index !== null && { index: `${index}` }) };
}

/**
 * prom-client's own metrics take one observation at a time; ours are read off the state as a whole.
 * @param {PrometheusState} state
 * @param {Record<string, string>} labels of every series
 */
async function registryOf(state, labels) {
  const { Registry } = await import('prom-client');
  const registry = new Registry();
  registry.setDefaultLabels(labels);
  for (const { name, type, help, values } of FAMILIES) {
    const metric = { name, type, help, get: () => ({ name, type, help, values: values(state) }) };
    registry.registerMetric(/** @type {Metric} */ (/** @type {unknown} */ (metric)));
  }
  return registry;
}

/**
 * @param {Registry} registry
 * @param {IncomingMessage} request
 * @param {ServerResponse} response
 */
async function answer(registry, { url = '' }, response) {
  if (url.split('?')[0] !== '/metrics') {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('the metrics are at /metrics\n');
    return;
  }
  response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics());
}
