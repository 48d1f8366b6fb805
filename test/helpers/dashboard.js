import { readFileSync } from 'node:fs';

/** @returns {Array<{title: string, expr: string}>} every query of docs/grafana.json */
export function dashboardQueries() {
  const { panels } = JSON.parse(readFileSync(new URL('../../docs/grafana.json', import.meta.url), 'utf8'));
  return panels.flatMap((/** @type {any} */ { title, targets = [] }) =>
    targets.map((/** @type {any} */ { expr }) => ({ title, expr })),
  );
}

/**
 * As Grafana does, with All chosen for each variable but those that are given.
 * @param {string} expr
 * @param {string} range
 * @param {{runId?: string, index?: string}} [chosen]
 */
export function fillIn(expr, range, { runId = '.*', index = '.*' } = {}) {
  return expr
    .replaceAll('$__rate_interval', range)
    .replaceAll('$__range', range)
    .replaceAll('$run_id', runId)
    .replaceAll('$index', index)
    .replaceAll(/\$(?:job|instance)\b/g, '.*');
}

/** @param {string} expr @returns {string[]} the metrics in it */
export function metricsIn(expr) {
  return [...expr.matchAll(/\bstress_\w+/g)].map(([name]) => name);
}
