import { readFileSync } from 'node:fs';

/** @returns {Array<{title: string, expr: string}>} every query of docs/grafana.json */
export function dashboardQueries() {
  const { panels } = JSON.parse(readFileSync(new URL('../../docs/grafana.json', import.meta.url), 'utf8'));
  return panels.flatMap((/** @type {any} */ { title, targets = [] }) =>
    targets.map((/** @type {any} */ { expr }) => ({ title, expr })),
  );
}

/** As Grafana does, for one job. @param {string} expr @param {string} range */
export function fillIn(expr, range) {
  return expr.replaceAll('$__rate_interval', range).replaceAll('$job', '.*').replaceAll('$instance', '.*');
}

/** @param {string} expr @returns {string[]} the metrics in it */
export function metricsIn(expr) {
  return [...expr.matchAll(/\bstress_\w+/g)].map(([name]) => name);
}
